"""What is remembered, and whose it is.

Frozen values, equal by content. Nothing here asks the world: no clock, no file. Times inside the engine are
whole microseconds since 1970 in UTC (`int`), so that equal times are equal; people see aware datetimes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from .errors import InvalidRecord, ScopeRequired

KINDS = (
    "semantic", "episodic", "procedural", "identity", "fact",
    "person", "place", "organisation", "project", "event", "relationship", "preference",
)  # fmt: skip
ROLES = ("note", "turn", "session", "summary", "derived", "part", "thread")
ENTITY_TYPES = ("person", "place", "organisation", "project", "event", "thing")
DERIVED = "derived"  # the role of what was extracted from another record: the text and vector routes never see it
SUMMARY = "summary"  # the role of what tells a session in short, and how the id of those that we make begins
PART, THREAD = "part", "thread"  # a piece of a long text, and the log of a conversation
SHOWN = tuple(role for role in ROLES if role not in (DERIVED, PART, THREAD))  # what somebody said: listed and counted
PROMOTED = "recollect:promoted"  # in the metadata of a record that upkeep promoted: how often
CONFIRMS = "recollect:confirms"  # in the metadata of a record: the older one that means the same
CARRIED = ("recollect:carried", "recollect:carried_in")  # in the metadata of what a program keeps here, to the letter
PARTS = "recollect:parts"  # in the metadata of a record that is searched in parts: how many there are
VIEWS = ("full", "user", "assistant", "next_user", "personal_info", "preferences", "events")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST, _LAST = ((end.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND for end in (datetime.min, datetime.max))
_SEGMENT = re.compile(r"[^\s/\x00-\x1f\x7f][^/\x00-\x1f\x7f]*")
# A space whose name ends so holds vectors of texts with the speaker's name before them. Without it, the turns nearest to a
# question about Caroline are those that address her, not those that she said.
SPOKEN = "+speaker"
READ = "extract:"  # a space whose name begins so has no vectors: its texts wait for an extractor
EMPTY: Mapping[str, object] = MappingProxyType({})


def empty() -> Mapping[str, object]:
    """EMPTY as a default: before Python 3.12 a dataclass takes a mapping proxy for a mutable default."""
    return EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memory: an owner (the hard boundary; a path such as `acme/alice`), then where within it."""

    owner: str
    agent: str | None = None
    project: str | None = None
    session: str | None = None

    def __post_init__(self) -> None:
        check_owner(self.owner)

    @property
    def tenant(self) -> str:
        """The path that owns what all of the owner's siblings share: `acme` for `acme/alice`."""
        return self.owner.split("/", 1)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A named thing that a record speaks of, and the other names the record gives it."""

    name: str
    type: str = "thing"
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time that a record's text speaks of: from `start`, before `end`, and the words that said so."""

    start: datetime
    end: datetime
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A typed edge between two named things. `record` is the one that says so, where it is not the one that holds it."""

    subject: str
    predicate: str
    object: str
    record: str | None = None
    weight: float = 1.0
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One memory. `at` is when it happened (None: ageless), `recorded_at` when we were told.

    `entities`, `links` and `dates` are what its text speaks of: given by the caller, or found by extraction.
    """

    id: str
    owner: str
    text: str
    kind: str = "semantic"
    role: str = "note"
    agent: str | None = None
    project: str | None = None
    session: str | None = None
    turn: int | None = None
    speaker: str | None = None
    at: datetime | None = None
    recorded_at: datetime
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    superseded_by: str | None = None
    superseded_at: datetime | None = None
    tags: tuple[str, ...] = ()
    quality: float = 0.5
    confidence: float = 1.0
    reinforced: int = 0
    source: str | None = None
    views: Mapping[str, str] = field(default_factory=empty)
    metadata: Mapping[str, object] = field(default_factory=empty)
    entities: tuple[Entity, ...] = ()
    links: tuple[Link, ...] = ()
    dates: tuple[Span, ...] = ()

    @property
    def wordless(self) -> bool:
        """Whether word search passes it over: it was derived, or its parts speak for it."""
        return self.role == DERIVED or PARTS in self.metadata

    def view(self, name: str) -> str | None:
        """The text of one view; `full` is the text itself unless the record names another."""
        return self.views.get(name, self.text if name == "full" else None)

    def embedded(self, name: str, space: str) -> str | None:
        """The text of a view as a space's model is given it: the speaker's name before it, where the space says so.

        None for what was derived, and for the whole of what is searched in parts: neither has vectors of its own. An extractor
        reads the text as it is.
        """
        if space.startswith(READ):
            return self.text if name == "full" and self.role not in (DERIVED, THREAD) else None
        if self.role in (DERIVED, THREAD) or (name == "full" and PARTS in self.metadata and "full" not in self.views):
            return None
        if name == "full" and self.speaker and space.endswith(SPOKEN) and "full" not in self.views:
            return f"{self.speaker}: {self.text}"
        return self.view(name)


def check_owner(owner: object) -> str:
    """An owner path, or the error that says what one is."""
    if owner is None or owner == "":
        raise ScopeRequired("No owner was given.", hint='Name one: Memory.open("memory.db", owner="alice").')
    if not isinstance(owner, str) or len(owner) > 400 or not all(_SEGMENT.fullmatch(part) for part in owner.split("/")):
        raise ScopeRequired(
            f"{owner!r:.80} is not an owner path.",
            hint='Use names joined by "/", without control characters: "alice" or "acme/alice".',
        )
    return owner


def micros(when: datetime | str | int | float | None, field_name: str = "at") -> int | None:
    """A moment as microseconds since 1970 UTC. Accepts aware datetimes, ISO 8601 text and Unix seconds.

    A time without a zone is read as UTC: harmless, the same on every machine, and documented.
    """
    if when is None:
        return None
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when.strip())
        except ValueError:
            raise InvalidRecord(
                f"{field_name}={when!r:.60} is not a date.", hint="Write ISO 8601, such as 2026-03-01T09:00Z."
            ) from None
    if isinstance(when, bool) or not isinstance(when, (datetime, int, float)):
        raise InvalidRecord(f"{field_name}={when!r:.60} is not a date.", hint="Pass a datetime, ISO 8601 text or Unix seconds.")
    if isinstance(when, (int, float)):
        if not -62_135_596_800 <= when <= 253_402_300_799:
            raise InvalidRecord(
                f"{field_name}={when!r} is not a time in years 1 to 9999.", hint="Unix time is in seconds, not milliseconds."
            )
        return round(when * 1_000_000)
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    count = (when - _EPOCH) // _MICROSECOND
    if not _FIRST <= count <= _LAST:  # the last hours of year 9999 in New York are in year 10000 UTC
        raise InvalidRecord(f"{field_name}={when!s:.40} is not in years 1 to 9999 UTC.", hint="Name an earlier or later moment.")
    return count


def moment(value: int | None) -> datetime | None:
    """The aware datetime of a microsecond count."""
    return None if value is None else _EPOCH + timedelta(microseconds=value)
