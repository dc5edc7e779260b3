"""The graph: who is how near to what a question names, by the links that records hold.

The one definition of ways and scores (docs/stores.md has it in prose), over any `Sight`; stores differ in how they come by that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from ..names import SHARED, key_of, named
from ..ports import Edge, Found, Neighborhood, Node
from ..query import Where
from ..records import Link, micros
from ..tokens import query_terms, terms
from .web import Sight, Tie

STEP = 0.5  # what a link leaves of a score
BREADTH = 50  # nodes of each hop that count, the nearest ones
EDGES = 10  # links shown for a node shown, at most


class Way(NamedTuple):
    """How near something is, and the last step there: over a link, forward or back, to a node; before it, the way to the link."""

    worth: float
    before: Way | None = None
    link: Link | None = None
    forward: bool = True
    node: str = ""  # empty: the link itself is meant, not where it leads


NOWHERE = Way(0.0)
Place = Callable[[list[int]], dict[int, int]]
Find = Callable[[Iterable[tuple[str, str]]], Mapping[tuple[str, str], int]]
Rank = Callable[[list[tuple[float, int]], int], Found]


def walk(seen: Sight, text: str, limit: int, hops: int, place: Place, rank: Rank) -> Found:
    """The records near to what the text names. `place`: which records are the answers instead of them; `rank`: puts
    (score, record) in order."""
    starts = named_nodes(seen, text)
    if not starts:
        return Found([], [], note="the question names nothing known")
    asked, scores, ways = frozenset(query_terms(text, ["en"])), {}, {}
    for start, strength in starts.items():
        rarity = 1 / (1 + math.log(len(seen.saying(start))))
        for record, way in _shares(seen, reach(seen, start, strength, hops), asked).items():
            scores[record] = scores.get(record, 0.0) + rarity * way.worth
            ways[record] = max(ways.get(record, NOWHERE), way._replace(worth=rarity * way.worth), key=_worth)
    best: dict[int, Way] = {}
    for record, answer in place(list(scores)).items():
        reached = ways[record]._replace(worth=round(scores[record] * seen.web.entries[record].confidence, 9))
        best[answer] = max(best.get(answer, NOWHERE), reached, key=_worth)
    found = rank([(way.worth, key) for key, way in best.items() if way.worth > 0], limit)
    return found._replace(reasons={key: _told(seen, best[key]) for key in found.keys})


def named_nodes(seen: Sight, text: str) -> dict[str, float]:
    """The nodes a question names, in its order. An alias given to several names them all, at a discount."""
    found: dict[str, float] = {}
    for key, strength in named(text, seen.web.index, seen.there, seen.person):
        claimants = seen.claimants(key)
        shared = sorted(claimants) if len(claimants) > 1 else []
        own = [(key, strength)] if not shared or seen.named(key) else []
        for name, worth in own + [(name, strength * SHARED) for name in shared]:
            node = seen.node(name)
            found[node] = max(worth, found.get(node, 0.0))
    return {node: worth for node, worth in found.items() if seen.saying(node)}


def placing(seen: Sight, where: Where, facts: bool, answers: Callable[[int], bool], find: Find) -> Place:
    """Which record is the answer: itself, if it may be one; or, unless `facts` stand for themselves, the one it was derived from.
    `answers`: whether a record may be one. `find`: the keys of ids of an owner."""

    def place(records: list[int]) -> dict[int, int]:
        sources = {record: (said.owner, said.source) for record in records if (said := seen.web.entries[record]).source}
        if facts:
            return {one: one for one in records if answers(one) and sources.get(one, ("", ""))[1] not in where.exclude}
        found = find(set(sources.values())) if sources else {}
        places = {record: found.get(sources[record], -1) if record in sources else record for record in records}
        return {record: answer for record, answer in places.items() if answer >= 0 and answers(answer)}

    return place


def reach(seen: Sight, start: str, strength: float, hops: int) -> dict[str, Way]:
    """How near other nodes are. Every link crossed takes half, and what it and its record leave to doubt."""
    reached = {start: Way(strength, node=start)}
    frontier = dict(reached)
    for _ in range(hops):
        nearer: dict[str, Way] = {}
        for node, way in frontier.items():
            for record in seen.saying(node):
                for tie in seen.ties(record):
                    _cross(seen, record, tie, way, reached, nearer)
        frontier = dict(sorted(nearer.items(), key=lambda one: (-one[1].worth, one[0]))[:BREADTH])
        reached |= frontier
    return reached


def _cross(seen: Sight, record: int, tie: Tie, way: Way, reached: Mapping[str, Way], nearer: dict[str, Way]) -> None:
    ends = seen.ends(tie)
    if way.node not in ends:
        return
    forward = ends[0] == way.node
    far = ends[1] if forward else ends[0]
    left = way.worth * STEP * tie.link.weight * seen.web.entries[record].confidence
    if left > max(reached.get(far, NOWHERE).worth, nearer.get(far, NOWHERE).worth):
        nearer[far] = Way(left, way, tie.link, forward, far)


def _shares(seen: Sight, reached: Mapping[str, Way], asked: frozenset[str]) -> dict[int, Way]:
    """What each record has of one named node: by an entity it names, or by a link it holds, which the question's words lift."""
    shares = {}
    for record in dict.fromkeys(record for node in reached for record in seen.saying(node)):
        shares[record] = max((*_by_entity(seen, record, reached), *_by_link(seen, record, reached, asked)), key=_worth)
    return shares


