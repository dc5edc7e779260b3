"""What is asked, by whom, as of when; and which records may answer at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .records import Scope, empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The records that may be seen. Every read of a store names one; the owner is not optional.

    `tenant` opens the shared identity records of that path besides the owner's own. `now` is the moment validity is judged
    at; `as_of` (None: the present) also hides what was recorded or superseded later. `since` keeps records whose
    event time is at or after it, and ageless ones. Times are microseconds.
    """

    owner: str
    tenant: str | None = None
    agent: str | None = None
    projects: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    since: int | None = None
    now: int
    as_of: int | None = None
    exclude: frozenset[str] = frozenset()
    timeless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question. `vectors` (view to numbers) stand in for embedding it; `first_turn` asks for catch-up."""

    text: str
    scope: Scope
    where: Where
    limit: int
    first_turn: bool = False
    vectors: Mapping[str, object] = field(default_factory=empty)
