"""What requests may hold, for the check at the door and for the OpenAPI document. What answers hold: `answers`.

The form is checked here; what the values mean is the engine's to judge, and its errors say so.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ..asking import LONGEST_QUESTION
from ..records import ENTITY_TYPES, KINDS, ROLES, VIEWS

Kind = Literal[*KINDS]
Role = Literal[*ROLES]
View = Literal[*VIEWS]
EntityType = Literal[*ENTITY_TYPES]
Name = Annotated[str, StringConstraints(max_length=200)]
Share = Annotated[float, Field(ge=0, le=1)]
When = Annotated[
    str | float, Field(description="ISO 8601, or Unix seconds; a time without a zone is UTC.", examples=["2026-03-01T09:00:00Z"])
]
Text = Annotated[str, StringConstraints(min_length=1, max_length=4_000_000)]
MOST_AT_ONCE = 10_000
Numbers = Annotated[list[float], Field(min_length=1, max_length=16_384)]


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    def given(self) -> dict[str, Any]:
        """What was sent, without what was left open."""
        return {name: value for name, value in self.sent().items() if value is not None}

    def sent(self) -> dict[str, Any]:
        """What was sent, as plain data; a null is a value."""
        return {name: _plain(getattr(self, name)) for name in self.model_fields_set}


class Entity(Shape):
    """A named thing that a memory speaks of."""

    name: Name
    type: EntityType = "thing"
    aliases: Annotated[list[Name], Field(max_length=50)] = []


class Link(Shape):
    """A typed edge between two named things."""

    subject: Name
    predicate: Name
    object: Name
    record: Name | None = None
    weight: Share = 1.0
    valid_from: When | None = None
    valid_to: When | None = None


class Span(Shape):
    """A stretch of time that a memory speaks of."""

    start: When
    end: When
    text: Name = ""


class Memory(Shape):
    """A memory: a text, and what is to be said about it."""

    model_config = ConfigDict(json_schema_extra={"examples": [
        {"text": "Priya's parents live in Goa.", "kind": "semantic", "tags": ["family"], "at": "2026-03-01T09:00:00Z"},
    ]})  # fmt: skip

    text: Text
    id: Name | None = None
    kind: Kind | None = None
    role: Role | None = None
    at: When | None = Field(None, description='When it happened; not given: now; "ageless": at no time.')
    session: Name | None = None
    project: Name | None = None
    agent: Name | None = None
    turn: Annotated[int, Field(ge=0, lt=1 << 31)] | None = None
    speaker: Name | None = None
    valid_from: When | None = None
    valid_to: When | None = None
    tags: Annotated[list[Name], Field(max_length=100)] | None = None
    quality: Share | None = None
    confidence: Share | None = None
    reinforced: Annotated[int, Field(ge=0, lt=1 << 31)] | None = None
    source: Name | None = None
    views: dict[View, str] | None = None
    metadata: dict[str, Any] | None = None
    entities: Annotated[list[Entity], Field(max_length=1000)] | None = None
    links: Annotated[list[Link], Field(max_length=1000)] | None = None
    dates: Annotated[list[Span], Field(max_length=1000)] | None = None
    supersedes: Name | None = None
    vectors: dict[View, Numbers] | None = Field(None, description="Vectors by view, instead of embedding the text.")


class Change(Shape):
    """The fields of a memory that are to change; null empties a field that may be empty."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Priya's parents live in Panaji.", "tags": ["family"]}]})

    text: Text = ""
    kind: Kind = "semantic"
    role: Role = "note"
    at: When | None = None
    session: Name | None = None
    project: Name | None = None
    agent: Name | None = None
    turn: Annotated[int, Field(ge=0, lt=1 << 31)] | None = None
    speaker: Name | None = None
    valid_from: When | None = None
    valid_to: When | None = None
    tags: Annotated[list[Name], Field(max_length=100)] = []
    quality: Share = 0.5
    confidence: Share = 1.0
    reinforced: Annotated[int, Field(ge=0, lt=1 << 31)] = 0
    source: Name | None = None
    views: dict[View, str] = {}
    metadata: dict[str, Any] = {}
    entities: Annotated[list[Entity], Field(max_length=1000)] = []
    links: Annotated[list[Link], Field(max_length=1000)] = []
    dates: Annotated[list[Span], Field(max_length=1000)] = []


class Messages(Shape):
    """A conversation, or the end of one, and what is to be said about all of it."""

    model_config = ConfigDict(json_schema_extra={"examples": [
        {"messages": [
            {"role": "user", "content": "Where do Priya's parents live?"}, {"role": "assistant", "content": "In Goa."},
        ]},
        {"messages": [{"role": "user", "name": "Rajesh", "content": "Then Goa.", "at": "2026-03-01T09:00Z"}], "pair": False},
    ]})  # fmt: skip

    messages: Annotated[list[dict[str, Any]], Field(max_length=MOST_AT_ONCE, description="As the chat API sends them.")]
    pair: bool = Field(True, description="One memory for what the user said and what was answered; else one a message.")
    system: bool = Field(False, description="Also system prompts.")
    kind: Kind | None = None
    project: Name | None = None
    agent: Name | None = None
    tags: Annotated[list[Name], Field(max_length=100)] | None = None
    quality: Share | None = None
    confidence: Share | None = None
    source: Name | None = None
    metadata: dict[str, Any] | None = None
    valid_from: When | None = None
    valid_to: When | None = None


class Ask(Shape):
    """A question, and what narrows it."""

    model_config = ConfigDict(json_schema_extra={"examples": [
        {"query": "What did I tell Priya about vacation?", "limit": 5},
        {"query": "vacation", "recipe": "annie@5", "kinds": ["semantic", "episodic"], "as_of": "2026-02-01T00:00:00Z"},
    ]})  # fmt: skip

    query: Annotated[str, StringConstraints(max_length=LONGEST_QUESTION)]
    recipe: str | dict[str, Any] | None = Field(None, description='How to recall: a preset or any recipe, such as "memsense@8".')
    limit: Annotated[int, Field(ge=1, le=1000)] | None = None
    kinds: list[Kind] | None = None
    roles: list[Role] | None = None
    sessions: list[str] | None = None
    projects: list[str] | None = None
    exclude: list[str] | None = Field(None, description="Ids to leave out, such as what is in view already.")
    as_of: When | None = Field(None, description="As things stood then.")
    since: When | None = Field(None, description="Only what happened then or later.")
    agent: str | None = None
    session: str | None = Field(None, description="The session that is asking.")
    first_turn: bool | None = None
    vectors: dict[View, Numbers] | Numbers | None = Field(None, description="Vectors instead of embedding the question.")

    def narrowed(self) -> dict[str, Any]:
        """What was asked besides the question."""
        return {name: value for name, value in self.given().items() if name not in ("query", "explain", "expect")}


class Recall(Ask):
    explain: bool = Field(False, description="With the tree of every score.")


class Explain(Ask):
    model_config = ConfigDict(json_schema_extra={"examples": [{"query": "vacation"}, {"query": "vacation", "expect": "m1"}]})

    expect: str | None = Field(None, description="The record you expected: which gate lost it, or where it stands.")


class Weights(Shape):
    """Two weights: of search by meaning, and of search by words. 0 switches one off."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"keywordWeight": 1.0}]})

    semanticWeight: Annotated[float, Field(ge=0, le=5)] | None = None
    keywordWeight: Annotated[float, Field(ge=0, le=5)] | None = None


def _plain(value: Any) -> Any:
    if isinstance(value, Shape):
        return value.sent()
    return [_plain(one) for one in value] if isinstance(value, list) and value and isinstance(value[0], Shape) else value
