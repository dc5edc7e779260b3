"""One write transaction over rows: what changes which rows, and what readers are told.

For stores whose truth is rows; `Puts` is what they do to them, sqlite and postgres each in their own way. Used by `write` and by
the outbox. Nothing here opens, commits or waits.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import numpy as np

from ..changes import QUIET, told_meanwhile
from ..errors import DuplicateRecord, InvalidRecord, InvalidVector, ScopeRequired, UnknownRecord
from ..ports import Add, Amend, Change, Forget, Learn, Receipt, Told, meets
from ..records import DERIVED, Record, Scope
from .rows import MENTIONS, NO_WORDS, TEXTUAL, mentions_of, values_of
from .vectors import usable

KEPT_CHANGES = 5000
DROPPED_AT_ONCE = 10_000
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
AMENDABLE = frozenset(field.name for field in dataclasses.fields(Record)) - {"id", "owner"}
Index = Any  # what a store keeps of a record's words, made before anything is locked


class Row(Protocol):
    """A record on its way in: `slot` is where it goes."""

    owner: int
    slot: int
    record: Record
    index: Index


class Puts(Protocol):
    """What a transaction does to rows. Owners and lanes go by their numbers, records by the slots of their owner."""

    def owner(self, path: str) -> tuple[int, int, int]:
        """Number, next slot and count of changes; made when there is none. Nobody else writes it until the end."""

    def lanes(self, owner: int) -> list[tuple[int, str, str, int]]:
        """All of an owner's lanes: number, space, view, dimension."""

    def lane(self, owner: int, space: str, view: str, dimension: int) -> tuple[int, int]:
        """A lane's number and dimension; made when there is none, with the dimension of the space if that is known."""

    def put_vector(self, owner: int, lane: int, slot: int, hash: bytes, vector: bytes) -> None:
        """In place of what was there."""

    def remove_vector(self, owner: int, lane: int, slot: int) -> int:
        """How many went: one or none."""

    def some_vectors(self, owner: int, lane: int, limit: int) -> list[int]:
        """Slots that have one."""

    def add(self, rows: Sequence[Row]) -> bool:
        """New records; False, and nothing done, when one of the ids is there already."""

    def replace(self, owner: int, slot: int, record: Record, index: Index) -> None:
        """Every column of a record, but what it speaks of."""

    def put_mentions(self, owner: int, slot: int, said: tuple | None) -> None:
        """What a record speaks of; None: of nothing."""

    def find(self, owner: int, id: str) -> tuple[int, Record] | None:
        """A record and its slot."""

    def remove(self, owner: int, slot: int) -> int:
        """A record, what it speaks of, and its jobs: how many of those."""

    def derived(self, owner: int, source: str, *, facts: bool) -> list[str]:
        """Ids of what was derived from a source, oldest first; or of the facts among it."""

    def add_jobs(self, owner: int, places: Sequence[tuple[int, str, str]]) -> None:
        """Texts that wait, by slot, space and view. One that was put back starts afresh, one on lease goes on."""

    def jobs(self, owner: int, slot: int) -> list[tuple[int, str, str]]:
        """What a record waits for: number, space, view."""

    def remove_job(self, owner: int, number: int) -> None:
        """It is done."""

    def put_told(self, owner: int, told: Sequence[tuple[bytes, int, int]], now: int) -> int:
        """Digests with slots and until when, unless one is there that still counts: how many went in. Old ones go."""

    def remove_told(self, owner: int, slot: int) -> None:
        """What this record said may no longer be repeated."""

    def tell(self, owner: int, change: int, what: str, lane: int, slots: bytes) -> None:
        """An entry for readers."""

    def prune(self, owner: int, change: int) -> None:
        """No entries up to this one."""

    def advance(self, owner: int, next_slot: int, change: int) -> None:
        """What the owner's row says from now on."""


@dataclasses.dataclass(frozen=True, slots=True)
class New:
    """A `Row`."""

    owner: int
    slot: int
    record: Record
    index: Index


