"""One file or server, many processes and threads: nothing lost, doubled or torn, also when processes are killed while they write.

About a minute on two idle cores, most of it eight processes that write a thousand records each, to a file and to a server.
Children are real processes with real files and a real server. They wait for a line on their input, so that they start together.
"""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing, contextmanager, suppress
from itertools import count

import postgres_server
import pytest
from doubles import Toy, names

from recollect import Memory
from recollect.stores import open_store

WRITERS, EACH, KILLS = 8, 1000, 10
PLACES = ("sqlite", "postgres")

WRITE = """
import sys
from recollect import Memory
path, name, each = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.stdin.readline()
with Memory.open(path, owner="alice", embedder="none") as memory:
    for number in range(each):
        memory.remember(f"{name} says item {number} of many", id=f"{name}-{number}", metadata={"name": name, "number": number})
print("done", flush=True)
"""

READ = """
import sys, time
from recollect import Memory
sys.stdin.readline()
seen = asked = 0
with Memory.open(sys.argv[1], owner="alice", embedder="none") as memory:
    while seen < int(sys.argv[2]):
        found = memory.list(limit=100_000)
        assert len(found) >= seen, "what was there has gone"
        assert len({record.id for record in found}) == len(found), "a record twice"
        for record in found:
            name, number = record.id.rsplit("-", 1)
            assert record.text == f"{name} says item {number} of many", record
            assert record.metadata == {"name": name, "number": int(number)}, record
        answer = memory.recall("item many", limit=50)
        assert len(answer) == min(50, len(answer.hits)) and all(hit.text.endswith("of many") for hit in answer)
        seen, asked = len(found), asked + 1
        time.sleep(0.2)
print("done", asked, flush=True)
"""

OPEN = """
import sys
from recollect import Memory
sys.stdin.readline()
with Memory.open(sys.argv[1], owner=sys.argv[2], embedder="none") as memory:
    memory.remember(f"{sys.argv[2]} was here", id="m1")
    assert [record.id for record in memory.list()] == ["m1"]
print("done", flush=True)
"""

ACKNOWLEDGE = """
import sys
from itertools import count
from recollect import Memory
memory = Memory.open(sys.argv[1], owner="alice", embedder="none")
for number in count(int(sys.argv[2])):
    many = [{"text": f"item {number} part {part}", "id": f"m{number}-{part}"} for part in range(1 + number % 3)]
    for record in memory.remember_many(many):
        print(record.id, flush=True)
"""


