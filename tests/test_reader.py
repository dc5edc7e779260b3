"""What is read behind the write: large batches by rules, and everything by an extractor that takes its time."""

from __future__ import annotations

import threading
import time

import pytest

from recollect import Memory, reader
from recollect.extract import Rules
from recollect.learning import AT_ONCE
from recollect.ports import Extraction
from recollect.records import Link
from recollect.settings import Settings
from recollect.testing import FixedClock

MANY = AT_ONCE + 1


def facts(memory, **asked):
    return sorted(fact.text for fact in memory.list(kinds=["relationship"], roles=["derived"], limit=10_000, **asked))


def opened(path, **given):
    given = {"embedder": "none", **given}
    return Memory.open(str(path / "memory.db"), owner="alice", settings=Settings(), clock=FixedClock(), **given)


def kept(memory):
    """Everything but the ids."""
    every = [*memory.list(limit=10_000, timeless=True), *memory.list(roles=["derived"], limit=10_000, timeless=True)]
    number = {record.id: str(n) for n, record in enumerate(sorted(every, key=lambda one: (one.role, one.text, one.at)))}
    return sorted(
        (r.text, r.role, r.kind, r.at, r.valid_to, r.reinforced, number.get(r.superseded_by), r.entities, r.dates, dict(r.views))
        for r in every
    )


STORY = [
    {"text": f"{said} {n % 7}.", "speaker": "Nora", "at": f"2026-01-{1 + n // 10:02d}T{n % 10:02d}:00Z"}
    for n, said in enumerate(
        ["I live in Goa. Note", "I've moved to Lisbon! Note", "I love tea. Note", "Bob Miller came last Friday. Note", "Nothing"]
        * 30
    )
]


class Slow(Rules):
    """Reads as the rules do, but behind the write, and as badly as it is told to."""

    fingerprint, inline = "extract:slow-1", False

    def __init__(self, *troubles):
        self.troubles, self.read = list(troubles), []

    def extract(self, records):
        self.read += [record.id for record in records]
        if self.troubles:
            raise self.troubles.pop(0)
        return super().extract(records)


def test_few_are_read_in_the_write_and_many_behind_it(open_memory):
    memory = open_memory(embedder="none")
    memory.remember_many([f"I own a boat{n}." for n in range(AT_ONCE)])
    assert len(facts(memory)) == AT_ONCE and not memory.status()["to_read"]
    memory.remember_many([f"I own a bike{n}." for n in range(MANY)])
    assert memory.flush() == 0 and len(facts(memory)) == AT_ONCE + MANY
    assert memory.status()["extractor_error"] == "" and memory.status()["extractor"] == "extract:rules-1"


@pytest.mark.parametrize("embedder", ["none", "hashing:16"])
def test_what_is_read_behind_the_write_comes_to_the_same(open_memory, embedder, monkeypatch):
    memory = open_memory(embedder=embedder, clock=FixedClock())
    memory.remember_many(STORY)
    assert memory.flush() == 0
    monkeypatch.setattr("recollect.pen.AT_ONCE", 10_000)
    with Memory.open("memory:", owner="alice", settings=Settings(), clock=FixedClock(), embedder=embedder) as other:
        other.remember_many(STORY)
        assert other.flush() == 0 and len(facts(other)) > 1
        assert kept(memory) == kept(other)
    assert embedder == "none" or {"view": "preferences", "count": 30}.items() <= max(
        memory.status()["vectors"], key=lambda lane: lane["view"] == "preferences"
    ).items()


def test_what_was_not_read_is_read_by_whoever_opens_it_next(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "QUIET", 3600.0)
    with opened(tmp_path) as memory:
        memory.remember_many([f"I own a boat{n}." for n in range(MANY)])
        assert memory.status()["to_read"] == MANY and not facts(memory)
    monkeypatch.setattr(reader, "QUIET", 0.0)
    with opened(tmp_path) as memory:
        until = time.monotonic() + 20
        while memory.status()["to_read"] and time.monotonic() < until:
            time.sleep(0.02)
        assert len(facts(memory)) == MANY
    assert not [thread for thread in threading.enumerate() if thread.name == "recollect-reader"]


