"""`recollect serve` as processes: what holds in all of its workers, over a restart, and when it is told to stop."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect import Memory
from recollect.access import Access
from recollect.settings import Settings

GUARD = 30
CONNECTIONS = 24  # new ones, until each of two workers has very likely answered some
BODY = {"Content-Type": "application/json"}


class Server:
    """A running `recollect serve`, and what it said."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.log = folder / f"log-{time.monotonic_ns()}"
        self.rest = folder / "tmp"
        self.rest.mkdir(exist_ok=True)
        env = {**os.environ, "RECOLLECT_EMBEDDER": "none", "HOME": str(folder), "TMPDIR": str(self.rest)}
        command = [sys.executable, "-m", "recollect", "--db", str(folder / "memory.db"), "--owner", "alice", "serve", *words]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log, env=env, cwd=folder)
        self.port = 0

    def started(self) -> Server:
        while not self.port:
            assert self.process.poll() is None, self.said()
            self.port = int((re.findall(r"http://\S+:(\d+)", self.said()) or ["0"])[0])
            time.sleep(0.02)
        return self

    def said(self) -> str:
        return self.log.read_text()

    def ask(self, method: str, path: str, body: object = None, token: str = "") -> tuple[int, dict]:
        """An answer, on a connection of its own."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=GUARD)
        headers = BODY | ({"Authorization": f"Bearer {token}"} if token else {})
        try:
            line.request(method, path, None if body is None else json.dumps(body), headers)
            answer = line.getresponse()
            data = answer.read()
            return answer.status, json.loads(data) if answer.getheader("Content-Type") == "application/json" else data.decode()
        finally:
            line.close()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(GUARD)


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[Server]:
    server = Server(folder, "--port", "0", *words)
    try:
        yield server.started()
    finally:
        if server.process.poll() is None:
            server.stop()


def settled(server: Server, path: str, name: str) -> set:
    """What all workers say of one thing."""
    return {server.ask("GET", path)[1][name] for _ in range(CONNECTIONS)}


def test_settings_hold_at_once_in_every_worker_and_after_a_restart(tmp_path):
    with serving(tmp_path, "--workers", "2") as server:
        server.ask("POST", "/v1/memories", [{"text": "vacation in Goa", "id": "m1"}, {"text": "vacation plans", "id": "m2"}])
        assert settled(server, "/v1/settings", "recipe") == {"balanced"}
        for k in (20, 30):
            assert server.ask("PATCH", "/v1/settings", {"fuse": "ranks", "rrf_k": k})[0] == 200
            assert settled(server, "/v1/settings", "recipe") == {f"balanced(fuse=ranks, rrf_k={k})"}
        assert server.ask("PATCH", "/settings", {"keywordWeight": 2.5})[1]["keywordWeight"] == 2.5
        assert settled(server, "/settings", "keywordWeight") == {2.5}
        answers = [server.ask("POST", "/v1/recall", {"query": "vacation"})[1] for _ in range(CONNECTIONS)]
        assert {len(answer["hits"]) for answer in answers} == {2}
        assert {answer["hits"][0]["routes"]["lexical"]["contribution"] for answer in answers} == {2.5 / 31}
        counted = re.search(r'requests_total\{path="/v1/recall",status="200"\} (\d+)', server.ask("GET", "/metrics")[1])
        assert counted and int(counted[1]) == CONNECTIONS, "one scrape tells of all workers"
        assert server.stop() == 0
    with serving(tmp_path) as server:
        assert server.ask("GET", "/settings")[1]["keywordWeight"] == 2.5
        assert server.ask("GET", "/v1/settings")[1]["set"]["rrf_k"] == 30


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_was_begun_is_finished_when_it_is_told_to_stop(tmp_path, workers):
    with serving(tmp_path, "--workers", workers) as server:
        body = json.dumps({"text": "the last words", "id": "last"}).encode()
        with socket.create_connection(("127.0.0.1", server.port), GUARD) as wire:
            head = f"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
            wire.sendall(f"POST /v1/memories HTTP/1.1\r\n{head}\r\n\r\n".encode() + body[:5])
            assert server.ask("GET", "/health")[0] == 200  # by now the request has been taken in
            time.sleep(0.2)
            server.process.send_signal(signal.SIGTERM)
            _until_deaf(server.port)
            wire.sendall(body[5:])
            answer = wire.makefile("rb").readline()
        assert answer == b"HTTP/1.1 201 Created\r\n" and server.process.wait(GUARD) == 0
        assert list(server.rest.iterdir()) == [], "nothing is left behind"
    with Memory.open(str(tmp_path / "memory.db"), owner="alice", embedder="none", settings=Settings()) as memory:
        assert memory.get("last").text == "the last words"


def _until_deaf(port: int) -> None:
    """Wait until nobody takes a new connection."""
    deadline = time.monotonic() + GUARD
    while time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", port), 1) as wire:
                wire.settimeout(1)
                wire.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                if not wire.recv(1):
                    return
        except OSError:
            return
        time.sleep(0.02)
    raise AssertionError("it goes on taking connections")


def test_without_tokens_it_binds_to_this_machine_only(tmp_path):
    server = Server(tmp_path, "--port", "0", "--host", "0.0.0.0")
    assert server.process.wait(GUARD) == 1
    assert "Without access tokens the server binds to this machine only" in server.said() and "token create" in server.said()
    with serving(tmp_path) as server:
        assert server.ask("GET", "/v1/status")[0] == 200 and "There are no access tokens" in server.said()
    with Memory.open(str(tmp_path / "memory.db"), owner="alice", embedder="none", settings=Settings()) as memory:
        token, _ = Access(memory.store, memory.now).create("alice")
    with serving(tmp_path, "--host", "0.0.0.0") as server:
        assert server.ask("GET", "/v1/status")[0] == 401 and server.ask("GET", "/v1/status", token=token)[0] == 200


def test_tokens_hold_with_the_next_request_in_every_worker(tmp_path):
    def statuses(server: Server, token: str = "") -> set[int]:
        return {server.ask("GET", "/v1/status", token=token)[0] for _ in range(CONNECTIONS)}

    with serving(tmp_path, "--workers", "2") as server:
        assert statuses(server) == {200}
        with Memory.open(str(tmp_path / "memory.db"), owner="alice", embedder="none", settings=Settings()) as memory:
            access = Access(memory.store, memory.now)
            token, grant = access.create("alice")
            assert (statuses(server), statuses(server, token)) == ({401}, {200})
            assert server.ask("POST", "/v1/memories", {"text": "no"}, token)[0] == 403
            access.revoke(grant.id)
            assert (statuses(server), statuses(server, token)) == ({401}, {401})


def test_the_log_is_lines_of_json_without_memories(tmp_path):
    with serving(tmp_path) as server:
        server.ask("POST", "/v1/memories", {"text": "a secret of alice", "id": "secret-id"})
        server.ask("GET", "/v1/context?query=secret")
        server.ask("GET", "/v1/memories/secret-id")
        server.ask("POST", "/v1/memories", {"text": "secret", "kind": "secret"})
        server.stop()
        lines = [json.loads(line) for line in server.said().splitlines() if line.startswith("{")]
    told = [(line["method"], line["path"], line["status"]) for line in lines if line["message"] == "request"]
    assert told == [
        ("POST", "/v1/memories", 201), ("GET", "/v1/context", 200), ("GET", "/v1/memories/{id}", 200),
        ("POST", "/v1/memories", 422),
    ]  # fmt: skip
    assert "secret" not in json.dumps(lines) and all(line["request"] for line in lines if line["message"] == "request")


def test_a_worker_that_dies_is_replaced(tmp_path):
    with serving(tmp_path, "--workers", "2") as server:
        assert server.ask("GET", "/health")[0] == 200
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        if not children.exists():
            pytest.skip("needs Linux: /proc tells the worker processes")
        workers = [pid for pid in children.read_text().split() if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(int(workers[0]), signal.SIGKILL)
        deadline = time.monotonic() + GUARD
        while workers[0] in children.read_text().split() or len(children.read_text().split()) < 3:
            assert time.monotonic() < deadline, "nobody took its place"
            time.sleep(0.05)
        assert {server.ask("GET", "/health")[0] for _ in range(5)} == {200}