@contextmanager
def children(*programs: tuple):
    """Each program with its arguments as a process of its own. Whoever still runs at the end is killed."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    started = [subprocess.Popen([sys.executable, "-c", *map(str, program)], **pipes) for program in programs]
    try:
        yield started
    finally:
        for child in started:
            child.kill()
            child.communicate()


def finish(started, seconds: float = 300) -> None:
    """Let them go, all at once, and wait for all."""
    for child in started:
        child.stdin.write(b"go\n")
        child.stdin.flush()
    for child in started:
        said, complaint = child.communicate(timeout=seconds)
        assert child.returncode == 0 and said.startswith(b"done"), complaint.decode()


@pytest.fixture(params=PLACES)
def place(request, tmp_path) -> str:
    """The URL of an empty memory that several processes may open."""
    return str(tmp_path / "memory.db") if request.param == "sqlite" else postgres_server.server().empty()


def sound(place: str) -> bool:
    with closing(open_store(place)) as store:
        return not store.check()


def test_processes_write_and_read_one_memory(place):
    with Memory.open(place, owner="alice", embedder="none") as memory:
        writers = [(WRITE, place, f"w{number}", EACH) for number in range(WRITERS)]
        with children(*writers, *[(READ, place, WRITERS * EACH)] * 2) as started:
            finish(started)
        found = memory.list(limit=100_000)
        assert Counter(names(found)) == {f"w{name}-{number}": 1 for name in range(WRITERS) for number in range(EACH)}
        assert all(record.text == "{name} says item {number} of many".format(**record.metadata) for record in found)
        assert names(memory.recall("w2 117", limit=1)) == ["w2-117"], "a handle that was open all along searches it too"
    assert sound(place)


def test_a_reader_sees_at_once_what_another_handle_committed(place):
    with Memory.open(place, owner="alice", embedder="none") as one, Memory.open(place, owner="alice", embedder="none") as two:
        for number in range(20):
            writer, reader = (one, two) if number % 2 else (two, one)
            record = writer.remember(f"zebra{number} crossing")
            assert names(reader.recall(f"zebra{number}")) == [record.id]
            writer.amend(record, text=f"lion{number} crossing")
            assert names(reader.recall(f"zebra{number}")) == [] and names(reader.recall(f"lion{number}")) == [record.id]
            if number % 3 == 0:
                writer.forget(record)
                assert names(reader.recall(f"lion{number}")) == [] and record.id not in names(reader.list())
        assert names(one.list()) == names(two.list()) and len(one.list()) == 13


@pytest.mark.parametrize("kind", PLACES)
def test_eight_processes_make_the_same_new_memory(kind, tmp_path):
    place = str(tmp_path / "new.db") if kind == "sqlite" else postgres_server.server().new("together")
    with children(*[(OPEN, place, f"owner{number}") for number in range(8)]) as started:
        finish(started)
    assert sound(place)
    for number in range(8):
        with Memory.open(place, owner=f"owner{number}", embedder="none") as memory:
            assert [record.text for record in memory.list()] == [f"owner{number} was here"]


def test_the_same_id_from_two_handles_is_one_record_or_an_error(place):
    with Memory.open(place, owner="alice", embedder="none") as one, Memory.open(place, owner="alice", embedder="none") as two:
        one.remember("Goa", id="m1", at="2026-03-10")
        two.remember("Goa", id="m1", at="2026-03-10")
        with pytest.raises(ValueError, match="m1"):
            two.remember("Pune", id="m1", at="2026-03-10")
        assert [record.text for record in one.list()] == ["Goa"] == [record.text for record in two.list()]


def test_threads_share_one_memory(open_memory):
    memory = open_memory(embedder=Toy(), recipe="memsense")
    failed: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for number in range(20):
                record = memory.remember(f"thread{name} item{number}", session=f"s{name}", role="turn", turn=number)
                assert record.id in names(memory.recall(f"thread{name} item{number}", limit=50))
                if number % 10 == 3:
                    memory.amend(record, text=f"thread{name} changed{number}")
                if number % 10 == 7:
                    memory.forget(record)
                memory.update_settings(rrf_k=number + 1)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == [] and len(memory.list(limit=1000)) == 6 * 18
    assert memory.flush(30) == 0 and memory.status()["records"] == 6 * 18
    assert {entry["count"] for entry in memory.status()["vectors"]} == {6 * 18}


def test_two_owners_in_two_threads_never_meet(open_memory):
    memory = open_memory(owner="acme/alice")
    met: list[object] = []

    def work(owner: str) -> None:
        mine = memory.for_owner(owner)
        for number in range(60):
            mine.remember(f"secret of {owner} number {number}")
            met.extend(hit.text for hit in mine.recall("secret number", limit=100) if owner not in hit.text)

    threads = [threading.Thread(target=work, args=(owner,)) for owner in ("acme/alice", "acme/bob", "globex/carol")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert met == []
    assert [len(memory.for_owner(owner).list()) for owner in ("acme/alice", "acme/bob", "globex/carol")] == [60] * 3


def test_killed_while_writing_nothing_acknowledged_is_lost(place):
    acknowledged, start = [], 0
    moments = random.Random(7)
    for _ in range(KILLS):
        with subprocess.Popen([sys.executable, "-c", ACKNOWLEDGE, place, str(start)], stdout=subprocess.PIPE) as child:
            lines: list[bytes] = [child.stdout.readline()]  # it has started
            reader = threading.Thread(target=lambda child=child, lines=lines: lines.extend(child.stdout))
            reader.start()
            time.sleep(moments.uniform(0.0, 0.15))
            child.send_signal(signal.SIGKILL)
            reader.join(30)
            assert child.wait(30) == -signal.SIGKILL
        acknowledged += [line.decode().strip() for line in lines if line.endswith(b"\n")]
        start = 1 + max(int(name[1:].split("-")[0]) for name in acknowledged) + 1  # one may be there that was not acknowledged
        assert sound(place)
        with Memory.open(place, owner="alice", embedder="none") as memory:
            there = {record.id: record for record in memory.list(limit=100_000)}
            assert set(acknowledged) <= set(there) and len(set(acknowledged)) == len(acknowledged)
            parts = Counter(name.split("-")[0] for name in there)
            assert all(many == 1 + int(name[1:]) % 3 for name, many in parts.items()), "a batch is there whole or not at all"
            for name in moments.sample(acknowledged, min(5, len(acknowledged))):
                number, part = name[1:].split("-")
                assert there[name].text == f"item {number} part {part}"
                assert name in names(memory.recall(f"item {number} part {part}", limit=20))
    assert len(acknowledged) > KILLS


def test_a_writer_waits_for_another_and_then_gives_up_with_a_reason(tmp_path):
    from recollect.errors import StoreBusy
    from recollect.settings import Settings

    path = str(tmp_path / "memory.db")
    with Memory.open(path, owner="alice", embedder="none", settings=Settings(busy=0.2)) as memory:
        memory.remember("before")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            with pytest.raises(StoreBusy, match="another process"):
                memory.remember("during")
            assert [hit.text for hit in memory.recall("before")] == ["before"], "reading goes on"
        finally:
            other.execute("ROLLBACK")
            other.close()
        memory.remember("after")
        assert sorted(record.text for record in memory.list()) == ["after", "before"]


def test_reading_goes_on_while_somebody_writes_and_rolls_back(place):
    stop = threading.Event()
    with Memory.open(place, owner="alice", embedder="none") as one, Memory.open(place, owner="alice", embedder="none") as two:
        one.remember("zebra", id="m1", at="2026-03-10")

        def disturb() -> None:
            for number in count():
                if stop.is_set():
                    return
                with suppress(ValueError):  # the second of the batch is refused, and the first with it
                    one.remember_many([{"text": f"zebra {number}"}, {"text": "lion", "id": "m1"}])

        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            for _ in range(50):
                assert names(two.recall("zebra")) == ["m1"] == names(two.list())
        finally:
            stop.set()
            thread.join(30)
        assert names(one.list()) == ["m1"]


def test_an_answer_asks_once_whether_anybody_has_written(tmp_path):
    """And sees what this process writes in between, and what any other wrote before."""
    with Memory.open(tmp_path / "m.db", owner="alice", embedder="hashing") as memory:
        memory.remember("Priya's parents live in Goa.")
        memory.flush()
        memory.recall("Where do Priya's parents live?")
        asked: list[str] = []
        memory.store.file._reader.set_trace_callback(asked.append)
        assert memory.recall("Who lives in Goa?")
        memory.store.file._reader.set_trace_callback(None)
        assert sum("data_version" in one for one in asked) == 1
        with memory.store.steady("alice"):
            assert len(memory.recall("Goa")) == 1
            memory.remember("Rajesh moved to Goa, too.")
            assert len(memory.recall("Goa", recipe="sci")) == 2
        with Memory.open(tmp_path / "m.db", owner="alice", embedder="hashing") as other:
            other.remember("Goa is hot in May.")
        assert len(memory.recall("Goa", recipe="sci")) == 3