def test_upkeep_reads_what_waits(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "QUIET", 3600.0)
    with opened(tmp_path) as memory:
        memory.remember_many([f"I own a boat{n}." for n in range(MANY)])
        looked = {step.name: step for step in memory.upkeep(dry_run=True)}["read"]
        assert looked.found == f"{MANY} texts wait to be read" and not looked.did
        step = {step.name: step for step in memory.upkeep()}["read"]
        assert step.ok and step.did == f"{MANY} read" and len(facts(memory)) == MANY


def test_reading_waits_while_somebody_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "QUIET", 0.4)
    with opened(tmp_path) as memory:
        for part in range(3):
            memory.remember_many([f"I own a boat{part}{n}." for n in range(MANY)])
            for number in range(3):
                time.sleep(0.1)
                memory.remember(f"I own a car{part}{number}.")
            assert memory.status()["to_read"] == MANY * (part + 1)


def test_a_crash_costs_nothing_but_time(tmp_path, monkeypatch):
    """The process dies between the answer and the write: the job is there, and due again when its lease ends."""
    now, extractor = [1e9], Slow()
    monkeypatch.setattr("recollect.crew.seconds", lambda: now[0])
    memory = opened(tmp_path, extractor=extractor)
    note = memory.remember("I live in Goa.")
    memory.flush()
    assert facts(memory) == ["User lives in Goa"]
    with monkeypatch.context() as broken:
        broken.setattr(memory._crew.reader, "_keep", lambda *_: (_ for _ in ()).throw(OSError("the power went")))
        other = memory.remember("I own a boat.")
        memory.flush(5)
        assert facts(memory) == ["User lives in Goa"] and memory.get(other).text == "I own a boat."
    memory.flush(5)
    assert memory.status()["to_read"] == 1, "somebody seems to be at it"
    now[0] += reader.SLOW_LEASE + 1
    assert memory.flush(5) == 0 and facts(memory) == ["User lives in Goa", "User owns boat"]
    assert extractor.read == [note.id, other.id, other.id]
    memory.close()


def test_an_answer_that_comes_twice_is_learned_from_once(tmp_path, monkeypatch):
    """Two were at one job, because the first took longer than its lease."""
    now = [1e9]
    monkeypatch.setattr("recollect.crew.seconds", lambda: now[0])
    inside, go_on = threading.Event(), threading.Event()

    class Stuck(Slow):
        def extract(self, records):
            inside.set()
            assert go_on.wait(10)
            return super().extract(records)

    with opened(tmp_path, extractor=Stuck()) as slow, opened(tmp_path, extractor=Slow()) as quick:
        slow.remember("I live in Goa.")
        assert inside.wait(10)
        now[0] += reader.SLOW_LEASE + 1
        assert quick.flush(5) == 0 and facts(quick) == ["User lives in Goa"]
        go_on.set()
        assert slow._crew.reader.wait(10)
        assert facts(slow) == ["User lives in Goa"]
        assert [fact.reinforced for fact in slow.list(roles=["derived"], timeless=True)] == [0]


def test_what_changes_while_it_is_read_is_read_again(open_memory):
    inside, go_on = threading.Event(), threading.Event()

    class Stuck(Slow):
        def extract(self, records):
            inside.set()
            assert go_on.wait(10)
            return super().extract(records)

    memory = open_memory(extractor=Stuck(), embedder="none")
    note = memory.remember("I live in Goa.")
    gone = memory.remember("I own a boat.")
    assert inside.wait(10)
    memory.amend(note, text="I live in Rome.")
    memory.forget(gone)
    go_on.set()
    assert memory.flush() == 0
    assert facts(memory) == ["User lives in Rome"] and [one.name for one in memory.get(note).entities] == ["user", "Rome"]
    memory.amend(note, text="I never sleep.")
    assert facts(memory) == []
    assert memory.flush() == 0 and not memory.get(note).entities


