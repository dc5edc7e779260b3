"""What chance could have done: bootstrap intervals of means, and a paired test of whether one way is better than another.

- `interval`: percentile bootstrap (Efron, 1979) over questions, 95 %, from 2,000 resamples. Over several sets, questions are
  drawn within each set and the sets' means are averaged, so a large set counts no more than a small one.
- `paired`: the sign-flip randomisation test (Fisher, 1935; for retrieval: Smucker, Allan and Carterette, CIKM 2007). Under the
  null hypothesis the two scores of a question could as well be swapped. With at most 16 differing questions every swap is tried
  and the p-value is exact; beyond, 20,000 random swaps give (1 + as extreme) / (1 + tried), which is never 0.
- `holm`: p-values of several comparisons made at once (Holm, 1979).

Everything is seeded: the same scores give the same figures. Questions are taken as independent; those of one conversation are
not entirely, so intervals are, if anything, a little narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

SEED, RESAMPLES, SWAPS, EXACT = 20_250_101, 2_000, 20_000, 16
LEVEL = 0.05
_BLOCK = 4_000_000  # numbers drawn at once
_SLACK = 1e-12  # equal sums added in another order


class Interval(NamedTuple):
    """A mean, and where it lies with 95 % confidence."""

    mean: float
    low: float
    high: float


class Compared(NamedTuple):
    """How much better the first is than the second, and how likely chance alone gives as large a difference."""

    difference: Interval
    p: float
    exact: bool

    @property
    def significant(self) -> bool:
        return self.p < LEVEL


def interval(groups: Sequence[Sequence[float]]) -> Interval:
    """The mean of the groups' means. One set is one group."""
    arrays = [np.asarray(group, float) for group in groups if len(group)]
    if not arrays:
        return Interval(0.0, 0.0, 0.0)
    drawn = np.mean([_resampled(values, SEED + number) for number, values in enumerate(arrays)], axis=0)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Interval(float(np.mean([values.mean() for values in arrays])), float(low), float(high))


def paired(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]) -> Compared:
    """Two-sided. Each group is a set; the scores stand in the same order of questions on both sides."""
    gaps = [np.asarray(a, float) - np.asarray(b, float) for a, b in zip(first, second, strict=True) if len(a)]
    shares = np.concatenate([gap / (len(gap) * len(gaps)) for gap in gaps]) if gaps else np.empty(0)
    shares = shares[shares != 0]
    observed = abs(shares.sum())
    exact = len(shares) <= EXACT
    flipped = _all_swaps(shares) if exact else _random_swaps(shares)
    extreme = int((np.abs(flipped) >= observed - _SLACK).sum())
    p = extreme / len(flipped) if exact else (1 + extreme) / (1 + len(flipped))
    return Compared(interval(gaps), float(p), exact)


def holm(values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given."""
    adjusted, highest = [0.0] * len(values), 0.0
    for place, number in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, values[number] * (len(values) - place)))
        adjusted[number] = highest
    return adjusted


def _resampled(values: np.ndarray, seed: int) -> np.ndarray:
    """The means of the resamples."""
    random, size = np.random.default_rng(seed), len(values)
    rows = max(1, _BLOCK // size)
    parts = [random.integers(0, size, (min(rows, RESAMPLES - start), size)) for start in range(0, RESAMPLES, rows)]
    return np.concatenate([values[part].mean(axis=1) for part in parts])


def _all_swaps(shares: np.ndarray) -> np.ndarray:
    signs = 1 - 2 * ((np.arange(1 << len(shares))[:, None] >> np.arange(len(shares))) & 1)
    return signs @ shares


def _random_swaps(shares: np.ndarray) -> np.ndarray:
    random, size = np.random.default_rng(SEED), len(shares)
    rows = max(1, _BLOCK // size)
    parts = [min(rows, SWAPS - start) for start in range(0, SWAPS, rows)]
    return np.concatenate([(1 - 2.0 * random.integers(0, 2, (part, size), dtype=np.int8)) @ shares for part in parts])
