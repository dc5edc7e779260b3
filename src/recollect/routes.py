"""Run the routes of a recipe and note what ran, what failed, what was skipped, and how long each took.

Routes of an embedded store take microseconds and run one after the other. What crosses a network is the embedder: it is
asked first, works while the text routes run, and is waited for until its deadline. A route that fails leaves the others
running, and the answer says so; only when the store itself is gone is there no answer. Weight 0 means no call at all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from .embed import Embedding
from .errors import EmbedderFailed, EmbedderTimeout, IndexTimeout, InvalidVector, NothingKnown, StoreUnavailable
from .ports import Found, Store
from .query import Query, Where
from .rankings import FAILED, RAN, SKIPPED, TIMED_OUT, Ranking
from .recipes import Recipe, RouteSpec
from .records import DERIVED, PART
from .spaces import Others, leading, merged
from .temporal import found_in_time
from .tokens import fold

if TYPE_CHECKING:
    import numpy as np

DAY = 86_400_000_000
Vector = Callable[[], "np.ndarray"]


class Skip(Exception):
    """A route has a reason not to run."""


def run(query: Query, recipe: Recipe, embedding: Embedding | None, store: Store) -> list[Ranking]:
    """One ranking a route, in the recipe's order."""
    vectors = Vectors(query, embedding, store)
    vectors.start(recipe)
    texts = {spec.name: _run(spec, query, recipe, vectors, store) for spec in recipe.routes if spec.kind != "vector"}
    return [texts.get(spec.name) or _run(spec, query, recipe, vectors, store) for spec in recipe.routes]


def narrowed(query: Query, recipe: Recipe, spec: RouteSpec) -> Where:
    """What this route may see: the question's scope, its kinds, its age limit."""
    where = query.where
    kinds = _kinds(where.kinds or recipe.kinds, spec.kinds)
    ages = [age for age in (spec.max_age, recipe.lookback if spec.kind == "lexical" else None) if age is not None]
    if not ages and kinds == where.kinds and "identity" not in kinds and not where.roles:
        return where
    now = where.as_of if where.as_of is not None else where.now
    since = [where.since] if where.since is not None else []
    roles = (*where.roles, PART) if where.roles else ()  # a part is judged by the role of its record, in `gather`
    return dataclasses.replace(
        where, roles=roles, kinds=kinds, since=max([*since, *(now - round(age * DAY) for age in ages)], default=None),
        tenant=query.scope.tenant if "identity" in kinds else where.tenant,
    )  # fmt: skip


class Vectors:
    """The question's vectors: given with it, or embedded once for all views."""

    def __init__(self, query: Query, embedding: Embedding | None, store: Store) -> None:
        self.query, self.store = query, store
        self.embedding = embedding if embedding is None or query.vectors else leading(embedding, query.text, query.where, store)
        self.heard: dict[str, float] = {}  # view → the most that a model is worth which answered, where several did
        self.error: Exception | None = None
        self._pending: Vector | None = None
        self.counts: dict[str, tuple[int, int]] = {}
        self.others = None if self.embedding is None else Others(query, self.embedding, store)

    def start(self, recipe: Recipe) -> None:
        """Ask the embedder, if a vector route will run that has something to search."""
        needed = [spec for spec in recipe.routes if spec.kind == "vector" and spec.weight and self._given(spec.view) is None]
        if not needed or self.embedding is None:
            return
        for spec in needed:
            self.others.ask(spec.view)
        if not self.embedding.reads(self.query.text):
            return
        if not any(self.count(spec.view)[0] for spec in needed):
            return
        try:
            self._pending = self.embedding.ask(self.query.text)
        except EmbedderFailed as error:
            self.error = error

    def space(self, view: str) -> str:
        if self.embedding is not None:
            return self.embedding.space
        given = self._given(view)
        if given is None:
            raise Skip("there is no embedder")
        return f"given:{len(given)}"

    def count(self, view: str) -> tuple[int, int]:
        """Vectors there are for a view, and texts that wait for theirs."""
        if view not in self.counts:
            where, space = self.query.where, self.space(view)
            own, waiting = self.store.vector.coverage(where, space, view)
            if self.query.scope.tenant != where.owner:
                own += self.store.vector.coverage(dataclasses.replace(where, owner=self.query.scope.tenant), space, view)[0]
            self.counts[view] = own, waiting
        return self.counts[view]

    def elsewhere(self, view: str) -> bool:
        """Have other spaces vectors of this view that the question's lacks?"""
        return self.others is not None and self._given(view) is None and bool(self.others.lacking(view))

    def worth(self, view: str) -> float:
        """What the model that answered is worth beside text search."""
        return self.heard.get(view, 1.0 if self.embedding is None else self.embedding.profile.weight)

    def of(self, view: str) -> np.ndarray:
        """The question's vector for a view, or the reason why there is none."""
        given = self._given(view)
        if given is not None:
            return given
        space = self.space(view)
        if not self.embedding.reads(self.query.text):
            raise Skip(f"{self.embedding.profile.name} can't read this script")
        count, waiting = self.count(view)
        if not count:
            raise Skip(f"no {view} vectors of {space}" + (f", {waiting} texts wait" if waiting else ""))
        if self.error is None and self._pending is not None:
            try:
                return self._pending()
            except NothingKnown as nothing:
                raise Skip(str(nothing)) from None
            except Exception as error:
                self.error = error
        raise self.error or Skip("the question was not embedded")

    def _given(self, view: str) -> np.ndarray | None:
        return self.query.vectors.get(view)


