"""The OpenAI Agents SDK's `Session`, on a memory: the conversation is kept item by item, and what was said in it can be recalled.

    from recollect.adapters.openai_agents import RecollectSession
    await Runner.run(agent, "Hello", session=RecollectSession("chat-1", memory))

An item is one record, to the letter in its metadata. What the user and the assistant say are turns: searched, linked to each
other, and recalled from any other session of the same owner. Calls of tools, their outputs and reasoning are kept for the
session alone, and no search sees them. It needs nothing of the SDK: that asks for four methods and nothing to inherit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from ..aio import AsyncMemory
from ..errors import DuplicateRecord, InvalidRecord, RecordChanged, UnknownRecord
from ..memory import Memory
from ..messages import ASSISTANT, USER, read_messages
from ..records import DERIVED, Record
from .carried import TRIES, carried, carry, lacking, name_of, plain, remove, visible

MARK = "openai_agents"
SPEAKERS = {USER: "User", ASSISTANT: "Assistant"}


class RecollectSession:
    """See the module. `session_settings`: the SDK's own, whose `limit` holds where `get_items` is given none."""

    def __init__(self, session_id: str, memory: Memory | AsyncMemory, *, session_settings: Any = None) -> None:
        if not isinstance(session_id, str) or not session_id:
            raise InvalidRecord(f"session_id={session_id!r:.60} is not a name.", hint='RecollectSession("chat-1", memory)')
        self.session_id, self.session_settings = session_id, session_settings
        self._aio = AsyncMemory.of(memory)
        self._memory = self._aio.memory
        self._session = plain("session", session_id)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The items in their order: all of them, or the latest so many."""
        return await self._aio.run(self._items, self._limit() if limit is None else limit)

    async def add_items(self, items: Sequence[Any]) -> None:
        """More items, behind those that are there."""
        await self._aio.run(self._add, list(items))

    async def pop_item(self) -> Any | None:
        """Take the latest item away; None when there is none."""
        return await self._aio.run(self._pop)

    async def clear_session(self) -> None:
        """Forget every item, and with them what was said."""
        await self._aio.run(self._clear)

    def _limit(self) -> int | None:
        settings = self.session_settings
        return settings.get("limit") if isinstance(settings, Mapping) else getattr(settings, "limit", None)

    def _records(self) -> Iterator[Record]:
        """The latest first."""
        found = self._memory.each(order="latest", sessions=[self._session], roles=("turn", DERIVED))
        return (record for record in found if record.metadata.get(MARK) == self.session_id)

    def _items(self, limit: int | None) -> list[Any]:
        found: list[Any] = []
        for record in self._records():
            if limit is not None and 0 <= limit <= len(found):
                break
            found.append(carried(self._memory, record))
        return found[::-1]

    def _add(self, items: list[Any]) -> None:
        tokens = [uuid4().hex for _ in items]  # two items that say the same are two items
        for _ in range(TRIES if items else 0):
            last = next(self._records(), None)
            start = 0 if last is None or last.turn is None else last.turn + 1
            drafts = [
                draft for number, (item, token) in enumerate(zip(items, tokens, strict=True), start)
                for draft in self._drafts(number, item, token)
            ]  # fmt: skip
            try:
                self._memory.remember_many(drafts)
                return
            except DuplicateRecord as error:
                lost = error  # somebody else added just now: go on behind
        if items:
            raise lost

    def _drafts(self, number: int, item: Any, token: str) -> list[dict[str, Any]]:
        scope = self._memory.scope
        id = name_of("item", scope.agent, scope.project, MARK, self.session_id, number)
        metadata, rest = carry(id, item)
        metadata |= {MARK: self.session_id, "token": token}
        draft = {"id": id, "session": self._session, "turn": number, "kind": "episodic", "source": "openai-agents"}
        return [*lacking(self._memory, rest), {**draft, **_said(item), "metadata": metadata}]

    def _pop(self) -> Any | None:
        for _ in range(TRIES):
            record = next(self._records(), None)
            if record is None:
                return None
            try:
                item = carried(self._memory, record)
                remove(self._memory, record)
                return item
            except (RecordChanged, UnknownRecord) as error:
                lost = error  # somebody else popped it, or linked it to what was said next
        raise lost

    def _clear(self) -> None:
        while self._pop() is not None:
            pass


def _said(item: Any) -> dict[str, Any]:
    """What is searched of an item: the words of the user and of the assistant."""
    try:
        messages = [message for message in read_messages([item]) if message.role in SPEAKERS and visible(message.text)]
    except InvalidRecord:
        messages = []
    if not messages or (isinstance(item, Mapping) and "role" not in item):
        return {"text": "an item", "role": DERIVED}
    message = messages[0]
    views = {message.role: message.text}
    return {"text": message.text, "role": "turn", "speaker": message.speaker or SPEAKERS[message.role], "views": views}
