"""The whole picture of one question: who was nominated by which route, where each ended, and which gate kept it from the answer.

For the page that shows why, and for whoever wants to look at everything at once. `explain` tells the same of the hits, or of one
record that was expected. Not for answering: it does the work twice, with everything kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .embed import Embedding
from .gates import by_fusion, late_gate
from .ports import Store
from .query import Query
from .rankings import Answer, Place
from .recall import Stages, go, places, recall
from .recipes import Recipe
from .records import Record
from .render import Rendered, render
from .rerank import Judges

MOST = 100  # candidates told of


class Standing(NamedTuple):
    """A candidate: where each route put it, its fused rank, its place in the answer if it has one, else the gate that lost it."""

    record: Record
    routes: Mapping[str, Place]
    fused_rank: int
    rrf_score: float
    rank: int | None
    gate: str
    reason: str


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
    held = stages.desk.records(order[:most])
    ranks = {hit.id: hit.rank for hit in answer.hits}
    standings = []
    for number, candidate in enumerate(found[:most], 1):
        record = held.get(candidate.key)
        if record is not None:  # else it went while we were looking
            gate = late_gate(candidate.key, record, answer, stages, order)
            own = places(candidate.places, names)
            standings.append(Standing(record, own, number, candidate.fused, ranks.get(record.id), *gate))
    return standings
