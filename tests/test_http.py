"""The HTTP door, in this process: what each endpoint answers, what it refuses, and what it never tells."""

from __future__ import annotations

import inspect
import json
import socket

import pytest
from servers import any_memory, running
from starlette.testclient import TestClient

from recollect import Memory, Scope, errors
from recollect.http import Limits, answers, create, shapes
from recollect.http.connection import Connection
from recollect.http.logs import Lines
from recollect.http.metrics import Counts
from recollect.http.once import Key
from recollect.http.problems import STATUS, status_of
from recollect.ingest import FIELDS
from recollect.records import Record
from recollect.settings import Settings
from recollect.testing import FixedClock

ALICE = {"X-Recollect-Owner": "alice"}


@pytest.fixture
def served():
    """Make a client of a server around a fresh memory; it is closed in the end."""
    opened = []

    def serve(limits: Limits | None = None, **given) -> TestClient:
        usual = {"scope": Scope(owner="server"), "embedder": "hashing", "settings": Settings(), "clock": FixedClock()}
        memory = Memory.open("memory:", **usual | given)
        client = TestClient(create(memory, limits=limits), base_url="http://localhost:8000", headers=ALICE)
        opened.append(client.__enter__())
        return client

    yield serve
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture
def client(served):
    return served()


def refused(response, status: int) -> str:
    """The code of a refusal, which must have this status and say what to do."""
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert set(error) == {"code", "message", "hint"} and error["message"]
    return error["code"]


def test_every_error_has_a_status():
    for _, error in inspect.getmembers(errors, inspect.isclass):
        assert issubclass(error, errors.RecollectError)
        assert error is errors.RecollectError or status_of(error()) != 500, f"{error.__name__} needs a place in STATUS"
    assert set(STATUS.values()) == {401, 403, 404, 405, 409, 412, 413, 422, 429, 503}


def test_shapes_are_what_the_engine_takes():
    assert set(shapes.Memory.model_fields) == FIELDS | {"text"}
    assert set(shapes.Change.model_fields) == (FIELDS | {"text"}) - {"id", "supersedes", "vectors"}
    assert list(answers.Record.model_fields) and set(answers.Record.model_fields) == set(Record.__dataclass_fields__)


def test_one_memory_from_being_told_to_being_forgotten(client):
    told = client.post("/v1/memories", json={"text": "Priya's parents live in Goa.", "id": "m1", "tags": ["family"]})
    assert (told.status_code, told.json()["owner"], told.json()["tags"]) == (201, "alice", ["family"])
    assert client.get("/v1/memories/m1").json() == told.json()
    answer = client.post("/v1/recall", json={"query": "Where do Priya's parents live?"}).json()
    assert [hit["id"] for hit in answer["hits"]] == ["m1"]
    assert client.post("/v1/explain", json={"query": "parents", "expect": "m1"}).json()["gate"] == "found"
    changed = client.patch("/v1/memories/m1", json={"text": "Priya's parents live in Panaji.", "speaker": None})
    assert changed.json()["text"] == "Priya's parents live in Panaji."
    assert [version["id"] for version in client.get("/v1/memories/m1/history").json()["versions"]] == ["m1"]
    assert client.delete("/v1/memories/m1").json()["removed"]["records"] == 1
    assert refused(client.get("/v1/memories/m1"), 404) == "unknown_record"


def test_many_memories_and_their_pages(client):
    told = client.post("/v1/memories", json=[{"text": f"note {n}", "at": f"2026-03-0{n}"} for n in range(1, 6)])
    assert (told.status_code, len(told.json()["records"])) == (201, 5)
    seen, after = [], None
    while True:
        page = client.get("/v1/memories", params={"limit": 2, "order": "oldest", **({"after": after} if after else {})}).json()
        seen += [record["text"] for record in page["records"]]
        if (after := page["next"]) is None:
            break
    assert seen == [f"note {n}" for n in range(1, 6)]


