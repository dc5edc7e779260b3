"""The searches of the sqlite store: each looks at the shelves a `Where` opens, through the mask of what may be seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidQuery, InvalidVector
from ..normalize import fold
from ..ports import Found
from ..query import Where
from ..tokens import characters, meaningful, pack, query_terms, term_hash
from .postings import Postings
from .rows import holds
from .shelf import Shelf
from .vectors import usable

if TYPE_CHECKING:
    from .sqlite import SqliteStore

LOW = 0xFFFFFFFF
Look = Callable[[Shelf, "np.ndarray | None"], "tuple[np.ndarray, np.ndarray]"]
NOTHING = (np.empty(0, np.int64), np.empty(0))


class SqliteLexical:
    """Text search over the shelves of a sqlite store."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def words(self, where: Where, text: str, limit: int, match: str) -> Found:
        """BM25 over the shared tokenisation. match: any, all, or relax (all, else any)."""
        if match not in ("any", "all", "relax"):
            raise InvalidQuery(f"match={match!r:.40} is unknown.", hint="Use any, all or relax.")
        if match == "any":
            return _look(self._store, where, limit, lambda shelf, mask: _any(shelf, mask, text, limit))
        found = _look(self._store, where, limit, lambda shelf, mask: _all(shelf, mask, text))
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

        return _look(self._store, where, limit, look)

    def substring(self, where: Where, text: str, limit: int) -> Found:
        """Records whose text contains the whole lower-cased query."""
        phrase = fold(text).strip()
        if not phrase:
            return Found([], [])

        def look(shelf: Shelf, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
            with self._store.file.reading() as connection:
                rows = connection.execute(self._store.q.texts, (shelf.base, shelf.base + shelf.size))
                slots = [key & LOW for key, body in rows if (mask is None or mask[key & LOW]) and holds(body, phrase)]
            return np.array(slots, np.int64), np.ones(len(slots))

        return _look(self._store, where, limit, look)

    def _characters(self, shelf: Shelf) -> Postings:
        """The unstemmed tokens of every record, made when a recipe first asks for them."""
        if shelf.characters is None:
            shelf.characters, shelf.characters_to = Postings(), 0
        if shelf.characters_to < shelf.size:
            with self._store.file.reading() as connection:
                span = shelf.base + shelf.characters_to, shelf.base + shelf.size
                rows = connection.execute(self._store.q.texts, span).fetchall()
            bags = [characters(body) for _, body in rows]
            blobs = [pack(bag)[0] for bag in bags]
            shelf.characters.load([key & LOW for key, _ in rows], blobs, [len(set(meaningful(bag))) for bag in bags])
            shelf.characters_to = shelf.size
        return shelf.characters


class SqliteVector:
    """Vector search over the lanes of a sqlite store."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def nearest(self, where: Where, space: str, view: str, vector: np.ndarray, limit: int, threshold: float | None) -> Found:
        """Cosine neighbours at or above the threshold."""
        vector = usable(vector)

        def look(shelf: Shelf, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
            lane = self._store.lane(shelf, space, view)
            if lane is None or not lane.count:
                return NOTHING
            if len(vector) != lane.dimension:
                raise InvalidVector(
                    f"The question's vector has {len(vector)} numbers; those of {view} in {space} have {lane.dimension}.",
                    hint="Embed the question with the model that embedded the records.",
                )
            return lane.nearest(vector, limit, threshold, mask)

        return _look(self._store, where, limit, look)

    def vectors(self, space: str, view: str, keys: Sequence[int]) -> Mapping[int, np.ndarray]:
        """The unit vectors of these keys; a key without one is absent."""
        store, found = self._store, {}
        with store.file.reading():
            for number in {key >> 32 for key in keys}:
                shelf = store.shelf_of(number)
                lane = None if shelf is None else store.lane(shelf, space, view)
                if lane is not None:
                    mine = [key & LOW for key in keys if key >> 32 == number]
                    found.update({number << 32 | slot: vector for slot, vector in lane.vectors(mine).items()})
        return found

    def coverage(self, where: Where, space: str, view: str) -> tuple[int, int]:
        """How many of the owner's records have a vector here, and how many wait for one."""
        store = self._store
        with store.file.reading() as connection:
            shelf = store.shelf(where.owner)
            if shelf is None:
                return 0, 0
            lane = store.lane(shelf, space, view)
            jobs = connection.execute(store.q.count_jobs_of_view, (shelf.base, shelf.base + LOW + 1, space, view)).fetchone()[0]
            return len(lane) if lane is not None else 0, jobs


def _look(store: SqliteStore, where: Where, limit: int, look: Look) -> Found:
    """Ask each shelf in sight; equal scores newest first, then by id."""
    with store.file.reading():
        answers = [] if limit < 1 else [_best_first(shelf, *look(shelf, mask), limit) for shelf, mask in store.sight(where)]
        if not answers:
            return Found([], [])
        if len(answers) == 1:
            return Found(*answers[0])
        return _merged(store, answers, limit)


def _best_first(shelf: Shelf, slots: np.ndarray, scores: np.ndarray, limit: int) -> tuple[list[int], list[float]]:
    at = shelf.columns["at"][slots]
    order = np.lexsort((-at, -scores))
    slots, scores, at = slots[order], scores[order], at[order]
    keys, ranked = (slots + shelf.base).tolist(), scores.tolist()
    if ((scores[1:] == scores[:-1]) & (at[1:] == at[:-1])).any():
        ids, base = shelf.ids, shelf.base
        keys = [
            key
            for *_, key in sorted(zip((-scores).tolist(), (-at).tolist(), [ids[key - base] for key in keys], keys, strict=True))
        ]
    return keys[:limit], ranked[:limit]


def _merged(store: SqliteStore, answers: list[tuple[list[int], list[float]]], limit: int) -> Found:
    keys = [key for keys, _ in answers for key in keys]
    scores = [score for _, scores in answers for score in scores]
    facts = store.facts(keys)
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
        for slots in sorted((shelf.postings.find(term)[0] for term in wanted), key=len):
            held = np.zeros(shelf.size, bool)
            held[slots] = True
            spoken = spoken & held
        if wanted:
            allowed |= spoken
    return _any(shelf, allowed if mask is None else allowed & mask, text, shelf.size)


def _shares(
    postings: Postings, wanted: Sequence[int], mask: np.ndarray | None, share: float, second: tuple[int, float] | None
) -> tuple[np.ndarray, np.ndarray]:
    held = [slots for slots, _ in map(postings.find, wanted) if len(slots)]
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
