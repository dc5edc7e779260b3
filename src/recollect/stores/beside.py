"""A store with indexes beside it: the same rows, the same answers, another engine to nominate them.

The rows in the store are the truth. An index nominates records; which of them may be seen, how near they are and in what
order they come, the store's own rows decide: so scores and ties are the store's, whatever the engine rounds, and an index that
lies or is stale can't show anybody what is not theirs. What changed since the index last looked is compared from the rows, so
an answer never waits for the index to catch up. When it is down, slow or has yet to be brought up, the store's own search
answers, and the answer says so; with `fallback=no` in the index's URL the route fails instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import IndexFailed, StoreUnavailable
from ..ports import Add, Change, Found, Job, Receipt, Store
from ..query import Where
from .following import Follower
from .guard import Guard
from .vectors import usable

if TYPE_CHECKING:
    from .indexes import Opened

LEAST, MOST = 64, 4096  # nominees
NOISE = 2e-6  # what float32 may be wrong about a cosine
CLOSING_SECONDS = 2.0


class BesideStore:
    """See the module. Everything but the searches of the indexes is the store's own."""

    def __init__(
        self, store: Store, *, vector: Opened | None = None, graph: Opened | None = None, wall: Callable[[], float] | None = None
    ) -> None:
        if getattr(store, "feed", None) is None:
            raise StoreUnavailable("This store keeps no log of changes, so no index can follow it.", hint="Leave the index out.")
        self.inner = store
        self.outbox = _Outbox(self, store.outbox)
        self.indexes: list[Follower] = []
        if vector is not None:
            self.vector = BesideVector(store, self._follower(vector, wall), vector.fallback)
        if graph is not None:
            self.graph = graph.search(store, self._follower(graph, wall), graph.fallback)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def write(self, owner: str, changes: Iterable[Change]) -> Receipt:
        """The store's own write; the indexes follow. Of what was removed the receipt says what became of it there."""
        changes = list(changes)
        receipt = self.inner.write(owner, changes)
        paths = list(dict.fromkeys([owner, *(change.record.owner for change in changes if isinstance(change, Add))]))
        told = {one.name: one.told(paths, wait=bool(receipt.removed)) for one in self.indexes}
        if not receipt.removed:
            return receipt
        return receipt._replace(beside={name: _in_words(late) for name, late in told.items()})

    def status(self, owner: str) -> dict[str, object]:
        """The store's, and how the indexes stand."""
        return self.inner.status(owner) | {"indexes": [one.status(owner) for one in self.indexes]}

    def wrote(self, paths: Iterable[str]) -> None:
        """Something was written past `write`."""
        paths = list(dict.fromkeys(paths))
        for one in self.indexes:
            one.told(paths)

    def close(self) -> None:
        """Let go of the indexes, then of the store. Closing twice is fine."""
        for one in self.indexes:
            one.close(CLOSING_SECONDS)
        self.inner.close()

    def _follower(self, opened: Opened, wall: Callable[[], float] | None) -> Follower:
        guard = Guard(opened.index.name, deadline=opened.deadline, remote=opened.index.remote)
        self.indexes.append(Follower(self.inner, opened.index, guard, wall))
        return self.indexes[-1]


