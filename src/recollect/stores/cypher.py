"""Names and links in a graph database that speaks Cypher: Neo4j, or FalkorDB.

What records say of named things, as nodes and edges that people can look at too: (:RecollectRecord)-[:SAYS]->(:RecollectName),
and [:LINK] and [:ALIAS] between names, each with the key of the record that states it. Names are kept by their keys
(`recollect.names`), for each owner apart; every statement names the owner. Statements live in sql/cypher/queries.sql, in the part
of Cypher that both databases share. What a question finds is decided elsewhere (walking.py): here records are nominated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from ..names import LONG, bare_words, is_run
from ..ports import Holding
from . import sql
from .payload import Among, Between, Condition, Sight, Value, moments_of, word
from .web import Entry, entry_of

CANDIDATES = 300  # names that a question may mean
FIELDS = ("owner", "id", "kind", "role", "agent", "project", "session")


class Driver(Protocol):
    """A connection to a graph database."""

    remote: bool

    def run(self, statements: Sequence[tuple[str, Mapping[str, Any]]]) -> list[list[Sequence[Any]]]:
        """The rows of each statement; all of them in one transaction, where the database has such a thing."""

    def close(self) -> None:
        """Release everything."""


class CypherIndex:
    """See the module and `ports.GraphIndex`."""

    def __init__(self, driver: Driver, name: str) -> None:
        self.driver, self.name, self.remote = driver, name, driver.remote
        self.q = sql.blocks("cypher/queries.sql")

    def mark(self, owner: str) -> str:
        rows = self._run((self.q.mark, {"owner": word(owner)}))
        return str(rows[0][0]) if rows else ""

    def put(self, owner: str, held: Mapping[int, Holding], gone: Sequence[int]) -> None:
        shelf = word(owner)
        said = {key: (one, entry_of(one.record)) for key, one in held.items()}
        said = {key: (one, entry) for key, (one, entry) in said.items() if entry.mentions or entry.ties}
        keys = {"owner": shelf, "keys": [*held, *gone]}
        rows = [load_of(key, one) for key, (one, _) in said.items()]
        entries = {key: entry for key, (_, entry) in said.items()}
        statements = [(self.q.drop_links, keys), (self.q.drop_records, keys), (self.q.put_records, {"rows": rows})]
        for statement, make in ((self.q.put_names, _names), (self.q.put_says, _says), (self.q.put_links, _links),
                                (self.q.put_aliases, _aliases)):  # fmt: skip
            statements.append((statement, {"rows": [row | {"owner": shelf} for row in make(entries)]}))
        self.driver.run([*(one for one in statements if one[1].get("rows") != []), (self.q.sweep, {"owner": shelf})])

    def settle(self, owner: str, mark: str) -> None:
        self._run((self.q.settle, {"owner": word(owner), "mark": mark}))

    def keys(self, owner: str) -> list[int]:
        return [int(key) for (key,) in self._run((self.q.keys, {"owner": word(owner)}))]

    def candidates(self, sight: Sight, text: str) -> list[str]:
        """Names that the text may name."""
        given = {"owners": _owners(sight), "most": CANDIDATES, **cues(text)}
        return [str(key) for (key,) in self._run((self.q.candidates, given))]

    def around(self, sight: Sight, names: Sequence[str], hops: int, most: int) -> list[str]:
        """Names one or two hops away."""
        statement = self.q.around_1 if hops < 2 else self.q.around_2
        given = {"owners": _owners(sight), "names": list(map(word, names)), "most": most}
        return [str(key) for (key,) in self._run((statement, given))]

    def saying(self, sight: Sight, names: Sequence[str], most: int) -> dict[str, list[int]]:
        """By name, the records in sight that say it, those added last first."""
        wanted, given = _where(sight)
        statement = self.q.near.replace("/*sight*/", wanted)
        given |= {"owners": _owners(sight), "names": list(map(word, names)), "most": most}
        found: dict[str, list[int]] = {}
        for name, keys in self._run((statement, given)):
            found.setdefault(str(name), []).extend(map(int, keys))
        return found

    def close(self) -> None:
        self.driver.close()

    def _run(self, statement: tuple[str, Mapping[str, Any]]) -> list[Sequence[Any]]:
        return self.driver.run([statement])[0]


def load_of(key: int, held: Holding) -> dict[str, Value]:
    """A record as a node: its key, and what it is told apart by."""
    words = {name: word(value) for name in FIELDS if (value := getattr(held.record, name)) is not None}
    return {"key": key} | words | moments_of(held.record)


def cues(text: str) -> dict[str, list[str]]:
    """What names of a question may begin or end with: the rules of `names.Index`."""
    asked = bare_words(text)
    runs = {run[at : at + 2] for run in asked if is_run(run) for at in range(len(run) - 1)}
    long = [one for one in asked if len(one) >= LONG]
    sets = {"words": set(asked), "starts": runs, "heads": {one[:3] for one in long}, "tails": {one[-3:] for one in long}}
    return {name: sorted(word(one) for one in found) for name, found in sets.items()}


def named_in(entry: Entry) -> dict[str, str]:
    """Every name a record says or gives, by its key, and how it is spelled."""
    found = {tie.subject: tie.link.subject for tie in entry.ties} | {tie.object: tie.link.object for tie in entry.ties}
    found |= {key: spelled for one in entry.mentions for key, spelled in one.aliases if key}
    return found | {one.key: one.entity.name for one in entry.mentions}


def _names(entries: Mapping[int, Entry]) -> Iterator[dict[str, str]]:
    spelled = {key: name for entry in entries.values() for key, name in named_in(entry).items()}
    for key, name in spelled.items():
        parts = key.split(" ")
        row = {"key": word(key), "name": word(name), "first": word(parts[0])}
        if len(parts) > 1:
            row["last"] = word(parts[-1])
        elif is_run(key):
            row["start"] = word(key[:2])
        elif len(key) >= LONG:
            row |= {"head": word(key[:3]), "tail": word(key[-3:])}
        yield row


def _says(entries: Mapping[int, Entry]) -> Iterator[dict[str, Any]]:
    return ({"record": key, "name": word(name)} for key, entry in entries.items() for name in named_in(entry))


def _links(entries: Mapping[int, Entry]) -> Iterator[dict[str, Any]]:
    for key, entry in entries.items():
        for tie in entry.ties:
            ends = {"subject": word(tie.subject), "object": word(tie.object)}
            yield ends | {"record": key, "predicate": word(tie.link.predicate), "weight": tie.link.weight}


def _aliases(entries: Mapping[int, Entry]) -> Iterator[dict[str, Any]]:
    for key, entry in entries.items():
        for one in entry.mentions:
            given = dict.fromkeys(alias for alias, _ in one.aliases if alias and alias != one.key)
            yield from ({"record": key, "alias": word(alias), "name": word(one.key)} for alias in given)


def _owners(sight: Sight) -> list[str]:
    return [sight.owner, *([sight.tenant] if sight.tenant is not None else [])]


def _where(sight: Sight) -> tuple[str, dict[str, Any]]:
    """A condition on `r`, and its parameters: fields are our own names, values never stand in the statement."""
    clauses = ["(r.owner = $own OR (r.owner = $tenant AND r.kind = 'identity'))"]
    given: dict[str, Any] = {"own": sight.owner, "tenant": sight.tenant}
    for number, one in enumerate(sight.conditions):
        clauses.extend(_clause(one, f"p{number}", given))
    return " AND ".join(clauses), given


def _clause(one: Condition, name: str, given: dict[str, Any]) -> Iterable[str]:
    if not isinstance(one, Between):
        given[name] = list(one.values)
        yield f"r.{one.field} IN ${name}" if isinstance(one, Among) else f"NOT r.{one.field} IN ${name}"
        return
    for sign, value, end in ((">=", one.least, "a"), ("<=", one.most, "b")):
        if value is not None:
            given[name + end] = value
            yield f"r.{one.field} {sign} ${name}{end}"