def test_a_conversation_is_remembered_once(client):
    said = [{"role": "user", "content": "Where do Priya's parents live?"}, {"role": "assistant", "content": "In Goa."}]
    told = client.post("/v1/sessions/team%2F7/messages", json={"messages": said, "tags": ["family"]})
    (turn,) = told.json()["records"]
    assert (told.status_code, turn["session"], turn["role"], turn["tags"]) == (201, "team/7", "turn", ["family"])
    assert turn["views"] == {"user": said[0]["content"], "assistant": "In Goa."}
    said += [{"role": "user", "content": "Then Goa it is."}]
    again = [client.post("/v1/sessions/team%2F7/messages", json={"messages": said}).json()["records"] for _ in range(2)]
    assert [record["text"] for record in again[0]] == ["Then Goa it is."] and again[1] == []
    for wrong in ({"messages": [7]}, {"messages": "x"}, {}):
        assert refused(client.post("/v1/sessions/s/messages", json=wrong), 422) in ("invalid_record", "invalid_request")


def test_an_etag_names_a_version(client):
    first = client.post("/v1/memories", json={"text": "She is 30.", "id": "m1"}).headers["ETag"]
    assert client.get("/v1/memories/m1", headers={"If-None-Match": first}).status_code == 304
    second = client.patch("/v1/memories/m1", json={"text": "She is 31."}, headers={"If-Match": first}).headers["ETag"]
    assert second != first
    assert client.get("/v1/memories/m1", headers={"If-None-Match": first}).headers["ETag"] == second
    assert refused(client.patch("/v1/memories/m1", json={"text": "30."}, headers={"If-Match": first}), 412) == "record_changed"
    assert refused(client.delete("/v1/memories/m1", headers={"If-Match": first}), 412) == "record_changed"
    assert client.delete("/v1/memories/m1", headers={"If-Match": second}).status_code == 200


def test_context_is_what_annie_asks_for(client):
    client.post("/v1/memories", json={
        "text": "We should plan that Goa trip for March", "speaker": "Rajesh", "session": "s1", "at": "2026-03-01T09:00Z",
        "entities": [{"name": "Goa", "type": "place"}],
    })  # fmt: skip
    found = client.get("/v1/context", params={"query": "recent conversations and key facts: Goa", "limit": 10}).json()
    (result,) = found["results"]
    assert result | {"relevance_score": 0} == {
        "text": "We should plan that Goa trip for March", "source_session": "s1", "timestamp": "2026-03-01T09:00:00Z",
        "relevance_score": 0, "entities": ["Goa"], "speaker": "Rajesh",
    }  # fmt: skip
    assert found["memory"].startswith("<memory>\n") and '- Rajesh said: "We should plan that Goa trip' in found["memory"]


def test_the_two_weights_are_live(client):
    client.post("/v1/memories", json=[{"text": "vacation in Goa", "session": "1"}, {"text": "vacation plans", "session": "4"}])
    assert client.patch("/settings", json={"keywordWeight": 0}).json() == {"semanticWeight": 1.0, "keywordWeight": 0.0}
    routes = client.post("/v1/recall", json={"query": "vacation"}).json()["diagnostics"]["routes"]
    assert next(route for route in routes if route["name"] == "lexical")["status"] == "skipped"
    assert client.patch("/settings", json={"semanticWeight": 0.5, "keywordWeight": 2.0}).json() == client.get("/settings").json()
    assert client.get("/v1/settings").json()["weights"]["lexical"] == 2.0
    for wrong in ({"keywordWeight": 5.1}, {"semanticWeight": -1}, {"semanticWeight": "1"}, {"weight": 1}):
        assert refused(client.patch("/settings", json=wrong), 422) == "invalid_request"
    found = client.get("/episodes/search", params={"q": "vacation", "sessionIds": "1,2,3"}).json()
    assert [(one["text"], one["session_id"]) for one in found] == [("vacation in Goa", "1")]
    assert len(client.get("/episodes/search", params={"q": "vacation"}).json()) == 2
    assert client.get("/episodes/search", params={"q": "vacation", "sessionIds": ""}).json() == []


