"""Why these hits, and why not that one. Nothing is computed twice differently: the numbers are those the read path carried along.

An explanation of a hit is a tree whose root equals its score and whose children recompute it (after Lucene's and tantivy's
explanations). `why_not` sends one record through the gates in the order of the read path and names the one that stopped it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .embed import Embedding
from .fuse import fuse, scale, voiced
from .gather import pointed
from .parts import part_ids
from .ports import Facts, Found, Store
from .query import Query, Where
from .rankings import RAN, Answer, Candidate, Hit, Place, Ranking
from .recall import Stages, go, recall
from .recipes import Pool, Recipe, RouteSpec
from .records import DERIVED, EMPTY, Record, empty, micros, moment
from .render import render
from .rerank import Judges
from .routes import SEARCHES, Skip, Vectors, narrowed
from .score import ordered

FAR = Pool(least=100_000)
_SIGNS = {"sum": "+", "product": "×", "ratio": "/", "least": "min"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A number and what it was made of. `op`: value (a leaf), sum, product, ratio or least."""

    name: str
    value: float
    op: str = "value"
    children: tuple[Node, ...] = ()
    note: str = ""

    def recompute(self) -> float:
        """The value, from the leaves alone."""
        parts = [child.recompute() for child in self.children]
        if self.op == "sum":
            return math.fsum(parts)
        if self.op == "product":
            return math.prod(parts)
        if self.op == "ratio":
            return parts[0] / parts[1]
        return min(parts) if self.op == "least" else self.value

    def to_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"name": self.name, "value": self.value}
        if self.note:
            shown["note"] = self.note
        if self.children:
            shown |= {"op": self.op, "children": [child.to_dict() for child in self.children]}
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Prints as text; `to_dict()` is the same as JSON. `gate` names what stopped the expected record, `found` if nothing did."""

    query: str
    recipe: str
    path: str
    trees: tuple[tuple[Hit, Node], ...] = ()
    routes: tuple[str, ...] = ()
    expected: str | None = None
    gate: str | None = None
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=empty)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def to_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"query": self.query, "recipe": self.recipe, "retrieval_path": self.path}
        if self.expected is None:
            return shown | {"hits": [{"id": hit.id, "rank": hit.rank, "tree": node.to_dict()} for hit, node in self.trees]}
        return shown | {"expected": self.expected, "gate": self.gate, "reason": self.reason, "details": dict(self.details)}

    def _lines(self):
        yield f"{self.query!r} by {self.recipe}: {self.path}"
        yield from (f"  {line}" for line in self.routes)
        if self.expected is not None:
            yield f"{self.expected}: {self.gate}. {self.reason}"
            yield from (f"  {name}: {said}" for name, said in self.details.items())
        for hit, node in self.trees:
            yield f"{hit.rank}. [{hit.id}] {_short(hit.text)}"
            yield from _drawn(node, "   ", last=True)


def explain_text(answer: Answer) -> str:
    """The explanation of an answer as text."""
    return str(explain_answer(answer))


def explain_answer(answer: Answer) -> Explanation:
    """Every hit's tree, and what each route did."""
    return Explanation(
        query=answer.query.text, recipe=str(answer.recipe), path=answer.diagnostics.retrieval_path,
        trees=tuple((hit, tree(hit, answer)) for hit in answer.hits),
        routes=_ran(answer),
    )  # fmt: skip


def tree(hit: Hit, answer: Answer) -> Node:
    """final = (fused + support) × decay + alpha × quality, with only the parts this recipe uses."""
    recipe, about = answer.recipe, hit.explain
    ran = {ranking.route.name: ranking for ranking in answer.diagnostics.routes}
    node = _fused("rrf_score", hit.routes, ran, recipe, about.get("ways", EMPTY))
    if about.get("turn_support"):
        best = _fused("best turn", about["best_turn_routes"], ran, recipe)
        share = _node("share of the best turn", "product", _leaf("support", recipe.support), best)
        count = about["supporting_turn_count"]
        cap = _leaf("support_cap", recipe.support_cap)
        support = _node("turn_support", "least", cap, share, note=f"{count} turns speak for it")
        node = _node("hybrid", "sum", node, support)
    toll = _toll(about, recipe)
    node = _node("after toll", "product", node, toll) if toll else node
    if about.get("kin") is not None:
        kin = _node("kin", "product", _leaf("kin", recipe.kin), _leaf("best of its session", about["kin"]))
        node = _node("with kin", "sum", node, kin)
    if recipe.decay is not None:
        node = _node("faded", "product", node, _leaf("decay", about["decay"], note=_faded(about, hit, recipe)))
    if recipe.alpha:
        quality = _node("quality", "product", _leaf("alpha", recipe.alpha), _leaf("memory_score", about["memory_score"]))
        node = _node("with quality", "sum", node, quality)
    node = _reread(node, about["rerank"], recipe, toll, about.get("decay")) if "rerank" in about else node
    return dataclasses.replace(node, name="final_score", note=_marginal(about))


def why_not(
    query: Query, recipe: Recipe, embedding: Embedding | None, store: Store, expected: str, judges: Judges | None = None
) -> Explanation:
    """Which gate lost a record, in the order of the read path; or where it stands."""
    answer = recall(query, recipe, embedding, store, judges)
    gate, reason, details = _gate(query, recipe, embedding, store, expected, judges, answer)
    return Explanation(
        query=query.text, recipe=str(recipe), path=answer.diagnostics.retrieval_path, expected=expected, gate=gate, reason=reason,
        details=details, routes=_ran(answer),
        trees=tuple((hit, tree(hit, answer)) for hit in answer.hits if hit.id == expected),
    )  # fmt: skip


