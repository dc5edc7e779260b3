"""The notes of a postgres store: a table of its own, point look-ups, each change a durable statement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .postgres import PostgresStore


class PostgresNotes:
    """See `ports.Notes`."""

    def __init__(self, store: PostgresStore) -> None:
        self._server, self._q = store.server, store.q

    def get(self, kind: str, name: str, now: int) -> dict[str, Any] | None:
        row = self._server.one(self._q.note, (kind, name, now))
        return json.loads(row[0]) if row else None

    def all(self, kind: str, now: int) -> dict[str, dict[str, Any]]:
        return {name: json.loads(value) for name, value in self._server.all(self._q.notes_of, (kind, now))}

    def add(self, kind: str, name: str, value: Mapping[str, Any], now: int, until: int | None = None) -> bool:
        self._server.run(self._q.drop_old_notes, (now,))
        return bool(self._server.run(self._q.add_note, (kind, name, json.dumps(value), until)))

    def put(self, kind: str, name: str, value: Mapping[str, Any], until: int | None = None) -> None:
        self._server.run(self._q.put_note, (kind, name, json.dumps(value), until))

    def drop(self, kind: str, name: str) -> None:
        self._server.run(self._q.drop_note, (kind, name))
