"""What a record speaks of becomes part of it, and what it states becomes facts: extraction in the write path.

    remember → settled records → read by the extractor → entities, dates and facets on the record → facts beside it (`facts`)

A quick extractor (`inline`) reads in the write itself, in the same transaction, when a write brings few records; what is many,
and what a slow one is to read, is queued in the outbox and read behind the write (`reader`), with the same result: `learned`.
What the caller gave of a field stays as given. A failure costs what would have been found, never the record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from .changes import Add, Amend, Change, Learn
from .extract import FACETS, heard, worth_reading
from .facts import Book, facts_of
from .ports import Extraction, Extractor, Store
from .query import Where
from .records import CARRIED, EMPTY, Link, Record
from .records import READ as SPACE

SPOKEN_OF = ("entities", "dates")
READ = ("text", "views", "speaker", "at", "role")  # what a reading depends on
AT_ONCE = 64  # records of a write that are read in it; of a conversation all are
FULL = "full"


class Lesson:
    """What one write learns from its records. `superseded`: by id of a record, the one it takes the place of."""

    def __init__(self, extractor: Extractor | None, store: Store, where: Where, stamp: datetime) -> None:
        self.extractor, self.book, self._stamp = extractor, Book(store, where, stamp), stamp
        self._owner = where.owner
        self._stated: list[tuple[Record, Sequence[Link]]] = []

    def read(self, records: list[Record]) -> list[Record]:
        """The records with what they speak of; what they state is kept for `changes`."""
        if self.extractor is None:
            return records
        found = extractions(self.extractor, [record for record in records if readable(record)])
        return [self._with(record, found.get(record.id)) for record in records]

    def changes(self, replaced: Mapping[str, Record] | None = None) -> list[Change]:
        """The facts, and what they change in others. `replaced`: records that went out of force, by who took their place."""
        if not self._stated and not replaced:
            return []
        for old in (replaced or {}).values():
            self.book.yielding(old)
        self.book.fresh([fact for record, links in self._stated for fact in facts_of(record, links, self._stamp)])
        for old in (replaced or {}).values():
            self.book.end(old, self._stamp)
        return [*(Add(record=fact) for fact in self.book.added()), *self.book.amends()]

    def _with(self, record: Record, found: Extraction | None) -> Record:
        if found is None:
            return record
        if record.owner == self._owner and found.links:
            self._stated.append((record, found.links))
        return replace(record, **fields_of(record, found))


def space_of(extractor: Extractor) -> str:
    """Where in the outbox texts wait for an extractor."""
    return extractor.fingerprint if extractor.fingerprint.startswith(SPACE) else SPACE + extractor.fingerprint


def queued(extractor: Extractor | None, adds: Sequence[Add]) -> Sequence[Add]:
    """Additions with a place in the outbox for each record that is to be read behind the write."""
    if extractor is None:
        return adds
    place = space_of(extractor), FULL
    return [replace(add, pending=[*add.pending, place]) if readable(add.record) else add for add in adds]


def says(found: object) -> bool:
    """Whether an extraction holds anything."""
    return isinstance(found, Extraction) and bool(found.entities or found.links or found.dates or found.views)


def learned(
    book: Book, read: Sequence[tuple[Record, Extraction, int]], lanes: Callable[[Record, Record], Sequence[tuple[str, str]]]
) -> list[Change]:
    """What becomes of records of one owner and of facts, as in the write, by what was read of them behind it; each with the
    number of its job. Refused by the store when a record has changed. `lanes`: what waits for a vector after a change."""
    found = [(record, extraction, number) for record, extraction, number in read if says(extraction)]
    facts: dict[str, list[Record]] = {}
    for record, extraction, _ in found:
        book.stamp = record.recorded_at
        facts[record.id] = facts_of(record, extraction.links, record.recorded_at)
        book.late(record, facts[record.id])
    changes: list[Change] = []
    for record, extraction, number in found:
        fields = {name: value for name, value in fields_of(record, extraction).items() if value != getattr(record, name)}
        own = [book.now(fact) for fact in facts[record.id]]
        changes.append(Amend(id=record.id, fields={}, expected=record))
        pending = lanes(record, replace(record, **fields)) if "views" in fields else ()
        changes.append(Learn(id=record.id, text=record.text, fields=fields, facts=own, pending=pending, job=number))
    if changes:
        changes[-1] = replace(changes[-1], amends=book.amends())
    return changes


def readable(record: Record) -> bool:
    """Whether a record is to be read: not what was derived, and not what a program keeps to the letter."""
    return worth_reading(record) and record.metadata.keys().isdisjoint(CARRIED)


def extractions(extractor: Extractor, records: Sequence[Record]) -> dict[str, Extraction]:
    """What records speak of, by id; nothing of those an extractor stumbles over."""
    if not records:
        return {}
    try:
        return {record.id: found for record, found in zip(records, extractor.extract(records), strict=True)}
    except Exception:  # somebody's own code: one record must not cost the others theirs, and none its place in the memory
        return {} if len(records) == 1 else {k: v for record in records for k, v in extractions(extractor, [record]).items()}


def fields_of(record: Record, found: Extraction) -> dict[str, Any]:
    """The fields of a record that extraction fills; those that are filled stay. Its links are facts, and theirs."""
    views = {**found.views, **record.views}
    fields: dict[str, Any] = {"views": MappingProxyType(dict(sorted(views.items())))} if found.views else {}
    given = {"entities": tuple(found.entities), "dates": tuple(found.dates)}
    fields |= {name: value for name, value in given.items() if value and not getattr(record, name)}
    return fields


def reread(extractor: Extractor | None, old: Record, changed: Mapping[str, Any]) -> dict[str, Any]:
    """The changed fields of a record, with what it speaks of from now on where that is another."""
    new = replace(old, **changed)
    if extractor is None or not _differs(old, new) or not readable(new):
        return dict(changed)
    if not extractor.inline:
        return _still_said(old, new, changed)
    was, found = (extractions(extractor, [one]).get(one.id) for one in (old, new))
    if was is None or found is None:
        return dict(changed)
    before = fields_of(_bare(old), was)
    own = {name for name in SPOKEN_OF if name in changed or getattr(old, name) not in ((), before.get(name, ()))}
    views = {
        name: text for name, text in new.views.items()
        if name not in FACETS or old.views.get(name) != text or was.views.get(name) != text
    }  # fmt: skip
    after = fields_of(replace(_bare(new), views=views), found)
    fields = {name: after.get(name, ()) for name in SPOKEN_OF if name not in own}
    views = {**found.views, **views}
    fields["views"] = MappingProxyType(dict(sorted(views.items()))) if views else EMPTY
    return {**changed, **{name: value for name, value in fields.items() if value != getattr(old, name) or name in changed}}


def restated(extractor: Extractor | None, book: Book, old: Record, new: Record) -> list[Change]:
    """What becomes of the facts of a record that says something else from now on."""
    if extractor is None or not readable(new) or (heard(old) == heard(new) and old.at == new.at):
        return []
    if not extractor.inline:
        return unlearned(extractor, book, old, new)
    found = extractions(extractor, [new]).get(new.id)
    facts = facts_of(new, found.links, book.stamp) if found else []
    book.withdraw(old, [fact.id for fact in facts])
    book.fresh(facts)
    return [Learn(id=new.id, text=new.text, fields={}, facts=[book.now(fact) for fact in facts], amends=book.amends())]


def unlearned(extractor: Extractor, book: Book, old: Record, new: Record, *, cleared: Mapping[str, Any] = EMPTY) -> list[Change]:
    """Take back the facts of a record, and queue it to be read anew; `cleared`: fields that go as well."""
    book.withdraw(old)
    place = space_of(extractor), FULL
    return [Learn(id=new.id, text=new.text, fields=dict(cleared), amends=book.amends(), pending=[place])]


def taken_back(extractor: Extractor, record: Record) -> dict[str, Any]:
    """The fields of a record that this extractor filled, as they would be without it."""
    found = extractions(extractor, [record]).get(record.id)
    if found is None:
        return {}
    filled = fields_of(_bare(record), found)
    fields: dict[str, Any] = {name: () for name in SPOKEN_OF if name in filled and getattr(record, name) == filled[name]}
    views = {name: text for name, text in record.views.items() if found.views.get(name) != text}
    return {**fields, **({"views": MappingProxyType(views)} if len(views) < len(record.views) else {})}


def _still_said(old: Record, new: Record, changed: Mapping[str, Any]) -> dict[str, Any]:
    """The changed fields of a record, without what was found in its old text and is not in the new one."""
    text, fields = new.text.casefold(), dict(changed)
    if old.text == new.text:
        return fields
    if "entities" not in changed:
        fields["entities"] = tuple(one for one in old.entities if one.name.casefold() in text)
    if "dates" not in changed:
        fields["dates"] = tuple(one for one in old.dates if one.text.casefold() in text)
    if "views" not in changed:
        kept = {name: said for name, said in old.views.items() if name not in FACETS or said.casefold() in text}
        fields["views"] = MappingProxyType(kept) if kept else EMPTY
    return {name: value for name, value in fields.items() if name in changed or value != getattr(old, name)}


def _differs(old: Record, new: Record) -> bool:
    return any(getattr(old, name) != getattr(new, name) for name in READ)


def _bare(record: Record) -> Record:
    return replace(record, entities=(), dates=(), views=MappingProxyType({
        name: text for name, text in record.views.items() if name not in FACETS
    }))  # fmt: skip
