"""The outside world on one page: what a store, a search, an embedder must do, and what they need not.

Back ends declare what they can do and are asked for little. A `key` is a store's own whole number for a record: opaque,
stable while the record lives, the same for every method of one store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from .changes import Add, Amend, Change, Changed, Forget, Holding, Job, Learn, Receipt, Told, meets  # noqa: F401
from .records import EMPTY

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np

    from .query import Where
    from .records import Entity, Link, Record, Span

AGELESS = 1 << 62  # the `at` of a record that has none: newer than everything, zero age


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Who an embedder is. Vectors of different fingerprints are never compared."""

    name: str  # "local", "openai", …
    model: str
    dimension: int
    fingerprint: str  # provider, model, dimension, prefix version, weights: equal means comparable
    scripts: frozenset[str] = frozenset()  # scripts it can read ("latin", "han", …); empty: all
    languages: frozenset[str] = frozenset()  # those it is good at ("en", …); empty: all of its scripts
    weight: float = 1.0  # what its route is worth beside BM25, measured
    inline: bool = False  # microseconds a text and no I/O: embedded in the write itself
    max_chars: int = 8_000  # longer text is cut before it is sent
    licence: str = ""
    alike: float = 0.0  # cosine from which two texts may mean the same, where this model's are crowded: measured


class Embedder(Protocol):
    """Turns text into vectors. Raises `EmbedderFailed` (or a child) and never returns fewer rows than texts."""

    profile: Profile

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """float32, one row a text."""

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """float32, one row a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeProfile:
    """Who a reranker is. What it can't read it is not asked about."""

    name: str  # "cross-encoder", "late", …
    model: str
    scripts: frozenset[str] = frozenset()  # as of a Profile
    languages: frozenset[str] = frozenset()
    inline: bool = False  # a millisecond or two for all texts, and no I/O: asked without a thread
    max_chars: int = 8_000  # longer text is cut before it is judged
    reach: int = 0  # characters of a text up to which its word counts fully; the longer the texts, the less. 0: of any
    question: int = 0  # the same of the question
    few: int = 0  # beside quicker judges it reads only so many of the best; 0: all
    licence: str = ""


class Reranker(Protocol):
    """Reads a question together with each of some texts and says how well each answers it. Raises when it can't."""

    profile: JudgeProfile

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One finite number a text, in their order; the larger, the better. From 0 to 1 where scores are to be mixed."""


class Extraction(NamedTuple):
    """What a text speaks of. `views` are its facets, such as `preferences`; `at` is when it happened, where the text says so."""

    entities: Sequence[Entity] = ()
    links: Sequence[Link] = ()
    dates: Sequence[Span] = ()
    views: Mapping[str, str] = EMPTY
    at: datetime | None = None


class Extractor(Protocol):
    """Finds in records what their texts speak of. Never returns fewer extractions than records; raises when it can't."""

    fingerprint: str  # such as `extract:rules-1`: the outbox space of what waits for it; equal means equal results
    inline: bool  # microseconds a text and no I/O: done in the write itself

    def extract(self, records: Sequence[Record]) -> list[Extraction]:
        """One extraction a record, in their order."""


class Spoken(NamedTuple):
    """What one side said in one go. `aside`: an assistant did; `told`: what of it extraction took for news of a person."""

    speaker: str
    text: str
    aside: bool = False
    told: Sequence[str] = ()


class Summariser(Protocol):
    """Tells in short what was said in a session. Raises when it can't; an empty text says that there is nothing to tell."""

    fingerprint: str  # such as `summary:sentences-1`: a summary of another one is made anew
    rolling: bool  # wants the summary so far and what was said since, instead of everything

    def summarise(self, before: str, said: Sequence[Spoken]) -> str:
        """The summary of all that was said; `before` is the one so far, or empty."""


class Found(NamedTuple):
    """What a search found, best first: equal scores newest first, then by id. `relaxed` says AND became OR.

    `reasons` tells, where a search can, how it came to a key.
    """

    keys: list[int]
    scores: list[float]
    relaxed: bool = False
    note: str = ""
    reasons: Mapping[int, str] = EMPTY


class Facts(NamedTuple):
    """What scoring needs of a candidate, without its text."""

    at: int  # microseconds, AGELESS when it has none
    kind: str
    role: str
    session: str | None
    turn: int | None
    quality: float
    reinforced: int
    id: str = ""


class Lexical(Protocol):
    """Text search. Scores are comparable within one answer only, except `tokens`, a share of the query from 0 to 1."""

    def words(self, where: Where, text: str, limit: int, match: str) -> Found:
        """BM25 over the shared tokenisation. match: any, all, or relax (all, else any)."""

    def tokens(self, where: Where, text: str, limit: int, share: float, second: tuple[int, float] | None) -> Found:
        """Token recall of document 000: share of the query's tokens that the record's text holds."""

    def substring(self, where: Where, text: str, limit: int) -> Found:
        """Records whose text contains the whole lower-cased query, newest first; every score is 1."""

    def shares(self, text: str, keys: Sequence[int]) -> Mapping[int, float]:
        """How much of the query each of these holds, from 0 to 1: of the idf of the terms that any record of its owner holds."""


