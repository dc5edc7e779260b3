"""Conversations as they should not be: taken in without harm, or refused by an error that names the message; nothing is lost."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Memory
from recollect.errors import DuplicateRecord, InvalidRecord, UnknownRecord
from recollect.messages import read_messages
from recollect.portable import load
from recollect.settings import Settings
from recollect.testing import FixedClock


def user(text, **more):
    return {"role": "user", "content": text, **more}


def reply(text, **more):
    return {"role": "assistant", "content": text, **more}


def turns(memory, session="s1"):
    return memory.list(order="turns", sessions=[session], roles=["turn"], limit=10_000)


def fresh(**given):
    return Memory.open("memory:", owner="alice", embedder="none", clock=FixedClock(), settings=Settings(), **given)


# --- messages


def test_messages_without_roles_are_the_users(open_memory):
    memory = open_memory()
    memory.remember_messages([{"content": "I moved to Goa."}, {"text": "With my sister."}, "And a dog."], session="s1")
    assert [(turn.speaker, turn.text) for turn in turns(memory)] == [
        ("User", "I moved to Goa."), ("User", "With my sister."), ("User", "And a dog."),
    ]  # fmt: skip


def test_messages_out_of_order_keep_the_order_they_came_in_and_their_times(open_memory):
    memory = open_memory()
    chat = [user("third", at="2026-03-03"), user("first", at="2026-03-01"), user("second", at="2026-03-02")]
    memory.remember_messages(chat, session="s1")
    assert [turn.text for turn in turns(memory)] == ["third", "first", "second"]
    assert [record.text for record in memory.list(order="oldest")] == ["first", "second", "third"]
    assert memory.remember_messages(chat, session="s1") == [], "and they are the same conversation the next time"
    assert [turn.views.get("next_user") for turn in turns(memory)] == ["first", "second", None]


def test_an_answer_before_any_question_is_a_turn_of_its_own(open_memory):
    memory = open_memory()
    memory.remember_messages([reply("Hello, how can I help?"), user("A cake."), reply("Which?"), reply("Carrot?")], session="s1")
    assert [(turn.speaker, sorted(turn.views)) for turn in turns(memory)] == [
        ("Assistant", ["assistant", "next_user"]), (None, ["assistant", "user"]),
    ]  # fmt: skip


@pytest.mark.parametrize("times", [2, 3, 50])
def test_messages_that_are_repeated_are_said_as_often_as_they_were_sent_together(times, open_memory):
    memory = open_memory()
    chat = [user("ok")] * times
    assert len(memory.remember_messages(chat, session="s1")) == times
    assert memory.remember_messages(chat, session="s1") == [], "but sending them again adds none"


def test_one_message_sent_again_and_again_is_there_once(open_memory):
    memory = open_memory()
    for _ in range(5):
        memory.remember_messages([user("I moved to Goa.", id="m1")], session="s1")
    assert len(turns(memory)) == 1


def test_tool_calls_and_images_are_placeholders_in_their_turn(open_memory):
    memory = open_memory()
    memory.remember_messages(
        [
            user([{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "A" * 99_999}}]),
            reply(None, tool_calls=[{"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"at": "it"}'}}]),
            {"role": "tool", "tool_call_id": "c", "content": json.dumps({"label": "walnut " * 400})},
            reply([{"type": "text", "text": "A walnut cake."}]),
        ],
        session="s1",
    )
    [turn] = turns(memory)
    assert turn.views["user"] == "What is this?\n[image]" and "[called look(at=it)]" in turn.views["assistant"]
    assert "AAAA" not in turn.text and len(turn.text) < 300, "no data of pictures, and what a tool returned in short"
    assert memory.recall("walnut cake")[0].id == turn.id


def test_a_picture_alone_is_a_turn(open_memory):
    memory = open_memory()
    [turn] = memory.remember_messages([user([{"type": "image", "source": {"type": "base64", "data": "…"}}])], session="s1")
    assert turn.text == "[image]"


def test_one_message_that_cannot_be_read_refuses_all_of_them(open_memory):
    memory = open_memory()
    memory.remember_messages([user("before")], session="s1")
    with pytest.raises(InvalidRecord, match="Message 3: at='0000-05-01' is not a date"):
        memory.remember_messages([user("one"), user("two"), user("three", at="0000-05-01")], session="s1")
    assert [turn.text for turn in turns(memory)] == ["before"]


@pytest.mark.parametrize("year", ["0", "0000", "-1", "10000", "99999"])
def test_years_no_calendar_has_are_words_like_any(year, open_memory):
    memory = open_memory()
    [turn] = memory.remember_messages([user(f"On 31 February {year}, at 25:61, we met in the year {year}.")], session="s1")
    assert turn.dates == () and memory.recall(f"What happened in the year {year}?", recipe="recipe(routes=[lexical, temporal])")


LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=4)
NAMES = st.sampled_from([
    "role", "content", "text", "type", "name", "at", "id", "parts", "tool_calls", "function", "arguments", "input", "image_url",
    "output", "message", "speaker", "timestamp", "value", "from", "file", "tool_use_id", "functionResponse", "response",
])  # fmt: skip
KINDS = st.sampled_from([
    "user", "assistant", "tool", "system", "image", "tool_use", "tool_result", "text", "input_audio", "document", "thinking",
    "functionCall", "function_call_output", "file",
])  # fmt: skip
VALUE = st.recursive(LEAF | KINDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.dictionaries(NAMES, VALUE, max_size=5) | VALUE, max_size=4))
def test_whatever_is_sent_is_read_or_refused_by_number(messages):
    try:
        read = read_messages(messages)
    except InvalidRecord as error:
        assert error.message.startswith("Message ")
    else:
        assert all(one.text.strip() and (one.speaker is None or one.speaker.isprintable()) for one in read)
        assert read_messages(messages) == read


@settings(max_examples=40, deadline=None)
@given(st.lists(st.fixed_dictionaries({"role": KINDS, "content": st.text(max_size=40)}), max_size=6), st.booleans())
def test_whatever_is_read_is_remembered_once(messages, pair):
    memory = fresh(recipe="memsense")
    memory.remember_messages(messages, session="s1", pair=pair)
    before = list(memory.each())
    if len(read_messages(messages)) != 1:
        assert memory.remember_messages(messages, session="s1", pair=pair) == [] and list(memory.each()) == before
    memory.upkeep()
    for turn in turns(memory):
        memory.forget(turn)
    memory.upkeep()
    assert not memory.list(), "and forgotten whole"


# --- versions


def test_nothing_that_is_remembered_supersedes_in_a_circle(open_memory):
    memory = open_memory()
    memory.remember("A", id="a")
    memory.remember("B", id="b", supersedes="a")
    with pytest.raises(DuplicateRecord, match="'a'"):
        memory.remember("A again", id="a", supersedes="b")
    with pytest.raises(UnknownRecord, match="no record 'x'"):
        memory.remember("X", id="x", supersedes="x")
    with pytest.raises(UnknownRecord, match="no record 'd'"):
        memory.remember_many([{"text": "C", "id": "c", "supersedes": "d"}, {"text": "D", "id": "d", "supersedes": "c"}])
    assert [record.id for record in memory.history("a")] == ["a", "b"] and [record.id for record in memory.list()] == ["b"]


def test_a_circle_from_a_file_is_harmless_and_upkeep_undoes_it(open_memory):
    memory = open_memory()
    chain = {"a": "b", "b": "c", "c": "a", "d": "a", "e": "e", "f": "gone"}
    lines = [
        json.dumps({"id": id, "text": f"Circle {id}", "superseded_by": newer, "recorded_at": f"2026-01-0{number}T00:00Z"})
        for number, (id, newer) in enumerate(chain.items(), 1)
    ]
    load(memory, lines)
    assert [record.id for record in memory.history("a")] == ["a", "b", "c"] and not memory.recall("Circle")
    assert [record.id for record in memory.history("d")] == ["d", "a", "b", "c"], "it ends"
    shown = next(step for step in memory.upkeep(dry_run=True) if step.name == "supersession")
    assert set(shown.tasks) == {"c: holds again, the last of a, b, c", "e: holds again, the last of e"}
    memory.upkeep()
    assert {hit.id for hit in memory.recall("Circle")} == {"c", "e"}
    assert not any(step.name == "supersession" for step in memory.upkeep())


# --- sizes


def _calls(work) -> int:
    """How many functions of the package are called: what it costs, on any machine."""
    count = 0

    def count_call(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(count_call)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def _chat(count):
    topics = ["kiln", "wedding", "violin", "exam", "flat", "journey", "garden"]
    return [
        message for number in range(count)
        for message in (user(f"I tell you about my {topics[number % 7]} number {number}."), reply(f"Noted, {number}. Go on!"))
    ]  # fmt: skip


@pytest.mark.parametrize("recipe", ["balanced", "memsense"])
@pytest.mark.parametrize("portion", [None, 2], ids=["at once", "turn by turn"])
def test_cost_grows_with_the_number_of_turns(portion, recipe, tmp_path):
    """Twice the turns, twice the work and twice the room, at most a little more: in whatever portions they come."""

    def remember(count):
        memory = Memory.open(str(tmp_path / f"{count}.db"), owner="alice", embedder="none", recipe=recipe, settings=Settings())
        chat = _chat(count)
        with memory:
            memory.remember("Warm.")
            step = portion or len(chat)
            parts = [chat[start : start + step] for start in range(0, len(chat), step)]
            work = _calls(lambda: [memory.remember_messages(part, session="s1") for part in parts])
            assert len(turns(memory)) == count
            return work, memory.status()["bytes"]

    remember(10)
    (small, room), (large, more_room) = remember(150), remember(300)
    assert large < 2.3 * small, f"{large / small:.2f} times the work"
    assert more_room < 2.5 * room


def test_upkeep_costs_what_has_grown_of_a_memory(open_memory):
    """Summarising again after one more turn looks at everything once, and writes one summary."""
    memory = open_memory(url="memory:")
    for session in range(30):
        memory.remember_messages(_chat(5), session=f"s{session}")
    memory.upkeep()
    memory.remember_messages([user("One more thing about the kiln.")], session="s7")
    [step] = [step for step in memory.upkeep() if step.name == "summarise"]
    assert step.tasks == ("s7: 6 records, 5 of them before",)
