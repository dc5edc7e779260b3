"""Where a list goes on: a cursor is a record's id and its place in the order, so that it holds when the record has gone.

An id alone goes on behind that record while it is among those listed. Between two pages it may be forgotten, superseded or
amended; then the place tells. Not for questions: an answer has no pages.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_left, bisect_right
from typing import Any, NamedTuple

from .errors import UnknownRecord
from .ports import AGELESS, Store
from .query import Where
from .rankings import Hit
from .records import Record, micros

EVERYTHING = 1 << 40
MARK = "after:"


class Cursor(NamedTuple):
    """Behind which record, and where it was in which order."""

    id: str
    order: str
    place: tuple[Any, ...]

    @classmethod
    def of(cls, record: Record, order: str) -> Cursor:
        return cls(record.id, order, _place(record, order))

    @classmethod
    def read(cls, text: str) -> Cursor | None:
        """The cursor a text stands for; None if it is none."""
        try:
            id, order, *place = json.loads(urlsafe_b64decode(text.removeprefix(MARK).encode("ascii")))
        except (ValueError, TypeError):
            return None
        shapes = {"newest": (int,), "oldest": (int,), "turns": (str, int, int), "latest": (str, int, int)}
        fits = isinstance(id, str) and tuple(map(type, place)) == shapes.get(order if isinstance(order, str) else "")
        return cls(id, order, (*place, id)) if text.startswith(MARK) and fits else None

    def __str__(self) -> str:
        said = json.dumps([self.id, self.order, *self.place[:-1]], separators=(",", ":"))
        return MARK + urlsafe_b64encode(said.encode("ascii")).decode()


def keys_after(store: Store, where: Where, order: str, limit: int, after: str | Record | Hit | None) -> list[int]:
    """A page of keys, behind a record, its id, or a cursor."""
    if after is None:
        return store.select(where, order=order, limit=limit)
    key, cursor = None, None
    after = after.record if isinstance(after, Hit) else after
    if isinstance(after, Record):
        cursor = Cursor.of(after, order)
        key = store.resolve(where, [after.id]).get(after.id)
    elif isinstance(after, str):
        key = store.resolve(where, [after]).get(after)
        if key is None and (cursor := Cursor.read(after)) is not None:
            key = store.resolve(where, [cursor.id]).get(cursor.id)
    if cursor is not None and cursor.order == order and (key is None or _place_of(store, key, order) != cursor.place):
        return _behind(store, where, cursor)[:limit]
    if key is None or (cursor is not None and cursor.order != order):
        raise UnknownRecord("There is no such record to go on after.", hint="Give the next of the page before, in its order.")
    return store.select(where, order=order, limit=limit, after=key)


def _behind(store: Store, where: Where, cursor: Cursor) -> list[int]:
    """All keys behind a place where nothing is any more."""
    forward = "turns" if cursor.order == "latest" else cursor.order
    keys = store.select(where, order=forward, limit=EVERYTHING)

    def place(key: int) -> tuple[Any, ...]:
        return _place_of(store, key, forward)

    if cursor.order == "latest":  # `turns` the other way round
        return keys[: bisect_left(keys, cursor.place, key=place)][::-1]
    return keys[bisect_right(keys, cursor.place, key=place) :]


def _place_of(store: Store, key: int, order: str) -> tuple[Any, ...]:
    return next((_place(record, order) for record in store.records([key])), ())


def _place(record: Record, order: str) -> tuple[Any, ...]:
    """What the stores sort by."""
    if order in ("turns", "latest"):
        return (record.session or "", record.turn or 0, micros(record.recorded_at) or 0, record.id)
    at = AGELESS if record.at is None else micros(record.at) or 0
    return (at if order == "oldest" else -at, record.id)
