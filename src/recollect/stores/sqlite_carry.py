"""All that a sqlite store holds of an owner, page by page: what is carried to another store or into a file.

Used by `SqliteStore.holdings`, on a connection that sees one state throughout. It reads rows, not shelves: walking through a
memory loads nothing that searches would keep.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import numpy as np

from ..ports import Holding
from .rows import record_of
from .sqlite_rows import keys_json

PAGE = 500  # records in memory at a time
LOW = 0xFFFFFFFF


class Carrying:
    """See the module."""

    def __init__(self, connection: sqlite3.Connection, queries: SimpleNamespace) -> None:
        self.run = connection.execute
        self.q = queries

    def holdings(self, owner: str, ids: Sequence[str] | None) -> Iterator[Holding]:
        """Every record of the owner, or those with these ids, with its vectors and what waits for one."""
        row = self.run(self.q.owner, (owner,)).fetchone()
        if row is None:
            return
        lanes = {no: (space, view) for no, space, view, _ in self.run(self.q.lanes_of, row[:1])}
        for keys in self._all(row[0]) if ids is None else self._named(row[0], ids):
            yield from self._page(owner, keys, lanes)

    def _all(self, number: int) -> Iterator[list[int]]:
        last = (number << 32) - 1
        while keys := [key for (key,) in self.run(self.q.keys_after, (last, (number + 1) << 32, PAGE)).fetchall()]:
            yield keys
            last = keys[-1]

    def _named(self, number: int, ids: Sequence[str]) -> Iterator[list[int]]:
        keys = sorted(key for _, key in self.run(self.q.keys_by_ids, (number, json.dumps(list(ids)))))
        for start in range(0, len(keys), PAGE):
            yield keys[start : start + PAGE]

    def _page(self, owner: str, keys: Sequence[int], lanes: dict[int, tuple[str, str]]) -> Iterator[Holding]:
        vectors: dict[int, dict] = {key & LOW: {} for key in keys}
        wanted = keys_json(lane << 32 | slot for lane in lanes for slot in vectors)
        for key, blob in self.run(self.q.vectors_by_keys, (wanted,)):
            vectors[key & LOW][lanes[key >> 32]] = np.frombuffer(blob, "<f4")
        waiting: dict[int, list] = {key: [] for key in keys}
        for key, space, view in self.run(self.q.jobs_of_keys, (keys_json(keys),)):
            waiting[key].append((space, view))
        rows = {row[0]: row for row in self.run(self.q.records_by_keys, (keys_json(keys),))}
        for key in keys:
            yield Holding(record_of(rows[key], owner), vectors[key & LOW], tuple(waiting[key]))
