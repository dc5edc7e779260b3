"""Summaries of sessions: one each, made of what holds, written anew when the session grows, gone with its words."""

from __future__ import annotations

import pytest

from recollect.errors import StoreUnavailable
from recollect.records import SUMMARY
from recollect.testing import FixedClock


def user(text, **more):
    return {"role": "user", "content": text, **more}


def reply(text, **more):
    return {"role": "assistant", "content": text, **more}


CAKE = [
    user("I'm allergic to walnuts, so no walnut cake for my birthday."), reply("Noted!"),
    user("My sister Ana brings a carrot cake on Sunday."), reply("How lovely."),
]  # fmt: skip
MOVE = [user("I have moved from Lisbon to a flat in Goa."), reply("Congratulations on the flat in Goa!")]


def summaries(memory, **asked):
    return memory.list(roles=["summary"], order="turns", **asked)


def step(memory, name="summarise", **how):
    return next(one for one in memory.upkeep(**how) if one.name == name)


class Model:
    """A summariser that goes on from the summary so far, as a language model does."""

    fingerprint, rolling = "summary:model-1", True

    def __init__(self) -> None:
        self.asked, self.down = [], False

    def summarise(self, before, said):
        if self.down:
            raise TimeoutError("the model is down")
        self.asked.append((before, [one.text for one in said]))
        return f"{before} +{len(said)}".strip()


def test_upkeep_summarises_each_session_once(open_memory):
    memory = open_memory()
    memory.remember_messages(CAKE, session="s1", project="home")
    memory.remember_messages(MOVE, session="s2")
    memory.remember("A note of no session.")
    shown = step(memory, dry_run=True)
    assert shown.tasks == ("s1: 2 records", "s2: 1 records") and not shown.did and not summaries(memory)
    assert step(memory).did == "2 summarised"
    first, second = summaries(memory)
    assert (first.session, first.project, first.kind, first.role) == ("s1", "home", "episodic", "summary")
    assert "allergic to walnuts" in first.text and "carrot cake" in first.text and "moved from Lisbon" in second.text
    before = list(memory.each())
    assert step(memory).tasks == () and list(memory.each()) == before, "nothing has grown"


def test_a_summary_rolls_on_with_its_session(open_memory):
    clock = FixedClock()
    memory = open_memory(clock=clock)
    memory.remember_messages(CAKE, session="s1")
    memory.upkeep()
    [old] = summaries(memory)
    clock.advance(days=1)
    memory.remember_messages([*CAKE, user("The party with the carrot cake is in Goa at my sister's.")], session="s1")
    assert step(memory, dry_run=True).tasks == ("s1: 3 records, 2 of them before",)
    memory.upkeep()
    [new] = summaries(memory)
    assert new.id == old.id and "in Goa" in new.text and new.recorded_at > old.recorded_at and new.at > old.at
    assert not summaries(memory, as_of=old.recorded_at), "what it says now was not known then"


def test_agents_and_owners_have_summaries_of_their_own(open_memory):
    memory = open_memory()
    memory.remember_messages(CAKE, session="s1", agent="baker")
    memory.remember_messages(MOVE, session="s1", agent="mover")
    memory.for_owner("bob").remember_messages(MOVE, session="s1")
    memory.upkeep()
    assert {(one.agent, "walnut" in one.text) for one in summaries(memory)} == {("baker", True), ("mover", False)}
    assert not summaries(memory.for_owner("bob"))


def test_notes_of_a_session_are_summarised_where_there_are_no_turns(open_memory):
    memory = open_memory()
    noted = ("Priya likes Goa.", "She prefers the night train to Goa.")
    memory.remember_many([{"text": text, "session": "s1"} for text in noted])
    memory.remember("A thought about Goa.", session="s2")
    memory.remember_messages(MOVE, session="s2")
    memory.remember("A single thought about Goa.", session="s3")
    memory.upkeep()
    assert ["night train" in one.text for one in summaries(memory)] == [True, False]
    assert "thought" not in summaries(memory)[1].text


def test_what_is_forgotten_or_changed_takes_the_summary_along(open_memory):
    memory = open_memory()
    first, second = memory.remember_messages(CAKE, session="s1")
    memory.upkeep()
    memory.forget(first)
    assert not summaries(memory), "it may hold the words"
    memory.upkeep()
    assert "walnut" not in summaries(memory)[0].text
    memory.amend(second, text="My sister Ana brings an apple pie.", views={"user": "My sister Ana brings an apple pie."})
    memory.upkeep()
    assert "apple pie" in summaries(memory)[0].text and "carrot" not in summaries(memory)[0].text
    memory.amend(second, quality=0.9)
    assert summaries(memory), "its words are the same"


def test_a_note_that_is_forgotten_or_changed_takes_the_summary_along(open_memory):
    memory = open_memory()
    texts = [f"Note {n}: the cake needs {n} hundred grams of flour. My sister Ana brings it on Sunday." for n in range(1, 7)]
    notes = memory.remember_many([{"text": text, "session": "kitchen"} for text in texts])
    memory.upkeep()
    assert "Note 1" in summaries(memory)[0].text
    memory.amend(notes[5], quality=0.9)
    assert summaries(memory), "nothing else is told"
    memory.forget(notes[0])
    assert summaries(memory) == []
    memory.upkeep()
    assert "Note 1" not in summaries(memory)[0].text
    memory.amend(notes[1], text="Another note.")
    assert summaries(memory) == []


def test_somebody_elses_summary_is_left_alone(open_memory):
    memory = open_memory()
    memory.remember_messages(CAKE, session="s1")
    mine = memory.remember("We spoke of cake.", role="summary", session="s1")
    memory.upkeep()
    memory.forget(memory.list(roles=["turn"])[0])
    assert summaries(memory) == [mine]


