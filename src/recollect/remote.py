"""The one way to a remote model: JSON over HTTP with a deadline that holds, retries, and a circuit breaker.

For remote embedders and rerankers, for `chat`, and for any adapter like them. Not a general HTTP client: it follows no
redirect (a key must not travel to another host) and uses no proxy (name a gateway as the base URL instead). What a failure is
called depends on who asks: `Troubles`.

On the standard library's `http.client`, because one POST needs no more: httpx would bring five further packages, and its
read timeout, like urllib3's, starts anew with every packet, so a server that drips a byte a second is waited for without
end. Here every wait, of connecting, writing and each read, is cut to what is left of one deadline. Only the name look-up is
not: the system gives no handle on it.

The breaker is Nygard's (Release It!, 2007): after some failures in a row nobody waits any more, after a rest one call probes.
A refusal of one text (400, 413, 422) is no failure of the server and does not count.
"""

from __future__ import annotations

import http.client
import io
import json
import os
import random
import socket
import ssl
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import NamedTuple
from urllib.parse import urlsplit

from .errors import EmbedderFailed, EmbedderRefused, EmbedderResting, EmbedderTimeout, InvalidSetting, RecollectError
from .records import EMPTY

_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
_ABOUT_THIS_TEXT = frozenset({400, 413, 422})
_CURES = {
    301: "Name the address it points to as the base URL.",
    308: "Name the address it points to as the base URL.",
    401: "Is the API key right?",
    403: "May this key use this model?",
    404: "Are the base URL and the model's name right, and is the model there?",
    429: "Too many requests, or no credit left.",
}
_CHUNK = 1 << 16


class Troubles(NamedTuple):
    """The errors of one kind of model: it failed, will not take this text, is late, is left alone for a while."""

    failed: type[RecollectError] = EmbedderFailed
    refused: type[RecollectError] = EmbedderRefused
    late: type[RecollectError] = EmbedderTimeout
    resting: type[RecollectError] = EmbedderResting


