"""Recipes: everything that distinguishes one way of recalling from another, as one frozen value.

There is one read path; a recipe holds its numbers: which routes run and for how much, how they are fused, what age, quality
and support are worth, how repetition is removed, what is brought along. Five presets reproduce five published systems to
the digit; `balanced` is ours. A recipe prints and parses (`recipe_text`), so that a settings page, a results table and the
command line speak of the same thing. Not here: any computation with these numbers.

Fusion is reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009. Diversity is maximal marginal relevance:
Carbonell and Goldstein, SIGIR 1998. Durations are days. Weight 0 means that a route does not run at all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from .errors import InvalidRecipe
from .pools import Pool, PoolShape
from .recipe_fields import (
    Choice,
    Days,
    Name,
    Number,
    Pairs,
    Row,
    Several,
    Switch,
    Whole,
    entry,
    known,
    nearest,
    reach,
    settle_all,
)
from .records import KINDS, VIEWS

ROUTE_KINDS = ("tokens", "lexical", "vector", "graph", "substring", "temporal")
MEASURES = ("cosine", "tags", "words", "shingles")
MOST_ROUTES = 32
# Fields that mean something to some kinds of route only. Set on another they would be silently without effect: an error.
_BELONGS = {
    "view": ("vector",), "threshold": ("tokens", "vector", "graph"), "match": ("lexical",), "rank": ("lexical",),
    "cover": ("lexical",), "second_gate": ("tokens",), "boost": ("substring",), "hops": ("graph",), "facts": ("graph",),
}  # fmt: skip
_KIND = Choice(KINDS, "kinds of record")
_ROUTE_POOL, _FUSED_POOL, _TOP_POOL = Pool(times=10, least=50), Pool(times=4, least=50), Pool(least=20)
_RERANKERS = Name(
    r"(?a)[a-z][a-z0-9_-]{0,39}(\+[a-z][a-z0-9_-]{0,39}){0,3}",
    "a reranker's name such as auto or late, or several such as late+cross-encoder",
)
_NAMES = Name(r"(?ai)[a-z_][\w-]{0,39}(\([\w-]{1,40}\))?", "a short name such as lexical, vec_full or vector(semantic)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteSpec:
    """One way to find candidates, and what its ranks are worth."""

    kind: str = entry(Choice(ROUTE_KINDS), dataclasses.MISSING, "what the route does")
    view: str = entry(Choice(VIEWS), "full", "the view whose vectors are searched (vector)")
    name: str = entry(_NAMES, "", "what hits, weights and diagnostics call it; the kind, or vector(view), when not given")
    weight: float = entry(Number(0, 5), 1.0, "what its ranks are worth; 0: the route does not run")
    pool: Pool = entry(PoolShape(), _ROUTE_POOL, "how many candidates it brings")  # noqa: RUF009
    threshold: float | None = entry(Number(-1, 1), None, "lowest cosine (vector), token share (tokens), score (graph)", none=True)
    max_age: float | None = entry(Days(), None, "oldest event time, included", none=True)
    kinds: tuple[str, ...] = entry(Several(_KIND), (), "the kinds of record it searches; empty: those of the recipe")
    match: str = entry(Choice(("any", "all", "relax")), "any", "any word, all words, or all and else any (lexical)")
    rank: str = entry(Choice(("bm25", "native")), "bm25", "BM25, the same in every store, or the database's own (lexical)")
    cover: float = entry(Number(0, 20), 0.0, "scores × (1 + cover × share³): what share of the question a record holds (lexical)")
    second_gate: tuple[int, float] | None = entry(
        Row((Whole(1, 100), Number(0, 1)), "a row of shared words (1 to 100) and share (0 to 1), such as [2, 0.4]"),
        None, "also pass: so many shared tokens that make up this share of the record's own (tokens)", none=True,
    )  # fmt: skip
    boost: float = entry(Number(0, 1), 0.02, "what a hit adds, whatever its rank, times the weight (substring)")
    hops: int = entry(Whole(1, 5), 2, "how far to walk from an entity of the query (graph)")
    facts: bool = entry(Switch(), True, "what was derived is a hit itself; false: the record it came from is (graph)")

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", f"vector({self.view})" if self.kind == "vector" else str(self.kind))
        settle_all(self, f" of route {self.name!s:.60}")
        for name, kinds in _BELONGS.items():
            if self.kind not in kinds and getattr(self, name) != DEFAULTS[RouteSpec][name]:
                raise InvalidRecipe(
                    f"{name} of route {self.name} has no effect: {self.kind} routes have none.",
                    hint=f"It belongs to {' and '.join(kinds)} routes.",
                )

    def replace(self, **changes: Any) -> RouteSpec:
        """The same route with some fields changed. A name that was not given follows the kind and the view."""
        known(RouteSpec, changes, "route")
        own = self.name not in (self.kind, f"vector({self.view})")
        return dataclasses.replace(self, **({} if own else {"name": ""}) | changes)

    def __str__(self) -> str:
        from .recipe_text import print_route

        return print_route(self)


@dataclass(frozen=True, slots=True)
class RoutesShape:
    """Routes, their texts or their tables, with distinct names."""

    range: str = f"a list of 1 to {MOST_ROUTES} routes with distinct names"

    def take(self, value: Any) -> tuple[RouteSpec, ...]:
        if not isinstance(value, (list, tuple)) or not 1 <= len(value) <= MOST_ROUTES:
            raise ValueError
        routes = value if all(isinstance(item, RouteSpec) for item in value) else [as_route(item) for item in value]
        names = [route.name for route in routes]
        if len(set(names)) != len(names):
            raise InvalidRecipe(f"two routes are called {max(names, key=names.count)}.", hint="Give one another name=.")
        return tuple(routes)

    def plain(self, value: tuple[RouteSpec, ...]) -> list[str]:
        return [str(route) for route in value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to recall: every number the read path needs, in the order it is needed."""

    name: str = entry(Name(r"(?ai)[a-z_][\w-]{0,39}", "a short name such as mine"), "recipe", "a preset's name, or your own")
    routes: tuple[RouteSpec, ...] = entry(RoutesShape(), dataclasses.MISSING, "the ways to find candidates")
    limit: int = entry(Whole(1, 1000), 10, "how many hits, when the question doesn't say")
    kinds: tuple[str, ...] = entry(Several(_KIND), (), "the kinds of record searched; empty: all")
    kind_limits: tuple[tuple[str, int], ...] = entry(Pairs(_KIND, Whole(0, 1000)), (), "at most so many hits of a kind")
    fuse: str = entry(Choice(("ranks", "scores")), "ranks", "whether a route's ranks are added up, or its scores from 0 to 1")
    rrf_k: float = entry(Number(0, 1000), 60.0, "k of weight / (k + rank)")
    pool: Pool = entry(PoolShape(), _FUSED_POOL, "how many fused candidates are scored")  # noqa: RUF009
    trust: bool = entry(Switch(), False, "scale a vector route's weight by what its embedder is worth")
    parts_toll: float = entry(Number(0, 2), 0.0, "a score is divided by the parts its record is searched in, to this power")
    kin: float = entry(Number(0, 5), 0.0, "share of the best score among the turns of its session that a turn gains")
    alpha: float = entry(Number(0, 1), 0.0, "what quality (0 to 1) adds")
    decay: str | None = entry(Choice(("half-life", "ebbinghaus")), None, "how age fades a score", none=True)
    half_life: float = entry(Days(above=True), 30.0, "age at which decay is one half")
    half_lives: tuple[tuple[str, float], ...] = entry(Pairs(_KIND, Days(above=True)), (), "half-life of a kind, where it differs")
    floor: float = entry(Number(0, 1), 0.0, "decay of an evergreen kind never falls below this")
    evergreen: tuple[str, ...] = entry(Several(_KIND), (), "the kinds the floor holds for")
    sessions: str = entry(Choice(("off", "first", "only")), "off", "whether whole sessions stand in for their turns")
    support: float = entry(Number(0, 5), 0.6, "share of its best turn's fused score that a session gains")
    support_cap: float = entry(Number(0, 5), 0.12, "the most it gains")
    rerank: str | None = entry(_RERANKERS, None, "who reads the best candidates again, with the question", none=True)
    rerank_top: Pool = entry(PoolShape(), _TOP_POOL, "how many candidates it reads")  # noqa: RUF009
    rerank_by: str = entry(Choice(("rank", "score")), "rank", "whether its order counts, or its scores from 0 to 1")
    rerank_weight: float = entry(Number(0, 1), 1.0, "what its word counts against the score so far; 0: it is not asked")
    rerank_before: int = entry(Whole(0, 4000), 0, "a turn is read with the one before it, if that has no more characters")
    mmr: float | None = entry(Number(0, 1), None, "lambda: relevance (1) against novelty (0); none: no diversifying", none=True)
    redundancy: tuple[tuple[str, float], ...] = entry(
        Pairs(Choice(MEASURES), Number(0, 1), 1), (("words", 1.0),), "what counts as repetition: the largest of weight × measure"
    )
    duplicate: float | None = entry(Number(0, 1), None, "redundancy from which a hit says the same thing", none=True)
    mmr_pool: Pool = entry(PoolShape(), _TOP_POOL, "how many candidates are diversified")  # noqa: RUF009
    normalise: bool = entry(Switch(), False, "divide relevance by its maximum over the pool before diversifying")
    refill: bool = entry(Switch(), True, "bring duplicates back when nothing else is left; false drops them")
    neighbours: int = entry(Whole(0, 20), 0, "turns brought along on either side of a hit")
    neighbours_when: str = entry(Choice(("never", "no-session", "always")), "always", "when they are brought along")
    catch_up: bool = entry(Switch(), False, "put the latest session summary first in the first turn of a session")
    profile: bool = entry(Switch(), False, "always put the owner's procedural rules in the context")
    scope: str = entry(Choice(("owner", "project")), "owner", "all of the owner's, or the session's project, else the session")
    lookback: float | None = entry(Days(above=True, hours=True), None, "oldest event time for lexical routes", none=True)

    def __post_init__(self) -> None:
        settle_all(self)

    def replace(self, **changes: Any) -> Recipe:
        """The same recipe with some fields changed."""
        known(Recipe, changes, "recipe")
        return dataclasses.replace(self, **changes)

    def with_weights(self, weights: Mapping[str, float]) -> Recipe:
        """The same recipe with other weights, by route name, or by kind for all routes of that kind."""
        names = [route.name for route in self.routes]
        if not isinstance(weights, Mapping):
            raise InvalidRecipe("weights must be a table from the name of a route to 0 to 5.", hint=_roll("", names))
        for name in weights:
            if name not in names and all(route.kind != name for route in self.routes):
                raise InvalidRecipe(f"{self.name} has no route {name!s:.60}.", hint=_roll(name, names))
        new = (weights.get(route.name, _by_kind(weights, route, names)) for route in self.routes)
        return self.replace(routes=tuple(dataclasses.replace(r, weight=w) for r, w in zip(self.routes, new, strict=True)))

    def route(self, name: str) -> RouteSpec:
        """The route of this name."""
        for route in self.routes:
            if route.name == name:
                return route
        raise InvalidRecipe(f"{self.name} has no route {name!s:.60}.", hint=_roll(name, [route.name for route in self.routes]))

    def __str__(self) -> str:
        from .recipe_text import print_recipe

        return print_recipe(self)

    @classmethod
    def parse(cls, text: str) -> Recipe:
        """The recipe a text describes: the inverse of `str`."""
        return parse(text)


