"""Models run by libraries that people have anyway: sentence-transformers and fastembed.

For any of the thousands of models they can run: `sentence-transformers:all-MiniLM-L6-v2`, `fastembed:BAAI/bge-small-en-v1.5`.
The library fetches the model as it always does, into its own folders, when it is loaded, which is when the first text comes;
but for sentence-transformers the length of a vector is only known then, so that opening loads it, unless the name says it:
`…@384`. Questions and documents go through the library's own methods for each, which know the model's prompts. Not for choosing
among models: that is the library's documentation.

Heavy: sentence-transformers brings torch (hundreds of megabytes, seconds to import), fastembed onnxruntime and tokenizers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np

from ..errors import EmbedderFailed, UnknownEmbedder
from ..ports import Profile
from ..records import SPOKEN
from .rows import checked_rows, unit_rows


class LibraryEmbedder:
    """A library's model. `load` makes it when the first text comes; safe to share between threads, which take turns."""

    def __init__(self, name: str, model: str, dimension: int, load: Callable[[], Any], ways: tuple[str, str]) -> None:
        self._load, self._ways = load, ways
        self._model: Any = None
        self._turn = Lock()
        self.profile = Profile(
            name=name, model=model, dimension=dimension, fingerprint=f"{name}:{model}:{dimension}{SPOKEN}",
            licence="the model's own",
        )  # fmt: skip

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        return self._rows(texts, self._ways[0])

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return self._rows(texts, self._ways[1])

    def _rows(self, texts: Sequence[str], way: str) -> np.ndarray:
        """A row a text; zeros for white space."""
        rows = np.zeros((len(texts), self.profile.dimension), dtype=np.float32)
        said = [number for number, text in enumerate(texts) if text.strip()]
        if said:
            cut = [texts[number][: self.profile.max_chars].encode("utf-8", "replace").decode() for number in said]
            found = self._asked(cut, way)
            rows[said] = checked_rows(found, count=len(said), dimension=self.profile.dimension, who=self.profile.model)
        return unit_rows(rows)

    def _asked(self, texts: list[str], way: str) -> object:
        try:
            with self._turn:
                if self._model is None:
                    self._model = self._load()
                found = getattr(self._model, way)(texts)
                return found if isinstance(found, np.ndarray) else list(found)
        except Exception as error:  # these libraries have no errors of their own
            raise EmbedderFailed(f"{self.profile.name} could not embed: {type(error).__name__}: {str(error)[:200]}") from error


def sentence_transformer(argument: str) -> LibraryEmbedder:
    """A model of sentence-transformers, by its name on the hub or its folder; the size after an @."""
    name, size = _parts(argument, "sentence-transformers", "all-MiniLM-L6-v2")
    held: list[Any] = []

    def load() -> Any:
        from sentence_transformers import SentenceTransformer

        return held.pop() if held else SentenceTransformer(name)

    if not size:
        held.append(load())
        size = int(_dimension(held[0]))
    return LibraryEmbedder("sentence-transformers", name, size, load, ("encode_query", "encode_document"))


def fastembed(argument: str) -> LibraryEmbedder:
    """A model that fastembed lists."""
    name, size = _parts(argument, "fastembed", "BAAI/bge-small-en-v1.5")
    from fastembed import TextEmbedding

    if not size:
        known = {str(one["model"]).lower(): int(one["dim"]) for one in TextEmbedding.list_supported_models()}
        if name.lower() not in known:
            hint = "TextEmbedding.list_supported_models() has them all."
            raise UnknownEmbedder(f"fastembed has no model {name!r:.80}.", hint=hint)
        size = known[name.lower()]
    return LibraryEmbedder("fastembed", name, size, lambda: TextEmbedding(name, threads=1), ("query_embed", "passage_embed"))


def _dimension(model: Any) -> int:
    """Newer versions call it otherwise."""
    ask = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
    return ask()


def _parts(argument: str, library: str, example: str) -> tuple[str, int]:
    name, _, size = argument.rpartition("@") if argument.rpartition("@")[2].isdecimal() else (argument, "", "0")
    if not name:
        raise UnknownEmbedder(f"{library} needs the name of a model.", hint=f"For example {library}:{example}.")
    return name, int(size)
