"""IVF-Flat in numpy: the twin of `flat_cuda.py`, step by step what a GPU does, for tests and for machines without one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

TURNS, TRAINED, SEED = 8, 64, 7  # of k-means: rounds, rows a list, and where it starts


class Lists(NamedTuple):
    """Rows sorted by list; list `n` is `order[starts[n]:starts[n + 1]]`."""

    rows: np.ndarray
    centres: np.ndarray
    order: np.ndarray
    starts: np.ndarray


class NumpyFlat:
    """See the module and `ivf.Flat`."""

    def build(self, rows: np.ndarray, lists: int) -> Lists:
        """Centres by k-means on a sample, then each row to the centre with the largest inner product."""
        pick = np.random.default_rng(SEED)
        sample = rows[pick.permutation(len(rows))[: lists * TRAINED]]
        centres = sample[pick.permutation(len(sample))[:lists]].copy()
        for _ in range(TURNS):
            nearest = np.argmax(sample @ centres.T, axis=1)
            sums = np.zeros_like(centres)
            np.add.at(sums, nearest, sample)
            norms = np.linalg.norm(sums, axis=1, keepdims=True)
            centres = np.where(norms > 0, sums / np.maximum(norms, 1e-12), centres).astype(np.float32)
        own = np.concatenate([np.argmax(some @ centres.T, axis=1) for some in np.array_split(rows, 1 + len(rows) // 8192)])
        return Lists(rows, centres, np.argsort(own, kind="stable"), np.searchsorted(np.sort(own), np.arange(lists + 1)))

    def search(
        self, built: Lists, queries: np.ndarray, k: int, probes: int, allowed: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The k best rows of the nearest lists."""
        scores = np.full((len(queries), k), -np.inf, np.float32)
        found = np.full((len(queries), k), -1, np.int64)
        for number, query in enumerate(queries):
            near = np.argsort(-(built.centres @ query), kind="stable")[:probes]
            rows = np.concatenate([built.order[built.starts[one] : built.starts[one + 1]] for one in near])
            rows = rows if allowed is None else rows[allowed[rows]]
            products = built.rows[rows] @ query
            best = np.argsort(-products, kind="stable")[:k]
            scores[number, : len(best)], found[number, : len(best)] = products[best], rows[best]
        return scores, found
