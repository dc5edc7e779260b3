"""What clients do who mean harm, or know no better: nothing makes the server fail, hang, or tell what is somebody else's."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
import schemathesis
import schemathesis.engine
from schemathesis.engine import events
from servers import any_memory, running
from test_mcp import SETS, over_http

from recollect.access import Access
from recollect.http import Limits, connection, create
from recollect.mcp import remote
from recollect.testing import FixedClock

GUARD = 60
JSON = (b"content-type", b"application/json")
ALICE, BOB = "acme/alice", "acme/bob"
SECRET = "zanzibar"  # in all that alice keeps; nobody else says it
HERS = "thursday"  # what others know to ask for
ID, SESSION = f"{HERS}-id", f"{HERS}-session"


def secrets(memory) -> None:
    """What alice keeps, with the word in every field that could show."""
    alice = memory.for_owner(ALICE)
    alice.remember(
        f"We meet in {SECRET} on {HERS}.",
        id=ID,
        session=SESSION,
        speaker=SECRET,
        tags=[SECRET],
        project=SECRET,
        agent=SECRET,
        metadata={SECRET: SECRET},
        entities=[(HERS, "thing"), (SECRET, "place")],
        links=[(HERS, "is", SECRET)],
        source=SECRET,
    )
    alice.remember_messages([{"role": "user", "content": f"I sail to {SECRET} on {HERS}."}], session=SESSION)
    alice.update_settings(rrf_k=77)


def held(memory) -> list:
    """All that alice has."""
    return [
        (one.record, {lane: row.tolist() for lane, row in one.vectors.items()}, one.waiting)
        for one in memory.for_owner(ALICE).holdings()
    ]


class Asgi:
    """The application without a network: ten thousand requests in seconds."""

    def __init__(self, app) -> None:
        self._app, self._loop = app, asyncio.new_event_loop()

    def close(self) -> None:
        self._loop.close()

    def ask(self, method: str, path: str, body: bytes = b"", headers=(), query: bytes = b"") -> tuple[int, bytes]:
        return self._loop.run_until_complete(self._ask(method, path, body, headers, query))

    def ask_all(self, requests: list) -> list[tuple[int, bytes]]:
        """The answers to requests that come side by side."""

        async def asked():
            return await asyncio.gather(*(self._ask(*one) for one in requests))

        return self._loop.run_until_complete(asked())

    async def _ask(self, method: str, path: str, body: bytes = b"", headers=(), query: bytes = b"") -> tuple[int, bytes]:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "query_string": query,
            "raw_path": path.encode("utf-8", "replace"),
            "root_path": "",
            "scheme": "http",
            "server": ("localhost", 80),
            "client": ("127.0.0.1", 1),
            "headers": [(b"host", b"localhost"), *headers],
            "state": {},
        }
        said, sent = [], iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive():
            return next(sent, {"type": "http.disconnect"})

        async def send(message):
            said.append(message)

        await asyncio.wait_for(self._app(scope, receive, send), GUARD)
        return said[0]["status"], b"".join(message.get("body", b"") for message in said[1:])


@pytest.fixture
def memory():
    memory = any_memory(clock=FixedClock())
    secrets(memory)
    yield memory
    memory.close()


@pytest.fixture
def asgi(memory) -> Iterator[Asgi]:
    asgi = Asgi(create(memory, owner=BOB))
    yield asgi
    asgi.close()


def operations(document: dict) -> list[tuple[str, str]]:
    return [(method.upper(), path) for path, methods in document["paths"].items() for method in methods]


def well(status: int, body: bytes) -> None:
    """No failure, nothing of alice, and a refusal that says what to do."""
    assert status < 500 and SECRET.encode() not in body, body[:500]
    if status >= 400:
        error = json.loads(body)["error"]
        assert set(error) == {"code", "message", "hint"} and error["code"] and error["message"]


# What the document promises ---------------------------------------------------------------------------------------------


# A refusal of what fits the schema is right where the meaning does not: a recipe nobody knows, an end before its beginning.
MEANING = ["positive_data_acceptance"]


def test_schemathesis_finds_nothing(memory):
    """Examples, edge cases, random requests, and chains of requests; the refusals' own form is a check of ours."""
    document = schemathesis.openapi.from_asgi("/openapi.json", create(memory, owner=BOB))
    document.config.update(headers={"Host": "localhost"}, continue_on_failure=True)
    document.config.generation.update(max_examples=5, deterministic=True, database="none")
    document.config.checks.update(excluded_check_names=MEANING)
    document.config.checks.negative_data_rejection.expected_statuses = ["413", "4xx"]  # too long an address is too large
    wrong, asked = [], 0
    for event in schemathesis.engine.from_schema(document).execute():
        if isinstance(event, (events.NonFatalError, events.FatalError)):
            wrong.append(str(event))
        if isinstance(event, events.ScenarioFinished):
            checks = [check for found in event.recorder.checks.values() for check in found]
            wrong += [
                f"{event.label} {check.name} {check.failure_info.failure.message}" for check in checks if check.failure_info
            ]
            for one in event.recorder.interactions.values():
                if one.response is not None:
                    asked += 1
                    well(one.response.status_code, one.response.content)
    assert wrong == [] and asked > 500


