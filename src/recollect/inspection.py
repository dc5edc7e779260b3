"""The whole picture of one question: who was nominated by which route, where each ended, and which gate kept it from the answer.

For the page that shows why, and for whoever wants to look at everything at once. `explain` tells the same of the hits, or of one
record that was expected. Not for answering: it does the work twice, with everything kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from .embed import Embedding
from .explain import Node, tree
from .gates import by_fusion, late_gate
from .ports import Store
from .query import Query
from .rankings import Answer, Candidate, Hit, Place
from .recall import Stages, go, places, recall
from .recipes import Recipe
from .records import Record
from .render import Rendered, render
from .rerank import Judges

MOST = 100  # candidates told of
STAGES = frozenset({"turn_support", "kin", "quality", "rerank"})  # what adds to a score besides the routes
TAKES = frozenset({"decay", "toll"})  # what takes a share of it


class Standing(NamedTuple):
    """A candidate: where each route put it, its fused rank, its place in the answer if it has one, else the gate that lost it.

    `final_rank`: after all stages, however far beyond the answer. `reread`: the reranker's rank and relevance, if it was read.
    """

    record: Record
    routes: Mapping[str, Place]
    fused_rank: int
    rrf_score: float
    rank: int | None
    gate: str
    reason: str
    final_rank: int | None
    reread: tuple[int, float] | None


class Piece(NamedTuple):
    """What one route or stage adds to a score in the end; `lost`: what age or length took away, which the score has not."""

    what: str
    value: float
    lost: bool = False


def pieces(hit: Hit, answer: Answer) -> list[Piece]:
    """A score as the sum that it is: what is not lost adds up to it."""
    return [piece for piece in _pieces(tree(hit, answer), 1.0, STAGES | hit.routes.keys()) if piece.value]


def _pieces(node: Node, times: float, named: Set[str]) -> Iterator[Piece]:
    """Down to the routes and stages, whatever is multiplied on the way: a product has one part that is made of others."""
    if node.name in named or not node.children:
        yield Piece(node.name, times * node.value)
    elif node.op == "sum":
        for child in node.children:
            yield from _pieces(child, times, named)
    elif node.op == "ratio":
        yield from _pieces(node.children[0], times / node.children[1].value, named)
    else:
        inner = next(child for child in node.children if child.children)
        factors = [child for child in node.children if child is not inner]
        for one in factors:
            if one.name in TAKES:
                yield Piece(one.name, times * inner.value * (1 - one.value), lost=True)
        yield from _pieces(inner, times * prod(one.value for one in factors), named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """An answer, the block a prompt would get, and everybody who might have been in them, in fused order."""

    answer: Answer
    block: Rendered
    candidates: tuple[Standing, ...]

    def to_dict(self) -> dict[str, object]:
        """The JSON shape every door returns."""
        from .wire import inspection_json

        return inspection_json(self)


def inspect(
    query: Query, recipe: Recipe, embedding: Embedding | None, store: Store, judges: Judges | None = None, *, most: int = MOST,
    max_chars: int = 2000,
) -> Inspection:  # fmt: skip
    """See the module. `most`: so many candidates at most, the first by fused rank."""
    answer = recall(query, recipe, embedding, store, judges)
    stages = go(query, recipe, embedding, store, judges, whole=True)
    return Inspection(
        answer=answer, block=render(answer, profile=answer.profile, max_chars=max_chars),
        candidates=tuple(_standings(answer, stages, store, most)),
    )  # fmt: skip


def _standings(answer: Answer, stages: Stages, store: Store, most: int) -> list[Standing]:
    found = by_fusion(stages, answer.recipe, store)
    order = [candidate.key for candidate in found]
    names = [ranking.route.name for ranking in stages.rankings]
    final = {candidate.key: (rank, candidate) for rank, candidate in enumerate(stages.final, 1)}
    held = stages.desk.records(order[:most])
    ranks = {hit.id: hit.rank for hit in answer.hits}
    standings = []
    for number, candidate in enumerate(found[:most], 1):
        record = held.get(candidate.key)
        if record is not None:  # else it went while we were looking
            gate = late_gate(candidate.key, record, answer, stages, order)
            own = places(candidate.places, names)
            rank, scored = final.get(candidate.key, (None, None))
            place = (ranks.get(record.id), *gate, rank, _reread(scored))
            standings.append(Standing(record, own, number, candidate.fused, *place))
    return standings


def _reread(candidate: Candidate | None) -> tuple[int, float] | None:
    seen = candidate.judged if candidate is not None else None
    return (seen["rank"], seen["relevance"]) if seen and seen["relevance"] is not None else None