def _run(spec: RouteSpec, query: Query, recipe: Recipe, vectors: Vectors, store: Store) -> Ranking:
    weight = spec.weight
    if not weight:
        return Ranking(spec, 0.0, SKIPPED, "weight 0")
    started = perf_counter()
    status, reason, found = RAN, "", Found([], [])
    try:
        found = SEARCHES[spec.kind](spec, narrowed(query, recipe, spec), query, recipe, vectors, store)
        reason = found.note
    except Skip as skip:
        status, reason = SKIPPED, str(skip)
    except (StoreUnavailable, InvalidVector) as error:
        if isinstance(error, StoreUnavailable) or query.vectors:
            raise
        status, reason = FAILED, str(error)
    except (EmbedderTimeout, IndexTimeout) as error:
        status, reason = TIMED_OUT, str(error)
    except Exception as error:
        status, reason = FAILED, f"{type(error).__name__}: {error}"[:300]
    if recipe.trust and spec.kind == "vector" and not query.vectors:
        weight *= vectors.worth(spec.view)
    ms = (perf_counter() - started) * 1000
    return Ranking(spec, weight, status, reason, found.keys, found.scores, ms, found.reasons)


def _size(spec: RouteSpec, query: Query) -> int:
    return spec.pool.size(query.limit)


def _words(spec: RouteSpec, where: Where, query: Query, recipe: Recipe, vectors: Vectors, store: Store) -> Found:
    given = where, query.text, _size(spec, query), spec.match
    if spec.rank == "native" and hasattr(store.lexical, "native"):
        return _covering(store.lexical.native(*given), spec, query, store)
    found = _covering(store.lexical.words(*given), spec, query, store)
    return found if spec.rank == "bm25" else found._replace(note="this store has no ranking of its own: BM25 ranked")


def _covering(found: Found, spec: RouteSpec, query: Query, store: Store) -> Found:
    """What holds nearly all that was asked comes to the fore; whose share is small keeps its score."""
    if not (spec.cover and found.keys):
        return found
    held = store.lexical.shares(query.text, found.keys)
    shares = [held.get(key, 0.0) for key in found.keys]
    cover, scores = spec.cover, found.scores
    worth = [round(score * (1.0 + cover * share * share * share), 9) for score, share in zip(scores, shares, strict=True)]
    order = sorted(range(len(worth)), key=worth.__getitem__, reverse=True)
    return found._replace(
        keys=[found.keys[n] for n in order], scores=[worth[n] for n in order],
        reasons=Covered(dict(zip(found.keys, zip(scores, shares, strict=True), strict=True))),
    )  # fmt: skip


class Covered(Mapping[int, str]):
    """Key → what its score was and what share of the question it holds, put into words when somebody reads them."""

    def __init__(self, told: Mapping[int, tuple[float, float]]) -> None:
        self._told = told

    def __getitem__(self, key: int) -> str:
        score, share = self._told[key]
        return f"from {score:.6g}, holding {share:.0%} of what was asked"

    def __contains__(self, key: object) -> bool:
        return key in self._told

    def __iter__(self) -> Iterator[int]:
        return iter(self._told)

    def __len__(self) -> int:
        return len(self._told)


def _tokens(spec: RouteSpec, where: Where, query: Query, recipe: Recipe, vectors: Vectors, store: Store) -> Found:
    return store.lexical.tokens(where, query.text, _size(spec, query), spec.threshold or 0.0, spec.second_gate)


def _substring(spec: RouteSpec, where: Where, query: Query, recipe: Recipe, vectors: Vectors, store: Store) -> Found:
    return store.lexical.substring(where, query.text, _size(spec, query))