# Bodies ----------------------------------------------------------------------------------------------------------------

BODIES: dict[tuple[str, str], object] = {
    ("POST", "/v1/memories"): {
        "text": "Priya's parents live in Goa.",
        "kind": "semantic",
        "tags": ["family"],
        "at": "2026-03-01",
        "turn": 3,
        "quality": 0.4,
        "entities": [{"name": "Goa", "type": "place"}],
        "links": [{"subject": "a", "predicate": "b", "object": "c"}],
        "metadata": {"a": [1, {"b": None}]},
        "dates": [{"start": "2026-01-01", "end": "2026-01-02"}],
        "views": {"user": "x"},
    },
    ("POST", "/v1/sessions/s1/messages"): {
        "messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}],
    },
    ("PATCH", "/v1/memories/m1"): {"text": "other", "tags": [], "metadata": {}, "valid_to": "2026-03-01", "speaker": None},
    ("POST", "/v1/recall"): {"query": "vacation", "recipe": "annie@5", "limit": 5, "kinds": ["fact"], "as_of": "2026-02-01"},
    ("POST", "/v1/explain"): {"query": "vacation", "expect": "m1", "recipe": {"base": "memsense", "rrf_k": 9}},
    ("POST", "/v1/inspect"): {"query": "vacation", "exclude": ["m1"], "vectors": {"full": [0.5, 0.5]}},
    ("PATCH", "/v1/settings"): {"rrf_k": 20, "weights": {"lexical": 0.5}, "recipe": "memsense@5", "decay": "off"},
    ("PATCH", "/settings"): {"semanticWeight": 0.5, "keywordWeight": 1.0},
}
ODD = (
    None,
    True,
    -1,
    0,
    2**63,
    -(2**70),
    1e308,
    float("inf"),
    float("nan"),
    "",
    " ",
    "\0",
    "\ud800",
    "a" * 5000,
    "'; DROP TABLE records; --",
    "{}",
    "../../etc/passwd",
    "%s%n",
    [],
    {},
    [[]],
    [None],
    {"": {}},
    {"a": {"b": [{}]}},
    "9999-99-99",
    "0000-00-00",
    1e18,
    "NaN",
    "\u202e",
    "<script>",
    "balanced(",
    "annie@999999999999",
    "(" * 3000,
    "\U000e0041",
)


