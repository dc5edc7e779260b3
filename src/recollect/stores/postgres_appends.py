"""A write that only adds, in one statement and one round trip, on what this process last saw of the owner's row.

The statement compares that row with what we think it is; when somebody else has written meanwhile, nothing is done, and the
write takes the careful way (`postgres_puts`), which asks first. So does what needs an answer in between, and now and then any
write: the careful way also tidies up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..ports import Add, Change
from . import sql
from .postgres_puts import COPIED
from .postgres_vectors import Floats
from .postgres_words import Index
from .rows import mentions_of, values_of
from .writing import Mark, Row

if TYPE_CHECKING:
    from .postgres_puts import PostgresPuts
    from .postgres_server import Server

MOST_PARTS = 16
TIDIED = 256  # of so many writes one goes the careful way
_FREE = 7  # values that its row needs

Lanes = Sequence[tuple[int, str, str, int]]  # number, space, view, dimension: they never change, and none goes


class NotSure(Exception):
    """This write has to ask something first."""


class Standing(NamedTuple):
    """What we know of an owner's row, and of its lanes."""

    no: int
    next_slot: int
    change: int
    lanes: Lanes


class Standings:
    """What was seen last, by owner. An owner whom others write too is left out: nothing is to be known of him for long."""

    def __init__(self) -> None:
        self._seen: dict[str, Standing] = {}
        self._alone: dict[str, bool] = {}

    def of(self, path: str) -> Standing | None:
        """For a write that only adds; None when it had better ask."""
        return self._seen.get(path) if self._alone.get(path) else None

    def asked(self, puts: PostgresPuts, marks: Mapping[str, Mark]) -> None:
        """A careful write was committed. Had somebody else written since the one before?"""
        for path, mark in marks.items():
            last = self._seen.get(path)
            same = last is not None and last[:3] == puts.found[path]
            self._alone[path] = same or last is None
            lanes = puts.lanes_seen(mark.no) or (last.lanes if same else ())
            self._seen[path] = Standing(mark.no, mark.next_slot, mark.change, lanes)

    def appended(self, path: str, mark: Mark, lanes: Lanes) -> None:
        self._seen[path] = Standing(mark.no, mark.next_slot, mark.change, lanes)

    def missed(self, path: str) -> None:
        """It was not as we thought."""
        self._alone[path] = False


def appends(owner: str, changes: Iterable[Change]) -> bool:
    """Whether a write adds some new records of one owner, and does nothing else."""
    ids: set[str] = set()
    for count, change in enumerate(changes, 1):
        if not isinstance(change, Add) or change.record.owner != owner or count >= COPIED:
            return False
        ids.add(change.record.id)
    return 0 < len(ids) == count


class Appends:
    """As much of `writing.Puts` as a write needs that only adds. Collects the parts of one statement, and sends it."""

    def __init__(self, path: str, standing: Standing) -> None:
        self.path, self.standing = path, standing
        self._parts: list[tuple[str, tuple]] = []
        self._now: tuple[int, ...] = ()  # for what was told
        self._after = (0, 0)

    def owner(self, path: str) -> tuple[int, int, int]:
        return self.standing[:3]

    def lane(self, owner: int, space: str, view: str, dimension: int) -> tuple[int, int]:
        for number, *place, known in self.standing.lanes:
            if place == [space, view]:
                return number, known
        raise NotSure

    def put_vector(self, owner: int, lane: int, slot: int, hash: bytes, vector: bytes) -> None:
        self._part("vector", lane, slot, hash, Floats(vector))

    def add(self, rows: Sequence[Row]) -> bool:
        for row in rows:
            index: Index = row.index
            self._part("record", row.slot, row.record.id, *values_of(row.record, index[:3]), index[3])
            said = mentions_of(row.record)
            if said:
                self._part("mentions", row.slot, *said)
        return True

    def add_jobs(self, owner: int, places: Sequence[tuple[int, str, str]]) -> None:
        for place in dict.fromkeys(places):
            self._part("job", *place)

    def put_told(self, owner: int, told: Sequence[tuple[bytes, int, int]], now: int) -> int:
        self._now = (now,)
        for one in told:
            self._part("told", *one)
        return len(told)

    def tell(self, owner: int, change: int, what: str, lane: int, slots: bytes) -> None:
        self._part("change", change, what, lane, slots)

    def prune(self, owner: int, change: int) -> None:
        raise NotSure

    def advance(self, owner: int, next_slot: int, change: int) -> None:
        if next_slot // TIDIED > self.standing.next_slot // TIDIED or len(self._parts) > MOST_PARTS:
            raise NotSure
        self._after = next_slot, change

    def written(self, server: Server) -> bool:
        """Whether it was: all of it, and durably, or nothing."""
        given = [self.path, *self.standing[:3], *self._after, f"{round(server.wait * 1000)}", *self._now]
        for _, values in self._parts:
            given += values
        parts = tuple([(name, len(values)) for name, values in self._parts])
        return server.hopefully(_statement(parts, _FREE + len(self._now)), given)

    def _part(self, name: str, *values: Any) -> None:
        self._parts.append((name, values))


@lru_cache(maxsize=512)  # shapes of writes
def _statement(parts: tuple[tuple[str, int], ...], count: int) -> str:
    """The statement with these parts, of so many values each, and so many before them."""
    blocks, written, unless = sql.blocks("postgres/append.sql"), [], []
    for name, size in parts:
        places = [f"${number}" for number in range(count + 1, count + size + 1)]
        written.append(f"part_{len(written)} AS (\n{getattr(blocks, name).format(', '.join(places))}\n)")
        if name == "record":
            unless.append(blocks.taken.format(id=places[1]))
        if name == "told":
            unless.append(blocks.repeated.format(digest=places[0]))
        count += size
    return blocks.whole.format(free=blocks.free.format(unless="\n".join(unless)), parts=", ".join(written))
