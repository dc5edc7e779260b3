"""What answers hold, for the OpenAPI document and for the tools' output schemas.

Answers are made by `wire`, not from these models: a test holds that they fit.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


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


class Told(Record):
    repeated: bool = Field(False, description="The same had been told before, and this record counts one confirmation more.")


class ToldMany(BaseModel):
    records: list[Told]


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


class Reranked(BaseModel):
    name: str
    status: str
    reason: str
    candidates: int
    ms: float


class Diagnostics(BaseModel):
    retrieval_path: str
    degraded: bool
    notes: list[str]
    routes: list[Route]
    ms: float
    rerank: Reranked | None = Field(None, description="What became of reading the best again; null where the recipe wants none.")


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


class Reread(BaseModel):
    rank: int
    relevance: float


class Piece(BaseModel):
    what: str
    value: float
    lost: bool


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
    final_rank: int | None
    reread: Reread | None


class Inspection(Answer):
    """An answer, what each score is made of, the block, every candidate, and the numbers of the recipe."""

    pieces: dict[str, list[Piece]]
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
