"""What a framework hands over to be given back to the letter, kept beside the text that is searched.

A record's text is cleaned and its metadata is small; a framework's value is JSON of any size. A short value is in the metadata of
its record. A long one is in pieces: records of role `derived`, which no search sees, written in one transaction with the
record that names them. For the adapters; not for what people remember.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from ..errors import InvalidRecord, UnknownRecord
from ..memory import Memory
from ..records import CARRIED, DERIVED, Record
from ..render import strip_blocks

(VALUE, PIECES), PIECE = CARRIED, "recollect:piece"
SHELF = "recollect:carried"  # the session of the pieces
SIZE = 40_000  # characters of JSON in a piece: escaped once more, they fit what metadata may have
TRIES = 50  # until somebody else's writing the same record is given way to no longer


def name_of(kind: str, *of: Any) -> str:
    """An id made from values: the same for the same, and for no others."""
    return f"{kind}-{blake2b(json.dumps(of).encode(), digest_size=20).hexdigest()}"


def plain(kind: str, name: str) -> str:
    """A name as a record may have it: itself where it is short and printable, and never another's."""
    harmless = len(name) <= 150 and name.isprintable() and not name.startswith(f"{kind}-")
    return name if harmless else name_of(kind, name)


def visible(text: str) -> bool:
    """Whether a text has something that can be remembered: a character that shows, outside the blocks we wrote ourselves."""
    return any(char.isprintable() and not char.isspace() for char in strip_blocks(text))


def roomy(memory: Memory) -> Memory:
    """The same memory for an adapter that uses the project for itself: the owner and agent bind it, no project, no session."""
    scope = replace(memory.scope, project=None, session=None)
    return memory if scope == memory.scope else memory.for_owner(scope)


def carry(id: str, value: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A value as metadata for the record of this id, and drafts of the records that hold it if it is long."""
    try:
        written = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRecord(f"This can't be written as JSON: {error}.", hint="Use text, numbers, lists and tables.") from None
    if len(written) <= SIZE:
        return {VALUE: value}, []
    print = blake2b(written.encode(), digest_size=8).hexdigest()
    pieces = [
        {"id": f"{id}~{print}-{start // SIZE}", "text": "a piece", "role": DERIVED, "session": SHELF, "at": "ageless",
         "metadata": {PIECE: written[start : start + SIZE]}}
        for start in range(0, len(written), SIZE)
    ]  # fmt: skip
    return {PIECES: [piece["id"] for piece in pieces]}, pieces


def carried(memory: Memory, record: Record) -> Any:
    """The value a record carries, as it was handed over."""
    if VALUE in record.metadata:
        return deepcopy(record.metadata[VALUE])  # who gets it may change it
    return json.loads("".join(str(memory.get(id).metadata[PIECE]) for id in pieces(record)))


def pieces(record: Record | None) -> list[str]:
    """The ids of the records that hold a long value."""
    held = record.metadata.get(PIECES, ()) if record is not None else ()
    return [str(id) for id in held] if isinstance(held, (list, tuple)) else []


def lacking(memory: Memory, rest: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The drafts of pieces that are not there yet: equal pieces have equal ids."""
    return [piece for piece in rest if find(memory, piece["id"]) is None]


def find(memory: Memory, id: str) -> Record | None:
    """A record by its id, or None."""
    try:
        return memory.get(id)
    except UnknownRecord:
        return None


def change(memory: Memory, old: Record, value: Any, **fields: Any) -> Record:
    """Another value and other fields for a record, if it is still this one: RecordChanged, when it is not."""
    metadata, rest = carry(old.id, value)
    held = pieces(old)
    memory.remember_many(lacking(memory, rest))
    left = {name: one for name, one in old.metadata.items() if name not in CARRIED}
    new = memory.amend(old, expected=old, metadata={**left, **fields.pop("metadata", {}), **metadata}, **fields)
    drop(memory, set(held) - set(pieces(new)))
    return new


def remove(memory: Memory, record: Record) -> None:
    """Forget a record and its pieces, if it is still this one."""
    memory.forget(record, expected=record)
    drop(memory, pieces(record))


def drop(memory: Memory, ids: Iterable[str]) -> None:
    """Forget pieces that nothing names any more."""
    for id in ids:
        if find(memory, id) is not None:
            memory.forget(id)
