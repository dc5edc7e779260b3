"""What comes back: the ranking of each route, the hits, the answer. Ranks start at 1.

What is made many times an answer is a named tuple: as frozen as a frozen dataclass, and made four times as fast. `Candidate`
is the one mutable thing here: it is the read path's workbench and never leaves the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .query import Query
from .records import EMPTY, Record

if TYPE_CHECKING:
    from .ports import Facts
    from .recipes import Recipe, RouteSpec

RAN, SKIPPED, FAILED, TIMED_OUT = "ran", "skipped", "failed", "timed_out"


class Ranking(NamedTuple):
    """One route's answer, best first, or why there is none."""

    route: RouteSpec
    weight: float  # as applied: the recipe's, scaled by the embedder's where the recipe trusts it
    status: str = RAN
    reason: str = ""
    keys: Sequence[int] = ()
    scores: Sequence[float] = ()
    ms: float = 0.0
    reasons: Mapping[int, str] = EMPTY  # key → how the route came to it, where it can tell


class Reranked(NamedTuple):
    """What became of reading the best candidates again."""

    name: str
    status: str = RAN
    reason: str = ""
    candidates: int = 0  # read
    ms: float = 0.0
    idle: bool = False  # there was nothing for it to do, and nothing is amiss


class Candidate:
    """A record on its way through the read path. Defaults live on the class: most candidates never leave them."""

    facts: Facts
    fused = 0.0
    best_rank = 0
    decay = 1.0
    parts = 1  # it is searched in
    toll = 1.0  # what that leaves of its score
    kin: float | None = None  # the best score in its session, where that counts
    support = 0.0
    support_count = 0
    support_key: int | None = None
    support_places: Sequence[tuple[int, int, float, float]] = ()
    final = 0.0
    mmr: float | None = None
    diversity: Mapping[str, object] | None = None
    judged: Mapping[str, Any] | None = None

    def __init__(self, key: int, places: Sequence[tuple[int, int, float, float]] = ()) -> None:
        self.key = key
        self.places = places  # (route number, rank, raw, contribution), in route order


class Place(NamedTuple):
    """Where one route put a hit and what that was worth."""

    rank: int
    raw: float
    contribution: float


class Hit(NamedTuple):
    """A memory that was recalled. `score` is the final score; `explain` holds every number it was made of."""

    id: str
    text: str
    score: float
    rank: int
    rrf_score: float
    routes: Mapping[str, Place]
    explain: Mapping[str, object]
    record: Record
    neighbors: tuple[Record, ...] = ()
    passage: str = ""  # of a text that is searched in parts: the part that answers best

    @property
    def final_score(self) -> float:
        return self.score

    @property
    def kind(self) -> str:
        return self.record.kind

    @property
    def at(self):
        return self.record.at

    @property
    def session(self) -> str | None:
        return self.record.session

    @property
    def speaker(self) -> str | None:
        return self.record.speaker

    def to_dict(self) -> dict[str, object]:
        """The hit as a WorkingMemoryEntry-shaped dict."""
        from .wire import entry_json

        return entry_json(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """What ran, what didn't and why, how long it took."""

    retrieval_path: str
    routes: tuple[Ranking, ...] = ()
    rerank: Reranked | None = None  # None: this recipe has nothing read again
    notes: tuple[str, ...] = ()
    ms: float = 0.0

    @property
    def degraded(self) -> bool:
        return any(r.status in (FAILED, TIMED_OUT) for r in (*self.routes, *filter(None, [self.rerank])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Sequence):
    """A sequence of hits with the question, the recipe and the diagnostics; `profile` is always in the context."""

    query: Query
    recipe: Recipe
    hits: tuple[Hit, ...] = ()
    profile: tuple[Record, ...] = ()
    diagnostics: Diagnostics

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index):
        return self.hits[index]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def explain(self) -> str:
        """The tree of every score, as text."""
        from .explain import explain_text

        return explain_text(self)

    def to_dict(self) -> dict[str, object]:
        """The JSON shape every door returns."""
        from .wire import answer_json

        return answer_json(self)
