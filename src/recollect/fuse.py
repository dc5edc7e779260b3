"""Reciprocal rank fusion: what each route's ranks are worth, added up.

Cormack, Clarke and Büttcher, SIGIR 2009, with a weight per route: weight / (k + rank), ranks from 1. Scores are never mixed,
only ranks, so routes with incomparable scores can vote together. Contributions are added in the recipe's route order
with `math.fsum`, so that neither order of arrival nor rounding can change a score. A `substring` route adds its boost
instead, whatever the rank.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .rankings import RAN, Candidate, Ranking
from .recipes import Recipe


def fuse(rankings: Sequence[Ranking], recipe: Recipe) -> list[Candidate]:
    """Every record some route found, once, in no order."""
    found: dict[int, Candidate] = {}
    for number, ranking in enumerate(rankings):
        if ranking.status == RAN and ranking.weight > 0:
            _place(found, number, ranking, recipe.rrf_k)
    for candidate in found.values():
        candidate.fused = math.fsum([place[3] for place in candidate.places])
        candidate.best_rank = min([place[1] for place in candidate.places])
    return list(found.values())


def _place(found: dict[int, Candidate], number: int, ranking: Ranking, k: float) -> None:
    weight, spec = ranking.weight, ranking.route
    boost = weight * spec.boost if spec.kind == "substring" else None
    for rank, (key, raw) in enumerate(zip(ranking.keys, ranking.scores, strict=True), 1):
        candidate = found.get(key)
        if candidate is None:
            candidate = found[key] = Candidate(key)
        elif candidate.places and candidate.places[-1][0] == number:
            continue  # a duplicate inside one route counts once, at its best rank
        candidate.places.append((number, rank, raw, weight / (k + rank) if boost is None else boost))
