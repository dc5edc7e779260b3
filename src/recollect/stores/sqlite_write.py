"""One write transaction of the sqlite store: what changes which rows, and what readers are told.

Used by `SqliteStore.write` and the outbox. Nothing here opens, commits or waits.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np

from ..errors import DuplicateRecord, InvalidRecord, InvalidVector, ScopeRequired, UnknownRecord
from ..ports import Add, Amend, Change, Forget, Learn, Receipt, meets
from ..records import DERIVED, Record, Scope
from .rows import MENTIONS, TEXTUAL, indexed, mentions_of, record_of, values_of
from .vectors import usable

KEPT_CHANGES = 5000
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
AMENDABLE = frozenset(field.name for field in dataclasses.fields(Record)) - {"id", "owner"}
Index = tuple[int, str, bytes]


class Mark:
    """An owner's row, and what this transaction did to it."""

    __slots__ = ("change", "next_slot", "no", "path", "told")

    def __init__(self, path: str, no: int, next_slot: int, change: int) -> None:
        self.path, self.no, self.next_slot, self.change = path, no, next_slot, change
        self.told: dict[tuple[str, int], list[int]] = {}  # (what, lane) → slots

    def tell(self, what: str, slot: int, lane: int = 0) -> None:
        self.told.setdefault((what, lane), []).append(slot)


