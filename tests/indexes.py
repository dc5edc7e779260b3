"""Stand-ins for tests of indexes beside a store: an index in plain Python that can be broken, and stores with one beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from recollect.stores.beside import BesideStore
from recollect.stores.indexes import Opened
from recollect.stores.inmemory import InMemoryStore
from recollect.stores.payload import met, payload_of, sight_of, word


class Plain:
    """A vector index that looks at everything. `trouble` maps a method's name to an error, or to what stands in for it."""

    name = "plain"

    def __init__(self, *, remote: bool = False) -> None:
        self.remote = remote
        self.points: dict[int, tuple[dict, Mapping]] = {}
        self.marks: dict[str, str] = {}
        self.trouble: dict[str, Exception | Callable] = {}
        self.calls: list[str] = []

    def mark(self, owner: str) -> str:
        return self._did("mark", lambda: self.marks.get(owner, ""))

    def put(self, owner: str, held: Mapping, gone: Sequence[int]) -> None:
        def put() -> None:
            for key in (*held, *gone):
                self.points.pop(key, None)
            self.points.update({key: (payload_of(one), one.vectors) for key, one in held.items() if one.vectors})

        self._did("put", put)

    def settle(self, owner: str, mark: str) -> None:
        self._did("settle", lambda: self.marks.update({owner: mark}))

    def nearest(self, where, space, view, vector, limit, threshold, beside) -> list[tuple[int, float]]:
        def nearest() -> list[tuple[int, float]]:
            sight = sight_of(where, view, beside)
            seen = [
                (float(vectors[space, view] @ vector), key)
                for key, (load, vectors) in self.points.items()
                if (space, view) in vectors and met(load, sight)
            ]
            best = sorted(seen, key=lambda one: (-one[0], one[1]))
            return [(key, score) for score, key in best if threshold is None or score >= threshold][:limit]

        return self._did("nearest", nearest)

    def count(self, owner: str, space: str, view: str) -> int:
        mine = [vectors for load, vectors in self.points.values() if load["owner"] == word(owner)]
        return self._did("count", lambda: sum((space, view) in vectors for vectors in mine))

    def keys(self, owner: str) -> list[int]:
        return self._did("keys", lambda: [key for key, (load, _) in self.points.items() if load["owner"] == word(owner)])

    def close(self) -> None:
        self.calls.append("close")

    def _did(self, name: str, really: Callable):
        self.calls.append(name)
        stand_in = self.trouble.get(name, self.trouble.get("*"))
        if isinstance(stand_in, Exception):
            raise stand_in
        return (stand_in or really)()


def beside(index, *, store=None, fallback: bool = True, deadline: float = 5.0, wall=None) -> BesideStore:
    """A store with this index beside it."""
    return BesideStore(store or InMemoryStore(), vector=Opened(index, deadline=deadline, fallback=fallback), wall=wall)


def unit(*numbers: float) -> np.ndarray:
    """A vector of length one."""
    row = np.array(numbers, np.float64)
    return (row / np.linalg.norm(row)).astype(np.float32)
