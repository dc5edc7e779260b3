"""Conversations: what clients send becomes turns, once, however often and in whatever portions it is sent."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Memory
from recollect.chunks import CHUNK
from recollect.errors import InvalidRecord
from recollect.messages import read_messages
from recollect.records import THREAD
from recollect.settings import Settings
from recollect.testing import FixedClock


def user(text, **more):
    return {"role": "user", "content": text, **more}


def reply(text, **more):
    return {"role": "assistant", "content": text, **more}


CHAT = [
    user("Hi, I'm Nora. I'm allergic to walnuts."), reply("Noted!"),
    user("I'd love a cake for Sunday."), reply("How about a carrot cake?"), user("Good."), reply("Here is the recipe."),
]  # fmt: skip


def fresh(**given):
    return Memory.open("memory:", owner="alice", embedder="none", clock=FixedClock(), settings=Settings(), **given)


def turns(memory, session="s1"):
    return memory.list(order="turns", sessions=[session], roles=["turn"], limit=10_000)


def told(memory, session="s1"):
    return [(turn.turn, turn.speaker, turn.text, dict(turn.views)) for turn in turns(memory, session)]


# --- turns


def test_a_turn_holds_both_sides(open_memory):
    memory = open_memory()
    made = memory.remember_messages(CHAT[:3], session="s1", project="home", tags=["chat"])
    assert [record.id for record in made] == [record.id for record in turns(memory)]
    assert told(memory) == [
        (1, None, "User: Hi, I'm Nora. I'm allergic to walnuts.\nAssistant: Noted!",
         {"user": CHAT[0]["content"], "assistant": "Noted!", "next_user": "I'd love a cake for Sunday.",
          "personal_info": "I'm allergic to walnuts."}),
        (2, "User", "I'd love a cake for Sunday.", {"user": "I'd love a cake for Sunday."}),
    ]  # fmt: skip
    assert {(one.kind, one.role, one.session, one.project, one.tags) for one in made} == {
        ("episodic", "turn", "s1", "home", ("chat",))
    }
    assert [hit.id for hit in memory.recall("walnuts")] == [made[0].id]


def test_a_turn_goes_on_when_the_answer_comes(open_memory):
    memory = open_memory()
    [asked] = memory.remember_messages([user("A cake?", name="Nora")], session="s1")
    [answered] = memory.remember_messages([reply("Carrot cake."), reply("Or a pie.")], session="s1")
    assert answered.id == asked.id and (asked.text, asked.speaker) == ("A cake?", "Nora")
    assert (answered.text, answered.speaker) == ("Nora: A cake?\nAssistant: Carrot cake.\n\nOr a pie.", None)
    assert [hit.id for hit in memory.recall("pie")] == [asked.id]
    assert memory.remember_messages([reply("Or a tart.")], session="s1")[0].views["assistant"].endswith("Or a tart.")


def test_one_record_a_message(open_memory):
    memory = open_memory(recipe="annie")
    said = [user("We should plan that Goa trip for March", name="Rajesh"), user("Let me check the dates", name="Priya")]
    memory.remember_messages([*said, reply("Shall I look for flights?")], session="s1", pair=False)
    assert [(turn, speaker, text) for turn, speaker, text, _ in told(memory)] == [
        (1, "Rajesh", "We should plan that Goa trip for March"), (2, "Priya", "Let me check the dates"),
        (3, "Assistant", "Shall I look for flights?"),
    ]  # fmt: skip
    assert '- Rajesh said: "We should plan that Goa trip for March"' in memory.context("Goa trip")


def test_people_who_talk_to_each_other_have_a_turn_each(open_memory):
    memory = open_memory()
    memory.remember_messages([user("Hi Mel!", name="Caro"), {"role": "Mel", "content": "Hi Caro!"}], session="s1")
    assert [(speaker, text) for _, speaker, text, _ in told(memory)] == [("Caro", "Hi Mel!"), ("Mel", "Hi Caro!")]


def test_times_are_those_of_the_messages(open_memory):
    memory = open_memory()
    memory.remember_messages(
        [user("one", at="2026-01-02T10:00Z"), user("two", created_at=1_767_000_000), user("three")], session="s1"
    )
    assert [str(turn.at)[:10] for turn in turns(memory)] == ["2026-01-02", "2025-12-29", "2026-03-10"]


# --- what is new


def test_the_same_twice_changes_nothing(open_memory):
    memory = open_memory()
    memory.remember_messages(CHAT, session="s1")
    before = list(memory.each())
    for again in (CHAT, CHAT[:2], CHAT[2:4], CHAT[-2:], CHAT[-1:]):
        assert memory.remember_messages(again, session="s1") == [] and list(memory.each()) == before
    assert len(memory.remember_messages(CHAT, session="s2")) == 3, "another session is another conversation"


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_however_it_is_sent_it_is_remembered_once(data):
    """Whole, as a growing window, or in portions, with any overlap: the turns are those of one call."""
    words = st.sampled_from(["ok", "yes", "thanks", "Goa", "why?"])
    chat = data.draw(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), words), min_size=1, max_size=14))
    chat = [{"role": role, "content": text, "id": f"m{number}"} for number, (role, text) in enumerate(chat)]
    memory, once = fresh(), fresh()
    done = 0
    while done < len(chat):
        upto = data.draw(st.integers(done + 1, len(chat)))
        memory.remember_messages(chat[data.draw(st.integers(0, done)) : upto], session="s1")
        done = upto
    once.remember_messages(chat, session="s1")
    assert told(memory) == told(once)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["ok", "yes", "thanks"]), min_size=1, max_size=200), st.data())
def test_a_growing_history_keeps_what_is_said_twice(texts, data):
    chat = [user(text) for text in texts]
    memory, done = fresh(), 0
    while done < len(chat):
        done = data.draw(st.integers(done + 1, len(chat)))
        memory.remember_messages(chat[:done], session="s1") if done > 1 or len(chat) == 1 else None
    assert [text for _, _, text, _ in told(memory)] == texts


def test_equal_messages_at_different_times_are_two(open_memory):
    memory = open_memory()
    memory.remember_messages([user("ok", at="2026-01-02T10:00Z")], session="s1")
    assert memory.remember_messages([user("ok", at="2026-01-02T10:00Z")], session="s1") == []
    assert len(memory.remember_messages([user("ok", at="2026-01-02T11:00Z")], session="s1")) == 1
    assert len(turns(memory)) == 2


def test_what_was_forgotten_is_not_remembered_again(open_memory):
    memory = open_memory()
    first, *_ = memory.remember_messages(CHAT, session="s1")
    memory.forget(first)
    chat = [*CHAT, user("Thanks!"), reply("Enjoy!")]
    assert [turn.views["user"] for turn in memory.remember_messages(chat, session="s1")] == ["Thanks!"]
    chat[2] = user("I'd love a pie for Sunday.")
    memory.remember_messages(chat, session="s1")
    assert not memory.recall("walnuts")


def test_an_edited_message_makes_a_new_version(open_memory):
    memory = open_memory()
    memory.remember_messages(CHAT, session="s1")
    chat = [*CHAT[:2], user("I'd love a pie for Sunday."), *CHAT[3:]]
    [new] = memory.remember_messages(chat, session="s1")
    assert new.text == "User: I'd love a pie for Sunday.\nAssistant: How about a carrot cake?" and new.turn == 2
    assert [one.views["user"] for one in memory.history(new)] == ["I'd love a cake for Sunday.", "I'd love a pie for Sunday."]
    assert [turn.views.get("next_user") for turn in turns(memory)] == ["I'd love a pie for Sunday.", "Good.", None]
    assert memory.remember_messages(chat, session="s1") == []


def test_an_answer_made_anew_replaces_the_old_one(open_memory):
    memory = open_memory()
    memory.remember_messages(CHAT, session="s1")
    [new] = memory.remember_messages([*CHAT[:-1], reply("Here is a better recipe.")], session="s1")
    assert [one.views["assistant"] for one in memory.history(new)] == ["Here is the recipe.", "Here is a better recipe."]
    assert len(turns(memory)) == 3


def test_the_same_id_with_other_words_is_an_edit(open_memory):
    memory = open_memory()
    memory.remember_messages([user("one", id="a"), user("two", id="b"), user("three", id="c")], session="s1")
    [new] = memory.remember_messages([user("TWO", id="b")], session="s1")
    assert new.turn == 2 and [turn.text for turn in turns(memory)] == ["one", "TWO", "three"]


def test_a_message_left_out_before_is_put_in_its_place(open_memory):
    memory = open_memory()
    memory.remember_messages([*CHAT[:2], *CHAT[4:]], session="s1")
    assert next(turn.views["user"] for turn in memory.remember_messages(CHAT, session="s1") if "user" in turn.views) == CHAT[2][
        "content"
    ]
    assert next(turn.views.get("user") for turn in turns(memory)) == CHAT[0]["content"]
    assert turns(memory)[-1].views["user"] == "Good." and memory.remember_messages(CHAT, session="s1") == []


def test_long_conversations_need_no_more_than_their_end(open_memory):
    memory = open_memory()
    chat = [message for number in range(400) for message in (user(f"Question {number}?"), reply(f"Answer {number}."))]
    memory.remember_messages(chat[:600], session="s1")
    assert len(memory.remember_messages(chat[:602], session="s1")) == 1, "whole"
    assert len(memory.remember_messages(chat[590:604], session="s1")) == 1, "a window"
    assert len(memory.remember_messages(chat[604:606], session="s1")) == 1, "what is new"
    assert len(memory.remember_messages(chat, session="s1")) == 97
    assert memory.remember_messages(chat[100:400], session="s1") == [], "something from the middle"
    edited = [user("Question seven?") if number == 14 else message for number, message in enumerate(chat)]
    assert [turn.turn for turn in memory.remember_messages(edited, session="s1")] == [8]
    assert [turn.turn for turn in turns(memory)] == list(range(1, 401))
    assert memory.remember_messages(edited, session="s1") == []


# --- next_user


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(1, 7)), st.sets(st.integers(1, 6)), st.sets(st.integers(1, 6)))
def test_the_next_words_are_right_in_whatever_order_turns_come_and_go(order, silent, forgotten):
    memory = fresh()
    for turn in order:
        views = {} if turn in silent else {"user": f"u{turn}"}
        memory.remember(f"Turn {turn}.", id=f"t{turn}", role="turn", session="s1", turn=turn, views=views)
    for turn in forgotten:
        memory.forget(f"t{turn}")
    left = [turn for turn in range(1, 7) if turn not in forgotten]
    wanted = {f"t{turn}": None if after in silent else f"u{after}" for turn, after in pairwise(left)}
    assert {turn.id: turn.views.get("next_user") for turn in turns(memory)} == wanted | ({f"t{left[-1]}": None} if left else {})


def test_next_words_of_turns_without_numbers_that_came_at_once_follow_who_comes_and_goes(open_memory):
    memory = open_memory()

    def say(*said):
        return memory.remember_many({"text": f"{u}.", "role": "turn", "session": "s1", "views": {"user": u}} for u in said)

    said = [f"u{number}" for number in range(12)]
    turns_said = say(*said)
    memory.forget(turns_said[10])
    say("u12", "u13")
    left = [*said[:10], "u11", "u12", "u13"]
    assert [(turn.views["user"], turn.views.get("next_user")) for turn in turns(memory)] == [*pairwise(left), ("u13", None)]


def test_next_words_keep_to_session_source_and_what_was_given(open_memory):
    memory = open_memory()

    def say(turn, **about):
        memory.remember(f"Turn {turn}.", **{"role": "turn", "session": "s1", "turn": turn, "id": f"t{turn}", **about})

    say(1, views={"user": "u1", "next_user": "mine"})
    say(2, views={"user": "u2"}, source="import")
    say(3, views={"user": "u3"}, session="s2")
    say(4, views={"user": "u4"})
    assert [turn.views.get("next_user") for turn in turns(memory)] == ["mine", None, None]
    memory.amend("t2", source=None)
    assert memory.get("t2").views["next_user"] == "u4"
    memory.amend("t4", views={"user": "U4"})
    assert memory.get("t2").views["next_user"] == "U4" and memory.get("t1").views["next_user"] == "mine"


def test_a_view_that_came_later_gets_its_vector():
    memory = fresh(recipe="memsense")
    memory.close()
    memory = Memory.open("memory:", owner="alice", embedder="hashing", recipe="memsense", clock=FixedClock(), settings=Settings())
    memory.remember_messages(CHAT, session="s1")
    memory.flush()
    assert {(lane["view"], lane["count"]) for lane in memory.status()["vectors"]} == {
        ("full", 4), ("user", 3), ("assistant", 3), ("next_user", 2), ("personal_info", 1),
    }  # fmt: skip


# --- sessions


def test_memsense_works_from_messages_to_answer(open_memory):
    memory = open_memory(recipe="memsense", embedder="hashing")
    for number in range(8):
        memory.remember_messages(
            [user(f"Tell me about topic{number} and topic{number + 40}."), reply(f"Well, topic{number} is a long story.")],
            session=f"s{number}",
        )
    memory.flush()
    answer = memory.recall("topic3")
    assert (answer[0].record.role, answer[0].session) == ("session", "s3")
    assert answer[0].explain["supporting_turn_count"] == 1 and answer[0].explain["turn_support"] > 0
    assert set(answer[0].explain["best_turn_routes"]) >= {"lexical", "vec_full", "vec_user", "vec_asst"}
    assert not any(hit.record.role == "turn" for hit in answer)
    assert "topic3" in memory.context("topic3")


def test_session_chunks_grow_at_their_end(open_memory):
    memory = open_memory(recipe="memsense")
    chat, versions = [], []
    for number in range(12):
        chat += [user(f"Question {number}? " + "Please tell me all. " * 20), reply("It is so. " * 60)]
        memory.remember_messages(chat, session="s1")
        versions.append({chunk.id: chunk.text for chunk in memory.list(roles=["session"])})
    assert len(versions[-1]) > 3 and all(len(text) <= CHUNK for text in versions[-1].values())
    for before, after in pairwise(versions):
        assert sum(after.get(name) != text for name, text in before.items()) <= 1, "only the last one is written anew"
    whole = open_memory(url="memory:", recipe="memsense")
    whole.remember_messages(chat, session="s1")
    assert {chunk.text for chunk in whole.list(roles=["session"])} == set(versions[-1].values())


def test_what_is_forgotten_leaves_its_session_too(open_memory):
    memory = open_memory(recipe="memsense")
    first, *_ = memory.remember_messages(CHAT, session="s1")
    memory.forget(first)
    assert not memory.recall("walnuts") and "carrot" in memory.list(roles=["session"])[0].text
    memory.amend(turns(memory)[0], text="User: I'd love a tart.", views={"user": "I'd love a tart."})
    assert "tart" in memory.list(roles=["session"])[0].text
    memory.remember_messages([*CHAT, user("Thanks!")], session="s1")
    assert memory.list(roles=["session"])[0].text.endswith("Thanks!") and "walnuts" not in memory.list(roles=["session"])[0].text


def test_recipes_without_sessions_are_not_crowded_by_them(open_memory):
    memory = open_memory(recipe="memsense")
    memory.remember_messages(CHAT, session="s1")
    mine = memory.remember("A day of walnuts", role="session", session="s9")
    assert {hit.record.role for hit in memory.recall("carrot cake", recipe="balanced")} == {"turn"}
    assert mine.id in [hit.id for hit in memory.recall("walnuts", recipe="balanced")], "somebody's own is no repetition"
    plain = open_memory(url="memory:")
    plain.remember_messages(CHAT, session="s1")
    assert not plain.list(roles=["session"]), "none are made where nobody looks at them"


# --- what clients send


def test_our_own_block_is_not_remembered_again(open_memory):
    memory = open_memory()
    memory.remember("Nora lives in Goa.")
    block = memory.context("Where does Nora live?")
    nested = [{"type": "text", "text": f"{block}\n\nWhat's the weather there?"}, {"type": "tool_result", "content": block}]
    memory.remember_messages([user(nested), reply(f"You told me:\n{block}\nIt is hot.")], session="s1")
    memory.remember_messages([user(block)], session="s2")
    texts = [turn.text for turn in memory.list(roles=["turn"])]
    assert texts == ["User: What's the weather there?\nAssistant: You told me:\n\nIt is hot."]


SHAPES = [
    ({"role": "user", "content": "hello"}, ("user", None, "hello")),
    ({"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:…"}}]},
     ("user", None, "look\n[image]")),
    ({"role": "user", "content": [{"type": "input_text", "text": "hear"}, {"type": "input_audio", "input_audio": {"data": "…"}}]},
     ("user", None, "hear\n[audio]")),
    ({"role": "user", "content": [{"type": "document", "title": "plan.pdf", "source": {}}]}, ("user", None, "[file plan.pdf]")),
    ({"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Goa"}'}}]},
     ("assistant", None, "[called weather(city=Goa)]")),
    ({"role": "tool", "tool_call_id": "c1", "content": "31 degrees"}, ("tool", None, "[returned: 31 degrees]")),
    ({"role": "function", "name": "weather", "content": "31"}, ("tool", "weather", "[returned by weather: 31]")),
    ({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I'll look."},
                                       {"type": "tool_use", "id": "t", "name": "weather", "input": {"city": "Goa"}}]},
     ("assistant", None, "I'll look.\n[called weather(city=Goa)]")),
    ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "31"}]}]},
     ("tool", None, "[returned: 31]")),
    ({"role": "model", "parts": [{"text": "Hi"}, {"functionCall": {"name": "weather", "args": {"city": "Goa"}}}]},
     ("assistant", None, "Hi\n[called weather(city=Goa)]")),
    ({"from": "human", "value": "hi"}, ("user", None, "hi")),
    ({"type": "ai", "content": "hi"}, ("assistant", None, "hi")),
    ({"type": "function_call", "name": "weather", "arguments": "{}"}, ("assistant", None, "[called weather()]")),
    ({"type": "function_call_output", "output": "31"}, ("tool", None, "[returned: 31]")),
    ({"content": "no role"}, ("user", None, "no role")),
    ("just text", ("user", None, "just text")),
    ({"role": "Priya S.", "content": "hi"}, ("user", "Priya S.", "hi")),
    ({"role": "wizard\u0000\n" * 900, "content": "hi"}, ("user", ("wizard " * 900)[:200].strip(), "hi")),
    ({"role": "user", "content": [{"type": "hologram", "data": 1}]}, ("user", None, "[hologram]")),
]  # fmt: skip


@pytest.mark.parametrize("message, wanted", SHAPES, ids=lambda value: str(value)[:40] if isinstance(value, dict) else "")
def test_shapes_of_messages(message, wanted):
    [read] = read_messages([message])
    assert (read.role, read.speaker, read.text) == wanted


def test_system_prompts_are_remembered_on_request_only(open_memory):
    memory = open_memory()
    chat = [{"role": "system", "content": "You are a helpful baker."}, *CHAT[:2]]
    assert len(memory.remember_messages(chat, session="s1")) == 1
    assert [turn.speaker for turn in memory.remember_messages(chat, session="s2", system=True)] == ["System", None]


@pytest.mark.parametrize(
    "empty", [None, "", "  \n", [], [None], [{"type": "text", "text": ""}], [{"type": "thinking", "thinking": "x"}]]
)
def test_what_says_nothing_is_left_out(empty, open_memory):
    memory = open_memory()
    assert memory.remember_messages([{"role": "user", "content": empty}], session="s1") == [] and not list(memory.each())


@pytest.mark.parametrize(
    "bad, says",
    [
        ("hello", "Messages are a list, not str"), ({"role": "user"}, "Messages are a list, not dict"), (7, "not int"),
        (None, "not NoneType"), ([3], "Message 1: 3 is not a message"), ([user("ok"), user(3.5)], "Message 2: content=3.5"),
        ([{"role": 5, "content": "x"}], "role=5 is not a word"), ([user("x", name=5)], "name=5 is not a name"),
        ([user("x", at="0000-01-01")], "Message 1: at='0000-01-01' is not a date"),
        ([user("x", at=1.7e12)], "seconds, not milliseconds"),
        ([user("x", at="yesterday")], "is not a date"), ([user("x" * 4_000_001)], "4,000,001 characters"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_by_number(bad, says, open_memory):
    memory = open_memory()
    with pytest.raises(InvalidRecord, match=says.replace("(", r"\(")):
        memory.remember_messages(bad, session="s1")
    assert not list(memory.each())


@pytest.mark.parametrize("session, about, says", [
    ("", {}, "needs the name of its session"), (None, {}, "needs the name"), (5, {}, "needs the name"), ("a\nb", {}, "session="),
    ("s1", {"text": "x"}, "can't be said of all"),
    ("s1", {"kind": "nonsense"}, "kind='nonsense'"), ("s1", {"role": "note"}, "role"),
])  # fmt: skip
def test_what_is_said_about_all_is_checked(session, about, says, open_memory):
    with pytest.raises(InvalidRecord, match=says):
        open_memory().remember_messages(CHAT, session=session, **about)


def test_odd_conversations_are_harmless(open_memory):
    memory = open_memory()
    odd = [
        reply("Nobody asked."), {"role": "tool", "content": "31"}, user("a", at="2026-03-02T00:00Z"),
        user("b", at="2026-03-01T00:00Z"),
        user("a", at="2026-03-02T00:00Z"), user("same", id="x"), user("other", id="x"), user("\ud83d half"), user("x" * 20_000),
    ]  # fmt: skip
    memory.remember_messages(odd, session="s1")
    assert memory.remember_messages(odd[:5], session="s1") == []
    assert [turn.turn for turn in turns(memory)] == list(range(1, len(turns(memory)) + 1))
    assert len(memory.recall("x" * 64)) <= 1


def test_ten_thousand_at_once(open_memory, request):
    memory = open_memory(url="sqlite:///:memory:")
    chat = [message for number in range(5_000) for message in (user(f"Question {number}?"), reply(f"Answer {number}."))]
    assert len(memory.remember_messages(chat, session="s1")) == 5_000
    assert memory.remember_messages(chat, session="s1") == []
    assert memory.status()["records"] == 5_000 and memory.recall("4321")[0].record.turn == 4_322


def test_the_log_holds_no_words_and_is_not_shown(open_memory):
    memory = open_memory()
    memory.remember_messages(CHAT, session="s1")
    [log] = [record for record in memory.each() if record.role == THREAD]
    assert "walnut" not in str(log) and log.id not in [record.id for record in memory.list()]
    assert memory.status()["records"] == 3


APPEND = """
import sys
from recollect import Memory
with Memory.open(sys.argv[1], owner="alice", embedder="none", recipe="memsense") as memory:
    for number in range(25):
        memory.remember_messages(
            [{"role": "user", "content": f"{sys.argv[2]} asks {number}"},
             {"role": "assistant", "content": f"{sys.argv[2]} hears {number}"}], session="s1")
"""


def test_two_processes_append_to_one_session(tmp_path):
    path = str(tmp_path / "memory.db")
    both = [subprocess.Popen([sys.executable, "-c", APPEND, path, name]) for name in ("Ann", "Ben")]
    assert [process.wait(120) for process in both] == [0, 0]
    with Memory.open(path, owner="alice", embedder="none", settings=Settings()) as memory:
        seen = turns(memory)
        assert [turn.turn for turn in seen] == list(range(1, 51))
        asked = [turn.views["user"] for turn in seen]
        assert sorted(asked) == sorted(f"{name} asks {number}" for name in ("Ann", "Ben") for number in range(25))
        assert [turn.views.get("next_user") for turn in seen] == [*asked[1:], None]
        chunks = "\n\n".join(chunk.text for chunk in memory.list(roles=["session"], order="turns"))
        assert all(chunks.count(f"{name} asks {number}\n") == 1 for name in ("Ann", "Ben") for number in range(25))
