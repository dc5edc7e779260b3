"""What a caller says a record speaks of: entities, links and dates, each as the value or in the short forms people write.

For `ingest`, which checks what is remembered. InvalidRecord names the entry, what was seen and the cure. Not for finding them in
a text, and not for telling whether two names mean the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from .errors import InvalidRecord
from .normalize import clean_text
from .records import ENTITY_TYPES, Entity, Link, Span, micros, moment

MOST_NAME, MOST_ALIASES, MOST_ENTRIES = 200, 50, 1000
_HOW = {
    Entity: 'A name, or {"name": "Priya", "type": "person", "aliases": ["Mom"]}.',
    Link: 'Three names, or {"subject": "Rajesh", "predicate": "planning", "object": "vacation to Goa"}.',
    Span: 'Two moments, or {"start": "2026-03-01", "end": "2026-04-01", "text": "in March"}.',
}  # fmt: skip


def entities_given(field: str, value: Any) -> tuple[Entity, ...]:
    """The entities of a record, none of them twice."""
    return tuple(dict.fromkeys(_several(field, value, Entity, _entity)))


def links_given(field: str, value: Any) -> tuple[Link, ...]:
    """The links of a record, none of them twice."""
    return tuple(dict.fromkeys(_several(field, value, Link, _link)))


def dates_given(field: str, value: Any) -> tuple[Span, ...]:
    """The dates of a record, none of them twice."""
    return tuple(dict.fromkeys(_several(field, value, Span, _span)))


def name_given(field: str, value: Any) -> str:
    """A name: text in one line, without space around it."""
    if not isinstance(value, str) or not value.strip() or len(value) > MOST_NAME:
        raise InvalidRecord(f"{field}={value!r:.60} is not a name.", hint=f"It is text of 1 to {MOST_NAME} characters.")
    return " ".join(clean_text(value).split())


def order_given(first: str, start: datetime | None, last: str, end: datetime | None) -> None:
    """InvalidRecord for what ends before it begins."""
    if start is not None and end is not None and end <= start:
        raise InvalidRecord(f"{last}={end!s:.40} is not after {first}={start!s:.40}.", hint="Swap them, or leave one out.")


def _several(field: str, value: Any, cls: type, read: Callable[[str, Mapping[str, Any]], Any]) -> list[Any]:
    if not value:
        return []
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise InvalidRecord(f"{field}={value!r:.60} is not a list.", hint=f"List them. Each is: {_HOW[cls]}")
    entries = list(value)
    if len(entries) > MOST_ENTRIES:
        hint = f"A record holds at most {MOST_ENTRIES:,}: remember the text in parts."
        raise InvalidRecord(f"{len(entries):,} {field} are too many for one record.", hint=hint)
    return [read(f"{field}[{number}]", _table(f"{field}[{number}]", entry, cls)) for number, entry in enumerate(entries)]


def _table(field: str, entry: Any, cls: type) -> Mapping[str, Any]:
    """An entry in any of its forms, by field."""
    names = [one.name for one in fields(cls)]
    if isinstance(entry, cls):
        return {name: getattr(entry, name) for name in names}
    if isinstance(entry, str) and cls is Entity:
        entry = (entry,)
    table = dict(zip(names, entry, strict=False)) if isinstance(entry, (tuple, list)) and len(entry) <= 3 else entry
    if not isinstance(table, Mapping) or not table:
        raise InvalidRecord(f"{field}={entry!r:.60} can't be used.", hint=_HOW[cls])
    unknown = [name for name in table if name not in names]
    if unknown:
        raise InvalidRecord(f"{field} has no field {unknown[0]!r:.40}.", hint=f"It has {', '.join(names)}.")
    return table


def _entity(field: str, table: Mapping[str, Any]) -> Entity:
    of, aliases = table.get("type") or "thing", table.get("aliases") or ()
    if of not in ENTITY_TYPES:
        raise InvalidRecord(f"{field}.type={of!r:.40} is unknown.", hint=f"It is one of {', '.join(ENTITY_TYPES)}.")
    if isinstance(aliases, str) or not isinstance(aliases, Iterable) or len(aliases := list(aliases)) > MOST_ALIASES:
        raise InvalidRecord(f"{field}.aliases={aliases!r:.60} can't be used.", hint=f"List at most {MOST_ALIASES} names.")
    name = name_given(f"{field}.name", table.get("name"))
    others = dict.fromkeys(name_given(f"{field}.aliases", alias) for alias in aliases)
    return Entity(name=name, type=of, aliases=tuple(other for other in others if other != name))


def _link(field: str, table: Mapping[str, Any]) -> Link:
    weight, record = table.get("weight", 1.0), table.get("record")
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight <= 1:
        raise InvalidRecord(f"{field}.weight={weight!r:.60} is out of range.", hint="It is a number from 0 to 1.")
    names = {name: name_given(f"{field}.{name}", table.get(name)) for name in ("subject", "predicate", "object")}
    times = {name: moment(micros(table.get(name), f"{field}.{name}")) for name in ("valid_from", "valid_to")}
    order_given(f"{field}.valid_from", times["valid_from"], f"{field}.valid_to", times["valid_to"])
    record = None if record is None else name_given(f"{field}.record", record)
    return Link(**names, **times, weight=float(weight), record=record)


def _span(field: str, table: Mapping[str, Any]) -> Span:
    start, end = (moment(micros(table.get(name), f"{field}.{name}")) for name in ("start", "end"))
    if start is None or end is None:
        raise InvalidRecord(f"{field} lacks its {'start' if start is None else 'end'}.", hint=_HOW[Span])
    order_given(f"{field}.start", start, f"{field}.end", end)
    text = table.get("text") or ""
    return Span(start=start, end=end, text=name_given(f"{field}.text", text) if text else "")
