"""AsyncMemory: all of Memory, awaitable; the loop never waits, and who is cancelled waits no longer."""

from __future__ import annotations

import asyncio
import inspect
import threading
from contextvars import ContextVar

import pytest

from recollect import AsyncMemory, Memory
from recollect.aio import Threads
from recollect.errors import Overloaded, StoreClosed, UnknownRecord
from recollect.settings import Settings
from recollect.testing import FixedClock

GUARD = 30
PUBLIC = {name for name in vars(Memory) if not name.startswith("_")}
AT_ONCE = {"open", "for_owner", "each", "scope", "now", "store", "dead_letters"}  # not asked like the others


def opened(**given) -> AsyncMemory:
    usual = {"owner": "alice", "embedder": "hashing", "settings": Settings(), "clock": FixedClock()}
    return AsyncMemory.open(given.pop("url", "memory:"), **usual | given)


def run(main) -> None:
    asyncio.run(asyncio.wait_for(main, GUARD))


class Watched:
    """A store that notes which threads use it, and waits at a gate before it does anything."""

    def __init__(self, part: object, threads: set[int], gate: threading.Event) -> None:
        self._part, self._threads, self._gate = part, threads, gate

    def __getattr__(self, name: str):
        found = getattr(self._part, name)
        if name in ("lexical", "vector", "graph", "temporal", "outbox", "notes"):
            return Watched(found, self._threads, self._gate)
        if not callable(found):
            return found

        def watched(*given, **named):
            self._threads.add(threading.get_ident())
            assert self._gate.wait(GUARD)
            return found(*given, **named)

        return watched


def watched(memory: AsyncMemory) -> tuple[set[int], threading.Event]:
    inner, threads, gate = memory._memory, set[int](), threading.Event()
    gate.set()
    inner._store = Watched(inner._store, threads, gate)
    return threads, gate


async def under_way(threads: set[int]) -> None:
    """A thread has come to the store, and waits there."""
    while not threads:
        await asyncio.sleep(0.001)


def test_it_has_every_method_of_memory():
    assert PUBLIC - {"store"} <= {name for name in dir(AsyncMemory) if not name.startswith("_")}
    for name in sorted(PUBLIC - AT_ONCE):
        method = inspect.getattr_static(Memory, name)
        if inspect.isfunction(method) and name != "close":
            twin = inspect.getattr_static(AsyncMemory, name)
            assert inspect.iscoroutinefunction(twin) and inspect.signature(twin) == inspect.signature(method), name
            assert twin.__doc__ == method.__doc__


def test_a_memory_from_beginning_to_end(tmp_path):
    async def main():
        async with opened(url=str(tmp_path / "memory.db")) as memory:
            told = await memory.remember("Priya's parents live in Goa.", id="m1")
            assert [hit.id for hit in await memory.recall("Where do Priya's parents live?")] == ["m1"]
            assert "Goa" in await memory.context("parents") and (await memory.get("m1")) == told
            assert await memory.dead_letters.list() == []
            assert await memory.dead_letters.retry() == await memory.dead_letters.drop() == 0
            assert (await memory.recipe).name == "balanced" and memory.scope.owner == "alice"
            await memory.remember_many(f"note {number}" for number in range(450))
            assert sorted([one.role async for one in memory.each()]) == ["derived", *["note"] * 451]  # a fact beside m1
            bob = await memory.for_owner("bob")
            assert await bob.list() == [] and repr(memory).startswith("<AsyncMemory of alice")
            with pytest.raises(UnknownRecord):
                await bob.get("m1")
            assert (await memory.forget("m1"))["removed"]["records"] == 1
            assert (await memory.update_settings(rrf_k=20))["recipe"] == "balanced(rrf_k=20)"
        with pytest.raises(StoreClosed):
            await memory.recall("anything")
        again = await opened(url=str(tmp_path / "memory.db"))
        assert (await again.status())["records"] == 450
        await again.close()

    run(main())


def test_the_loops_own_thread_never_touches_the_store():
    async def main():
        async with opened() as memory:
            threads, _ = watched(memory)
            await memory.remember("Priya's parents live in Goa.", id="m1")
            await memory.remember_messages([{"role": "user", "content": "And mine in Panaji."}], session="s1")
            for call in (
                memory.recall("Goa"), memory.explain("Goa", expect="m1"), memory.inspect("Goa"), memory.context("Goa"),
                memory.history("m1"), memory.list(), memory.get("m1"), memory.settings(), memory.update_settings(rrf_k=9),
                memory.status(), memory.upkeep(), memory.reembed(), memory.flush(), memory.entities(), memory.promote("m1"),
                memory.neighborhood("Goa"), memory.amend("m1", speaker="Rajesh"), memory.feedback("Goa", "m1"), memory.recipe,
                memory.forget("m1"),
            ):  # fmt: skip
                await call
            assert [one async for one in memory.each()]
            assert threads and threading.get_ident() not in threads

    run(main())


def test_the_loop_goes_on_while_the_store_stands_still():
    async def main():
        async with opened() as memory:
            await memory.remember("Priya's parents live in Goa.")
            _, gate = watched(memory)
            gate.clear()
            asked = [asyncio.create_task(memory.recall("Goa")) for _ in range(20)]  # more than there are threads
            for _ in range(100):
                await asyncio.sleep(0)
            assert not any(task.done() for task in asked)
            gate.set()
            assert all(len(answer) == 1 for answer in await asyncio.gather(*asked))

    run(main())


def test_who_is_cancelled_stops_waiting_and_what_had_begun_holds():
    async def main():
        async with await opened(threads=1) as memory:
            threads, gate = watched(memory)
            gate.clear()
            begun = asyncio.create_task(memory.remember("begun", id="begun"))
            waiting = asyncio.create_task(memory.remember("not begun", id="not-begun"))
            await under_way(threads)
            for task in (begun, waiting):
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(memory.recall("anything"), 0.05)
            gate.set()
            assert [record.id for record in await memory.list()] == ["begun"]

    run(main())


def test_closing_lets_what_was_begun_end_also_when_cancelled():
    async def main():
        memory = await opened()
        threads, gate = watched(memory)
        gate.clear()
        writing = asyncio.create_task(memory.remember("the last words", id="last"))
        await under_way(threads)
        closing = asyncio.create_task(memory.close())
        await asyncio.sleep(0)
        closing.cancel()
        gate.set()
        assert (await writing).id == "last"
        with pytest.raises(StoreClosed):
            await memory.recall("anything")

    run(main())


def test_several_steps_may_be_one_call():
    async def main():
        memory = await opened()
        assert AsyncMemory.of(memory) is memory and AsyncMemory.of(memory.memory).memory is memory.memory

        def steps(inner, text):
            inner.remember(text)
            return threading.current_thread().name, len(inner.list())

        name, count = await memory.run(steps, memory.memory, "Two steps, one call.")
        assert name.startswith("recollect") and count == 1
        await memory.close()
        with pytest.raises(StoreClosed):
            await memory.run(steps, memory.memory, "too late")

    run(main())


def test_calls_see_the_callers_context_and_errors_arrive():
    whose = ContextVar("whose", default="nobody")

    async def main():
        threads = Threads(2, most=2)
        whose.set("alice")
        assert await threads.run(whose.get) == "alice"
        with pytest.raises(ZeroDivisionError):
            await threads.run(lambda: 1 / 0)
        gate = threading.Event()
        busy = [asyncio.create_task(threads.run(gate.wait, GUARD)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await threads.run(whose.get)
        gate.set()
        assert await asyncio.gather(*busy) == [True, True]
        await threads.end(lambda: None)

    run(main())
