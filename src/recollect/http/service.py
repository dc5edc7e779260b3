"""What all requests of a server process share: the open memory, the threads that work on it, its limits, and whose turn it is."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..access import Access, Grant
from ..aio import Threads
from ..errors import NotAllowed, NotAuthenticated, RecollectError, TooManyRequests
from ..memory import Memory
from ..traces import TracedMemory, within
from .metrics import Counts

_UNTRACED = nullcontext()
MEMORIES, BUCKETS = 4096, 4096  # kept at hand, of owners and of tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one process takes on. `rate`: requests a second for each token, twice as many at once; 0: any number."""

    body: int = 8 << 20  # bytes
    head: int = 32 << 10
    seconds: float = 30.0  # for a request, its answer's last byte included
    rate: float = 0.0
    at_once: int = 256
    threads: int = 8
    connections: int = 1024


class Caller(NamedTuple):
    """Who asks: the one a token was granted to, or anybody on this machine while there are no tokens."""

    grant: Grant | None = None
    reads_only: bool = False

    @property
    def token(self) -> str:
        return self.grant.id if self.grant else ""

    @property
    def may_write(self) -> bool:
        return not self.reads_only and (self.grant is None or self.grant.write)

    def owner(self, named: str | None, default: str | None) -> str:
        """Whose memory is meant: the one named, if the caller may name it."""
        if self.grant is None:
            return named if named is not None else default or ""
        if named is not None and not self.grant.reaches(named):
            raise NotAllowed("The token does not reach that owner.", hint="It may name its own owner, and what lies below it.")
        return self.grant.owner if named is None else named


class Service:
    """See the module."""

    def __init__(
        self, memory: Memory, *, limits: Limits, owner: str | None, here: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.memory, self.limits, self.owner, self._here = memory, limits, owner, here
        self.counts = Counts((), None)
        self._access = Access(memory.store, memory.now)
        self.threads = Threads(limits.threads, most=limits.at_once)
        self._memories: OrderedDict[str, Memory] = OrderedDict()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._clock = clock

    def memory_of(self, owner: str) -> Memory:
        """The open memory, as this owner sees it."""
        found = self._memories.get(owner)
        if found is None:
            found = self._memories[owner] = self.memory.for_owner(owner)
            if len(self._memories) > MEMORIES:
                self._memories.popitem(last=False)
        return found

    def caller(self, authorization: str) -> Caller:
        """Who sent this header. Without one: anybody, if the server is this machine's own and nobody ever made a token."""
        scheme, _, token = authorization.partition(" ")
        if authorization:
            return Caller(self._access.check(token.strip() if scheme.lower() == "bearer" else ""))
        if not self._here or self._access.needed():
            raise NotAuthenticated("An access token is needed.", hint="Send it: Authorization: Bearer recollect_…")
        return Caller()

    def turn(self, token: str) -> None:
        """Let a token's request pass, or say that there were too many: a bucket that holds twice the rate."""
        if not (rate := self.limits.rate):
            return
        now = self._clock()
        left, since = self._buckets.pop(token, (2 * rate, now))
        left = min(2 * rate, left + (now - since) * rate)
        self._buckets[token] = max(left - 1, 0.0) if left >= 1 else left, now
        if len(self._buckets) > BUCKETS:
            self._buckets.popitem(last=False)
        if left < 1:
            raise TooManyRequests(f"More than {rate:g} requests a second.", hint="Wait a moment.")

    def trace(self, headers: Mapping[str, str]) -> AbstractContextManager[None]:
        """What happens within belongs to the client's trace, if the memory leaves traces."""
        if not isinstance(self.memory, TracedMemory):
            return _UNTRACED
        return within(headers)

    def backends(self) -> dict[str, dict[str, Any]]:
        """Every back end by its name, and whether it answers: the store, what it searches elsewhere, the embedder."""
        store, status = self.memory.store, {"embedder": "", "embedder_error": ""}
        found = {_name(store): _answers(lambda: status.update(self.memory.status()))}
        for part in (getattr(store, port, None) for port in ("lexical", "vector", "graph", "temporal")):
            if hasattr(part, "ping"):
                found[_name(part)] = _answers(part.ping)
        if status["embedder"] not in ("", "none"):
            trouble = status["embedder_error"]
            found[f"embedder {status['embedder']}"] = {"ok": not trouble, "reason": trouble, "optional": True}
        return found


def _name(part: object) -> str:
    return type(part).__module__.rpartition(".")[2].partition("_")[0]


def _answers(ask: Callable[[], object]) -> dict[str, Any]:
    try:
        ask()
    except RecollectError as error:
        return {"ok": False, "reason": error.message}
    return {"ok": True, "reason": ""}


def ready(backends: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether questions can be answered: an embedder may be down, they are answered by their words."""
    return all(one["ok"] or one.get("optional") for one in backends.values())
