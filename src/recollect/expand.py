"""Bring the neighbours: the turns just before and after a hit, of the same session and source.

Neighbours are attached to the hit, not scored, not counted in the limit, and never repeat a hit or each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from .ports import Store
from .query import Query, Where
from .rankings import Candidate
from .recipes import Recipe
from .records import Record

_GONE = object()


def expand(
    hits: Sequence[Candidate], records: dict[int, Record], query: Query, recipe: Recipe, store: Store
) -> dict[int, tuple[Record, ...]]:
    """Hit's key → its neighbours, oldest first."""
    if not _wanted(hits, recipe):
        return {}
    shown = {candidate.key for candidate in hits}
    neighbours = {}
    for candidate in hits:
        record = records.get(candidate.key)
        if record is None or record.session is None or record.role in ("session", "summary"):
            continue
        keys = [key for key in _around(candidate.key, record, query.where, recipe.neighbours, store) if key not in shown]
        shown.update(keys)
        if keys:
            neighbours[candidate.key] = tuple(store.records(keys))
    return neighbours


def _wanted(hits: Sequence[Candidate], recipe: Recipe) -> bool:
    if not recipe.neighbours or recipe.neighbours_when == "never":
        return False
    return recipe.neighbours_when == "always" or all(candidate.facts.role != "session" for candidate in hits)


def _around(key: int, record: Record, where: Where, reach: int, store: Store) -> list[int]:
    within = Where(
        owner=where.owner, agent=where.agent, sessions=(record.session,), roles=("turn", "note"), now=where.now,
        as_of=where.as_of,
        exclude=where.exclude,
    )  # fmt: skip
    keys = store.select(within, order="turns", limit=100_000)
    if key not in keys:
        return []
    # The source is compared on the few records around the hit, not on the whole session.
    place = keys.index(key)
    before = _same_source(list(reversed(keys[:place])), record, reach, store)
    return [*reversed(before), *_same_source(keys[place + 1 :], record, reach, store)]


def _same_source(keys: list[int], record: Record, reach: int, store: Store) -> list[int]:
    kept: list[int] = []
    step = max(8, 2 * reach)
    for start in range(0, len(keys), step):
        part = keys[start : start + step]
        # By id, since what went meanwhile is left out of either.
        sources, facts = {other.id: other.source for other in store.records(part)}, store.facts(part)
        for key in part:
            if len(kept) < reach and key in facts and sources.get(facts[key].id, _GONE) == record.source:
                kept.append(key)
        if len(kept) >= reach:
            break
    return kept
