"""The loader: what it brings, and that nothing a server does, or a caller gets wrong, makes it raise or wait too long."""

from __future__ import annotations

import asyncio
import json
import math
import re
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from fake_embedding_server import certified
from servers import any_memory, running

from recollect.access import Access
from recollect.http import create
from recollect.loader import LARGEST, Loaded, aload_context, load_context
from recollect.testing import FixedClock

GUARD = 30  # seconds until a test that hangs is called so
SOON = 0.25  # what a call may take here whose server never comes to an end


class Awkward:
    """A server that takes one connection after the other and does with it what it was told to."""

    def __init__(self, behave: Callable[[socket.socket], None], tls: ssl.SSLContext | None = None) -> None:
        self._behave, self._tls = behave, tls
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(GUARD)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._listening.getsockname()[1]}"
        self.left = threading.Event()  # the client has gone
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._listening.close()
        self._thread.join(GUARD)

    def _serve(self) -> None:
        with suppress(OSError):
            wire, _ = self._listening.accept()
            with wire:
                wire.settimeout(GUARD)
                with suppress(OSError):
                    self._behave(wire)
                with suppress(OSError):
                    while wire.recv(65536):  # until the client hangs up
                        pass
                self.left.set()


def drips(start: bytes = b"", byte: bytes = b" ") -> Callable[[socket.socket], None]:
    """Send this, then a byte every few milliseconds for as long as the client is there."""

    def behave(wire: socket.socket) -> None:
        wire.sendall(start)
        while True:
            wire.sendall(byte)
            threading.Event().wait(0.01)

    return behave


def says(data: bytes) -> Callable[[socket.socket], None]:
    def behave(wire: socket.socket) -> None:
        wire.recv(65536)
        wire.sendall(data)
        wire.shutdown(socket.SHUT_WR)

    return behave


def answers(body: object, status: str = "200 OK") -> Callable[[socket.socket], None]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return says(f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)


def loads(*given, **named) -> Loaded:
    """Both doors, which must say the same; each in a thread that must come back."""
    found: list[Loaded] = []

    def both() -> None:
        found.append(load_context(*given, **named))
        found.append(asyncio.run(aload_context(*given, **named)))

    thread = threading.Thread(target=both, daemon=True)
    thread.start()
    thread.join(GUARD)
    assert len(found) == 2, "it raised, or it hangs"
    assert (found[0], found[0].code, found[0].results) == (found[1], found[1].code, found[1].results)
    return found[0]


def alone(server: Awkward, door: str, **named) -> Loaded:
    given = (server.url, "a-token", "key facts", named.pop("timeout", SOON))
    return load_context(*given, **named) if door == "sync" else asyncio.run(aload_context(*given, **named))


DOORS = pytest.mark.parametrize("door", ["sync", "async"])


@pytest.fixture
def served() -> Iterator[tuple[int, Access]]:
    memory = any_memory(clock=FixedClock())
    memory.for_owner("acme/alice").remember("We should plan that Goa trip for March", speaker="Rajesh", session="s1")
    access = Access(memory.store, memory.now)
    with running(create(memory)) as port:
        yield port, access


def test_what_is_remembered_is_loaded(served):
    port, access = served
    token, grant = access.create("acme/alice")
    url = f"http://127.0.0.1:{port}"
    found = loads(url, token, "the Goa trip")
    assert found.startswith("<memory>\n") and 'Rajesh said: "We should plan that Goa trip for March"' in found
    assert (found.code, found.reason, type(found.text), f"{found}") == ("found", "", str, found.text)
    assert found.results[0]["speaker"] == "Rajesh" and bool(found)
    assert loads(f"{url}/v1/context", token, "the Goa trip") == found
    nothing = loads(url, token, "Goa", recipe="annie(lookback=1h)@1", session="s2", max_chars=10, first_turn=True)
    assert (nothing, nothing.code, len(nothing.results)) == ("", "nothing", 1) and "longer" in nothing.reason
    assert loads(url, token, "zebra", recipe="memsense(weights={vector: 0})").reason == "Nothing is remembered about this."
    other = loads(url, access.create("acme")[0], "the Goa trip", owner="acme/alice")
    assert other == found
    assert "acme/bob" not in loads(url, token, "Goa", owner="acme/bob").reason
    assert loads(url, token, "Goa", owner="acme/bob").code == "refused"
    access.revoke(grant.id)
    gone = loads(url, token, "the Goa trip")
    assert (gone.code, bool(gone)) == ("refused", False) and "401" in gone.reason and token not in gone.reason + repr(gone)
    assert "token" in loads(url, None, "Goa").reason and loads(url, token, "Goa", no_such=1).code == "refused"