DEFAULTS: Mapping[type, Mapping[str, Any]] = {cls: {f.name: f.default for f in fields(cls)} for cls in (Recipe, RouteSpec)}


def _by_kind(weights: Mapping[str, float], route: RouteSpec, names: list[str]) -> float:
    """A word that is a route's name means that route alone, even where it is also a kind."""
    return route.weight if route.kind in names else weights.get(route.kind, route.weight)


def _roll(name: str, names: list[str]) -> str:
    return f"{nearest(name, names)} The routes are {', '.join(names)}.".strip()


def _each(kinds: tuple[str, ...], *routes: RouteSpec) -> tuple[RouteSpec, ...]:
    """These routes once for every kind of record, named after both."""
    return tuple(route.replace(kinds=(kind,), name=f"{route.kind}({kind})") for kind in kinds for route in routes)


def _opencouch() -> Recipe:
    pool = Pool(least=20)
    tokens = RouteSpec(kind="tokens", threshold=0.33, second_gate=(2, 0.40), pool=pool)
    vector = RouteSpec(kind="vector", threshold=0.5, pool=pool)
    recent = tuple(route.replace(max_age=30) for route in (tokens, vector))
    return Recipe(
        name="opencouch", routes=_each(("semantic",), tokens, vector) + _each(("episodic",), *recent), limit=7,
        kind_limits=(("semantic", 5), ("episodic", 2)), pool=Pool(least=80), catch_up=True, profile=True,
    )  # fmt: skip


