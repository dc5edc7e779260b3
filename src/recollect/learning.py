"""What a record speaks of becomes part of it, and what it states becomes facts: extraction in the write path.

    remember → settled records → read by the extractor → entities, dates and facets on the record → facts beside it (`facts`)

The extractor reads in the write itself, in the same transaction, so it has to be `inline`. What the caller gave of a field stays
as given. A failure costs what would have been found, never the record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from .changes import Add, Change, Learn
from .extract import FACETS, heard, worth_reading
from .facts import Book, facts_of
from .ports import Extraction, Extractor, Store
from .query import Where
from .records import CARRIED, EMPTY, Link, Record

SPOKEN_OF = ("entities", "dates")
READ = ("text", "views", "speaker", "at", "role")  # what a reading depends on


class Lesson:
    """What one write learns from its records. `superseded`: by id of a record, the one it takes the place of."""

    def __init__(self, extractor: Extractor | None, store: Store, where: Where, stamp: datetime) -> None:
        self.extractor, self.book, self._stamp = extractor, Book(store, where, stamp), stamp
        self._owner = where.owner
        self._stated: list[tuple[Record, Sequence[Link]]] = []

    def read(self, records: list[Record]) -> list[Record]:
        """The records with what they speak of; what they state is kept for `changes`."""
        if self.extractor is None or not self.extractor.inline:
            return records
        found = extractions(self.extractor, [record for record in records if readable(record)])
        return [self._with(record, found.get(record.id)) for record in records]

    def changes(self, replaced: Mapping[str, Record] | None = None) -> list[Change]:
        """The facts, and what they change in others. `replaced`: records that went out of force, by who took their place."""
        for old in (replaced or {}).values():
            self.book.yielding(old)
        self.book.fresh([fact for record, links in self._stated for fact in facts_of(record, links, self._stamp)])
        for old in (replaced or {}).values():
            self.book.end(old, self._stamp)
        return [*(Add(record=fact) for fact in self.book.added()), *self.book.amends()]

    def _with(self, record: Record, found: Extraction | None) -> Record:
        if found is None:
            return record
        if record.owner == self._owner:
            self._stated.append((record, found.links))
        return replace(record, **fields_of(record, found))


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
    if extractor is None or not extractor.inline or not _differs(old, new) or not readable(new):
        return dict(changed)
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
    if extractor is None or not extractor.inline or not readable(new):
        return []
    if heard(old) == heard(new) and old.at == new.at:
        return []
    found = extractions(extractor, [new]).get(new.id)
    facts = facts_of(new, found.links, book.stamp) if found else []
    book.withdraw(old, [fact.id for fact in facts])
    book.fresh(facts)
    return [Learn(id=new.id, text=new.text, fields={}, facts=[book.now(fact) for fact in facts], amends=book.amends())]


def _differs(old: Record, new: Record) -> bool:
    return any(getattr(old, name) != getattr(new, name) for name in READ)


def _bare(record: Record) -> Record:
    return replace(record, entities=(), dates=(), views=MappingProxyType({
        name: text for name, text in record.views.items() if name not in FACETS
    }))  # fmt: skip
