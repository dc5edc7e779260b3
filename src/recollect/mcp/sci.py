"""The tools of a personal memory server, under its names: memory_recall, memory_store, memory_identity, memory_status.

A profile is an owner beside the others of the tenant; identity facts belong to the tenant, whatever the profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from ..http import answers
from ..http.shapes import Name, Shape, Text, When
from ..memory import Memory
from ..wire import page_json, recall_json, told_json
from .tools import Limit, Tool

Type = Literal["episodic", "semantic", "identity"]
Profile = Annotated[Name | None, Field(description="Whose memory within the tenant; the caller's own if left out.")]


class OfProfile(Shape):
    profile: Profile = None

    def owner(self, own: str) -> str:
        """The owner path of the profile, which the caller must be allowed to name."""
        return own if self.profile is None else f"{own.split('/', 1)[0]}/{self.profile}"


class Recall(OfProfile):
    query: str = Field(description="The question.")
    limit: Limit = 10
    memory_types: list[Type] | None = Field(None, description="Only memories of these types; all three if left out.")


class Store(OfProfile):
    content: Text = Field(description="What to remember: one self-contained sentence.")
    memory_type: Type = "semantic"
    tags: list[Name] | None = None
    at: When | None = Field(None, description="When it happened, ISO 8601; now if left out.")


class Whose(OfProfile):
    pass


def _recall(memory: Memory, asked: Recall) -> dict[str, Any]:
    return recall_json(memory.recall(asked.query, recipe="sci", limit=asked.limit, kinds=asked.memory_types or ()))


def _store(memory: Memory, told: Store) -> dict[str, Any]:
    about = {"kind": told.memory_type, "tags": told.tags or (), "at": told.at}
    return told_json(memory.remember(told.content, **about), about)


def _identity(memory: Memory, asked: Whose) -> dict[str, Any]:
    return page_json(memory.for_owner(memory.scope.tenant).list(kinds=["identity"], limit=1000), 1000)


SCI: Sequence[Tool] = (
    Tool(
        name="memory_recall", title="Recall", takes=Recall, answers=answers.Answer, run=_recall,
        about="Search memory: dense and full-text side by side, fused by rank.",
    ),
    Tool(
        name="memory_store", title="Store", takes=Store, answers=answers.Told, run=_store, writes=True,
        about="Store a memory: episodic for what happened, semantic for facts, identity for what is true of the whole tenant.",
    ),
    Tool(
        name="memory_identity", title="Identity", takes=Whose, answers=answers.Page, run=_identity,
        about="The identity facts of the tenant.",
    ),
    Tool(
        name="memory_status", title="Status", takes=Whose, run=lambda memory, asked: memory.status(),
        about="How much is remembered, what waits, and the embedder.",
    ),
)  # fmt: skip
