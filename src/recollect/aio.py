"""AsyncMemory: Memory for asyncio. Every method has the same name and arguments, and is awaited.

    async with AsyncMemory.open("memory.db", owner="alice") as memory:
        await memory.remember("Priya's parents live in Goa.")
        answer = await memory.recall("Where do Priya's parents live?")

The methods are made from Memory's, not written a second time: each runs in a thread of a small pool of its own, so the event
loop never waits. A thread can't be interrupted: who is cancelled stops waiting at once; a call that had not begun is
never made, one that had begun runs to its end, unseen, and a write of it holds. Callbacks (`progress`) are called in that thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial, wraps
from itertools import islice
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from .dead_letters import DeadLetter
from .errors import Overloaded, StoreClosed
from .memory import Memory
from .recipes import Recipe
from .records import Record, Scope

P = ParamSpec("P")
T = TypeVar("T")
THREADS = 8
AT_ONCE = 200  # records fetched by `each` with one visit to a thread


class Threads:
    """At most `count` threads, each started when it is first needed. With `most`, so many calls may be on their way at once."""

    def __init__(self, count: int = THREADS, *, most: int | None = None) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="recollect")
        self._most, self._at_work = most, set[Future[Any]]()

    async def run(self, call: Callable[..., T], /, *given: Any, **named: Any) -> T:
        """The result of a call in one of the threads, with the caller's context variables."""
        return await asyncio.wrap_future(self._submit(partial(call, *given, **named)))

    async def end(self, last: Callable[[], None]) -> None:
        """Make a last call after all others, and let the threads go. Once begun, it is not undone by cancelling the wait."""
        others = list(self._at_work)
        ending = self._submit(lambda: (wait(others), last()))
        self._pool.shutdown(wait=False)
        await asyncio.wrap_future(ending)

    def __len__(self) -> int:
        return len(self._at_work)

    def _submit(self, call: Callable[[], Any]) -> Future[Any]:
        if self._most is not None and len(self._at_work) >= self._most:
            raise Overloaded(f"{self._most} calls are on their way already.", hint="Try again in a moment.")
        try:
            work = self._pool.submit(copy_context().run, call)
        except RuntimeError:  # the pool was shut down
            raise StoreClosed() from None
        self._at_work.add(work)
        work.add_done_callback(self._at_work.discard)
        return work


def _awaitable(method: Callable[Concatenate[Memory, P], T]) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]:
    """The method as it is, in a thread."""

    @wraps(method)
    async def awaited(self: AsyncMemory, /, *given: P.args, **named: P.kwargs) -> T:
        return await self._threads.run(getattr(self._memory, method.__name__), *given, **named)

    return awaited


class AsyncMemory:
    """See the module. Make one with `AsyncMemory.open`, or around a Memory that is open."""

    def __init__(self, memory: Memory, *, threads: Threads | None = None) -> None:
        self._memory = memory
        self._threads = Threads() if threads is None else threads  # idle threads are false, and still there

    @classmethod
    def open(cls, *given: Any, threads: int = THREADS, **named: Any) -> Opening:
        """What `Memory.open` takes; await it, or use it with `async with`. `threads`: how many calls run side by side."""
        return Opening(cls, partial(Memory.open, *given, **named), threads)

    @classmethod
    def of(cls, memory: Memory | AsyncMemory) -> AsyncMemory:
        """A memory for asyncio, whichever of the two is given."""
        return memory if isinstance(memory, AsyncMemory) else cls(memory)

    @property
    def memory(self) -> Memory:
        """The Memory inside, for a thread that may wait."""
        return self._memory

    @property
    def scope(self) -> Scope:
        return self._memory.scope

    async def run(self, call: Callable[..., T], /, *given: Any, **named: Any) -> T:
        """A call of yours in one of the threads: for several steps on the Memory inside that belong together."""
        return await self._threads.run(call, *given, **named)

    @property
    def recipe(self) -> Awaitable[Recipe]:
        """The recipe in force: `await memory.recipe`."""
        return self._threads.run(lambda: self._memory.recipe)

    @property
    def dead_letters(self) -> AsyncDeadLetters:
        """What could not be read: `await memory.dead_letters.list()`."""
        return AsyncDeadLetters(self)

    async def for_owner(self, owner: str | Scope) -> Self:
        """The same open store and threads, for somebody else; close the first one only."""
        return type(self)(self._memory.for_owner(owner), threads=self._threads)

    async def each(self, **asked: Any) -> AsyncIterator[Record]:
        """Every record, one after the other, however many: `async for record in memory.each()`."""
        coming = await self._threads.run(self._memory.each, **asked)
        while some := await self._threads.run(lambda: list(islice(coming, AT_ONCE))):
            for record in some:
                yield record

    async def close(self) -> None:
        """Let every call that is on its way end, then let go of the file."""
        await asyncio.shield(self._threads.end(self._memory.close))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Async{repr(self._memory)[1:]}"

    remember = _awaitable(Memory.remember)
    remember_many = _awaitable(Memory.remember_many)
    remember_messages = _awaitable(Memory.remember_messages)
    amend = _awaitable(Memory.amend)
    promote = _awaitable(Memory.promote)
    feedback = _awaitable(Memory.feedback)
    forget = _awaitable(Memory.forget)
    flush = _awaitable(Memory.flush)
    recall = _awaitable(Memory.recall)
    explain = _awaitable(Memory.explain)
    inspect = _awaitable(Memory.inspect)
    context = _awaitable(Memory.context)
    render = _awaitable(Memory.render)
    get = _awaitable(Memory.get)
    list = _awaitable(Memory.list)
    history = _awaitable(Memory.history)
    entities = _awaitable(Memory.entities)
    neighborhood = _awaitable(Memory.neighborhood)
    now = _awaitable(Memory.now)
    take = _awaitable(Memory.take)
    holdings = _awaitable(Memory.holdings)
    reembed = _awaitable(Memory.reembed)
    upkeep = _awaitable(Memory.upkeep)
    index = _awaitable(Memory.index)
    backup = _awaitable(Memory.backup)
    settings = _awaitable(Memory.settings)
    update_settings = _awaitable(Memory.update_settings)
    status = _awaitable(Memory.status)


class AsyncDeadLetters:
    """Memory's `dead_letters`, each method awaited."""

    def __init__(self, memory: AsyncMemory) -> None:
        self._run, self._letters = memory.run, memory.memory.dead_letters

    async def retry(self, *ids: str) -> int:
        return await self._run(self._letters.retry, *ids)

    async def drop(self, *ids: str) -> int:
        return await self._run(self._letters.drop, *ids)

    async def list(self) -> list[DeadLetter]:
        return await self._run(self._letters.list)


class Opening:
    """A memory that is about to be opened."""

    def __init__(self, kind: type[AsyncMemory], open_memory: Callable[[], Memory], threads: int) -> None:
        self._kind, self._open, self._count = kind, open_memory, threads

    def __await__(self) -> Generator[Any, None, AsyncMemory]:
        return self._opened().__await__()

    async def __aenter__(self) -> AsyncMemory:
        self._made = await self._opened()
        return self._made

    async def __aexit__(self, *error: object) -> None:
        await self._made.close()

    async def _opened(self) -> AsyncMemory:
        threads = Threads(self._count)
        return self._kind(await threads.run(self._open), threads=threads)
