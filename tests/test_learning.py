"""What is remembered is read: names, dates and facets on the record, facts beside it, and what a new fact does to older ones."""

from __future__ import annotations

from datetime import timedelta

import pytest
from doubles import names

from recollect.errors import InvalidSetting
from recollect.facts import same_thing
from recollect.ports import Extraction
from recollect.records import CARRIED, Link
from recollect.testing import FixedClock


def said(text, **about):
    return [{"role": "user", "name": "Nora", "content": text, **about}]


def facts(memory, **asked):
    return {fact.text: fact for fact in memory.list(kinds=["relationship"], roles=["derived"], order="oldest", **asked)}


@pytest.fixture
def talk(open_memory):
    """A memory, its clock, and a way to say something a day later in a session of its own; returns the turns."""
    clock = FixedClock()
    memory = open_memory(clock=clock)

    def say(text, **about):
        clock.advance(days=1)
        return memory.remember_messages(said(text, **about), session=f"s{clock():%d%H}")

    return memory, clock, say


def test_a_record_gets_its_names_dates_and_facets(open_memory):
    memory = open_memory()
    note = memory.remember("My mom Priya lives in Goa. I met Bob Miller last Friday.", speaker="Nora", at="2026-03-10T12:00Z")
    kept = memory.get(note)
    assert {"Priya": "person", "Goa": "place", "Bob Miller": "person"}.items() <= {
        one.name: one.type for one in kept.entities
    }.items()
    assert [(span.start.date().isoformat(), span.text) for span in kept.dates] == [("2026-03-06", "last Friday")]
    assert kept.views["personal_info"] == "My mom Priya lives in Goa." and "last Friday" in kept.views["events"]
    assert set(facts(memory)) == {"Priya is a parent of Nora", "Priya lives in Goa"}
    assert {fact.source for fact in facts(memory).values()} == {f"record:{note.id}"}


def test_what_the_caller_gave_stays(open_memory):
    memory = open_memory()
    note = memory.remember("I live in Goa.", entities=["Somebody"], views={"personal_info": "mine"}, dates=[])
    assert [one.name for one in note.entities] == ["Somebody"] and note.views["personal_info"] == "mine"
    memory.amend(note, text="I live in Rome.")
    kept = memory.get(note)
    assert [one.name for one in kept.entities] == ["Somebody"] and kept.views["personal_info"] == "mine"


def test_the_same_conversation_twice_changes_nothing(open_memory):
    memory = open_memory()
    for _ in range(2):
        memory.remember_messages([*said("I live in Goa."), {"role": "assistant", "content": "Lovely!"}], session="s1")
    memory.remember_messages([{"role": "user", "content": "I own a boat."}], session="s2")
    memory.remember_messages([{"role": "assistant", "content": "Oh!"}], session="s2")
    assert set(facts(memory)) == {"Nora lives in Goa", "User owns boat"}
    assert all(fact.reinforced == 0 for fact in facts(memory, timeless=True).values())


def test_a_later_fact_supersedes_an_earlier_one(talk):
    memory, clock, say = talk
    say("I live in Goa.")
    then = clock() + timedelta(hours=1)
    say("I've moved to Lisbon!")
    assert list(facts(memory)) == ["Nora lives in Lisbon"] and list(facts(memory, as_of=then)) == ["Nora lives in Goa"]
    old, new = memory.history(facts(memory)["Nora lives in Lisbon"])
    assert (old.text, old.superseded_by, old.valid_to, new.valid_from) == ("Nora lives in Goa", new.id, clock(), clock())
    assert [hit.text for hit in memory.recall("Nora", recipe="annie", kinds=["relationship"])] == ["Nora lives in Lisbon"]


def test_told_again_it_counts(talk):
    memory, _, say = talk
    for text in ("I live in Goa.", "I live in Goa", "Still, I live in goa, and happily."):
        say(text)
    (fact,) = facts(memory).values()
    assert fact.reinforced == 2 and len(memory.history(fact)) == 3


def test_what_was_told_before_and_comes_late_is_history(talk):
    memory, _, say = talk
    say("I live in Lisbon.")
    memory.remember_messages(said("I live in Goa.", timestamp="2020-01-01T00:00Z"), session="old")
    assert list(facts(memory)) == ["Nora lives in Lisbon"]
    versions = memory.history(facts(memory)["Nora lives in Lisbon"])
    assert [one.text for one in versions] == ["Nora lives in Goa", "Nora lives in Lisbon"]


def test_what_is_over_ends(talk):
    memory, _, say = talk
    say("I work at Acme.")
    say("I like mushrooms.")
    say("I no longer work at Acme, and I don't like mushrooms.")
    say("I used to live in Rome.")
    assert list(facts(memory)) == ["Nora dislikes mushrooms"]


def test_contradictions_are_kept_and_flagged(talk):
    memory, _, say = talk
    say("I was born in Mumbai.")
    (record,) = say("I was born in Delhi.")
    held = facts(memory)
    mumbai, delhi = held["Nora was born in Mumbai"], held["Nora was born in Delhi"]
    assert (mumbai.metadata["contradicts"], delhi.metadata["contradicts"]) == ([delhi.id], [mumbai.id])
    memory.forget(record)
    assert not facts(memory)["Nora was born in Mumbai"].metadata


def test_two_answers_of_one_moment_contradict_unless_one_is_the_news(talk):
    memory, _, say = talk
    say("Priya lives in Goa. Priya lives in Rome.")
    assert all(fact.metadata["contradicts"] for fact in facts(memory).values()) and len(facts(memory)) == 2
    say("I live in Goa but I moved to Rome.")
    assert "Nora lives in Goa" not in facts(memory) and "Nora lives in Rome" in facts(memory)


