"""Records as rows of the sqlite store, and back. Nothing else."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from ..errors import InvalidRecord
from ..normalize import fold
from ..records import EMPTY, Record, micros, moment
from ..tokens import language_of, pack, terms

_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_new = object.__new__
_PUT = [Record.__dict__[field.name].__set__ for field in fields(Record)]
TEXTUAL = frozenset({"text", "speaker", "tags", "views"})  # fields whose change changes words or vectors


def index_text(record: Record) -> str:
    """What the text routes search: the text, who said it, and its tags."""
    if not (record.speaker or record.tags):
        return record.text
    return "\n".join([record.text, record.speaker or "", *record.tags])


def indexed(record: Record) -> tuple[int, str, bytes]:
    """A record's length in terms, its language, and its packed terms."""
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


def record_of(row: tuple, owner: str) -> Record:
    """A row of `record_by_key` or `records_by_keys`.

    What is in the store was checked on its way in, so the fields are set as they are: the constructor of a frozen class
    costs three times as much, and ten records are made for every answer.
    """
    (_, _, id, text, kind, role, agent, project, session, turn, speaker, at, recorded_at, valid_from, valid_to, superseded_by,
     superseded_at, tags, quality, confidence, reinforced, source, views, metadata) = row  # fmt: skip
    record = _new(Record)
    values = (
        id, owner, text, kind, role, agent, project, session, turn, speaker, moment(at), moment(recorded_at),
        moment(valid_from), moment(valid_to), superseded_by, moment(superseded_at),
        tuple(json.loads(tags)) if tags else (), quality, confidence, reinforced, source,
        MappingProxyType(json.loads(views)) if views else EMPTY, MappingProxyType(json.loads(metadata)) if metadata else EMPTY,
    )  # fmt: skip
    for put, value in zip(_PUT, values, strict=True):
        put(record, value)
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
