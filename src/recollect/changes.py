"""What a store is told to do, in one transaction, and what it says of it: values alone. `ports` says what becomes of them.

Import them from `ports`: whoever writes a store finds everything there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .errors import RecordChanged
from .records import EMPTY

if TYPE_CHECKING:
    import numpy as np

    from .records import Record


class Told(NamedTuple):
    """What a record says, as a digest, told at `now` (microseconds): up to `until` the same again is a repetition."""

    digest: bytes
    now: int
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """Remember this record. `vectors`: (space, view) to a unit vector. `pending`: (space, view) to be embedded later.

    `told`: only if nobody has told the same meanwhile, else `RecordChanged`.
    """

    record: Record
    vectors: Mapping[tuple[str, str], np.ndarray] | None = None
    pending: Sequence[tuple[str, str]] = ()
    told: Told | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Amend:
    """Change fields of a record; `pending` views are to be embedded again. `vectors` take the place of those that are there.

    `expected`: only if the record is still this one, else `RecordChanged`.
    """

    id: str
    fields: Mapping[str, object]
    vectors: Mapping[tuple[str, str], np.ndarray] | None = None
    pending: Sequence[tuple[str, str]] = ()
    expected: Record | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """Remove a record and everything derived from it. `expected`: only if it is still this one, else `RecordChanged`."""

    id: str
    expected: Record | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Learn:
    """Write what was extracted from a record, in place of the facts derived from it before, and drop the job that asked for it.

    A fact is of kind `relationship`; what else was derived stays. A fact whose id is there already is left as it is. Nothing
    but the job is touched when the record has gone or its text is no longer this one.
    """

    id: str
    text: str
    fields: Mapping[str, object]  # as of an Amend
    facts: Sequence[Record] = ()  # role `derived`, source `record:<id>`
    amends: Sequence[Amend] = ()  # of older facts, such as those now superseded; one that has gone is passed over
    pending: Sequence[tuple[str, str]] = ()
    job: int | None = None


Change = Add | Amend | Forget | Learn
QUIET = frozenset({"reinforced", "quality", "confidence", "views", "metadata", "entities", "links", "dates"})  # not what was told


def meets(change: Amend | Forget, record: Record) -> None:
    """For stores, inside the write: whether the record is the one this change was meant for."""
    if change.expected is not None and change.expected != record:
        raise RecordChanged(f"{change.id!r:.80} has been changed meanwhile.", hint="Look at it again, then decide.")


def told_meanwhile() -> RecordChanged:
    """For stores, inside the write: the same was told by somebody else since it was looked up."""
    return RecordChanged("The same has been told meanwhile.", hint="Look again: it is there now.")


class Receipt(NamedTuple):
    """What a write did: how many rows of which table were added, changed or removed."""

    added: int = 0
    amended: int = 0
    removed: Mapping[str, int] = EMPTY  # records, vectors, jobs; derived, apart from records, where there was any
    unchanged: int = 0  # an Add whose id was there already with the same content
    beside: Mapping[str, str] = EMPTY  # of indexes beside the store, when something was removed: what became of it there


class Holding(NamedTuple):
    """All that a store holds of one record: what it takes to carry it elsewhere."""

    record: Record
    vectors: Mapping[tuple[str, str], np.ndarray]  # (space, view) to a unit vector
    waiting: tuple[tuple[str, str], ...]  # (space, view), in order


class Changed(NamedTuple):
    """Keys of records that came, changed, went, or gained or lost a vector; and the mark to ask from the next time."""

    keys: Sequence[int]
    mark: str


class Job(NamedTuple):
    """A text that waits for its vector, or for an extractor when its space is one's fingerprint."""

    number: int
    key: int
    view: str
    text: str
    attempts: int