class Mark:
    """An owner's row, and what this transaction did to it."""

    __slots__ = ("change", "next_slot", "no", "path", "told")

    def __init__(self, path: str, no: int, next_slot: int, change: int) -> None:
        self.path, self.no, self.next_slot, self.change = path, no, next_slot, change
        self.told: dict[tuple[str, int], list[int]] = {}  # (what, lane) → slots

    def tell(self, what: str, slot: int, lane: int = 0) -> None:
        self.told.setdefault((what, lane), []).append(slot)


class Writing:
    """See the module. `index`: what the store keeps of a record's words."""

    def __init__(self, puts: Puts, index: Callable[[Record], Index]) -> None:
        self.puts, self.index = puts, index
        self.marks: dict[str, Mark] = {}
        self.lanes: dict[tuple[int, str, str], tuple[int, int]] = {}
        self.added = self.amended = self.unchanged = 0
        self.removed: dict[str, int] = {}

    def apply(self, owner: str, changes: Sequence[Change], indexes: Mapping[int, Index]) -> Receipt:
        """All changes in order; neighbouring additions in one go."""
        for path in sorted({owner} | {c.record.owner for c in changes if isinstance(c, Add) and may_write(owner, c.record)}):
            self.mark(path)  # in one order for everybody: two that write for the same two never wait for each other
        adds: list[tuple[Add, Index]] = []
        for change in changes:
            if isinstance(change, Add):
                if not may_write(owner, change.record):
                    self._add_all(adds)  # an earlier change may have an error of its own, which comes first
                    raise ScopeRequired(
                        f"{owner} may not write records of {change.record.owner}.",
                        hint="Only identity records may belong to the tenant.",
                    )
                adds.append((change, indexes[id(change)]))
                continue
            self._add_all(adds)
            adds = []
            _DO[type(change)](self, owner, change)
        self._add_all(adds)
        self.finish()
        return Receipt(self.added, self.amended, self.removed, self.unchanged)

    def mark(self, path: str) -> Mark:
        """The owner's row, made when there is none."""
        mark = self.marks.get(path)
        if mark is None:
            mark = self.marks[path] = Mark(path, *self.puts.owner(path))
        return mark

    def lane(self, mark: Mark, space: str, view: str, dimension: int) -> int:
        """The number of a lane, made when there is none; its dimension must agree."""
        known = self.lanes.get((mark.no, space, view))
        if known is None:
            known = self.lanes[mark.no, space, view] = self.puts.lane(mark.no, space, view, dimension)
        if known[1] != dimension:
            raise InvalidVector(
                f"A vector of {dimension} numbers was given for {view} in {space}, whose vectors have {known[1]}.",
                hint="Use one embedder per space; another model gets its own space.",
            )
        return known[0]

    def put_vector(self, mark: Mark, slot: int, space: str, view: str, text: str, vector: np.ndarray) -> None:
        lane = self.lane(mark, space, view, len(vector))
        self.puts.put_vector(mark.no, lane, slot, text_hash(text), vector_blob(vector))
        mark.tell("vectors", slot, lane)

    def drop_vectors(self, owner: str, space: str) -> int:
        """Some of the owner's vectors of a space: how many. None is left when it is none."""
        mark, gone = self.mark(owner), 0
        for lane, *_ in [lane for lane in self.puts.lanes(mark.no) if lane[1] == space]:
            for slot in self.puts.some_vectors(mark.no, lane, DROPPED_AT_ONCE - gone):
                gone += self.puts.remove_vector(mark.no, lane, slot)
                mark.tell("vectors", slot, lane)
        self.finish()
        return gone

    def finish(self) -> None:
        """Count, and tell readers."""
        for mark in self.marks.values():
            for (what, lane), slots in mark.told.items():
                mark.change += 1
                self.puts.tell(mark.no, mark.change, what, lane, np.asarray(slots, "<u4").tobytes())
            if mark.change % 256 < len(mark.told):
                self.puts.prune(mark.no, mark.change - KEPT_CHANGES)
            self.puts.advance(mark.no, mark.next_slot, mark.change)

    def _add_all(self, adds: list[tuple[Add, Index]]) -> None:
        if not adds:
            return
        before = {path: self.mark(path).next_slot for path in {add.record.owner for add, _ in adds}}
        rows = self._rows(adds)
        if not self.puts.add(rows):  # an id is there already: look which, and try again without
            for path, next_slot in before.items():
                self.marks[path].next_slot = next_slot
            adds = self._new_among(adds)
            rows = self._rows(adds)
            self.puts.add(rows)
        self.added += len(adds)
        waiting: dict[int, list[tuple[int, str, str]]] = {}
        self._tell_again([(add.told, row) for (add, _), row in zip(adds, rows, strict=True) if add.told is not None])
        for (add, _), row in zip(adds, rows, strict=True):
            if add.vectors or add.pending:
                waiting.setdefault(row.owner, []).extend(self._derive(add, row.slot))
        for owner, places in waiting.items():
            self.puts.add_jobs(owner, places)

    def _tell_again(self, told: Sequence[tuple[Told, New]]) -> None:
        for owner in {row.owner for _, row in told}:
            mine = [(one.digest, row.slot, one.until) for one, row in told if row.owner == owner]
            if self.puts.put_told(owner, mine, told[0][0].now) < len(mine):
                raise told_meanwhile()

    def _rows(self, adds: list[tuple[Add, Index]]) -> list[New]:
        rows = []
        for add, index in adds:
            mark = self.mark(add.record.owner)
            rows.append(New(mark.no, mark.next_slot, add.record, index))
            mark.next_slot += 1
        return rows

    def _new_among(self, adds: list[tuple[Add, Index]]) -> list[tuple[Add, Index]]:
        """Additions whose id is not there yet. The same content again is fine; other content is an error."""
        fresh: dict[tuple[str, str], tuple[Add, Index]] = {}
        for add, index in adds:
            record = add.record
            twin = fresh.get((record.owner, record.id))
            there = twin[0].record if twin else self._find(record.owner, record.id)
            if there is None:
                fresh[record.owner, record.id] = add, index
            elif _content(there) == _content(record):
                self.unchanged += 1
            else:
                raise DuplicateRecord(
                    f"There is another record with the id {record.id!r:.80}.",
                    hint="Leave the id out, or forget the old one first.",
                )
        return list(fresh.values())

    def _derive(self, add: Add, slot: int) -> list[tuple[int, str, str]]:
        """Put the vectors in; what waits for one comes back."""
        mark, record = self.mark(add.record.owner), add.record
        for (space, view), vector in (add.vectors or {}).items() if record.role != DERIVED else ():
            self.put_vector(mark, slot, space, view, record.embedded(view, space) or "", vector)
        return _places(slot, record, [lane for lane in add.pending if lane not in (add.vectors or {})])

    def _find(self, owner: str, id: str) -> Record | None:
        found = self.puts.find(self.mark(owner).no, id)
        return found[1] if found else None

    def _amend(self, owner: str, change: Amend) -> None:
        mark = self.mark(owner)
        found = self.puts.find(mark.no, change.id)
        if found is None:
            raise UnknownRecord(f"{owner} has no record {change.id!r:.80}.")
        slot, old = found
        meets(change, old)
        wrong = sorted(set(change.fields) - AMENDABLE)
        if wrong:
            raise InvalidRecord(f"{wrong[0]!r} can't be amended.", hint="Any field of a record can, but id and owner.")
        new = dataclasses.replace(old, **change.fields)
        if new != old:
            self._replace(mark, slot, old, new, set(change.fields))
        if not change.fields.keys() <= QUIET:
            self.puts.remove_told(mark.no, slot)
        given = (change.vectors or {}) if new.role != DERIVED else {}
        for (space, view), vector in given.items():
            self.put_vector(mark, slot, space, view, new.embedded(view, space) or "", vector)
        for number, *place in self.puts.jobs(mark.no, slot) if given else ():
            if tuple(place) in given:
                self.puts.remove_job(mark.no, number)
        self.puts.add_jobs(mark.no, _places(slot, new, [lane for lane in change.pending if lane not in given]))
        self.amended += 1

    def _replace(self, mark: Mark, slot: int, old: Record, new: Record, fields: set[str]) -> None:
        if fields & MENTIONS:
            self.puts.put_mentions(mark.no, slot, mentions_of(new))
        if fields <= MENTIONS:
            mark.tell("mentions", slot)
            return
        self.puts.replace(mark.no, slot, new, self.index(new))
        mark.tell("words" if TEXTUAL & fields else "columns", slot)
        self._drop_stale(mark, slot, old, new)

    def _drop_stale(self, mark: Mark, slot: int, old: Record, new: Record) -> None:
        """Vectors and jobs of texts that are no longer what they were."""
        for lane, space, view, _ in self.puts.lanes(mark.no):
            if new.role == DERIVED or old.embedded(view, space) != new.embedded(view, space):
                self.puts.remove_vector(mark.no, lane, slot)
        for number, space, view in self.puts.jobs(mark.no, slot):
            if old.embedded(view, space) != new.embedded(view, space):
                self.puts.remove_job(mark.no, number)

    def _learn(self, owner: str, change: Learn) -> None:
        number = self.mark(owner).no
        if change.job is not None:
            self.puts.remove_job(number, change.job)
        record = self._find(owner, change.id)
        if record is None or record.text != change.text:
            return
        self._amend(owner, Amend(id=change.id, fields=change.fields, pending=change.pending))
        ids = {fact.id for fact in change.facts}
        for name in self.puts.derived(number, f"record:{change.id}", facts=True):
            if name not in ids:
                self._forget(owner, Forget(id=name))
        fresh = {fact.id: Add(record=fact) for fact in change.facts if self._find(owner, fact.id) is None}
        self._add_all([(add, self.index(add.record)) for add in fresh.values()])
        for amend in change.amends:
            if self._find(owner, amend.id) is not None:
                self._amend(owner, amend)

    def _forget(self, owner: str, change: Forget) -> None:
        mark = self.mark(owner)
        found = self.puts.find(mark.no, change.id)
        if found is None:
            raise UnknownRecord(f"{owner} has no record {change.id!r:.80}.")
        meets(change, found[1])
        going = [change.id]
        while going:
            found = self.puts.find(mark.no, name := going.pop())
            if found is not None:
                self._remove(mark, found[0], found[1].role)
                going += self.puts.derived(mark.no, f"record:{name}", facts=False)

    def _remove(self, mark: Mark, slot: int, role: str) -> None:
        vectors = sum(self.puts.remove_vector(mark.no, lane, slot) for lane, *_ in self.puts.lanes(mark.no))
        jobs = self.puts.remove(mark.no, slot)
        mark.tell("words", slot)
        counts = {"records": 0, "vectors": vectors, "jobs": jobs, ("derived" if role == DERIVED else "records"): 1}
        for name, count in counts.items():
            self.removed[name] = self.removed.get(name, 0) + count


_DO = {Amend: Writing._amend, Forget: Writing._forget, Learn: Writing._learn}


def _content(record: Record) -> tuple:
    """What two records must share to be the same: everything but when we were told."""
    return *values_of(dataclasses.replace(record, recorded_at=_LONG_AGO), NO_WORDS), mentions_of(record)


def may_write(owner: str, record: Record) -> bool:
    """A writer writes its own records, and identity records of its tenant."""
    return record.owner == owner or (record.owner == Scope(owner=owner).tenant and record.kind == "identity")


def _places(slot: int, record: Record, pending: Iterable[tuple[str, str]]) -> list[tuple[int, str, str]]:
    """Where texts of a record wait; not those that it has none for."""
    return [(slot, space, view) for space, view in pending if record.embedded(view, space)]


def text_hash(text: str) -> bytes:
    """What tells texts apart for re-use of their vectors."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def vector_blob(vector: np.ndarray) -> bytes:
    """float32, little-endian; refuses what no search could use."""
    return usable(vector).tobytes()
