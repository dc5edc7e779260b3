"""The floor that is always there: a 4-bit table of English word vectors inside the package, 3.9 MB with its vocabulary.

For a first sense of meaning on a machine where nothing else is installed, at microseconds a text; it can't tell "dog bites
man" from "man bites dog", and beside text search it deserves the low weight it declares. Not for scripts other than Latin.

The vectors are potion-base-8M (MinishLab, MIT; Model2Vec, https://github.com/MinishLab/model2vec, and Tokenlearn): a text is
the mean of the vectors of its pieces, the weights of the words are already in the table. Our differences: four bits a number
with one scale a component (`scripts/make-static-table`), so a text is a sum of small whole numbers, scaled once at the end;
and, since that sum is scaled to length 1, no division by the number of pieces.

A text without one known piece (empty, or only emoji) becomes a row of zeros. That is no vector: the caller keeps none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from ..ports import Profile
from ..records import SPOKEN
from .rows import unit_rows
from .wordpiece import bert_uncased

DIMENSION = 256
WEIGHT = 0.3  # the most at which it took next to nothing from text search on every development set
PIECES = 512  # of a text, as the model's own code has it
_FIRST = 999  # BERT-uncased's first piece that is neither special nor unused: row 0 of the table
_HALF = DIMENSION // 2  # of a row: low halves of the bytes, then high halves
_HOME = Path(__file__).parent / "static"


class StaticEmbedder:
    """potion-base-8M in four bits. Loads its table when the first text comes; safe to share between threads."""

    def __init__(self) -> None:
        self.profile = Profile(
            name="static",
            model="potion-base-8m",
            dimension=DIMENSION,
            fingerprint=f"static:potion-base-8m:{DIMENSION}:int4-1{SPOKEN}",
            scripts=frozenset({"latin"}),
            languages=frozenset({"en"}),
            weight=WEIGHT,
            inline=True,
            max_chars=10_000,
            licence="MIT",
        )

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        sums = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for row, text in zip(sums, texts, strict=True):
            pieces = self._pieces(text)
            if pieces:
                _sum(pieces, row)
        return unit_rows(sums)

    embed_queries = embed_documents

    def _pieces(self, text: str) -> list[int]:
        return word_pieces(text[: self.profile.max_chars], PIECES)


def word_pieces(text: str, pieces: int) -> list[int]:
    """The rows of the table that are a text's first pieces."""
    return [number - _FIRST for number in bert_uncased().encode(text, pieces) if number >= _FIRST]


def word_vectors(rows: Sequence[int]) -> np.ndarray:
    """These rows of the table."""
    codes, scales = _table()
    packed = codes[rows]
    values = np.empty((len(rows), DIMENSION), dtype=np.float32)
    np.subtract(packed & 15, np.float32(8), out=values[:, :_HALF])
    np.subtract(packed >> 4, np.float32(8), out=values[:, _HALF:])
    return np.multiply(values, scales, out=values)


def _sum(pieces: list[int], row: np.ndarray) -> None:
    """Into `row`, the sum of the vectors of these pieces."""
    codes, scales = _table()
    packed = codes[pieces]
    np.add.reduce(packed & 15, axis=0, dtype=np.float32, out=row[:_HALF])
    np.add.reduce(packed >> 4, axis=0, dtype=np.float32, out=row[_HALF:])
    row -= 8 * len(pieces)
    row *= scales


@cache
def _table() -> tuple[np.ndarray, np.ndarray]:
    return np.load(_HOME / "potion-base-8m.int4.npy"), np.load(_HOME / "potion-base-8m.scales.npy")