def test_settings_are_the_owners_own_and_checked(client):
    assert client.patch("/v1/settings", json={"rrf_k": 20}).json()["recipe"] == "balanced(rrf_k=20)"
    assert client.get("/v1/settings", headers={"X-Recollect-Owner": "bob"}).json()["recipe"] == "balanced"
    assert client.patch("/v1/settings", json={"rrf_k": None}).json()["recipe"] == "balanced"
    for wrong in ({"rrf_k": "many"}, {"self": 1}, {"no_such": 1}):
        assert refused(client.patch("/v1/settings", json=wrong), 422) in ("invalid_setting", "invalid_recipe")


def test_whose_memory_is_meant(client):
    client.post("/v1/memories", json={"text": "a secret of alice", "id": "m1"})
    other = {"X-Recollect-Owner": "bob"}
    assert client.post("/v1/recall", json={"query": "secret"}, headers=other).json()["hits"] == []
    assert refused(client.get("/v1/memories/m1", headers=other), 404) == "unknown_record"
    assert refused(client.get("/v1/memories/m1", params={"owner": "bob"}), 403) == "not_allowed"
    assert refused(client.get("/v1/memories", headers={"X-Recollect-Owner": ""}), 422) == "scope_required"
    assert refused(client.get("/v1/memories", headers={"X-Recollect-Owner": "a//b"}), 422) == "scope_required"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'"text"', b"{" * 50_000, b'{"query": "\\ud800"}',
                                  b'{"query": 1e999}', b'{"query": "a", "limit": ' + b"9" * 5000 + b"}"])  # fmt: skip
def test_what_is_no_question(client, body):
    assert refused(client.post("/v1/recall", content=body, headers={"Content-Type": "application/json"}), 422)


def test_unknown_names_are_not_passed_over(client):
    assert refused(client.get("/v1/memories", params={"limt": 5}), 422) == "invalid_request"
    assert refused(client.post("/v1/recall", json={"query": "a", "limt": 5}), 422) == "invalid_request"
    assert refused(client.get("/v2/memories"), 404) == "not_found"
    assert refused(client.put("/v1/recall"), 405) == "wrong_method"


def test_a_body_that_is_not_said_to_be_json_is_told_so(client):
    for headers in ({}, {"Content-Type": "application/x-www-form-urlencoded"}):  # as curl -d sends it
        answer = client.post("/v1/recall", content=b'{"query": "a"}', headers=headers)
        assert refused(answer, 422) == "invalid_request" and "Content-Type: application/json" in answer.json()["error"]["hint"]
    for kind in ("application/json; charset=utf-8", "application/vnd.api+json"):
        assert client.post("/v1/recall", content=b'{"query": "a"}', headers={"Content-Type": kind}).status_code == 200


def test_head_is_get_without_a_body(client):
    client.post("/v1/memories", json={"text": "Goa", "id": "m1"})
    for path in ("/", "/health", "/ready", "/v1/memories/m1"):
        get, head = client.get(path), client.head(path)
        assert head.status_code == get.status_code == 200
        assert all(head.headers.get(name) == get.headers.get(name) for name in ("Content-Length", "ETag"))
    assert client.head("/v1/memories/none").status_code == 404 and client.head("/v1/recall").status_code == 405
    assert client.put("/v1/memories").headers["Allow"] == "GET, HEAD, POST"
    assert 'recollect_requests_total{path="/v1/memories/{id}",status="200"} 2' in client.get("/metrics").text


def test_without_tokens_only_this_machine_is_answered(client):
    assert refused(client.get("/v1/status", headers={"Host": "memory.example"}), 403) == "not_allowed"
    assert refused(client.get("/v1/status", headers={"Origin": "http://evil.example"}), 403) == "not_allowed"
    assert refused(client.get("/v1/status", headers={"Origin": "http://localhost:9999"}), 403) == "not_allowed"
    assert client.get("/v1/status", headers={"Origin": "http://localhost:8000"}).status_code == 200


