"""LlamaIndex's block and retriever: what leaves the short-term memory is recalled, within its budget, in its own types."""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.memory import Memory as ChatMemory
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.utils import get_tokenizer

from recollect.adapters.llamaindex import RecollectMemoryBlock, RecollectRetriever
from recollect.aio import AsyncMemory


@pytest.fixture
def memory(open_memory):
    return open_memory()


def user(text: str, **more) -> ChatMessage:
    return ChatMessage(role="user", content=text, **more)


def assistant(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def run(scenario):
    return asyncio.run(scenario)


def test_what_is_put_is_got_for_a_later_question(memory):
    async def scenario():
        block = RecollectMemoryBlock(memory=memory)
        assert isinstance(block, BaseMemoryBlock) and block.name == "recollect"
        assert await block.aget() == "" == await block.aget([assistant("Hello")]) == await block.aget([user("Anything?")])
        await block.aput([user("Priya's parents live in Goa."), assistant("Noted.")], session_id="chat-1")
        found = await block.aget([user("Hello"), assistant("Hi"), user("Where do Priya's parents live?")], session_id="chat-2")
        assert found.startswith("<memory>") and found.endswith("</memory>") and "live in Goa" in found
        assert await block.aget([user("zebra")]) == ""

    run(scenario())
    (turn,) = memory.list(roles=["turn"])
    assert (turn.session, turn.views["assistant"], turn.kind) == ("chat-1", "Noted.", "episodic")


def test_messages_put_twice_are_remembered_once_and_sessions_apart(memory):
    async def scenario():
        block = RecollectMemoryBlock(memory=memory)
        said = [user("I like walnuts."), assistant("Good.")]
        await block.aput(said, session_id="a")
        await block.aput([*said, user("And pears."), assistant("Fine.")], session_id="a")
        await block.aput([user("I like walnuts, too.")], session_id="b\n" + "x" * 300)
        await block.aput([user("Without a session, walnuts.")])
        await block.aput([])
        assert len(memory.list(roles=["turn"])) == 4 and len({turn.session for turn in memory.list(roles=["turn"])}) == 3
        here = RecollectMemoryBlock(memory=memory, same_session=True, name="here")
        assert "too" not in await here.aget([user("walnuts?")], session_id="a")
        there = await here.aget([user("walnuts?")], session_id="b\n" + "x" * 300)
        assert "too" in there and "Without" not in there

    run(scenario())


def test_the_question_is_made_of_as_many_messages_as_asked(memory):
    async def scenario():
        memory.remember("Priya's parents live in Goa.")
        asked = [user("Tell me of Priya."), assistant("What of her?"), user("Where are they?")]
        assert await RecollectMemoryBlock(memory=memory).aget(asked) == ""
        assert "Goa" in await RecollectMemoryBlock(memory=memory, window=2).aget(asked)

    run(scenario())


def test_pictures_and_tools_do_no_harm(memory):
    async def scenario():
        block = RecollectMemoryBlock(memory=memory)
        picture = ChatMessage(
            role="user", blocks=[ImageBlock(url="https://example.org/x.png"), TextBlock(text="This is my cat.")]
        )
        tool = ChatMessage(role="tool", content="22 degrees", additional_kwargs={"tool_call_id": "1"})
        only = ChatMessage(role="user", blocks=[ImageBlock(url="https://example.org/x.png")])
        await block.aput(
            [ChatMessage(role="system", content="Be brief."), picture, tool, only, assistant("A cat.")], session_id="s"
        )
        assert "cat" in await block.aget([user("my cat")])
        assert await block.aget([only]) == ""

    run(scenario())


def test_truncating_leaves_a_whole_block_of_the_best(memory):
    for number in range(8):
        memory.remember(f"Walnut number {number} is in the cake, says memory {number}.")
    memory.remember("Always answer in rhymes.", kind="procedural")

    async def scenario():
        block = RecollectMemoryBlock(memory=memory, limit=8)
        content, count = await block.aget([user("Which walnut is in the cake?")]), get_tokenizer()
        bullets = [line for line in content.split("\n") if line.startswith("- ")]
        assert len(bullets) >= 8
        for tokens in (0, 1, 20, 60):
            less = await block.atruncate(content, tokens)
            assert len(count(less)) <= len(count(content)) - tokens
            assert less.startswith("<memory>") and less.endswith("</memory>")
            kept = [line for line in less.split("\n") if line.startswith("- ")]
            assert kept == bullets[: len(kept)] and less.split("\n")[-2].startswith("- ")
        assert await block.atruncate(content, len(count(content))) is None
        assert await block.atruncate([], 5) is None and await block.atruncate("", 5) is None

    run(scenario())


def test_llamaindexs_own_memory_hands_over_what_it_can_not_hold(memory):
    async def scenario():
        async with AsyncMemory(memory) as held:
            block = RecollectMemoryBlock(memory=held, priority=1, max_chars=600)
            chat = ChatMemory.from_defaults(
                session_id="chat-1",
                token_limit=300,
                chat_history_token_ratio=0.3,
                token_flush_size=40,
                memory_blocks=[block],
                async_database_uri="sqlite+aiosqlite:///:memory:",
            )
            await chat.aput_messages(
                [user("My walnut cake needs two hundred grams of flour."), assistant("I'll keep that in mind.")]
            )
            for number in range(12):
                await chat.aput_messages([user(f"Now something else, number {number}, of some length."), assistant("Very well.")])
            history = await chat.aget(input="How much flour does the walnut cake need?")
            assert history[0].role.value == "system" and "two hundred grams" in history[0].content
            assert not any("flour" in (message.content or "") for message in history[1:])
            await chat.sql_store._async_engine.dispose()

    run(scenario())


def test_the_retriever_gives_nodes(memory):
    memory.remember("Priya's parents live in Goa.", tags=["family"], session="s", speaker="Rajesh", at="2026-03-01")
    memory.remember("The rent is due on the third.")
    retriever = RecollectRetriever(memory, limit=1)
    assert isinstance(retriever, BaseRetriever)
    for found in (retriever.retrieve("Where do Priya's parents live?"), run(retriever.aretrieve(QueryBundle("Priya's parents")))):
        (node,) = found
        assert isinstance(node, NodeWithScore) and node.score > 0 and node.text == "Priya's parents live in Goa."
        assert (
            node.metadata["speaker"] == "Rajesh"
            and node.metadata["tags"] == ["family"]
            and node.metadata["at"].startswith("2026-03")
        )
        assert node.node_id == memory.recall("Priya")[0].id
    assert RecollectRetriever(memory, sessions=["elsewhere"]).retrieve("Priya") == []


def test_owners_share_nothing(memory):
    async def scenario():
        blocks = [RecollectMemoryBlock(memory=memory.for_owner(f"acme/{name}")) for name in ("alice", "bob")]
        await blocks[0].aput([user("My secret is walnuts.")], session_id="same")
        assert await blocks[1].aget([user("secret walnuts")], session_id="same") == ""
        assert RecollectRetriever(memory.for_owner("acme/bob")).retrieve("secret walnuts") == []

    run(scenario())
