"""Why not that one: the gates a record goes through, in the order of the read path, and which of them kept it from the answer.

First what hides it (scope, time, filters), then what each route has of it, then what came after the routes: the pool, the limit
of its kind, its double, the limit. Nothing is decided here: each gate asks the very step that decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .embed import Embedding
from .fuse import fuse
from .gather import pointed
from .parts import part_ids
from .ports import Facts, Found, Store
from .query import Query, Where
from .rankings import Answer, Candidate
from .recall import Stages, go
from .recipes import Pool, Recipe, RouteSpec
from .records import DERIVED, Record, micros, moment
from .render import render
from .rerank import Judges
from .routes import SEARCHES, Skip, Vectors, narrowed
from .score import ordered

FAR = Pool(least=100_000)


def gate_of(
    query: Query, recipe: Recipe, embedding: Embedding | None, store: Store, expected: str, judges: Judges | None, answer: Answer
) -> tuple[str, str, Mapping[str, Any]]:
    """The gate, the reason in a sentence, and what each route has to say of the record."""
    anywhere = Where(owner=query.where.owner, tenant=query.scope.tenant, now=query.where.now, timeless=True)
    key = store.resolve(anywhere, [expected]).get(expected)
    if key is None:
        return "out of scope", f"{query.where.owner} has no record of this id.", {}
    record = store.records([key])[0]
    hidden = _hidden(record, store.facts([key])[key], query.where) or _unshared(record, query, recipe)
    if hidden:
        return *hidden, {}
    keys = {key, *store.resolve(anywhere, part_ids(record)).values()}
    details = {spec.name: _on_route(spec, keys, record, query, recipe, embedding, store) for spec in recipe.routes}
    stages = go(query, recipe, embedding, store, judges, whole=True)
    fused = [candidate.key for candidate in by_fusion(stages, recipe, store)]
    return *late_gate(key, record, answer, stages, fused), details


def _hidden(record: Record, facts: Facts, where: Where) -> tuple[str, str] | None:
    """What of the scope, the time and the filters hides it."""
    if not where.timeless and (hidden := _not_in_force(record, where)):
        return hidden
    if record.id in where.exclude:
        return "excluded", "Its id is among those excluded from this question."
    for name, allowed, own in (
        ("kind", where.kinds, record.kind), ("role", where.roles, record.role), ("session", where.sessions, record.session),
        ("project", where.projects, record.project), ("agent", (where.agent,) if where.agent else (), record.agent),
    ):  # fmt: skip
        if allowed and own not in allowed:
            return "filtered", f"Its {name} is {own}; asked for: {', '.join(map(str, allowed))}."
    if where.since is not None and facts.at < where.since:
        return "too old", f"It happened before {moment(where.since):%Y-%m-%d %H:%M}."
    return None


def _not_in_force(record: Record, where: Where) -> tuple[str, str] | None:
    """What of the time hides it: it does not hold, or was not known, at the moment asked about."""
    asked = where.now if where.as_of is None else where.as_of
    if record.superseded_by and (where.as_of is None or (micros(record.superseded_at) or 0) <= where.as_of):
        when = f"{record.superseded_by} replaced it on {record.superseded_at:%Y-%m-%d}." if record.superseded_at else ""
        return "superseded", when
    if record.valid_to is not None and micros(record.valid_to) <= asked:
        return "expired", f"It held until {record.valid_to:%Y-%m-%d %H:%M}."
    if record.valid_from is not None and micros(record.valid_from) > asked:
        return "not yet valid", f"It holds from {record.valid_from:%Y-%m-%d %H:%M}."
    if where.as_of is not None and micros(record.recorded_at) > where.as_of:
        return "recorded later", f"It was recorded on {record.recorded_at:%Y-%m-%d %H:%M}, after the moment asked about."
    return None


def _unshared(record: Record, query: Query, recipe: Recipe) -> tuple[str, str] | None:
    """The tenant's identity records are seen by routes that name their kind, and by no other."""
    if record.owner == query.where.owner or "identity" in (query.where.kinds or recipe.kinds):
        return None
    if any("identity" in spec.kinds for spec in recipe.routes if spec.weight):
        return None
    return "filtered", f"It is shared by all of {record.owner}, and seen only where kinds names identity."


def _on_route(
    spec: RouteSpec, keys: set[int], record: Record, query: Query, recipe: Recipe, embedding: Embedding | None, store: Store
) -> str:
    """Where a route has the record, or the best of its parts, looking further than the recipe does."""
    if not spec.weight:
        return "weight 0: does not run"
    vectors = Vectors(query, embedding, store)
    try:
        vectors.start(recipe)
        own = narrowed(query, recipe, spec)
        wide = spec.replace(pool=FAR, **({} if spec.threshold is None else {"threshold": None}))
        found = SEARCHES[spec.kind](spec.replace(pool=FAR), own, query, recipe, vectors, store)
        if not keys.isdisjoint(found.keys):
            return _ranked(found, keys, spec.pool.size(query.limit))
        if own.kinds and record.kind not in own.kinds:
            return f"kind {record.kind} is not searched here"
        if own.since is not None and record.at is not None and micros(record.at) < own.since:
            return f"older than this route looks back ({moment(own.since):%Y-%m-%d})"
        below = SEARCHES[spec.kind](wide, own, query, recipe, vectors, store)
        return _underived(spec, record) or _missed(spec, keys, below)
    except Skip as skip:
        return f"skipped: {skip}"
    except Exception as error:
        return f"failed: {error}"


