"""What is remembered, put in order: repetitions become one, what repeats counts more, what is over ends, what is lost goes.

The periodic part of keeping facts straight, for `Memory.upkeep`; what can be told in the write itself is told there. Each step
plans its tasks from what is there, so that a dry run shows the very tasks that a run carries out, and a second run finds
nothing to do. No step removes a memory: a repetition is superseded by its newest telling and stays in its history, what no
longer holds is kept for history and `as_of`. Only what was derived from a memory and has outlived it is removed, and what the
caller asked to have forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from .feedback import MARK
from .gather import CHUNK_ID
from .moving import batches
from .parts import whole_of
from .ports import Change, Facts, Forget, Summariser
from .records import CARRIED, DERIVED, PART, PROMOTED, SHOWN, Record, micros, moment
from .repeats import LASTING
from .rooms import Room, all_chunks, unchunked
from .summaries import orphans, told
from .tokens import fold
from .upkeep import BATCH, EVERYTHING, Hands, Step, Task, carried_out, each

PROMOTION = 0.15  # as of `Memory.promote`
MERGED = ("tags", "reinforced", "quality", "metadata")
MOST_TAGS = 100
DAY = 86_400_000_000
Forgetting = Callable[[Record], list[Change]]


class Repeated(NamedTuple):
    """The tellings of one thing, oldest first; the last one stays."""

    tellings: Sequence[Record]

    @property
    def gone(self) -> set[str]:
        return {record.id for record in self.tellings[:-1]}


def kept(
    hands: Hands, forgetting: Forgetting, days: float | None, room_of: Callable[[Record], Room] | None, summariser: Summariser
) -> list[Step]:
    """All of these steps, in order; `room_of`: where session chunks are wanted."""
    steps, gone = ordered(hands, forgetting, days)
    chunks = [] if room_of is None else [chunked(hands, room_of)]
    return [*steps, *chunks, pruned(hands), told(hands, summariser, gone)]


def ordered(hands: Hands, forgetting: Forgetting, days: float | None) -> tuple[list[Step], set[str]]:
    """The steps, and the ids of what they superseded or would have."""
    repeated = list(_repeated(hands))
    gone = {id for one in repeated for id in one.gone}
    kept = {one.tellings[-1].id for one in repeated}
    steps = [
        carried_out(
            hands, "deduplicate", "{} things were told more than once",
            (Task(_says(one), lambda one=one: _merged(hands, one)) for one in repeated), "{} are one now",
        ),
        carried_out(hands, "promote", "{} memories were confirmed again", _promotions(hands, kept | gone), "{} promoted"),
        carried_out(
            hands, "expire", f"{_over(hands):,} records no longer hold; {{}} facts outlive what they came from",
            _endings(hands, gone), "{} ended",
        ),
    ]  # fmt: skip
    circles = carried_out(hands, "supersession", "{} circles of memories that supersede each other", _circles(hands), "{} undone")
    steps += [circles] if circles.tasks else []
    if days is not None:
        found = f"{{}} records expired {days:g} days ago or longer"
        steps.append(carried_out(hands, "forget", found, _expired(hands, forgetting, days), "{} forgotten"))
    return steps, gone


def chunked(hands: Hands, room_of: Callable[[Record], Room]) -> Step:
    """Session chunks for conversations that came in while no recipe looked at sessions."""
    tasks = (
        Task(f"{head.session}: in chunks", lambda head=head: all_chunks(room_of(head), head))
        for head in unchunked(hands.store, hands.where)
    )
    return carried_out(hands, "sessions", "{} sessions have no chunks", tasks, "{} cut into chunks")


def pruned(hands: Hands) -> Step:
    """Remove what is derived and has lost what it was derived from; where the store can, rows that belong to no record."""
    step = carried_out(hands, "prune", "{} derived records have no source", _lost(hands), "{} removed")
    look = getattr(hands.store, "orphans", None)
    rows = {} if look is None else {name: count for name, count in look(remove=hands.write is not None).items() if count}
    if not rows:
        return step
    found = "rows of no record: " + ", ".join(f"{count:,} {name}" for name, count in sorted(rows.items()))
    did = "; ".join(filter(None, [step.did, "rows removed"])) if hands.write is not None else ""
    return step._replace(found=f"{step.found}; {found}", did=did, tasks=(*step.tasks, found))


# --- what was told more than once


def _repeated(hands: Hands) -> Iterator[Repeated]:
    """Notes that say the same in the same place, oldest first. What happened may happen twice: events are not compared.

    Nor are a program's: two files, or two items of a store, that hold the same are two.
    """
    notes = replace(hands.where, roles=("note",), kinds=LASTING)
    seen: set[int] = set()
    twice: set[int] = set()
    for record in each(hands.store, notes, "oldest"):
        own = _slot(record)
        (twice if own in seen else seen).add(own)
    tellings: dict[int, list[Record]] = {}
    for record in each(hands.store, notes, "oldest") if twice else ():
        if (own := _slot(record)) in twice and not record.metadata.keys() & set(CARRIED):
            tellings.setdefault(own, []).append(record)
    for several in tellings.values():
        several.sort(key=lambda record: (record.recorded_at, record.id))
        if len(several) > 1:
            yield Repeated(several)


def _slot(record: Record) -> int:
    """What two notes share that say the same: the words, and whatever a question may be narrowed to."""
    words = " ".join(fold(record.text).split()).rstrip(".!。！")
    place = (record.owner, record.kind, record.agent, record.project, record.session, record.speaker, words)
    held = (micros(record.valid_from), micros(record.valid_to))
    return int.from_bytes(blake2b(repr((place, held)).encode("utf-8", "replace"), digest_size=8).digest(), "big")


def _says(one: Repeated) -> str:
    last = one.tellings[-1]
    return f"{last.id}: told {len(one.tellings):,} times, supersedes {', '.join(sorted(one.gone))}"


def _merged(hands: Hands, one: Repeated) -> list[Change]:
    """Each telling superseded by the next; the last one knows how often it was told, and has the tags of all."""
    now, changes, last = moment(hands.where.now), [], one.tellings[-1]
    for old, new in pairwise(one.tellings):
        fields: dict[str, Any] = {"superseded_by": new.id, "superseded_at": now}
        changes += hands.amending(old, fields | _succeeding(one.tellings, old), old)
    whole = replace(
        last,
        tags=tuple(dict.fromkeys(tag for record in one.tellings for tag in record.tags))[:MOST_TAGS],
        reinforced=sum(record.reinforced for record in one.tellings) + len(one.tellings) - 1,
        quality=max(record.quality for record in one.tellings), **_succeeding(one.tellings, last),
    )  # fmt: skip
    whole = replace(whole, **_promoted(whole))
    fields = {name: value for name in MERGED if (value := getattr(whole, name)) != getattr(last, name)}
    return [*changes, *hands.amending(last, fields, last)]


def _succeeding(tellings: Sequence[Record], record: Record) -> dict[str, Any]:
    """The link back to the telling before, for `history`, unless it has one."""
    number = tellings.index(record)
    if not number or "supersedes" in record.metadata:
        return {}
    return {"metadata": MappingProxyType({**record.metadata, "supersedes": tellings[number - 1].id})}


# --- what repeats


def _promotions(hands: Hands, but: Collection[str]) -> Iterator[Task]:
    """One promotion when it was confirmed once, one more when three times, seven, fifteen …: each is given once."""
    for record in _confirmed(hands):
        fields = _promoted(record) if record.id not in but else {}
        if fields:
            says = f"{record.id}: confirmed {record.reinforced:,} times, quality {record.quality:g} to {fields['quality']:g}"
            yield Task(says, lambda record=record, fields=fields: hands.amending(record, fields, record))


def _confirmed(hands: Hands) -> Iterator[Record]:
    where = replace(hands.where, roles=(*SHOWN, DERIVED))
    keys = hands.store.select(where, order="oldest", limit=EVERYTHING)
    for start in range(0, len(keys), BATCH):
        facts = hands.store.facts(keys[start : start + BATCH])
        yield from hands.store.records([key for key, own in facts.items() if _level(own)])


def _level(record: Record | Facts) -> int:
    return (record.reinforced + 1).bit_length() - 1


def _promoted(record: Record) -> dict[str, Any]:
    """The fields that change by the promotions that are due."""
    given = record.metadata.get(PROMOTED, 0)
    due = _level(record) - (given if isinstance(given, int) else 0)
    if due <= 0:
        return {}
    metadata = MappingProxyType({**record.metadata, PROMOTED: _level(record)})
    return {"quality": round(min(1.0, record.quality + PROMOTION * due), 6), "metadata": metadata}


# --- what is over


def _over(hands: Hands) -> int:
    """How many records are kept that no longer hold, by their dates or because others superseded them."""
    where = replace(hands.where, roles=SHOWN)
    every = hands.store.select(replace(where, timeless=True), order="oldest", limit=EVERYTHING)
    return len(every) - len(hands.store.select(where, order="oldest", limit=EVERYTHING))


def _endings(hands: Hands, gone: Collection[str]) -> Iterator[Task]:
    """Facts that hold although the record they came from does not: they end when it did."""
    for facts in batches(fact for fact in _derived(hands, False) if MARK not in fact.metadata):
        sources = _records(hands, {_source(fact) for fact in facts})
        for fact in facts:
            source = sources.get(_source(fact))
            end = None if source is None else hands.where.now if source.id in gone else _end(source, hands.where.now)
            if end is not None:
                says = f"{fact.id}: {fact.text:.80} ends with {source.id}"
                yield Task(says, lambda fact=fact, end=end: hands.amending(fact, {"valid_to": _after(fact, end)}, fact))


def _end(source: Record, now: int) -> int | None:
    """When a record ceased to hold, if it has."""
    ends = [micros(source.valid_to)] if source.valid_to is not None and micros(source.valid_to) <= now else []
    if source.superseded_by is not None:
        ends.append(micros(source.superseded_at) if source.superseded_at is not None else now)
    return min(ends, default=None)


def _after(fact: Record, end: int) -> Any:
    return moment(max(end, micros(fact.valid_from)) if fact.valid_from is not None else end)


def _expired(hands: Hands, forgetting: Forgetting, days: float) -> Iterator[Task]:
    """Records whose own date of expiry is so long past, as the caller asked."""
    until = hands.where.now - round(days * DAY)
    for record in each(hands.store, replace(hands.where, roles=SHOWN, timeless=True), "oldest"):
        if record.valid_to is not None and micros(record.valid_to) <= until:
            says = f"{record.id}: expired {record.valid_to:%Y-%m-%d}"
            yield Task(says, lambda record=record: forgetting(record))


def _circles(hands: Hands) -> Iterator[Task]:
    """Memories none of which holds, since each is superseded by another of them: the one told last holds again.

    Nothing that is remembered makes such a circle, but a file that is imported may hold one.
    """
    superseded = {
        record.id: record for record in each(hands.store, replace(hands.where, roles=SHOWN, timeless=True), "oldest")
        if record.superseded_by is not None
    }  # fmt: skip
    done: set[str] = set()
    for start in superseded:
        path: list[str] = []
        name: str | None = start
        while name in superseded and name not in done:
            done.add(name)
            path.append(name)
            name = superseded[name].superseded_by
        if name in path:
            circle = [superseded[one] for one in path[path.index(name) :]]
            last = max(circle, key=lambda record: (record.recorded_at, record.id))
            free = {"superseded_by": None, "superseded_at": None}
            says = f"{last.id}: holds again, the last of {', '.join(sorted(record.id for record in circle))}"
            yield Task(says, lambda last=last, free=free: hands.amending(last, free, last))


# --- what lost its ground


def _lost(hands: Hands) -> Iterator[Task]:
    where = replace(hands.where, timeless=True)
    for records in batches(_derived(hands, True)):
        sources = _records(hands, {_source(record) for record in records})
        for record in records:
            if _source(record) not in sources:
                yield _removal(record, f"derived from {_source(record)}, which has gone")
    for parts in batches(each(hands.store, replace(where, roles=(PART,)), "oldest")):
        wholes = _records(hands, {whole_of(part.id) for part in parts})
        yield from (_removal(part, "a part of what has gone") for part in parts if whole_of(part.id) not in wholes)
    for chunk in each(hands.store, replace(where, roles=("session",)), "oldest"):
        turns = replace(hands.where, roles=("turn",), sessions=(chunk.session,), agent=chunk.agent or hands.where.agent)
        if chunk.id.startswith(CHUNK_ID) and not hands.store.select(turns, order="latest", limit=1):
            yield _removal(chunk, f"of session {chunk.session}, which has no turns")
    for summary in orphans(hands.store, hands.where):
        yield _removal(summary, f"of session {summary.session}, of which nothing is left")


def _removal(record: Record, why: str) -> Task:
    return Task(f"{record.id}: {why}", lambda: [Forget(id=record.id, expected=record)])


def _derived(hands: Hands, timeless: bool) -> Iterator[Record]:
    """What was extracted from, or said of, another record."""
    where = replace(hands.where, roles=(DERIVED,), timeless=timeless)
    return (one for one in each(hands.store, where, "oldest") if (one.source or "").startswith("record:"))


def _source(record: Record) -> str:
    return (record.source or "").removeprefix("record:")


def _records(hands: Hands, ids: Collection[str]) -> dict[str, Record]:
    """Records by id, whether they hold or not, whoever's within the owner they are; the tenant's, too."""
    where = replace(hands.where, agent=None, projects=(), timeless=True, tenant=hands.where.owner.split("/", 1)[0])
    return {record.id: record for record in hands.store.records(list(hands.store.resolve(where, sorted(ids)).values()))}
