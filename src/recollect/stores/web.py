"""What records say of named things, found by name: entities, links and aliases of one shelf, and what of them is in sight.

A `Web` follows its shelf: records come, change and go. A `Sight` is a web seen through a `Where`: which names mean one node, who
names it, what links it has. Everything is looked up as it is needed, so a question costs what is near to it. `recollect.names`
compares names. Not for scores: those are in graph.py.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import NamedTuple

from ..names import Index, key_of
from ..ports import Node
from ..records import DERIVED, ENTITY_TYPES, Entity, Link, Record, micros

MOST = 500  # records of a node that count, those added last: a name on every page tells little, and must not cost much


class Mention(NamedTuple):
    """An entity of a record, by its keys."""

    key: str
    entity: Entity
    aliases: tuple[tuple[str, str], ...]  # key, spelling


class Tie(NamedTuple):
    """A link of a record, its ends by their keys."""

    subject: str
    object: str
    link: Link


class Entry(NamedTuple):
    """What one record says."""

    id: str
    owner: str
    confidence: float
    source: str | None  # the id of the record it was derived from
    mentions: tuple[Mention, ...]
    ties: tuple[Tie, ...]


def entry_of(record: Record) -> Entry:
    """What a record says."""
    return entry(
        record.id, record.owner, record.confidence, source_of(record.role, record.source), record.entities, record.links
    )  # fmt: skip


def source_of(role: str, source: str | None) -> str | None:
    """The id of the record that this one was derived from."""
    return source.removeprefix("record:") if role == DERIVED and source and source.startswith("record:") else None


def entry(id: str, owner: str, confidence: float, source: str | None, entities: Iterable[Entity], links: Iterable[Link]) -> Entry:
    """Names without a word in them are no names."""
    mentions = [Mention(key_of(one.name), one, tuple((key_of(other), other) for other in one.aliases)) for one in entities]
    ties = [Tie(key_of(one.subject), key_of(one.object), one) for one in links]
    ties = [tie for tie in ties if tie.subject and tie.object]
    return Entry(id, owner, confidence, source, tuple([one for one in mentions if one.key]), tuple(ties))


class Web:
    """See the module. Records by their keys, any ascending whole numbers."""

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.said: dict[str, list[int]] = {}  # name → records, ascending
        self.claims: dict[str, dict[str, list[int]]] = {}  # alias → the names it was given to → records
        self.given: dict[str, dict[str, list[int]]] = {}  # and the other way round
        self.persons: dict[str, list[int]] = {}
        self.stated: dict[tuple[str, str], list[int]] = {}  # subject and predicate → records
        self.index = Index()

    def put(self, key: int, new: Entry | None) -> None:
        """What a record says now; None: it has gone, or says nothing."""
        old = self.entries.pop(key, None)
        if old is not None:
            for places, name in self._places(old):
                _drop(places, name, key)
        if new is not None and (new.mentions or new.ties):
            self.entries[key] = new
            for places, name in self._places(new):
                _keep(places, name, key)
                if places is not self.stated:
                    self.index.add(name)

    def _places(self, entry: Entry) -> set[tuple]:
        found = _Places()
        for one in entry.mentions:
            found.add(self.said, one.key)
            if one.entity.type == "person":
                found.add(self.persons, one.key)
            for alias, _ in one.aliases:
                if alias and alias != one.key:
                    found.add(self.claims.setdefault(alias, {}), one.key)
                    found.add(self.given.setdefault(one.key, {}), alias)
        for tie in entry.ties:
            found.add(self.said, tie.subject)
            found.add(self.said, tie.object)
            found.add(self.stated, (tie.subject, key_of(tie.link.predicate)))
        return found


class _Places(dict):
    """Postings to be kept or dropped, each once."""

    def add(self, places: dict, name: str) -> None:
        self[id(places), name] = places, name

    def __iter__(self) -> Iterator[tuple]:
        return iter(self.values())


def _keep(places: dict[str, list[int]], name: str, key: int) -> None:
    records = places.setdefault(name, [])
    records.insert(bisect_left(records, key), key)


def _drop(places: dict[str, list[int]], name: str, key: int) -> None:
    records = places[name]
    del records[bisect_left(records, key)]
    if not records:
        del places[name]


class Sight:
    """See the module. `visible`: whether a record counts; `moment`: when links must hold, None: whenever."""

    def __init__(self, web: Web, visible: Callable[[int], bool], moment: int | None) -> None:
        self.web, self.visible, self.moment = web, visible, moment
        self._nodes: dict[str, str] = {}
        self._saying: dict[str, list[int]] = {}
        self._shown: dict[str, str] = {}

    def node(self, key: str) -> str:
        """The name an alias stands for: the one it was given to, if that is one alone; else the name itself.

        Names given to each other in a circle all stand for the first of them by code point.
        """
        if key not in self.web.claims:
            return key
        if key not in self._nodes:
            self._nodes[key] = self._root(key)
        return self._nodes[key]

    def claimants(self, alias: str) -> list[str]:
        """The names an alias was given to."""
        return [name for name, records in self.web.claims.get(alias, {}).items() if any(map(self.visible, records))]

    def members(self, node: str) -> list[str]:
        """The node's name, and every alias that stands for it."""
        found, going = [node], [node]
        while going:
            for alias in self.web.given.get(going.pop(), ()):
                if alias not in found and self.node(alias) == node:
                    found.append(alias)
                    going.append(alias)
        return found

    def there(self, key: str) -> bool:
        """Whether a record in sight has this name, or gives it to somebody as an alias."""
        return bool(self._first(self.web.said.get(key, ()), [key]) or self.claimants(key))

    def named(self, key: str) -> bool:
        """Whether a record in sight has this very name."""
        return self._first(self.web.said.get(key, ()), [key])

    def person(self, key: str) -> bool:
        """Whether a record in sight calls it a person."""
        return any(map(self.visible, reversed(self.web.persons.get(key, ()))))

    def saying(self, node: str) -> list[int]:
        """The records that name a node, those added last first, no more than count."""
        if node not in self._saying:
            self._saying[node] = list(islice(self._all(node), MOST))
        return self._saying[node]

    def count(self, node: str) -> int:
        """How many records name a node."""
        return sum(1 for _ in self._all(node))

    def stating(self, node: str, predicate: str) -> list[int]:
        """The records that hold such a link of a node, all of them, in the order they were added."""
        found = merge(*(self.web.stated.get((key, predicate), ()) for key in self.members(node)))
        return [
            record for record in dict.fromkeys(found)
            if self.visible(record) and any(self._states(tie, node, predicate) for tie in self.ties(record))
        ]  # fmt: skip

    def ties(self, record: int) -> Iterator[Tie]:
        """The links of a record that hold."""
        return (tie for tie in self.web.entries[record].ties if self._holds(tie.link))

    def ends(self, tie: Tie) -> tuple[str, str]:
        """The nodes a link leads from and to."""
        return self.node(tie.subject), self.node(tie.object)

    def display(self, node: str) -> str:
        """A node as it is mostly spelled, under its own name where it has one."""
        if node not in self._shown:
            self._shown[node] = self._display(node)
        return self._shown[node]

    def _display(self, node: str) -> str:
        spelled = Counter(spelling for record in self.saying(node) for spelling in self._spellings(record, [node]))
        spelled = spelled or Counter(one for record in self.saying(node) for one in self._spellings(record, self.members(node)))
        return min(spelled.items(), key=lambda one: (-one[1], one[0]))[0] if spelled else node

    def show(self, node: str) -> Node:
        """A node for people."""
        aliases = {alias for key in self.members(node) if key != node for alias in self._aliases(key)}
        return Node(self.display(node), self._type(node), tuple(sorted(aliases)), self.count(node))

    def all(self) -> list[str]:
        """Every node."""
        return sorted({self.node(key) for key in self.web.said if self.named(key)})

    def _root(self, key: str) -> str:
        path = [key]
        while len(claimants := self.claimants(path[-1])) == 1:
            if claimants[0] in path:
                return min(path[path.index(claimants[0]) :])
            path += claimants
        return path[-1]

    def _all(self, node: str) -> Iterator[int]:
        members = self.members(node)
        last = None
        for record in merge(*(reversed(self.web.said.get(key, ())) for key in members), reverse=True):
            if record != last and self.visible(record) and self._names(record, members):
                yield record
            last = record

    def _first(self, records: Iterable[int], keys: list[str]) -> bool:
        return any(self.visible(record) and self._names(record, keys) for record in reversed(records))

    def _names(self, record: int, keys: list[str]) -> bool:
        said = self.web.entries[record]
        return any(one.key in keys for one in said.mentions) or any(
            (tie.subject in keys or tie.object in keys) and self._holds(tie.link) for tie in said.ties
        )

    def _holds(self, link: Link) -> bool:
        if self.moment is None or (link.valid_from is None and link.valid_to is None):
            return True
        starts, ends = micros(link.valid_from), micros(link.valid_to)
        return (starts is None or starts <= self.moment) and (ends is None or ends > self.moment)

    def _states(self, tie: Tie, node: str, predicate: str) -> bool:
        return self.node(tie.subject) == node and key_of(tie.link.predicate) == predicate

    def _spellings(self, record: int, keys: list[str]) -> Iterator[str]:
        yield from (one.entity.name for one in self.web.entries[record].mentions if one.key in keys)
        for tie in self.ties(record):
            yield from (name for key, name in ((tie.subject, tie.link.subject), (tie.object, tie.link.object)) if key in keys)

    def _aliases(self, key: str) -> set[str]:
        """How an alias is spelled: where it is given, and where it is used."""
        given = [r for records in self.web.claims.get(key, {}).values() for r in records if self.visible(r)]
        spelled = {
            name for r in given for one in self.web.entries[r].mentions for alias, name in one.aliases if alias == key
        }  # fmt: skip
        used = [record for record in self.web.said.get(key, ())[-MOST:] if self.visible(record)]
        return spelled | {name for record in used for name in self._spellings(record, [key])}

    def _type(self, node: str) -> str:
        """What records mostly call it; `thing` only when nobody says more."""
        said = Counter(
            one.entity.type for record in self.saying(node) for one in self.web.entries[record].mentions if one.key == node
        )
        del said["thing"]
        return min(said, key=lambda of: (-said[of], ENTITY_TYPES.index(of)), default="thing")
