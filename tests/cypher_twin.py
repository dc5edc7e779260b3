"""A graph database in dictionaries that knows our statements, and nothing else: what Cypher makes of them, written out in Python.

`Twin` is a driver for `CypherIndex`; `fake_bolt_server` puts it behind Neo4j's protocol. Where a real FalkorDB is at hand, the
tests ask it the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recollect.stores import sql

Q = sql.blocks("cypher/queries.sql")
NAMES = {text: name for name, text in vars(Q).items()}
NEAR = re.compile(re.escape(Q.near).replace(re.escape("/*sight*/"), "(.*)"), re.DOTALL)


class Twin:
    """See the module. `trouble` is called with each statement's name, and may raise or sleep."""

    def __init__(self, *, remote: bool = False) -> None:
        self.remote = remote
        self.marks: dict[str, str] = {}
        self.records: dict[tuple[str, int], dict] = {}
        self.names: dict[tuple[str, str], dict] = {}
        self.says: set[tuple[str, int, str]] = set()
        self.links: list[dict] = []
        self.aliases: list[dict] = []
        self.asked: list[str] = []
        self.trouble: Callable[[str], None] | None = None

    def run(self, statements: Sequence[tuple[str, Mapping[str, Any]]]) -> list[list[list[Any]]]:
        return [self.one(text, given) for text, given in statements]

    def one(self, text: str, given: Mapping[str, Any]) -> list[list[Any]]:
        """One statement, by its name."""
        near = NEAR.fullmatch(text)
        name = "near" if near else NAMES[text]
        self.asked.append(name)
        if self.trouble is not None:
            self.trouble(name)
        return self._near(near[1], given) if near else getattr(self, f"_{name}")(given) or []

    def close(self) -> None:
        """Nothing to let go of."""

    def _mark(self, given) -> list:
        return [[self.marks[given["owner"]]]] if given["owner"] in self.marks else []

    def _settle(self, given) -> None:
        self.marks[given["owner"]] = given["mark"]

    def _drop_links(self, given) -> None:
        def stays(edge: dict) -> bool:
            return (edge["owner"], edge["record"]) not in {(given["owner"], key) for key in given["keys"]}

        self.links, self.aliases = list(filter(stays, self.links)), list(filter(stays, self.aliases))

    def _drop_records(self, given) -> None:
        gone = {(given["owner"], key) for key in given["keys"]}
        self.records = {place: load for place, load in self.records.items() if place not in gone}
        self.says = {one for one in self.says if one[:2] not in gone}

    def _put_records(self, given) -> None:
        self.records |= {(row["owner"], row["key"]): dict(row) for row in given["rows"]}

    def _put_names(self, given) -> None:
        for row in given["rows"]:
            self.names.setdefault((row["owner"], row["key"]), {}).update(row)

    def _put_says(self, given) -> None:
        self.says |= {(row["owner"], row["record"], row["name"]) for row in given["rows"]}

    def _put_links(self, given) -> None:
        self.links += given["rows"]

    def _put_aliases(self, given) -> None:
        self.aliases += given["rows"]

    def _sweep(self, given) -> None:
        said = {(owner, name) for owner, _, name in self.says}
        self.names = {place: row for place, row in self.names.items() if place[0] != given["owner"] or place in said}

    def _keys(self, given) -> list:
        return [[key] for owner, key in self.records if owner == given["owner"]]

    def _candidates(self, given) -> list:
        cues = {"first": "words", "last": "words", "start": "starts", "head": "heads", "tail": "tails"}
        mine = [row for (owner, _), row in self.names.items() if owner in given["owners"]]
        fitting = {row["key"] for row in mine if any(row.get(cue) in given[of] for cue, of in cues.items() if cue in row)}
        return [[key] for key in sorted(fitting)[: given["most"]]]

    def _near(self, clause: str, given) -> list:
        rows = []
        for owner in given["owners"]:
            for name in given["names"]:
                keys = [key for of, key, said in self.says if (of, said) == (owner, name)]
                keys = [key for key in sorted(keys, reverse=True) if _meets(self.records[owner, key], clause, given)]
                rows += [[name, keys[: given["most"]]]] if keys else []
        return rows

    def _around_1(self, given) -> list:
        return self._around(given, 1)

    def _around_2(self, given) -> list:
        return self._around(given, 2)

    def _around(self, given, hops: int) -> list:
        found: set[str] = set()
        for owner in given["owners"]:
            ends = [(edge["subject"], edge["object"]) for edge in self.links if edge["owner"] == owner]
            ends += [(edge["alias"], edge["name"]) for edge in self.aliases if edge["owner"] == owner]
            ring = set(given["names"])
            for _ in range(hops):
                ring = {b for a, b in ends if a in ring} | {a for a, b in ends if b in ring}
                found |= ring
        return [[name] for name in sorted(found)[: given["most"]]]


def _meets(load: Mapping[str, Any], clause: str, given: Mapping[str, Any]) -> bool:
    _, *rest = clause.strip().split(" AND ")
    assert clause.startswith("(r.owner = $own OR (r.owner = $tenant AND r.kind = 'identity'))"), "whose it is always stands first"
    if load["owner"] != given["own"] and (load["owner"], load.get("kind")) != (given["tenant"], "identity"):
        return False
    for one in rest[1:]:
        barred, field, sign, name = re.fullmatch(r"(NOT )?r\.(\w+) (IN|>=|<=) \$(\w+)", one).groups()
        value = load.get(field)
        holds = {"IN": lambda v, w: v in w, ">=": lambda v, w: v >= w, "<=": lambda v, w: v <= w}[sign](value, given[name])
        if holds is bool(barred):
            return False
    return True