def test_sizes_are_limited(served):
    client = served(Limits(body=2000, head=4000))
    assert refused(client.post("/v1/recall", json={"query": "a" * 3000}), 413) == "too_large"
    assert refused(client.get("/v1/status", headers={"X-Long": "a" * 5000}), 413) == "too_large"
    parts = (b"a" * 500 for _ in range(10))
    assert refused(client.post("/v1/recall", content=parts), 413) == "too_large"


def test_pages_are_the_packages_own(client):
    for path in ("/", "/docs", "/web/docs.css"):
        page = client.get(path)
        assert page.status_code == 200 and "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert "//" not in page.text.replace("http://www.w3.org", "")
    for name in ("..%2fwire.py", "wire.py", "%2e%2e/wire.py", "index.html%00"):
        assert client.get(f"/web/{name}").status_code == 404
    assert "/v1/recall" in client.get("/docs").text


def test_a_request_with_a_key_is_done_once(client):
    said, key = {"text": "I told Priya we can do March."}, {"Idempotency-Key": "5f0c"}
    first = client.post("/v1/memories", json=said, headers=key)
    again = client.post("/v1/memories", json=said, headers=key)
    assert again.content == first.content and again.headers["ETag"] == first.headers["ETag"] and again.status_code == 201
    assert "Idempotency-Replayed" not in first.headers and again.headers["Idempotency-Replayed"] == "true"
    assert client.get("/v1/status").json()["records"] == 1
    assert refused(client.post("/v1/memories", json={"text": "else"}, headers=key), 422) == "key_reused"
    assert client.post("/v1/memories", json=said, headers=key | {"X-Recollect-Owner": "bob"}).json()["owner"] == "bob"
    id = first.json()["id"]
    gone = [client.delete(f"/v1/memories/{id}", headers={"Idempotency-Key": "gone"}).json() for _ in range(2)]
    assert gone[0] == gone[1] and gone[0]["removed"]["records"] == 1
    for wrong in ("", "é", "a" * 256):
        assert refused(client.post("/v1/memories", json=said, headers={"Idempotency-Key": wrong.encode()}), 422)


def test_a_refused_request_gives_its_key_back(client):
    key = {"Idempotency-Key": "k"}
    assert refused(client.post("/v1/memories", json={"text": " "}, headers=key), 422) == "invalid_record"
    assert client.post("/v1/memories", json={"text": "something"}, headers=key).status_code == 201


def test_what_a_dead_process_had_remembered_is_found_again(served):
    clock = FixedClock()
    client = served(clock=clock)
    said, key = [{"text": "one"}, {"text": "two"}], Key.of("k", "alice", b"POST", b"/v1/memories", b"", b"")
    client.post("/v1/memories", json={"text": "one", "id": key.id(0)})
    clock.advance(minutes=5)
    records = client.post("/v1/memories", json=said, headers={"Idempotency-Key": "k"}).json()["records"]
    assert [record["text"] for record in records] == ["one", "two"] and records[0]["id"] == key.id(0)
    assert client.get("/v1/status").json()["records"] == 2


def test_metrics_count_by_address_never_by_id(client):
    client.post("/v1/memories", json={"text": "in Goa", "id": "secret-id"})
    client.get("/v1/memories/secret-id")
    client.get("/no/such/secret-id")
    client.post("/v1/recall", json={"query": "Goa"})
    read = client.post("/v1/recall", json={"query": "Goa", "recipe": "balanced(rerank=late)"}).json()["diagnostics"]["rerank"]
    assert (read["name"], read["status"], read["candidates"]) == ("late", "ran", 1)
    text = client.get("/metrics").text
    assert 'recollect_routes_total{route="rerank",status="ran"} 2' in text
    assert 'recollect_requests_total{path="/v1/memories/{id}",status="200"} 1' in text
    assert 'recollect_requests_total{path="other",status="404"} 1' in text
    assert 'recollect_routes_total{route="lexical",status="ran"} 2' in text and "recollect_waiting_jobs 0" in text
    assert 'recollect_request_seconds_bucket{path="/v1/recall",le="+Inf"} 2' in text and "secret" not in text


