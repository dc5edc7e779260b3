"""The searches of the in-memory store: each looks at every record and does what its name says.

BM25 is Robertson and Walker's with k1 = 1.2, b = 0.75 and Lucene's never-negative idf; ours counts a term at most 255 times
and takes N, df and the average length over all of an owner's records, also those a query may not see, so that a filter
never changes a score. Not for: many records. The definitions are what counts here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from .. import tokens
from ..errors import InvalidQuery
from ..ports import Found, Neighborhood, Node
from ..records import DERIVED, Record, micros
from . import graph
from .tables import Box, Row, Tables, checked, visible, when
from .web import Sight, Web, entry_of

if TYPE_CHECKING:
    import numpy as np

    from ..query import Where

_MOST = 255  # a term counts at most this often, so that a store may keep counts in bytes


def _heard(rows: list[Row]) -> list[Row]:
    """What was said. What was derived from it has no words, and counts nowhere as a text."""
    return [row for row in rows if row.record.role != DERIVED]


def _found(where: Where, scored: Iterable[tuple[float, Row]], limit: int) -> Found:
    """Best first; equal scores newest first, then by id, then the owner's own before the tenant's."""

    def place(item: tuple[float, Row]) -> tuple:
        score, row = item
        return -score, -when(row.record), row.record.id, row.record.owner != where.owner

    best = sorted(scored, key=place)[: max(0, limit)]
    return Found([row.key for _, row in best], [score for score, _ in best])


class Lexical:
    def __init__(self, box: Box) -> None:
        self._box = box

    def words(self, where: Where, text: str, limit: int, match: str) -> Found:
        """BM25; match: any, all, or relax (all, and when that finds nothing any)."""
        if match not in ("any", "all", "relax"):
            raise InvalidQuery(f"match={match!r:.40} is unknown.", hint="Use any, all or relax.")
        tables = self._box.read()
        found = _found(where, _words(tables, where, text, every=match != "any"), limit)
        if match == "relax" and not found.keys:
            found = _found(where, _words(tables, where, text, every=False), limit)
            return found._replace(relaxed=bool(found.keys), note="no record has all the words: any word counts")
        return found

    def tokens(self, where: Where, text: str, limit: int, share: float, second: tuple[int, float] | None) -> Found:
        """Share of the query's meaningful tokens that the text holds, or `second`: at least so many, covering so much of it."""
        query = set(tokens.meaningful(tokens.characters(text)))
        if not query:
            return Found([], [], note="the question has no meaningful tokens")
        scored = []
        for row in _heard(self._box.read().seen(where)):
            both = query & set(tokens.characters(row.record.text))
            if both and (len(both) / len(query) >= share or (second and _covers(both, row.record.text, *second))):
                scored.append((round(len(both) / len(query), 9), row))
        return _found(where, scored, limit)

    def substring(self, where: Where, text: str, limit: int) -> Found:
        """Texts that hold the whole query, case folded and without its outer spaces."""
        wanted = tokens.fold(text).strip()
        rows = _heard(self._box.read().seen(where)) if wanted else []
        return _found(where, [(1.0, row) for row in rows if wanted in tokens.fold(row.record.text)], limit)

    def shares(self, text: str, keys: Sequence[int]) -> dict[int, float]:
        """How much of the query each of these holds: of the idf of the terms that any record of its owner holds."""
        tables, found = self._box.read(), {}
        rows = [tables.rows[key] for key in keys if key in tables.rows]
        for owner in {row.record.owner for row in rows}:
            shelf = _heard(tables.shelf(owner))
            idf = _idf(shelf, _asked(shelf, text))
            known = {term: worth for term, worth in idf.items() if any(term in row.terms for row in shelf)}
            for row in rows:
                if row.record.owner == owner:
                    held = math.fsum(worth for term, worth in known.items() if term in row.terms)
                    found[row.key] = round(held / (math.fsum(known.values()) or 1.0), 9)
        return found


def _covers(both: set[str], text: str, least: int, share: float) -> bool:
    """Whether at least so many tokens are shared, and are this share of the text's meaningful ones."""
    meaningful = set(tokens.meaningful(tokens.characters(text)))
    return len(both) >= least and len(both) / max(1, len(meaningful)) >= share


def _words(tables: Tables, where: Where, text: str, *, every: bool) -> list[tuple[float, Row]]:
    scored = []
    for shelf in map(_heard, tables.shelves(where)):
        for row, score in zip(shelf, _bm25(shelf, _asked(shelf, text)), strict=True):
            if score > 0 and visible(row.record, where) and (not every or _has_all(row, text)):
                scored.append((score, row))
    return scored


def _asked(shelf: list[Row], text: str) -> list[str]:
    """The terms of a query, in every language of the shelf."""
    return tokens.query_terms(text, sorted({"en", *(row.language for row in shelf)}))


def _has_all(row: Row, text: str) -> bool:
    """Every term of the query as the record's own language has it: stems of other languages are only alternatives."""
    return all(term in row.terms for term in tokens.query_terms(text, [row.language]))


def _idf(shelf: list[Row], query: Sequence[str]) -> dict[str, float]:
    n, holding = len(shelf), {term: sum(term in row.terms for row in shelf) for term in query}
    return {term: math.log(1 + (n - df + 0.5) / (df + 0.5)) for term, df in holding.items()}


