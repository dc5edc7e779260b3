"""The MCP door, asked by the SDK's own client over both transports: its tools, its sets, whose memory, and what it refuses."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import sys
from contextlib import asynccontextmanager, closing

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from servers import any_memory, running

from recollect.access import Access
from recollect.aio import Threads
from recollect.errors import InvalidRequest
from recollect.http.service import Caller
from recollect.mcp.door import SETS, Door
from recollect.mcp.remote import create

SIX = ["remember", "recall", "context", "explain", "forget", "history"]


@asynccontextmanager
async def over_stdio(folder, *words):
    env = {"RECOLLECT_EMBEDDER": "hashing", "RECOLLECT_OWNER": "acme/alice", "PATH": os.environ["PATH"], "HOME": str(folder)}
    command = StdioServerParameters(command=sys.executable, args=["-m", "recollect", "mcp", *words], env=env, cwd=str(folder))
    async with Client(stdio_client(command)) as client:
        yield client


@asynccontextmanager
async def over_http(port: int, token: str = "", **headers):
    sent = {**({"Authorization": f"Bearer {token}"} if token else {}), **headers}
    async with (
        create_mcp_http_client(headers=sent) as http,
        Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def over(transport: str, folder, *sets: str):
    """A client of a fresh memory of acme/alice, with these sets of tools."""
    if transport == "stdio":
        async with over_stdio(folder, *(word for name in sets for word in ("--tools", name))) as client:
            yield client
        return
    with running(create(any_memory(), sets or ("memory",), owner="acme/alice")) as port:
        async with over_http(port) as client:
            yield client


async def call(client, tool: str, **arguments):
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content[0].text
    return answer.structured_content


async def refused(client, tool: str, **arguments) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    error = json.loads(answer.content[0].text)["error"]
    assert error["message"] and error["hint"]
    return error["code"]


TRANSPORTS = pytest.mark.parametrize("transport", ["stdio", "http"])


@TRANSPORTS
def test_the_six_tools(transport, tmp_path):
    async def main():
        async with over(transport, tmp_path) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == SIX
            assert all(tool.description and tool.output_schema and tool.annotations for tool in tools.values())
            assert [name for name, tool in tools.items() if not tool.annotations.read_only_hint] == ["remember", "forget"]
            assert [name for name, tool in tools.items() if tool.annotations.destructive_hint] == ["forget"]
            old = await call(client, "remember", text="Priya's parents live in Goa.", tags=["family"])
            new = await call(client, "remember", text="Priya's parents live in Panaji.", supersedes=old["id"])
            assert (old["owner"], old["tags"]) == ("acme/alice", ["family"])
            hits = (await call(client, "recall", query="Where do Priya's parents live?"))["hits"]
            assert [hit["id"] for hit in hits] == [new["id"]]
            versions = (await call(client, "history", id=new["id"]))["versions"]
            assert [version["id"] for version in versions] == [old["id"], new["id"]]
            assert (await call(client, "explain", query="parents", expect=old["id"]))["gate"] == "superseded"
            block = await client.call_tool("context", {"query": "parents"})
            assert block.content[0].text.startswith("<memory>") and block.structured_content["memory"] == block.content[0].text
            assert (await call(client, "forget", id=new["id"]))["removed"]["records"] == 1
            assert await refused(client, "forget", id=new["id"]) == "unknown_record"
            assert await refused(client, "recall", query=7) == "invalid_request"
            assert await refused(client, "recall", query="a", limt=7) == "invalid_request"
            assert await refused(client, "remember", text=" ") == "invalid_record"
            assert await refused(client, "no_such") == "invalid_request"

    asyncio.run(asyncio.wait_for(main(), 60))


@pytest.mark.parametrize("sets", [("memory",), ("sci",), ("reference",), ("search",), ("search", "sci")])
def test_an_agent_is_told_of_the_tools_there_are(sets):
    door = Door(sets, Threads(), lambda request: (Caller(), "alice"), lambda owner: None)
    told, own = door.server().instructions, {tool.name for name in sets for tool in SETS[name]}
    named = {word for words in re.findall(r"\(([^)]*)\)", told) for word in words.split(" or ")}
    assert named and named <= own and ("keep" in told) == any(tool.writes for name in sets for tool in SETS[name])
    wrong = door._call  # what a wrong argument is answered with
    for tool in own - {"read_graph", "memory_identity", "memory_status"}:
        with pytest.raises(InvalidRequest) as raised:
            wrong(tool, {"limt": 1}, None)
        assert raised.value.hint.startswith(f"{tool} takes ") and "limt" in raised.value.message


@TRANSPORTS
def test_the_names_of_a_personal_memory_server(transport, tmp_path):
    async def main():
        async with over(transport, tmp_path, "sci") as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == [tool.name for tool in SETS["sci"]]
            await call(client, "memory_store", content="The company is called Threadline", memory_type="identity")
            await call(client, "memory_store", content="Auth bug fixed on Monday", memory_type="episodic", profile="work")
            found = await call(client, "memory_recall", query="Threadline", limit=3)
            assert [hit["kind"] for hit in found["hits"]] == ["identity"] and found["recipe"].startswith("sci")
            asked = {"query": "auth bug", "profile": "work", "memory_types": ["episodic"]}
            assert len((await call(client, "memory_recall", **asked))["hits"]) == 1
            assert (await call(client, "memory_recall", query="auth bug", memory_types=["episodic"]))["hits"] == []
            assert [one["owner"] for one in (await call(client, "memory_identity", profile="work"))["records"]] == ["acme"]
            assert (await call(client, "memory_status", profile="work"))["records"] == 1

    asyncio.run(asyncio.wait_for(main(), 60))


@TRANSPORTS
def test_the_nine_of_the_reference_server(transport, tmp_path):
    async def main():
        async with over(transport, tmp_path, "reference") as client:
            assert len((await client.list_tools()).tools) == 9
            priya = {"name": "Priya", "entityType": "person", "observations": ["lives in Goa", "likes mangoes"]}
            goa = {"name": "Goa", "entityType": "place", "observations": []}
            lives = {"from": "Priya", "to": "Goa", "relationType": "lives_in"}
            assert (await call(client, "create_entities", entities=[priya, goa]))["entities"] == [priya, goa]
            assert (await call(client, "create_entities", entities=[priya]))["entities"] == []
            assert (await call(client, "create_relations", relations=[lives]))["relations"] == [lives]
            assert (await call(client, "create_relations", relations=[lives]))["relations"] == []
            more = [{"entityName": "Priya", "contents": ["likes mangoes", "is 31"]}]
            added = await call(client, "add_observations", observations=more)
            assert added["results"] == [{"entityName": "Priya", "addedObservations": ["is 31"]}]
            assert await refused(client, "add_observations", observations=[{"entityName": "Bo", "contents": ["x"]}])
            graph = await call(client, "read_graph")
            assert {one["name"] for one in graph["entities"]} == {"Priya", "Goa"} and graph["relations"] == [lives]
            found = next(one for one in graph["entities"] if one["name"] == "Priya")
            assert set(found["observations"]) == {"lives in Goa", "likes mangoes", "is 31"}
            assert [one["name"] for one in (await call(client, "search_nodes", query="mangoes"))["entities"]] == ["Priya"]
            assert (await call(client, "open_nodes", names=["Goa"]))["entities"] == [goa]
            await call(client, "delete_observations", deletions=[{"entityName": "Priya", "observations": ["is 31"]}])
            assert "is 31" not in json.dumps(await call(client, "open_nodes", names=["Priya"]))
            await call(client, "delete_relations", relations=[lives])
            assert (await call(client, "read_graph"))["relations"] == []
            await call(client, "delete_entities", entityNames=["Priya"])
            assert await call(client, "read_graph") == {"entities": [goa], "relations": []}

    asyncio.run(asyncio.wait_for(main(), 60))


@TRANSPORTS
def test_search_and_fetch(transport, tmp_path):
    async def main():
        async with over(transport, tmp_path, "memory", "search") as client:
            assert len((await client.list_tools()).tools) == 8
            told = await call(client, "remember", text="I told Priya we can do March for vacation.", speaker="Rajesh")
            answer = await client.call_tool("search", {"query": "vacation"})
            (result,) = json.loads(answer.content[0].text)["results"]
            assert result == {"id": told["id"], "title": told["text"], "url": f"recollect://memory/{told['id']}"}
            document = await call(client, "fetch", id=told["id"])
            assert (document["text"], document["metadata"]["speaker"]) == (told["text"], "Rajesh")

    asyncio.run(asyncio.wait_for(main(), 60))


def test_tokens_hold_over_http_as_they_do_elsewhere():
    memory = any_memory()
    access = Access(memory.store, memory.now)
    tokens = {name: access.create(owner, write=write)[0] for name, owner, write in (
        ("alice", "acme/alice", True), ("reader", "acme/alice", False), ("bob", "acme/bob", True), ("acme", "acme", True),
    )}  # fmt: skip

    async def main(port: int):
        async with over_http(port, tokens["alice"]) as client:
            told = await call(client, "remember", text="a secret of alice")
        async with over_http(port, tokens["reader"]) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["recall", "context", "explain", "history"]
            assert len((await call(client, "recall", query="secret"))["hits"]) == 1
            assert await refused(client, "forget", id=told["id"]) == "not_allowed"
        async with over_http(port, tokens["acme"], **{"X-Recollect-Owner": "acme/alice"}) as client:
            assert len((await call(client, "recall", query="secret"))["hits"]) == 1
        async with over_http(port, tokens["bob"]) as client:
            for tool in ("recall", "context", "explain"):
                assert "a secret" not in json.dumps(await call(client, tool, query="secret"))
            for tool in ("forget", "history"):
                assert await refused(client, tool, id=told["id"]) == "unknown_record"
        for wrong in ("", "recollect_x", tokens["bob"][:-1] + "~"):
            with pytest.raises(Exception) as failed:  # a group of what the SDK's tasks raised
                async with over_http(port, wrong) as client:
                    await client.list_tools()
            assert "secret" not in repr(failed.value)
        access.revoke(tokens["alice"].split("_")[1])
        with pytest.raises(Exception):  # noqa: B017
            async with over_http(port, tokens["alice"]) as client:
                await call(client, "recall", query="secret")

    with running(create(memory)) as port:
        asyncio.run(asyncio.wait_for(main(port), 60))


def test_what_is_refused_before_the_protocol_begins():
    memory = any_memory()
    access = Access(memory.store, memory.now)
    token = access.create("acme/alice")[0]
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})

    def asked(port: int, method: str, path: str, **headers: str) -> tuple[int, str]:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        line.request(method, path, body if method == "POST" else None, sent | headers)
        with closing(line):
            answer = line.getresponse()
            return answer.status, answer.read().decode()

    with running(create(memory, ("memory", "sci"))) as port:
        own = {"Authorization": f"Bearer {token}"}
        assert asked(port, "POST", "/mcp", **own)[0] == 200
        for status, code, path, headers in (
            (401, "not_authenticated", "/mcp", {}), (401, "not_authenticated", "/mcp", {"Authorization": "Bearer x"}),
            (403, "not_allowed", "/mcp", own | {"X-Recollect-Owner": "acme/bob"}),
            (403, "not_allowed", "/mcp", own | {"X-Recollect-Owner": ""}),
            (404, "not_found", "/", {}), (404, "not_found", "/docs", own), (404, "not_found", "/mcp/x", own),
        ):  # fmt: skip
            found, said = asked(port, "POST", path, **headers)
            assert (found, json.loads(said)["error"]["code"]) == (status, code), (path, headers)
        assert asked(port, "GET", "/health") == (200, '{"status":"ok"}')
        assert json.loads(asked(port, "GET", "/ready")[1])["ready"] is True
        assert asked(port, "GET", "/metrics")[0] == 401
        counted = asked(port, "GET", "/metrics", **own)[1]
        assert 'recollect_requests_total{path="/mcp",status="200"} 1' in counted and 'status="500"' not in counted
