"""A model of one's own in a folder, run on onnxruntime: `onnx:FOLDER`.

For whoever has an embedding model that this package does not know: a fine-tuned one, one in another language. Any model of the
usual shape (BERT's inputs; a vector a piece, or one of the whole text) whose folder is laid out as such models are published. The
name may say how long its vectors are, `onnx:FOLDER@384`, where the folder doesn't. One thread and one text a run, as for `local`.

The fingerprint holds the folder's name and the weights' sum, not the path: the same model elsewhere has the same vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import EmbedderFailed, InvalidSetting
from ..ports import Profile
from ..records import SPOKEN
from .folders import PIECES, Folder
from .rows import checked_rows, unit_rows

LONGEST = 256  # pieces of a text, as for `local`: attention costs the square of the length


class OnnxEmbedder:
    """Vectors of a folder's model. Checks at once that its files are there; safe to share between threads."""

    def __init__(self, argument: str) -> None:
        name, _, size = argument.rpartition("@") if argument.rpartition("@")[2].isdecimal() else (argument, "", "")
        if not name:
            hint = "For example onnx:/models/my-model, or onnx:my-model@384."
            raise InvalidSetting("onnx needs the folder of a model.", hint=hint)
        self._folder = Folder(Path(name).expanduser())
        config = self._folder.said("config.json")
        dimension = int(size or config.get("hidden_size") or config.get("dim") or 0)
        if dimension < 1:
            raise InvalidSetting(f"{name} does not say how long its vectors are.", hint=f"Name it, for example onnx:{name}@384.")
        prompts = self._folder.said("config_sentence_transformers.json").get("prompts") or {}
        self._query = str(prompts.get("query") or "")
        self._document = str(prompts.get("document") or prompts.get("passage") or "")
        self._cls = bool(self._folder.said("1_Pooling/config.json").get("pooling_mode_cls_token"))
        self._most = min(LONGEST, int(config.get("max_position_embeddings") or PIECES))
        folder = self._folder.path.resolve().name
        way = f"{'cls' if self._cls else 'mean'}-{self._most}"
        self.profile = Profile(
            name="onnx", model=folder, dimension=dimension,
            fingerprint=f"onnx:{folder}:{dimension}:{self._folder.sum}-{way}{SPOKEN}", licence="the model's own",
        )  # fmt: skip

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        return self._rows(texts, self._query)

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return self._rows(texts, self._document)

    def _rows(self, texts: Sequence[str], prefix: str) -> np.ndarray:
        """A row a text; zeros for white space."""
        rows = np.zeros((len(texts), self.profile.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            if text.strip():
                row[:] = self._vector(prefix + text[: self.profile.max_chars])
        return unit_rows(checked_rows(rows, count=len(texts), dimension=self.profile.dimension, who=self.profile.model))

    def _vector(self, text: str) -> np.ndarray:
        found = self._folder.ran(self._folder.fed(text, pieces=self._most))
        if found.ndim == 3:
            found = found[:, 0] if self._cls else found.mean(axis=1)
        if found.shape != (1, self.profile.dimension):
            raise EmbedderFailed(
                f"{self.profile.model} answered with shape {found.shape}; {self.profile.dimension} numbers were due.",
                hint=f"Name the right size: onnx:{self._folder.path}@{found.shape[-1]}.",
            )
        return found[0]
