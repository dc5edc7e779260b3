"""The shelves of an open store: loaded when an owner is first asked, kept up with the rows, evicted when there are too many.

For stores whose truth is rows and whose searches are held in memory. `Reads` is all they need to know of a database: sqlite and
postgres each bring their own. Every read starts from an owner's shelf, so there is no query that could reach another owner's
records.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..errors import InvalidQuery, UnknownRecord
from ..ports import Facts
from ..query import Where
from ..records import ROLES, Record
from .rows import record_of
from .shelf import Shelf
from .shelf_graph import ShelfGraph
from .vectors import Lane

if TYPE_CHECKING:
    from .postgres_lanes import ServedLane

SHELVES_BYTES = 4 << 30
AT_HAND = 4096  # records kept at hand, none of them longer than this
LOADED_AT_ONCE = 4096  # vectors, or records: a lane and a shelf are read in pieces, so that they are never in memory twice
LOW = 0xFFFFFFFF
ORDERS = ("newest", "oldest", "turns", "latest")
Pairs = Sequence[tuple[int, bytes]]  # slots and their vectors, float32, little-endian
Block = tuple[Sequence[int], bytes]  # slots, and their vectors one after the other
Serve = Callable[[Shelf, str, str, int, int], "ServedLane | None"]  # space, view, number, dimension: who searches that lane


class Reads(Protocol):
    """What shelves ask of a database. Owners and lanes go by their numbers, records by the slots of their owner."""

    def reading(self) -> AbstractContextManager:
        """One caller at a time: shelves are nobody else's while this is held. It nests."""

    def snapshot(self) -> AbstractContextManager:
        """All reads inside see one state. It nests."""

    def pulse(self, path: str) -> object:
        """Another value whenever anybody has committed something of this owner; None where it is known that there is nothing."""

    def fresh(self, pulse: object) -> bool:
        """Whether nothing of our own was committed since; what others did, the search before this has seen."""

    def owner(self, path: str) -> tuple[int, int, int] | None:
        """Number, next slot and count of changes."""

    def path_of(self, number: int) -> str:
        """The owner of a number; empty when there is none."""

    def columns(self, owner: int, start: int, end: int) -> list[tuple]:
        """What a shelf holds of the records in these slots; rows of the `columns` query."""

    def some_columns(self, owner: int, slots: Sequence[int]) -> list[tuple]:
        """The same of single slots."""

    def changes_since(self, owner: int, change: int) -> list[tuple[int, str, int, bytes]]:
        """What happened after a change: number, what, lane, slots."""

    def lane(self, owner: int, space: str, view: str) -> tuple[int, int] | None:
        """A lane's number and dimension."""

    def lanes_of(self, owner: int) -> list[tuple[int, str, str, int]]:
        """All of an owner's lanes: number, space, view, dimension."""

    def lane_blocks(self, owner: int, lane: int, size: int, at_once: int) -> Iterator[Block]:
        """The vectors of the first so many slots, in pieces."""

    def vectors(self, owner: int, lane: int, slots: Sequence[int]) -> Pairs:
        """Some vectors."""

    def slots(self, owner: int, ids: Sequence[str]) -> list[tuple[str, int]]:
        """Ids that are there, and their slots."""

    def records(self, keys: Sequence[int]) -> list[tuple]:
        """Whole records, as `record_of` reads them."""

    def texts(self, owner: int, start: int, end: int) -> Iterator[tuple[int, str]]:
        """Slots and texts of what was said."""

    def dates(self, owner: int, start: int, end: int, also: Sequence[int]) -> list[tuple[int, str]]:
        """Slots of a range, and these besides, that speak of dates, and the dates."""

    def web(self, owner: int, start: int, end: int) -> list[tuple]:
        """What the records of a range say of named things: slot, id, confidence, role, source, entities, links."""

    def waiting(self, owner: int, space: str, view: str) -> int:
        """How many texts wait for a lane."""


