"""The best judge that runs offline here: ms-marco-MiniLM-L-12-v2, int8, on onnxruntime. English, some milliseconds a text.

For the last look at the first few candidates: question and text go through the model together, so it sees what answers what. Not
for more than a few dozen texts, and not for other languages. Trained on web questions and passages (Nguyen et al. 2016,
https://arxiv.org/abs/1611.09268; model: https://huggingface.co/cross-encoder/ms-marco-MiniLM-L12-v2).

Our choices: a pair a run, as for `local`: the int8 kernels scale by what is in the batch, so a text's score would depend on its
company, and one thread is no faster with more. Of the question the last 64 pieces, since what is asked comes after what was said
before, and 192 in all: what a turn needs, in time. The score is the logistic of a third of what the model says, from 0
to 1: it is nearly always sure, and whoever is averaged with it would not be heard. The first load judges a known pair. It was
trained on what people type into a search box: about questions of more than ASKED characters its word counts less. Beside a
quicker judge it reads the FEW best only: twenty were no better.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from ..embedders.models import MSMARCO, path_of
from ..embedders.running import fed, run, session
from ..embedders.wordpiece import CLS, SEP, bert_uncased
from ..errors import ModelDamaged
from ..ports import JudgeProfile

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

QUESTION, PIECES = 64, 192
ASKED = 100
FEW = 10
SURE = 3.0
KNOWN = "Where does the quick brown fox jump?"
ANSWERS, CHATTERS = "The quick brown fox jumps over the lazy dog, and nobody remembers why.", "The rent is due on the first."


class CrossEncoder:
    """ms-marco-MiniLM. Checks at once that its file is there, loads it when the first text comes; safe to share."""

    def __init__(self, models_dir: Path | None) -> None:
        self._path = path_of(MSMARCO, models_dir)
        self._session: InferenceSession | None = None
        self._loading = Lock()
        self.profile = JudgeProfile(
            name="cross-encoder", model=MSMARCO.name, scripts=frozenset({"latin"}), languages=frozenset({"en"}), max_chars=4_000,
            question=ASKED, few=FEW, licence=MSMARCO.licence,
        )  # fmt: skip

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        held = self._loaded()
        return [_score(held, query, text) for text in texts]

    def _loaded(self) -> InferenceSession:
        if self._session is None:
            with self._loading:
                if self._session is None:
                    opened = session(self._path, f"recollect models install {MSMARCO.name}")
                    _test(opened, self._path)
                    self._session = opened
        return self._session


def _score(held: InferenceSession, query: str, text: str) -> float:
    asked = bert_uncased().encode(query, 8 * QUESTION)[-QUESTION:]
    said = bert_uncased().encode(text, PIECES - 3 - len(asked))
    logit = float(run(held, "logits", fed([CLS, *asked, SEP], [*said, SEP]), MSMARCO.name)[0, 0])
    return logistic(logit / SURE)


def logistic(logit: float) -> float:
    """What a model says, from 0 to 1; what is not a number stays that."""
    return 0.0 if logit < -700 else 1 / (1 + exp(-logit))


def _test(held: InferenceSession, path: Path) -> None:
    """What answers a question is told from what does not."""
    right, wrong = _score(held, KNOWN, ANSWERS), _score(held, KNOWN, CHATTERS)
    if not (right > 0.8 and wrong < 0.2):  # NaN is wrong as well
        raise ModelDamaged(
            f"{path} does not judge as it should on this machine ({right:.2f} and {wrong:.2f}; near 1 and 0 are right).",
            hint=f"Try: recollect models verify {MSMARCO.name}; then a newer onnxruntime, or rerank=late.",
        )
