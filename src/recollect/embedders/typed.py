"""Cohere's and Voyage's embeddings: servers that are told whether a text is a question or a document.

For memories whose texts may leave the machine. The two differ in addresses, in the words for the two kinds of text, and in how
the answer is laid out; a gateway that speaks either's way is named by its base URL. Their own clients bring a dozen packages
and more for one POST. The size of the vectors is asked for only if it was named by the caller (`dimensions`), since older
models refuse it.

A fingerprint names the model and the dimension, and, unless it is the provider's own, the host: as for `openai`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import EmbedderFailed, InvalidSetting
from ..ports import Profile
from ..records import SPOKEN
from ..remote import Remote, bearer
from .batches import in_batches
from .openai import TIMEOUT, in_order, size_of
from .rows import checked_rows, unit_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Where a provider is and what it calls things."""

    base_url: str
    path: str
    model: str
    query: str  # what a question is called
    document: str
    texts: str  # under which name the texts are sent
    size: str  # under which name a size is asked for
    most: int  # texts a request
    also: Mapping[str, Any] = field(default_factory=dict)
    dimensions: Mapping[str, int] = field(default_factory=dict)


PROVIDERS = {
    "cohere": Provider(
        base_url="https://api.cohere.com/v2", path="/embed", model="embed-v4.0", query="search_query",
        document="search_document", texts="texts", size="output_dimension", most=96, also={"embedding_types": ["float"]},
        dimensions={
            "embed-v4.0": 1536, "embed-english-v3.0": 1024, "embed-multilingual-v3.0": 1024, "embed-english-light-v3.0": 384,
            "embed-multilingual-light-v3.0": 384,
        },
    ),
    "voyage": Provider(
        base_url="https://api.voyageai.com/v1", path="/embeddings", model="voyage-3.5", query="query", document="document",
        texts="input", size="output_dimension", most=128,
        dimensions=dict.fromkeys(("voyage-3.5", "voyage-3.5-lite", "voyage-3-large", "voyage-3", "voyage-code-3"), 1024)
        | {"voyage-3-lite": 512},
    ),
}  # fmt: skip


class TypedEmbedder:
    """Vectors from a provider's server. Opening calls no server; safe to share between threads."""

    def __init__(
        self, provider: str, model: str | None = None, *, api_key: str | None = None, base_url: str | None = None,
        dimensions: int | None = None, timeout: float | None = None, remote: Remote | None = None,
    ) -> None:  # fmt: skip
        self._says, self._asked, self._timeout = PROVIDERS[provider], dimensions, timeout or TIMEOUT
        model, _, size = (model or self._says.model).partition("@")
        own = (base_url or self._says.base_url).rstrip("/") == self._says.base_url
        if own and not api_key:
            raise InvalidSetting(f"{provider}'s embeddings need an API key.", hint=f"Set {provider}_api_key, or choose another.")
        self._remote = remote or Remote(base_url or self._says.base_url, who=provider, headers=bearer(api_key))
        dimension = dimensions or size_of(model, size, self._says.dimensions, provider)
        place = "" if own else f"{self._remote.place}/"
        self.profile = Profile(
            name=provider, model=model, dimension=dimension, fingerprint=f"{provider}:{place}{model}:{dimension}{SPOKEN}",
            licence="the provider's terms",
        )  # fmt: skip

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        return self._rows(texts, self._says.query)

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return self._rows(texts, self._says.document)

    def _rows(self, texts: Sequence[str], kind: str) -> np.ndarray:
        return in_batches(
            texts, self.profile.dimension, lambda batch: self._ask(batch, kind), longest=self.profile.max_chars,
            most=self._says.most,
        )  # fmt: skip

    def _ask(self, texts: list[str], kind: str) -> np.ndarray:
        body = {"model": self.profile.model, self._says.texts: texts, "input_type": kind, **self._says.also}
        if self._asked:
            body[self._says.size] = self._asked
        answer = self._remote.post_json(self._says.path, body, self._timeout)
        rows = self._floats(answer) if self.profile.name == "cohere" else in_order(answer, len(texts), self._remote.who)
        return unit_rows(checked_rows(rows, count=len(texts), dimension=self.profile.dimension, who=self._remote.who))

    def _floats(self, answer: object) -> list[object]:
        """Cohere's vectors, which come in the order of the texts, without numbers."""
        found = answer.get("embeddings") if isinstance(answer, dict) else None
        rows = found.get("float") if isinstance(found, dict) else None
        if not isinstance(rows, list):
            raise EmbedderFailed(f"{self._remote.who} answered without a list of vectors under 'embeddings', 'float'.")
        return rows