class Shelves:
    """See the module. Call its methods as one caller at a time: the searches hold `reads.reading()`. `wide`: as of a `Lane`."""

    def __init__(self, reads: Reads, serve: Serve | None = None, wide: int = 1) -> None:
        self.reads, self._serve, self._wide = reads, serve, wide
        self.graph = ShelfGraph(self)
        self._shelves: OrderedDict[str, Shelf] = OrderedDict()
        self._at_hand: dict[int, Record] = {}  # records fetched lately, oldest first

    def resolve(self, where: Where, ids: Sequence[str]) -> dict[str, int]:
        """Keys of the ids that `where` lets through."""
        found: dict[str, int] = {}
        with self.reads.reading():
            for shelf, mask in self.sight(where):
                for name, slot in self.reads.slots(shelf.owner, list(ids)):
                    if slot < shelf.size and (mask is None or mask[slot]):
                        found.setdefault(name, shelf.base + slot)
        return found

    def select(self, where: Where, *, order: str, limit: int, after: int | None = None) -> list[int]:
        """Keys in an order: `newest`, `oldest`, `turns` or `latest`."""
        if order not in ORDERS:
            raise InvalidQuery(f"order={order!r:.40} is unknown.", hint=f"Use {', '.join(ORDERS)}.")
        with self.reads.reading():
            first = limit if order == "latest" and after is None and len(where.sessions) == 1 else None
            entries = [
                (*place, own, key)
                for own, (shelf, mask) in enumerate(self.sight(where))
                for *place, key in _entries(shelf, mask, order, first)
            ]
        entries.sort(reverse=order == "latest")
        keys = [entry[-1] for entry in entries]
        if after is not None and after not in keys:
            raise UnknownRecord("The record to go on after has gone.", hint="Start from the beginning.")
        start = 0 if after is None else keys.index(after) + 1
        return keys[start : start + max(0, limit)]

    def turns(self, where: Where, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Keys of the owner's turns with these sessions and numbers, in sight; of several in one place, the one stored last."""
        with self.reads.reading():
            shelf = self.shelf(where.owner) if places else None
            if shelf is None:
                return {}
            slots = shelf.turns(places, self._mask(shelf, where, False))
            return {place: shelf.base + slot for place, slot in slots.items()}

    def facts(self, keys: Sequence[int]) -> dict[int, Facts]:
        """What scoring needs of each key; a key that is not there, or has gone meanwhile, is absent."""
        found: dict[int, Facts] = {}
        with self.reads.reading():
            for number in {key >> 32 for key in keys}:
                shelf = self.shelf_of(number)
                if shelf is not None:
                    slots = shelf.there(keys)
                    found.update(zip([shelf.base + slot for slot in slots], shelf.facts(slots), strict=True))
        return found

    def roles(self, where: Where) -> frozenset[str]:
        """The roles that records in sight may have; rather one too many than one too few."""
        with self.reads.reading():
            shelves = [self.shelf(path) for path in {where.owner, where.tenant or where.owner}]
            return frozenset(role for shelf in shelves if shelf is not None for role in ROLES if role in shelf.names.codes)

    def records(self, keys: Sequence[int]) -> list[Record]:
        """In the order of the keys; a key that has gone meanwhile is left out."""
        with self.reads.reading():
            for number in {key >> 32 for key in keys}:
                self.shelf_of(number)  # drops what has changed from the records at hand
            hand = self._at_hand
            found = {key: hand[key] for key in keys if key in hand}
            missing = [key for key in keys if key not in found]
            while missing and len(hand) > AT_HAND:
                del hand[next(iter(hand))]
            for row in self.reads.records(missing) if missing else ():
                record = found[row[0]] = record_of(row, self.reads.path_of(row[0] >> 32))
                if not record.metadata and len(record.text) < AT_HAND:  # metadata may hold what its reader can change
                    hand[row[0]] = record
            return [found[key] for key in keys if key in found]

    def clear(self) -> None:
        """Let go of everything."""
        self._shelves.clear()
        self._at_hand.clear()

    # What the searches use. Call while reading.

    def sight(self, where: Where) -> list[tuple[Shelf, np.ndarray | None]]:
        """The shelves that may be looked at, each with the mask of what may be seen (None: all of it)."""
        shelves = [(self.shelf(where.owner), False)]
        if where.tenant is not None and where.tenant != where.owner:
            shelves.append((self.shelf(where.tenant), True))
        return [(shelf, self._mask(shelf, where, tenant)) for shelf, tenant in shelves if shelf is not None and shelf.size]

    def shelf(self, path: str) -> Shelf | None:
        """An owner's shelf, caught up with the rows."""
        pulse = self.reads.pulse(path)
        if pulse is None:
            return None
        shelf = self._shelves.get(path)
        if shelf is not None and shelf.pulse == pulse:
            return shelf
        with self.reads.snapshot():
            row = self.reads.owner(path)
            if row is None:
                return None
            if shelf is None or not self._follow(shelf, *row[1:]):
                shelf = self._shelves[path] = Shelf(row[0])
                self._at_hand.clear()
                self._make_room(path)
                self._extend(shelf, row[1])
            shelf.change, shelf.pulse = row[2], pulse
        return shelf

    def shelf_of(self, number: int) -> Shelf | None:
        """The shelf of an owner's number, as the last search left it or as we have changed it since.

        Keys come from a search, which has asked whether other processes committed; asking again for every step of one answer
        would cost more than the steps.
        """
        path = self.reads.path_of(number)
        shelf = self._shelves.get(path)
        return shelf if shelf is not None and self.reads.fresh(shelf.pulse) else self.shelf(path)

    def lane(self, shelf: Shelf, space: str, view: str) -> Lane | ServedLane | None:
        """A lane of a shelf, loaded when it is first asked for."""
        lane = shelf.lanes.get((space, view))
        if lane is None and shelf.no_lanes.get((space, view)) != shelf.pulse:
            with self.reads.snapshot():
                row = self.reads.lane(shelf.owner, space, view)
                if row is None:
                    shelf.no_lanes[space, view] = shelf.pulse
                    return None
                lane = self._serve(shelf, space, view, *row) if self._serve else None
                if lane is None:
                    lane = self._loaded(shelf, space, view, *row)
            shelf.lanes[space, view] = lane
        return lane

    def _loaded(self, shelf: Shelf, space: str, view: str, number: int, dimension: int) -> Lane:
        lane = Lane(number, space, view, dimension, lambda slots: self._fetch(shelf.owner, number, slots), self._wide)
        # No further than the shelf has come: what was committed since will be told by the change log.
        for slots, blobs in self.reads.lane_blocks(shelf.owner, number, shelf.size, LOADED_AT_ONCE):
            if not lane.count:  # and as many again for as many slots, by and large
                lane.reserve(len(slots) * shelf.size // (int(slots[-1]) + 1), shelf.size)
            _put(lane, slots, blobs)
        return lane

    def _mask(self, shelf: Shelf, where: Where, tenant: bool) -> np.ndarray | None:
        mask = shelf.mask(where, tenant=tenant)
        if where.exclude:
            slots = [slot for _, slot in self.reads.slots(shelf.owner, sorted(where.exclude)) if slot < shelf.size]
            mask = np.ones(shelf.size, bool) if mask is None else mask.copy()
            mask[slots] = False
        return mask

    def _extend(self, shelf: Shelf, next_slot: int) -> None:
        if next_slot > shelf.size:
            starts = range(shelf.size, next_slot, LOADED_AT_ONCE)
            shelf.extend(self.reads.columns(shelf.owner, one, min(one + LOADED_AT_ONCE, next_slot)) for one in starts)

    def _follow(self, shelf: Shelf, next_slot: int, change: int) -> bool:
        """Catch up. False when the log no longer reaches back to where the shelf stands."""
        old = shelf.size
        self._extend(shelf, next_slot)
        if change == shelf.change:
            return True
        entries = self.reads.changes_since(shelf.owner, shelf.change)
        if len(entries) != change - shelf.change:
            return False
        for _, what, lane, slots in entries:
            touched = np.frombuffer(slots, "<u4").tolist()
            self._replay(shelf, what, lane, [slot for slot in touched if what == "vectors" or slot < old])
        return True

    def _replay(self, shelf: Shelf, what: str, number: int, slots: Sequence[int]) -> None:
        if what != "vectors":
            self._reread(shelf, what, slots)
        lanes = [lane for lane in shelf.lanes.values() if what == "words" or lane.number == number]
        for lane in lanes if what in ("words", "vectors") else ():
            for slot in slots:
                lane.drop(slot)
            found = self.reads.vectors(shelf.owner, lane.number, slots)
            _put(lane, [slot for slot, _ in found], b"".join([blob for _, blob in found]))
            if lane.gone > LOADED_AT_ONCE and lane.gone > len(lane):  # mostly gaps: load it anew when it is next asked for
                del shelf.lanes[lane.space, lane.view]

    def _reread(self, shelf: Shelf, what: str, slots: Sequence[int]) -> None:
        """Records were changed, or have gone."""
        if shelf.times is not None:
            shelf.times.stale.update(slots)
        self.graph.follow(shelf, slots)
        for slot in slots:
            self._at_hand.pop(shelf.base + slot, None)
        if what != "mentions":
            rows = {row[0]: row for row in self.reads.some_columns(shelf.owner, slots)}
            for slot in slots:
                shelf.amend(slot, rows.get(shelf.base + slot), words=what == "words")

    def _fetch(self, owner: int, lane: int, slots: Sequence[int]) -> dict[int, np.ndarray]:
        return {slot: np.frombuffer(blob, "<f4") for slot, blob in self.reads.vectors(owner, lane, slots)}

    def _make_room(self, path: str) -> None:
        """Keep the shelves used last, within a bound."""
        self._shelves.move_to_end(path)
        while len(self._shelves) > 2 and sum(shelf.nbytes() for shelf in self._shelves.values()) > SHELVES_BYTES:
            self._shelves.popitem(last=False)


def _entries(shelf: Shelf, mask: np.ndarray | None, order: str, first: int | None) -> list[tuple]:
    slots = np.arange(shelf.size) if mask is None else np.flatnonzero(mask)
    slots = slots if first is None else shelf.last_turns(slots, first)
    facts = shelf.facts(slots.tolist())
    keys = (shelf.base + slots).tolist()
    if order in ("turns", "latest"):
        recorded = shelf.columns["recorded"][slots].tolist()
        return [(f.session or "", f.turn or 0, r, f.id, k) for f, r, k in zip(facts, recorded, keys, strict=True)]
    sign = -1 if order == "newest" else 1
    return [(sign * f.at, f.id, k) for f, k in zip(facts, keys, strict=True)]


def _put(lane: Lane | ServedLane, slots: Sequence[int], blobs: bytes) -> None:
    if len(slots):
        lane.put(slots, np.frombuffer(blobs, "<f4").reshape(len(slots), -1))
