"""Lanes that the server searches: of a large owner, this process then holds which records have a vector, and no vectors.

An HNSW index (Malkov & Yashunin 2016, by way of pgvector) nominates, in half precision; the float32 vectors decide here, with the
arithmetic of every other lane. It knows no filter: what may be seen is told apart here. Where a filter leaves so few that the
index would have to be asked for very many, where equals crowd at the end of what it gave, or where it gave too few, the server
looks at every vector that may be seen. So a filter costs time, and never loses anything.

Who makes the indexes is `postgres_hnsw`. Without one, a lane is held in memory (`vectors.Lane`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from .postgres_vectors import Floats
from .vectors import best

if TYPE_CHECKING:
    from .postgres_rows import PostgresReads
    from .postgres_server import Server
    from .shelf import Shelf

FEW = 2_000  # so many are sooner looked at than an index is asked
DEEPEST = 2_000  # asked of an index at most; beyond what it keeps at once (MOST_KEPT) it goes on scanning
LEAST_KEPT, MOST_KEPT = 800, 1_000  # `hnsw.ef_search`: with 200 an index of 320,000 vectors in clusters loses one in twenty
SPARE = 50  # asked for besides, at least
CROWD = 5  # equal vectors from which an index may have left some out: it keeps ten in one place, and loses sight of more
HALF = 5e-4  # two cosines of unit vectors in half precision are never so far from their true order


class ServedLane:
    """A `Lane` without vectors: `held[slot]` says whether the slot has one on the server."""

    gone = 0

    def __init__(self, lanes: PostgresLanes, owner: str, number: int, space: str, view: str, dimension: int) -> None:
        self.number, self.space, self.view, self.dimension = number, space, view, dimension
        self.lanes, self.owner = lanes, owner
        self.held = np.zeros(0, bool)
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def put(self, slots: Sequence[int] | np.ndarray, block: object = None) -> None:
        """These have a vector from now on."""
        slots = np.asarray(slots, np.int64)
        if not len(slots):
            return
        if slots.max() >= len(self.held):
            more = max(int(slots.max()) + 1, len(self.held) * 5 // 4, 16) - len(self.held)
            self.held = np.concatenate([self.held, np.zeros(more, bool)])
        self.count += int(np.count_nonzero(~self.held[np.unique(slots)]))
        self.held[slots] = True

    def drop(self, slot: int) -> None:
        """It has none any more."""
        if slot < len(self.held) and self.held[slot]:
            self.held[slot] = False
            self.count -= 1

    def nearest(
        self, query: np.ndarray, k: int, threshold: float | None, mask: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """As of `Lane.nearest`."""
        seen = self.held if mask is None else self.held[: len(mask)] & mask[: len(self.held)]
        room = int(np.count_nonzero(seen))
        if not room:
            return np.empty(0, np.int64), np.empty(0)
        unit = query.astype(np.float64)
        unit = (unit / np.linalg.norm(unit)).astype(np.float32)  # half precision holds no large numbers
        vectors = self._nominated(unit, k, seen, room)
        if vectors is None:
            vectors = self.lanes.best_among(self, unit, np.flatnonzero(seen), min(k, room))
        block = np.array(list(vectors.values()), np.float32).reshape(len(vectors), self.dimension)
        cosines = (block.astype(np.float64) @ query.astype(np.float64)).round(6)
        return best(np.fromiter(vectors, np.int64, len(vectors)), cosines, k, threshold)

    def vectors(self, slots: Iterable[int]) -> dict[int, np.ndarray]:
        """The unit vectors of some slots."""
        there = [slot for slot in slots if slot < len(self.held) and self.held[slot]]
        return self.lanes.vectors(self, there) if there else {}

    def lacking(self, size: int) -> np.ndarray:
        """Which of the first so many slots have no vector here."""
        free = np.ones(size, bool)
        known = self.held[:size]
        free[: len(known)] = ~known
        return free

    def nbytes(self) -> int:
        return self.held.nbytes

    def _nominated(self, unit: np.ndarray, k: int, seen: np.ndarray, room: int) -> dict[int, np.ndarray] | None:
        """The vectors of all that may be among the best; None when that can't be known from what the index gives."""
        wanted = k + max(SPARE, k // 4)
        deep = math.ceil(1.5 * wanted * self.count / room)
        if room <= max(FEW, wanted) or deep > DEEPEST:
            return None
        slots, cosines = self.lanes.near(self, unit, deep)
        if len(slots) < deep:
            return None
        known = slots < len(seen)
        mine = known.copy()
        mine[known] = seen[slots[known]]
        if np.count_nonzero(mine) < wanted:
            return None
        floor = np.partition(cosines[mine], -k)[-k] - HALF
        equals = np.unique(cosines[cosines >= floor], return_counts=True)[1]
        if floor <= cosines.min() or equals.max() >= CROWD:
            return None
        return self.lanes.vectors(self, slots[mine & (cosines >= floor)].tolist())


class PostgresLanes:
    """What lanes that are searched on the server ask of it. `least`: vectors from which a lane may be one; 0: never."""

    def __init__(self, server: Server, queries: SimpleNamespace, reads: PostgresReads) -> None:
        self.server, self.q, self.reads, self.least = server, queries, reads, server.hnsw

    def open(self, shelf: Shelf, space: str, view: str, number: int, dimension: int) -> ServedLane | None:
        """A lane that has an index, as of this snapshot; None for all others."""
        if not self.least or shelf.size < self.least // 2:
            return None
        if self.server.one(self.q.index_is_made, (index_name(shelf.owner, number),)) != (True,):
            return None
        lane = ServedLane(self, self.reads.path_of(shelf.owner), number, space, view, dimension)
        ((slots,),) = self.server.all(self.q.lane_slots, (lane.owner, number, shelf.size))
        lane.put(np.frombuffer(slots or b"", ">i4"))
        return lane

    def near(self, lane: ServedLane, unit: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Slots and about their cosines, by the index; about the best first."""
        kept = min(MOST_KEPT, max(LEAST_KEPT, 2 * count))
        given = lane.owner, lane.number, Floats(unit.tobytes()), count
        rows = self.server.tuned(self.q.settings.format(ef=kept), self.q.near.format(n=lane.dimension), given)
        return np.array([slot for slot, _ in rows], np.int64), np.array([cosine for _, cosine in rows], np.float64)

    def best_among(self, lane: ServedLane, unit: np.ndarray, slots: np.ndarray, count: int) -> dict[int, np.ndarray]:
        """The vectors of the best of these slots, and of what equals the last of them; each was looked at."""
        given = lane.owner, lane.number, Floats(unit.tobytes()), slots.tolist(), count
        return _arrays(self.server.all(self.q.best_among, given))

    def vectors(self, lane: ServedLane, slots: Sequence[int]) -> dict[int, np.ndarray]:
        """Some vectors, as far as they are still there."""
        return _arrays(self.server.all(self.reads.q.vectors_by_slots, (lane.owner, lane.number, list(slots))))


def index_name(owner: int, lane: int) -> str:
    """What a lane's index is called."""
    return f"hnsw_{owner}_{lane}"


def _arrays(rows: Sequence[tuple[int, bytes]]) -> dict[int, np.ndarray]:
    return {slot: np.frombuffer(blob, "<f4") for slot, blob in rows}