def _by_entity(seen: Sight, record: int, reached: Mapping[str, Way]) -> Iterator[Way]:
    for mention in seen.web.entries[record].mentions:
        yield reached.get(seen.node(mention.key), NOWHERE)


def _by_link(seen: Sight, record: int, reached: Mapping[str, Way], asked: frozenset[str]) -> Iterator[Way]:
    for tie in seen.ties(record):
        way = max((reached.get(end, NOWHERE) for end in seen.ends(tie)), key=_worth)
        if way.worth:
            said = len(asked & link_terms(tie.link.subject, tie.link.predicate, tie.link.object)) / len(asked)
            yield Way(way.worth * tie.link.weight * (1 + said), way, tie.link)


@lru_cache(maxsize=65_536)
def link_terms(subject: str, predicate: str, object: str) -> frozenset[str]:
    """The words of a link, for the question's to be compared with."""
    return frozenset(terms(f"{subject} {predicate} {object}", "en"))


def _told(seen: Sight, way: Way) -> str:
    """A way in words: `Priya → knows → Rajesh`; the link that is the answer itself comes last."""
    if way.before is None or way.link is None:
        return seen.display(way.node)
    if way.node:
        return f"{_told(seen, way.before)}{_arrow(way.link.predicate, way.forward)}{seen.display(way.node)}"
    step = f"{way.link.subject}{_arrow(way.link.predicate, True)}{way.link.object}"
    return step if way.before.before is None or way.before.link is way.link else f"{_told(seen, way.before)}; {step}"


def _arrow(predicate: str, forward: bool) -> str:
    return f" → {predicate} → " if forward else f" ← {predicate} ← "


def _worth(way: Way) -> float:
    return way.worth


def entities(seen: Sight, limit: int) -> list[Node]:
    """All nodes, those most often mentioned first."""
    return sorted(map(seen.show, seen.all()), key=lambda node: (-node.mentions, node.name))[: max(0, limit)]


def neighborhood(seen: Sight, name: str, hops: int, limit: int) -> Neighborhood:
    """A node, what is around it ring by ring, and the links among those."""
    start = seen.node(key_of(name))
    if limit < 1 or not seen.saying(start):
        return Neighborhood()
    shown = {start: seen.show(start)}
    ring = [start]
    for _ in range(hops):
        ends = {end for node in ring for end in _next(seen, node)}
        found = {node: seen.show(node) for node in ends - shown.keys()} if len(shown) < limit else {}
        ring = sorted(found, key=lambda node: (-found[node].mentions, found[node].name, node))[: limit - len(shown)]
        shown |= {node: found[node] for node in ring}
    edges = sorted(_edges(seen, shown), key=lambda edge: (-edge.weight * edge.confidence, edge[:4]))
    return Neighborhood(list(shown.values()), edges[: limit * EDGES])


def _next(seen: Sight, node: str) -> Iterator[str]:
    for record in seen.saying(node):
        for tie in seen.ties(record):
            if node in (ends := seen.ends(tie)):
                yield from ends


def _edges(seen: Sight, shown: Mapping[str, Node]) -> Iterator[Edge]:
    for record in dict.fromkeys(record for node in shown for record in seen.saying(node)):
        said = seen.web.entries[record]
        for tie in seen.ties(record):
            start, end = (shown.get(node) for node in seen.ends(tie))
            if start and end:
                link = tie.link
                since, until = micros(link.valid_from), micros(link.valid_to)
                yield Edge(start.name, link.predicate, end.name, said.id, link.weight, said.confidence, since, until)


def about(seen: Sight, subject: str, predicate: str) -> list[int]:
    """The records that hold such a link, in the order they were added."""
    return seen.stating(seen.node(key_of(subject)), key_of(predicate))


def whence(where: Where) -> Where:
    """Where links may be followed: kinds, roles, age and what is in view already narrow the answers, not the ways to them."""
    return replace(where, kinds=(), roles=(), since=None, exclude=frozenset())


def moment_of(where: Where) -> int | None:
    """When links must hold."""
    return None if where.timeless else where.now if where.as_of is None else where.as_of