def _gate(
    query: Query, recipe: Recipe, embedding: Embedding | None, store: Store, expected: str, judges: Judges | None, answer: Answer
) -> tuple[str, str, Mapping[str, Any]]:
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
    return f" {stages.reranked.name} put it at {seen['rank']} of {stages.reranked.candidates}." if read else ""


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


def _fused(
    name: str, routes: Mapping[str, Place], ran: Mapping[str, Ranking], recipe: Recipe, ways: Mapping[str, str] = EMPTY
) -> Node:  # fmt: skip
    parts = []
    for route, place in routes.items():
        spec = recipe.route(route)
        weight, note = _leaf("weight", ran[route].weight), f"rank {place.rank}, {_raw(spec)} {place.raw:.6g}"
        note += f", {ways[route]}" if route in ways else ""
        if spec.kind == "substring":
            parts.append(_node(route, "product", weight, _leaf("boost", spec.boost), note=note))
        elif recipe.fuse == "scores":
            parts.append(_node(route, "product", weight, _share(ran[route], place), note=note))
        else:
            below = _node("k + rank", "sum", _leaf("rrf_k", recipe.rrf_k), _leaf("rank", place.rank))
            parts.append(_node(route, "ratio", weight, below, note=note))
    return _node(name, "sum", *parts)


def _share(ranking: Ranking, place: Place) -> Node:
    """How far between what is worth nothing and what is worth all a score lies."""
    least, span = scale(ranking)
    score = voiced(ranking)[place.rank - 1]
    above = _node("above the least", "sum", _leaf("score", score), _leaf("-least", -least)) if least else _leaf("score", score)
    return _node("share", "ratio", above, _leaf("span", span))


def _toll(about: Mapping[str, Any], recipe: Recipe) -> Node | None:
    parts = about.get("parts", 1)
    return _leaf("toll", parts**-recipe.parts_toll, f"{parts} parts ^ -{recipe.parts_toll:g}") if parts > 1 else None


def _reread(node: Node, seen: Mapping[str, Any], recipe: Recipe, toll: Node | None, decay: float | None) -> Node:
    """The score so far and the reranker's word, each with its share."""
    weight, by_rank, rank = seen["weight"], recipe.rerank_by == "rank", seen["rank"]
    so_far = node if by_rank else _node("share of the best", "ratio", node, _leaf("best score", seen["best"]))
    kept = _node("score so far", "product", _leaf("1 - rerank_weight", 1 - weight), so_far)
    if rank is None:
        return _node("reread", "sum", kept, note=f"beyond what {seen['name']} read")
    unread = seen["relevance"] is None
    note = f"{seen['name']}: " + ("can't read it, so it keeps its place" if unread else f"rank {rank}, {seen['relevance']:.6g}")
    if by_rank:
        below = _node("k + rank", "sum", _leaf("rrf_k", recipe.rrf_k), _leaf("rank", rank))
        return _node("reread", "sum", kept, _node("rerank", "ratio", _leaf("rerank_weight", weight), below, note=note))
    voice = so_far if unread else _leaf("relevance", seen["relevance"])
    charged = [*([toll] if toll else ()), *([_leaf("decay", decay)] if decay is not None else ())]
    voice = _node("after toll and age", "product", voice, *charged) if charged and not unread else voice
    return _node("reread", "sum", kept, _node("rerank", "product", _leaf("rerank_weight", weight), voice, note=note))


def _raw(spec: RouteSpec) -> str:
    return {"lexical": "BM25", "vector": "cosine", "tokens": "share"}.get(spec.kind, "score")


def _faded(about: Mapping[str, Any], hit: Hit, recipe: Recipe) -> str:
    half_life = dict(recipe.half_lives).get(hit.kind, recipe.half_life)
    floor = f", floor {recipe.floor:g}" if hit.kind in recipe.evergreen else ""
    return f"{about['age_days']:.3g} days old, {recipe.decay} {half_life:g} days{floor}"


def _marginal(about: Mapping[str, Any]) -> str:
    seen = about.get("diversity")
    if not seen:
        return ""
    near = f", nearest {seen['nearest']}" if seen["nearest"] else ""
    return f"mmr {seen['mmr']:.6g} = relevance {seen['relevance']:.6g} against redundancy {seen['redundancy']:.3g}{near}"


def _ran(answer: Answer) -> tuple[str, ...]:
    """What became of each route, and of the reading again."""
    found, read = answer.diagnostics, answer.diagnostics.rerank
    routes = tuple(_told(ranking) for ranking in found.routes)
    if read is None:
        return routes
    said = f"{read.candidates} read by {read.name}, {read.ms:.2f} ms" if read.status == RAN else f"{read.status}: {read.reason}"
    return (*routes, f"rerank: {said}")


def _told(ranking) -> str:
    spec = ranking.route
    if ranking.status == RAN:
        said = f"{len(ranking.keys)} candidates, {ranking.ms:.2f} ms" + (f", {ranking.reason}" if ranking.reason else "")
    else:
        said = f"{ranking.status}: {ranking.reason}"
    return f"{spec.name}: {said}"


def _leaf(name: str, value: float, note: str = "") -> Node:
    return Node(name=name, value=value, note=note)


def _node(name: str, op: str, *children: Node, note: str = "") -> Node:
    node = Node(name=name, value=0.0, op=op, children=children, note=note)
    return dataclasses.replace(node, value=node.recompute())


def _drawn(node: Node, indent: str, *, last: bool):
    sign = f" {_SIGNS[node.op]}" if node.op in _SIGNS and node.children else ""
    yield f"{indent}{'└' if last else '├'} {node.value:.6g} {node.name}{sign}{f'  ({node.note})' if node.note else ''}"
    below = indent + ("  " if last else "│ ")
    for child in node.children:
        yield from _drawn(child, below, last=child is node.children[-1])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:99] + "…"