@pytest.mark.parametrize("wrong", [
    {"url": None}, {"url": ""}, {"url": 7}, {"url": b"http://a"}, {"url": "localhost:8000"}, {"url": "ftp://localhost"},
    {"url": "http://"}, {"url": "http://a:b@c/"}, {"url": "http://localhost:99999"}, {"url": "http://[::1"},
    {"url": "http://localhost/?x=1"}, {"url": object()}, {"token": "a\r\nX-Evil: 1"}, {"token": "\ud800"}, {"token": "é"},
    {"query": None}, {"query": ""}, {"query": 7}, {"timeout": 0}, {"timeout": -1}, {"timeout": math.nan}, {"timeout": math.inf},
    {"timeout": "3"}, {"timeout": None}, {"timeout": True}, {"timeout": 1e9},
])  # fmt: skip
def test_what_can_not_be_asked_is_said(wrong):
    found = loads(**{"url": "http://127.0.0.1:9", "token": "t", "query": "q", "timeout": 1.0} | wrong)
    assert (found, found.code, found.results) == ("", "misused", ()) and found.reason.endswith((".", "?"))


def test_nobody_is_there():
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    found = loads(f"http://127.0.0.1:{port}", "t", "q")
    assert found.code == "unreachable" and f"127.0.0.1:{port}" in found.reason
    for url in ("http://no.such.invalid", "http://" + "a" * 300, "http://a\0b", "http://é\u3002.invalid"):
        assert loads(url, "t", "q", timeout=5).code in ("unreachable", "timeout", "misused")


ENDLESS = {
    "says nothing": lambda wire: None,
    "a status line that never ends": drips(b"HTTP/1.1 ", b"2"),
    "headers that never end": drips(b"HTTP/1.1 200 OK\r\nX-Drip: ", b"a"),
    "a body that never ends": drips(b"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n{"),
    "chunks that never end": drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    "continue, continue": drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "no end but its own": drips(b"HTTP/1.1 200 OK\r\n\r\n"),
}


@DOORS
@pytest.mark.parametrize("behaviour", ENDLESS)
def test_whatever_has_no_end_is_left(behaviour, door):
    with Awkward(ENDLESS[behaviour]) as server:
        found = alone(server, door)
        assert (found, found.code) == ("", "timeout") and f"within {SOON} seconds" in found.reason
        assert server.left.wait(GUARD), "the connection is closed, not forgotten"
    assert _threads() == []


@DOORS
def test_a_handshake_that_has_no_end_is_left(door):
    with Awkward(drips(b"\x16\x03\x03\x3f\xff", b"\2")) as server:
        server.url = server.url.replace("http:", "https:")
        assert alone(server, door).code == "timeout" and server.left.wait(GUARD)
    assert _threads() == []


@DOORS
def test_a_name_that_is_looked_up_for_ever(door, monkeypatch):
    stuck = threading.Event()
    monkeypatch.setattr(socket, "create_connection", lambda *_: stuck.wait(GUARD))
    given = ("http://slow.invalid", "a-token", "key facts", SOON)
    found = load_context(*given) if door == "sync" else asyncio.run(aload_context(*given))
    assert found.code == "timeout" and "slow.invalid:80" in found.reason
    stuck.set()