def _nearest(spec: RouteSpec, where: Where, query: Query, recipe: Recipe, vectors: Vectors, store: Store) -> Found:
    view, size = spec.view, _size(spec, query)
    if not vectors.elsewhere(view):
        return _in_space(spec, where, vectors, store, size)
    voices, notes = vectors.others.search(where, view, size, spec.threshold)
    try:
        found = _in_space(spec, where, vectors, store, size)
        voices, notes = [(found, vectors.worth(view)), *voices], [*filter(None, [found.note]), *notes]
    except Skip as skip:
        if not voices:
            raise Skip("; ".join([str(skip), *notes])) from None
        notes = [str(skip), *notes] if notes else []  # where all that answered stand side by side, nothing is amiss
    vectors.heard[view] = max(worth for _, worth in voices)
    return merged(voices, size, recipe.rrf_k if recipe.trust else None)._replace(note="; ".join(notes))


def _in_space(spec: RouteSpec, where: Where, vectors: Vectors, store: Store, size: int) -> Found:
    """What the present model's space finds."""
    found = store.vector.nearest(where, vectors.space(spec.view), spec.view, vectors.of(spec.view), size, spec.threshold)
    waiting = vectors.counts.get(spec.view, (0, 0))[1]
    return found._replace(note=f"{waiting} texts wait for their vectors") if waiting else found


def _graph(spec: RouteSpec, where: Where, query: Query, recipe: Recipe, vectors: Vectors, store: Store) -> Found:
    found = _offered(store, "graph").walk(where, query.text, _size(spec, query), spec.hops, facts=spec.facts)
    if found.note and not found.keys:
        raise Skip(found.note)
    found = found if spec.threshold is None else _at_least(found, spec.threshold)
    return _unrepeated(found, query, store) if spec.facts and found.keys else found


def _unrepeated(found: Found, query: Query, store: Store) -> Found:
    """A fact that says what its record says, word for word, gives its place to that one: neither is to be read twice."""
    places = _repeating(found.keys, query, store)
    if not places:
        return found
    best: dict[int, int] = {}
    for key in found.keys:
        best.setdefault(places.get(key, key), key)
    scores = dict(zip(found.keys, found.scores, strict=True))
    reasons = {place: found.reasons[key] for place, key in best.items() if key in found.reasons}
    return found._replace(keys=[*best], scores=[scores[key] for key in best.values()], reasons=reasons)


def _repeating(keys: Sequence[int], query: Query, store: Store) -> dict[int, int]:
    """Of these keys, the facts that repeat their records, and the keys of those, where the question may see them."""
    names = {own.id: key for key, own in store.facts(keys).items() if own.role == DERIVED}
    facts = [fact for fact in store.records([*names.values()]) if (fact.source or "").startswith("record:")]
    sources = {fact.id: (fact.source or "").removeprefix("record:") for fact in facts}
    if not sources:
        return {}
    there = store.resolve(dataclasses.replace(query.where, tenant=query.scope.tenant), sorted(set(sources.values())))
    said = {record.id: _bare(record.text) for record in store.records([*there.values()])}
    return {names[fact.id]: there[name] for fact in facts if said.get(name := sources[fact.id]) == _bare(fact.text)}


def _bare(text: str) -> str:
    return " ".join(fold(text).split()).rstrip(".!。！")


def _at_least(found: Found, threshold: float) -> Found:
    """What is as near as that. A name on every page brings every page, and fused by rank they would stand before others."""
    count = sum(score >= threshold for score in found.scores)
    return found._replace(keys=found.keys[:count], scores=found.scores[:count])


def _temporal(spec: RouteSpec, where: Where, query: Query, recipe: Recipe, vectors: Vectors, store: Store) -> Found:
    _offered(store, "temporal")
    found = found_in_time(query.text, where, _size(spec, query), store)
    if isinstance(found, str):
        raise Skip(found)
    return found


def _offered(store: Store, name: str) -> Any:
    """What not every store has."""
    port = getattr(store, name, None)
    if port is None:
        raise Skip(f"this store has no {name} route")
    return port


SEARCHES = {
    "lexical": _words, "tokens": _tokens, "substring": _substring, "vector": _nearest, "graph": _graph, "temporal": _temporal,
}  # fmt: skip


def _kinds(asked: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    if not (asked and own):
        return tuple(asked or own)
    both = tuple(kind for kind in own if kind in asked)
    if not both:
        raise Skip("none of its kinds was asked for")
    return both
