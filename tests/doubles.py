"""Stand-ins for tests: an embedder that counts and can be broken, a store that notes every call and can be broken."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from recollect import Memory, Scope
from recollect.embed import Embedding
from recollect.opening import open_judges
from recollect.ports import Profile
from recollect.recipes import as_recipe
from recollect.records import EMPTY
from recollect.settings import Settings
from recollect.testing import FixedClock

ASK = [1.0, 0.0, 0.0, 0.0]


def near(cosine: float, axis: int = 1, size: int = 4) -> list[float]:
    """A unit vector at this cosine to `ASK`, the rest of it along one axis."""
    vector = [0.0] * size
    vector[0], vector[axis] = cosine, math.sqrt(1 - cosine * cosine)
    return vector


class Toy:
    """Texts have the vectors of a table; what it does not hold has a vector of its letters. `trouble` may raise, sleep or lie."""

    def __init__(self, table: Mapping[str, Sequence[float]] = EMPTY, *, name: str = "toy", size: int = 4, **profile) -> None:
        self.table = dict(table)
        self.profile = Profile(**{"name": name, "model": name, "dimension": size, "fingerprint": f"{name}:{size}", **profile})
        self.asked: list[str] = []
        self.told: list[str] = []
        self.trouble: Callable[[np.ndarray], object] | None = None

    @property
    def calls(self) -> int:
        return len(self.asked) + len(self.told)

    def embed_queries(self, texts: Sequence[str]):
        self.asked += texts
        return self._rows(texts)

    def embed_documents(self, texts: Sequence[str]):
        self.told += texts
        return self._rows(texts)

    def _rows(self, texts: Sequence[str]):
        rows = np.array([self.table.get(text) or self._letters(text) for text in texts], np.float32)
        return rows if self.trouble is None else self.trouble(rows)

    def _letters(self, text: str) -> list[float]:
        size = self.profile.dimension
        return [1.0 + sum(map(ord, text[i::size])) % 97 for i in range(size)]


def asleep(seconds: float) -> Callable[[np.ndarray], np.ndarray]:
    def trouble(rows: np.ndarray) -> np.ndarray:
        time.sleep(seconds)
        return rows

    return trouble


def down(error: Exception | None = None) -> Callable[[np.ndarray], np.ndarray]:
    def trouble(rows: np.ndarray) -> np.ndarray:
        raise error or ConnectionError("the server is gone")

    return trouble


class Spy:
    """A store behind a window: `calls` notes what is called; `broken` maps "lexical.words" and so on to an error or stand-in."""

    def __init__(self, store, broken: Mapping[str, object] | None = None) -> None:
        self._store = store
        self.calls: list[str] = []
        self.broken: dict[str, object] = dict(broken or {})
        ports = ("lexical", "vector", "outbox", "notes")
        self.lexical, self.vector, self.outbox, self.notes = (_Port(self, port) for port in ports)

    def __getattr__(self, name: str):
        return self._watched(name, getattr(self._store, name))

    def _watched(self, name: str, real):
        def called(*given, **named):
            self.calls.append(name)
            stand_in = self.broken.get(name)
            if isinstance(stand_in, Exception):
                raise stand_in
            return (stand_in or real)(*given, **named)

        return called

    def searched(self) -> set[str]:
        """The searches that were asked since the last `calls.clear()`."""
        return {name for name in self.calls if name.split(".")[0] in ("lexical", "vector")}


class _Port:
    def __init__(self, spy: Spy, port: str) -> None:
        self._spy, self._port = spy, port

    def __getattr__(self, name: str):
        return self._spy._watched(f"{self._port}.{name}", getattr(getattr(self._spy._store, self._port), name))


def memory_on(store, *, embedder=None, recipe="balanced", owner="alice", clock=None, deadline=3.0, wall=time.time) -> Memory:
    """A memory on a store that is open already."""
    embedding = None if embedder is None else Embedding(embedder, deadline=deadline, wall=wall)
    own = {"embedding": embedding, "clock": clock or FixedClock(), "judges": open_judges("auto", Settings())}
    return Memory(store, Scope(owner=owner), recipe=as_recipe(recipe), **own)


def names(found) -> list[str]:
    """The ids of hits or records."""
    return [one.id for one in found]


def ranks(hit) -> dict[str, int]:
    """Where each route has a hit."""
    return {name: place.rank for name, place in hit.routes.items()}


def statuses(answer) -> dict[str, str]:
    """What became of each route."""
    return {ranking.route.name: ranking.status for ranking in answer.diagnostics.routes}


def reasons(answer) -> dict[str, str]:
    return {ranking.route.name: ranking.reason for ranking in answer.diagnostics.routes}
