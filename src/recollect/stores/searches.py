"""The searches over shelves: each looks at the shelves a `Where` opens, through the mask of what may be seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, islice
from operator import eq
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidQuery, InvalidVector
from ..normalize import fold
from ..ports import Found
from ..query import Where
from ..records import EMPTY
from ..tokens import characters, meaningful, pack, query_terms, term_hash
from .postings import Postings
from .rows import holds
from .shelf import Shelf
from .vectors import usable

if TYPE_CHECKING:
    from .shelves import Shelves

LOW = 0xFFFFFFFF
Look = Callable[[Shelf, "np.ndarray | None"], "tuple[np.ndarray, np.ndarray]"]
NOTHING = (np.empty(0, np.int64), np.empty(0))


class ShelfLexical:
    """Text search over the shelves of a store."""

    def __init__(self, shelves: Shelves) -> None:
        self._shelves = shelves

    def words(self, where: Where, text: str, limit: int, match: str) -> Found:
        """BM25 over the shared tokenisation. match: any, all, or relax (all, else any)."""
        if match not in ("any", "all", "relax"):
            raise InvalidQuery(f"match={match!r:.40} is unknown.", hint="Use any, all or relax.")
        if match == "any":
            return look_at(self._shelves, where, limit, lambda shelf, mask: _any(shelf, mask, text, limit))
        found = look_at(self._shelves, where, limit, lambda shelf, mask: _all(shelf, mask, text))
        if match == "relax" and not found.keys:
            found = self.words(where, text, limit, "any")
            return found._replace(relaxed=bool(found.keys), note="no record has all the words: any word counts")
        return found

    def tokens(self, where: Where, text: str, limit: int, share: float, second: tuple[int, float] | None) -> Found:
        """Token recall: the share of the query's tokens that the record's text holds."""
        wanted = sorted({term_hash(token) for token in meaningful(characters(text))})
        if not wanted:
            return Found([], [], note="the question has no meaningful tokens")

        def look(shelf: Shelf, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
            return _shares(self._characters(shelf), wanted, mask, share, second)

        return look_at(self._shelves, where, limit, look)

    def substring(self, where: Where, text: str, limit: int) -> Found:
        """Records whose text contains the whole lower-cased query."""
        phrase = fold(text).strip()
        if not phrase:
            return Found([], [])

        def look(shelf: Shelf, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
            rows = self._shelves.reads.texts(shelf.owner, 0, shelf.size)
            slots = [slot for slot, body in rows if (mask is None or mask[slot]) and holds(body, phrase)]
            return np.array(slots, np.int64), np.ones(len(slots))

        return look_at(self._shelves, where, limit, look)

    def shares(self, text: str, keys: Sequence[int]) -> Mapping[int, float]:
        """How much of the query each of these holds: of the idf of the terms that any record of its owner holds."""
        shelves, found = self._shelves, {}
        with shelves.reads.reading():
            for number in {key >> 32 for key in keys}:
                shelf, mine = shelves.shelf_of(number), [key for key in keys if key >> 32 == number]
                if shelf is not None:
                    wanted = [term_hash(term) for term in query_terms(text, shelf.languages)]
                    shares = shelf.postings.shares(wanted, np.array(mine, np.int64) & LOW)
                    found.update(zip(mine, shares.round(9).tolist(), strict=True))
        return found

    def _characters(self, shelf: Shelf) -> Postings:
        """The unstemmed tokens of every record, made when a recipe first asks for them."""
        if shelf.characters is None:
            shelf.characters, shelf.characters_to = Postings(), 0
        if shelf.characters_to < shelf.size:
            rows = list(self._shelves.reads.texts(shelf.owner, shelf.characters_to, shelf.size))
            bags = [characters(body) for _, body in rows]
            blobs = [pack(bag)[0] for bag in bags]
            shelf.characters.load([slot for slot, _ in rows], blobs, [len(set(meaningful(bag))) for bag in bags])
            shelf.characters_to = shelf.size
        return shelf.characters


class ShelfVector:
    """Vector search over the lanes of a store."""

    def __init__(self, shelves: Shelves, drop: Callable[[str, str], int]) -> None:
        self._shelves, self._drop = shelves, drop

    def nearest(
        self, where: Where, space: str, view: str, vector: np.ndarray, limit: int, threshold: float | None, *,
        beside: str | None = None,
    ) -> Found:  # fmt: skip
        """Cosine neighbours at or above the threshold."""
        vector = usable(vector)

        def look(shelf: Shelf, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
            lane = self._shelves.lane(shelf, space, view)
            if lane is None or not lane.count:
                return NOTHING
            if len(vector) != lane.dimension:
                raise InvalidVector(
                    f"The question's vector has {len(vector)} numbers; those of {view} in {space} have {lane.dimension}.",
                    hint="Embed the question with the model that embedded the records.",
                )
            return lane.nearest(vector, limit, threshold, self._without(shelf, beside, view, mask))

        return look_at(self._shelves, where, limit, look)

    def vectors(self, space: str, view: str, keys: Sequence[int]) -> Mapping[int, np.ndarray]:
        """The unit vectors of these keys; a key without one is absent."""
        shelves, found = self._shelves, {}
        with shelves.reads.reading():
            for number in {key >> 32 for key in keys}:
                shelf = shelves.shelf_of(number)
                lane = None if shelf is None else shelves.lane(shelf, space, view)
                if lane is not None:
                    mine = [key & LOW for key in keys if key >> 32 == number]
                    found.update({number << 32 | slot: vector for slot, vector in lane.vectors(mine).items()})
        return found

    def coverage(self, where: Where, space: str, view: str) -> tuple[int, int]:
        """How many of the owner's records have a vector here, and how many wait for one."""
        shelves = self._shelves
        with shelves.reads.reading():
            shelf = shelves.shelf(where.owner)
            if shelf is None:
                return 0, 0
            lane = shelves.lane(shelf, space, view)
            return len(lane) if lane is not None else 0, shelves.reads.waiting(shelf.owner, space, view)

    def elsewhere(self, where: Where, space: str, view: str) -> Mapping[str, int]:
        """Other spaces that have this view of records that have none in `space`: of how many."""
        shelves = self._shelves
        with shelves.reads.reading():
            shelf = shelves.shelf(where.owner)
            if shelf is None:
                return EMPTY
            asked, found = shelf.elsewhere.get((space, view), (None, EMPTY))
            if asked != shelf.pulse:
                spaces = [of for _, of, name, _ in shelves.reads.lanes_of(shelf.owner) if name == view]
                found = self._lacking(shelf, space, view, [of for of in spaces if of != space])
                shelf.elsewhere[space, view] = shelf.pulse, found
            return found

    def drop(self, owner: str, space: str) -> int:
        """The owner's vectors and jobs of a space go, a transaction for each so many: others may write in between."""
        return self._drop(owner, space)

    def _without(self, shelf: Shelf, beside: str | None, view: str, mask: np.ndarray | None) -> np.ndarray | None:
        """The mask without what has a vector in the other space."""
        lane = None if beside is None else self._shelves.lane(shelf, beside, view)
        if lane is None:
            return mask
        free = lane.lacking(shelf.size)
        return free if mask is None else mask & free

    def _lacking(self, shelf: Shelf, space: str, view: str, others: Sequence[str]) -> Mapping[str, int]:
        """How many records each of these spaces has that `space` has not. Lanes that can't matter are not loaded."""
        if not others:
            return EMPTY
        own = self._shelves.lane(shelf, space, view)
        if own is not None and len(own) == shelf.count:
            return EMPTY
        free = np.ones(shelf.size, bool) if own is None else own.lacking(shelf.size)
        lanes = {of: self._shelves.lane(shelf, of, view) for of in others}
        counts = {of: int(np.count_nonzero(free & ~lane.lacking(shelf.size))) for of, lane in lanes.items()}
        return {of: count for of, count in counts.items() if count}


