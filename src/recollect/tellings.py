"""What a write tells again: which of the new records are there already, and what becomes of those (`repeats` says when).

Looks up, and hands back values; `pen` makes the changes of them. That nobody tells the same in between, the store sees to in the
write itself (`Add.told`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from .asking import sight
from .chunks import LONG
from .embed import After
from .errors import RecordChanged, UnknownRecord
from .ports import Amend, Job, Profile, Store, Told
from .query import Where
from .records import CARRIED, CONFIRMS, Record, Scope, micros
from .repeats import LASTING, Dedup, comparable, means, nearly, same

CANDIDATES = 20
LATELY = 100  # of the records of the same write, those compared with
SECOND = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tellings:
    """`fresh`: the new records; `places`: which of the drafts each is; `near`: by id, whose place it takes.

    `answers`: for every draft its record, or which of the fresh ones it is.
    """

    fresh: Sequence[Record]
    places: Sequence[int]
    answers: Sequence[Record | int]
    near: Mapping[str, str]
    told: Mapping[str, Told]
    confirmed: Sequence[Amend]

    def all(self, made: Sequence[Record]) -> list[Record]:
        """A record for every draft, in their order; `made` are the fresh ones, as they came to be."""
        return [made[one] if isinstance(one, int) else one for one in self.answers]


def tellings(
    records: Sequence[Record], drafts: Sequence[tuple[str, Mapping[str, Any]]], dedup: Dedup, store: Store, scope: Scope, now: int
) -> Tellings:
    """Which of these are there already, by the rules of `dedup`."""
    if not dedup.exact and not dedup.near:
        every = range(len(records))
        return Tellings(fresh=records, places=every, answers=every, near={}, told={}, confirmed=())
    own = [record.owner == scope.owner and comparable(record, given) for record, (_, given) in zip(records, drafts, strict=True)]
    digests = [
        same(record, given) if dedup.exact and mine else None
        for record, (_, given), mine in zip(records, drafts, own, strict=True)
    ]
    times = Counter(digest for digest in digests if digest is not None)
    held = _there(list(times), store, scope, now)
    there: dict[bytes | None, Record] = {digest: _confirmed(old, times[digest]) for digest, old in held.items()}
    confirmed = [
        Amend(id=old.id, fields={"reinforced": old.reinforced + times[digest]}, expected=old) for digest, old in held.items()
    ]
    first: dict[bytes | None, int] = {}
    fresh: list[Record] = []
    places: list[int] = []
    answers: list[Record | int] = []
    told: dict[str, Told] = {}
    near: dict[str, str] = {}
    until = now + round(dedup.exact * SECOND)
    for number, (record, digest) in enumerate(zip(records, digests, strict=True)):
        if digest in there or digest in first:
            answers.append(there[digest] if digest in there else first[digest])
            continue
        if digest is not None:
            first[digest], told[record.id] = len(fresh), Told(digest, now, until)
            record = _confirmed(record, times[digest] - 1)
        if own[number] and (old := _near(record, fresh, near, dedup, store, scope, now)):
            near[record.id], record = old.id, _in_place_of(old, record)
        answers.append(len(fresh))
        places.append(number)
        fresh.append(record)
    return Tellings(fresh=fresh, places=places, answers=answers, near=near, told=told, confirmed=confirmed)


def _confirmed(record: Record, times: int) -> Record:
    return replace(record, reinforced=record.reinforced + times) if times else record


def _in_place_of(old: Record, record: Record) -> Record:
    """The new telling of an old record, with the link back."""
    metadata = MappingProxyType({**record.metadata, "supersedes": old.id})
    return replace(_confirmed(record, old.reinforced + 1), metadata=metadata)


def _there(digests: Sequence[bytes], store: Store, scope: Scope, now: int) -> dict[bytes, Record]:
    """By digest, the records that were told so."""
    keys = store.told(scope.owner, digests, now) if digests else {}
    if keys:
        store.resolve(sight(scope, now), [])  # what is at hand of records is brought up to what others have written
    found = ((digest, store.records([key])) for digest, key in keys.items())
    return {digest: records[0] for digest, records in found if records}


def _near(
    record: Record, fresh: Sequence[Record], near: Mapping[str, str], dedup: Dedup, store: Store, scope: Scope, now: int
) -> Record | None:  # fmt: skip
    """The record that this one takes the place of, because it says nearly the same."""
    if not dedup.near or record.kind not in LASTING or len(record.text) > LONG or "supersedes" in record.metadata:
        return None
    sessions = (record.session,) if record.session else ()
    where = sight(scope, now, kinds=(record.kind,), roles=("note",), sessions=sessions)
    stored = store.records(store.lexical.words(where, record.text, CANDIDATES, "any").keys)
    gone = set(near.values())
    return nearly(record, [one for one in (*fresh[-LATELY:], *stored) if one.id not in gone], dedup.near)


def confirming(least: float) -> After | None:
    """What the embedder's worker does about new vectors: the older record of the same meaning counts a confirmation.

    Each record confirms one, once: its metadata says which, so that embedding it anew counts nothing twice.
    """

    def confirm(store: Store, profile: Profile, space: str, done: Sequence[tuple[Job, Any]]) -> None:
        for job, vector in done:
            new = store.records([job.key]) if vector is not None and job.view == "full" else []
            if new and _confirms(new[0]):
                with suppress(RecordChanged, UnknownRecord):  # somebody changes one of them just now: this count is lost, no more
                    _count(store, space, new[0], vector, max(least, profile.alike))

    return confirm if least else None


def _confirms(record: Record) -> bool:
    own = record.metadata.keys()
    return record.role == "note" and record.kind in LASTING and own.isdisjoint((*CARRIED, CONFIRMS, "supersedes"))


def _count(store: Store, space: str, new: Record, vector: Any, least: float) -> None:
    where = Where(
        owner=new.owner, agent=new.agent, projects=(new.project,) if new.project else (), kinds=(new.kind,), roles=("note",),
        now=micros(new.recorded_at) or 0,
    )  # fmt: skip
    found = store.vector.nearest(where, space, "full", vector, CANDIDATES, least)
    old = next((one for one in store.records(found.keys) if means(new, one)), None)
    if old is not None:
        metadata = MappingProxyType({**new.metadata, CONFIRMS: old.id})
        counted = Amend(id=old.id, fields={"reinforced": old.reinforced + 1}, expected=old)
        store.write(new.owner, [counted, Amend(id=new.id, fields={"metadata": metadata}, expected=new)])