class Writing:
    """See the module."""

    def __init__(self, connection: sqlite3.Connection, queries: SimpleNamespace) -> None:
        self.run, self.run_many = connection.execute, connection.executemany
        self.q = queries
        self.marks: dict[str, Mark] = {}
        self.lanes: dict[tuple[int, str, str], tuple[int, int]] = {}
        self.added = self.amended = self.unchanged = 0
        self.removed: dict[str, int] = {}

    def apply(self, owner: str, changes: Sequence[Change], indexes: Mapping[int, Index]) -> Receipt:
        """All changes in order; neighbouring additions in one go."""
        self.mark(owner)
        adds: list[tuple[Add, Index]] = []
        for change in changes:
            if isinstance(change, Add):
                if not may_write(owner, change.record):
                    self._add_all(adds)  # an earlier change may have an error of its own, which comes first
                    raise ScopeRequired(
                        f"{owner} may not write records of {change.record.owner}.",
                        hint="Only identity records may belong to the tenant.",
                    )
                adds.append((change, indexes[id(change)]))
                continue
            self._add_all(adds)
            adds = []
            _DO[type(change)](self, owner, change)
        self._add_all(adds)
        self.finish()
        return Receipt(self.added, self.amended, self.removed, self.unchanged)

    def mark(self, path: str) -> Mark:
        """The owner's row, made when there is none."""
        mark = self.marks.get(path)
        if mark is None:
            row = self.run(self.q.owner, (path,)).fetchone()
            if row is None:
                self.run(self.q.add_owner, (path,))
                row = self.run(self.q.owner, (path,)).fetchone()
            mark = self.marks[path] = Mark(path, *row)
        return mark

    def lane(self, mark: Mark, space: str, view: str, dimension: int) -> int:
        """The number of a lane, made when there is none; its dimension must agree."""
        known = self.lanes.get((mark.no, space, view))
        if known is None:
            known = self.run(self.q.lane, (mark.no, space, view)).fetchone()
            if known is None:
                alike = self.run(self.q.dimension_of, (space,)).fetchone() or (dimension,)
                known = self.run(self.q.add_lane, (mark.no, space, view, *alike)).lastrowid, *alike
            self.lanes[mark.no, space, view] = known
        if known[1] != dimension:
            raise InvalidVector(
                f"A vector of {dimension} numbers was given for {view} in {space}, whose vectors have {known[1]}.",
                hint="Use one embedder per space; another model gets its own space.",
            )
        return known[0]

    def put_vector(self, mark: Mark, slot: int, space: str, view: str, text: str, vector: np.ndarray) -> None:
        lane = self.lane(mark, space, view, len(vector))
        self.run(self.q.put_vector, (lane << 32 | slot, text_hash(text), vector_blob(vector)))
        mark.tell("vectors", slot, lane)

    def finish(self) -> None:
        """Count, and tell readers."""
        for mark in self.marks.values():
            for (what, lane), slots in mark.told.items():
                mark.change += 1
                self.run(self.q.add_change, (mark.no, mark.change, what, lane, np.asarray(slots, "<u4").tobytes()))
            if mark.change % 256 < len(mark.told):
                self.run(self.q.prune_changes, (mark.no, mark.change - KEPT_CHANGES))
            self.run(self.q.advance_owner, (mark.next_slot, mark.change, mark.no))

    def _add_all(self, adds: list[tuple[Add, Index]]) -> None:
        if not adds:
            return
        before = {path: self.mark(path).next_slot for path in {add.record.owner for add, _ in adds}}
        self.run("SAVEPOINT adding")
        try:
            slots = self._insert(adds)
        except sqlite3.IntegrityError:  # an id is there already: look which, and try again without
            self.run("ROLLBACK TO adding")
            for path, next_slot in before.items():
                self.marks[path].next_slot = next_slot
            adds = self._new_among(adds)
            slots = self._insert(adds)
        self.run("RELEASE adding")
        self.added += len(adds)
        for (add, _), slot in zip(adds, slots, strict=True):
            if add.vectors or add.pending:
                self._derive(add, slot)

    def _insert(self, adds: list[tuple[Add, Index]]) -> list[int]:
        rows, slots = [], []
        for add, index in adds:
            mark = self.mark(add.record.owner)
            slots.append(mark.next_slot)
            rows.append((mark.no << 32 | mark.next_slot, mark.no, add.record.id, *values_of(add.record, index)))
            mark.next_slot += 1
        self.run_many(self.q.add_record, rows)
        mentions = [(row[0], *spoken) for row, (add, _) in zip(rows, adds, strict=True) if (spoken := mentions_of(add.record))]
        if mentions:
            self.run_many(self.q.put_mentions, mentions)
        return slots

    def _new_among(self, adds: list[tuple[Add, Index]]) -> list[tuple[Add, Index]]:
        """Additions whose id is not there yet. The same content again is fine; other content is an error."""
        fresh: dict[tuple[str, str], tuple[Add, Index]] = {}
        for add, index in adds:
            record = add.record
            twin = fresh.get((record.owner, record.id))
            there = twin[0].record if twin else self._find(record.owner, record.id)
            if there is None:
                fresh[record.owner, record.id] = add, index
            elif _content(there, index) == _content(record, index):
                self.unchanged += 1
            else:
                raise DuplicateRecord(
                    f"There is another record with the id {record.id!r:.80}.",
                    hint="Leave the id out, or forget the old one first.",
                )
        return list(fresh.values())

    def _derive(self, add: Add, slot: int) -> None:
        mark, record = self.mark(add.record.owner), add.record
        for (space, view), vector in (add.vectors or {}).items() if record.role != DERIVED else ():
            self.put_vector(mark, slot, space, view, record.embedded(view, space) or "", vector)
        self._queue(mark.no << 32 | slot, record, [lane for lane in add.pending if lane not in (add.vectors or {})])

    def _queue(self, key: int, record: Record, pending: Iterable[tuple[str, str]]) -> None:
        self.run_many(self.q.add_job, [(key, space, view) for space, view in pending if record.embedded(view, space)])

    def _find(self, owner: str, id: str) -> Record | None:
        row = self.run(self.q.key_of, (self.mark(owner).no, id)).fetchone()
        return record_of(self.run(self.q.record_by_key, row).fetchone(), owner) if row else None

    def _amend(self, owner: str, change: Amend) -> None:
        mark, old = self.mark(owner), self._find(owner, change.id)
        if old is None:
            raise UnknownRecord(f"{owner} has no record {change.id!r:.80}.")
        meets(change, old)
        wrong = sorted(set(change.fields) - AMENDABLE)
        if wrong:
            raise InvalidRecord(f"{wrong[0]!r} can't be amended.", hint="Any field of a record can, but id and owner.")
        new = dataclasses.replace(old, **change.fields)
        key = self.run(self.q.key_of, (mark.no, change.id)).fetchone()[0]
        if new != old:
            self._replace(mark, key, old, new, set(change.fields))
        given = (change.vectors or {}) if new.role != DERIVED else {}
        for (space, view), vector in given.items():
            self.put_vector(mark, key & 0xFFFFFFFF, space, view, new.embedded(view, space) or "", vector)
            self.run(self.q.remove_job_of, (key, space, view))
        self._queue(key, new, [lane for lane in change.pending if lane not in given])
        self.amended += 1

    def _replace(self, mark: Mark, key: int, old: Record, new: Record, fields: set[str]) -> None:
        slot = key & 0xFFFFFFFF
        if fields & MENTIONS:
            spoken = mentions_of(new)
            self.run(*(self.q.put_mentions, (key, *spoken)) if spoken else (self.q.remove_mentions, (key,)))
        if fields <= MENTIONS:
            mark.tell("mentions", slot)
            return
        self.run(self.q.replace_record, (*values_of(new, indexed(new)), key))
        mark.tell("words" if TEXTUAL & fields else "columns", slot)
        self._drop_stale(mark, key, old, new)

    def _drop_stale(self, mark: Mark, key: int, old: Record, new: Record) -> None:
        """Vectors and jobs of texts that are no longer what they were."""
        for lane, space, view, _ in self.run(self.q.lanes_of, (mark.no,)).fetchall():
            if new.role == DERIVED or old.embedded(view, space) != new.embedded(view, space):
                self.run(self.q.remove_vector, (lane << 32 | key & 0xFFFFFFFF,))
        for number, space, view in self.run(self.q.jobs_of, (key,)).fetchall():
            if old.embedded(view, space) != new.embedded(view, space):
                self.run(self.q.remove_job, (number,))

    def _learn(self, owner: str, change: Learn) -> None:
        if change.job is not None:
            self.run(self.q.remove_job, (change.job,))
        record = self._find(owner, change.id)
        if record is None or record.text != change.text:
            return
        self._amend(owner, Amend(id=change.id, fields=change.fields, pending=change.pending))
        ids = {fact.id for fact in change.facts}
        for (name,) in self.run(self.q.facts_from, (self.mark(owner).no, f"record:{change.id}")).fetchall():
            if name not in ids:
                self._forget(owner, Forget(id=name))
        fresh = {fact.id: Add(record=fact) for fact in change.facts if self._find(owner, fact.id) is None}
        self._add_all([(add, indexed(add.record)) for add in fresh.values()])
        for amend in change.amends:
            if self._find(owner, amend.id) is not None:
                self._amend(owner, amend)

    def _derived(self, owner: str, id: str) -> list[str]:
        return [row[0] for row in self.run(self.q.derived_from, (self.mark(owner).no, f"record:{id}")).fetchall()]

    def _forget(self, owner: str, change: Forget) -> None:
        mark = self.mark(owner)
        if self.run(self.q.key_of, (mark.no, change.id)).fetchone() is None:
            raise UnknownRecord(f"{owner} has no record {change.id!r:.80}.")
        if change.expected is not None:
            meets(change, self._find(owner, change.id))
        going = [change.id]
        while going:
            row = self.run(self.q.key_of, (mark.no, name := going.pop())).fetchone()
            if row is not None:
                self._remove(mark, row[0])
                going += self._derived(owner, name)

    def _remove(self, mark: Mark, key: int) -> None:
        slot = key & 0xFFFFFFFF
        lanes = [lane for lane, *_ in self.run(self.q.lanes_of, (mark.no,)).fetchall()]
        vectors = sum(self.run(self.q.remove_vector, (lane << 32 | slot,)).rowcount for lane in lanes)
        jobs = self.run(self.q.remove_jobs, (key,)).rowcount
        self.run(self.q.remove_mentions, (key,))
        self.run(self.q.remove_record, (key,))
        mark.tell("words", slot)
        for name, count in (("records", 1), ("vectors", vectors), ("jobs", jobs)):
            self.removed[name] = self.removed.get(name, 0) + count


_DO = {Amend: Writing._amend, Forget: Writing._forget, Learn: Writing._learn}


def _content(record: Record, index: Index) -> tuple:
    """What two records must share to be the same: everything but when we were told."""
    return *values_of(dataclasses.replace(record, recorded_at=_LONG_AGO), index), mentions_of(record)


def may_write(owner: str, record: Record) -> bool:
    """A writer writes its own records, and identity records of its tenant."""
    return record.owner == owner or (record.owner == Scope(owner=owner).tenant and record.kind == "identity")


def text_hash(text: str) -> bytes:
    """What tells texts apart for re-use of their vectors."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def vector_blob(vector: np.ndarray) -> bytes:
    """float32, little-endian; refuses what no search could use."""
    return usable(vector).tobytes()
