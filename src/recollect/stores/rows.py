"""Records as rows of the sqlite store, and back. Nothing else."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import repeat
from operator import call
from types import MappingProxyType

from ..errors import InvalidRecord
from ..normalize import fold
from ..records import EMPTY, Entity, Link, Record, Span, micros, moment
from ..tokens import language_of, pack, terms

_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_new = object.__new__
_PUT = [Record.__dict__[field.name].__set__ for field in fields(Record)]
TEXTUAL = frozenset({"text", "speaker", "tags", "views", "role"})  # fields whose change changes words or vectors
MENTIONS = frozenset({"entities", "links", "dates"})  # kept in a table of their own
NO_WORDS = (0, "en", b"")


def index_text(record: Record) -> str:
    """What the text routes search: the text, who said it, and its tags."""
    if not (record.speaker or record.tags):
        return record.text
    return "\n".join([record.text, record.speaker or "", *record.tags])


def indexed(record: Record) -> tuple[int, str, bytes]:
    """A record's length in terms, its language, and its packed terms."""
    if record.wordless:
        return NO_WORDS
    text = index_text(record)
    language = language_of(text)
    blob, length = pack(terms(text, language))
    return length, language, blob


def values_of(record: Record, index: tuple[int, str, bytes]) -> tuple:
    """The columns after key, owner and id, in the order of the schema."""
    length, language, blob = index
    return (
        record.kind, record.role, record.agent, record.project, record.session, record.turn, _stamp(record.at),
        _stamp(record.recorded_at), _stamp(record.valid_from), _stamp(record.valid_to), _stamp(record.superseded_at),
        record.superseded_by, record.quality, record.confidence, record.reinforced, length, language, blob, record.text,
        record.speaker, record.source, _dump(record.tags), _dump(dict(record.views)), _dump(dict(record.metadata)),
    )  # fmt: skip


def mentions_of(record: Record) -> tuple[str | None, str | None, str | None] | None:
    """The columns of `mentions` after the key; None when the record speaks of nothing."""
    if not (record.entities or record.links or record.dates):
        return None
    links = [
        [one.subject, one.predicate, one.object, one.record, one.weight, micros(one.valid_from), micros(one.valid_to)]
        for one in record.links
    ]
    return (
        _dump([[one.name, one.type, list(one.aliases)] for one in record.entities]), _dump(links),
        _dump([[micros(one.start), micros(one.end), one.text] for one in record.dates]),
    )  # fmt: skip


@lru_cache(maxsize=4096)
def entities_of(column: str | None) -> tuple[Entity, ...]:
    """A record's entities from their column."""
    rows = json.loads(column) if column else ()
    return tuple([Entity(name=name, type=of, aliases=tuple(aliases)) for name, of, aliases in rows])


def links_of(column: str | None) -> tuple[Link, ...]:
    """A record's links from their column."""
    return tuple([
        Link(subject=subject, predicate=predicate, object=object, record=record, weight=weight, valid_from=moment(start),
             valid_to=moment(end))
        for subject, predicate, object, record, weight, start, end in (json.loads(column) if column else ())
    ])  # fmt: skip


def dates_of(column: str | None) -> tuple[Span, ...]:
    """A record's dates from their column."""
    rows = json.loads(column) if column else ()
    return tuple([Span(start=moment(start), end=moment(end), text=text) for start, end, text in rows])


def record_of(row: tuple, owner: str) -> Record:
    """A row of `record_by_key` or `records_by_keys`.

    What is in the store was checked on its way in, so the fields are set as they are: the constructor of a frozen class
    costs three times as much, and ten records are made for every answer.
    """
    (_, _, id, text, kind, role, agent, project, session, turn, speaker, at, recorded_at, valid_from, valid_to, superseded_by,
     superseded_at, tags, quality, confidence, reinforced, source, views, metadata, entities, links, dates) = row  # fmt: skip
    record = _new(Record)
    happened = moment(at)
    values = (
        id, owner, text, kind, role, agent, project, session, turn, speaker, happened,
        happened if at == recorded_at else moment(recorded_at),
        moment(valid_from), moment(valid_to), superseded_by, moment(superseded_at),
        tuple(json.loads(tags)) if tags else (), quality, confidence, reinforced, source,
        MappingProxyType(json.loads(views)) if views else EMPTY, MappingProxyType(json.loads(metadata)) if metadata else EMPTY,
        entities_of(entities) if entities else (), links_of(links) if links else (), dates_of(dates) if dates else (),
    )  # fmt: skip
    deque(map(call, _PUT, repeat(record), values), maxlen=0)
    return record


def holds(text: str, folded: str) -> bool:
    """Does a text contain an already folded phrase?"""
    return folded in fold(text)


def _stamp(when: datetime | None) -> int | None:
    """`micros` for what is surely None or a datetime: five of them are in every record written."""
    if when is None or when.tzinfo is None:
        return micros(when)
    return (when - _EPOCH) // _MICROSECOND


def _dump(value: object) -> str | None:
    try:
        return json.dumps(value, separators=(",", ":")) if value else None
    except (TypeError, ValueError) as error:
        raise InvalidRecord(
            f"{value!r:.60} can't be written as JSON: {error}.", hint="Use text, numbers, lists, tables."
        ) from None
