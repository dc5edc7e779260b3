"""Consolidation: repetitions become one, what repeats is promoted, what is over ends, what lost its ground goes; no more."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Memory
from recollect.errors import InvalidQuery
from recollect.ports import Add
from recollect.records import Link, Record
from recollect.settings import Settings
from recollect.testing import FixedClock

CHAT = [{"role": "user", "content": "I moved to Goa."}, {"role": "assistant", "content": "How lovely!"}]


def steps(memory, **how):
    return {step.name: step for step in memory.upkeep(**how)}


def everything(memory):
    return {record.id: record for record in memory.each()}


def fact(memory, id, source, **fields):
    """A fact as extraction derives it from a record."""
    now = memory.now()
    record = Record(
        id=id, owner="alice", text=f"Fact {id}", kind="relationship", role="derived", source=f"record:{source}", at=now,
        recorded_at=now, links=(Link(subject="Nora", predicate="lives_in", object="Goa"),), **fields,
    )  # fmt: skip
    memory.store.write("alice", [Add(record=record)])
    return record


# --- what was told more than once


def test_the_newest_telling_stays_and_knows_how_often_it_was_told(open_memory):
    clock = FixedClock()
    memory = open_memory(clock=clock)
    tellings = ["Nora lives in Goa.", "nora lives  in Goa", "Nora lives in Goa!"]
    for number, text in enumerate(tellings):
        memory.remember(text, id=f"n{number}", tags=[f"t{number}"])
        clock.advance(days=10)
    found = steps(memory)["deduplicate"]
    assert found.tasks == ("n2: told 3 times, supersedes n0, n1",) and found.did == "1 are one now"
    [hit] = memory.recall("Where does Nora live?")
    assert (hit.id, hit.record.reinforced, hit.record.quality, hit.record.tags) == ("n2", 2, 0.65, ("t0", "t1", "t2"))
    assert [record.id for record in memory.history("n1")] == ["n0", "n1", "n2"], "nothing is lost"
    assert [hit.id for hit in memory.recall("Nora", as_of="2026-03-15")] == ["n0"], "as it stood then"


def test_what_differs_in_anything_a_question_may_ask_for_is_not_one(open_memory):
    memory = open_memory()
    for number, about in enumerate((
        {}, {"session": "s1"}, {"project": "p"}, {"agent": "a"}, {"kind": "fact"}, {"speaker": "Ann"},
        {"valid_to": "2027-01-01"}, {"role": "turn"},
    )):  # fmt: skip
        memory.remember("Nora lives in Goa.", id=f"n{number}", **about)
    memory.remember("Nora lives in goats.")
    for day in ("2026-01-01", "2026-01-02"):
        memory.remember("Had a headache.", kind="episodic", at=day)
        memory.remember("Rain again.", kind="event", at=day)
    assert not steps(memory)["deduplicate"].tasks


# --- what repeats


def test_each_confirmation_promotes_once(open_memory):
    memory = open_memory()
    memory.remember("Nora likes tea.", id="n1", reinforced=1)
    memory.remember("Nora likes rain.", id="n2", reinforced=7, quality=0.9, metadata={"mine": 1})
    memory.remember("Nora likes jazz.", id="n3")
    assert steps(memory)["promote"].tasks == (
        "n1: confirmed 1 times, quality 0.5 to 0.65", "n2: confirmed 7 times, quality 0.9 to 1",
    )  # fmt: skip
    assert [memory.get(f"n{n}").quality for n in (1, 2, 3)] == [0.65, 1.0, 0.5] and memory.get("n2").metadata["mine"] == 1
    assert not steps(memory)["promote"].tasks, "each is given once"
    memory.promote("n1", -0.15)
    memory.amend("n1", metadata={"other": 2})
    assert not steps(memory)["promote"].tasks, "what you lower stays so"
    memory.amend("n1", reinforced=3)
    assert steps(memory)["promote"].did == "1 promoted" and memory.get("n1").quality == 0.65


# --- what is over


def test_facts_end_with_what_they_came_from(open_memory):
    clock = FixedClock()
    memory = open_memory(clock=clock, extractor="none")
    memory.remember("Nora lives in Goa until March.", id="n1", valid_to="2026-03-20")
    memory.remember("Nora lives in Rome.", id="n2")
    memory.remember("Nora lives in Pune.", id="n3")
    for number in (1, 2, 3):
        fact(memory, f"f{number}", f"n{number}")
    memory.feedback("Where?", "n1")
    clock.advance(days=30)
    memory.remember("Nora lives in Bonn.", supersedes="n2")
    found = steps(memory, dry_run=True)["expire"]
    assert found.found == "2 records no longer hold; 2 facts outlive what they came from"
    assert found.tasks == ("f1: Fact f1 ends with n1", "f2: Fact f2 ends with n2")
    steps(memory)
    ends = {id: record.valid_to for id, record in everything(memory).items() if id.startswith("f") and len(id) == 2}
    assert {id: end and str(end)[:10] for id, end in ends.items()} == {"f1": "2026-03-20", "f2": "2026-04-09", "f3": None}
    assert {"n1", "n2"} <= everything(memory).keys(), "what expired is kept"
    assert not steps(memory)["expire"].tasks


def test_a_repetition_takes_the_facts_of_its_older_tellings_along(open_memory):
    clock = FixedClock()
    memory = open_memory(clock=clock, extractor="none")
    for number in (1, 2):
        memory.remember("Nora lives in Goa.", id=f"n{number}")
        fact(memory, f"f{number}", f"n{number}")
        clock.advance(days=1)
    planned = steps(memory, dry_run=True)
    assert planned["expire"].tasks == ("f1: Fact f1 ends with n1",)
    assert steps(memory)["expire"].tasks == planned["expire"].tasks and not steps(memory)["expire"].tasks


def test_what_expired_is_forgotten_only_when_that_is_asked(open_memory):
    clock = FixedClock()
    memory = open_memory(clock=clock)
    for day in (11, 20, 30):
        memory.remember(f"Holds until {day} March.", id=f"n{day}", valid_to=f"2026-03-{day}")
    long = memory.remember("A long story. " * 200, id="long", valid_to="2026-03-12")
    clock.advance(days=15)
    steps(memory)
    assert "forget" not in steps(memory) and len([id for id in everything(memory) if id.startswith("n")]) == 3
    assert steps(memory, forget_expired=10, dry_run=True)["forget"].tasks == (
        "long: expired 2026-03-12", "n11: expired 2026-03-11",
    )  # fmt: skip
    assert steps(memory, forget_expired=10)["forget"].did == "2 forgotten"
    assert {record.id for record in memory.each()} == {"n20", "n30"} and long.id not in everything(memory), "parts and all"
    for wrong in (-1, "a week", True, float("nan")):
        with pytest.raises(InvalidQuery, match="forget_expired"):
            memory.upkeep(forget_expired=wrong)


# --- what lost its ground


def test_what_is_derived_from_nothing_goes(open_memory):
    memory = open_memory(recipe="memsense")
    memory.remember("Nora lives in Goa.", id="n1")
    fact(memory, "f1", "n1")
    fact(memory, "f2", "gone")
    lost = Record(id="gone\x1f1", owner="alice", text="A part.", role="part", recorded_at=memory.now(), source="record:gone")
    chunk = Record(id="session-x-1", owner="alice", text="A chunk.", role="session", session="s9", recorded_at=memory.now())
    mine = Record(id="mine", owner="alice", text="My session.", role="session", session="s9", recorded_at=memory.now())
    memory.store.write("alice", [Add(record=record) for record in (lost, chunk, mine)])
    memory.remember_messages(CHAT, session="s1")
    before = everything(memory)
    found = steps(memory, dry_run=True)["prune"]
    assert found.tasks == (
        "f2: derived from gone, which has gone", "gone\x1f1: a part of what has gone",
        "session-x-1: of session s9, which has no turns",
    )  # fmt: skip
    assert everything(memory) == before, "a dry run only looks"
    assert steps(memory)["prune"].did == "3 removed"
    assert before.keys() - everything(memory).keys() == {"f2", lost.id, chunk.id} and not steps(memory)["prune"].tasks


def test_a_summary_goes_with_the_last_of_its_session(open_memory):
    memory = open_memory()
    memory.remember_many([{"text": text, "session": "s1"} for text in ("Nora likes tea.", "Nora likes the rain in Goa.")])
    steps(memory)
    assert memory.list(roles=["summary"])
    for note in memory.list(roles=["note"]):
        memory.forget(note)
    assert not list(memory.each()) and not steps(memory)["prune"].tasks


def test_facts_of_what_the_tenant_shares_have_a_source(open_memory):
    memory = open_memory(owner="acme/alice")
    shared = memory.remember("We are a bakery.", kind="identity")
    memory.feedback("Who are we?", shared)
    assert not steps(memory)["prune"].tasks


def test_rows_of_no_record_are_found_and_removed(tmp_path):
    path = tmp_path / "memory.db"
    with Memory.open(str(path), owner="alice", embedder="hashing", extractor="none", settings=Settings()) as memory:
        memory.remember("Nora lives in Goa.", entities=["Nora"])
        memory.remember("Nora lives in Rome.", entities=["Nora"])
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM records WHERE text LIKE '%Rome%'")
    connection.execute("INSERT INTO outbox (key, space, view) VALUES (7, 'x', 'full')")
    connection.commit()
    connection.close()
    with Memory.open(str(path), owner="alice", embedder="hashing", settings=Settings()) as memory:
        found = steps(memory, dry_run=True)["prune"]
        assert found.tasks == ("rows of no record: 1 jobs, 1 mentions, 1 vectors",)
        assert steps(memory)["prune"].did == "rows removed" and not steps(memory)["prune"].tasks
        assert [hit.text for hit in memory.recall("Nora lives")] == ["Nora lives in Goa."]


# --- sessions


def test_conversations_of_another_recipe_get_their_chunks(open_memory):
    memory = open_memory()
    memory.remember_messages(CHAT, session="s1", agent="a", project="p")
    memory.remember_messages([{"role": "user", "content": "word " * 1_500}], session="s2")
    assert "sessions" not in steps(memory), "nobody would look at them"
    assert not memory.list(roles=["session"])
    memory.update_settings(recipe="memsense")
    assert steps(memory, dry_run=True)["sessions"].tasks == ("s1: in chunks", "s2: in chunks")
    steps(memory)
    assert not steps(memory)["sessions"].tasks
    chunks = memory.list(roles=["session"], order="turns")
    assert [(one.session, one.agent, one.project) for one in chunks] == [("s1", "a", "p"), ("s2", None, None), ("s2", None, None)]
    assert memory.recall("Goa")[0].record.role == "session"
    memory.remember_messages([*CHAT, {"role": "user", "content": "And a boat."}], session="s1", agent="a", project="p")
    assert memory.list(roles=["session"], sessions=["s1"])[0].text.endswith("And a boat.")
    for turn in memory.list(roles=["turn"], sessions=["s1"]):
        memory.forget(turn)
    assert not memory.list(roles=["session"], sessions=["s1"])


# --- all of it


NOTE = st.fixed_dictionaries(
    {
        "text": st.sampled_from(["Nora likes tea.", "nora likes tea", "It rained.", "Nora lives in Goa."]),
        "kind": st.sampled_from(["semantic", "fact", "episodic", "event"]),
        "session": st.sampled_from([None, "s1"]), "reinforced": st.integers(0, 4),
        "valid_to": st.sampled_from([None, "2026-03-05", "2026-04-01"]),
    }
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(NOTE, max_size=10), st.booleans(), st.sampled_from(["memory:", "sqlite:///:memory:"]))
def test_a_dry_run_shows_what_a_run_does_and_a_second_run_finds_nothing(notes, chat, url):
    clock = FixedClock()
    with Memory.open(url, owner="alice", embedder="none", clock=clock, settings=Settings()) as memory:
        for number, note in enumerate(notes):
            memory.remember(**note, id=f"n{number}")
            fact(memory, f"f{number}", f"n{number}") if number % 2 else None
            clock.advance(minutes=20)
        memory.remember_messages(CHAT, session="s1") if chat else None
        before = everything(memory)
        shown = [step.tasks for step in memory.upkeep(dry_run=True)]
        assert everything(memory) == before
        assert [step.tasks for step in memory.upkeep()] == shown
        assert before.keys() <= everything(memory).keys(), "nothing was forgotten"
        after = everything(memory)
        assert not any(step.tasks for step in memory.upkeep()) and everything(memory) == after
        for record in after.values():
            memory.history(record)


def test_what_somebody_changes_meanwhile_is_left_for_the_next_time(open_memory, monkeypatch):
    memory = open_memory()
    for number in range(2):
        memory.remember("Nora lives in Goa.", id=f"n{number}")
    write, done = memory.store.write, []

    def and_somebody_else(owner, changes):
        if not done:
            done.append(write("alice", [Add(record=memory.get("n0").__class__(
                id="x", owner="alice", text="x", recorded_at=memory.now()))]))
            memory.amend("n0", tags=["new"])
        return write(owner, changes)  # fmt: skip

    monkeypatch.setattr(memory.store, "write", and_somebody_else)
    assert "1 were changed by somebody else meanwhile" in steps(memory)["deduplicate"].did
    assert memory.get("n0").tags == ("new",) and steps(memory)["deduplicate"].did == "1 are one now"
