"""Facts: what records state of somebody, each a record of its own, and what a new one does to those that are there.

A fact is a record of kind `relationship` and role `derived` with one link, whose `source` is the record that states it. It is
kept by its subject and predicate. Where there can be one answer at a time (`ONE`: where somebody lives) what is told later
supersedes what was told before, which ends then and stays in its history; so does the opposite taste. Told again, a fact is
superseded by its newest telling, which counts how often. What can't change (`FIXED`: where somebody was born) and what was told
otherwise at the same moment is kept and flagged on either side: `contradicts` in the metadata. "Used to" ends what it speaks of.

Pure but for looking up what holds. Not here: what a text states (`extract`), and when all this happens (`learning`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

from .changes import Amend
from .dates import dates_in
from .extract import MOST_LINKS, fact_text, heard
from .names import key_of
from .ports import Store
from .query import Where
from .records import DERIVED, EMPTY, Link, Record, micros

CONTRADICTS, SUPERSEDES = "contradicts", "supersedes"
ONE = frozenset({
    "lives_in", "works_at", "works_as", "studies_at", "married_to", "partner_of", "age", "email", "phone", "diet",
})  # fmt: skip
FIXED = frozenset({"born_in", "born_on", "birthday"})
_OPPOSITE = {"likes": "dislikes", "dislikes": "likes"}
_DAYS = frozenset({"born_on", "birthday"})
_CHANGING = ("valid_from", "valid_to", "superseded_by", "superseded_at", "reinforced", "metadata")


def fact_ids(source: Record) -> list[str]:
    """The ids that facts of a record may have: those of as many as can be, while it says what it says."""
    said = "\x1f".join((source.id, *heard(source), str(micros(source.at))))
    digest = blake2b(said.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
    return [f"fact-{digest}-{number}" for number in range(1, MOST_LINKS + 1)]


def facts_of(source: Record, links: Iterable[Link], stamp: datetime) -> list[Record]:
    """The facts that a record states by these links, told at its time, recorded now."""
    return [_fact(source, name, link, stamp) for name, link in zip(fact_ids(source), links, strict=False)]


def _fact(source: Record, name: str, link: Link, stamp: datetime) -> Record:
    ends = [end for end in (link.valid_to, source.valid_to) if end is not None]
    start = link.valid_from or source.valid_from
    return Record(
        id=name, owner=source.owner, text=fact_text(link, over=link.valid_to is not None), kind="relationship", role=DERIVED,
        agent=source.agent, project=source.project, session=source.session, turn=source.turn, at=source.at, recorded_at=stamp,
        valid_from=None if ends and start and min(ends) < start else start, valid_to=min(ends, default=None),
        quality=source.quality, confidence=source.confidence, source=f"record:{source.id}",
        links=(replace(link, record=source.id),),
    )  # fmt: skip


class Book:
    """The facts that one write is about, as they come to stand: those that are there, when first asked for, and new ones."""

    def __init__(self, store: Store, where: Where, stamp: datetime) -> None:
        self._store, self._where, self.stamp = store, where, stamp
        self._held: dict[str, Record] = {}  # as they were
        self._now: dict[str, Record] = {}  # as they are from now on
        self._by_key: dict[tuple[str, str], dict[str, dict[str, None]]] = {}  # subject, predicate → `_place` → ids
        self._yield: set[str] = set()

    def fresh(self, facts: Sequence[Record]) -> None:
        """Put facts in; one that is there already stays what it is."""
        there = self._find([fact.id for fact in facts])
        for fact in facts:
            if fact.id not in there and fact.id not in self._now:
                self._put(fact)

    def late(self, source: Record, facts: Sequence[Record]) -> None:
        """Put in facts of a record that has been there for a while: if it was replaced meanwhile, they hold no longer."""
        gone = source.superseded_by is not None
        self._yield |= {fact.id for fact in facts} if gone else set()
        self.fresh(facts)
        for fact in facts if gone else ():
            if _current(now := self.now(fact)):
                self._now[fact.id] = replace(now, valid_to=_not_before(source.superseded_at or self.stamp, now.valid_from))

    def now(self, fact: Record) -> Record:
        """A fact as it stands after all that was put."""
        return self._now.get(fact.id, fact)

    def added(self) -> list[Record]:
        """The facts that were not there."""
        return [fact for name, fact in self._now.items() if name not in self._held]

    def amends(self) -> list[Amend]:
        """What changes in facts that were there."""
        found = []
        for name, old in self._held.items():
            new = self._now[name]
            fields = {field: getattr(new, field) for field in _CHANGING if getattr(new, field) != getattr(old, field)}
            if fields:
                found.append(Amend(id=name, fields=fields))
        return found

    def yielding(self, source: Record) -> None:
        """The facts of a record that is being replaced: whatever its successor says is news to them."""
        self._yield |= {fact.id for fact in self._of(source)}

    def end(self, source: Record, at: datetime) -> None:
        """The facts of a record that has been replaced hold no longer."""
        for fact in self._of(source):
            if _current(now := self._now[fact.id]):
                self._now[fact.id] = replace(now, valid_to=_not_before(at, now.valid_from))

    def withdraw(self, source: Record, but: Iterable[str] = ()) -> None:
        """The facts of a record that goes, or no longer states them: what they superseded holds again."""
        for fact in self._of(source):
            if fact.id not in set(but):
                self._withdraw(self._now[fact.id])

    # --- looking up

    def _of(self, source: Record) -> list[Record]:
        return list(self._find(fact_ids(source)).values())

    def _find(self, ids: Sequence[str]) -> dict[str, Record]:
        """Facts of the store by id, whether they hold or not."""
        wanted = [name for name in ids if name not in self._now]
        timeless = replace(self._where, timeless=True, kinds=(), roles=(), agent=None, projects=(), sessions=())
        for record in self._store.records(list(self._store.resolve(timeless, wanted).values())) if wanted else ():
            self._held[record.id] = self._now[record.id] = record
        return {name: self._now[name] for name in ids if name in self._held}

    def _about(self, link: Link, predicate: str) -> list[Record]:
        """The facts that hold which a new one of this link may meet, those told first first."""
        key = key_of(link.subject), predicate
        if key not in self._by_key:
            graph = getattr(self._store, "graph", None)
            keys = graph.about(self._where, link.subject, predicate) if graph is not None else []
            places: dict[str, dict[str, None]] = {}
            for record in self._store.records(keys):
                if record.role == DERIVED and len(record.links) == 1:
                    places.setdefault(_place(record.links[0]), {})[record.id] = None
                    if record.id not in self._now:
                        self._held[record.id] = self._now[record.id] = record
            self._by_key[key] = places
        place = self._by_key[key].setdefault(_place(link), {})
        facts = [self._now[name] for name in place if name in self._now and _current(self._now[name])]
        self._by_key[key][_place(link)] = dict.fromkeys(fact.id for fact in facts)
        return sorted(facts, key=_told)

    # --- what a new fact does

    def _put(self, fact: Record) -> None:
        link = fact.links[0]
        mates = self._about(link, link.predicate)
        if link.predicate in _OPPOSITE:
            mates = mates + self._about(link, _OPPOSITE[link.predicate])
        over = link.valid_to is not None
        for old in mates:
            said = _relation(link, old.links[0])
            if over and said == "same" and self._older(old, fact):
                fact = self._superseded(old, fact, ends=True)
            elif not over and said:
                fact = self._met(fact, old, said)
        self._now[fact.id] = fact
        self._by_key[key_of(link.subject), link.predicate][_place(link)][fact.id] = None

    def _met(self, fact: Record, old: Record, said: str) -> Record:
        """A fact after it met one that says the same or something else of the same."""
        if said == "fixed" or (said == "other" and not self._older(old, fact) and not self._older(fact, old)):
            self._now[old.id] = _flagged(old, fact.id)
            return _flagged(fact, old.id)
        if self._older(fact, old) and old.id not in self._yield:  # told before, learned later
            if fact.superseded_by is not None:
                return fact
            older = fact if said == "same" else replace(fact, valid_to=_not_before(_start(old), fact.valid_from))
            self._now[old.id] = replace(_after(old, fact.id), reinforced=old.reinforced + (said == "same"))
            return replace(older, superseded_by=old.id, superseded_at=self.stamp)
        if said == "same":
            fact = replace(fact, reinforced=old.reinforced + 1, valid_from=old.valid_from or fact.valid_from)
        return self._superseded(old, fact, ends=said != "same")

    def _older(self, one: Record, other: Record) -> bool:
        """Whether one was told before the other; of two told at once, what has just begun is the news."""
        if one.id in self._yield:
            return True
        times = _told(one), _told(other)
        return times[0] < times[1] or (times[0] == times[1] and not _begins(one) and (_begins(other) or _over(other)))

    def _superseded(self, old: Record, fact: Record, *, ends: bool) -> Record:
        """The new fact, after it took the place of an old one."""
        fields: dict[str, Any] = {"superseded_by": fact.id, "superseded_at": self.stamp}
        if ends:
            fields["valid_to"] = _not_before(_start(fact), old.valid_from)
        self._now[old.id] = replace(old, **fields)
        return _after(fact, old.id)

    def _withdraw(self, fact: Record) -> None:
        del self._now[fact.id], self._held[fact.id]
        before, after = fact.metadata.get(SUPERSEDES), fact.superseded_by
        older = self._find([str(before)]).get(str(before)) if before else None
        newer = self._find([after]).get(after) if after else None
        if older is not None and older.superseded_by == fact.id:
            free = {"superseded_by": None, "superseded_at": None, "valid_to": older.links[0].valid_to if older.links else None}
            self._now[older.id] = replace(older, **({"superseded_by": newer.id} if newer else free))
        if newer is not None and newer.metadata.get(SUPERSEDES) == fact.id:
            self._now[newer.id] = _with(newer, SUPERSEDES, older.id if older else None)
        others = fact.metadata.get(CONTRADICTS)
        for other in self._find(list(others) if isinstance(others, (list, tuple)) else []).values():
            left = [name for name in _contradicted(other) if name != fact.id]
            self._now[other.id] = _with(self._now[other.id], CONTRADICTS, left or None)


def _relation(link: Link, old: Link) -> str:
    """What an older fact is to a newer one of its subject: same; other, so that both can't hold; fixed, so that one is wrong."""
    same = same_thing(link, old)
    if link.predicate != old.predicate:
        return "other" if same else ""
    if same:
        return "same"
    return "fixed" if link.predicate in FIXED else "other" if is_single(link.predicate) else ""


