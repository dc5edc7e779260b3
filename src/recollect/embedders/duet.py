"""`duet`: arctic-embed-s and all-MiniLM-L6-v2 in one vector, whose cosine is the sum of theirs, four to one.

The default where both files are installed. arctic finds the turn that answers a question; MiniLM, which is half as good at that,
is the better one where nothing is asked, or an answer shares no word with its question: a situation told, an old problem in new
words. With a fifth of the say it costs questions about chats little and gives those much: docs/models.md has the figures.

The vectors, each of length 1, are scaled by the roots of their shares and joined: 768 numbers in one space, so that stores,
indexes and recipes see one model. A text that has no known piece for one has none for the other: they share a vocabulary.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..records import SPOKEN
from .local import ARCTIC_WAY, MINILM_WAY, LocalEmbedder

SHARE = 0.2  # of the cosine that is MiniLM's
SCALES = (np.float32((1 - SHARE) ** 0.5), np.float32(SHARE**0.5))


class DuetEmbedder:
    """Both models, side by side in every vector. Checks at once that their files are there; safe to share."""

    def __init__(self, models_dir: Path | None) -> None:
        self._voices = tuple(LocalEmbedder(models_dir, way) for way in (ARCTIC_WAY, MINILM_WAY))
        models = [voice.way.model for voice in self._voices]
        name, dimension = "+".join(model.name for model in models), sum(model.dimension for model in models)
        marks = "-".join(model.sha256[:8] for model in models)
        self.profile = dataclasses.replace(
            self._voices[0].profile, name="duet", model=name, dimension=dimension, weight=1.4,
            fingerprint=f"duet:{name}-int8:{dimension}:{marks}-{round(SHARE * 100)}-1{SPOKEN}",
        )  # fmt: skip

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        return _joined([voice.embed_queries(texts) for voice in self._voices])

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return _joined([voice.embed_documents(texts) for voice in self._voices])


def _joined(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Beside one another, so scaled that a row of two has length 1 again."""
    return np.concatenate([own * scale for own, scale in zip(rows, SCALES, strict=True)], axis=1)
