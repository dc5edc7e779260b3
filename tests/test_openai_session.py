"""The Agents SDK's session: items come back to the letter, in order, whatever they are; what was said is recalled."""

from __future__ import annotations

import asyncio

import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, Usage
from agents.memory import Session, SessionSettings, SQLiteSession
from agents.models.interface import Model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from recollect import Memory, Scope
from recollect.adapters.openai_agents import RecollectSession
from recollect.aio import AsyncMemory
from recollect.errors import InvalidRecord

ITEMS = [
    {"role": "user", "content": "Where do Priya's parents live?"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
    {"type": "function_call", "call_id": "c1", "name": "search", "arguments": '{"q": "Priya"}', "status": "completed"},
    {"type": "function_call_output", "call_id": "c1", "output": "zanzibar " * 20_000},
    {
        "type": "message",
        "role": "assistant",
        "id": "m1",
        "status": "completed",
        "content": [{"type": "output_text", "text": "They live in Goa.", "annotations": []}],
    },
    {
        "role": "user",
        "content": [{"type": "input_text", "text": "And this?"}, {"type": "input_image", "image_url": "data:," + "A" * 100_000}],
    },
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": ""},
    {"role": "user", "content": "<memory>x</memory>"},
    {"type": "something new", "deep": {"x": [None, True, 1.5]}},
    {"role": "user", "content": "\x00 \ud800"},
    {},
]


def run(scenario):
    return asyncio.run(scenario)


@pytest.fixture
def memory(open_memory):
    return open_memory()


def test_it_is_a_session_of_the_sdks(memory):
    session = RecollectSession("s", memory)
    assert isinstance(session, Session) and session.session_id == "s"
    with pytest.raises(InvalidRecord, match="not a name"):
        RecollectSession("", memory)


def test_items_come_back_to_the_letter_and_in_order(memory):
    async def scenario():
        session = RecollectSession("s", memory)
        await session.add_items([])
        assert await session.get_items() == [] and await session.pop_item() is None
        await session.add_items(ITEMS[:5])
        await session.add_items(ITEMS[5:])
        assert await session.get_items() == ITEMS
        assert await session.get_items(limit=3) == ITEMS[-3:] and await session.get_items(0) == []
        assert await session.get_items(100) == ITEMS
        assert [await session.pop_item() for _ in range(4)] == ITEMS[:-5:-1]
        await session.add_items([ITEMS[0], ITEMS[0]])
        assert await session.get_items() == [*ITEMS[:-4], ITEMS[0], ITEMS[0]]
        limited = RecollectSession("s", memory, session_settings=SessionSettings(limit=2))
        assert await limited.get_items() == [ITEMS[0], ITEMS[0]] and len(await limited.get_items(5)) == 5
        await session.clear_session()
        assert await session.get_items() == [] and list(memory.each()) == []

    run(scenario())


def test_what_was_said_is_recalled_and_nothing_else(memory):
    run(RecollectSession("s", memory).add_items(ITEMS))
    texts = {hit.text for query in ("Priya parents", "Goa", "zanzibar", "search") for hit in memory.recall(query)}
    assert texts == {"Where do Priya's parents live?", "They live in Goa."}
    hit = memory.recall("Goa")[0]
    assert (hit.session, hit.speaker, hit.kind) == ("s", "Assistant", "episodic") and hit.record.views["assistant"] == hit.text
    asked = memory.recall("Where do Priya's parents live?")[0].record
    assert asked.views["user"] == asked.text and hit.record.views["next_user"] == "And this?\n[image]"


def test_sessions_owners_agents_and_projects_share_nothing(memory):
    async def scenario():
        names = ["a", "A", "a ", "aa", "a%", "a' OR 1=1", "a\n", "x" * 300, "x" * 301, "session-a", "\ud800"]
        scopes = [
            Scope(owner="o"),
            Scope(owner="p"),
            Scope(owner="o", agent="b"),
            Scope(owner="o", project="q"),
            Scope(owner="o", project="r"),
        ]
        sessions = [RecollectSession(name, memory) for name in names] + [
            RecollectSession("a", memory.for_owner(one)) for one in scopes
        ]
        for number, session in enumerate(sessions):
            await session.add_items([{"role": "user", "content": f"secret {number}"}])
        unbound = sessions[len(names)]  # without agent and project it sees what its owner's agents and projects have
        for number, session in enumerate(sessions):
            if session is not unbound:
                assert await session.get_items() == [{"role": "user", "content": f"secret {number}"}]
        await sessions[0].clear_session()
        assert await sessions[1].get_items() and await sessions[len(names) + 1].get_items()

    run(scenario())


def test_a_conversation_remembered_beside_it_is_left_alone(memory):
    async def scenario():
        session = RecollectSession("s", memory)
        memory.remember_messages([{"role": "user", "content": "I like walnuts."}], session="s")
        await session.add_items([ITEMS[0]])
        memory.remember_messages([{"role": "user", "content": "And hazelnuts."}], session="s")
        await session.add_items([ITEMS[4]])
        assert await session.get_items() == [ITEMS[0], ITEMS[4]]
        await session.clear_session()
        assert {hit.text for hit in memory.recall("walnuts hazelnuts")} == {"I like walnuts.", "And hazelnuts."}

    run(scenario())


def test_tasks_that_add_and_pop_at_once_lose_nothing(tmp_path):
    async def scenario(memory):
        sessions = [RecollectSession("s", memory) for _ in range(3)]
        await asyncio.gather(
            *(sessions[n % 3].add_items([{"role": "user", "content": f"{n}-{part}"} for part in "ab"]) for n in range(12))
        )
        items = [item["content"] for item in await sessions[0].get_items()]
        assert len(items) == 24 and all(items[n][:-1] == items[n + 1][:-1] for n in range(0, 24, 2)), (
            "what came together stays together"
        )
        popped = await asyncio.gather(*(sessions[n % 3].pop_item() for n in range(10)))
        left = await sessions[0].get_items()
        assert sorted(item["content"] for item in [*popped, *left]) == sorted(items)

    with Memory.open(f"{tmp_path}/m.db", owner="alice", embedder="none") as memory:
        run(scenario(memory))


class Parrot(Model):
    """Says what it was told last, and how many items it was shown."""

    async def get_response(self, system_instructions, input, *rest, **named):
        text = f"{len(input)}: {input[-1]['content']}"
        content = [ResponseOutputText(text=text, type="output_text", annotations=[], logprobs=[])]
        said = ResponseOutputMessage(id="m", content=content, role="assistant", status="completed", type="message")
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *rest, **named):
        raise NotImplementedError


