"""What a write brings with it: a record's parts, the vectors it needs, the turns beside it, the versions it ends.

Everything is made up here and handed back as changes; `Memory` writes them. Not here: what a caller may say of a record
(`ingest`), and what a conversation becomes (`conversations`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from . import conversations
from .asking import sight
from .embed import Embedding
from .errors import UnknownRecord
from .facts import Book
from .ingest import Ids, additions, amended, as_they_are, fresh, pending, records_of
from .learning import AT_ONCE, Lesson, learned, queued, reread, restated, taken_back, unlearned
from .parts import in_parts, part_ids
from .ports import Amend, Change, Extraction, Extractor, Forget, Store
from .records import PART, Record, Scope, moment
from .repeats import OFF, Dedup
from .tellings import tellings
from .threads import Archive


class Writing(NamedTuple):
    """The records that are made, and the changes that make them: the owner's own, and those of what the tenant shares."""

    made: list[Record]
    changes: Sequence[Change]
    shared: Sequence[Change]


class Pen(NamedTuple):
    """Writes for one owner. `clock`: microseconds; `archives`: the logs of conversations at hand."""

    store: Store
    scope: Scope
    embedding: Embedding | None
    clock: Callable[[], int]
    ids: Ids
    archives: dict[str, Archive]
    extractor: Extractor | None = None

    def of(self, owner: str) -> Pen:
        """The same pen in the hand of another owner of the store."""
        return self._replace(scope=Scope(owner=owner))

    def get(self, id: str | Record) -> Record:
        """One record, the owner's or shared by the tenant, whether it still holds or not."""
        name = id.id if isinstance(id, Record) else id
        records = self.store.records(list(self._keys([name]).values())) if isinstance(name, str) else []
        if not records:
            raise UnknownRecord(
                f"{self.scope.owner} has no record {name!r:.80}.", hint="Ids come from remember, recall and list."
            )
        return records[0]

    def versions(self, record: Record) -> list[Record]:
        """All versions of a memory, oldest first."""
        chain = [record]
        while older := self._version(chain[0].metadata.get("supersedes"), chain):
            chain.insert(0, older)
        while newer := self._version(chain[-1].superseded_by, chain):
            chain.append(newer)
        return chain

    def writing(
        self, drafts: Sequence[tuple[str, Mapping[str, Any]]], others: Sequence[Change] = (), dedup: Dedup = OFF
    ) -> Writing:
        """New records, and what changes with them; `others` are written along. What is there already is among the made."""
        now = self.clock()
        told = tellings(records_of(drafts, self.scope, now, self.ids), drafts, dedup, self.store, self.scope, now)
        links = conversations.Links(self.store, self.scope, now)
        lesson = Lesson(self.extractor, self.store, sight(self.scope, now), moment(now))

        at_once = self.extractor is None or (self.extractor.inline and (bool(others) or len(drafts) <= AT_ONCE))

        def settled(records: list[Record]) -> list[Record]:
            records = records if others else links.settle(records)  # a conversation brings its links
            return lesson.read(records) if at_once else records

        about = [drafts[number][1] for number in told.places]
        read = zip(settled(list(told.fresh)), about, strict=True)
        adds = additions([(record, one.get("vectors")) for record, one in read], self.embedding, self.store, told.told)
        adds = adds if at_once else queued(self.extractor, adds)
        made = [add.record for add in adds if add.record.role != PART]
        olds = [(new, one.get("supersedes") or told.near.get(new.id)) for new, one in zip(made, about, strict=True)]
        own, shared, replaced = self._superseding(olds)
        linked = [change for old, views in links.amended for change in self.amending(old, {"views": views})]
        changes = [*others, *linked, *adds, *own, *told.confirmed, *lesson.changes(replaced)]
        return Writing(told.all(made), changes, shared)

    def adding(self, records: Sequence[Record]) -> list[Change]:
        """Records that were made elsewhere."""
        return as_they_are(records, self.embedding, self.store)

    def revising(self, old: Record, fields: Mapping[str, Any], expected: Record | None = None) -> list[Change]:
        """Fields a caller changes, checked, and what else changes with them."""
        said = {**fields, "text": fresh(fields["text"])} if "text" in fields else fields
        changed = amended(old, said, self.scope, self.clock())
        new = dataclasses.replace(old, **changed)
        beside = conversations.following(self.room(old), old, new)
        facts = restated(self.extractor, self._book(), old, new) if old.owner == self.scope.owner else []
        return [*self.amending(old, changed, expected), *beside, *facts]

    def amending(self, old: Record, changed: Mapping[str, Any], expected: Record | None = None) -> list[Change]:
        """A record with other fields, what it speaks of then, and the parts it is searched in."""
        changed = reread(self.extractor, old, changed)
        new, parts = in_parts(dataclasses.replace(old, **changed))
        fields = {**changed, "metadata": new.metadata} if new.metadata != old.metadata else changed
        amend = Amend(id=old.id, fields=fields, pending=self._waiting(new, fields), expected=expected)
        return [amend, *self._without_parts(old), *as_they_are(parts, self.embedding, self.store)]

    def forgetting(self, record: Record, expected: Record | None = None) -> list[Change]:
        """A record, its parts, and what else changes when it goes."""
        beside = conversations.following(self.room(record), record, None)
        book = self._book()
        book.withdraw(record)
        return [Forget(id=record.id, expected=expected), *self._without_parts(record), *beside, *book.amends()]

    def learning(self, read: Sequence[tuple[Record, Extraction, int]]) -> list[Change]:
        """What an extractor read behind the write, of records of this owner, each with its job."""
        return learned(self._book(), read, self._new_lanes)

    def rereading(self, record: Record) -> list[Change]:
        """A record to be read anew; what stood in for that reading goes."""
        stand_in, fields = getattr(self.extractor, "stand_in", None), {}
        if stand_in is not None:
            fields = taken_back(stand_in, record)
        return [] if self.extractor is None else unlearned(self.extractor, self._book(), record, record, cleared=fields)

    def room(self, record: Record) -> conversations.Room:
        """The session a record belongs to."""
        about = {"project": record.project, "agent": record.agent, "source": record.source}
        return conversations.Room(
            self.store, Scope(owner=record.owner), record.session or "", self.clock(), self.amending, self.adding, about=about,
            archives=self.archives,
        )  # fmt: skip

    def _book(self) -> Book:
        now = self.clock()
        return Book(self.store, sight(self.scope, now), moment(now))

    def _keys(self, ids: Sequence[str], *, shared: bool = True) -> dict[str, int]:
        return self.store.resolve(sight(self.scope, self.clock(), shared=shared, timeless=True), ids)

    def _version(self, name: object, chain: Sequence[Record]) -> Record | None:
        """A version by its id; None when it was forgotten, or is in the chain already."""
        if not name or name in [record.id for record in chain]:
            return None
        try:
            return self.get(str(name))
        except UnknownRecord:
            return None

    def _new_lanes(self, old: Record, new: Record) -> list[tuple[str, str]]:
        return [(space, view) for space, view in pending(new, self.embedding) if new.views.get(view) != old.views.get(view)]

    def _without_parts(self, record: Record) -> list[Change]:
        ids = part_ids(record)
        there = self._keys(ids, shared=False) if ids else {}
        return [Forget(id=id) for id in ids if id in there]

    def _superseding(
        self, records: Iterable[tuple[Record, str | None]]
    ) -> tuple[list[Amend], list[Amend], dict[str, Record]]:
        """What new records change in those they supersede: in the owner's own, earlier in the batch too, and in the tenant's;
        and, by the id of each, whose place it takes."""
        earlier, changes, replaced = {}, ([], []), {}
        for record, name in records:
            if name is not None:
                old = earlier.get(name) or self.get(name)
                fields = {"superseded_by": record.id, "superseded_at": record.recorded_at}
                waiting = () if name in earlier else self._waiting(old, fields)
                changes[old.owner != self.scope.owner].append(Amend(id=old.id, fields=fields, pending=waiting))
                replaced[record.id] = old
            earlier[record.id] = record
        return *changes, replaced

    def _waiting(self, record: Record, changed: Mapping[str, Any]) -> list[tuple[str, str]]:
        """What a changed record needs vectors for: every view of a new text, else those this model has none of yet."""
        lanes = pending(record, self.embedding)
        if not lanes or changed.keys() & {"text", "views", "speaker"}:
            return lanes
        keys = list(self._keys([record.id]).values())
        return [(space, view) for space, view in lanes if not self.store.vector.vectors(space, view, keys)]
