"""Say each thing once: maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998), and duplicates put off.

    mmr = lambda × relevance − (1 − lambda) × largest redundancy with what is chosen already

Relevance is the final score, literal, or divided by its maximum over the pool: raw fused scores are at most a few
hundredths, so against a penalty of up to 1 − lambda diversity would decide nearly alone. Redundancy is the largest of the
recipe's weighted measures. What is redundant from `duplicate` on waits until nothing else is left, and then returns (refill)
or stays out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .rankings import Candidate
from .recipes import Recipe
from .records import Record
from .tokens import jaccard, shingles, words

Records = Callable[[Sequence[int]], Mapping[int, Record]]
Vectors = Callable[[Sequence[int]], Mapping[int, object]]
Matrix = list[list[float]]


def diversify(found: list[Candidate], recipe: Recipe, limit: int, records: Records, vectors: Vectors) -> list[Candidate]:
    """The candidates in the order in which they add something; beyond the pool, as they were."""
    if recipe.mmr is None or len(found) < 2:
        return found
    size = recipe.mmr_pool.size(limit)
    pool, rest = found[:size], found[size:]
    matrix = redundancy(pool, recipe, records, vectors)
    chosen, waiting = _choose(pool, matrix, recipe, limit)
    return [*chosen, *(waiting if recipe.refill else ()), *rest]


def redundancy(pool: list[Candidate], recipe: Recipe, records: Records, vectors: Vectors) -> Matrix:
    """How much each candidate repeats each other one, from 0 to 1."""
    keys = [candidate.key for candidate in pool]
    matrix = [[0.0] * len(keys) for _ in keys]
    for measure, weight in recipe.redundancy:
        if weight:
            _raise_to(matrix, _cosines(keys, vectors) if measure == "cosine" else _overlaps(keys, measure, records), weight)
    return matrix


def _choose(pool: list[Candidate], matrix: Matrix, recipe: Recipe, limit: int) -> tuple[list[Candidate], list[Candidate]]:
    top = max(candidate.final for candidate in pool) if recipe.normalise else 1.0
    relevance = [candidate.final / top if top > 0 else candidate.final for candidate in pool]
    penalty, nearest = [0.0] * len(pool), [-1] * len(pool)
    left, waiting, chosen = list(range(len(pool))), [], []
    while left and len(chosen) < limit:
        marginal = [recipe.mmr * relevance[i] - (1 - recipe.mmr) * penalty[i] for i in left]
        best = max(range(len(left)), key=marginal.__getitem__)
        pick = left.pop(best)
        _note(pool, pick, marginal[best], relevance[pick], penalty[pick], nearest[pick])
        chosen.append(pick)
        for i in left:
            if matrix[pick][i] > penalty[i]:
                penalty[i], nearest[i] = matrix[pick][i], pick
        if recipe.duplicate is not None:
            waiting += [i for i in left if penalty[i] >= recipe.duplicate]
            left = [i for i in left if penalty[i] < recipe.duplicate]
    for i in waiting:
        _note(pool, i, recipe.mmr * relevance[i] - (1 - recipe.mmr) * penalty[i], relevance[i], penalty[i], nearest[i], True)
    waiting.sort(key=lambda i: (-pool[i].mmr, i))
    return [pool[i] for i in (*chosen, *left)], [pool[i] for i in waiting]


def _note(
    pool: list[Candidate], i: int, mmr: float, relevance: float, penalty: float, nearest: int, duplicate: bool = False
) -> None:
    pool[i].mmr = mmr
    pool[i].diversity = {
        "mmr": mmr, "relevance": relevance, "redundancy": penalty, "nearest": pool[nearest].key if nearest >= 0 else None,
        "duplicate": duplicate,
    }  # fmt: skip


def _raise_to(matrix: Matrix, other: Matrix, weight: float) -> None:
    for row, values in zip(matrix, other, strict=True):
        row[:] = [max(one, weight * value) for one, value in zip(row, values, strict=True)]


def _cosines(keys: Sequence[int], vectors: Vectors) -> Matrix:
    """Cosines of the full vectors, 0 to 1, to six places; 0 where there is no vector."""
    import numpy as np

    held = vectors(keys)
    matrix = [[0.0] * len(keys) for _ in keys]
    there = [i for i, key in enumerate(keys) if key in held]
    if not there:
        return matrix
    block = np.array([held[keys[i]] for i in there], np.float64)
    cosines = np.round(np.clip(block @ block.T, 0.0, 1.0), 6).tolist()
    for i, row in zip(there, cosines, strict=True):
        for j, cosine in zip(there, row, strict=True):
            matrix[i][j] = cosine
    return matrix


def _overlaps(keys: Sequence[int], measure: str, records: Records) -> Matrix:
    """Jaccard of tags, words or character shingles."""
    held = records(keys)
    bags = [_bag(measure, held[key]) if key in held else set() for key in keys]
    return [[jaccard(one, other) if one and other else 0.0 for other in bags] for one in bags]


def _bag(measure: str, record: Record) -> set[str]:
    if measure == "tags":
        return set(record.tags)
    return set(words(record.text)) if measure == "words" else shingles(record.text)