def test_forgetting_the_news_brings_back_what_held_before(talk):
    memory, _, say = talk
    say("I live in Goa.")
    (second,) = say("I live in Lisbon.")
    (third,) = say("I live in Rome.")
    memory.forget(second)
    versions = memory.history(facts(memory)["Nora lives in Rome"])
    assert [one.text for one in versions] == ["Nora lives in Goa", "Nora lives in Rome"]
    memory.forget(third)
    (fact,) = facts(memory).values()
    assert (fact.text, fact.valid_to, fact.superseded_by) == ("Nora lives in Goa", None, None)


def test_a_changed_text_states_what_it_says_now(open_memory):
    memory = open_memory()
    note = memory.remember("I live in Goa. I own a boat.", speaker="Nora")
    memory.amend(note, text="I live in Rome with Bob.", tags=["x"])
    assert list(facts(memory, timeless=True)) == ["Nora lives in Rome"]
    assert [one.name for one in memory.get(note).entities if one.type == "place"] == ["Rome"]
    assert memory.get(note).views["personal_info"] == "I live in Rome with Bob."
    memory.amend(note, text="Nothing.")
    assert not facts(memory, timeless=True) and not memory.get(note).views and not memory.get(note).entities


def test_a_new_version_ends_the_facts_of_the_old_one(open_memory):
    clock = FixedClock()
    memory = open_memory(clock=clock)
    old = memory.remember("I live in Goa. I own a boat.", speaker="Nora")
    clock.advance(days=1)
    memory.remember("I live in Rome.", speaker="Nora", supersedes=old.id, at=old.at)
    assert list(facts(memory)) == ["Nora lives in Rome"]
    memory.remember_messages([{"id": "a", "role": "user", "content": "I work at Acme."}], session="s")
    memory.remember_messages([{"id": "a", "role": "user", "content": "I work at Apex."}], session="s")
    assert "User works at Apex" in facts(memory) and "User works at Acme" not in facts(memory)


def test_only_people_speak_and_programs_are_not_read(open_memory):
    memory = open_memory()
    memory.remember_messages([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "I live in Goa."}], session="s")
    memory.remember("I live in Goa.", metadata={CARRIED[0]: {}})
    memory.remember("I live in Goa.", role="summary", session="s")
    assert not facts(memory)


def test_nobody_sees_anothers_facts(open_memory):
    memory = open_memory(owner="acme/alice")
    bob = memory.for_owner("acme/bob")
    memory.remember("I live in Goa.", speaker="Nora")
    bob.remember("I live in Rome.", speaker="Nora")
    memory.remember("We live in Pune.", kind="identity", speaker="Nora")
    assert list(facts(memory)) == ["Nora lives in Goa"] and list(facts(bob)) == ["Nora lives in Rome"]


def test_a_fact_that_repeats_its_record_is_not_read_twice(open_memory):
    memory = open_memory(recipe="annie")
    memory.remember("Priya lives in Goa.", id="n1")
    memory.remember("Rajesh -> Priya: planning vacation to Goa in March", id="n2")
    memory.remember("Well, Priya works at Acme, as you know.", id="n3")
    answer = memory.recall("What about Priya?")
    assert [hit.text for hit in answer if hit.record.role == "derived"] == ["Priya works at Acme"]
    assert {"n1", "n2"} <= set(names(answer)) and "graph" in answer[0].routes


class Failing:
    fingerprint, inline = "extract:failing", True

    def extract(self, records):
        if any("bad" in record.text for record in records):
            raise RuntimeError("stumbled")
        return [Extraction(links=[Link(subject="Nora", predicate="mentors", object="Bob")]) for _ in records]


def test_a_failure_costs_what_would_have_been_found(open_memory):
    memory = open_memory(extractor=Failing())
    memory.remember_many(["good", "bad"])
    assert len(memory.list()) == 2 and list(facts(memory)) == ["Nora mentors Bob"]


def test_extractors_go_by_name(open_memory):
    memory = open_memory(extractor="none")
    memory.remember("I live in Goa.")
    assert not facts(memory) and not memory.entities()
    for wrong, says in (("magic", "no extractor"), ("llm", "needs a language model")):
        with pytest.raises(InvalidSetting, match=says):
            open_memory(extractor=wrong)


@pytest.mark.parametrize(
    ("predicate", "one", "other", "same"),
    [
        ("lives_in", "Berlin", "berlin, Germany", True), ("lives_in", "Goa", "Rome", False), ("likes", "tea", "tea time", False),
        ("birthday", "May 5th", "5 May", True), ("birthday", "May 5th", "6 May", False), ("works_at", "Acme", "ACME", True),
    ],
)  # fmt: skip
def test_when_two_objects_are_one(predicate, one, other, same):
    links = [Link(subject="Nora", predicate=predicate, object=thing) for thing in (one, other)]
    assert same_thing(*links) is same


def test_facts_are_compared_with_those_they_may_meet(open_embedded, monkeypatch):
    """Not with all of their kind: else a long conversation would cost the square of its length."""
    met = []
    monkeypatch.setattr("recollect.facts.same_thing", lambda *links: met.append(links) or same_thing(*links))
    memory = open_embedded(embedder="none")
    memory.remember_messages([said(f"I own a boat{n}. I love tea{n}.")[0] for n in range(100)], session="s1")
    memory.remember_messages([said(f"I own a boat{n}.")[0] for n in range(5)], session="s2")
    assert len(met) == 5 and sum(fact.reinforced for fact in facts(memory, limit=1000).values()) == 5
