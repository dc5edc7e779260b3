"""Long records and their parts: a part is a record of its own that is searched in place of the whole, and never shown.

A part has the id of its record with a number behind a separator that no caller's id can hold, so that it is told from other
records, and its record found, without looking anything up. It shares with its record whatever a filter looks at. The record keeps
how many parts it has in its metadata; word search passes it over, and it has no `full` vector. Whether a part may be seen
is decided by its record (`gather`), so that what holds for that one holds for its parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from .chunks import LONG, parts
from .records import EMPTY, PART, PARTS, Record

SEPARATOR = "\x1f"
_SPLIT = ("note", "turn")  # a session chunk is a piece already, a summary is short


def in_parts(record: Record) -> tuple[Record, list[Record]]:
    """The record as it is stored, and its parts, if it is a long one."""
    metadata = {name: value for name, value in record.metadata.items() if name != PARTS}
    split = record.role in _SPLIT and len(record.text) > LONG and "full" not in record.views
    texts = [f"{label}{text}" for label, side in sides(record) for text in parts(side) or [side]] if split else []
    if not texts:
        return (record if PARTS not in record.metadata else replace(record, metadata=_frozen(metadata))), []
    whole = replace(record, metadata=_frozen({**metadata, PARTS: len(texts)}))
    return whole, [_part(record, number, text) for number, text in enumerate(texts, 1)]


def part_ids(record: Record) -> list[str]:
    """The ids of a record's parts."""
    count = record.metadata.get(PARTS, 0)
    return [f"{record.id}{SEPARATOR}{number}" for number in range(1, count + 1)] if isinstance(count, int) else []


def whole_of(id: str) -> str:
    """The id of the record that a part belongs to."""
    return id.rpartition(SEPARATOR)[0]


def sides(record: Record) -> list[tuple[str, str]]:
    """What either side of a turn said, behind its name as the text has it; of anything else, the text."""
    text, said, start = record.text, [], 0
    for view in ("user", "assistant"):
        side = record.views.get(view, "")
        place = text.find(side, start) if side else -1
        label = text[start:place].lstrip() if place >= 0 else ""
        if not label.endswith(": "):
            return [("", text)]
        said.append((label, side))
        start = place + len(side)
    return said if start == len(text) else [("", text)]


def _part(record: Record, number: int, text: str) -> Record:
    return replace(
        record, id=f"{record.id}{SEPARATOR}{number}", role=PART, text=text, views=EMPTY, metadata=EMPTY, entities=(), links=(),
        dates=(), source=f"record:{record.id}",
    )  # fmt: skip


def _frozen(metadata: Mapping[str, object]) -> Mapping[str, object]:
    return MappingProxyType(metadata) if metadata else EMPTY