def look_at(shelves: Shelves, where: Where, limit: int, look: Look) -> Found:
    """Ask each shelf in sight; equal scores newest first, then by id."""
    with shelves.reads.reading():
        answers = [] if limit < 1 else [_best_first(shelf, *look(shelf, mask), limit) for shelf, mask in shelves.sight(where)]
        if not answers:
            return Found([], [])
        if len(answers) == 1:
            return Found(*answers[0])
        return _merged(shelves, answers, limit)


def _best_first(shelf: Shelf, slots: np.ndarray, scores: np.ndarray, limit: int) -> tuple[list[int], list[float]]:
    order = scores.argsort()[::-1]
    places, ranked = slots[order].tolist(), scores[order].tolist()
    if any(map(eq, ranked, islice(ranked, 1, None))):
        at, ids, first = shelf.columns["at"].item, shelf.ids, 0
        for _, equals in groupby(ranked):
            last = first + len(list(equals))
            if last > first + 1:
                places[first:last] = sorted(places[first:last], key=lambda slot: (-at(slot), ids[slot]))
            first = last
    base = shelf.base
    return [base + slot for slot in places[:limit]], ranked[:limit]


def _merged(shelves: Shelves, answers: list[tuple[list[int], list[float]]], limit: int) -> Found:
    keys = [key for keys, _ in answers for key in keys]
    scores = [score for _, scores in answers for score in scores]
    facts = shelves.facts(keys)
    there = [(key, score) for key, score in zip(keys, scores, strict=True) if key in facts]
    ranked = sorted(there, key=lambda e: (-e[1], -facts[e[0]].at, facts[e[0]].id))[:limit]
    return Found([key for key, _ in ranked], [score for _, score in ranked])


def _any(shelf: Shelf, mask: np.ndarray | None, text: str, limit: int) -> tuple[np.ndarray, np.ndarray]:
    wanted = [term_hash(term) for term in query_terms(text, shelf.languages)]
    slots, scores = shelf.postings.best(wanted, limit, mask)
    return slots.astype(np.int64), scores.round(9)


def _all(shelf: Shelf, mask: np.ndarray | None, text: str) -> tuple[np.ndarray, np.ndarray]:
    """Records that hold every word, each judged in its own language."""
    allowed = np.zeros(shelf.size, bool)
    for language in shelf.languages:
        wanted = [term_hash(term) for term in query_terms(text, [language])]
        spoken = shelf.columns["language"][: shelf.size] == shelf.names.codes.get(language, -1)
        for slots in sorted([slots for slots, _ in shelf.postings.find(wanted)], key=len):
            held = np.zeros(shelf.size, bool)
            held[slots] = True
            spoken = spoken & held
        if wanted:
            allowed |= spoken
    return _any(shelf, allowed if mask is None else allowed & mask, text, shelf.size)


def _shares(
    postings: Postings, wanted: Sequence[int], mask: np.ndarray | None, share: float, second: tuple[int, float] | None
) -> tuple[np.ndarray, np.ndarray]:
    held = [slots for slots, _ in postings.find(wanted) if len(slots)]
    if not held:
        return NOTHING
    slots, counts = np.unique(np.concatenate(held), return_counts=True)
    keep = counts / len(wanted) >= share
    if second:
        meaningful_tokens = np.maximum(postings.lengths[slots], 1)
        keep |= (counts >= second[0]) & (counts / meaningful_tokens >= second[1])
    if mask is not None:
        keep &= mask[slots]
    return slots[keep].astype(np.int64), np.round(counts[keep] / len(wanted), 9)