def test_counts_of_several_processes_add_up(tmp_path, monkeypatch):
    monkeypatch.setattr("os.getpid", iter(range(1, 9)).__next__)
    counts = [Counts(["/a", "/b"], tmp_path) for _ in range(2)]
    for one in counts:
        one.request("/a", 200, 0.003)
        one.request("/b", 418, 99.0)
    for one in counts:
        text = one.text([])
        assert 'path="/a",status="200"} 2' in text and 'path="/b",status="other"} 2' in text
        assert 'bucket{path="/a",le="0.0025"} 0' in text and 'bucket{path="/a",le="0.005"} 2' in text
        assert 'bucket{path="/b",le="10.0"} 0' in text and 'count{path="/b"} 2' in text and 'sum{path="/b"} 198' in text


def test_the_log_tells_of_requests_not_of_memories(client, caplog):
    caplog.set_level("INFO", "recollect.http")
    client.get("/v1/context", params={"query": "my secret"}, headers={"X-Request-Id": "abc-1"})
    client.post("/v1/memories", json={"text": "a secret"}, headers={"X-Request-Id": 'bad"id'})
    lines = [json.loads(Lines().format(record)) for record in caplog.records if record.name == "recollect.http"]
    assert lines[0] | {"time": 0, "ms": 0, "bytes": 0} == {
        "time": 0, "level": "info", "logger": "recollect.http", "message": "request", "request": "abc-1", "method": "GET",
        "path": "/v1/context", "status": 200, "ms": 0, "bytes": 0, "token": "",
    }  # fmt: skip
    assert '"' not in lines[1]["request"] and "secret" not in json.dumps(lines)


def test_how_the_server_is(client):
    assert client.get("/health").json() == {"status": "ok"}
    found = client.get("/ready").json()
    assert found["ready"] and set(found["backends"]) == {"inmemory", "embedder hashing"}


def test_what_breaks_is_not_told(client, monkeypatch, caplog):
    monkeypatch.setattr(Memory, "status", lambda self: {}["a secret"])
    answer = client.get("/v1/status")
    assert refused(answer, 500) == "internal_error" and "secret" not in answer.text + caplog.text
    assert "KeyError at test_http" in caplog.records[-1].said["trouble"]


def test_answers_are_sent_at_once(monkeypatch):
    made = []

    class Watched(Connection):
        def connection_made(self, transport):
            super().connection_made(transport)
            made.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr("servers.Connection", Watched)
    with running(create(any_memory())) as port, socket.create_connection(("127.0.0.1", port), 20) as wire:
        wire.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert wire.recv(65536).startswith(b"HTTP/1.1 200")
    assert made and all(made), "else a second write waits for the acknowledgement of the first"


def test_examples_of_the_document_work(client):
    client.post("/v1/memories", json={"text": "We go to Goa on vacation.", "id": "m1"})
    document = client.get("/openapi.json").json()
    schemas, tried = document["components"]["schemas"], 0
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            content = one.get("requestBody", {}).get("content", {}).get("application/json")
            if content is None:
                continue
            for example in _examples(content, schemas):
                answer = client.request(method, path.format(id="m1", session="s1"), json=example)
                assert answer.status_code in (200, 201), f"{method} {path} {json.dumps(example)}: {answer.text}"
                tried += 1
    assert tried >= 8


def _examples(content: dict, schemas: dict) -> list:
    found = [*content.get("examples", ()), *content["schema"].get("examples", ())]
    for one in (content["schema"], *content["schema"].get("anyOf", ())):
        found += schemas.get(one.get("$ref", "").rpartition("/")[2], {}).get("examples", ())
    return found