def _place(link: Link) -> str:
    """What facts of a subject and predicate have in common that may bear on each other: the object, where there can be many."""
    return "" if is_single(link.predicate) or link.predicate in FIXED else key_of(link.object)


def is_single(predicate: str) -> bool:
    """Whether there is one answer at a time."""
    return predicate in ONE or predicate.startswith("favorite_")


def same_thing(one: Link, other: Link) -> bool:
    """Whether two links speak of the same object: "Berlin" and "Berlin, Germany", "May 5th" and "5 May"."""
    if one.predicate in _DAYS and (days := _day(one.object)) and days == _day(other.object):
        return True
    keys = sorted((key_of(one.object), key_of(other.object)), key=len)
    return keys[0] == keys[1] or (one.predicate == other.predicate == "lives_in" and keys[1].startswith(f"{keys[0]} "))


def _day(text: str) -> tuple[int, int] | None:
    """The day of the year that a text names."""
    found = dates_in(text, datetime.fromisoformat("2024-01-01T00:00Z"))
    one = found[0] if found else None
    return (one.start.month, one.start.day) if one and (one.end - one.start).days == 1 else None


def _current(fact: Record) -> bool:
    return fact.superseded_by is None and not _over(fact)


def _over(fact: Record) -> bool:
    return fact.links[0].valid_to is not None


def _begins(fact: Record) -> bool:
    return fact.links[0].valid_from is not None


def _told(fact: Record) -> int:
    return micros(fact.at or fact.recorded_at) or 0


def _start(fact: Record) -> datetime:
    return fact.valid_from or fact.at or fact.recorded_at


def _not_before(at: datetime, start: datetime | None) -> datetime:
    return at if start is None else max(at, start)


def _after(fact: Record, old: str) -> Record:
    """A fact with the link back, unless it has one: the last one told comes first."""
    return _with(fact, SUPERSEDES, old)


def _flagged(fact: Record, other: str) -> Record:
    return _with(fact, CONTRADICTS, list(dict.fromkeys([*_contradicted(fact), other])))


def _contradicted(fact: Record) -> list[str]:
    held = fact.metadata.get(CONTRADICTS)
    return [str(name) for name in held] if isinstance(held, (list, tuple)) else []


def _with(fact: Record, name: str, value: object) -> Record:
    metadata: Mapping[str, object] = {**{k: v for k, v in fact.metadata.items() if k != name}, **({name: value} if value else {})}
    return replace(fact, metadata=MappingProxyType(metadata) if metadata else EMPTY)
