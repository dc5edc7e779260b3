"""Whole memories on the move: taken in as they were, copied from store to store, and compared.

    holdings of one store ─ take: what is new, what is there already, what differs ─ changes for another

One stream of `Holding`s is behind import, copy and the check at a copy's end. A batch is one transaction, and taking in what is
there already changes nothing: whatever was interrupted is simply run again. Not here: lines and files (`portable`).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from .chunks import LONG
from .embed import Embedding
from .ingest import as_they_are, pending
from .parts import in_parts
from .ports import Add, Amend, Change, Holding, Store
from .records import EMPTY, PARTS, Record

if TYPE_CHECKING:
    import numpy as np

BATCH = 500  # records in one transaction and in memory: with their vectors they may be large
SHOWN = 10  # ids of what went wrong that are told
Progress = Callable[[int, int], None]  # done, of all
One = TypeVar("One")
Place = tuple[str, str]  # an owner and an id


class Copied(NamedTuple):
    """What became of one owner's memory: how many records there are and were written; what the target lacks or has otherwise."""

    owner: str
    records: int
    added: int
    updated: int
    missing: tuple[str, ...]  # ids, the first few
    unlike: tuple[str, ...]  # ids, the first few, and names of settings
    more: int  # records that only the target has

    @property
    def verified(self) -> bool:
        return not self.missing and not self.unlike


def take_all(
    holdings: Iterable[Holding], store: Store, embedding: Embedding | None,
    wrote: Callable[[Counter[str], Sequence[Change]], None], *, update: bool = False, as_is: bool = False,
) -> None:  # fmt: skip
    """Take in whatever comes; after each batch `wrote` is told the counts and what changed."""
    for batch in batches(holdings):
        changes, counts = take(batch, store, embedding, update=update, as_is=as_is)
        for owner, its in changes.items():
            store.write(owner, its)
        wrote(counts, [change for its in changes.values() for change in its])


def take(
    holdings: Sequence[Holding], store: Store, embedding: Embedding | None, *, update: bool = False, as_is: bool = False
) -> tuple[Mapping[str, list[Change]], Counter[str]]:
    """Changes by owner that make these records be there, and how many are `added`, `unchanged`, or there as something else.

    Those are left alone (`differing`) or, with `update`, become what comes (`updated`). `as_is`: nothing is cut into parts.
    """
    there, fresh = _there(holdings, store), {}
    amends: list[tuple[str, Change]] = []
    counts = Counter(added=0, unchanged=0, differing=0)
    for holding in holdings:
        record = holding.record
        place = record.owner, record.id
        held = there.get(place) or fresh.get(place)
        if held is None:
            fresh[place] = holding
            counts["added"] += 1
        elif same(held.record, record, told=update):
            amends += [(record.owner, change) for change in _completed(held, holding)]
            counts["unchanged"] += 1
        else:
            amends += [(record.owner, _updated(holding))] if update else []
            counts["updated" if update else "differing"] += 1
    new = list(fresh.values() if as_is else _in_parts(fresh.values()))
    adds = [(add.record.owner, add) for add in _additions(new, embedding, store)]
    changes: dict[str, list[Change]] = {}
    for owner, change in (*adds, *amends):  # in this order: a line may complete an earlier one
        changes.setdefault(owner, []).append(change)
    return changes, counts


def copy(source: Store, target: Store, owner: str, *, update: bool = False, progress: Progress | None = None) -> Copied:
    """Make the target hold all that the source holds of an owner, then compare the two, record by record.

    What the target has otherwise stays and is named; with `update` it becomes what the source has.
    """
    total, done, counts = int(source.status(owner)["records"]), 0, Counter()

    def wrote(batch: Counter[str], changes: Sequence[Change]) -> None:
        nonlocal done
        counts.update(batch)
        done += batch.total()
        tell(progress, done, 2 * total)

    take_all(source.holdings(owner), target, None, wrote, update=update, as_is=True)
    others = _settings_copied(source, target, owner, update)
    missing, unlike, seen = [], [], 0
    for batch in batches(source.holdings(owner)):
        theirs = {held.record.id: held for held in target.holdings(owner, [held.record.id for held in batch])}
        missing += [held.record.id for held in batch if held.record.id not in theirs][: SHOWN - len(missing)]
        wrong = (one.record.id for one in batch if one.record.id in theirs and not holds(theirs[one.record.id], one))
        unlike += islice(wrong, SHOWN - len(unlike))
        seen += len(batch)
        tell(progress, done + seen, 2 * total)
    more = int(target.status(owner)["records"]) - seen + len(missing)
    return Copied(owner, seen, counts["added"], counts["updated"], tuple(missing), (*unlike, *others), max(0, more))