class Vector(Protocol):
    """Vector search within one space (an embedder's fingerprint) and one view. Cosines, rounded to six places."""

    def nearest(
        self, where: Where, space: str, view: str, vector: np.ndarray, limit: int, threshold: float | None, *,
        beside: str | None = None,
    ) -> Found:  # fmt: skip
        """Exact, or at least 0.99 of exact, cosine neighbours at or above the threshold.

        `beside`: only of records that have no vector of this view in that other space.
        """

    def vectors(self, space: str, view: str, keys: Sequence[int]) -> Mapping[int, np.ndarray]:
        """The unit vectors of these keys; a key without one is absent."""

    def coverage(self, where: Where, space: str, view: str) -> tuple[int, int]:
        """How many of the owner's records have a vector here, and how many wait for one."""

    def elsewhere(self, where: Where, space: str, view: str) -> Mapping[str, int]:
        """Spaces with vectors of this view for records of the owner that have none in `space`: for how many."""

    def drop(self, owner: str, space: str) -> int:
        """Remove the owner's vectors of a space, and what waits for one there. How many vectors those were."""


class Node(NamedTuple):
    """A named thing, with every name records give it, and how many records in sight name it."""

    name: str
    type: str = "thing"
    aliases: tuple[str, ...] = ()
    mentions: int = 0


class Edge(NamedTuple):
    """A link between two nodes, by their names, and the id of the record that says so. Moments in microseconds; None: open."""

    subject: str
    predicate: str
    object: str
    record: str
    weight: float = 1.0
    confidence: float = 1.0
    valid_from: int | None = None
    valid_to: int | None = None


class Neighborhood(NamedTuple):
    """The nodes around one, nearest first, and the edges among them."""

    nodes: Sequence[Node] = ()
    edges: Sequence[Edge] = ()


class Graph(Protocol):
    """Entities and links, derived from the records in sight. A store that has one offers it as `graph`; without it, graph
    routes are skipped and say so. docs/stores.md defines names, ways and scores."""

    def walk(self, where: Where, text: str, limit: int, hops: int, *, facts: bool = True) -> Found:
        """Records near to what the text names: that mention it, or what lies up to `hops` links from it.

        `facts`: what was derived stands for itself; otherwise the record it came from takes its place.
        """

    def entities(self, where: Where, limit: int) -> list[Node]:
        """Named things, those most often mentioned first, then by name."""

    def neighborhood(self, where: Where, name: str, hops: int, limit: int) -> Neighborhood:
        """Up to `limit` nodes within `hops` of the one with this name, itself first; nothing when there is none."""

    def about(self, where: Where, subject: str, predicate: str) -> list[int]:
        """Keys of the records that hold a link of this subject and predicate, in the order they were added."""


class Temporal(Protocol):
    """Records by when what they speak of happened. A store that has one offers it as `temporal`."""

    def within(self, where: Where, start: int, end: int, limit: int) -> Found:
        """Records whose `dates` or `at` fall into the span from `start` to before `end` (microseconds), by the share that does.

        The score is the largest share of one of a record's dates that lies in the span. `at` within it counts 1, and a half
        when the record speaks of dates. What was derived is not found.
        """


class Outbox(Protocol):
    """Texts that wait for their vectors. Survives a crash; two processes never embed the same job at once for long."""

    def claim(self, owner: str | None, space: str, limit: int, now: int, lease: int) -> list[Job]:
        """Take up to `limit` due jobs; nobody else gets them for `lease` microseconds."""

    def settle(self, space: str, done: Sequence[tuple[Job, np.ndarray | None]]) -> int:
        """Store vectors and drop their jobs, in one transaction; skips records that changed or went meanwhile.

        None in place of a vector: there is none to be had, and asking again would change nothing.
        """

    def postpone(self, jobs: Sequence[Job], due: int, error: str) -> None:
        """Put jobs back, not before `due`."""

    def waiting(self, owner: str | None, space: str | None = None) -> int:
        """How many jobs are not done."""

    def known(self, space: str, texts: Sequence[str]) -> Mapping[str, np.ndarray]:
        """Vectors that this store already holds for exactly these texts."""


class Notes(Protocol):
    """Small tables by kind and name, for the doors: access tokens, answers given already. Nobody's memory, and never searched.

    A store that has them offers them as `notes`; `until` (microseconds) is when a note is as good as gone.
    """

    def get(self, kind: str, name: str, now: int) -> Mapping[str, object] | None:
        """The note, if there is one and its time is not over."""

    def all(self, kind: str, now: int) -> Mapping[str, Mapping[str, object]]:
        """Every note of a kind, by name."""

    def add(self, kind: str, name: str, value: Mapping[str, object], now: int, until: int | None = None) -> bool:
        """A new note; False, and nothing changed, if there is one. Of several who add at once, one does."""

    def put(self, kind: str, name: str, value: Mapping[str, object], until: int | None = None) -> None:
        """A note in place of what was there."""

    def drop(self, kind: str, name: str) -> None:
        """No such note any more."""