def spoiled(chance: random.Random, body: object) -> bytes:
    """A body with something wrong about it: a value, a name, its bytes, its depth."""
    if chance.random() < 0.6:
        return json.dumps(_swapped(chance, body)).encode("utf-8", "surrogatepass")
    data = bytearray(json.dumps(body).encode())
    wrong = chance.randrange(6)
    if wrong == 0:
        return bytes(data[: chance.randrange(len(data))])
    if wrong == 1:
        for _ in range(chance.randrange(1, 8)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        return bytes(data)
    if wrong == 2:
        return chance.choice([b"[", b'{"query":', b'{"a":[']) * chance.choice([3, 500, 5_000])
    if wrong == 3:
        return chance.randbytes(chance.randrange(200))
    if wrong == 4:
        return data[:-1] + b", " + data[1:]  # every name twice
    return chance.choice([b"\xef\xbb\xbf", b"\0", b"// no\n", b"\xff\xfe"]) + data


def _swapped(chance: random.Random, body: object) -> object:
    if isinstance(body, dict) and body and chance.random() < 0.85:
        name = chance.choice(list(body))
        wrong = chance.randrange(5)
        if wrong == 0:
            return {key: value for key, value in body.items() if key != name}
        if wrong == 1:
            return {**body, chance.choice(["", "owner", "__class__", "id\0", "self", "recipe", name.upper()]): chance.choice(ODD)}
        return {**body, name: _swapped(chance, body[name])}
    if isinstance(body, list) and body and chance.random() < 0.7:
        return [_swapped(chance, body[0]), *body[1:]] * chance.choice([1, 1, 3])
    return chance.choice(ODD)


def test_ten_thousand_bodies_that_are_not_right(asgi):
    chance, seen = random.Random(7), set()
    for _ in range(200):
        sent = [(*where, spoiled(chance, body), [JSON]) for where, body in list(BODIES.items()) * 7][:50]
        for status, answer in asgi.ask_all(sent):
            well(status, answer)
            seen.add(status)
    assert seen >= {200, 201, 404, 422}
    assert asgi.ask("GET", "/v1/status")[0] == 200


@pytest.mark.parametrize(
    "header",
    [
        (b"content-type", b"text/plain"),
        (b"content-type", b"\xff"),
        (b"content-type", b"application/json; charset=utf-16"),
        (b"content-length", b"-1"),
        (b"content-length", b"99999999999999999999999"),
        (b"content-length", b"\xb2"),
        (b"if-match", b"\xff" * 300),
        (b"idempotency-key", b"\0"),
        (b"x-recollect-owner", b"\xff\xfe"),
        (b"x-recollect-owner", b"../acme"),
        (b"origin", b"\xff"),
        (b"origin", b"http://[::1"),
        (b"host", b"[::1"),
        (b"host", b"\xff"),
        (b"host", b""),
        (b"authorization", b"\xff" * 500),
        (b"authorization", b"Bearer"),
        (b"x-request-id", b"\r\nX-Evil: 1"),
        (b"accept-encoding", b"\0" * 99),
    ],
)
def test_headers_that_are_not_right(asgi, header):
    for method, path in (("POST", "/v1/memories"), ("GET", "/v1/memories/m1"), ("PATCH", "/v1/memories/m1")):
        headers = [JSON, header] if header[0] != b"content-type" else [header]
        well(*asgi.ask(method, path, b'{"text": "a"}' if method != "GET" else b"", headers))


def test_addresses_that_are_not_right(asgi):
    for path in (
        "/v1/memories/" + "a" * 30_000,
        "/v1/memories/\ud800".encode("utf-8", "replace").decode(),
        "/v1/memories/\0",
        "//",
        "/web/../app.py",
        "/v1/memories/..",
        "/v1/memories/%2e%2e/history",
        "/v1/memories/a\nb",
        "/V1/RECALL",
        "/v1/sessions//messages",
    ):
        well(*asgi.ask("GET", path))
        well(*asgi.ask("DELETE", path))
    for query in (
        b"limit=1&limit=2",
        b"limit=-1",
        b"limit=1e3",
        b"q=%00",
        b"query=%ff%fe",
        b"as_of=%ED%A0%80",
        b"owner=%2F",
        b"&&&==;",
        b"a" * 9000,
        b"query=" + b"a" * 25_000,
        b"session=" * 900,
        b"after=%00",
        b"recipe=" + b"(" * 9000,
    ):
        for path in ("/v1/memories", "/v1/context", "/episodes/search", "/v1/entities"):
            well(*asgi.ask("GET", path, query=query))


# Tokens ----------------------------------------------------------------------------------------------------------------

FREE = {"/health", "/ready"}  # they hold no memory


def requests_of(method: str, path: str, one: dict) -> tuple[str, bytes, bytes]:
    """A request to an endpoint that means what is alice's: her ids, her session, her words."""
    where = path.format(id=ID, session=SESSION)
    needed = [
        parameter["name"] for parameter in one.get("parameters", ()) if parameter.get("required") and parameter["in"] == "query"
    ]
    query = "&".join(f"{name}={HERS}" for name in needed).encode()
    known = next(
        (body for (verb, address), body in BODIES.items() if verb == method and address.split("/")[:3] == path.split("/")[:3]),
        None,
    )
    body = json.dumps(known).replace('"vacation"', f'"{HERS}"').replace('"m1"', f'"{ID}"').encode() if known else b""
    return where, query, body


def test_wrong_and_revoked_tokens_open_nothing(memory):
    access = Access(memory.store, memory.now)
    right, grant = access.create(ALICE, write=True)
    other, _ = access.create(BOB, write=True)
    short, _ = access.create(ALICE, expires="2026-03-10T00:00:01Z")
    access.revoke(grant.id)
    memory._clock.advance(days=1)
    mixed = f"recollect_{right.split('_')[1]}_{other.split('_', 2)[2]}"
    wrong = [f"Bearer {token}" for token in (right, short, mixed, other[:-1], other + "a", other.upper(), "", "recollect_", "\0")]
    wrong += ["", f"Basic {other}", other, f"Bearer {other} {other}", "Bearer " + "a" * 20_000]
    asgi = Asgi(create(memory, owner=BOB))
    for method, path in operations(json.loads(asgi.ask("GET", "/openapi.json")[1])):
        for header in wrong if path not in FREE else ():
            headers = [JSON, *([(b"authorization", header.encode())] if header else [])]
            status, body = asgi.ask(method, path.format(id=ID, session="s"), b"{}", headers)
            well(status, body)
            assert status in (401, 413), f"{method} {path} {header[:60]!r}"
    asgi.close()


def test_a_token_of_another_owner_reaches_nothing_at_any_endpoint(memory):
    access, before = Access(memory.store, memory.now), held(memory)
    token = (b"authorization", b"Bearer " + access.create(BOB, write=True)[0].encode())
    asgi, tried = Asgi(create(memory, owner=ALICE)), 0
    document = json.loads(asgi.ask("GET", "/openapi.json")[1])
    for method, path in operations(document):
        one = document["paths"][path][method.lower()]
        where, query, body = requests_of(method, path, one)
        well(*asgi.ask(method, where, body, [JSON, token], query))
        if path in FREE or path == "/metrics":
            continue
        for owner in (ALICE, "acme", "acme/alice/x", ALICE.upper()):
            named = b"owner=" + owner.encode()
            for headers, words in (
                ([(b"x-recollect-owner", owner.encode())], query),
                ([], b"&".join(filter(None, [query, named]))),
            ):
                status, answer = asgi.ask(method, where, body, [JSON, token, *headers], words)
                well(status, answer)
                assert status == 403, f"{method} {path} as {owner}: {answer[:200]}"
        tried += 1
    assert tried >= 18 and held(memory) == before
    assert memory.for_owner(ALICE).settings()["set"] == {"rrf_k": 77}
    asgi.close()


GIVEN = {  # for every argument of every tool that it must have, something of alice's
    "text": "hello",
    "query": HERS,
    "id": ID,
    "content": "hello",
    "memory_type": "episodic",
    "entities": [{"name": HERS, "entityType": "place", "observations": ["x"]}],
    "names": [HERS],
    "entityNames": [HERS],
    "relations": [{"from": HERS, "to": HERS, "relationType": "is"}],
    "observations": [{"entityName": HERS, "contents": ["x"]}],
    "deletions": [{"entityName": HERS, "observations": ["x"]}],
}


def test_a_token_of_another_owner_reaches_nothing_with_any_tool(memory):
    access, before = Access(memory.store, memory.now), held(memory)
    token = access.create(BOB, write=True)[0]

    async def main(port: int) -> int:
        tried = 0
        async with over_http(port, token) as client:
            for tool in (await client.list_tools()).tools:
                given = {name: GIVEN[name] for name in tool.input_schema.get("required", ())}
                for more in (
                    {},
                    *(
                        {name: HERS}
                        for name in ("profile", "session", "expect", "project")
                        if name in tool.input_schema["properties"]
                    ),
                ):
                    answer = await client.call_tool(tool.name, given | more)
                    told = json.dumps(answer.structured_content) + "".join(part.text for part in answer.content)
                    assert SECRET not in told, tool.name
                    tried += 1
                if "profile" in tool.input_schema["properties"]:
                    for profile in ("alice", "acme/alice", "../alice"):
                        assert (await client.call_tool(tool.name, given | {"profile": profile})).is_error
        for call in (lambda client: client.list_tools(), lambda client: client.call_tool("recall", {"query": HERS})):
            with pytest.raises(Exception) as refused:  # a group of what the SDK's tasks raised
                async with over_http(port, token, **{"X-Recollect-Owner": ALICE}) as client:
                    await call(client)
            assert SECRET not in repr(refused.value)
        return tried

    with running(remote.create(memory, tuple(SETS))) as port:
        assert asyncio.run(asyncio.wait_for(main(port), GUARD)) >= 21
        assert held(memory) == before


# Connections -----------------------------------------------------------------------------------------------------------


def hangs_up(wire: socket.socket) -> bytes:
    """What the server says until it hangs up; it must."""
    wire.settimeout(GUARD)
    parts = []
    with suppress(ConnectionError):
        while part := wire.recv(65536):
            parts.append(part)
    return b"".join(parts)


def asks(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), GUARD) as wire:
        wire.sendall(b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return hangs_up(wire)


DRIPPED: dict[str, tuple[bytes, bytes]] = {
    "nothing": (b"", b""),
    "a request line": (b"GET /", b"a"),
    "headers": (b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"X-A: b\r\n"),
    "one header": (b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: ", b"a"),
}


@pytest.mark.parametrize("dripped", DRIPPED)
def test_heads_that_never_end(memory, monkeypatch, dripped):
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.3)
    start, drop = DRIPPED[dripped]
    with running(create(memory, owner=BOB)) as port, ExitStack() as stack:
        wires = [stack.enter_context(socket.create_connection(("127.0.0.1", port), GUARD)) for _ in range(30)]
        for wire in wires:
            wire.sendall(start)
        assert b" 200 OK" in asks(port), "others are answered meanwhile"
        gone, until = set(), time.monotonic() + GUARD
        while len(gone) < len(wires):
            assert time.monotonic() < until, "they are waited for without end"
            for number, wire in enumerate(wires):
                wire.setblocking(False)
                try:
                    wire.sendall(drop)
                    if wire.recv(65536) == b"":
                        gone.add(number)
                except BlockingIOError:
                    pass
                except OSError:
                    gone.add(number)
            time.sleep(0.02)
        assert b" 200 OK" in asks(port)


def test_heads_that_are_too_long(memory):
    with running(create(memory, owner=BOB)) as port:
        for many in (b"X-A: " + b"a" * 200_000, b"".join(b"X-%d: a\r\n" % n for n in range(20_000))):
            with socket.create_connection(("127.0.0.1", port), GUARD) as wire:
                with suppress(ConnectionError):
                    wire.sendall(b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n" + many + b"\r\n\r\n")
                answer = hangs_up(wire)
            assert answer == b"" or answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 413 ", b"HTTP/1.1 400 ")), answer[:200]
        assert b" 200 OK" in asks(port)


@pytest.mark.parametrize("head", [b"Content-Length: 100000", b"Transfer-Encoding: chunked"])
def test_bodies_that_never_end(memory, head):
    drop = b"1\r\n \r\n" if b"chunked" in head else b" "
    with running(create(memory, owner=BOB, limits=Limits(seconds=0.4))) as port, ExitStack() as stack:
        wires = [stack.enter_context(socket.create_connection(("127.0.0.1", port), GUARD)) for _ in range(30)]
        for wire in wires:
            wire.sendall(
                b"POST /v1/recall HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + head + b"\r\n\r\n"
            )
        assert b" 200 OK" in asks(port)
        until = time.monotonic() + 0.6
        while time.monotonic() < until:
            for wire in wires:
                with suppress(OSError):
                    wire.sendall(drop)
            time.sleep(0.02)
        for wire in wires:
            answer = hangs_up(wire)
            assert answer == b"" or (answer.startswith(b"HTTP/1.1 503 ") and b'"took_too_long"' in answer)
        assert b" 200 OK" in asks(port)


def test_answers_that_nobody_reads(memory, monkeypatch):
    monkeypatch.setattr(connection, "READ_SECONDS", 0.3)
    memory.for_owner(BOB).remember_many("a long memory " * 5000 for _ in range(100))
    with running(create(memory, owner=BOB)) as port, ExitStack() as stack:
        for _ in range(5):
            wire = stack.enter_context(socket.socket())
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wire.connect(("127.0.0.1", port))
            wire.sendall(b"GET /v1/memories?limit=100 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 OK" in asks(port)
    # `running` ends only when every connection has: that it does is the test


def test_more_connections_than_there_may_be(memory, monkeypatch):
    monkeypatch.setattr(connection, "CONNECTIONS", 5)
    with running(create(memory, owner=BOB)) as port, ExitStack() as stack:
        wires = [stack.enter_context(socket.create_connection(("127.0.0.1", port), GUARD)) for _ in range(5)]
        for wire in wires:  # each is taken in before the next is asked
            wire.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert wire.recv(65536).startswith(b"HTTP/1.1 200")
        assert asks(port) == b""
        wires[0].close()
        until = time.monotonic() + GUARD
        while not asks(port):
            assert time.monotonic() < until


@pytest.mark.parametrize(
    "request_",
    [
        b"\0" * 100,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/recall HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"GET /v1/status HTTP/1.1\r\nHost localhost\r\n\r\n",
        b"POST /v1/recall HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        b"GET /v1/status HTTP/1.1\r\nHost: a\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n",
        b"GET http://evil.example/v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ],
)
def test_what_is_no_request(memory, monkeypatch, request_):
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.3)
    with running(create(memory, owner=BOB, limits=Limits(seconds=0.5))) as port:
        with socket.create_connection(("127.0.0.1", port), GUARD) as wire:
            wire.sendall(request_)
            wire.shutdown(socket.SHUT_WR)
            answer = hangs_up(wire)
        assert b" 500 " not in answer.split(b"\r\n")[0] and SECRET.encode() not in answer
        assert b" 200 OK" in asks(port)
