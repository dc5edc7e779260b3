"""What a memory needs besides being asked: vectors of the present model, a sound file, a short log.

For Memory's methods of the same names and the commands `reembed` and `upkeep`. Whatever does something can first show it. Not
for what is remembered itself: `consolidate` puts that in order, `summaries` tells it in short; nor for carrying memories
elsewhere (`moving`, `portable`).
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .embed import LEASE, Embedding, Worker
from .errors import DuplicateRecord, IndexFailed, RecordChanged, StoreUnavailable, UnknownRecord
from .ingest import pending
from .moving import Progress, batches, tell
from .ports import Amend, Change, Holding, Store
from .query import Where
from .reader import Reader
from .records import Record

EVERYTHING = 1 << 40
BATCH = 500
TOLD = 1_000  # tasks that are told one by one
PATIENCE = 0.2  # seconds between looks at how far the embedder is
LEASED = LEASE + 5.0  # seconds until what a process that died was at is due again
Missing = tuple[Record, list[tuple[str, str]]]  # a record, and the (space, view) it lacks


class Step(NamedTuple):
    """One thing upkeep looks after: what was found, what was done about it, whether all is well now; and every task."""

    name: str
    found: str
    did: str = ""
    ok: bool = True
    tasks: tuple[str, ...] = ()


class Task(NamedTuple):
    """One thing to do: in words, and as changes that belong together. They are made up only when it is done."""

    says: str
    changes: Callable[[], Sequence[Change]]


class Hands(NamedTuple):
    """How an owner's memory is looked after: what may be seen, how records are added and changed, how changes are written."""

    store: Store
    where: Where
    adding: Callable[[Sequence[Record]], list[Change]]
    amending: Callable[[Record, Mapping[str, Any], Record], list[Change]]  # the last one: if it is still this
    write: Callable[[Sequence[Change]], object] | None  # None: only look
    progress: Progress | None = None


def carried_out(hands: Hands, name: str, found: str, tasks: Iterable[Task], did: str) -> Step:
    """The step these tasks make; nothing is written without a `write`. `found` and `did` say what, with a place for the number.

    What somebody else changes meanwhile is passed over: the next upkeep looks at it again.
    """
    said: list[str] = []
    count = done = passed = 0
    for count, task in enumerate(tasks, 1):
        said += [task.says] if count <= TOLD else []
        if hands.write is not None:
            try:
                changes = task.changes()
                hands.write(changes) if changes else None
                done += bool(changes)
            except (RecordChanged, UnknownRecord, DuplicateRecord):
                passed += 1
        tell(hands.progress, count, 0)
    said += [f"and {count - TOLD:,} more"] if count > TOLD else []
    over = f"; {passed:,} were changed by somebody else meanwhile" if passed else ""
    told = did.format(f"{done:,}") + over if hands.write is not None and count else ""
    return Step(name, found.format(f"{count:,}"), told, tasks=tuple(said))


def each(store: Store, where: Where, order: str) -> Iterator[Record]:
    """Every record, a batch in memory at a time; one that goes meanwhile is left out."""
    for keys in _batches(store.select(where, order=order, limit=EVERYTHING)):
        yield from store.records(keys)


def queued(store: Store, owner: str, holdings: Iterable[Holding], embedding: Embedding, *, dry_run: bool) -> int:
    """How many vectors of a present model are lacking; each now waits in the outbox."""
    count = 0
    for changes in lacking(holdings, embedding):
        count += sum(len(change.pending) for change in changes)
        if not dry_run:
            store.write(owner, changes)
    return count


def lacking(holdings: Iterable[Holding], embedding: Embedding) -> Iterator[list[Amend]]:
    """The records that lack a vector of a present model, as changes that queue them."""
    for batch in batches(holdings):
        missing = [(one.record, [lane for lane in pending(one.record, embedding) if lane not in one.vectors]) for one in batch]
        for one in embedding.voices:
            missing = _readable([(record, lanes) for record, lanes in missing if lanes], one)
        yield [Amend(id=record.id, fields={}, pending=lanes) for record, lanes in missing if lanes]


def drain(worker: Worker | Reader, waiting: Callable[[], int], progress: Progress | None = None, *, patience: float = 0.0) -> int:
    """Have everything embedded that waits; returns how much is left because the embedder would not.

    `patience`: so many seconds without any progress are waited for what others have on lease, or had when they died.
    """
    total = left = waiting()
    idle, worker.last_error = 0.0, ""
    while left:
        before = left
        worker.kick()
        while not worker.wait(PATIENCE):
            tell(progress, total - waiting(), total)
        left = waiting()
        tell(progress, total - left, total)
        idle = 0.0 if left < before else idle + PATIENCE
        if idle and (worker.last_error or idle > patience):
            break
        time.sleep(PATIENCE if idle else 0)
    return left


