"""Qdrant as an index beside a store: one collection a space, in it one named vector a view, one point a record.

A point's id is the record's key, its payload what `payload.py` makes of it, with the owner as the tenant: every search and every
count names the owner, and Qdrant keeps what belongs to one owner together. How far each owner's shelf was followed lies in a
collection of its own. Which engine it is, a server, the client's local mode or the embedded engine, is hidden in `Engine`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from ..ports import Holding
from ..query import Where
from ..records import VIEWS
from .payload import Among, Sight, Value, code_of, lane_of, payload_of, sight_of, word

MARKS = "marks"
UNNOTED = 500  # times it settles before the marks are noted, where that costs a flush
EF = 128  # how widely the graph is searched, at least; twice what is asked for, when that is more


class Engine(Protocol):
    """What Qdrant is asked, whichever way it is reached. A `point` is its id, named vectors and payload."""

    remote: bool
    lasting: bool  # each write is durable by itself; otherwise `flush` makes it so, at a price

    def collections(self) -> set[str]:
        """Names of what is there."""

    def create(self, name: str, dimensions: Mapping[str, int]) -> None:
        """A collection with these named vectors, compared by inner product; fine if it is there."""

    def upsert(self, name: str, points: Sequence[tuple[int | str, Mapping[str, list[float]], Mapping[str, Value]]]) -> None:
        """Points in place of those of the same id."""

    def delete(self, name: str, ids: Sequence[int]) -> None:
        """No such points any more."""

    def payload(self, name: str, id: str) -> Mapping[str, Value] | None:
        """What a point carries."""

    def search(
        self, name: str, view: str, vector: np.ndarray, sight: Sight, limit: int, threshold: float | None, ef: int
    ) -> list[tuple[int, float]]:
        """Ids and inner products, best first."""

    def count(self, name: str, sight: Sight) -> int:
        """How many points are in sight."""

    def ids(self, name: str, sight: Sight) -> list[int]:
        """Which points are in sight."""

    def flush(self) -> None:
        """Make durable what was written."""

    def close(self) -> None:
        """Release everything."""


class QdrantIndex:
    """See the module and `ports.VectorIndex`. `prefix` begins the name of every collection."""

    def __init__(self, engine: Engine, prefix: str, *, name: str = "qdrant") -> None:
        self.engine, self.prefix, self.name = engine, prefix, name
        self.remote = engine.remote
        self._there: set[str] | None = None
        self._marks: dict[str, str] = {}  # settled, but not noted yet
        self._unnoted = 0

    def mark(self, owner: str) -> str:
        if owner in self._marks:
            return self._marks[owner]
        if not self._has(MARKS):
            return ""
        payload = self.engine.payload(self._called(MARKS), _id(owner))
        return str(payload["mark"]) if payload else ""

    def put(self, owner: str, held: Mapping[int, Holding], gone: Sequence[int]) -> None:
        for space in {space for one in held.values() for space, _ in one.vectors}:
            dimension = next(len(v) for one in held.values() for (of, _), v in one.vectors.items() if of == space)
            self._make(code_of(space), dict.fromkeys(VIEWS, dimension))
        for name in self._spaces():
            points = [(key, mine, payload_of(one)) for key, one in held.items() if (mine := _vectors(one, name))]
            kept = {key for key, *_ in points}
            if points:
                self.engine.upsert(self._called(name), points)
            self.engine.delete(self._called(name), [key for key in (*held, *gone) if key not in kept])

    def settle(self, owner: str, mark: str) -> None:
        self._marks[owner] = mark
        self._unnoted += 1
        if self.engine.lasting or self._unnoted >= UNNOTED or not mark:
            self._note()

    def nearest(
        self, where: Where, space: str, view: str, vector: np.ndarray, limit: int, threshold: float | None, beside: str | None
    ) -> list[tuple[int, float]]:  # fmt: skip
        if not self._has(code_of(space)):
            return []
        sight = sight_of(where, view, beside)
        try:
            return self.engine.search(self._called(code_of(space)), view, vector, sight, limit, threshold, max(EF, 2 * limit))
        except Exception:
            self._there = None  # perhaps the collection has gone: look again before the next question
            raise

    def count(self, owner: str, space: str, view: str) -> int:
        if not self._has(code_of(space)):
            return 0
        sight = Sight(word(owner), None, (Among("lanes", (lane_of(space, view),)),))
        return self.engine.count(self._called(code_of(space)), sight)

    def keys(self, owner: str) -> list[int]:
        sight = Sight(word(owner), None, ())
        return sorted({key for name in self._spaces() for key in self.engine.ids(self._called(name), sight)})

    def close(self) -> None:
        if self._marks:
            self._note()
        self.engine.close()

    def _note(self) -> None:
        """First what the marks stand for, then the marks: after a crash some changes are put again, none is missing."""
        self.engine.flush()
        self._make(MARKS, {"mark": 1})
        points = [(_id(owner), {"mark": [1.0]}, {"owner": word(owner), "mark": mark}) for owner, mark in self._marks.items()]
        self.engine.upsert(self._called(MARKS), points)
        self.engine.flush()
        self._marks.clear()
        self._unnoted = 0

    def _called(self, name: str) -> str:
        return f"{self.prefix}-{name}"

    def _names(self) -> set[str]:
        if self._there is None:
            start = self._called("")
            self._there = {name.removeprefix(start) for name in self.engine.collections() if name.startswith(start)}
        return self._there

    def _spaces(self) -> list[str]:
        return sorted(name for name in self._names() if name != MARKS)

    def _has(self, name: str) -> bool:
        if name not in self._names():
            self._there = None  # another process may have made it
        return name in self._names()

    def _make(self, name: str, dimensions: Mapping[str, int]) -> None:
        if not self._has(name):
            self.engine.create(self._called(name), dimensions)
            self._there = None


def _id(owner: str) -> str:
    return str(uuid5(NAMESPACE_URL, "recollect:" + word(owner)))


def _vectors(held: Holding, name: str) -> dict[str, list[float]]:
    return {view: np.asarray(v, np.float32).tolist() for (space, view), v in held.vectors.items() if code_of(space) == name}


