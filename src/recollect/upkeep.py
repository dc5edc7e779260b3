"""What a memory needs besides being asked: vectors of the present model, a sound file, a short log.

For Memory's methods of the same names and the commands `reembed` and `upkeep`. Whatever does something can first show it. Not
for carrying memories elsewhere (`moving`, `portable`), and not yet for expiring, consolidating or summarising.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from .embed import Embedding, Worker
from .errors import StoreUnavailable
from .ingest import pending
from .ports import Amend, Store
from .query import Where
from .records import Record

Progress = Callable[[int, int], None]  # done, of all
EVERYTHING = 1 << 40
BATCH = 500
PATIENCE = 0.2  # seconds between looks at how far the embedder is


class Step(NamedTuple):
    """One thing upkeep looks after: what was found, what was done about it, whether all is well now."""

    name: str
    found: str
    did: str = ""
    ok: bool = True


def each(store: Store, where: Where, order: str) -> Iterator[Record]:
    """Every record, a batch in memory at a time; one that goes meanwhile is left out."""
    for keys in _batches(store.select(where, order=order, limit=EVERYTHING)):
        yield from store.records(keys)


def lacking(store: Store, embedding: Embedding, where: Where) -> Iterator[list[Amend]]:
    """The records that lack a vector of the present model, as changes that queue them."""
    for keys in _batches(store.select(where, order="oldest", limit=EVERYTHING)):
        records = store.records(keys)
        wanted = {record.id: pending(record, embedding) for record in records}
        views = {view for places in wanted.values() for _, view in places}
        held = {view: store.vector.vectors(embedding.space, view, keys) for view in views}
        key_of = store.resolve(where, list(wanted))
        missing = {
            id: [(space, view) for space, view in places if key_of.get(id) not in held[view]] for id, places in wanted.items()
        }
        yield [Amend(id=r.id, fields={}, pending=missing[r.id]) for r in _readable(records, missing, embedding) if missing[r.id]]


def drain(worker: Worker, waiting: Callable[[], int], progress: Progress | None = None) -> int:
    """Have everything embedded that waits; returns how much is left because the embedder would not."""
    total = left = waiting()
    before = total + 1
    while left and left < before:
        before = left
        worker.kick()
        while not worker.wait(PATIENCE):
            _tell(progress, total - waiting(), total)
        left = waiting()
        _tell(progress, total - left, total)
    return left


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


def _readable(records: Sequence[Record], missing: dict, embedding: Embedding) -> list[Record]:
    """Without the texts of which an inline model knows no word: they would wait for ever."""
    lost = [record for record in records if missing[record.id]]
    if not embedding.profile.inline or not lost:
        return lost
    known = embedding.documents([record.text for record in lost])
    return [record for record, vector in zip(lost, known, strict=True) if vector is not None]


def _batches(keys: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(keys), BATCH):
        yield keys[start : start + BATCH]


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0
