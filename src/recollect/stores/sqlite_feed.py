"""What changed on a shelf of a sqlite store, for indexes beside it: told from the slots given out and the log of changes.

The log is the one readers follow (sqlite_write.py); it is pruned, and who is too far behind begins anew. A mark carries an id
that the file is given when it is first followed, so that an index of another file is not taken for one of this.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import numpy as np

from ..ports import Changed

if TYPE_CHECKING:
    from .sqlite import SqliteStore


NOBODY = (0, 0, 0)  # the numbers of an owner that is not there yet


class SqliteFeed:
    """See `ports.Feed`. A mark is the file's id, the owner's number, its next slot and its count of changes."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._id = ""

    def mark(self, owner: str) -> str:
        id = self._file_id()
        with self._store.file.reading() as connection:
            return _mark(id, connection.execute(self._store.q.owner, (owner,)).fetchone())

    def since(self, owner: str, mark: str) -> Changed | None:
        id = self._file_id()
        old = _numbers(mark, id)
        if old is None:
            return None
        with self._store.file.snapshot() as connection:
            row = connection.execute(self._store.q.owner, (owner,)).fetchone()
            if row is None:
                return Changed([], mark) if old == NOBODY else None
            keys = self._told(connection, *row, *((row[0], 0, row[2]) if old == NOBODY else old))  # of nobody: all slots are new
        return None if keys is None else Changed(keys, _mark(id, row))

    def _told(self, connection, number: int, next_slot: int, change: int, was: int, slot: int, seen: int) -> list[int] | None:
        if was != number or slot > next_slot or seen > change:
            return None
        entries = connection.execute(self._store.q.changes_since, (number, seen)).fetchall() if change > seen else []
        if len(entries) != change - seen:
            return None
        slots = dict.fromkeys(one for *_, blob in entries for one in np.frombuffer(blob, "<u4").tolist())
        return [number << 32 | one for one in slots | dict.fromkeys(range(slot, next_slot))]

    def _file_id(self) -> str:
        if not self._id:
            with self._store.file.reading() as connection:
                held = connection.execute(self._store.q.fact, ("feed",)).fetchone()
            self._id = held[0] if held else self._named()
        return self._id

    def _named(self) -> str:
        with self._store.file.writing() as connection:
            held = connection.execute(self._store.q.fact, ("feed",)).fetchone()
            if held is None:
                connection.execute(self._store.q.put_fact, ("feed", secrets.token_hex(4)))
                held = connection.execute(self._store.q.fact, ("feed",)).fetchone()
        return held[0]


def _mark(id: str, row: tuple[int, int, int] | None) -> str:
    return ":".join([id, *map(str, row or NOBODY)])


def _numbers(mark: str, id: str) -> tuple[int, int, int] | None:
    mine, *parts = mark.split(":")
    return tuple(map(int, parts)) if mine == id and len(parts) == 3 and all(map(str.isdecimal, parts)) else None
