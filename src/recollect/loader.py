"""What an agent loads of its memory before a conversation begins: `load_context`, and `aload_context` for asyncio.

    from recollect.loader import load_context

    found = load_context("http://127.0.0.1:8000", token, "recent conversations and key facts")
    prompt = f"You are Annie.\\n\\n{found}"
    if not found:
        log.warning("started without memory: %s", found.reason)

It asks a recollect server for its `<memory>` block, and never keeps a conversation from beginning: it raises nothing, it is
back when its time is up, whatever the server does meanwhile, and an empty answer says why it is empty. After Annie's
context loader: three seconds, then the conversation starts fresh.

One core for both: the request runs in a thread of its own, and whoever gives up waiting closes its connection. So the deadline
holds for a server that sends a byte a second, and for a look-up of a name, which the system never lets go of. On the standard
library alone, and without the engine: an agent that only asks needs neither numpy nor a file. Not a client for anything else: it
follows no redirect, for a token must not travel to another host, and knows no proxy.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import math
import socket
import ssl
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock, Thread
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

__all__ = ["Loaded", "aload_context", "load_context"]

PATH = "/v1/context"
LONGEST_WAIT = 300.0  # seconds
LARGEST = 8 << 20  # bytes of an answer
_HINT = "Give the server's address, such as http://127.0.0.1:8000."
_REFUSED = {401: "Is the token right, and not revoked?", 403: "Does the token reach this owner?",
            404: "Is this the address of a recollect server?"}  # fmt: skip


class Loaded(str):
    """The memory block, as a string to put into a prompt; empty if there is none, and `reason` says why.

    `code`: found, nothing (no memory of this, or none that fits), timeout, unreachable, refused, garbled, or misused (an argument
    can't be used). `results`: what the block was made of, as `GET /v1/context` lists it.
    """

    __slots__ = ("code", "reason", "results")

    def __new__(cls, text: str = "", *, code: str = "found", reason: str = "", results: tuple[Mapping[str, Any], ...] = ()):
        self = super().__new__(cls, text)
        self.code, self.reason, self.results = code, reason, results
        return self

    @property
    def text(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<Loaded {self.code}: {self.reason or f'{len(self)} characters'}>"


def load_context(url: str, token: str | None, query: str, timeout: float = 3.0, **asked: Any) -> Loaded:
    """The memory block for a question, within `timeout` seconds in all, or an empty one that says why.

    `asked`: owner, limit, max_chars, max_tokens, recipe, session, first_turn, ids, as `GET /v1/context` takes them; `tls`: an
    `ssl.SSLContext` that says whom to trust.
    """
    call = _begun(url, token, query, timeout, asked)
    if isinstance(call, Loaded):
        return call
    try:
        return call.found.result(call.seconds)
    except TimeoutError:
        return call.over()
    finally:
        call.hang_up()


async def aload_context(url: str, token: str | None, query: str, timeout: float = 3.0, **asked: Any) -> Loaded:
    """`load_context` for asyncio: the loop goes on meanwhile, and cancelling it closes the connection."""
    call = _begun(url, token, query, timeout, asked)
    if isinstance(call, Loaded):
        return call
    try:
        return await asyncio.wait_for(asyncio.wrap_future(call.found), call.seconds)
    except TimeoutError:
        return call.over()
    finally:
        call.hang_up()


class _Ask(NamedTuple):
    """A request that can be made: where, what, with which headers, and whom to trust."""

    host: str
    port: int
    secure: bool
    path: str
    headers: Mapping[str, str]
    tls: ssl.SSLContext | None

    @property
    def place(self) -> str:
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class _Sorry(Exception):
    """Why nothing was loaded."""

    def __init__(self, code: str, reason: str) -> None:
        self.code = code
        super().__init__(reason)


class _Call:
    """One request in a thread of its own. `found` is settled when the thread is through; `hang_up` ends it."""

    def __init__(self, ask: _Ask, seconds: float) -> None:
        self.ask, self.seconds = ask, seconds
        self.found: Future[Loaded] = Future()
        self._wire: socket.socket | None = None
        self._ended, self._lock = False, Lock()

    def start(self) -> None:
        Thread(target=self._run, name="recollect-loader", daemon=True).start()

    def over(self) -> Loaded:
        return Loaded(code="timeout", reason=f"{self.ask.place} did not answer within {self.seconds:g} seconds.")

    def hang_up(self) -> None:
        """Break the connection off, if there is one still: whoever waits for it in the thread stops waiting."""
        with self._lock:
            self._ended, wire = True, self._wire
        if wire is not None:
            with suppress(OSError, ValueError):
                socket.socket.shutdown(wire, socket.SHUT_RDWR)  # of the plain socket: a TLS farewell could wait

    def _run(self) -> None:
        try:
            found = self._fetched()
        except _Sorry as sorry:
            found = Loaded(code=sorry.code, reason=str(sorry))
        except TimeoutError:
            found = self.over()
        except Exception as error:  # whatever else: this is the place where nothing is raised
            found = _failed(self.ask, error)
        with suppress(Exception):  # nobody waits any more: cancelled, or the loop is gone
            self.found.set_result(found)

    def _fetched(self) -> Loaded:
        ask = self.ask
        line = http.client.HTTPConnection(ask.host, ask.port)
        try:
            line.sock = self._connected()
            line.request("GET", ask.path, headers=dict(ask.headers))
            return _read(ask, line.getresponse())
        finally:
            line.close()

    def _connected(self) -> socket.socket:
        ask = self.ask
        wire = socket.create_connection((ask.host, ask.port), self.seconds)
        try:
            if ask.secure:
                trusted = ask.tls or ssl.create_default_context()
                wire = trusted.wrap_socket(wire, server_hostname=ask.host, do_handshake_on_connect=False)
            with self._lock:
                if self._ended:
                    raise _Sorry("timeout", "Nobody waits any more.")
                self._wire = wire
            if isinstance(wire, ssl.SSLSocket):
                wire.do_handshake()
        except BaseException:
            wire.close()
            raise
        return wire


def _begun(url: str, token: str | None, query: str, timeout: float, asked: dict[str, Any]) -> _Call | Loaded:
    """The request, under way; or why it can't be made."""
    try:
        call = _Call(_ask(url, token, query, dict(asked)), _seconds(timeout))
        call.start()
    except _Sorry as sorry:
        return Loaded(code=sorry.code, reason=str(sorry))
    except Exception as error:
        return Loaded(code="misused", reason=f"The request can't be made: {type(error).__name__}. {_HINT}")
    return call


def _seconds(timeout: Any) -> float:
    """The time there is. What is no such number is an error in the caller's program, and still no reason to raise one."""
    right = isinstance(timeout, (int, float)) and not isinstance(timeout, bool) and math.isfinite(timeout)
    if not right or not 0 < timeout <= LONGEST_WAIT:
        raise _Sorry("misused", f"timeout={timeout!r:.40} is not a number of seconds up to {LONGEST_WAIT:g}.")
    return float(timeout)


def _ask(url: Any, token: Any, query: Any, asked: dict[str, Any]) -> _Ask:
    tls = asked.pop("tls", None)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username is not None:
        raise _Sorry("misused", f"The server's address can't be used. {_HINT}")
    if not isinstance(query, str) or not query.strip():
        raise _Sorry("misused", "There is no question. Give one, such as: recent conversations and key facts.")
    headers = {"Accept": "application/json", "Connection": "close"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if not all(value.isascii() and value.isprintable() for value in headers.values()):
        raise _Sorry("misused", "The token is not one that recollect made. recollect token create makes one.")
    asked = {name: str(value).lower() if isinstance(value, bool) else value for name, value in asked.items() if value is not None}
    path = quote(parts.path.rstrip("/").removesuffix(PATH), safe="/%:@!$&'()*+,;=~", errors="replace")
    words, secure = urlencode({"query": query, **asked}, errors="replace"), parts.scheme == "https"
    return _Ask(parts.hostname, parts.port or (443 if secure else 80), secure, f"{path}{PATH}?{words}", headers, tls)


def _read(ask: _Ask, response: http.client.HTTPResponse) -> Loaded:
    body = response.read(LARGEST + 1)
    if len(body) > LARGEST:
        raise _Sorry("garbled", f"{ask.place} answered with more than {LARGEST:,} bytes.")
    if response.status != 200:
        raise _Sorry("refused", _refusal(ask, response.status, body))
    if response.length:
        raise _Sorry("garbled", f"The answer of {ask.place} broke off.")
    said = _parsed(body)
    block, results = said.get("memory"), said.get("results", [])
    if not isinstance(block, str) or not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
        raise _Sorry("garbled", f"{ask.place} answered with something that is no memory. {_HINT}")
    if not block:
        why = "What is remembered about this is longer than the block may be." if results else "Nothing is remembered about this."
        return Loaded(code="nothing", reason=why, results=tuple(results))
    return Loaded(block, results=tuple(results))


def _refusal(ask: _Ask, status: int, body: bytes) -> str:
    """What the server says of it, if it is one of ours."""
    error = _parsed(body).get("error")
    said = [error.get(name) for name in ("message", "hint")] if isinstance(error, dict) else []
    told = " ".join(one.strip() for one in said if isinstance(one, str) and one.strip())
    why = "".join(one for one in told if one.isprintable())[:300] or _REFUSED.get(status, "")
    return f"{ask.place} answered HTTP {status}. {why}".strip()


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _failed(ask: _Ask, error: Exception) -> Loaded:
    if isinstance(error, http.client.InvalidURL):
        return Loaded(code="misused", reason=f"The server's address can't be used. {_HINT}")
    if isinstance(error, ssl.SSLCertVerificationError):
        return Loaded(code="unreachable", reason=f"{ask.place} has a certificate that can't be verified.")
    if isinstance(error, OSError) and not isinstance(error, http.client.HTTPException):
        why = error.strerror or type(error).__name__
        return Loaded(code="unreachable", reason=f"{ask.place} can't be reached: {why}. Is the server running?")
    if isinstance(error, http.client.HTTPException):
        return Loaded(code="garbled", reason=f"{ask.place} does not answer as a server does ({type(error).__name__}).")
    return Loaded(code="unreachable", reason=f"{ask.host!r:.60} can't be reached ({type(error).__name__}). {_HINT}")
