"""What the in-memory store keeps, and which records a query may see.

`visible` and `index_text` are the definitions every store follows; the rest is dictionaries. Not for: searching
(scans.py) and writing (inmemory.py).
"""

from __future__ import annotations

import copy
import json
import secrets
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .. import tokens
from ..errors import InvalidRecord, InvalidVector, StoreClosed
from ..ports import AGELESS, Job
from ..records import DERIVED, Record, micros, moment

if TYPE_CHECKING:
    import numpy as np

    from ..query import Where

KEPT_CHANGES = 5000
_TIMES = ("at", "recorded_at", "valid_from", "valid_to", "superseded_at")


def visible(record: Record, where: Where) -> bool:
    """Whether `where` lets this record through. The one definition; other stores translate it."""
    return _in_scope(record, where) and _in_force(record, where) and _asked_for(record, where)


def index_text(record: Record) -> str:
    """What word search reads of a record: its text, and on lines of their own its speaker and tags."""
    return "\n".join([record.text, *([record.speaker] if record.speaker else []), *record.tags])


def _in_scope(record: Record, where: Where) -> bool:
    shared = where.tenant is not None and record.owner == where.tenant and record.kind == "identity"
    return record.owner == where.owner or shared


def _in_force(record: Record, where: Where) -> bool:
    """Whether the record holds at the moment asked about, and, with `as_of`, was known and not yet replaced then."""
    if where.timeless:
        return True
    moment_asked = where.now if where.as_of is None else where.as_of
    if record.valid_from is not None and micros(record.valid_from) > moment_asked:
        return False
    if record.valid_to is not None and micros(record.valid_to) <= moment_asked:
        return False
    if where.as_of is not None and micros(record.recorded_at) > where.as_of:
        return False
    if record.superseded_by is None:
        return True
    return where.as_of is not None and record.superseded_at is not None and micros(record.superseded_at) > where.as_of


def _asked_for(record: Record, where: Where) -> bool:
    return (
        (where.agent is None or record.agent == where.agent)
        and (not where.kinds or record.kind in where.kinds)
        and (not where.roles or record.role in where.roles)
        and (not where.sessions or record.session in where.sessions)
        and (not where.projects or record.project in where.projects)
        and (where.since is None or when(record) >= where.since)
        and record.id not in where.exclude
    )


