"""The rows of the postgres store, as shelves read them.

Every statement names the owner, by its path: so it reads one partition.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import StoreClosed
from .postgres_vectors import block_of

if TYPE_CHECKING:
    from .postgres_server import Server

PAGE = 10_000  # slots of texts read at a time


class Pulse(NamedTuple):
    """What an owner's row said, and whether anything waits for a vector. Compared by what shelves go by."""

    no: int
    next_slot: int
    change: int


class PostgresReads:
    """What shelves ask; see `shelves.Reads`. `steady` keeps what one thread has been told for a whole answer."""

    def __init__(self, server: Server, queries: SimpleNamespace) -> None:
        self.server, self.q = server, queries
        self._paths: dict[int, str] = {}
        self._lock = threading.RLock()
        self._local = threading.local()
        self._wrote: dict[int, Pulse] = {}

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._lock:
            if self.server._closed:
                raise StoreClosed()
            yield

    def snapshot(self) -> Any:
        return self.server.snapshot()

    @contextmanager
    def steady(self, path: str) -> Iterator[None]:
        """Inside, this thread asks only once whether an owner's rows have changed."""
        if getattr(self._local, "told", None) is not None:
            yield
            return
        self._local.told = {}
        try:
            self.told(path)  # before any lock is taken, so that threads wait for the server side by side
            yield
        finally:
            self._local.told = None

    def told(self, path: str) -> tuple[Pulse | None, str | None, bool]:
        """An owner's pulse, its settings, and whether anything waits."""
        known = getattr(self._local, "told", None)
        if known is not None and path in known:
            return known[path]
        row = self.server.one(self.q.pulse, (path,))
        if row is None:
            told = None, None, False
        else:
            told = Pulse(*row[:3]), row[3], row[4]
            self._paths[row[0]] = path
        if known is not None:
            known[path] = told
        return told

    def wrote(self, marks: Sequence[Any]) -> None:
        """What we committed ourselves: what shelves hold from before is old."""
        for mark in marks:
            self._wrote[mark.no] = Pulse(mark.no, mark.next_slot, mark.change)
        if getattr(self._local, "told", None):
            self._local.told.clear()

    def pulse(self, path: str) -> Pulse | None:
        return self.told(path)[0]

    def fresh(self, pulse: Pulse | None) -> bool:
        last = None if pulse is None else self._wrote.get(pulse.no)
        return last is None or (pulse.next_slot >= last.next_slot and pulse.change >= last.change)

    def owner(self, path: str) -> tuple[int, int, int] | None:
        row = self.server.one(self.q.pulse, (path,))
        if row is None:
            return None
        self._paths[row[0]] = path
        return row[:3]

    def path_of(self, number: int) -> str:
        path = self._paths.get(number)
        if path is None:
            row = self.server.one(self.q.path_of, (number,)) if 0 <= number < 1 << 63 else None
            if row is None:
                return ""
            path = self._paths[number] = row[0]
        return path

    def columns(self, owner: int, start: int, end: int) -> list[tuple]:
        return self.server.all(self.q.columns, (self.path_of(owner), owner, start, end))

    def some_columns(self, owner: int, slots: Sequence[int]) -> list[tuple]:
        return self.server.all(self.q.some_columns, (self.path_of(owner), owner, list(slots)))

    def changes_since(self, owner: int, change: int) -> list[tuple]:
        return self.server.all(self.q.changes_since, (self.path_of(owner), change))

    def lane(self, owner: int, space: str, view: str) -> tuple[int, int] | None:
        return self.server.one(self.q.lane, (self.path_of(owner), space, view))

    def lanes_of(self, owner: int) -> list[tuple]:
        return self.server.all(self.q.lanes_of, (self.path_of(owner),))

    def lane_blocks(self, owner: int, lane: int, size: int, at_once: int) -> Iterator[tuple[np.ndarray, bytes]]:
        path, first = self.path_of(owner), 0
        while row := self.server.one(self.q.lane_vectors, (path, lane, first, size, at_once)):
            if row[0] is None:
                return
            slots = np.frombuffer(row[0], ">i4")
            yield slots, block_of(row[1], len(slots))
            first = int(slots[-1]) + 1

    def vectors(self, owner: int, lane: int, slots: Sequence[int]) -> list[tuple[int, bytes]]:
        return self.server.all(self.q.vectors_by_slots, (self.path_of(owner), lane, list(slots)))

    def slots(self, owner: int, ids: Sequence[str]) -> list[tuple[str, int]]:
        ids = [id for id in ids if _sendable(id)]
        return self.server.all(self.q.slots_by_ids, (self.path_of(owner), ids)) if ids else []

    def records(self, keys: Sequence[int]) -> list[tuple]:
        rows = []
        for number in {key >> 32 for key in keys}:
            slots = [key & 0xFFFFFFFF for key in keys if key >> 32 == number]
            path = self.path_of(number)
            found = self.server.all(self.q.records_by_slots, (path, slots)) if path else ()
            rows += [(number << 32 | slot, *rest) for slot, *rest in found]
        return rows

    def texts(self, owner: int, start: int, end: int) -> Iterator[tuple[int, str]]:
        path = self.path_of(owner)
        for first in range(start, end, PAGE):
            yield from self.server.all(self.q.texts, (path, first, min(end, first + PAGE)))

    def dates(self, owner: int, start: int, end: int, also: Sequence[int]) -> list[tuple[int, str]]:
        return self.server.all(self.q.dates, (self.path_of(owner), start, end, list(also)))

    def web(self, owner: int, start: int, end: int) -> list[tuple]:
        return self.server.all(self.q.web, (self.path_of(owner), start, end))

    def waiting(self, owner: int, space: str, view: str) -> int:
        path = self.path_of(owner)
        if not self.told(path)[2]:
            return 0
        return self.server.one(self.q.count_jobs_of_view, (path, space, view))[0]


def _sendable(text: str) -> bool:
    """Whether PostgreSQL takes the text: an id that it doesn't is nobody's."""
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)