def _underived(spec: RouteSpec, record: Record) -> str | None:
    """What was derived is for the graph alone, and there only where facts stand for themselves."""
    if record.role != DERIVED or (spec.kind == "graph" and spec.facts):
        return None
    return f"gives its place to {record.source}" if spec.kind == "graph" else f"derived from {record.source}: not searched here"


def _ranked(found: Found, keys: set[int], size: int) -> str:
    place = next(place for place, key in enumerate(found.keys) if key in keys)
    beyond = f", beyond the pool of {size}" if place >= size else ""
    return f"rank {place + 1} of {len(found.keys)} with {found.scores[place]:.6g}{beyond}"


def _missed(spec: RouteSpec, keys: set[int], below: Found) -> str:
    best = next((score for key, score in zip(below.keys, below.scores, strict=True) if key in keys), None)
    if best is not None:
        return f"{best:.6g} is below the threshold {spec.threshold:g}"
    return {
        "vector": f"no {spec.view} vector of this model", "substring": "does not contain the question",
        "graph": f"names nothing within {spec.hops} links of what the question names",
    }.get(spec.kind, "shares no word with the question" if spec.match == "any" else "lacks a word of the question")  # fmt: skip


def by_fusion(stages: Stages, recipe: Recipe, store: Store) -> list[Candidate]:
    """Whatever any route brought, in fused order, however far beyond the pool."""
    return ordered(_with_facts(fuse(stages.rankings, recipe, FAR.least), store), "fused")


def late_gate(key: int, record: Record, answer: Answer, stages: Stages, fused: Sequence[int]) -> tuple[str, str]:
    """What after the routes kept a record from the answer, of which the stages are the whole; `found` if nothing did."""
    query, recipe = answer.query, answer.recipe
    if record.id in [hit.id for hit in answer.hits]:
        return _shown(record, answer)
    if key not in fused and key not in [candidate.key for candidate in stages.scored]:
        if record.role == DERIVED and not any(spec.kind == "graph" and spec.facts and spec.weight for spec in recipe.routes):
            return "stands behind its source", f"It was derived: {record.source} answers for it."
        return "no route", "No route brought it within its pool; each says why."
    size = recipe.pool.size(query.limit)
    if key in fused and key not in [candidate.key for candidate in stages.pool]:
        return "beyond the pool", f"Fused rank {fused.index(key) + 1}; the pool is {size}."
    scored = [candidate.key for candidate in stages.scored]
    if key not in scored:
        chunks = [candidate.facts.session for candidate in stages.scored if candidate.facts.role == "session"]
        if record.role == "turn" and record.session in chunks:
            return "stands behind its session", f"Session {record.session} answers for its turns."
        if recipe.sessions == "only" and record.role != "session":
            return "filtered", "It is no session, and sessions=only was asked for."
        return "limit of its kind", f"Enough {record.kind} records ranked higher."
    final = [candidate.key for candidate in stages.final]
    if key not in final:
        return "duplicate", _doubled(key, stages)
    rank, doubled = final.index(key) + 1, _doubled(key, stages)
    if doubled:
        return "duplicate", doubled
    ahead = "" if rank > query.limit else ", and the latest summary comes first"
    return "beyond the limit", f"Final rank {rank}; {query.limit} were asked for{ahead}.{_read_at(key, stages)}"


def _read_at(key: int, stages: Stages) -> str:
    """Where a reranker put it, if one read it."""
    seen = next(candidate.judged for candidate in stages.scored if candidate.key == key)
    read = seen is not None and seen["relevance"] is not None
    return f" The reranker {stages.reranked.name} put it at {seen['rank']} of {stages.reranked.candidates}." if read else ""


def _shown(record: Record, answer: Answer) -> tuple[str, str]:
    rank = next(hit.rank for hit in answer.hits if hit.id == record.id)
    reason = render(pointed(answer), profile=answer.profile).why_not(record.id)
    if reason is not None:
        return reason, f"It is hit {rank}, but does not fit the memory block's 2,000 characters."
    return "found", f"It is hit {rank}."


def _with_facts(found: list[Candidate], store: Store) -> list[Candidate]:
    facts = store.facts([candidate.key for candidate in found])
    for candidate in found:
        candidate.facts = facts.get(candidate.key)
    return [candidate for candidate in found if candidate.facts is not None]


def _doubled(key: int, stages: Stages) -> str:
    candidate = next(candidate for candidate in stages.scored if candidate.key == key)
    about = candidate.diversity or {}
    if not about.get("duplicate"):
        return ""
    twin = stages.desk.ids([about["nearest"]]).get(about["nearest"])
    return f"It says the same as {twin} (redundancy {about['redundancy']:.3g})."
