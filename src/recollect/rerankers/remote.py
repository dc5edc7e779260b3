"""Rerankers behind somebody's API, in Cohere's and in Voyage's manner: `POST /rerank {model, query, documents}`.

For memories whose texts may leave the machine. The two differ in their addresses and in what they call the list of results; Jina,
vLLM, a gateway and others speak Cohere's way: give their base URL. On the HTTP client of the embedders, with its deadline,
retries and circuit breaker: their own clients bring dozens of packages for one POST.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..embedders.batches import sendable
from ..errors import InvalidSetting, RerankerFailed, RerankerRefused, RerankerResting, RerankerTimeout
from ..ports import JudgeProfile
from ..remote import Remote, Troubles, bearer

JUDGING = Troubles(failed=RerankerFailed, refused=RerankerRefused, late=RerankerTimeout, resting=RerankerResting)
TIMEOUT = 10.0  # seconds a request has, retries and all
BLANK = "-"  # sent for a text of white space, which servers refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Where a provider is and what it calls things."""

    base_url: str
    model: str
    results: str


PROVIDERS = {
    "cohere": Provider(base_url="https://api.cohere.com/v2", model="rerank-v3.5", results="results"),
    "voyage": Provider(base_url="https://api.voyageai.com/v1", model="rerank-2.5", results="data"),
}


class RemoteReranker:
    """Scores from a server. Opening calls no server; safe to share between threads."""

    def __init__(
        self, provider: str, model: str | None = None, *, api_key: str | None = None, base_url: str | None = None,
        timeout: float | None = None, remote: Remote | None = None,
    ) -> None:  # fmt: skip
        self._provider, self._timeout = PROVIDERS[provider], timeout or TIMEOUT
        base_url = base_url or self._provider.base_url
        if base_url.rstrip("/") == self._provider.base_url and not api_key:
            raise InvalidSetting(f"{provider} needs an API key.", hint=f"Set {provider}_api_key, or choose another reranker.")
        self._remote = remote or Remote(base_url, who=provider, headers=bearer(api_key), troubles=JUDGING)
        self.profile = JudgeProfile(name=provider, model=model or self._provider.model, licence="the provider's terms")

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        said = [sendable(text, self.profile.max_chars) for text in texts]
        body = {
            "model": self.profile.model, "query": sendable(query, self.profile.max_chars),
            "documents": [text if text.strip() else BLANK for text in said],
        }  # fmt: skip
        return self._in_order(self._remote.post_json("/rerank", body, self._timeout), len(texts))

    def _in_order(self, answer: object, count: int) -> list[float]:
        """The scores by their `index`: each text's own, exactly one each."""
        found = answer.get(self._provider.results) if isinstance(answer, dict) else None
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise RerankerFailed(f"{self._remote.who} answered without a list under {self._provider.results!r}.")
        places = [one.get("index") for one in found]
        if any(type(place) is not int for place in places) or sorted(places) != list(range(count)):
            raise RerankerFailed(f"{self._remote.who} judged {str(places)[:80]}; each of 0 to {count - 1} was due once.")
        scores = [one.get("relevance_score") for one in sorted(found, key=lambda one: one["index"])]
        if not all(isinstance(score, (int, float)) and not isinstance(score, bool) for score in scores):
            raise RerankerFailed(f"{self._remote.who} answered with a relevance_score that is no number.")
        return [float(score) for score in scores]
