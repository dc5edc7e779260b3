"""All that a postgres store holds of an owner, page by page: what is carried to another store or into a file.

Used by `PostgresStore.holdings`, on a connection that sees one state throughout. It reads rows, not shelves: walking through a
memory loads nothing that searches would keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from ..ports import Holding
from .rows import record_of

if TYPE_CHECKING:
    import psycopg

PAGE = 500  # records in memory at a time


class Carrying:
    """See the module."""

    def __init__(self, connection: psycopg.Connection, queries: SimpleNamespace) -> None:
        self.connection, self.q = connection, queries

    def holdings(self, owner: str, ids: Sequence[str] | None) -> Iterator[Holding]:
        """Every record of the owner, or those with these ids, with its vectors and what waits for one."""
        lanes = {number: (space, view) for number, space, view, _ in self._all(self.q.lanes_of, owner)}
        for slots in self._each(owner) if ids is None else self._named(owner, ids):
            yield from self._page(owner, slots, lanes)

    def _each(self, owner: str) -> Iterator[list[int]]:
        last = -1
        while slots := [slot for (slot,) in self._all(self.q.slots_after, owner, last, PAGE)]:
            yield slots
            last = slots[-1]

    def _named(self, owner: str, ids: Sequence[str]) -> Iterator[list[int]]:
        slots = sorted(slot for _, slot in self._all(self.q.slots_by_ids, owner, [id for id in ids if "\0" not in id]))
        for start in range(0, len(slots), PAGE):
            yield slots[start : start + PAGE]

    def _page(self, owner: str, slots: Sequence[int], lanes: dict[int, tuple[str, str]]) -> Iterator[Holding]:
        vectors: dict[int, dict] = {slot: {} for slot in slots}
        for slot, lane, blob in self._all(self.q.vectors_of_slots, owner, list(lanes), slots) if lanes else ():
            vectors[slot][lanes[lane]] = np.frombuffer(blob, "<f4")
        waiting: dict[int, list] = {slot: [] for slot in slots}
        for slot, space, view in self._all(self.q.jobs_of_slots, owner, slots):
            waiting[slot].append((space, view))
        rows = {row[0]: row for row in self._all(self.q.records_by_slots, owner, slots)}
        for slot in slots:
            yield Holding(record_of(rows[slot], owner), vectors[slot], tuple(sorted(waiting[slot])))

    def _all(self, query: str, *given: object) -> list[tuple]:
        return self.connection.execute(query, given, binary=True).fetchall()