# --- in answers


def test_summaries_come_when_asked_for_and_do_not_crowd_out_turns(open_memory):
    memory = open_memory(embedder="hashing")
    memory.remember_messages(CAKE, session="s1")
    before = [hit.id for hit in memory.recall("walnut cake")]
    memory.upkeep()
    assert [hit.id for hit in memory.recall("walnut cake")] == before
    assert {hit.record.role for hit in memory.recall("walnut cake", roles=["summary"])} == {"summary"}
    assert {hit.record.role for hit in memory.recall("walnut cake", roles=["turn", "summary"])} == {"turn", "summary"}
    mine = memory.remember("The walnut cake talk", role="summary", session="s1")
    assert mine.id in [hit.id for hit in memory.recall("walnut cake")], "somebody's own is a record like any"


def test_the_first_turn_catches_up_without_any_upkeep(open_memory):
    clock = FixedClock()
    memory = open_memory(recipe="opencouch", clock=clock)
    memory.remember_messages(CAKE, session="s1")
    clock.advance(days=90)
    memory.remember_messages(MOVE, session="s2")
    clock.advance(days=90)
    answer = memory.recall("Good morning!", first_turn=True, session="s3")
    assert [(hit.record.role, hit.session) for hit in answer] == [("summary", "s2")]
    assert "moved from Lisbon" in memory.context("Good morning!", first_turn=True, session="s3")
    assert [one.session for one in summaries(memory)] == ["s2"], "the others wait for upkeep"
    assert not memory.recall("Good morning!", session="s3"), "later turns don't"
    again = memory.recall("Where is my flat in Goa?", first_turn=True, session="s2")
    assert again[0].session == "s1" or again[0].record.role == "summary"


def test_a_session_that_has_just_begun_catches_up_with_the_one_before(open_memory):
    clock = FixedClock()
    memory = open_memory(recipe="opencouch", clock=clock)
    memory.remember_messages(CAKE, session="s1")
    clock.advance(days=1)
    memory.remember_messages([user("Hello again.")], session="s2")
    assert memory.recall("Hello again.", first_turn=True, session="s2")[0].session == "s1"


def test_a_memory_that_cannot_be_written_answers_without(open_memory, monkeypatch):
    memory = open_memory(recipe="opencouch")
    memory.remember_messages(CAKE, session="s1")

    def full(*_):
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(memory.store, "write", full)
    assert not memory.recall("Good morning!", first_turn=True, session="s2")


def test_a_question_about_the_past_makes_nothing(open_memory):
    memory = open_memory(recipe="opencouch")
    memory.remember_messages(CAKE, session="s1")
    memory.recall("Good morning!", first_turn=True, session="s2", as_of="2026-03-01")
    assert not summaries(memory)


def test_a_summary_has_more_room_in_the_block(open_memory):
    memory = open_memory(recipe="opencouch")
    things = ["kiln in the shed", "wedding in Goa", "flat by the river", "violin lessons", "exam in biology", "trip to Lisbon"]
    said = [user(f"{who} told me all about the {what}.") for what in things for who in ("Ana", "Ben")]
    memory.remember_messages(said, session="s1")
    block = memory.context("Good morning!", first_turn=True, session="s2")
    [line] = [line for line in block.splitlines() if line.startswith("- ")]
    assert 250 < len(line) <= 680
    assert len(memory.context("Good morning!", first_turn=True, session="s2", max_chars=600)) <= 600


# --- by a model


def test_a_model_goes_on_from_the_summary_so_far(open_memory):
    model = Model()
    memory = open_memory(summariser=model)
    memory.remember_messages(CAKE, session="s1")
    memory.upkeep()
    memory.remember_messages([*CAKE, *MOVE], session="s1")
    memory.upkeep()
    assert model.asked[0][0] == "" and len(model.asked[0][1]) == 4
    assert model.asked[1] == ("+4", [*(m["content"] for m in CAKE[2:]), *(m["content"] for m in MOVE)]), "from the last turn on"
    chat = [user("I'm allergic to hazelnuts."), *CAKE[1:], *MOVE]
    memory.remember_messages(chat, session="s1")
    memory.upkeep()
    assert model.asked[2][0] == "" and len(model.asked[2][1]) == 6, "what was edited is told anew"


def test_rules_stand_in_for_a_model_that_is_down(open_memory):
    model = Model()
    model.down = True
    memory = open_memory(summariser=model)
    memory.remember_messages(CAKE, session="s1")
    memory.remember_messages(MOVE, session="s2")
    found = step(memory)
    assert not found.ok and found.did == "2 summarised; by rules, since the model is down"
    assert "allergic to walnuts" in summaries(memory)[0].text
    model.down = False
    assert step(memory).did == "2 summarised" and [one.text for one in summaries(memory)] == ["+4", "+2"]


def test_catching_up_never_waits_for_a_model(open_memory):
    model = Model()
    memory = open_memory(summariser=model, recipe="opencouch")
    memory.remember_messages(CAKE, session="s1")
    assert "walnuts" in memory.recall("Hello", first_turn=True, session="s2")[0].text and not model.asked
    memory.upkeep()
    assert memory.recall("Hello", first_turn=True, session="s2")[0].text == "+4", "one that is up to date stays"


@pytest.mark.parametrize("said", [b"no text", None, 7])
def test_a_summariser_that_answers_nonsense_is_stood_in_for(said, open_memory):
    model = Model()
    model.summarise = lambda before, said_: said
    memory = open_memory(summariser=model)
    memory.remember_messages(CAKE, session="s1")
    memory.upkeep()
    assert not summaries(memory) or summaries(memory)[0].role == SUMMARY
    assert all(isinstance(one.text, str) for one in memory.each())
