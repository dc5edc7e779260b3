"""What changed on a shelf, for indexes beside the store: told from the slots given out and the log of changes.

The log is the one readers follow (writing.py); it is pruned, and who is too far behind begins anew. A mark carries an id
that the store is given when it is first followed, so that an index of another store is not taken for one of this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..ports import Changed

if TYPE_CHECKING:
    from .shelves import Reads


NOBODY = (0, 0, 0)  # the numbers of an owner that is not there yet


class ShelfFeed:
    """See `ports.Feed`. A mark is the store's id, the owner's number, its next slot and its count of changes.

    `name`: gives the store its id when it has none, and says what it is. `look`: catches the shelf of an owner up.
    """

    def __init__(self, reads: Reads, name: Callable[[], str], look: Callable[[str], object]) -> None:
        self._reads, self._name, self._look = reads, name, look
        self._known = ""

    def mark(self, owner: str) -> str:
        return _mark(self._id(), self._reads.owner(owner))

    def since(self, owner: str, mark: str) -> Changed | None:
        id = self._id()
        old = _numbers(mark, id)
        if old is None:
            return None
        with self._reads.snapshot():
            row = self._reads.owner(owner)
            if row is None:
                return Changed([], mark) if old == NOBODY else None
            keys = self._told(*row, *((row[0], 0, row[2]) if old == NOBODY else old))  # of nobody: all slots are new
        if keys:
            self._look(owner)  # whoever is given keys asks what they are next
        return None if keys is None else Changed(keys, _mark(id, row))

    def _id(self) -> str:
        self._known = self._known or self._name()
        return self._known

    def _told(self, number: int, next_slot: int, change: int, was: int, slot: int, seen: int) -> list[int] | None:
        if was != number or slot > next_slot or seen > change:
            return None
        entries = self._reads.changes_since(number, seen) if change > seen else []
        if len(entries) != change - seen:
            return None
        slots = dict.fromkeys(one for *_, blob in entries for one in np.frombuffer(blob, "<u4").tolist())
        return [number << 32 | one for one in slots | dict.fromkeys(range(slot, next_slot))]


def _mark(id: str, row: tuple[int, int, int] | None) -> str:
    return ":".join([id, *map(str, row or NOBODY)])


def _numbers(mark: str, id: str) -> tuple[int, int, int] | None:
    mine, *parts = mark.split(":")
    return tuple(map(int, parts)) if mine == id and len(parts) == 3 and all(map(str.isdecimal, parts)) else None