EMBEDDING = Troubles()


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to go on: times in seconds."""

    attempts: int = 4
    first_pause: float = 0.25  # doubles with each attempt, less a random share of up to a half
    longest_pause: float = 8.0
    failures: int = 5  # in a row, until it rests
    rest: float = 30.0
    idle: float = 15.0  # an unused connection older than this is not trusted
    largest: int = 64 << 20  # bytes of an answer; 256 vectors of 3,072 numbers are about 17 MB


class Remote:
    """One server. Safe to share between threads: each call has a connection of its own while it lasts.

    `tls`: whom to trust, for a server whose certificate the system does not know.
    """

    def __init__(
        self,
        base_url: str,
        *,
        who: str,
        headers: Mapping[str, str] | None = None,
        patience: Patience | None = None,
        troubles: Troubles = EMBEDDING,
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._secure, self._host, self._port, self._prefix = _address(base_url)
        name = f"[{self._host}]" if ":" in self._host else self._host
        self.place = name if self._port == (443 if self._secure else 80) else f"{name}:{self._port}"
        self.who = f"{who} ({self.place})"
        self._headers = {"Host": self.place, "Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
        self._secrets = [word for value in (headers or {}).values() for word in value.split() if len(word) > 7]
        self._patience = patience or Patience()
        self._clock, self._sleep, self._chance = clock, sleep, chance
        self._troubles = troubles
        self._breaker = Breaker(self.who, self._patience.failures, self._patience.rest, clock, troubles.resting)
        self._idle: deque[_Line] = deque()
        self._process = os.getpid()
        self._tls = tls
        weakref.finalize(self, _hang_up, self._idle)

    def post_json(self, path: str, body: object, seconds: float, headers: Mapping[str, str] = EMPTY) -> object:
        """The server's JSON answer within `seconds`, retries and all; otherwise one of its `Troubles`."""
        self._breaker.enter()
        try:
            answer = self._persist(_Request(path, json.dumps(body).encode("ascii"), headers), self._clock() + seconds)
        except self._troubles.refused:
            self._breaker.succeeded()
            raise
        except self._troubles.failed:
            self._breaker.failed()
            raise
        self._breaker.succeeded()
        return answer

    def close(self) -> None:
        """Drop the idle connections; the next call opens a new one."""
        _hang_up(self._idle)

    def _persist(self, request: _Request, deadline: float) -> object:
        attempt = 1
        while True:
            try:
                return self._once(request, deadline)
            except _TryAgain as failure:
                pause = self._pause(attempt) if failure.after is None else failure.after
                over = None
                if attempt >= self._patience.attempts:
                    over = self._troubles.failed(f"{self.who} failed {attempt} times; last: {failure.reason}", hint=failure.hint)
                elif self._clock() + pause >= deadline:
                    said = f"{self.who} failed and there is no time to try again: {failure.reason}"
                    over = self._troubles.late(said, hint=failure.hint)
            if over:
                raise over
            self._sleep(pause)
            attempt += 1

    def _pause(self, attempt: int) -> float:
        longest = min(self._patience.first_pause * 2 ** (attempt - 1), self._patience.longest_pause)
        return longest * (1 - self._chance() / 2)

    def _once(self, request: _Request, deadline: float) -> object:
        status, headers, answer = self._exchange(request, deadline)
        if status == 200:
            return self._parsed(answer)
        said = self._without_secrets(answer[:300].decode("utf-8", "replace").strip())
        if status in _AGAIN:
            raise _TryAgain(f"HTTP {status}: {said}", after=_retry_after(headers), hint=_CURES.get(status, ""))
        kind = self._troubles.refused if status in _ABOUT_THIS_TEXT else self._troubles.failed
        raise kind(f"{self.who} answered HTTP {status}: {said}", hint=_CURES.get(status, ""))

    def _parsed(self, answer: bytes) -> object:
        try:
            return json.loads(answer)
        except (ValueError, RecursionError):
            seen = self._without_secrets(answer[:80].decode("utf-8", "replace"))
            raise self._troubles.failed(f"{self.who} answered with something that is not JSON: {seen!r}.") from None

    def _exchange(self, request: _Request, deadline: float) -> tuple[int, Mapping[str, str], bytes]:
        """One request on a connection kept from before, or, if it had been closed meanwhile, on a new one."""
        try:
            line = self._kept()
            if line is not None:
                with suppress(http.client.RemoteDisconnected, ConnectionError):
                    return self._talk(line, request, deadline)
            return self._talk(_Line(self._open(deadline), self._clock), request, deadline)
        except TimeoutError:
            raise self._troubles.late(f"{self.who} did not answer in time.") from None
        except ssl.SSLCertVerificationError as error:
            raise self._troubles.failed(f"{self.who} has a certificate that can't be verified: {error.verify_message}.") from None
        except (OSError, http.client.HTTPException) as error:
            reason = self._without_secrets(f"{type(error).__name__}: {error}")
            raise _TryAgain(reason, hint="Is the server running, and the base URL right?") from None

    def _talk(self, line: _Line, request: _Request, deadline: float) -> tuple[int, Mapping[str, str], bytes]:
        kept = False
        try:
            line.deadline = deadline
            line.connection.request("POST", self._prefix + request.path, request.payload, {**self._headers, **request.headers})
            response = line.connection.getresponse()
            answer = self._body(response)
            kept = not response.will_close
            return response.status, response.headers, answer
        finally:
            if kept:
                line.used = self._clock()
                self._idle.append(line)
            else:
                line.hang_up()

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        parts, size = [], 0
        while part := response.read(_CHUNK):
            parts.append(part)
            size += len(part)
            if size > self._patience.largest:
                raise self._troubles.failed(f"{self.who} answered with more than {self._patience.largest:,} bytes.")
        if response.length:  # `read` with a size does not tell a body that ended early from one that ended
            raise ConnectionError(f"the answer broke off {response.length:,} bytes before its end")
        return b"".join(parts)

    def _kept(self) -> _Line | None:
        if self._process != os.getpid():  # after a fork two processes would talk on one line
            self._process = os.getpid()
            _hang_up(self._idle)
        with suppress(IndexError):
            while True:
                line = self._idle.pop()
                if self._clock() - line.used <= self._patience.idle:
                    return line
                line.hang_up()
        return None

    def _open(self, deadline: float) -> socket.socket:
        found = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        for left, (family, kind, protocol, _, address) in zip(range(len(found), 0, -1), found, strict=True):
            plain = socket.socket(family, kind, protocol)
            try:
                plain.settimeout(_left(deadline, self._clock) / left)  # each address has its share of the time
                plain.connect(address)
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                plain.settimeout(_left(deadline, self._clock))
                return self._trusted().wrap_socket(plain, server_hostname=self._host) if self._secure else plain
            except BaseException as error:
                plain.close()
                if left == 1 or not isinstance(error, OSError):
                    raise
        raise OSError("the name has no address")

    def _trusted(self) -> ssl.SSLContext:
        if self._tls is None:  # reading the system's certificates takes some 20 ms: not before they are needed
            self._tls = ssl.create_default_context()
        return self._tls

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text


