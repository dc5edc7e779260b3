"""Late interaction over the static table: each word of the question meets the word of the text that is nearest to it.

A judge that is always there, at two milliseconds for thirty turns. After ColBERT (Khattab and Zaharia 2020,
https://arxiv.org/abs/2004.12832), with word vectors that know no context: potion-base-8M's, which `static` adds up to one
vector a text. Kept apart, the one word that answers is not drowned by those around it. Not for long texts, in which every word
finds something near: from REACH characters on its word counts less. The words are English, but their pieces meet in every
language of Latin letters: German gained as much as English did.

A word of the question counts by the cube of its vector's length, which is how much its makers found it to say: in a
question of a hundred words, those few decide that tell it from others. Of a longer one the WORDS that say most are asked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..embedders.static import word_pieces, word_vectors
from ..ports import JudgeProfile

QUESTION, WORDS, PIECES = 512, 64, 256
REACH = 180
ALONE = 1 << 18  # multiplications from which OpenBLAS calls for help
MODEL = "potion-base-8m"


class Late:
    """The largest cosine for each piece of the question, averaged by weight. Loads its table when the first text comes."""

    def __init__(self) -> None:
        self.profile = JudgeProfile(
            name="late", model=MODEL, scripts=frozenset({"latin"}), inline=True, max_chars=4_000, reach=REACH, licence="MIT"
        )

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        asked, weights = _asked(query)
        said = [word_pieces(text, PIECES) for text in texts]
        lengths = np.array([len(own) for own in said])
        if not weights.any() or not lengths.any():  # no piece of the question, or of any text, that says something
            return [0.0] * len(texts)
        pieces, place = np.unique(np.array([piece for own in said for piece in own]), return_inverse=True)
        near = _near(asked, _unit(word_vectors(pieces)))[:, place]
        there = np.flatnonzero(lengths)
        starts = np.concatenate(([0], np.cumsum(lengths[there])[:-1]))
        found = np.zeros(len(texts))
        found[there] = weights @ np.maximum.reduceat(near, starts, axis=1) / weights.sum()
        return np.round(found, 6).tolist()


def _asked(query: str) -> tuple[np.ndarray, np.ndarray]:
    """The question's distinct words that say most, and how much each says."""
    rows = word_vectors(sorted(set(word_pieces(query, QUESTION))))
    weights = np.linalg.norm(rows, axis=1).astype(np.float64) ** 3
    most = np.argsort(-weights, kind="stable")[:WORDS]
    return _unit(rows[most]), weights[most]


def _near(asked: np.ndarray, said: np.ndarray) -> np.ndarray:
    """The cosine of each word with each. In blocks so small that OpenBLAS keeps them on this thread: waking others, on a machine
    that has other things to do, took twenty times as long as the work."""
    found = np.empty((len(asked), len(said)), dtype=np.float32)
    step = max(1, ALONE // asked.size)
    for start in range(0, len(said), step):
        np.matmul(asked, said[start : start + step].T, out=found[:, start : start + step])
    return found.clip(0.0, 1.0, out=found)


def _unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return rows / np.maximum(lengths, 1e-12)
