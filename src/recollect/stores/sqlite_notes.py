"""The notes of a sqlite store: a table of its own, point look-ups, each change a durable transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .sqlite import SqliteStore


class SqliteNotes:
    """See `ports.Notes`."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def get(self, kind: str, name: str, now: int) -> dict[str, Any] | None:
        with self._store.file.reading() as connection:
            row = connection.execute(self._store.q.note, (kind, name, now)).fetchone()
        return json.loads(row[0]) if row else None

    def all(self, kind: str, now: int) -> dict[str, dict[str, Any]]:
        with self._store.file.reading() as connection:
            rows = connection.execute(self._store.q.notes_of, (kind, now)).fetchall()
        return {name: json.loads(value) for name, value in rows}

    def add(self, kind: str, name: str, value: Mapping[str, Any], now: int, until: int | None = None) -> bool:
        with self._store.file.writing() as connection:
            connection.execute(self._store.q.drop_old_notes, (now,))
            return bool(connection.execute(self._store.q.add_note, (kind, name, json.dumps(value), until)).rowcount)

    def put(self, kind: str, name: str, value: Mapping[str, Any], until: int | None = None) -> None:
        with self._store.file.writing() as connection:
            connection.execute(self._store.q.put_note, (kind, name, json.dumps(value), until))

    def drop(self, kind: str, name: str) -> None:
        with self._store.file.writing() as connection:
            connection.execute(self._store.q.drop_note, (kind, name))
