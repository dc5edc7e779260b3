"""What an owner's records speak of in time, in memory: the dates of each, and the temporal search over shelves.

Made when a question first names a span, then kept up like the rest of a shelf: what was amended is read again, what was appended
is read when it is next asked for. Few records speak of dates, so arrays of those that do are small.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ..ports import Found
from ..query import Where
from ..records import DERIVED
from .searches import look_at

if TYPE_CHECKING:
    from .shelf import Shelf
    from .shelves import Shelves


class Times:
    """The dates of a shelf: slot, start and end of each. `stale`: slots to be read again; `to`: how far the shelf was read."""

    def __init__(self) -> None:
        self.slots, self.starts, self.ends = (np.empty(0, np.int64) for _ in range(3))
        self.stale: set[int] = set()
        self.to = 0

    def put(self, found: Iterable[tuple[int, str]], size: int) -> None:
        """Take in rows of slot and dates, in place of what the stale slots had."""
        rows = [(slot, start, end) for slot, dates in found for start, end, _ in json.loads(dates)]
        kept = ~np.isin(self.slots, np.fromiter(self.stale, np.int64)) if self.stale else np.ones(len(self.slots), bool)
        fresh = np.asarray(rows, np.int64).reshape(len(rows), 3).T
        old = (self.slots, self.starts, self.ends)
        self.slots, self.starts, self.ends = (np.concatenate([a[kept], b]) for a, b in zip(old, fresh, strict=True))
        self.stale.clear()
        self.to = size


class ShelfTemporal:
    """Search by event time over the shelves of a store."""

    def __init__(self, shelves: Shelves) -> None:
        self._shelves = shelves

    def within(self, where: Where, start: int, end: int, limit: int) -> Found:
        """Records whose `dates` or `at` fall into the span from `start` to before `end`, by the share of them that does."""

        def look(shelf: Shelf, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
            scores = _shares(shelf, self._times(shelf), start, end)
            if mask is not None:
                scores[~mask] = 0.0
            slots = np.flatnonzero(scores)
            return slots, scores[slots]

        return look_at(self._shelves, where, limit, look) if start < end else Found([], [])

    def _times(self, shelf: Shelf) -> Times:
        times = shelf.times = shelf.times or Times()
        if times.to < shelf.size or times.stale:
            stale = [slot for slot in times.stale if slot < times.to]
            times.put(self._shelves.reads.dates(shelf.owner, times.to, shelf.size, stale), shelf.size)
        return times


def _shares(shelf: Shelf, times: Times, start: int, end: int) -> np.ndarray:
    """By slot: the largest share of one of its dates that lies in the span; for `at` in it 1, or a half beside other dates."""
    at = shelf.columns["at"][: shelf.size]
    scores = ((at >= start) & (at < end)).astype(np.float64)
    scores[times.slots] *= 0.5
    shared = np.minimum(times.ends, end) - np.maximum(times.starts, start)
    np.maximum.at(scores, times.slots, np.round(np.maximum(shared, 0) / (times.ends - times.starts), 9))
    derived = shelf.names.codes.get(DERIVED)
    if derived is not None:
        scores[shelf.columns["role"][: shelf.size] == derived] = 0.0
    return scores
