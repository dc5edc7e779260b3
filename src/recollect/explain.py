"""Why these hits, and why not that one. Nothing is computed twice differently: the numbers are those the read path carried along.

An explanation of a hit is a tree whose root equals its score and whose children recompute it (after Lucene's and tantivy's
explanations). `why_not` names the gate that stopped a record (`gates`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .embed import Embedding
from .fuse import scale, voiced
from .gates import gate_of
from .ports import Store
from .query import Query
from .rankings import RAN, Answer, Hit, Place, Ranking
from .recall import recall
from .recipes import Recipe, RouteSpec
from .records import EMPTY, empty
from .rerank import Judges

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
    gate, reason, details = gate_of(query, recipe, embedding, store, expected, judges, answer)
    return Explanation(
        query=query.text, recipe=str(recipe), path=answer.diagnostics.retrieval_path, expected=expected, gate=gate, reason=reason,
        details=details, routes=_ran(answer),
        trees=tuple((hit, tree(hit, answer)) for hit in answer.hits if hit.id == expected),
    )  # fmt: skip


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
    return {"lexical": "score" if spec.cover else "BM25", "vector": "cosine", "tokens": "share"}.get(spec.kind, "score")


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