def embedded(worker: Worker | None, waiting: Callable[[], int], progress: Progress | None, *, dry_run: bool) -> Step:
    """What waits for a vector, embedded; or why it still waits."""
    waits = waiting()
    found = f"{waits:,} texts wait for a vector"
    if dry_run or not waits or worker is None:
        return Step("embed", found)
    left = drain(worker, waiting, progress)
    later = f"{left:,} are not due yet: another process is at them, or was when it died, or they failed just now"
    return Step("embed", found, f"{waits - left:,} embedded" + (f"; {worker.last_error or later}" if left else ""), ok=not left)


def caught_up(reader: Reader, waiting: Callable[[], int], progress: Progress | None, *, dry_run: bool) -> Step:
    """Reading what waits for the extractor, as a step."""
    waits = waiting()
    found = f"{waits:,} texts wait to be read"
    if dry_run or not waits:
        return Step("read", found)
    left = drain(reader, waiting, progress)
    return Step("read", found, f"{waits - left:,} read" + (f"; {reader.last_error}" if left else ""), ok=not left)


def drop_old(store: Store, embedding: Embedding, where: Where, *, dry_run: bool) -> dict[str, dict[str, int]]:
    """Remove the vectors of other spaces, but for the spaces that alone have vectors of some records."""
    present = [one.space for one in embedding.voices]
    lanes = [lane for lane in store.status(where.owner)["vectors"] if lane["space"] not in present]
    needed: Counter[str] = Counter()
    for view in {lane["view"] for lane in lanes}:
        short = [store.vector.elsewhere(where, space, view) for space in present]  # with several: rather kept than missed
        needed.update({old: min(one.get(old, 0) for one in short) for old in short[0] if old not in present})
    needed = +needed
    dropped: Counter[str] = Counter()
    for lane in lanes:
        if lane["space"] not in needed:
            dropped[lane["space"]] += lane["count"]
    for old in dropped if not dry_run else ():
        store.vector.drop(where.owner, old)
    return {"dropped": dict(dropped), "needed": dict(needed)}


def backup(store: Store, target: str) -> None:
    """A consistent copy of the store in a file, while others go on writing."""
    copy = getattr(store, "backup", None)
    if copy is None:
        raise StoreUnavailable("This memory has no file to copy.", hint="Export it: recollect export memories.jsonl.")
    copy(target)


def check(store: Store) -> list[str]:
    """What the store itself finds wrong; empty when all is well."""
    look = getattr(store, "check", None)
    return [] if look is None else look()


def checked(store: Store) -> Step:
    """The integrity check as a step: it only looks."""
    wrong = check(store)
    return Step("check", "; ".join(wrong[:3]) if wrong else "the store is sound", ok=not wrong)


def looked_after(store: Store, owner: str, dry_run: bool) -> list[Step]:
    """What the store itself needs."""
    return [*tended(store, owner, dry_run), checked(store), shortened(store, dry_run)]


def tended(store: Store, owner: str, dry_run: bool) -> list[Step]:
    """The indexes over large owners' vectors, in stores that have such: made and dropped."""
    tend = getattr(store, "tend", None)
    if tend is None:
        return []
    found, did, ok = tend(owner, dry_run=dry_run)
    return [Step("hnsw", found, did, ok=ok)]


def shortened(store: Store, dry_run: bool) -> Step:
    """Move the write-ahead log into the file. What a reader still needs stays."""
    file = getattr(store, "file", None)
    if file is None or file.in_memory:
        return Step("checkpoint", "there is no log")
    size = _size(file.path + "-wal")
    if dry_run or not size:
        return Step("checkpoint", f"the log holds {size:,} bytes")
    file.checkpoint()
    return Step("checkpoint", f"the log holds {size:,} bytes", "moved into the file")


def indexed(index: Any, paths: Sequence[str], *, rebuild: bool, dry_run: bool) -> Step:
    """An index beside the store, caught up or built anew, shelf by shelf."""
    name = f"index {index.name}"
    try:
        behind = [index.news(path) for path in paths]
        known = sum(len(news) for news in behind if news)
        found = "it is to be read everything" if None in behind else f"{known:,} changes behind" if known else "up to date"
        if dry_run or not (rebuild or known or None in behind):
            return Step(name, found)
        if rebuild:
            return Step(name, found, f"built anew: {sum(map(index.rebuild, paths)):,} records")
        caught = [index.catch_up(path) for path in paths]
        return Step(name, found, "caught up" if all(caught) else "another process is at it", ok=all(caught))
    except IndexFailed as error:
        return Step(name, str(error), ok=False)


def _readable(missing: list[Missing], embedding: Embedding) -> list[Missing]:
    """Without the texts of which an inline model knows no word: they would wait for ever."""
    if not embedding.profile.inline or not missing:
        return missing
    known = embedding.documents([record.text for record, _ in missing])
    return [
        (record, lanes if vector is not None else [lane for lane in lanes if lane[0] != embedding.space])
        for (record, lanes), vector in zip(missing, known, strict=True)
    ]


def _batches(keys: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(keys), BATCH):
        yield keys[start : start + BATCH]


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0