def test_what_was_replaced_before_it_was_read_holds_no_longer(open_memory):
    go_on = threading.Event()

    class Stuck(Slow):
        def extract(self, records):
            assert go_on.wait(10)
            return super().extract(records)

    memory = open_memory(extractor=Stuck(), embedder="none")
    old = memory.remember("I own a boat. I live in Goa.", at="2026-03-01T00:00Z")
    memory.remember("I live in Rome.", at="2026-02-01T00:00Z", supersedes=old.id)
    go_on.set()
    assert memory.flush() == 0 and facts(memory) == ["User lives in Rome"]


def test_what_cannot_be_read_is_tried_again_then_given_up(open_memory, monkeypatch):
    now = [1e9]
    monkeypatch.setattr("recollect.crew.seconds", lambda: now[0])
    extractor = Slow(*[RuntimeError(f"stumbled {n}") for n in range(reader.ATTEMPTS)])
    memory = open_memory(extractor=extractor, embedder="none")
    note = memory.remember("I live in Goa.")
    memory.flush(5)
    for tries, pause in enumerate((10, 40, 160, 640, 2560), 1):
        for seconds, read in ((pause - 1, tries), (1, tries + 1)):
            now[0] += seconds
            memory.flush(5)
            assert len(extractor.read) == read
    (letter,) = memory.dead_letters.list()
    assert (letter.id, letter.attempts, letter.error, letter.extractor) == (note.id, 6, "stumbled 5", "extract:slow-1")
    assert memory.flush() == 0 and memory.get(note).text == "I live in Goa." and not facts(memory)
    assert memory.status()["dead_letters"] == 1
    assert memory.dead_letters.retry() == 1 and not memory.dead_letters.list()
    assert memory.flush() == 0 and facts(memory) == ["User lives in Goa"]


def test_dead_letters_are_dropped_and_go_with_their_record(open_memory, monkeypatch):
    monkeypatch.setattr(reader, "ATTEMPTS", 1)
    memory = open_memory(extractor=Slow(*[RuntimeError("stumbled")] * 3), embedder="none")
    one, two, three = (memory.remember(f"I live in Goa {n}.") for n in range(3))
    memory.flush()
    assert {letter.id for letter in memory.dead_letters.list()} == {one.id, two.id, three.id}
    assert not memory.for_owner("bob").dead_letters.list()
    memory.forget(one)
    assert {letter.id for letter in memory.dead_letters.list()} == {two.id, three.id}
    assert memory.dead_letters.drop(two.id) == 1 and [letter.id for letter in memory.dead_letters.list()] == [three.id]
    from recollect.errors import UnknownRecord

    with pytest.raises(UnknownRecord, match="no dead letter"):
        memory.dead_letters.retry("nobody")


def test_owners_are_read_apart(open_memory):
    """A speaker of one owner is nobody in the texts of another."""
    memory = open_memory(embedder="none")
    bob = memory.for_owner("bob")
    memory.remember_many([{"text": f"hello {n}", "speaker": "小明"} for n in range(MANY)])
    bob.remember_many([f"小明 came {n}" for n in range(MANY)])
    assert memory.flush() == 0 and bob.flush() == 0
    assert not any(record.entities for record in bob.list(limit=1000))


def test_an_extractor_of_ones_own_may_take_its_time(open_memory):
    class Owners:
        fingerprint, inline = "owners-1", False

        def extract(self, records):
            return [Extraction(links=[Link(subject="Nora", predicate="owns", object="a boat")]) for _ in records]

    memory = open_memory(extractor=Owners(), embedder="none")
    long = memory.remember("A boat. " * 2_000)
    assert memory.flush() == 0 and facts(memory) == ["Nora owns a boat"]
    assert memory.list(roles=["derived"])[0].source == f"record:{long.id}"
