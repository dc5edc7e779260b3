"""Spans: one for each operation, by the conventions' names; without a word of what is remembered, unless that is wanted."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from starlette.testclient import TestClient

from recollect import AsyncMemory, Memory, Scope
from recollect.errors import InvalidRecipe, InvalidSetting, MissingExtra, UnknownRecord
from recollect.http import create
from recollect.settings import Settings, load
from recollect.traces import TracedMemory

SECRET = "zanzibar"


@pytest.fixture
def spans(monkeypatch):
    """The spans that have ended."""
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield kept.get_finished_spans
    provider.shutdown()


def opened(traces: str = "spans", **given) -> Memory:
    return Memory.open("memory:", **{"owner": "acme/alice", "embedder": "hashing", "settings": Settings(traces=traces), **given})


def everything(memory) -> None:
    """Each operation once, and two that fail."""
    memory.remember(f"We meet in {SECRET}.", id="m1")
    memory.remember_many([f"{SECRET} one", f"{SECRET} two"])
    memory.remember_messages([{"role": "user", "content": f"To {SECRET}!"}], session="s1")
    memory.recall(SECRET, recipe="annie@2")
    memory.context(SECRET)
    memory.explain(SECRET)
    memory.inspect(SECRET)
    memory.amend("m1", text=f"We met in {SECRET}.")
    memory.promote("m1")
    memory.forget("m1")
    with pytest.raises(UnknownRecord):
        memory.forget("m1")
    with pytest.raises(InvalidRecipe):
        memory.recall(SECRET, recipe=SECRET)


DONE = [
    "create_memory", "create_memory", "upsert_memory", "search_memory", "search_memory", "search_memory", "search_memory",
    "update_memory", "update_memory", "delete_memory", "delete_memory", "search_memory",
]  # fmt: skip


def test_a_span_for_each_operation(spans):
    with opened() as memory:
        everything(memory)
    found = spans()
    assert [span.name for span in found] == DONE == [span.attributes["gen_ai.operation.name"] for span in found]
    assert {span.attributes["gen_ai.memory.store.id"] for span in found} == {"acme/alice"}
    counts = [span.attributes.get("gen_ai.memory.record.count") for span in found]
    assert counts[:5] == [1, 2, 1, 2, 4] and counts[7:] == [1, 1, 1, None, None]
    recalled = found[3]
    assert recalled.attributes["recollect.recipe"] == "annie@2" and not recalled.attributes["recollect.degraded"]
    routes = {event.attributes["name"]: event.attributes["status"] for event in recalled.events}
    assert routes["lexical"] == "ran" and recalled.attributes["recollect.retrieval_path"] == "hybrid_rrf"
    assert found[0].attributes["gen_ai.memory.record.id"] == found[9].attributes["gen_ai.memory.record.id"] == "m1"
    assert [span.attributes.get("error.type") for span in found[-3:]] == [None, "unknown_record", "invalid_recipe"]
    assert [span.status.status_code for span in found[-3:]] == [StatusCode.UNSET, StatusCode.ERROR, StatusCode.ERROR]
    assert SECRET not in "".join(span.to_json() for span in found), "no word of it, not in errors either"


def test_content_when_it_is_wanted(spans):
    with opened("content") as memory:
        everything(memory)
        memory.recall("\ud800")
    found = spans()
    assert found[3].attributes["gen_ai.memory.query.text"] == SECRET
    records = json.loads(found[3].attributes["gen_ai.memory.records"])
    assert len(records) == 2 and SECRET in records[0]["content"] and set(records[0]) == {"id", "content", "score"}
    assert json.loads(found[0].attributes["gen_ai.memory.records"]) == [{"id": "m1", "content": f"We meet in {SECRET}."}]


def test_other_owners_and_asyncio_are_traced_too(spans):
    async def main():
        async with AsyncMemory(opened()) as memory:
            with trace.get_tracer("test").start_as_current_span("outer"):
                await (await memory.for_owner("acme/bob")).remember("hello")

    asyncio.run(main())
    inner, outer = spans()
    assert inner.attributes["gen_ai.memory.store.id"] == "acme/bob" and inner.parent.span_id == outer.context.span_id


def test_a_request_belongs_to_its_clients_trace(spans):
    memory, sent = opened(scope=Scope(owner="server")), {"traceparent": "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"}
    with TestClient(create(memory, owner="alice"), base_url="http://localhost") as client:
        client.post("/v1/recall", json={"query": "Goa"}, headers=sent)
        client.post("/v1/recall", json={"query": "Goa"}, headers={"traceparent": "nonsense"})
    first, second = spans()
    assert f"{first.context.trace_id:032x}" == "ab" * 16 and f"{first.parent.span_id:016x}" == "cd" * 8
    assert second.parent is None


def test_off_is_off(spans, monkeypatch):
    with opened("off") as memory:
        everything(memory)
        assert type(memory) is Memory and not isinstance(memory, TracedMemory)
    assert spans() == ()
    assert load({"RECOLLECT_TRACES": "content"}).traces == "content"
    with pytest.raises(InvalidSetting):
        load({"RECOLLECT_TRACES": "yes"})


def test_opentelemetry_is_not_imported_before_it_is_wanted():
    code = (
        "import sys, recollect.traces\nfrom recollect import Memory\nfrom recollect.settings import Settings\n"
        "Memory.open('memory:', owner='a', embedder='none', settings=Settings()).remember('x')\n"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_without_opentelemetry_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingExtra, match=r'pip install "recollect\[otel\]"'):
        opened()