def test_the_sdks_runner_keeps_its_conversation_there(memory):
    async def scenario():
        agent, quiet = Agent(name="parrot", model=Parrot()), RunConfig(tracing_disabled=True)
        async with AsyncMemory(memory) as held:
            session = RecollectSession("chat", held)
            first = await Runner.run(agent, "I like walnuts.", session=session, run_config=quiet)
            second = await Runner.run(agent, "What do I like?", session=session, run_config=quiet)
            assert (first.final_output, second.final_output) == ("1: I like walnuts.", "3: What do I like?")
            assert [item["role"] for item in await session.get_items()] == ["user", "assistant"] * 2
            assert (await held.recall("walnuts", limit=1))[0].text == "I like walnuts."

    run(scenario())


STEPS = st.one_of(
    st.tuples(st.just("add"), st.lists(st.sampled_from(ITEMS[:3] + ITEMS[-3:-2]), max_size=3)),
    st.tuples(st.just("pop")),
    st.tuples(st.just("get"), st.sampled_from([None, 0, 1, 2, 50, -1])),
    st.tuples(st.just("clear")),
)


async def said(session, step):
    match step:
        case "add", items:
            return await session.add_items(items)
        case "pop", *_:
            return await session.pop_item()
        case "get", limit:
            return await session.get_items(limit)
        case "clear", *_:
            return await session.clear_session()


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=3, max_size=15))
def test_it_answers_as_the_sdks_own_session(steps):
    async def scenario(memory):
        ours, theirs = RecollectSession("s", memory), SQLiteSession("s")
        try:
            for step in steps:
                assert await said(ours, step) == await said(theirs, step), step
        finally:
            theirs.close()

    with Memory.open("memory:", owner="alice", embedder="none") as memory:
        run(scenario(memory))