def when(record: Record) -> int:
    """Event time; the ageless are newer than everything."""
    return AGELESS if record.at is None else micros(record.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A record on its shelf, with what word search counts."""

    key: int
    record: Record
    language: str
    terms: Mapping[str, int]
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A job with what only the outbox needs to know."""

    job: Job
    space: str
    due: int = 0
    error: str = ""
    leased: bool = False


@dataclass(slots=True, kw_only=True)
class Tables:
    rows: dict[int, Row] = field(default_factory=dict)
    keys: dict[tuple[str, str], int] = field(default_factory=dict)  # by owner, id
    vectors: dict[tuple[int, str, str], np.ndarray] = field(default_factory=dict)  # by key, space, view
    jobs: dict[int, Waiting] = field(default_factory=dict)
    settings: dict[str, dict[str, object]] = field(default_factory=dict)
    notes: dict[tuple[str, str], tuple[str, int | None]] = field(default_factory=dict)  # by kind, name: JSON and until
    log: dict[str, tuple[int, tuple[int, ...]]] = field(default_factory=dict)  # by owner: changes so far, keys of the last ones
    told: dict[tuple[str, bytes], tuple[int, int]] = field(default_factory=dict)  # by owner, digest: key and until
    last_key: int = 0
    last_job: int = 0

    def copy(self) -> Tables:
        names = ("rows", "keys", "vectors", "jobs", "settings", "notes", "log", "told")
        tables = {name: dict(getattr(self, name)) for name in names}
        return replace(self, **tables)

    def shelf(self, owner: str) -> list[Row]:
        """All records of one owner, whether a query may see them or not."""
        return [row for row in self.rows.values() if row.record.owner == owner]

    def shelves(self, where: Where) -> list[list[Row]]:
        owners = [where.owner, *([where.tenant] if where.tenant not in (None, where.owner) else [])]
        return [self.shelf(owner) for owner in owners]

    def seen(self, where: Where) -> list[Row]:
        return [row for shelf in self.shelves(where) for row in shelf if visible(row.record, where)]

    def derived(self, owner: str, record_id: str) -> list[Row]:
        """What was derived from a record of this owner."""
        source = f"record:{record_id}"
        return [row for row in self.shelf(owner) if row.record.role == DERIVED and row.record.source == source]

    def find(self, owner: str, record_id: str) -> Row | None:
        return self.rows.get(self.keys.get((owner, record_id), 0))

    def tell(self, row: Row) -> None:
        """Whoever follows this shelf hears of a change."""
        count, keys = self.log.get(row.record.owner, (0, ()))
        self.log[row.record.owner] = count + 1, (*keys[1 - KEPT_CHANGES :], row.key)

    def dimension(self, space: str) -> int | None:
        return next((len(vector) for (_, of, _), vector in self.vectors.items() if of == space), None)


class Box:
    """Holds the tables. A write works on a copy that takes their place when it succeeds, so that a reader, or an error
    halfway, never meets half a write."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._tables: Tables | None = Tables()
        self.id = secrets.token_hex(4)  # marks of another store are none of ours

    def read(self) -> Tables:
        if self._tables is None:
            raise StoreClosed
        return self._tables

    @contextmanager
    def change(self) -> Iterator[Tables]:
        with self._lock:
            draft = self.read().copy()
            yield draft
            self._tables = draft

    def close(self) -> None:
        with self._lock:
            self._tables = None


def row_of(key: int, record: Record) -> Row:
    if record.wordless:
        return Row(key=key, record=record, language="en", terms={}, length=0)
    language = tokens.language_of(record.text)
    terms = list(tokens.terms(index_text(record), language))
    return Row(key=key, record=record, language=language, terms=Counter(terms), length=len(terms))


def canonical(record: Record) -> Record:
    """The record as it would come back from a file: moments in UTC, metadata as JSON keeps it, nothing shared."""
    times = {name: moment(micros(getattr(record, name), name)) for name in _TIMES}
    metadata = through_json(record.metadata, "metadata")
    record = replace(record, **times, tags=tuple(record.tags), views=dict(record.views), metadata=metadata)
    if not (record.entities or record.links or record.dates):
        return replace(record, entities=(), links=(), dates=())
    return replace(
        record, entities=tuple(replace(one, aliases=tuple(one.aliases)) for one in record.entities),
        links=tuple(replace(one, **_utc(one, "valid_from", "valid_to")) for one in record.links),
        dates=tuple(replace(one, **_utc(one, "start", "end")) for one in record.dates),
    )  # fmt: skip


def _utc(value: object, *names: str) -> dict[str, object]:
    return {name: moment(micros(getattr(value, name), name)) for name in names}


def own_copy(record: Record) -> Record:
    return replace(record, views=dict(record.views), metadata=copy.deepcopy(record.metadata))


def through_json(values: Mapping[str, object], name: str) -> dict[str, object]:
    try:
        return json.loads(json.dumps(dict(values)))
    except (TypeError, ValueError) as error:
        raise InvalidRecord(f"{name} is not JSON: {error}.", hint="Use text, numbers, true, false, null, lists, maps.") from None


def checked(vector: Sequence[float], dimension: int | None) -> np.ndarray:
    """A vector as it is kept, or the error that says why it can't be. That it has length one is the caller's promise."""
    import numpy as np  # only here: a store that never meets a vector never pays for the import

    try:
        with np.errstate(all="ignore"):  # 1e40 becomes infinity here and is refused below
            kept = np.array(vector, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise InvalidVector(f"{vector!r:.80} is not a list of numbers.") from None
    if kept.ndim != 1 or not kept.size or not np.isfinite(kept).all() or not kept.any():
        raise InvalidVector("The vector is empty, zero, not flat, or holds NaN or infinity.", hint="Embed the text again.")
    if dimension is not None and len(kept) != dimension:
        raise InvalidVector(
            f"The vector has {len(kept)} numbers; this space has {dimension}.", hint="Use the embedder the memory was built with."
        )
    return kept
