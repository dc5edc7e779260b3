"""One owner's records, in memory: the columns that filters and scoring need, the words, the vectors.

A shelf is loaded when its owner is first asked and then follows what the file says: appended slots, and the log of
amended and forgotten ones. It belongs to one process and can be thrown away at any time; the rows are the truth.
A slot is a record's position on its shelf, from 0, never used twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..ports import Facts
from ..query import Where
from ..records import DERIVED
from .postings import Postings
from .vectors import Lane
from .web import Web

if TYPE_CHECKING:
    from .postgres_lanes import ServedLane
    from .shelf_times import Times

NEVER = 1 << 62
ALWAYS = -(1 << 62)
_COLUMNS = {
    "kind": np.int32, "role": np.int32, "agent": np.int32, "project": np.int32, "session": np.int32, "turn": np.int64,
    "at": np.int64, "recorded": np.int64, "valid_from": np.int64, "valid_to": np.int64, "superseded": np.int64,
    "quality": np.float64, "reinforced": np.int64, "language": np.int32, "there": np.bool_,
}  # fmt: skip
FEW = 24
_new = tuple.__new__  # half the time of a named tuple's own
WEB_BYTES = 2500  # of one record in the web, about
_ROLE = 3  # where the `columns` query has it
_FACTS = ("at", "kind", "role", "session", "turn", "quality", "reinforced")


class Names:
    """Small numbers for strings that repeat; 0 stands for None."""

    def __init__(self) -> None:
        self.names: list[str | None] = [None]
        self.codes: dict[str | None, int] = {None: 0}

    def code(self, name: str | None) -> int:
        code = self.codes.get(name)
        if code is None:
            code = self.codes[name] = len(self.names)
            self.names.append(name)
        return code

    def several(self, names: Sequence[str | None]) -> list[int]:
        """Numbers for many names at once."""
        for name in set(names).difference(self.codes):
            self.code(name)
        return list(map(self.codes.__getitem__, names))

    def all(self, names: Sequence[str]) -> list[int]:
        """Codes of the names that occur; -1, which nothing has, when none does."""
        return [self.codes[name] for name in names if name in self.codes] or [-1]


class Shelf:
    """See the module. `owner` is the owner's number, `change` the last change it has seen."""

    def __init__(self, owner: int) -> None:
        self.owner = owner
        self.base = owner << 32
        self.change = 0
        self.size = 0  # slots, gone ones included
        self.pulse = (-1, -1)
        self.names = Names()
        self.columns = {name: np.zeros(0, kind) for name, kind in _COLUMNS.items()}
        self._languages: Counter[int] = Counter()
        self.postings = Postings()
        self.characters: Postings | None = None  # document 000's tokens, built when a recipe first asks
        self.characters_to = 0
        self.times: Times | None = None  # the dates it speaks of, read when a question first names a span
        self.lanes: dict[tuple[str, str], Lane | ServedLane] = {}
        self.web: Web | None = None  # what records say of named things, built when a graph route first asks
        self.web_to = 0
        self.no_lanes: dict[tuple[str, str], tuple[int, int]] = {}  # asked for and not there, as of a pulse
        self.elsewhere: dict[tuple[str, str], tuple[tuple[int, int], Mapping[str, int]]] = {}  # as of a pulse
        self.ids: list[str] = []  # by slot; "" where nothing is
        self._bounded = False  # any record that time can hide or show
        self._gone = False
        self._current: tuple[int, int, np.ndarray] | None = None  # seen from, until, mask

    def extend(self, pieces: Iterable[Sequence[tuple]]) -> None:
        """Append rows of the `columns` query. In pieces: Python's rows take ten times the room of what is kept of them."""
        slots: list[int] = []
        blobs: list[bytes] = []
        lengths: list[int] = []
        for rows in filter(None, pieces):
            here = self._append(rows)
            said = [(slot, row[-1], row[-3]) for slot, row in zip(here, rows, strict=True) if row[_ROLE] != DERIVED]
            for kept, some in zip((slots, blobs, lengths), zip(*said, strict=True), strict=False):
                kept += some
        self.postings.load(slots, blobs, lengths)

    def _append(self, rows: Sequence[tuple]) -> list[int]:
        keys, ids, *_ = zip(*rows, strict=True)
        slots = np.asarray(keys, np.int64) - self.base
        first, self.size = self.size, int(slots[-1]) + 1
        self._grow(self.size)
        self._gone |= self.size - first != len(slots)
        if len(ids) == self.size - first:
            self.ids += ids
        else:
            self.ids += [""] * (self.size - first)
            for slot, name in zip(slots.tolist(), ids, strict=True):
                self.ids[slot] = name
        self._fill(slots, rows)
        return slots.tolist()

    def amend(self, slot: int, row: tuple | None, *, words: bool) -> None:
        """A record has changed, or gone when there is no row; `words`: what its text routes find has changed too."""
        if not self.columns["there"][slot]:
            return
        self._current = None
        heard = self.names.names[self.columns["role"].item(slot)] != DERIVED
        self._languages[int(self.columns["language"][slot])] -= 1
        if words:
            self.characters = None
        if row is None:
            self.columns["there"][slot] = False
            self._gone = True
        else:
            self._fill(np.asarray([slot]), [row])
        if heard and (words or row is None):
            self.postings.drop(slot)
        if words and row is not None and row[_ROLE] != DERIVED:
            self.postings.add(slot, row[-1], row[-3])

    @property
    def languages(self) -> list[str]:
        """The languages of the records that are there, and English."""
        return sorted({"en", *(self.names.names[code] for code, count in self._languages.items() if count)})

    def mask(self, where: Where, *, tenant: bool) -> np.ndarray | None:
        """Which slots `where` lets through; None: all of them. `tenant`: seen from another owner, identity only."""
        mask = self._timely(where)
        tests = list(self._tests(where, tenant))
        if not tests:
            return mask
        for test in tests:
            mask = test if mask is None else mask & test
        return mask

    def facts(self, slots: Sequence[int]) -> list[Facts]:
        """What scoring needs to know of some records. Few are looked up one by one: that is quicker than seven array look-ups."""
        c, names, ids = self.columns, self.names.names, self.ids
        if len(slots) > FEW:
            rows = zip(*[c[name][np.asarray(slots)].tolist() for name in _FACTS], slots, strict=True)
        else:
            at, kind, role, session, turn, quality, reinforced = [c[name].item for name in _FACTS]
            rows = [(at(n), kind(n), role(n), session(n), turn(n), quality(n), reinforced(n), n) for n in slots]
        return [
            _new(Facts, (at, names[kind], names[role], names[session], None if turn < 0 else turn, quality, reinforced, ids[n]))
            for at, kind, role, session, turn, quality, reinforced, n in rows
        ]

    @property
    def count(self) -> int:
        """How many records there are."""
        return int(np.count_nonzero(self.columns["there"][: self.size])) if self._gone else self.size

    def last_turns(self, slots: np.ndarray, count: int) -> np.ndarray:
        """Of a session's slots the last `count` by turn and time of recording, and all that tie with the last of them."""
        turns, recorded = np.maximum(self.columns["turn"][slots], 0), self.columns["recorded"][slots]
        if not 0 < count < len(slots):
            return slots
        least = np.lexsort((recorded, turns))[-count]
        later = (turns > turns[least]) | ((turns == turns[least]) & (recorded >= recorded[least]))
        return slots[later]

    def there(self, keys: Iterable[int]) -> list[int]:
        """The slots of those keys that are ours and have a record."""
        slots, there = [key - self.base for key in keys], self.columns["there"].item
        return [slot for slot in slots if 0 <= slot < self.size and there(slot)]

    def turns(self, places: Sequence[tuple[str, int]], mask: np.ndarray | None) -> dict[tuple[str, int], int]:
        """Which slots hold the turns with these sessions and numbers; of several, the last."""
        sessions, numbers = self.columns["session"][: self.size], self.columns["turn"][: self.size]
        wanted = {(self.names.codes.get(session, -1), number): (session, number) for session, number in places}
        theirs = np.zeros(len(self.names.names) + 1, bool)  # the last: no session
        theirs[[code for code, _ in wanted if code >= 0]] = True
        slots = np.flatnonzero(theirs[sessions] & (self.columns["role"][: self.size] == self.names.codes.get("turn", -1)))
        slots = slots if mask is None else slots[mask[slots]]
        slots = slots[np.isin(numbers[slots], [number for _, number in wanted])]
        found = zip(sessions[slots].tolist(), numbers[slots].tolist(), slots.tolist(), strict=True)
        return {wanted[code, number]: slot for code, number, slot in found if (code, number) in wanted}

    def nbytes(self) -> int:
        columns = sum(column.nbytes for column in self.columns.values())
        web = 0 if self.web is None else len(self.web.entries) * WEB_BYTES
        return columns + web + self.postings.nbytes() + sum(lane.nbytes() for lane in self.lanes.values())

    def _tests(self, where: Where, tenant: bool):
        c, size = self.columns, self.size
        if tenant:
            yield c["kind"][:size] == self.names.codes.get("identity", -1)
        for column, wanted in (
            ("kind", where.kinds), ("role", where.roles), ("project", where.projects), ("session", where.sessions),
            ("agent", (where.agent,) if where.agent is not None else ()),
        ):  # fmt: skip
            if wanted:
                codes = self.names.all(wanted)
                yield c[column][:size] == codes[0] if len(codes) == 1 else np.isin(c[column][:size], codes)
        if where.since is not None:
            yield c["at"][:size] >= where.since

    def _timely(self, where: Where) -> np.ndarray | None:
        """What is there and holds at the moment asked for."""
        if where.timeless:
            return self.columns["there"][: self.size] if self._gone else None
        if where.as_of is not None:
            c, size, moment = self.columns, self.size, where.as_of
            mask = c["there"][:size] & (c["recorded"][:size] <= moment) & (c["superseded"][:size] > moment)
            return mask & (c["valid_from"][:size] <= moment) & (c["valid_to"][:size] > moment)
        if not (self._bounded or self._gone):
            return None
        if self._current is None or not self._current[0] <= where.now < self._current[1] or len(self._current[2]) != self.size:
            self._current = self._now(where.now)
        return self._current[2]

    def _now(self, now: int) -> tuple[int, int, np.ndarray]:
        """The mask at a moment, and the span of moments for which it stays the same."""
        c, size = self.columns, self.size
        start, end = c["valid_from"][:size], c["valid_to"][:size]
        mask = c["there"][:size] & (c["superseded"][:size] == NEVER) & (start <= now) & (end > now)
        edges = np.concatenate([start, end])
        before, after = edges[edges <= now], edges[edges > now]
        return int(before.max(initial=ALWAYS)), int(after.min(initial=NEVER)), mask

    def _fill(self, slots: np.ndarray, rows: Sequence[tuple]) -> None:
        (_, _, kind, role, agent, project, session, turn, at, recorded, valid_from, valid_to, superseded, quality, reinforced, _,
         language, _) = zip(*rows, strict=True)  # fmt: skip
        c, names = self.columns, self.names
        for name, values in (
            ("kind", kind), ("role", role), ("agent", agent), ("project", project), ("session", session), ("language", language),
        ):  # fmt: skip
            c[name][slots] = names.several(values)
        for name, values in (
            ("turn", turn), ("at", at), ("recorded", recorded), ("valid_from", valid_from), ("valid_to", valid_to),
            ("superseded", superseded), ("quality", quality), ("reinforced", reinforced),
        ):  # fmt: skip
            c[name][slots] = values
        c["there"][slots] = True
        self._languages.update(c["language"][slots].tolist())
        self._bounded |= max(valid_from) > ALWAYS or min(valid_to) < NEVER or min(superseded) < NEVER

    def _grow(self, size: int) -> None:
        have = len(self.columns["at"])
        if size <= have:
            return
        room = max(size, have * 5 // 4, 16)
        for name, column in self.columns.items():
            self.columns[name] = np.concatenate([column, np.zeros(room - have, column.dtype)])
