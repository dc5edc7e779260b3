"""Cross-encoders run by libraries that people have anyway: sentence-transformers and fastembed.

`sentence-transformers:cross-encoder/ms-marco-MiniLM-L6-v2`, `fastembed:BAAI/bge-reranker-base`. The library fetches the model
as it always does, when the first texts come. What fastembed says is a logit; here it is the logistic of it, from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from ..errors import RerankerFailed, UnknownReranker
from ..ports import JudgeProfile
from .cross_encoder import logistic


class LibraryReranker:
    """A library's model. `load` makes it when the first texts come; safe to share between threads, which take turns."""

    def __init__(self, name: str, model: str, load: Callable[[], Callable[[str, list[str]], Any]]) -> None:
        self._load = load
        self._ask: Callable[[str, list[str]], Any] | None = None
        self._turn = Lock()
        self.profile = JudgeProfile(name=name, model=model, licence="the model's own")

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        try:
            with self._turn:
                if self._ask is None:
                    self._ask = self._load()
                return [float(score) for score in self._ask(query, list(texts))]
        except Exception as error:  # these libraries have no errors of their own
            raise RerankerFailed(f"{self.profile.name} could not judge: {type(error).__name__}: {str(error)[:200]}") from error


def sentence_transformer(argument: str) -> LibraryReranker:
    """A cross-encoder of sentence-transformers, by its name on the hub or its folder."""
    name = _named(argument, "sentence-transformers", "cross-encoder/ms-marco-MiniLM-L6-v2")

    def load() -> Callable[[str, list[str]], Any]:
        from sentence_transformers import CrossEncoder

        model = CrossEncoder(name)
        return lambda query, texts: model.predict([(query, text) for text in texts])

    return LibraryReranker("sentence-transformers", name, load)


def fastembed(argument: str) -> LibraryReranker:
    """A cross-encoder that fastembed lists."""
    name = _named(argument, "fastembed", "Xenova/ms-marco-MiniLM-L-12-v2")

    def load() -> Callable[[str, list[str]], Any]:
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        model = TextCrossEncoder(name, threads=1)
        return lambda query, texts: [logistic(float(score)) for score in model.rerank(query, texts)]

    return LibraryReranker("fastembed", name, load)


def _named(argument: str, library: str, example: str) -> str:
    if not argument:
        raise UnknownReranker(f"{library} needs the name of a cross-encoder.", hint=f"For example {library}:{example}.")
    return argument
