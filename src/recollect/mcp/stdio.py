"""One person's memory over standard input and output, for an agent that starts the server itself."""

from __future__ import annotations

from collections.abc import Sequence

from mcp.server.stdio import stdio_server

from ..aio import Threads
from ..http.service import Caller
from ..memory import Memory
from .door import Door


async def serve_stdio(memory: Memory, sets: Sequence[str], *, read_only: bool = False) -> None:
    """Serve until the input ends."""

    def memory_of(owner: str) -> Memory:
        return memory if owner == memory.scope.owner else memory.for_owner(owner)

    caller = Caller(reads_only=read_only)
    server = Door(sets, Threads(), lambda request: (caller, memory.scope.owner), memory_of).server()
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
