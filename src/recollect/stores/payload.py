"""What an index outside the store is told of a record beside its vectors, and a `Where` in those terms.

Numbers and short words by which records are told apart, never a text, a tag or metadata: what lies in another system is enough to
search with and no more. An index may let through too much, because the store looks again at all it nominates; it must not let
through too little. So moments are compared with some room, for engines that hold numbers as float64.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple

from ..ports import AGELESS, Holding
from ..query import Where
from ..records import Record, micros

ALWAYS, NEVER = -AGELESS, AGELESS
ROOM = 2048  # microseconds: float64 holds moments up to the year 2255 exactly, and the last of year 9999 to some 32
WORDS = ("owner", "id", "kind", "role", "agent", "project", "session", "lanes")
MOMENTS = ("at", "recorded", "starts", "ends", "replaced")
UNFIT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
Value = str | int | list[str]


class Among(NamedTuple):
    """The field, or one of its values, is one of these."""

    field: str
    values: tuple[str, ...]


class Without(NamedTuple):
    """Neither the field nor one of its values is one of these."""

    field: str
    values: tuple[str, ...]


class Between(NamedTuple):
    """The moment lies between these, both included; None: open."""

    field: str
    least: int | None
    most: int | None


Condition = Among | Without | Between


class Sight(NamedTuple):
    """Records of `owner`, and the identity records of `tenant` if there is one, that meet all conditions."""

    owner: str
    tenant: str | None
    conditions: tuple[Condition, ...]


def payload_of(held: Holding) -> dict[str, Value]:
    """A record for the index; what it has no value of is left out."""
    record = held.record
    words = {name: word(value) for name in WORDS[:-1] if (value := getattr(record, name)) is not None}
    return words | moments_of(record) | {"lanes": [lane_of(space, view) for space, view in held.vectors]}


def moments_of(record: Record) -> dict[str, int]:
    """The moments of a record; what it has none of is the one that acts like none."""
    superseded = NEVER if record.superseded_by is None else _micros(record.superseded_at, ALWAYS)
    return {
        "at": _micros(record.at, AGELESS), "recorded": micros(record.recorded_at), "starts": _micros(record.valid_from, ALWAYS),
        "ends": _micros(record.valid_to, NEVER), "replaced": superseded,
    }  # fmt: skip


def sight_of(where: Where, view: str, beside: str | None = None) -> Sight:
    """What a search for a view may see: nothing that has a vector of it in the space `beside`."""
    chosen = [("kind", where.kinds), ("role", where.roles), ("session", where.sessions), ("project", where.projects)]
    conditions: list[Condition] = [Among(name, tuple(map(word, values))) for name, values in chosen if values]
    conditions += [Among("agent", (word(where.agent),))] if where.agent is not None else []
    conditions += [Between("at", where.since - ROOM, None)] if where.since is not None else []
    conditions += [Without("id", tuple(map(word, sorted(where.exclude))))] if where.exclude else []
    conditions += [Without("lanes", (lane_of(beside, view),))] if beside is not None else []
    tenant = where.tenant if where.tenant != where.owner else None
    return Sight(word(where.owner), None if tenant is None else word(tenant), (*conditions, *in_force(where)))


def in_force(where: Where) -> Iterable[Between]:
    """What holds at the moment asked about, and, with `as_of`, was known and not yet replaced then."""
    if where.timeless:
        return
    moment = where.now if where.as_of is None else where.as_of
    yield Between("starts", None, moment + ROOM)
    yield Between("ends", moment - ROOM, None)
    if where.as_of is None:
        yield Between("replaced", NEVER - ROOM, None)
    else:
        yield Between("recorded", None, where.as_of + ROOM)
        yield Between("replaced", where.as_of - ROOM, None)


def lane_of(space: str, view: str) -> str:
    """A short name for a view in a space."""
    return f"{code_of(space)}:{view}"


def code_of(name: str) -> str:
    """A short name of plain letters: for what another system calls its collections."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def word(text: str) -> str:
    """A word as every system can carry it: one with half a surrogate pair or a control character in it becomes its hash."""
    return "\ufffd" + code_of(text) if UNFIT.search(text) else text


def met(payload: Mapping[str, Value], sight: Sight) -> bool:
    """Whether a record is in sight. The definition, for engines in Python and for tests of the others."""
    owner = payload["owner"]
    shared = sight.tenant is not None and owner == sight.tenant and payload.get("kind") == "identity"
    return (owner == sight.owner or shared) and all(_meets(payload, one) for one in sight.conditions)


def _meets(payload: Mapping[str, Value], condition: Condition) -> bool:
    value = payload.get(condition.field)
    if isinstance(condition, Between):
        return (condition.least is None or value >= condition.least) and (condition.most is None or value <= condition.most)
    values = value if isinstance(value, list) else [value]
    return any(one in condition.values for one in values) is isinstance(condition, Among)


def _micros(when: object, otherwise: int) -> int:
    return otherwise if when is None else micros(when)
