"""OpenAI's embeddings, and any server that speaks its `POST /embeddings`: vLLM, LM Studio, a gateway.

For memories whose texts may leave the machine. Its own client is not used: it would bring a dozen packages for one POST.
`dimensions` is sent only if it was asked for, since most compatible servers refuse it; so a model we don't know is named
with the size it has, as in "openai:bge-m3@1024".

A fingerprint names the model and the dimension, and, unless it is OpenAI's own, the host: what "bge-m3" is, in which
precision and with which pooling, is that server's business. Moving a server costs an embedding anew, which is cheap;
comparing vectors of two models would be silently wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import EmbedderFailed, InvalidSetting
from ..ports import Profile
from ..records import SPOKEN
from ..remote import Remote, bearer
from .batches import in_batches
from .rows import checked_rows, unit_rows

BASE_URL = "https://api.openai.com/v1"
MODEL = "text-embedding-3-large"
DIMENSIONS = {MODEL: 3072, "text-embedding-3-small": 1536, "text-embedding-ada-002": 1536}
TIMEOUT = 10.0  # seconds a request has, retries and all


class OpenAIEmbedder:
    """Vectors from an OpenAI-style server. Opening calls no server; safe to share between threads."""

    def __init__(
        self,
        model: str | None = None,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        dimensions: int | None = None,
        timeout: float | None = None,
        remote: Remote | None = None,
    ) -> None:
        model, _, size = (model or MODEL).partition("@")
        self._model, self._asked, self._timeout = model, dimensions, timeout or TIMEOUT
        own = (base_url or BASE_URL).rstrip("/") == BASE_URL
        if own and not api_key:
            raise InvalidSetting("OpenAI's embeddings need an API key.", hint="Set one, or choose another embedder.")
        self._remote = remote or Remote(base_url or BASE_URL, who="openai", headers=bearer(api_key))
        dimension = dimensions or size_of(model, size, DIMENSIONS, "openai")
        place = "" if own else f"{self._remote.place}/"
        self.profile = Profile(
            name="openai",
            model=model,
            dimension=dimension,
            fingerprint=f"openai:{place}{model}:{dimension}{SPOKEN}",
            licence="the provider's terms",
        )

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return in_batches(texts, self.profile.dimension, self._ask, longest=self.profile.max_chars)

    embed_queries = embed_documents

    def _ask(self, texts: list[str]) -> np.ndarray:
        body = {"model": self._model, "input": texts}
        if self._asked:
            body["dimensions"] = self._asked
        answer = self._remote.post_json("/embeddings", body, self._timeout)
        rows = in_order(answer, len(texts), self._remote.who)
        return unit_rows(checked_rows(rows, count=len(texts), dimension=self.profile.dimension, who=self._remote.who))


def in_order(answer: object, count: int, who: str) -> list[object]:
    """The vectors by their `index`: each text's own, exactly one each."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise EmbedderFailed(f"{who} answered without a list of vectors under 'data'.")
    if len(data) != count:
        raise EmbedderFailed(f"{who} answered with {len(data)} vectors to {count} texts.")
    places = [item.get("index") for item in data]
    if any(type(place) is not int for place in places) or sorted(places) != list(range(count)):
        raise EmbedderFailed(f"{who} numbered its vectors {str(places)[:80]}; each of 0 to {count - 1} was due once.")
    return [item.get("embedding") for item in sorted(data, key=lambda item: item["index"])]


def size_of(model: str, size: str, known: Mapping[str, int], name: str) -> int:
    """How long a model's vectors are: as named after the @, else as its maker says."""
    if not size and model in known:
        return known[model]
    if not size.isdecimal() or int(size) < 1:
        raise InvalidSetting(f"The size of {model!r} is not known.", hint=f"Name it, for example '{name}:{model}@1024'.")
    return int(size)