def _bm25(shelf: list[Row], query: Sequence[str]) -> list[float]:
    """The score of each row. The order of the operations is part of the contract: equal to the last digit everywhere."""
    n, total = len(shelf), sum(row.length for row in shelf)
    idf = _idf(shelf, query)
    scores = []
    for row in shelf:
        score = 0.0
        norm = 1.2 * (0.25 + 0.75 * row.length / (total / n)) if total else 0.0
        for term in query:
            tf = min(row.terms.get(term, 0), _MOST)
            if tf:
                score += idf[term] * (tf * 2.2) / (tf + norm)
        scores.append(round(score, 9))
    return scores


class Vector:
    def __init__(self, box: Box) -> None:
        self._box = box

    def nearest(
        self, where: Where, space: str, view: str, vector: np.ndarray, limit: int, threshold: float | None, *,
        beside: str | None = None,
    ) -> Found:  # fmt: skip
        """Exact cosines, rounded to six places before they meet the threshold; without one, negative ones too."""
        tables = self._box.read()
        query = checked(vector, tables.dimension(space))
        scored = []
        for row in tables.seen(where):
            mine = tables.vectors.get((row.key, space, view))
            if mine is None or (row.key, beside, view) in tables.vectors:
                continue
            if threshold is None or _cosine(mine, query) >= threshold:
                scored.append((_cosine(mine, query), row))
        return _found(where, scored, limit)

    def vectors(self, space: str, view: str, keys: Sequence[int]) -> Mapping[int, np.ndarray]:
        """The unit vectors of these keys; a key without one is absent."""
        held = self._box.read().vectors
        return {key: held[key, space, view].copy() for key in keys if (key, space, view) in held}

    def coverage(self, where: Where, space: str, view: str) -> tuple[int, int]:
        """How many of the owner's own records have a vector here, and how many wait for one."""
        tables = self._box.read()
        mine = {row.key for row in tables.shelf(where.owner)}
        have = sum((key, space, view) in tables.vectors for key in mine)
        return have, sum(w.job.key in mine and (w.space, w.job.view) == (space, view) for w in tables.jobs.values())

    def elsewhere(self, where: Where, space: str, view: str) -> Mapping[str, int]:
        """Other spaces that have this view of records that have none in `space`: of how many."""
        tables = self._box.read()
        mine = {row.key for row in tables.shelf(where.owner)}
        lacking = mine - {key for key, of, name in tables.vectors if (of, name) == (space, view)}
        return Counter(of for key, of, name in tables.vectors if name == view and key in lacking)

    def drop(self, owner: str, space: str) -> int:
        """The owner's vectors and jobs of a space go."""
        with self._box.change() as tables:
            mine = {row.key for row in tables.shelf(owner)}
            gone = [place for place in tables.vectors if place[0] in mine and place[1] == space]
            for place in gone:
                del tables.vectors[place]
                tables.tell(tables.rows[place[0]])
            for number in [n for n, w in tables.jobs.items() if w.job.key in mine and w.space == space]:
                del tables.jobs[number]
        return len(gone)


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    return round(math.fsum(a * b for a, b in zip(one.tolist(), other.tolist(), strict=True)), 6)


class Temporal:
    def __init__(self, box: Box) -> None:
        self._box = box

    def within(self, where: Where, start: int, end: int, limit: int) -> Found:
        """Records whose `dates` or `at` fall into the span from `start` to before `end`, by the share of them that does."""
        rows = _heard(self._box.read().seen(where)) if start < end else []
        return _found(where, [(share, row) for row in rows if (share := _share(row.record, start, end))], limit)


def _share(record: Record, start: int, end: int) -> float:
    """The largest share of one of its dates that lies in the span; for `at` in it 1, or a half beside other dates."""
    told = start <= when(record) < end
    shares = [(0.5 if record.dates else 1.0) if told else 0.0]
    for date in record.dates:
        first, after = micros(date.start), micros(date.end)
        shares.append(round(max(0, min(after, end) - max(first, start)) / (after - first), 9))
    return max(shares)


class Graph:
    def __init__(self, box: Box) -> None:
        self._box = box

    def walk(self, where: Where, text: str, limit: int, hops: int, *, facts: bool = True) -> Found:
        """Records near to what the text names; without `facts`, the source of one that was derived in its place."""
        rows = {row.key: row for row in self._box.read().seen(where)}
        keys = {(row.record.owner, row.record.id): key for key, row in rows.items()}
        seen = self._sight(where)
        place = graph.placing(seen, where, facts, rows.__contains__, lambda _: keys)
        return graph.walk(
            seen, text, limit, hops, place, lambda scored, most: _found(where, [(one, rows[key]) for one, key in scored], most)
        )  # fmt: skip

    def entities(self, where: Where, limit: int) -> list[Node]:
        """Named things, those most often mentioned first, then by name."""
        return graph.entities(self._sight(where), limit)

    def neighborhood(self, where: Where, name: str, hops: int, limit: int) -> Neighborhood:
        """What is around the node of this name."""
        return graph.neighborhood(self._sight(where), name, hops, limit)

    def about(self, where: Where, subject: str, predicate: str) -> list[int]:
        """Keys of the records that link this subject by this predicate, in the order they were added."""
        return graph.about(self._sight(where), subject, predicate)

    def _sight(self, where: Where) -> Sight:
        """Everything in sight, put together anew."""
        web = Web()
        for row in self._box.read().seen(graph.whence(where)):
            web.put(row.key, entry_of(row.record))
        return Sight(web, lambda _: True, graph.moment_of(where))
