"""Vectors of hashed words: deterministic, instant, nothing to download. For tests; not for finding meaning.

Feature hashing (Weinberger et al. 2009, https://arxiv.org/abs/0902.2206): a word's hash names a component and a sign, a
text is the sum of its words, scaled to length 1. Two texts are near when they share words, so it adds nothing that text
search does not know already: hence the low weight. Our differences: a word outside ASCII also gives its pairs of
characters, so that scripts written without spaces are not one long word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise

import numpy as np

from ..errors import UnknownEmbedder
from ..ports import Profile
from .rows import unit_rows

DIMENSION = 256
WEIGHT = 0.3
_WORD = re.compile(r"\w+")


class HashingEmbedder:
    """Signed feature hashing of words. A text without a word becomes a zero row."""

    def __init__(self, dimension: int = DIMENSION) -> None:
        if not 8 <= dimension <= 65_536:
            raise UnknownEmbedder(f"hashing:{dimension} is out of range.", hint="Give 8 to 65536, for example hashing:256.")
        self.profile = Profile(
            name="hashing",
            model="words",
            dimension=dimension,
            fingerprint=f"hashing:words-1:{dimension}",
            weight=WEIGHT,
            inline=True,
            max_chars=100_000,
        )

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        dimension = self.profile.dimension
        sums = np.zeros((len(texts), dimension), dtype=np.float32)
        for row, text in zip(sums, texts, strict=True):
            for feature in _features(text[: self.profile.max_chars]):
                number = _number(feature)
                row[(number >> 1) % dimension] += 1 if number & 1 else -1
        return unit_rows(sums)

    embed_queries = embed_documents


def _features(text: str) -> Iterator[str]:
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        yield word
        if not word.isascii():
            for first, second in pairwise(word):
                yield first + second


@lru_cache(maxsize=65_536)
def _number(feature: str) -> int:
    # A lone surrogate is half a character that no encoding has; it must not stop a text from being embedded.
    return int.from_bytes(blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest(), "little")
