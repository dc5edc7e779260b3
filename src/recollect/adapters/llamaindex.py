"""LlamaIndex's memory block and retriever, on a memory.

    from llama_index.core.memory import Memory as ChatMemory
    from recollect.adapters.llamaindex import RecollectMemoryBlock, RecollectRetriever
    ChatMemory.from_defaults(session_id="chat-1", memory_blocks=[RecollectMemoryBlock(memory=memory)])
    RetrieverQueryEngine.from_args(RecollectRetriever(memory), llm=llm)

What leaves the short-term memory is remembered as a conversation, once; what is recalled for the latest message stands in the
prompt as the safe `<memory>` block, from all sessions of the memory's owner or, with `same_session=True`, from this one alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..aio import AsyncMemory
from ..errors import MissingExtra
from ..memory import Memory
from ..rankings import Answer
from ..render import CLOSE
from .carried import plain

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.core.utils import get_tokenizer
except ImportError:
    raise MissingExtra("LlamaIndex is not installed.", hint='pip install "recollect[llamaindex]"') from None

SESSION = "llamaindex"  # of messages that come without one
ROLES = {"model": "assistant", "chatbot": "assistant", "function": "tool", "developer": "system"}


class RecollectMemoryBlock(BaseMemoryBlock[str]):
    """See the module."""

    name: str = "recollect"
    memory: Memory | AsyncMemory = Field(exclude=True, description="What remembers and recalls.")
    limit: int | None = Field(default=None, description="At most so many memories; the recipe's own number if not given.")
    max_tokens: int | None = Field(default=None, description="The longest block, in tokens.")
    max_chars: int = Field(default=2000, description="The longest block, in characters.")
    same_session: bool = Field(default=False, description="Whether only this session's memories are recalled.")
    window: int = Field(default=1, ge=1, description="How many of the latest messages make the question.")
    asked: Mapping[str, Any] = Field(default_factory=dict, description="What else recall is to be asked: recipe, kinds, since, …")
    _aio: AsyncMemory = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        self._aio = AsyncMemory.of(self.memory)

    async def _aget(self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **_: Any) -> str:
        """The block of what is recalled for the latest messages; empty, when there is nothing."""
        said = [text for message in messages or () if _role(message) == "user" and (text := _text(message))]
        if not said:
            return ""
        asked: dict[str, Any] = dict(self.asked) | ({"limit": self.limit} if self.limit is not None else {})
        if session_id is not None:
            session = plain("session", session_id)
            asked |= {"session": session} | ({"sessions": [session]} if self.same_session else {})
        question = "\n".join(said[-self.window :])
        return await self._aio.context(question, max_chars=self.max_chars, max_tokens=self.max_tokens, **asked)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Remember messages as turns of their session."""
        sessions: dict[str, list[dict[str, Any]]] = {}
        for message in messages:
            if text := _text(message):
                session = str(message.additional_kwargs.get("session_id") or SESSION)
                sessions.setdefault(plain("session", session), []).append({"role": _role(message), "content": text})
        for session, said in sessions.items():
            await self._aio.remember_messages(said, session=session)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The block without its last memories, so that so many tokens are saved; None when no memory would be left."""
        if not isinstance(content, str):
            return None
        count, lines = get_tokenizer(), content.split("\n")
        most = len(count(content)) - tokens_to_truncate
        while any(line.startswith("- ") for line in lines):
            if len(count("\n".join(lines))) <= most:
                return "\n".join(lines)
            del lines[-2 if lines[-1] == CLOSE else -1]
            while len(lines) > 1 and lines[-1] == CLOSE and not lines[-2].startswith("- "):  # a heading with nothing below it
                del lines[-2]
        return None


class RecollectRetriever(BaseRetriever):
    """What is recalled, as nodes. `asked`: whatever recall can be asked, such as limit, recipe, kinds, sessions."""

    def __init__(
        self, memory: Memory | AsyncMemory, *, callback_manager: Any = None, verbose: bool = False, **asked: Any
    ) -> None:
        self._aio, self._asked = AsyncMemory.of(memory), asked
        super().__init__(callback_manager=callback_manager, verbose=verbose)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(self._aio.memory.recall(query_bundle.query_str, **self._asked))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(await self._aio.recall(query_bundle.query_str, **self._asked))


def _nodes(answer: Answer) -> list[NodeWithScore]:
    return [NodeWithScore(node=_node(hit), score=hit.score) for hit in answer]


def _node(hit: Any) -> TextNode:
    """A hit as a node. What a model need not read is left out of what it is shown, as LlamaIndex lets us say."""
    about = {"kind": hit.kind, "speaker": hit.speaker, "session": hit.session, "at": hit.at.isoformat() if hit.at else None}
    metadata = {name: value for name, value in about.items() if value is not None}
    hidden: Sequence[str] = [name for name in ("kind", "session") if name in metadata]
    return TextNode(
        id_=hit.id, text=hit.text, metadata={**metadata, "owner": hit.record.owner, "tags": list(hit.record.tags)},
        excluded_llm_metadata_keys=[*hidden, "owner", "tags"], excluded_embed_metadata_keys=[*metadata, "owner", "tags"],
    )  # fmt: skip


def _role(message: ChatMessage) -> str:
    return ROLES.get(message.role.value, message.role.value)


def _text(message: ChatMessage) -> str:
    return (message.content or "").strip()