GARBAGE = {
    "no HTTP": says(b"\0\1\2" * 999),
    "nothing, then the end": says(b""),
    "no JSON": answers(b"<html>"),
    "a list": answers([1]),
    "a number": answers(7),
    "a memory that is none": answers({"memory": 7, "results": []}),
    "results that are none": answers({"memory": "<memory>", "results": [1]}),
    "deep": answers(b"[" * 100_000),
    "not UTF-8": answers(b'{"memory": "\xff"}'),
    "too many headers": says(b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: 1\r\n" % n for n in range(200)) + b"\r\n"),
    "a huge header": says(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000),
    "a lie about length": says(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"memory": ""}'),
    "a broken chunk": says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
    "a negative length": says(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n7"),
    "too much": answers(b" " * (LARGEST + 10)),
}


@DOORS
@pytest.mark.parametrize("behaviour", GARBAGE)
def test_what_is_no_answer_is_no_memory(behaviour, door):
    with Awkward(GARBAGE[behaviour]) as server:
        found = alone(server, door, timeout=GUARD)
        assert (found, found.code) == ("", "garbled") and server.url.removeprefix("http://") in found.reason
    assert _threads() == []


REFUSALS = {
    "500 Oops": (b"<h1>", "500"), "302 Found": (b"", "302"), "401 No": (b"{}", "revoked"), "404 No": (b"[]", "address"),
    "429 Slow": ({"error": {"message": "More than 5 requests a second.", "hint": "Wait."}}, "second. Wait."),
    "503 Busy": ({"error": {"message": "a\x1b[31mb" + "c" * 999}}, "a[31mb"), "403 No": ({"error": [7]}, "reach"),
}  # fmt: skip


@DOORS
@pytest.mark.parametrize("status", REFUSALS)
def test_a_refusal_says_which(status, door):
    body, said = REFUSALS[status]
    with Awkward(answers(body, f"{status}\r\nLocation: http://elsewhere.invalid")) as server:
        found = alone(server, door, timeout=GUARD)
        assert (found, found.code) == ("", "refused") and said in found.reason and "\x1b" not in found.reason
        assert len(found.reason) < 400


@DOORS
def test_a_certificate_nobody_vouches_for(door):
    def behave(wire: socket.socket) -> None:
        with certified(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)).wrap_socket(wire, server_side=True) as secure:
            answers({"memory": "<memory>", "results": []})(secure)

    with Awkward(behave) as server:
        server.url = server.url.replace("http:", "https:")
        found = alone(server, door, timeout=GUARD)
        assert found.code == "unreachable" and "certificate" in found.reason
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with Awkward(behave) as server:
        server.url = server.url.replace("http:", "https:")
        assert alone(server, door, timeout=GUARD, tls=trusting) == "<memory>"


def test_cancelling_closes_the_connection_and_the_loop_goes_on():
    async def main(server: Awkward) -> int:
        waiting, turns = asyncio.create_task(aload_context(server.url, "t", "q", timeout=GUARD)), 0
        for turns in range(50):  # noqa: B007
            await asyncio.sleep(0.001)
        assert not waiting.done()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await asyncio.to_thread(server.left.wait, GUARD)
        return turns

    with Awkward(ENDLESS["says nothing"]) as server:
        assert asyncio.run(main(server)) == 49
    assert _threads() == []


def test_no_thread_can_be_had(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("recollect.loader.Thread.start", refuse)
    assert load_context("http://127.0.0.1:9", "t", "q").code == "misused"


def test_the_page_is_right():
    page = (Path(__file__).parents[1] / "docs" / "loader.md").read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    for program in programs:
        exec(program, {})
    assert len(programs) == 2


def test_the_engine_is_not_loaded():
    code = "import sys, recollect.loader; sys.exit('numpy' in sys.modules or 'recollect.memory' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=GUARD).returncode == 0


def _threads() -> list[threading.Thread]:
    """The loader's threads that don't come to an end."""
    for thread in threading.enumerate():
        if thread.name == "recollect-loader":
            thread.join(GUARD)
    return [thread for thread in threading.enumerate() if thread.name == "recollect-loader"]
