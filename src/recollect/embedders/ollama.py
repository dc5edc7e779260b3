"""Embeddings of a model that Ollama runs, on this machine or another: `POST /api/embed`.

For strong multilingual vectors without a cloud, on a machine with a graphics card. `truncate` is false, so that a text too
long for the model is an error and not half a vector; texts are cut to a length the model takes before they are sent.

Queries and documents get the prefix that the model's maker publishes for each. qwen3-embedding is trained so that the front
of its vector is a vector as well (Matryoshka, https://arxiv.org/abs/2205.13147): 4,096 numbers are cut to 1,024 and scaled to
length 1 anew. The size is asked for and cut here as well, since older versions of Ollama ignore the wish.

The fingerprint names no host: a model's name is a name in Ollama's registry, and the same weights wherever it runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import EmbedderFailed, InvalidSetting
from ..ports import Profile
from ..records import SPOKEN
from ..remote import Remote
from .batches import in_batches
from .rows import checked_rows, unit_rows

BASE_URL = "http://127.0.0.1:11434"
MODEL = "qwen3-embedding:8b"
_SHORT = re.compile(r"([\w.-]*|\[[0-9A-Fa-f:.]+\])(?::(\d+))?/?")  # how OLLAMA_HOST is mostly written
TIMEOUT = 60.0  # seconds: a model that is not loaded yet is loaded by the first request
_QWEN = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a model's maker says of it. `cut`: the size it is cut to unless another is asked for."""

    size: int
    cut: int = 0
    query: str = ""
    document: str = ""
    chars: int = 4_000


KNOWN = {
    "qwen3-embedding:8b": Known(size=4096, cut=1024, query=_QWEN),
    "qwen3-embedding:4b": Known(size=2560, cut=1024, query=_QWEN),
    "qwen3-embedding:0.6b": Known(size=1024, cut=1024, query=_QWEN),
    "nomic-embed-text": Known(size=768, query="search_query: ", document="search_document: "),
    "embeddinggemma": Known(size=768, query="task: search result | query: ", document="title: none | text: "),
    "bge-m3": Known(size=1024),
}


class OllamaEmbedder:
    """Vectors from an Ollama server. Opening calls no server; safe to share between threads."""

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        dimensions: int | None = None,
        timeout: float | None = None,
        remote: Remote | None = None,
    ) -> None:
        self._model, _, size = (model or MODEL).partition("@")
        self._known = KNOWN.get(self._model) or _named(self._model, size)
        self._cut = dimensions or self._known.cut
        self._timeout = timeout or TIMEOUT
        self._remote = remote or Remote(address(base_url) if base_url else BASE_URL, who="ollama")
        dimension = self._cut or self._known.size
        if dimension > self._known.size:
            raise InvalidSetting(f"{self._model} has {self._known.size} dimensions; {dimension} were asked for.")
        self.profile = Profile(
            name="ollama",
            model=self._model,
            dimension=dimension,
            fingerprint=f"ollama:{self._model}:{dimension}:prefix-1{SPOKEN}",
            max_chars=self._known.chars,
            licence="the model's own",
        )

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        return self._rows(texts, self._known.query)

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return self._rows(texts, self._known.document)

    def _rows(self, texts: Sequence[str], prefix: str) -> np.ndarray:
        return in_batches(texts, self.profile.dimension, self._ask, longest=self.profile.max_chars, prefix=prefix)

    def _ask(self, texts: list[str]) -> np.ndarray:
        body = {"model": self._model, "input": texts, "truncate": False}
        if self._cut:
            body["dimensions"] = self._cut
        answer = self._remote.post_json("/api/embed", body, self._timeout)
        vectors = answer.get("embeddings") if isinstance(answer, dict) else None
        if not isinstance(vectors, list) or not all(isinstance(vector, list) for vector in vectors):
            raise EmbedderFailed(f"{self._remote.who} answered without a list of vectors under 'embeddings'.")
        return self._shortened(vectors, len(texts))

    def _shortened(self, vectors: list[list], count: int) -> np.ndarray:
        """As long as they should be: whole vectors from a server that does not cut are cut here, then scaled anew."""
        whole = self._cut and vectors and len(vectors[0]) == self._known.size
        length = self._known.size if whole else self.profile.dimension
        rows = checked_rows(vectors, count=count, dimension=length, who=self._remote.who)
        return unit_rows(rows[:, : self.profile.dimension])


def address(host: str) -> str:
    """The URL of a server by its URL, or as Ollama's own settings name it: `gpu-box`, `127.0.0.1:11434`, `0.0.0.0`."""
    short = _SHORT.fullmatch(host)
    if not short:
        return host
    return f"http://{'127.0.0.1' if short[1] in ('', '0.0.0.0') else short[1]}:{short[2] or 11434}"


def _named(model: str, size: str) -> Known:
    if not size.isdecimal() or int(size) < 1:
        raise InvalidSetting(
            f"The size of {model!r} is not known.",
            hint=f"Name it, for example 'ollama:{model}@768', or choose one of: {', '.join(KNOWN)}.",
        )
    return Known(size=int(size))