class Feed(Protocol):
    """What changed, for indexes beside the store: they follow it, whoever wrote, and after any outage. A store that keeps a log
    of changes offers it as `feed`. A change is in the log as soon as it can be read, in the same transaction."""

    def mark(self, owner: str) -> str:
        """Where the log of the owner's shelf stands. Equal marks: nothing has changed in between."""

    def since(self, owner: str, mark: str) -> Changed | None:
        """What changed on the shelf since the mark, rather one key too many than one too few; what is asked of these keys next is
        answered at least as of the new mark. None: the log does not reach back so far, or the mark is another store's."""


class VectorIndex(Protocol):
    """Vectors outside the store, which follow it. It nominates; what counts, and how much, the store decides. An `owner` is a
    shelf's path. Every write may come again, and does, after a crash or an outage."""

    name: str  # "qdrant"
    remote: bool  # across a network: asked under a deadline, written to in the background

    def mark(self, owner: str) -> str:
        """How far it has followed a shelf; empty when it doesn't know."""

    def put(self, owner: str, held: Mapping[int, Holding], gone: Sequence[int]) -> None:
        """Hold these records by their keys, in place of what was there, and no longer those that went."""

    def settle(self, owner: str, mark: str) -> None:
        """All up to this mark has been put; durably, if what was put is durable."""

    def nearest(
        self, where: Where, space: str, view: str, vector: np.ndarray, limit: int, threshold: float | None, beside: str | None
    ) -> list[tuple[int, float]]:  # fmt: skip
        """Keys and inner products, best first: all there are, if fewer than `limit`. As of `Vector.nearest`."""

    def count(self, owner: str, space: str, view: str) -> int:
        """How many vectors of a shelf it holds."""

    def keys(self, owner: str) -> list[int]:
        """The keys of a shelf it holds anything of."""

    def close(self) -> None:
        """Release everything. Closing twice is fine."""


class GraphIndex(Protocol):
    """Names and links outside the store, which follow it as a `VectorIndex` does: `mark`, `put`, `settle`, `keys`, `close` are
    the same. What of it may be seen comes as `stores.payload` makes it of a `Where`."""

    name: str
    remote: bool

    def mark(self, owner: str) -> str: ...

    def put(self, owner: str, held: Mapping[int, Holding], gone: Sequence[int]) -> None: ...

    def settle(self, owner: str, mark: str) -> None: ...

    def candidates(self, sight: object, text: str) -> list[str]:
        """Names that the text may name, rather too many."""

    def around(self, sight: object, names: Sequence[str], hops: int, most: int) -> list[str]:
        """Names one or two hops from these: what will be asked for next."""

    def saying(self, sight: object, names: Sequence[str], most: int) -> dict[str, list[int]]:
        """By name, the keys of the records that say it, those added last first."""

    def keys(self, owner: str) -> list[int]: ...

    def close(self) -> None: ...


class Store(Protocol):
    """The single truth. Every read names a `Where`; a write is one transaction or nothing."""

    lexical: Lexical
    vector: Vector
    outbox: Outbox

    def write(self, owner: str, changes: Iterable[Change]) -> Receipt:
        """All changes or none. Durable when it returns."""

    def told(self, owner: str, digests: Sequence[bytes], now: int) -> dict[bytes, int]:
        """Keys of the records that were told so and may still be repeated: neither forgotten nor changed in what they say."""

    def resolve(self, where: Where, ids: Sequence[str]) -> dict[str, int]:
        """Keys of the ids that `where` lets through."""

    def select(self, where: Where, *, order: str, limit: int, after: int | None = None) -> list[int]:
        """Keys in an order: `newest`, `oldest` (event time), `turns` (session, turn, recorded), `latest` (last first)."""

    def roles(self, where: Where) -> frozenset[str]:
        """The roles that records of the owner, and of the tenant named, may have; rather one too many than one too few."""

    def turns(self, where: Where, places: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], int]:
        """Keys of the owner's turns with these sessions and numbers, in sight; of several in one place, the one stored last."""

    def facts(self, keys: Sequence[int]) -> Mapping[int, Facts]:
        """What scoring needs of each key; a key that is not there, or has gone meanwhile, is absent."""

    def records(self, keys: Sequence[int]) -> list[Record]:
        """In the order of the keys; a key that has gone meanwhile is left out."""

    def holdings(self, owner: str, ids: Sequence[str] | None = None) -> Iterator[Holding]:
        """The owner's own records with what belongs to them, in the order they were added; only those with these ids, if given.

        One state of the store, as it was when the first was taken, however long it takes; few of them in memory at a time.
        """

    def owners(self) -> list[str]:
        """Everybody who has a record or a setting here, in order. For who holds the whole store, to copy it."""

    def settings(self, owner: str, change: Mapping[str, object | None] | None = None) -> dict[str, object]:
        """The owner's settings, after the change if one is given (None removes a key)."""

    def status(self, owner: str) -> dict[str, object]:
        """Counts and facts for people: records, vectors by space and view, waiting jobs, schema, size."""

    def close(self) -> None:
        """Release everything. Closing twice is fine."""
