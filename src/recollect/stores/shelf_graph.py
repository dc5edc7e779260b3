"""The graph over shelves: a web beside each shelf's words, built when first asked for, then kept up with the rows.

What names, ways and scores are is said in graph.py; this finds what is in sight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..ports import Found, Neighborhood, Node
from ..query import Where
from . import graph
from .rows import entities_of, links_of
from .web import Entry, Sight, Web, entry, source_of

if TYPE_CHECKING:
    from .shelf import Shelf
    from .shelves import Shelves

LOW = 0xFFFFFFFF
Masks = Mapping[int, "np.ndarray | None"]


class ShelfGraph:
    """Entities and links of a store."""

    def __init__(self, shelves: Shelves) -> None:
        self._shelves = shelves

    def walk(self, where: Where, text: str, limit: int, hops: int, *, facts: bool = True) -> Found:
        """Records near to what the text names; without `facts`, the source of one that was derived in its place."""
        with self._shelves.reads.reading():
            seen = self._sight(where)
            if not seen.web.entries:
                return Found([], [], note="the question names nothing known")
            answers = _visible({shelf.owner: mask for shelf, mask in self._shelves.sight(where)})
            place = graph.placing(seen, where, facts, answers, self._find)
            return graph.walk(seen, text, limit, hops, place, lambda scored, most: self._rank(where, scored, most))

    def entities(self, where: Where, limit: int) -> list[Node]:
        """Named things, those most often mentioned first, then by name."""
        with self._shelves.reads.reading():
            return graph.entities(self._sight(where), limit)

    def neighborhood(self, where: Where, name: str, hops: int, limit: int) -> Neighborhood:
        """What is around the node of this name."""
        with self._shelves.reads.reading():
            return graph.neighborhood(self._sight(where), name, hops, limit)

    def about(self, where: Where, subject: str, predicate: str) -> list[int]:
        """Keys of the records that link this subject by this predicate, in the order they were added."""
        with self._shelves.reads.reading():
            return graph.about(self._sight(where), subject, predicate)

    def follow(self, shelf: Shelf, slots: Iterable[int]) -> None:
        """Read anew what these records say: they were changed, or forgotten."""
        for slot in slots:
            if shelf.web is not None and slot < shelf.web_to:
                shelf.web.put(shelf.base + slot, None)
                self._read(shelf, slot, slot + 1)

    def _sight(self, where: Where) -> Sight:
        sight = self._shelves.sight(graph.whence(where))
        webs = [web for shelf, _ in sight if (web := self._web(shelf)).entries]
        masks = {shelf.owner: mask for shelf, mask in sight}
        return Sight(webs[0] if len(webs) == 1 else _together(webs), _visible(masks), graph.moment_of(where))

    def _web(self, shelf: Shelf) -> Web:
        if shelf.web is None:
            shelf.web, shelf.web_to = Web(), 0
        if shelf.web_to < shelf.size:
            self._read(shelf, shelf.web_to, shelf.size)
            shelf.web_to = shelf.size
        return shelf.web

    def _read(self, shelf: Shelf, start: int, end: int) -> None:
        path = self._shelves.reads.path_of(shelf.owner)
        for slot, *said in self._shelves.reads.web(shelf.owner, start, end):
            shelf.web.put(shelf.base + slot, _entry(said, path))

    def _find(self, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """Where ids of owners live."""
        found: dict[tuple[str, str], int] = {}
        by_owner: dict[str, list[str]] = {}
        for owner, id in wanted:
            by_owner.setdefault(owner, []).append(id)
        with self._shelves.reads.reading():
            for owner, ids in by_owner.items():
                shelf = self._shelves.shelf(owner)
                for id, slot in self._shelves.reads.slots(shelf.owner, ids) if shelf else ():
                    found[owner, id] = shelf.base + slot
        return found

    def _rank(self, where: Where, scored: list[tuple[float, int]], limit: int) -> Found:
        """Best first; equal scores newest first, then by id, then the owner's own before the tenant's."""
        facts = self._shelves.facts([key for _, key in scored])
        own = self._shelves.shelf(where.owner)

        def place(one: tuple[float, int]) -> tuple:
            return -one[0], -facts[one[1]].at, facts[one[1]].id, own is None or one[1] >> 32 != own.owner

        best = sorted((one for one in scored if one[1] in facts), key=place)[: max(0, limit)]
        return Found([key for _, key in best], [score for score, _ in best])


def _visible(masks: Masks) -> Callable[[int], bool]:
    """Whether a key is let through by its shelf's mask; a key of a shelf that is not looked at is not."""

    def visible(key: int) -> bool:
        mask = masks.get(key >> 32, _NOTHING)
        return mask is None or (key & LOW < len(mask) and mask.item(key & LOW))

    return visible


_NOTHING = np.zeros(0, bool)


def _together(webs: list[Web]) -> Web:
    """An owner's and what the tenant shares, as one."""
    both = Web()
    for web in webs:
        for key, said in web.entries.items():
            both.put(key, said)
    return both


def _entry(said: Sequence, owner: str) -> Entry:
    id, confidence, role, source, entities, links = said
    return entry(id, owner, confidence, source_of(role, source), entities_of(entities), links_of(links))
