"""IVF-Flat as an index beside a store, in memory: vectors in lists around centres, of which a search looks at the nearest ones.

For a GPU (cuVS, `flat_cuda.py`), and for its twin in numpy (`flat_numpy.py`), which does the same and which its tests compare it
with. A lane is one owner's view in one space. Small lanes are compared whole; a larger one is built into lists when it is first
asked, and again when it has grown by a quarter; what came since is compared whole, what went is left out. How many lists are
looked at is found out when they are built: as many as it takes to find 995 of 1,000 neighbours of some of the lane's own vectors,
and half as many again, because questions lie elsewhere than records; the fewer may be seen, the more. Nothing is kept when the
process ends: the next one reads the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..errors import IndexFailed
from ..ports import Holding
from ..query import Where
from .payload import MOMENTS, Among, Between, Condition, Value, payload_of, sight_of

WHOLE = 4096  # vectors up to which a lane is compared whole
GROWN = 1.25  # times as many as were built into lists, until they are built again
SAMPLE, NEIGHBOURS, RECALL, MARGIN = 64, 10, 0.995, 1.5


class Flat(Protocol):
    """The engine: lists of vectors, built once and searched often."""

    def build(self, rows: np.ndarray, lists: int) -> Any:
        """Rows of float32, in so many lists around centres."""

    def search(
        self, built: Any, queries: np.ndarray, k: int, probes: int, allowed: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Inner products and row numbers of the k best in the `probes` nearest lists, best first; -1 where there are fewer."""


class IvfIndex:
    """See the module and `ports.VectorIndex`."""

    remote = False

    def __init__(self, flat: Flat, name: str, *, probes: int | None = None) -> None:
        self.flat, self.name, self.probes = flat, name, probes
        self._shelves: dict[str, Shelf] = {}
        self._marks: dict[str, str] = {}

    def mark(self, owner: str) -> str:
        return self._marks.get(owner, "")

    def put(self, owner: str, held: Mapping[int, Holding], gone: Sequence[int]) -> None:
        shelf = self._shelves.setdefault(owner, Shelf())
        for key in (*held, *gone):
            shelf.drop(key)
        for key, one in held.items():
            if one.vectors:
                shelf.add(key, one)

    def settle(self, owner: str, mark: str) -> None:
        self._marks[owner] = mark

    def nearest(
        self, where: Where, space: str, view: str, vector: np.ndarray, limit: int, threshold: float | None, beside: str | None
    ) -> list[tuple[int, float]]:  # fmt: skip
        sight = sight_of(where, view, beside)
        found = self._of(where.owner, sight.conditions, space, view, vector, limit)
        if sight.tenant is not None:
            shared = (*sight.conditions, Among("kind", ("identity",)))
            found += self._of(where.tenant, shared, space, view, vector, limit)
        best = sorted(found, key=lambda one: -one[1])[:limit]
        return [one for one in best if threshold is None or one[1] >= threshold]

    def count(self, owner: str, space: str, view: str) -> int:
        lane = self._shelves[owner].lanes.get((space, view)) if owner in self._shelves else None
        return 0 if lane is None else lane.alive

    def keys(self, owner: str) -> list[int]:
        return list(self._shelves[owner].slots) if owner in self._shelves else []

    def close(self) -> None:
        self._shelves.clear()
        self._marks.clear()

    def _of(self, owner: str, conditions: Sequence[Condition], space: str, view: str, vector, limit: int):
        shelf = self._shelves.get(owner)
        lane = None if shelf is None else shelf.lanes.get((space, view))
        if lane is None or not lane.alive:
            return []
        if lane.rows.shape[1] != len(vector):
            raise IndexFailed(f"The vectors of {view} in {space} have {lane.rows.shape[1]} numbers, not {len(vector)}.")
        numbers, scores = lane.nearest(self.flat, vector, limit, shelf.mask(conditions)[lane.slots()], self.probes)
        return [(shelf.keys[slot], score) for slot, score in zip(lane.slots()[numbers].tolist(), scores.tolist(), strict=True)]


