"""What every request passes before an endpoint sees it, and every answer on its way out. A plain ASGI application around another.

In: its size, the site it comes from, whose token it carries, its turn, its body, all within one deadline. Out: the request's id,
headers for browsers, one line in the log, one count in the metrics. Not for what a request means: that is the endpoints'.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from starlette.responses import Response

from ..errors import NotAllowed, RecollectError, TookTooLong, TooLarge
from .logs import place
from .problems import problem, unexpected
from .service import Caller, Service

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = re.compile(r"/|/(health|ready|docs|openapi\.json)|/web/.*")  # for these nobody needs a token: they hold no memory
HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_ID = re.compile(r"[A-Za-z0-9._:-]{1,100}")
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


class Visit:
    """One request: its scope and headers, and what became of it."""

    __slots__ = ("_send", "caller", "done", "headers", "id", "scope", "sent", "started", "status", "trouble")

    def __init__(self, scope: Scope, send: Send) -> None:
        self.started = time.perf_counter()
        self.scope, self._send = scope, send
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        given = self.headers.get("x-request-id", "")
        self.id = given if _ID.fullmatch(given) else secrets.token_hex(8)
        self.caller: Caller | None = None
        self.status, self.sent, self.done, self.trouble = 0, 0, False, ""

    @property
    def ms(self) -> float:
        return (time.perf_counter() - self.started) * 1000

    @property
    def path(self) -> str:
        """The address as it is declared, without the ids in it."""
        route = self.scope.get("route")
        return getattr(route, "path_format", None) or getattr(route, "path", None) or "other"

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            there = {name for name, _ in message["headers"]}
            more = [header for header in _HEADERS if header[0] not in there]
            message["headers"] = [*message["headers"], *more, (b"x-request-id", self.id.encode())]
        else:
            self.sent += len(message.get("body", b""))
            self.done = not message.get("more_body")
        await self._send(message)


class Gate:
    """See the module. `told`: who is told of every answered request."""

    def __init__(self, app: App, service: Service, told: Callable[[Visit], None]) -> None:
        self._app, self._service, self._told = app, service, told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        visit = Visit(scope, send)
        try:
            async with asyncio.timeout(self._service.limits.seconds):
                with self._service.trace(visit.headers):
                    await self._serve(visit, receive)
        except TimeoutError:
            visit.trouble = "deadline"
            said = TookTooLong(f"The answer took longer than {self._service.limits.seconds:g} seconds.", hint="Try again.")
            await self._refuse(visit, receive, problem(said))
        except RecollectError as error:
            await self._refuse(visit, receive, problem(error))
        except Exception as error:
            visit.trouble = place(error)
            await self._refuse(visit, receive, unexpected())
        finally:
            self._told(visit)

    async def _serve(self, visit: Visit, receive: Receive) -> None:
        scope, limits = visit.scope, self._service.limits
        if sum(len(name) + len(value) for name, value in scope["headers"]) + len(scope["query_string"]) > limits.head:
            raise TooLarge(f"The headers and the address hold more than {limits.head:,} bytes.", hint="Send less.")
        if not OPEN.fullmatch(scope["path"]):
            visit.caller = await self._service.threads.run(self._service.caller, visit.headers.get("authorization", ""))
            if visit.caller.grant is None:
                from_here(visit.headers)
            self._service.turn(visit.caller.token)
        body = await _whole(visit.headers, receive, limits.body)
        if body is None:
            visit.trouble = "the client has gone"
            return
        scope.setdefault("state", {}).update(service=self._service, caller=visit.caller, body=body)
        asked = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope  # the same; uvicorn leaves the body out
        try:
            await self._app(asked, _again(body, receive), visit.send)
        finally:
            scope["route"] = asked.get("route")

    async def _refuse(self, visit: Visit, receive: Receive, response: Response) -> None:
        """Answer with an error. When an answer had begun already, the connection can only be broken off."""
        if visit.done:
            return
        if visit.status:
            raise ConnectionAbortedError("an answer broke off") from None
        response.headers["connection"] = "close"  # the rest of the body is not read
        await response(visit.scope, receive, visit.send)


def from_here(headers: Mapping[str, str]) -> None:
    """A server without tokens trusts this machine. A page of another site is not this machine, though its browser runs here."""
    host, origin = headers.get("host", ""), headers.get("origin")
    if _named(f"//{host}").hostname not in HERE:
        raise NotAllowed(
            "Without access tokens the server answers to localhost only.", hint="Make a token: recollect token create."
        )
    if origin is not None and _named(origin).netloc != host:
        raise NotAllowed("A page of another site asked.", hint="Make a token, and send it: recollect token create.")


def _named(address: str) -> SplitResult:
    """An address in its parts; one that can't be read names nobody."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


async def _whole(headers: Mapping[str, str], receive: Receive, most: int) -> bytes | None:
    """The body, if it is not too large; None if the client goes before it is there."""
    said = headers.get("content-length", "0")
    refusal = TooLarge(f"A body may hold {most:,} bytes.", hint="Send it in parts.")
    if said.isascii() and said.isdigit() and int(said[:20]) > most:
        raise refusal
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise refusal
        if not message.get("more_body"):
            return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, then whatever else the client does."""
    waiting: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> MutableMapping[str, Any]:
        return waiting.pop() if waiting else await receive()

    return receive_again
