"""A cross-encoder of one's own in a folder, run on onnxruntime: `onnx:FOLDER`.

For a model that is better, smaller or of other languages than the one that is offered. It takes question and text together and
answers with one number, or with two, of which the second says that the text answers. The score is the logistic, from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..embedders.folders import PIECES, Folder
from ..errors import InvalidSetting, RerankerFailed
from ..ports import JudgeProfile
from .cross_encoder import PIECES as LONGEST
from .cross_encoder import QUESTION, logistic


class OnnxReranker:
    """Scores by a folder's model. Checks at once that its files are there; safe to share between threads."""

    def __init__(self, argument: str) -> None:
        if not argument:
            raise InvalidSetting("onnx needs the folder of a cross-encoder.", hint="For example onnx:/models/my-reranker.")
        self._folder = Folder(Path(argument).expanduser())
        self._most = min(LONGEST, int(self._folder.said("config.json").get("max_position_embeddings") or PIECES))
        self.profile = JudgeProfile(name="onnx", model=self._folder.path.resolve().name, licence="the model's own")

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return [self._score(query, text) for text in texts]

    def _score(self, query: str, text: str) -> float:
        found = np.asarray(self._folder.ran(self._folder.fed(query, text, pieces=self._most, question=QUESTION)), np.float64)
        if found.size not in (1, 2):
            raise RerankerFailed(f"{self.profile.model} answered with {found.size} numbers: it is no cross-encoder.")
        flat = found.ravel()
        return logistic(float(flat[0] if flat.size == 1 else flat[1] - flat[0]))
