"""What each route's ranks, or its scores, are worth, added up.

By ranks, which is the rule, it is reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009, with a weight per route:
weight / (k + rank), ranks from 1. Routes with incomparable scores can vote together. A `substring` route adds its boost
instead, whatever the rank.

By scores it is weight × (score − least) / (best − least): a route that sets its first far apart from its tenth says so, where
ranks are silent (Bruch, Gai and Ingber 2023, https://arxiv.org/abs/2210.11934). Cosines are never near 0, so their least is the
last that the route brought; everybody else's is 0. Scores of several models in one ranking can't be compared: there the
rank's share of the places stands in.

Contributions are added in the recipe's route order with `math.fsum`, so that neither order of arrival nor rounding can change
a score.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from operator import ge

from .rankings import RAN, Candidate, Ranking
from .recipes import Recipe

SLACK = 1e-9  # more than rounding can move a running sum; the candidates' own sums are exact


def fuse(rankings: Sequence[Ranking], recipe: Recipe, size: int) -> list[Candidate]:
    """The `size` best of all records that some route found, and whatever ties with the last of them; each once, in no order."""
    voices = [
        (number, ranking, votes_of(ranking, recipe))
        for number, ranking in enumerate(rankings) if ranking.status == RAN and ranking.weight > 0
    ]  # fmt: skip
    sums: dict[int, float] = {}
    for _, ranking, votes in voices:
        own = dict(zip(ranking.keys, votes, strict=False))
        if len(own) < len(ranking.keys):  # a duplicate inside one route counts once, at its best rank
            own = dict(zip(reversed(ranking.keys), reversed(votes[: len(ranking.keys)]), strict=True))
        if sums:
            for key, vote in own.items():
                sums[key] = sums.get(key, 0.0) + vote
        else:
            sums = own
    if len(sums) > size:
        least = sorted(sums.values())[-size] - SLACK
        sums = {key: total for key, total in sums.items() if total >= least}
    return _candidates(sums, voices)


def _candidates(sums: dict[int, float], voices: Sequence[tuple[int, Ranking, Sequence[float]]]) -> list[Candidate]:
    places: dict[int, list[tuple[int, int, float, float]]] = {key: [] for key in sums}
    for number, ranking, votes in voices:
        for rank, key in enumerate(ranking.keys):
            if key in places and not (places[key] and places[key][-1][0] == number):
                places[key].append((number, rank + 1, ranking.scores[rank], votes[rank]))
    found = [Candidate(key, own) for key, own in places.items()]
    for candidate in found:
        candidate.fused = math.fsum([place[3] for place in candidate.places])
        candidate.best_rank = min([place[1] for place in candidate.places])
    return found


def votes_of(ranking: Ranking, recipe: Recipe) -> Sequence[float]:
    """What each place of a ranking is worth."""
    if ranking.route.kind == "substring":
        return [ranking.weight * ranking.route.boost] * len(ranking.keys)
    if recipe.fuse == "scores":
        least, span = scale(ranking)
        return [ranking.weight * ((score - least) / span) for score in voiced(ranking)]
    ranks = -(-len(ranking.keys) // 64) * 64
    return (_table if ranks <= 1024 else _table.__wrapped__)(ranking.weight, recipe.rrf_k, ranks)


def scale(ranking: Ranking) -> tuple[float, float]:
    """The score that is worth nothing, and how far above it the one lies that is worth all."""
    scores = voiced(ranking)
    if not scores:
        return 0.0, 1.0
    best, least = scores[0], scores[-1] if ranking.route.kind == "vector" else 0.0
    return (least, best - least) if best > least else (best - 1.0, 1.0)


def voiced(ranking: Ranking) -> Sequence[float]:
    """The scores, where they fall with the ranks; where not, they are of several models, and ranks stand in for them."""
    scores = ranking.scores
    if all(map(ge, scores, islice(scores, 1, None))):
        return scores
    return [1.0 - place / len(scores) for place in range(len(scores))]


@lru_cache(maxsize=256)
def _table(weight: float, k: float, ranks: int) -> Sequence[float]:
    return [weight / (k + rank) for rank in range(1, ranks + 1)]
