"""The HNSW indexes of large lanes: made and dropped by upkeep, and by nobody else.

An index is of one lane of one owner, on the partition where it is, and is made while others write (`CONCURRENTLY`). Whoever holds
the owner in memory is then told to load him anew, and asks the server from there on. What the indexes are for: `postgres_lanes`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

from ..errors import RecollectError
from .postgres_lanes import index_name

if TYPE_CHECKING:
    from .postgres_server import Server

LONGEST = 4_000  # numbers of a vector that an index of halfvec takes
CROWDED = 0.1  # share of a lane in crowds of equals from which none is made: they come between a graph and the rest
OLDEST = (0, 8)  # pgvector from which a search goes on until it has enough


class Work(NamedTuple):
    """What there is to do for an owner: lanes to index, with their dimensions; indexes to drop; and what is in the way."""

    make: list[tuple[int, int]]
    drop: list[str]
    made: int
    why_not: str = ""


class Tending:
    """See the module. `least`: vectors from which a lane gets an index, 0: never. Half as many keep it."""

    def __init__(self, server: Server, queries: SimpleNamespace, hnsw: SimpleNamespace) -> None:
        self.server, self.q, self.hnsw, self.least = server, queries, hnsw, server.hnsw

    def tend(self, owner: str, *, dry_run: bool) -> tuple[str, str, bool]:
        """What was found, what was done about it, and whether all is well."""
        number = next((number for number, *_ in self.server.all(self.q.pulse, (owner,))), 0)  # 0: nobody's
        work = self._work(owner, number)
        parts = [f"{work.made:,} indexes" + (f" over {self.least:,} vectors or more" if self.least else "")]
        parts += [f"{len(work.make):,} to make"] if work.make else []
        parts += [f"{len(work.drop):,} to drop"] if work.drop else []
        found = "; ".join([", ".join(parts), *filter(None, [work.why_not])])
        if dry_run or not (work.make or work.drop):
            return found, "", True
        try:
            for name in work.drop:
                self._drop(owner, name)
            for lane, dimension in work.make:
                self._make(owner, number, lane, dimension)
        except RecollectError as error:
            return found, str(error), False
        done = [f"{len(work.make):,} made"] * bool(work.make) + [f"{len(work.drop):,} dropped"] * bool(work.drop)
        return found, ", ".join(done), True

    def _work(self, owner: str, number: int) -> Work:
        there = {name: (valid, busy) for name, valid, busy in self.server.all(self.hnsw.indexes_of, (str(number),))}
        lanes = {lane: dimension for lane, _, _, dimension in self.server.all(self.q.lanes_of, (owner,))}
        counts = {lane: self.server.all(self.q.count_vectors, (owner, lane))[0][0] for lane in lanes}
        large = [lane for lane, count in counts.items() if self.least and count >= self.least]
        half = [lane for lane, count in counts.items() if self.least and count >= max(1, self.least // 2)]
        crowded = [lane for lane in half if self.server.all(self.hnsw.crowded, (owner, lane))[0][0] > CROWDED * counts[lane]]
        why_not = self._why_not(large, lanes) or ("too many texts are alike for an index" if crowded else "")
        fit = [lane for lane in large if lanes[lane] <= LONGEST and lane not in crowded] if not self._too_old() else []
        keep = {index_name(number, lane) for lane in half if lane not in crowded}
        drop = [name for name, (valid, busy) in there.items() if not busy and (name not in keep or not valid)]
        make = [(lane, lanes[lane]) for lane in fit if (name := index_name(number, lane)) not in there or name in drop]
        return Work(make, drop, len(there) - len(drop), why_not)

    def _why_not(self, large: list[int], lanes: dict[int, int]) -> str:
        if large and self._too_old():
            return "pgvector here is older than 0.8, so vectors are searched in memory: ALTER EXTENSION vector UPDATE;"
        if any(lanes[lane] > LONGEST for lane in large):
            return f"vectors of more than {LONGEST:,} numbers fit no index and are searched in memory"
        return ""

    def _too_old(self) -> bool:
        ((version,),) = self.server.all(self.hnsw.extension)
        return tuple(int(part) for part in version.split(".")[:2]) < OLDEST

    def _make(self, owner: str, number: int, lane: int, dimension: int) -> None:
        for (statement,) in self.server.all(self.hnsw.statement_to_make, (owner, lane, index_name(number, lane), dimension)):
            self.server.run(statement)
            self.server.run(self.q.disturb_owner, (owner,))

    def _drop(self, owner: str, name: str) -> None:
        for (statement,) in self.server.all(self.hnsw.statement_to_drop, (name,)):
            self.server.run(statement)
        self.server.run(self.q.disturb_owner, (owner,))
