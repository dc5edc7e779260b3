"""What the promises play with: one owner, one moment, small notes and vectors of three numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

import numpy as np

from ..ports import Add, Found, Store
from ..query import Where
from ..records import Record, micros, moment

ALICE = "acme/alice"
DAY = 86_400_000_000
NOW = micros("2026-03-10T00:00Z")
FULL = ("toy", "full")


def a_note(name: str, text: str = "We can do March.", **fields: object) -> Record:
    return Record(**{"id": name, "owner": ALICE, "text": text, "recorded_at": moment(NOW), **fields})


def sight(**fields: object) -> Where:
    return Where(**{"owner": ALICE, "now": NOW, **fields})


def on(days: float) -> datetime:
    return moment(NOW + round(days * DAY))


def row(*numbers: float) -> np.ndarray:
    return np.array(numbers, dtype=np.float32)


def put(store: Store, *records: Record, owner: str = ALICE) -> None:
    store.write(owner, [Add(record=record) for record in records])


def adding(record: Record, vectors: Mapping, pending: Sequence[tuple[str, str]] = ()) -> Add:
    return Add(record=record, vectors={place: row(*numbers) for place, numbers in vectors.items()}, pending=pending)


def key_of(store: Store, name: str) -> int:
    return store.resolve(sight(), [name])[name]


def ids_of(store: Store, keys: Sequence[int]) -> list[str]:
    return [record.id for record in store.records(keys)]


def shown(store: Store, found: Found) -> list[tuple[str, float]]:
    return list(zip(ids_of(store, found.keys), found.scores, strict=True))


def in_sight(store: Store, **fields: object) -> list[str]:
    return sorted(ids_of(store, store.select(sight(**fields), order="newest", limit=99)))


def all_text(store: Store, where: Where, text: str) -> list[Found]:
    search = store.lexical
    return [search.words(where, text, 9, "any"), search.tokens(where, text, 9, 0.33, None), search.substring(where, text, 9)]


def everything(store: Store, where: Where) -> list[list[str]]:
    """What `goa` and the first axis find, by every way of reading."""
    nearest = store.vector.nearest(where, *FULL, row(1, 0, 0), 9, None)
    found = [*all_text(store, where, "goa"), nearest]
    return [ids_of(store, keys) for keys in (*(f.keys for f in found), store.select(where, order="newest", limit=9))]


@contextmanager
def refused(error: type[Exception]) -> Iterator[None]:
    try:
        yield
    except error:
        return
    raise AssertionError(f"{error.__name__} was not raised")
