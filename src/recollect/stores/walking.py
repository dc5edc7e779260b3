"""The graph port of a store with a graph index beside it: the index nominates records, the store's rows say what they are worth.

Names that a question may mean, and the records that say them and what is around them, come from the index. What those records
say is then read from the store's rows, and the one definition of ways and scores (graph.py) walks over that: so the answers are
the store's own. Rounds go on until every name within reach has been asked for; the second brings one or two hops at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import IndexFailed
from ..ports import Found, Store
from ..query import Where
from . import graph
from .beside import seen_among, shelves
from .following import Follower
from .payload import Sight as Look
from .payload import sight_of
from .web import MOST, Sight, Web, entry_of

AT_ONCE = 200  # names asked for in one round
ROUNDS = 12


class BesideGraph:
    """See the module. Everything but `walk` is the store's own, where the store has a graph."""

    def __init__(self, store: Store, follower: Follower, fallback: bool) -> None:
        self._store, self._follower, self._fallback = store, follower, fallback
        self._own = getattr(store, "graph", None)
        self.remote = follower.index.remote

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def walk(self, where: Where, text: str, limit: int, hops: int, *, facts: bool = True) -> Found:
        """Records near to what the text names."""
        try:
            return self._walked(where, text, limit, hops, facts)
        except IndexFailed as error:
            self._follower.doubt()
            if not self._fallback or self._own is None:
                raise
            found = self._own.walk(where, text, limit, hops, facts=facts)
            note = f"{error} The store's own graph was searched instead."
            return found._replace(note=f"{found.note}; {note}" if found.note else note)

    def _walked(self, where: Where, text: str, limit: int, hops: int, facts: bool) -> Found:
        seen = self._gathered(where, text, hops)
        answers = seen_among(self._store, where, list(seen.web.entries))
        sources: dict[int, tuple[int, str, bool]] = {}

        def find(wanted: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
            found = {}
            for owner in dict.fromkeys(owner for owner, _ in wanted):
                ids = [id for of, id in wanted if of == owner]
                keys = self._store.resolve(Where(owner=owner, now=0, timeless=True), ids)
                found |= {(owner, id): key for id, key in keys.items()}
            sources.update(seen_among(self._store, where, list(found.values())))
            return found

        def rank(scored: Sequence[tuple[float, int]], most: int) -> Found:
            places = answers | sources
            best = sorted((-score, *places[key], key) for score, key in scored)[:most]
            return Found([key for *_, key in best], [-score for score, *_ in best])

        place = graph.placing(seen, where, facts, lambda key: key in answers or key in sources, find)
        return graph.walk(seen, text, limit, hops, place, rank)

    def _gathered(self, where: Where, text: str, hops: int) -> Sight:
        """A sight of all records that can matter to the walk."""
        index, look, wide = self._follower.index, _look(where), graph.whence(where)
        web, asked = Web(), set()
        self._read(web, wide, [key for shelf in shelves(wide) for key in self._follower.unseen(shelf.owner)])
        wanted = [*self._ask(lambda: index.candidates(look, text)), *web.said, *web.claims]
        for number in range(ROUNDS):
            fresh = [name for name in dict.fromkeys(wanted) if name not in asked][:AT_ONCE]
            if not fresh:
                break
            if number == 1:
                around = self._ask(lambda fresh=fresh: index.around(look, sorted(asked), min(hops, 2), AT_ONCE))
                fresh = list(dict.fromkeys([*fresh, *(name for name in around if name not in asked)]))
            asked.update(fresh)
            said = self._ask(lambda fresh=fresh: index.saying(look, fresh, MOST + 1))
            self._read(web, wide, [key for keys in said.values() for key in keys if key not in web.entries])
            wanted = self._within(Sight(web, lambda _: True, graph.moment_of(where)), text, hops)
        return Sight(web, lambda _: True, graph.moment_of(where))

    def _within(self, seen: Sight, text: str, hops: int) -> list[str]:
        """Every name that may be within reach, as far as is known by now."""
        starts = graph.named_nodes(seen, text)
        nodes = dict.fromkeys(node for start, strength in starts.items() for node in graph.reach(seen, start, strength, hops))
        return [name for node in nodes for name in seen.members(node)]

    def _read(self, web: Web, wide: Where, keys: Sequence[int]) -> None:
        """What these records say, from the rows; those that may not be seen say nothing."""
        seen = list(seen_among(self._store, wide, list(dict.fromkeys(keys))))
        records = self._store.records(seen)
        if len(records) < len(seen):  # some went meanwhile
            seen = [key for key in seen for _ in self._store.records([key])]
            records = self._store.records(seen)
        for key, record in zip(seen, records, strict=False):
            web.put(key, entry_of(record))

    def _ask(self, work: Any) -> Any:
        return self._follower.guard.call(work)


def _look(where: Where) -> Look:
    """What may be followed: `where` without what narrows the answers alone."""
    return sight_of(replace(graph.whence(where), tenant=where.tenant), "full")