def _sci(name: str, text: RouteSpec) -> Recipe:
    dense = RouteSpec(kind="vector", pool=Pool(times=3))
    return Recipe(name=name, routes=_each(("episodic", "semantic", "identity"), dense, text))


def _memsense() -> Recipe:
    views = {"vec_full": "full", "vec_user": "user", "vec_asst": "assistant", "vec_next_user": "next_user"}
    facets = {f"facet_{view}": view for view in ("personal_info", "preferences", "events")}
    pool = Pool(times=8, least=64)
    before, after = ([RouteSpec(kind="vector", name=n, view=v, pool=pool) for n, v in some.items()] for some in (views, facets))
    return Recipe(
        name="memsense", routes=(*before, RouteSpec(kind="lexical", pool=pool), *after), limit=4, rrf_k=15,
        pool=Pool(times=4, least=32), alpha=0.1, sessions="first", mmr=0.78, redundancy=(("cosine", 1.0), ("tags", 0.35)),
        duplicate=0.94, mmr_pool=Pool(times=4, least=32), neighbours=1, neighbours_when="no-session",
    )  # fmt: skip


def _annie() -> Recipe:
    sources = {"lexical": 4, "vector": 2, "graph": 1}
    edges = {"graph": ("relationship",)}  # the page's graph returns edges, and no segments
    routes = (RouteSpec(kind=kind, pool=Pool(times=times), kinds=edges.get(kind, ())) for kind, times in sources.items())
    return Recipe(
        name="annie", routes=tuple(routes), limit=5, pool=Pool(times=sum(sources.values())), decay="half-life", floor=0.3,
        evergreen=("person", "place", "relationship"), mmr=0.7, redundancy=(("words", 1.0),), mmr_pool=Pool(least=20),
        normalise=True,
    )  # fmt: skip


