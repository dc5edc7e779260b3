"""Late interaction over the static table: each word of the question meets the word of the text that is nearest to it.

A judge that is always there, at two milliseconds for thirty turns. After ColBERT (Khattab and Zaharia 2020,
https://arxiv.org/abs/2004.12832), with word vectors that know no context: potion-base-8M's, which `static` adds up to one
vector a text. Kept apart, the one word that answers is not drowned by those around it. Not for long texts, in which every word
finds something near: they are judged by their first pieces; and not for languages other than English.

A word of the question counts by the length of its vector, which is how much its makers found it to say.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..embedders.static import word_vectors
from ..ports import JudgeProfile

QUESTION, PIECES = 64, 256
MODEL = "potion-base-8m"


class Late:
    """The largest cosine for each piece of the question, averaged by weight. Loads its table when the first text comes."""

    def __init__(self) -> None:
        self.profile = JudgeProfile(
            name="late", model=MODEL, scripts=frozenset({"latin"}), languages=frozenset({"en"}), inline=True, max_chars=4_000,
            licence="MIT",
        )  # fmt: skip

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        asked, _ = word_vectors([query], QUESTION)
        said, lengths = word_vectors(texts, PIECES)
        weights = np.linalg.norm(asked, axis=1)
        if not weights.any() or not len(said):  # no piece of the question, or of any text, that says something
            return [0.0] * len(texts)
        near = (_unit(asked) @ _unit(said).T).clip(0.0, 1.0)
        there = np.flatnonzero(lengths)
        starts = np.concatenate(([0], np.cumsum(lengths[there])[:-1]))
        found = np.zeros(len(texts))
        found[there] = weights @ np.maximum.reduceat(near, starts, axis=1) / weights.sum()
        return np.round(found, 6).tolist()


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-12)