class Breaker:
    """Lets calls through, until so many failed in a row; then one in `rest` seconds, until one succeeds."""

    def __init__(
        self, who: str, failures: int, rest: float, clock: Callable[[], float], resting: type[RecollectError] = EmbedderResting
    ) -> None:
        self._resting = resting
        self._who, self._limit, self._rest, self._clock = who, failures, rest, clock
        self._lock = Lock()
        self._failures = 0
        self._until = 0.0

    def enter(self) -> None:
        """Go on, or `EmbedderResting` at once. Whoever is let through after a rest is the probe; the others rest on."""
        with self._lock:
            if self._failures < self._limit:
                return
            left = self._until - self._clock()
            if left > 0:
                raise self._resting(
                    f"{self._who} failed {self._failures} times in a row and is left alone for another {left:.0f} s."
                )
            self._until = self._clock() + self._rest

    def succeeded(self) -> None:
        with self._lock:
            self._failures = 0

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            self._until = self._clock() + self._rest


def bearer(api_key: str | None) -> dict[str, str]:
    """The header that carries an API key; none without one."""
    if not api_key:
        return {}
    if not api_key.isascii() or not api_key.isprintable() or " " in api_key:
        raise InvalidSetting("The API key holds a character that no key has.", hint="Was it copied whole, without line breaks?")
    return {"Authorization": f"Bearer {api_key}"}


class _Request(NamedTuple):
    path: str
    payload: bytes
    headers: Mapping[str, str]


class _TryAgain(Exception):
    """A failure that may pass; after how many seconds, if the server said so."""

    def __init__(self, reason: str, *, after: float | None = None, hint: str = "") -> None:
        self.reason, self.after, self.hint = reason, after, hint
        super().__init__(reason)


class _Line:
    """A connection whose every wait ends at its deadline. It is the socket that http.client sees."""

    def __init__(self, wire: socket.socket, clock: Callable[[], float]) -> None:
        self._wire, self._clock = wire, clock
        self.deadline = self.used = clock()
        self.connection = http.client.HTTPConnection("")  # the name is in the Host header, the socket is given
        self.connection.sock = self  # type: ignore[assignment]

    def sendall(self, data: bytes) -> None:
        self._wire.settimeout(_left(self.deadline, self._clock))
        self._wire.sendall(data)

    def receive_into(self, buffer: memoryview) -> int:
        self._wire.settimeout(_left(self.deadline, self._clock))
        return self._wire.recv_into(buffer)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Incoming(self))

    def close(self) -> None:
        """http.client closes before the answer is read to its end; `hang_up` is the real end."""

    def hang_up(self) -> None:
        self._wire.close()


class _Incoming(io.RawIOBase):
    """What `_Line` receives, as a file."""

    def __init__(self, line: _Line) -> None:
        self._line = line

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return self._line.receive_into(buffer)


def _left(deadline: float, clock: Callable[[], float]) -> float:
    left = deadline - clock()
    if left <= 0:
        raise TimeoutError("the deadline is over")
    return left


def _hang_up(idle: deque[_Line]) -> None:
    with suppress(IndexError):
        while True:
            idle.pop().hang_up()


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait. A date is compared with the server's own: its clock need not be ours."""
    said = headers.get("Retry-After", "").strip()
    if said.isascii() and said.isdigit():
        return float(said)
    with suppress(ValueError, TypeError, OverflowError):
        wait = parsedate_to_datetime(said) - parsedate_to_datetime(headers.get("Date", ""))
        return max(wait.total_seconds(), 0.0)
    return None


def _address(base_url: str) -> tuple[bool, str, int, str]:
    """Whether TLS, host, port and path; no names, passwords or queries in it."""
    hint = "Give something like https://api.example.com/v1."
    try:
        parts = urlsplit(base_url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise InvalidSetting("The base URL of the model server can't be read.", hint=hint) from None
    if parts.username is not None or parts.password is not None:
        raise InvalidSetting("The base URL of the model server holds a name or a password.", hint="Give the key as the API key.")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InvalidSetting(f"{base_url!r} is not the base URL of a model server.", hint=hint)
    return parts.scheme == "https", parts.hostname, port, parts.path.rstrip("/")
