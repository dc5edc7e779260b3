"""The right answers, by brute force: what the text route and the vector route should have found.

BM25 over the project's own words (`recollect.tokens`), with k1 1.2, b 0.75 and the never-negative idf, each record visited,
nothing pruned; and cosines of every vector in float32. Neither shares a line with the engine's searches. A result counts as right
when its exact score reaches that of the k-th best, so that equal scores in another order are no mistake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from .world import World

K1, B = 1.2, 0.75


class Bm25:
    """Exact scores of all records for these questions."""

    def __init__(self, texts: Sequence[str], questions: Sequence[str]) -> None:
        from recollect.tokens import language_of, query_terms, terms

        languages = [language_of(text) for text in texts]
        self.queries = [query_terms(question, sorted({"en", *languages})) for question in questions]
        wanted = {term for query in self.queries for term in query}
        self.lengths = np.zeros(len(texts))
        postings: dict[str, list[tuple[int, int]]] = {term: [] for term in wanted}
        for number, (text, language) in enumerate(zip(texts, languages, strict=True)):
            held = terms(text, language)
            self.lengths[number] = len(held)
            for term, often in Counter(term for term in held if term in wanted).items():
                postings[term].append((number, often))
        self.postings = {term: np.array(found or [(0, 0)]).T for term, found in postings.items()}

    def scores(self, question: int) -> np.ndarray:
        total = np.zeros(len(self.lengths))
        norm = K1 * (1 - B + B * self.lengths / self.lengths.mean())
        for term in self.queries[question]:
            numbers, often = self.postings[term]
            holding = np.count_nonzero(often)
            idf = np.log(1 + (len(total) - holding + 0.5) / (holding + 0.5))
            total[numbers] += idf * often * (K1 + 1) / (often + norm[numbers])
        return total


def text_overlap(world: World, found: Sequence[Sequence[int]], k: int = 50) -> float:
    """Share of the exact best k by BM25 that was found, over the first questions, one list of record numbers each."""
    exact = Bm25(world.texts, [question.text for question in world.questions[: len(found)]])
    return float(np.mean([overlap(exact.scores(n), numbers, k) for n, numbers in enumerate(found)]))


def vector_overlap(world: World, found: Sequence[Sequence[int]], k: int = 10, step: int = 100_000) -> float:
    """Share of the exact nearest k that was found."""
    asked = np.array([question.vector for question in world.questions[: len(found)]])
    cosines = np.concatenate([world.vectors[at : at + step] @ asked.T for at in range(0, world.size, step)])
    return float(np.mean([overlap(cosines[:, n], numbers, k) for n, numbers in enumerate(found)]))


def overlap(scores: np.ndarray, numbers: Sequence[int], k: int) -> float:
    """How much of the best k these numbers are; fewer than k have a score: then of those."""
    k = min(k, int(np.count_nonzero(scores)))
    if not k:
        return 1.0
    kth = np.partition(scores, -k)[-k]
    right = sum(bool(scores[number] >= kth - 1e-6) for number in set(list(numbers)[:k]))
    return min(1.0, right / k)
