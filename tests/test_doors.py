"""The same request through Python, the command line, HTTP and MCP gives the same JSON."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from servers import running
from starlette.testclient import TestClient
from test_mcp import over_http

from recollect import Memory, Scope
from recollect.cli import main
from recollect.http import create
from recollect.mcp import remote
from recollect.settings import Settings
from recollect.testing import FixedClock
from recollect.wire import context_json, error_json, history_json, page_json, recall_json, recipes_json, record_json

NOW = "2030-01-01"  # every question is asked as of then: the command line has the clock of the world
GUARD = 60
LINKS = [("Priya", "lives_in", "Panaji")]


class Request(NamedTuple):
    """One request as it is made at each door; a door that does not have it: None."""

    python: Callable[[Memory], Any]
    words: tuple[str, ...] | None
    http: tuple[str, str, Any] | None
    tool: tuple[str, dict[str, Any]] | None


def told(memory: Memory, query: str, max_chars: int = 2000, ids: bool = False, **asked: Any) -> dict[str, Any]:
    answer = memory.recall(query, **asked)
    return context_json(answer, memory.render(answer, max_chars=max_chars, ids=ids))


def asking(query: str, **asked: Any) -> Request:
    """A question with what narrows it, at every door."""
    options = {"kinds": "kind", "roles": "role", "sessions": "session", "projects": "project"}
    words = ["recall", query]
    for name, value in asked.items():
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{options.get(name, name).replace('_', '-')}", str(one)]
    body = {"query": query, **asked}
    return Request(
        lambda memory: recall_json(memory.recall(query, **asked)), tuple(words), ("POST", "/v1/recall", body), ("recall", body)
    )


READS = {
    "recall": asking("Where do Priya's parents live?", as_of=NOW),
    "recall by a recipe": asking("vacation", recipe="annie@2", as_of=NOW),
    "recall, narrowed": asking("vacation", kinds=["episodic", "fact"], sessions=["s1"], exclude=["m3"], limit=3, as_of=NOW),
    "recall, in another language": asking("去年夏天 vacances д\u0438 \U0001f3d6", as_of=NOW, since="2020-01-01"),
    "recall, nothing": asking("zebra", recipe="memsense(weights={vector: 0})", as_of=NOW),
    "explain": Request(
        lambda memory: memory.explain("vacation", as_of=NOW).to_dict(), ("explain", "vacation", "--as-of", NOW),
        ("POST", "/v1/explain", {"query": "vacation", "as_of": NOW}), ("explain", {"query": "vacation", "as_of": NOW}),
    ),
    "why not": Request(
        lambda memory: memory.explain("vacation", expect="old", as_of=NOW).to_dict(),
        ("explain", "vacation", "--expect", "old", "--as-of", NOW),
        ("POST", "/v1/explain", {"query": "vacation", "expect": "old", "as_of": NOW}),
        ("explain", {"query": "vacation", "expect": "old", "as_of": NOW}),
    ),
    "context": Request(
        lambda memory: told(memory, "Priya", max_chars=300, ids=True, as_of=NOW),
        ("context", "Priya", "--max-chars", "300", "--ids", "--as-of", NOW),
        ("GET", f"/v1/context?query=Priya&max_chars=300&ids=true&as_of={NOW}", None),
        ("context", {"query": "Priya", "max_chars": 300, "ids": True, "as_of": NOW}),
    ),
    "context, narrowed": Request(
        lambda memory: told(memory, "vacation", sessions=["s1", "s2"], kinds=["episodic"], exclude=["m2"], as_of=NOW),
        ("context", "vacation", "--session", "s1", "--session", "s2", "--kind", "episodic", "--exclude", "m2", "--as-of", NOW),
        ("GET", f"/v1/context?query=vacation&sessions=s1&sessions=s2&kinds=episodic&exclude=m2&as_of={NOW}", None),
        ("context", {"query": "vacation", "sessions": ["s1", "s2"], "kinds": ["episodic"], "exclude": ["m2"], "as_of": NOW}),
    ),
    "history": Request(
        lambda memory: history_json("new", memory.history("new")), ("history", "new"), ("GET", "/v1/memories/new/history", None),
        ("history", {"id": "new"}),
    ),
    "list": Request(
        lambda memory: page_json(memory.list(limit=3, order="oldest", timeless=True), 3, "oldest"),
        ("list", "--limit", "3", "--order", "oldest", "--all"), ("GET", "/v1/memories?limit=3&order=oldest&all=true", None), None,
    ),
    "settings": Request(lambda memory: memory.settings(), ("settings",), ("GET", "/v1/settings", None), None),
    "status": Request(lambda memory: memory.status(), ("status",), ("GET", "/v1/status", None), ("memory_status", {})),
    "recipes": Request(lambda memory: recipes_json(), ("recipes",), ("GET", "/v1/recipes", None), None),
}  # fmt: skip

ABOUT = {"kind": "preference", "speaker": "Priya", "session": "s9", "tags": ["drinks"], "quality": 0.7, "at": "2026-03-01T09:00Z"}
WRITES = {
    "remember": Request(
        lambda memory: record_json(memory.remember("Priya prefers tea.", id="tea", **ABOUT)),
        ("remember", "Priya prefers tea.", "--id", "tea", "--kind", "preference", "--speaker", "Priya", "--session", "s9",
         "--tag", "drinks", "--quality", "0.7", "--at", "2026-03-01T09:00Z"),
        ("POST", "/v1/memories", {"text": "Priya prefers tea.", "id": "tea", **ABOUT}),
        ("remember", {"text": "Priya prefers tea.", "id": "tea", **ABOUT}),
    ),
    "forget": Request(
        lambda memory: memory.forget("m2"), ("forget", "m2"), ("DELETE", "/v1/memories/m2", None), ("forget", {"id": "m2"}),
    ),
    "settings": Request(
        lambda memory: memory.update_settings(rrf_k=20, weights={"lexical": 0.5}),
        ("settings", "rrf_k=20", "weights.lexical=0.5"),
        ("PATCH", "/v1/settings", {"rrf_k": 20, "weights": {"lexical": 0.5}}), None,
    ),
}  # fmt: skip
REFUSED = {
    "unknown": Request(
        lambda memory: memory.forget("no-such"), ("forget", "no-such"), ("DELETE", "/v1/memories/no-such", None),
        ("forget", {"id": "no-such"}),
    ),
    "a recipe nobody knows": Request(
        lambda memory: memory.recall("Goa", recipe="balancd"), ("recall", "Goa", "--recipe", "balancd"),
        ("POST", "/v1/recall", {"query": "Goa", "recipe": "balancd"}), ("recall", {"query": "Goa", "recipe": "balancd"}),
    ),
    "a time that is none": Request(
        lambda memory: memory.recall("Goa", as_of="soon"), ("recall", "Goa", "--as-of", "soon"),
        ("POST", "/v1/recall", {"query": "Goa", "as_of": "soon"}), ("recall", {"query": "Goa", "as_of": "soon"}),
    ),
    "nothing to remember": Request(
        lambda memory: memory.remember(" "), ("remember", " "), ("POST", "/v1/memories", {"text": " "}),
        ("remember", {"text": " "}),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("doors") / "memory.db"
    with opened(file) as memory:
        memory.remember("Priya's parents live in Goa.", id="old", tags=["family"], at="2026-01-01")
        memory.remember("Priya's parents live in Panaji.", id="new", supersedes="old", links=LINKS, at="2026-02-01")
        memory.remember("We planned our vacation in Goa.", id="m2", kind="episodic", session="s1", speaker="Rajesh")
        memory.remember("No vacation before Friday.", id="m3", kind="episodic", session="s2", metadata={"why": ["work", 1.5]})
        memory.remember("vacances à la plage \U0001f3d6 去年夏天", id="m4", at="ageless", confidence=0.5)
        memory.remember_messages([{"role": "user", "content": "Where to on vacation?"}, {"role": "assistant", "content": "Goa."}],
                                 session="s1")  # fmt: skip
        memory.flush()
    return file


@contextmanager
def opened(file: Path, owner: str = "alice") -> Iterator[Memory]:
    scope = Scope(owner=owner)
    with Memory.open(str(file), scope=scope, embedder="hashing", settings=Settings(), clock=FixedClock("2026-04-01")) as memory:
        yield memory


def python(file: Path, request: Request) -> Any:
    with opened(file) as memory:
        return json.loads(json.dumps(request.python(memory)))


def command(file: Path, request: Request, capsys) -> Any:
    status = main(["--db", str(file), "--owner", "alice", "--json", *request.words])
    said = capsys.readouterr()
    return json.loads(said.out) if status == 0 else said.err


def over_the_web(file: Path, request: Request) -> Any:
    with opened(file, "server") as memory, TestClient(create(memory, owner="alice"), base_url="http://localhost:80") as client:
        method, path, body = request.http
        return client.request(method, path, **({} if body is None else {"json": body})).json()


def tools(file: Path, requests: list[Request]) -> list[Any]:
    async def asked(port: int) -> list[Any]:
        async with over_http(port) as client:
            answers = [await client.call_tool(*request.tool) for request in requests]
            return [json.loads(one.content[0].text) if one.is_error else one.structured_content for one in answers]

    with opened(file, "server") as memory, running(remote.create(memory, ("memory", "sci"), owner="alice")) as port:
        return asyncio.run(asyncio.wait_for(asked(port), GUARD))


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "hashing")


def steady(found: Any) -> Any:
    """Without what differs from call to call: how long it took, and when a new record was made."""
    if isinstance(found, dict):
        return {name: steady(value) for name, value in found.items() if name not in ("ms", "recorded_at")}
    return [steady(one) for one in found] if isinstance(found, list) else found


@pytest.fixture(scope="module")
def by_tools(world) -> dict[str, Any]:
    with_tools = {name: request for name, request in READS.items() if request.tool}
    return dict(zip(with_tools, tools(world, list(with_tools.values())), strict=True))


@pytest.mark.parametrize("name", READS)
def test_what_is_asked(world, by_tools, capsys, name):
    request = READS[name]
    wanted = steady(python(world, request))
    assert wanted and steady(command(world, request, capsys)) == wanted
    assert steady(over_the_web(world, request)) == wanted
    if request.tool:
        assert steady(by_tools[name]) == wanted
    if name.startswith("recall") and name != "recall, nothing":
        assert wanted["hits"], "a comparison of nothing says nothing"


@pytest.mark.parametrize("name", WRITES)
def test_what_is_changed(world, tmp_path, capsys, name):
    request, files = WRITES[name], [tmp_path / f"{n}.db" for n in range(4)]
    for file in files:
        shutil.copy(world, file)
    wanted = steady(python(files[0], request))
    assert steady(command(files[1], request, capsys)) == wanted
    assert steady(over_the_web(files[2], request)) == wanted
    if request.tool:
        assert steady(tools(files[3], [request])[0]) == wanted
    left = [python(file, READS["list"]) for file in (files if request.tool else files[:3])]
    assert all(steady(one) == steady(left[0]) for one in left)


def test_what_is_told_again_says_so(world, tmp_path, capsys):
    said = "Priya prefers tea to coffee."
    request = Request(
        lambda memory: record_json(memory.remember(said)), ("remember", said), ("POST", "/v1/memories", {"text": said}),
        ("remember", {"text": said}),
    )  # fmt: skip
    shutil.copy(world, file := tmp_path / "memory.db")
    first = command(file, request, capsys)  # by the clock on the wall, which the others' comes before
    told = [command(file, request, capsys), over_the_web(file, request), *tools(file, [request])]
    assert "repeated" not in first and [(one["id"], one["repeated"]) for one in told] == [(first["id"], True)] * 3
    assert [one["reinforced"] for one in told] == [1, 2, 3]


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(world, tmp_path, capsys, name):
    request, file = REFUSED[name], tmp_path / "memory.db"
    shutil.copy(world, file)
    with pytest.raises(Exception) as raised:
        python(file, request)
    wanted = error_json(raised.value)
    assert over_the_web(file, request) == wanted and tools(file, [request]) == [wanted]
    assert command(file, request, capsys) == f"recollect: {raised.value}\n"