class Shelf:
    """An owner's records: what they are told apart by, in columns, and their lanes. A slot is never used twice."""

    def __init__(self) -> None:
        self.keys: list[int] = []
        self.slots: dict[int, int] = {}
        self.lanes: dict[tuple[str, str], Lane] = {}
        self._columns: dict[str, list[int]] = {}
        self._codes: dict[str, dict[Any, int]] = {}
        self._arrays: dict[str, np.ndarray] = {}

    def add(self, key: int, held: Holding) -> None:
        """A record and its vectors."""
        slot = self.slots[key] = len(self.keys)
        self.keys.append(key)
        load = payload_of(held)
        for field in {*load, *self._columns}:
            column = self._columns.setdefault(field, [-1] * slot)
            column.append(self._coded(field, load[field]) if field in load else -1)
        self._arrays.clear()
        for place, vector in held.vectors.items():
            self.lanes.setdefault(place, Lane(len(vector))).add(slot, vector)

    def drop(self, key: int) -> None:
        """No such record any more."""
        slot = self.slots.pop(key, None)
        for lane in self.lanes.values() if slot is not None else ():
            lane.drop(slot)

    def mask(self, conditions: Sequence[Condition]) -> np.ndarray:
        """Which slots meet all conditions."""
        allowed = np.ones(len(self.keys), bool)
        for one in conditions:
            column = self._column(one.field)
            if isinstance(one, Between):
                allowed &= column >= (np.iinfo(np.int64).min if one.least is None else one.least)
                allowed &= column <= (np.iinfo(np.int64).max if one.most is None else one.most)
            else:
                allowed &= np.isin(column, self._wanted(one.field, one.values), invert=not isinstance(one, Among))
        return allowed

    def _coded(self, field: str, value: Value) -> int:
        if field in MOMENTS:
            return value
        codes = self._codes.setdefault(field, {})
        return codes.setdefault(tuple(value) if isinstance(value, list) else value, len(codes))

    def _wanted(self, field: str, values: Sequence[str]) -> list[int]:
        codes = self._codes.get(field, {})
        if field == "lanes":
            return [code for lanes, code in codes.items() if set(lanes) & set(values)]
        return [codes[value] for value in values if value in codes]

    def _column(self, field: str) -> np.ndarray:
        if field not in self._arrays:
            self._arrays[field] = np.array(self._columns.get(field, [-1] * len(self.keys)), np.int64)
        return self._arrays[field]


class Lane:
    """Vectors of one view in one space, in order of arrival, and the lists the first of them are in."""

    def __init__(self, dimension: int) -> None:
        self.rows = np.zeros((0, dimension), np.float32)
        self.size = self.alive = self.built = 0
        self.lists: Any = None
        self.probes = self.count = 0
        self._slots = np.zeros(0, np.int64)
        self._at: dict[int, int] = {}
        self._dead = np.zeros(0, bool)

    def slots(self) -> np.ndarray:
        """Whose the rows are."""
        return self._slots[: self.size]

    def add(self, slot: int, vector: np.ndarray) -> None:
        """One more row."""
        if self.size == len(self.rows):
            room = max(64, 2 * self.size) - self.size
            self.rows = np.concatenate([self.rows, np.zeros((room, self.rows.shape[1]), np.float32)])
            self._slots = np.concatenate([self._slots, np.zeros(room, np.int64)])
            self._dead = np.concatenate([self._dead, np.zeros(room, bool)])
        self.rows[self.size], self._slots[self.size] = vector, slot
        self._at[slot] = self.size
        self.size += 1
        self.alive += 1

    def drop(self, slot: int) -> None:
        """That row counts no more."""
        row = self._at.pop(slot, None)
        if row is not None:
            self._dead[row] = True
            self.alive -= 1

    def nearest(
        self, flat: Flat, vector: np.ndarray, k: int, mask: np.ndarray, probes: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows that may be seen and their inner products, best first."""
        allowed = mask & ~self._dead[: self.size]
        if self.size > WHOLE and self.size > self.built * GROWN:
            self._build(flat)
        count, start = int(np.count_nonzero(allowed)), self.built
        if count <= WHOLE:  # few may be seen: a filter must not cost neighbours
            start = 0
        first, last = (np.zeros(0, np.int64), np.zeros(0, np.float32)), np.flatnonzero(allowed[start:]) + start
        if start:
            wide = min(self.count, -(-(probes or self.probes) * self.size // count))
            scores, rows = flat.search(self.lists, vector[None, :], k, wide, allowed[:start])
            there = rows[0] >= 0
            first = rows[0][there], scores[0][there]
        rows = np.concatenate([first[0], last])
        scores = np.concatenate([first[1], self.rows[last] @ vector])
        best = np.argsort(-scores, kind="stable")[:k]
        return rows[best], scores[best]

    def _build(self, flat: Flat) -> None:
        rows = self.rows[: self.size]
        count = max(1, round(np.sqrt(self.size)))
        self.lists, self.built, self.count = flat.build(rows, count), self.size, count
        self.probes = min(count, round(MARGIN * self._enough(flat, rows, count)))

    def _enough(self, flat: Flat, rows: np.ndarray, lists: int) -> int:
        """The fewest lists to look at, in doubles, that find nearly all neighbours of some rows."""
        asked = rows[:: max(1, len(rows) // SAMPLE)]
        exact = np.argpartition(-(asked @ rows.T), NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
        probes = 1
        while probes < lists:
            _, found = flat.search(self.lists, asked, NEIGHBOURS, probes, None)
            if np.mean([np.isin(one, other).mean() for one, other in zip(exact, found, strict=True)]) >= RECALL:
                break
            probes *= 2
        return min(probes, lists)
