"""What requests may hold and answers do, for the check at the door and for the OpenAPI document.

Requests are checked for their form here; what the values mean is the engine's to judge, and its errors say so. Answers are
made by `wire`, not from these models: a test holds that they fit.
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


# Answers ---------------------------------------------------------------------------------------------------------------


class Record(BaseModel):
    """A memory as it is kept. Times are ISO 8601 in UTC."""

    id: str
    owner: str
    text: str
    kind: str
    role: str
    agent: str | None
    project: str | None
    session: str | None
    turn: int | None
    speaker: str | None
    at: str | None
    recorded_at: str
    valid_from: str | None
    valid_to: str | None
    superseded_by: str | None
    superseded_at: str | None
    tags: list[str]
    quality: float
    confidence: float
    reinforced: int
    source: str | None
    views: dict[str, str]
    metadata: dict[str, Any]
    entities: list[dict[str, Any]]
    links: list[dict[str, Any]]
    dates: list[dict[str, Any]]


class Episode(Record):
    session_id: str | None


class Records(BaseModel):
    records: list[Record]


class Page(Records):
    next: str | None = Field(description="Give it as `after` for the next page; null on the last.")


class Place(BaseModel):
    rank: int
    raw: float
    contribution: float


class Hit(BaseModel):
    id: str
    text: str
    score: float
    rank: int
    kind: str
    at: str | None
    session: str | None
    speaker: str | None
    routes: dict[str, Place]
    rrf_score: float
    final_score: float
    explain: dict[str, Any]
    neighbors: list[Record]


class Route(BaseModel):
    name: str
    status: str
    candidates: int
    ms: float
    reason: str
    weight: float


class Diagnostics(BaseModel):
    retrieval_path: str
    degraded: bool
    notes: list[str]
    routes: list[Route]
    ms: float


class Answer(BaseModel):
    """The memories that answer a question, best first, and how they were found."""

    query: str
    recipe: str
    hits: list[Hit]
    profile: list[Record]
    diagnostics: Diagnostics
    explanation: dict[str, Any] | None = None


class Explanation(BaseModel):
    """The tree of every score; or, with `expect`, the gate that lost that record, or where it stands."""

    query: str
    recipe: str
    retrieval_path: str
    hits: list[dict[str, Any]] | None = None
    expected: str | None = None
    gate: str | None = None
    reason: str | None = None
    details: dict[str, Any] | None = None


class Found(BaseModel):
    text: str
    source_session: str | None
    timestamp: str | None
    relevance_score: float
    entities: list[str]
    speaker: str | None


class Left(BaseModel):
    id: str
    reason: str


class Standing(BaseModel):
    """A candidate: its place on each route, after fusion, and in the answer; or the gate that kept it out."""

    id: str
    text: str
    kind: str
    role: str
    at: str | None
    session: str | None
    speaker: str | None
    routes: dict[str, Place]
    fused_rank: int
    rrf_score: float
    rank: int | None
    gate: str
    reason: str


class Inspection(Answer):
    """An answer, the block made of it, every candidate, and the numbers of the recipe."""

    memory: str
    dropped: list[Left]
    candidates: list[Standing]
    dials: dict[str, Any]


class Context(BaseModel):
    """Results, and the safe block for a prompt."""

    query: str
    recipe: str
    results: list[Found]
    memory: str
    included: list[str]
    dropped: list[Left]
    chars: int
    tokens: int


class History(BaseModel):
    id: str
    versions: list[Record]


class Receipt(BaseModel):
    id: str
    owner: str
    removed: dict[str, int]


class Node(BaseModel):
    """A named thing, with every name memories give it, and how many of them mention it."""

    name: str
    type: str
    aliases: list[str]
    mentions: int


class Edge(BaseModel):
    """A link between two nodes, and the id of the memory that says so."""

    subject: str
    predicate: str
    object: str
    record: str
    weight: float
    confidence: float
    valid_from: str | None
    valid_to: str | None


class Entities(BaseModel):
    entities: list[Node]


class Neighborhood(BaseModel):
    """The nodes around one, nearest first, and the links among them."""

    nodes: list[Node]
    edges: list[Edge]


class Problem(BaseModel):
    code: str
    message: str
    hint: str


class Refusal(BaseModel):
    """What went wrong, and what to do about it."""

    error: Problem