class BesideVector:
    """The vector port of a store with an index: `nearest` asks the index, the rest is the store's own."""

    def __init__(self, store: Store, follower: Follower, fallback: bool) -> None:
        self._store, self._follower, self._fallback = store, follower, fallback
        self._own = store.vector
        self.remote = follower.index.remote

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def nearest(
        self, where: Where, space: str, view: str, vector: np.ndarray, limit: int, threshold: float | None, *,
        beside: str | None = None,
    ) -> Found:  # fmt: skip
        """Neighbours among what the index nominates and what it has not seen yet, at the cosines of the rows."""
        vector = usable(vector)
        if limit < 1:
            return Found([], [])
        try:
            found = self._nominated(where, space, view, vector, limit, threshold, beside)
        except IndexFailed as error:
            self._follower.doubt()
            if not self._fallback:
                raise
            return self._by_itself(where, space, view, vector, limit, threshold, beside, str(error))
        return found or self._own.nearest(where, space, view, vector, limit, threshold, beside=beside)

    def drop(self, owner: str, space: str) -> int:
        """The store's, and the index follows."""
        gone = self._own.drop(owner, space)
        self._follower.told([owner])
        return gone

    def _by_itself(self, where: Where, space: str, view: str, vector, limit: int, threshold, beside, why: str) -> Found:
        found = self._own.nearest(where, space, view, vector, limit, threshold, beside=beside)
        note = f"{why} The store's own vectors were searched instead."
        return found._replace(note=f"{found.note}; {note}" if found.note else note)

    def _nominated(self, where: Where, space: str, view: str, vector, limit: int, threshold, beside) -> Found | None:
        """None: the index can't settle it. Too many are equally near, or it holds vectors of another length, or knows of none."""
        news = [key for shelf in shelves(where) for key in self._news(shelf, space, view)]
        floor, asked = None if threshold is None else threshold - NOISE, min(MOST, max(LEAST, 2 * limit))
        while True:
            nominees = self._follower.guard.call(
                lambda asked=asked: _checked(self._follower.index.nearest(where, space, view, vector, asked, floor, beside))
            )
            keys = list(dict.fromkeys([*(key for key, _ in nominees), *news]))
            ranked = self._ranked(where, space, view, vector, keys, threshold, beside)
            if ranked is None or not (keys or floor is not None):
                return None
            if len(nominees) < asked or (len(ranked) >= limit and nominees[-1][1] < ranked[limit - 1][0] - 2 * NOISE):
                return Found([key for _, key in ranked[:limit]], [score for score, _ in ranked[:limit]])
            if asked >= MOST:
                return None
            asked = min(MOST, 4 * asked)

    def _news(self, where: Where, space: str, view: str) -> list[int]:
        """What of a shelf the index has not seen. When that is nothing, it is time to count."""
        news = self._follower.unseen(where.owner)
        if not news:
            try:
                self._follower.audit(where, space, view)
            except IndexFailed:
                self._follower.kick(where.owner)
                raise
        return news

    def _ranked(self, where: Where, space: str, view: str, vector, keys, threshold, beside) -> list[tuple[float, int]] | None:
        """Those that may be seen, by their cosine: equal ones newest first, then by id, then the owner's own first."""
        seen = seen_among(self._store, where, keys)
        if beside is not None:
            there = self._own.vectors(beside, view, list(seen))
            seen = {key: place for key, place in seen.items() if key not in there}
        held = self._own.vectors(space, view, list(seen))
        if not held:
            return []
        if any(len(one) != len(vector) for one in held.values()):
            return None
        cosines = (np.array(list(held.values()), np.float64) @ vector.astype(np.float64)).round(6).tolist()
        ranked = [(-score, *seen[key], key) for key, score in zip(held, cosines, strict=True)]
        return [(-score, key) for score, *_, key in sorted(ranked) if threshold is None or -score >= threshold]


class _Outbox:
    """The store's outbox; the indexes hear of vectors that were settled."""

    def __init__(self, store: BesideStore, own: Any) -> None:
        self._store, self._own = store, own

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def settle(self, space: str, done: Sequence[tuple[Job, np.ndarray | None]]) -> int:
        stored = self._own.settle(space, done)
        if stored:
            keys = list(dict.fromkeys(job.key for job, vector in done if vector is not None))
            self._store.wrote(record.owner for record in self._store.inner.records(keys))
        return stored


def shelves(where: Where) -> list[Where]:
    """Each shelf that is looked at by itself: the owner's, and of the tenant's what it shares."""
    own = replace(where, tenant=None)
    if where.tenant in (None, where.owner) or (where.kinds and "identity" not in where.kinds):
        return [own]
    return [own, replace(where, owner=where.tenant, tenant=None, kinds=("identity",))]


def seen_among(store: Store, where: Where, keys: Sequence[int]) -> dict[int, tuple[int, str, bool]]:
    """Those of the keys that the store lets through, and what breaks their ties: -at, id, whether the tenant's."""
    facts: Mapping = store.facts(keys) if keys else {}
    seen = {}
    for number, shelf in enumerate(shelves(where) if facts else ()):
        there = set(store.resolve(shelf, [one.id for one in facts.values()]).values())
        seen.update({key: (-one.at, one.id, number > 0) for key, one in facts.items() if key in there})
    return seen


def _checked(nominees: object) -> list[tuple[int, float]]:
    """What an index says, if it can be taken for nominees at all."""
    try:
        return [(int(key), float(score)) for key, score in nominees]
    except (TypeError, ValueError) as error:
        raise IndexFailed(f"It returned what are no nominees: {error}.") from None


def _in_words(late: Mapping[str, str]) -> str:
    return "; ".join(dict.fromkeys(f"not yet: {why}" for why in late.values())) or "removed"