def holds(held: Holding, wanted: Holding) -> bool:
    """Is all of a holding in another: the same record, the same vectors to the last bit, and nothing forgotten that waits?"""
    if not same(held.record, wanted.record, told=True):
        return False
    vectors = all(_equal(held.vectors.get(lane), vector) for lane, vector in wanted.vectors.items())
    return vectors and all(lane in held.waiting or lane in held.vectors for lane in wanted.waiting)


def same(there: Record, record: Record, *, told: bool = False) -> bool:
    """Equal in all but when we were told, and whether it is searched in parts yet; `told`: but in the latter alone."""
    parts = {"metadata": record.metadata} if in_parts(there)[0].metadata == in_parts(record)[0].metadata else {}
    return dataclasses.replace(there, **parts, **({} if told else {"recorded_at": record.recorded_at})) == record


def batches(items: Iterable[One], size: int = BATCH) -> Iterator[list[One]]:
    """The items, so many at a time."""
    coming = iter(items)
    while batch := list(islice(coming, size)):
        yield batch


def tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)


def _there(holdings: Sequence[Holding], store: Store) -> dict[Place, Holding]:
    ids: dict[str, list[str]] = {}
    for holding in holdings:
        ids.setdefault(holding.record.owner, []).append(holding.record.id)
    return {(owner, held.record.id): held for owner, names in ids.items() for held in store.holdings(owner, names)}


def _completed(held: Holding, holding: Holding) -> list[Change]:
    """What a record that is there lacks of its vectors, and of what waits for one."""
    vectors = {lane: vector for lane, vector in holding.vectors.items() if lane not in held.vectors}
    waiting = [lane for lane in holding.waiting if lane not in held.waiting and lane not in held.vectors]
    if not vectors and not waiting:
        return []
    return [Amend(id=held.record.id, fields={}, vectors=vectors, pending=waiting)]


def _in_parts(holdings: Iterable[Holding]) -> Iterator[Holding]:
    """Long records from where they were not searched in parts are from now on, unless they bring vectors of the whole."""
    for one in holdings:
        if len(one.record.text) <= LONG or one.vectors or PARTS in one.record.metadata:
            yield one
            continue
        whole, parts = in_parts(one.record)
        yield one._replace(record=whole)
        yield from (Holding(part, EMPTY, ()) for part in parts)


def _additions(holdings: Sequence[Holding], embedding: Embedding | None, store: Store) -> Iterator[Add]:
    """New records with the vectors they bring; what the present model still lacks is embedded now, or queued."""
    short = [one for one in holdings if not one.vectors.keys() >= set(pending(one.record, embedding))]
    made = {id(one): add for one, add in zip(short, as_they_are([one.record for one in short], embedding, store), strict=True)}
    for one in holdings:
        add = made.get(id(one)) or Add(record=one.record)
        vectors = {**(add.vectors or {}), **one.vectors}
        waiting = [lane for lane in dict.fromkeys([*add.pending, *one.waiting]) if lane not in vectors]
        yield Add(record=one.record, vectors=vectors or None, pending=waiting)


def _updated(holding: Holding) -> Amend:
    """A record that is there becomes this one, field by field: what was derived from it stays."""
    record = holding.record
    fields = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    del fields["id"], fields["owner"]
    return Amend(id=record.id, fields=fields, vectors=holding.vectors, pending=holding.waiting)


def _settings_copied(source: Store, target: Store, owner: str, update: bool) -> list[str]:
    """Give the target the owner's settings; the names of those that it has otherwise and keeps."""
    wanted, there = source.settings(owner), target.settings(owner)
    if missing := {name: value for name, value in wanted.items() if update or name not in there}:
        target.settings(owner, missing)
    return [] if update else sorted(f"setting {name}" for name in wanted.keys() & there.keys() if there[name] != wanted[name])


def _equal(one: np.ndarray | None, other: np.ndarray) -> bool:
    return one is not None and one.shape == other.shape and bool((one == other).all())