def _nexus() -> Recipe:
    vector = RouteSpec(kind="vector", threshold=0.5, pool=Pool(times=1))
    keyword = RouteSpec(kind="lexical", weight=0, pool=Pool(times=2))
    return Recipe(name="nexus", routes=(vector, keyword), limit=5, scope="project")


def _balanced() -> Recipe:
    pool = Pool(times=3, least=80)
    on = (RouteSpec(kind="lexical", cover=2, pool=pool), RouteSpec(kind="vector", pool=pool))
    off = (RouteSpec(kind="graph", weight=0, pool=pool, facts=False), RouteSpec(kind="temporal", weight=0, pool=pool))
    return Recipe(
        name="balanced", routes=(*on, *off), fuse="scores", trust=True, pool=Pool(times=4, least=120), parts_toll=0.4, kin=0.4,
        rerank="late", rerank_top=Pool(times=1, least=30), rerank_by="score", rerank_weight=0.75, rerank_before=200,
    )  # fmt: skip


def _fast() -> Recipe:
    pool, top = Pool(times=3, least=40), Pool(times=1, least=20)
    routes = (RouteSpec(kind="lexical", pool=pool),)
    return _balanced().replace(name="fast", routes=routes, trust=False, pool=pool, rerank_top=top)


def _thorough() -> Recipe:
    return _balanced().replace(name="thorough", rerank="late+cross-encoder", rerank_weight=0.85)


PRESETS: Mapping[str, Recipe] = MappingProxyType({
    recipe.name: recipe
    for recipe in (
        _balanced(), _fast(), _thorough(), _opencouch(), _sci("sci", RouteSpec(kind="lexical", match="all", pool=Pool(times=3))),
        _sci("sci_cloud", RouteSpec(kind="substring", pool=Pool(times=3))), _memsense(), _annie(), _nexus(),
    )
})  # fmt: skip


def preset(name: str) -> Recipe:
    """The preset of this name."""
    if name in PRESETS:
        return PRESETS[name]
    hint = f"{nearest(name, PRESETS)} The presets are {', '.join(PRESETS)}; or write recipe(routes=[…]).".strip()
    raise InvalidRecipe(f"There is no recipe {name!s:.60}.", hint=hint)


class FieldRow(NamedTuple):
    """What the help page and the command line say about a field."""

    of: str
    name: str
    range: str
    default: str
    meaning: str


def fields_table() -> list[FieldRow]:
    """Every field of a recipe and of its routes: range, default, meaning."""
    from .recipe_text import plain_text

    rows = []
    for cls, of in ((Recipe, "recipe"), (RouteSpec, "route")):
        for one in fields(cls):
            default = "" if one.default is dataclasses.MISSING else plain_text(one, one.default)
            rows.append(FieldRow(of, one.name, reach(one.metadata), default, one.metadata["meaning"]))
    return rows


def parse(text: str) -> Recipe:
    """The recipe a text describes: the inverse of `str`."""
    from .recipe_text import read_recipe

    return read_recipe(text)


def as_recipe(value: Recipe | str | Mapping[str, Any]) -> Recipe:
    """A recipe from a recipe, its text, or its table."""
    if isinstance(value, Recipe):
        return value
    if isinstance(value, Mapping):
        return from_mapping(value)
    return _parsed(value) if isinstance(value, str) else parse(value)


_parsed = lru_cache(maxsize=256)(parse)  # the same text comes with every question


def as_route(value: RouteSpec | str | Mapping[str, Any]) -> RouteSpec:
    """A route from a route, its text, or its table."""
    from .recipe_text import read_route

    if isinstance(value, RouteSpec):
        return value
    if not isinstance(value, Mapping):
        return read_route(value)
    known(RouteSpec, value, "route")
    if "kind" not in value:
        raise InvalidRecipe("A route needs a kind.", hint=f"There are {', '.join(ROUTE_KINDS)}.")
    return RouteSpec(**value)


def from_mapping(table: Mapping[str, Any]) -> Recipe:
    """The recipe a TOML or JSON table describes: `base`, any fields, and `weights`."""
    from .recipe_text import from_table

    return from_table(table)


def to_mapping(recipe: Recipe) -> dict[str, Any]:
    """A recipe as a table of numbers, words, lists and tables: what differs from its preset."""
    from .recipe_text import to_table

    return to_table(recipe)
