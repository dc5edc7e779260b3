"""How good a ranking is, as numbers from 0 to 1. Pure; checked against trec_eval's own code by test.

- nDCG@k (Järvelin and Kekäläinen, 2002): the grade of each record found, discounted by log2(rank + 1), over the best possible
  order. The gain is the grade itself, as in trec_eval and BEIR, not 2^grade − 1.
- recall@k: the share of a question's relevant records among the first k; `any`: whether at least one is; `all`: whether all are.
- MRR@10 (Craswell, 2009): one over the rank of the first relevant record, 0 if it is not among the first ten.

A record counts once, at its best rank. A question without a relevant record has no score: `datasets` leaves it out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

Grades = Mapping[str, float]
TOP, DEEP = 10, 50


def ndcg(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """Normalised discounted cumulative gain of the first k."""
    best = math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(sorted(grades.values(), reverse=True)[:k], 1))
    gained = math.fsum(grades.get(id, 0.0) / math.log2(rank + 1) for rank, id in enumerate(once(ranked)[:k], 1))
    return gained / best


def recall(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """The share of the relevant records among the first k."""
    return _found(ranked, grades, k) / len(grades)


def recall_any(ranked: Sequence[str], grades: Grades, k: int) -> float:
    return float(_found(ranked, grades, k) > 0)


def recall_all(ranked: Sequence[str], grades: Grades, k: int) -> float:
    return float(_found(ranked, grades, k) == len(grades))


def reciprocal_rank(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """One over the rank of the first relevant record among the first k."""
    return next((1 / rank for rank, id in enumerate(once(ranked)[:k], 1) if id in grades), 0.0)


def _found(ranked: Sequence[str], grades: Grades, k: int) -> int:
    return sum(id in grades for id in once(ranked)[:k])


def once(ranked: Sequence[str]) -> Sequence[str]:
    """Each id at its first place only."""
    return ranked if len(set(ranked)) == len(ranked) else list(dict.fromkeys(ranked))


_SHALLOW: Mapping[str, tuple[Callable[[Sequence[str], Grades, int], float], int]] = {
    "nDCG@10": (ndcg, 10), "recall@5": (recall, 5), "recall@10": (recall, 10), "MRR@10": (reciprocal_rank, 10),
    "any@5": (recall_any, 5), "any@10": (recall_any, 10), "all@5": (recall_all, 5), "all@10": (recall_all, 10),
}  # fmt: skip
_DEEP = {"recall@50": (recall, 50), "any@50": (recall_any, 50), "all@50": (recall_all, 50)}
NAMES = (*_SHALLOW, *_DEEP)
SHOWN = ("nDCG@10", "recall@5", "recall@10", "recall@50", "MRR@10")  # the columns of a table


def scores(top: Sequence[str], deep: Sequence[str], grades: Grades) -> dict[str, float]:
    """Every metric of one question. `top` is what ten were asked for, `deep` what fifty were: a recipe may answer differently."""
    near = {name: metric(top, grades, k) for name, (metric, k) in _SHALLOW.items()}
    return near | {name: metric(deep, grades, k) for name, (metric, k) in _DEEP.items()}
