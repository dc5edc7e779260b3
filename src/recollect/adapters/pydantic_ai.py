"""Pydantic AI's `FunctionToolset`, on a memory: the six tools of `recollect mcp`, in the same words, without a server between.

    from recollect.adapters.pydantic_ai import RecollectToolset
    Agent("…", toolsets=[RecollectToolset(memory)])                                       # one memory for all runs
    Agent("…", deps_type=User, toolsets=[RecollectToolset(lambda ctx: ctx.deps.memory)])  # each run its own

With `context=True` what is recalled for the user's prompt stands in the instructions of each run, as the safe `<memory>` block.
What a model got wrong goes back to it as a retry that says how to put it right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ..aio import AsyncMemory
from ..errors import InvalidRequest, MissingExtra, RecollectError
from ..memory import Memory

try:
    from pydantic import ValidationError
    from pydantic_ai import FunctionToolset, ModelRetry, RunContext, Tool, ToolReturn
except ImportError:
    raise MissingExtra("Pydantic AI is not installed.", hint='pip install "recollect[pydantic-ai]"') from None

from ..mcp import tools as offered

TOOLS = tuple(tool.name for tool in offered.SIX)
HIT = ("id", "text", "kind", "at", "speaker", "session", "score")  # what of a hit a model is told
Held = Memory | AsyncMemory


class RecollectToolset(FunctionToolset[Any]):
    """See the module. `memory`: one, or a function of the run's context. `tools`: which; all six, if not given."""

    def __init__(
        self, memory: Held | Callable[[RunContext[Any]], Held], *, tools: Sequence[str] = TOOLS, context: bool = False,
        max_chars: int = 2000, **options: Any,
    ) -> None:  # fmt: skip
        unknown = set(tools) - set(TOOLS)
        if unknown:
            raise InvalidRequest(f"There is no tool {min(unknown)!r:.60}.", hint=f"The tools are {', '.join(TOOLS)}.")
        held = AsyncMemory.of(memory) if isinstance(memory, (Memory, AsyncMemory)) else None
        self._memory_of = (lambda _: held) if held is not None else lambda ctx: AsyncMemory.of(memory(ctx))
        self._max_chars = max_chars
        if context:
            options["instructions"] = [*_several(options.get("instructions")), self._context]
        made = [self._tool(tool) for tool in offered.SIX if tool.name in tools]
        super().__init__(made, **options)

    async def _context(self, ctx: RunContext[Any]) -> str | None:
        """What is recalled for the prompt of this run."""
        prompt = (
            ctx.prompt if isinstance(ctx.prompt, str) else "\n".join(text for text in ctx.prompt or () if isinstance(text, str))
        )
        if not prompt.strip():
            return None
        return await self._memory_of(ctx).context(prompt, max_chars=self._max_chars) or None

    def _tool(self, tool: offered.Tool) -> Tool[Any]:
        async def run(ctx: RunContext[Any], **given: Any) -> ToolReturn:
            try:
                asked = tool.takes.model_validate(given)
                memory = self._memory_of(ctx)
                said = await memory.run(tool.run, memory.memory, asked)
            except ValidationError as error:
                raise ModelRetry(json.dumps(error.errors(include_url=False, include_input=False), default=str)) from None
            except RecollectError as error:
                raise ModelRetry(str(error)) from None
            return _returned(said)

        schema = tool.takes.model_json_schema(by_alias=True)
        return Tool.from_schema(run, tool.name, tool.about, schema, takes_ctx=True)


def _returned(said: Any) -> ToolReturn:
    """Text or short tables for the model; the whole JSON of every door as metadata, for the program."""
    if isinstance(said, offered.Said):
        return ToolReturn(said.text, metadata=said.found)
    if "hits" in said:
        hits = [{name: hit[name] for name in HIT if hit.get(name) is not None} for hit in said["hits"]]
        return ToolReturn(hits, metadata=said)
    return ToolReturn(said, metadata=said)


def _several(instructions: Any) -> list[Any]:
    if instructions is None:
        return []
    return list(instructions) if isinstance(instructions, (list, tuple)) else [instructions]
