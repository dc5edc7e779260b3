"""A language model, asked in OpenAI's way: `POST /chat/completions` of any server that speaks it, within a hard budget of tokens.

For what rules can't do well: the extractor `llm`, summaries. Not for conversations: a question, an answer, no state. The HTTP is
`remote`'s, with its one deadline, retries and breaker. What comes back is data: `ask` returns text or a JSON object and
believes nothing of it; whoever asked checks it against what was wanted.

The budget is kept before the call: what the question may cost at most, estimated on the safe side, is booked first, and a
question that no longer fits is never sent. The books are kept by the day, in the store's notes where it has them, one line a
process: so all processes together, restarts included, spend no more in a day of UTC than was allowed. An answer whose cost is not
known (it came too late, or broke off) counts in full.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from threading import Lock
from typing import Any, NamedTuple

from .errors import BudgetSpent, ChatFailed, ChatRefused, ChatResting, ChatTimeout, ChatUnusable, InvalidSetting
from .ports import Notes
from .remote import Patience, Remote, Troubles, bearer
from .render import estimate_tokens

BASE_URL = "https://api.openai.com/v1"
TIMEOUT = 60.0  # seconds a question has, retries and all
ANSWER = 2_000  # tokens of an answer, at most
OVERHEAD = 64  # tokens that messages cost besides their words
DAY, KEPT = 86_400.0, 3  # seconds; days the books are kept
BOOKS = "chat:spent"
_TROUBLES = Troubles(ChatFailed, ChatRefused, ChatTimeout, ChatResting)
_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?```\s*", re.DOTALL)


class Said(NamedTuple):
    """An answer: its text, the JSON object in it where one was asked for, and how many tokens it cost with its question."""

    text: str
    data: Mapping[str, Any]
    tokens: int


class Budget:
    """How many tokens may be spent in a day of UTC; None: any number. `wall`: a clock in seconds that other processes share."""

    def __init__(self, most: int | None, wall: Callable[[], float], notes: Notes | None = None) -> None:
        self.most, self._wall, self._notes = most, wall, notes
        self._mine = os.urandom(6).hex()
        self._own: dict[int, int] = {}  # day → booked by this process
        self._lock = Lock()

    def spent(self) -> int:
        """What everybody has booked today."""
        day = self._day()
        if self._notes is None:
            return self._own.get(day, 0)
        lines = self._notes.all(BOOKS, int(self._wall() * 1_000_000))
        return sum(int(line["tokens"]) for line in lines.values() if line.get("day") == day)

    def book(self, tokens: int) -> int:
        """Take tokens from today's budget, or `BudgetSpent` when so many are not left. Returns the day they are booked on."""
        day = self._day()
        self._put(day, tokens)
        if self.most is not None and (spent := self.spent()) > self.most:
            self._put(day, -tokens)
            left = max(0, self.most - spent + tokens)
            raise BudgetSpent(
                f"{tokens:,} tokens would be needed, and of today's {self.most:,} there are {left:,} left.",
                hint="Raise chat_budget, or wait: the budget is a day's (UTC).",
            )
        return day

    def settle(self, day: int, booked: int, spent: int) -> None:
        """What was booked has cost this much instead."""
        self._put(day, spent - booked)

    def _put(self, day: int, tokens: int) -> None:
        with self._lock:
            self._own[day] = self._own.get(day, 0) + tokens
            if self._notes is not None:
                until = int((day + KEPT) * DAY * 1_000_000)
                self._notes.put(BOOKS, f"{day}:{self._mine}", {"day": day, "tokens": self._own[day]}, until)

    def _day(self) -> int:
        return int(self._wall() // DAY)


class Chat:
    """One model on one server. Opening calls nobody; safe to share between threads."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        budget: Budget,
        timeout: float = TIMEOUT,
        remote: Remote | None = None,
    ) -> None:
        if not model:
            raise InvalidSetting("No language model is named.", hint='Set chat_model, such as "gpt-4o-mini" or "qwen3:8b".')
        self._own = (base_url or BASE_URL).rstrip("/") == BASE_URL
        if self._own and not api_key:
            raise InvalidSetting(
                "OpenAI's models need an API key.", hint="Set chat_api_key, or chat_base_url of your own server."
            )
        self._remote = remote or Remote(
            base_url or BASE_URL, who="chat", headers=bearer(api_key), troubles=_TROUBLES, patience=Patience(attempts=3)
        )
        self.model, self.budget, self._timeout = model, budget, timeout
        self.name = model if self._own else f"{self._remote.place}/{model}"

    def ask(
        self, task: str, text: str, *, schema: Mapping[str, Any] | None = None, answer: int = ANSWER, key: str | None = None
    ) -> Said:
        """The model's answer to a text, under a task. `schema`: of the JSON object wanted; `answer`: tokens it may have.

        `key` names the question: asked again under the same key, the server may answer what it answered before.
        """
        body = self._body(task, text, schema, answer)
        most = OVERHEAD + estimate_tokens(json.dumps(body, ensure_ascii=False)) + answer
        day, cost = self.budget.book(most), 0
        try:
            said = self._remote.post_json(
                "/chat/completions", body, self._timeout, {"Idempotency-Key": key or _key(self.name, body)}
            )
            cost = _cost(said, most)
        except ChatTimeout:
            cost = most  # it may have answered after all
            raise
        finally:
            self.budget.settle(day, most, cost)
        words = _words(said, self._remote.who)
        return Said(words, _object(words, self._remote.who) if schema is not None else {}, cost)

    def close(self) -> None:
        """Let go of idle connections."""
        self._remote.close()

    def _body(self, task: str, text: str, schema: Mapping[str, Any] | None, answer: int) -> dict[str, Any]:
        messages = [{"role": "system", "content": task}, {"role": "user", "content": text}]
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        # OpenAI's newer models refuse the older name of the limit and any temperature; other servers know only the older name.
        body |= {"max_completion_tokens": answer} if self._own else {"max_tokens": answer, "temperature": 0}
        if schema is not None:
            wanted = {"name": "answer", "strict": True, "schema": dict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        return body


def _key(name: str, body: Mapping[str, Any]) -> str:
    """The same question of the same model has the same key."""
    whole = json.dumps([name, body], sort_keys=True).encode("ascii")
    return f"recollect-{blake2b(whole, digest_size=16).hexdigest()}"


def _cost(said: object, most: int) -> int:
    """What the server says it cost; what was booked, when it says nothing sensible."""
    usage = said.get("usage") if isinstance(said, dict) else None
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    return total if type(total) is int and total > 0 else most


def _words(said: object, who: str) -> str:
    choices = said.get("choices") if isinstance(said, dict) else None
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = first.get("message") if isinstance(first.get("message"), dict) else {}
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        raise ChatRefused(f"{who} will not answer: {message['refusal']:.200}")
    if first.get("finish_reason") == "length":
        raise ChatUnusable(f"{who} did not come to the end of its answer.", hint="The text may be too long for it.")
    words = message.get("content")
    if not isinstance(words, str) or not words.strip():
        raise ChatUnusable(f"{who} answered without words under 'choices'.")
    return words


def _object(words: str, who: str) -> Mapping[str, Any]:
    """The JSON object of an answer; some models put a fence around it."""
    fenced = _FENCED.fullmatch(words)
    try:
        data = json.loads(fenced[1] if fenced else words)
    except (ValueError, RecursionError):
        raise ChatUnusable(f"{who} answered with something that is not JSON: {words[:80]!r}.") from None
    if not isinstance(data, dict):
        raise ChatUnusable(f"{who} answered with {type(data).__name__} instead of an object.")
    return data
