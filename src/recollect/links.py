"""What the user said next, written onto the turn before: the view `next_user`, by which a question finds the turn that led to it.

A turn's successor is the next active turn of the same session, owner and source. What the turn's own writer gave as
`next_user` stays. After "Memsense", which fills it when the next turn is saved; ours is also right after a late insert, a change
or a deletion, in whatever order things came: each turn ends up with the words of its present successor, or with nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from .ports import Store
from .query import Where
from .records import EMPTY, Record, micros

NEXT, USER = "next_user", "user"
NEAR = 8  # turns looked at for the last one of the same source
ALL = 1 << 30


def relinked(store: Store, where: Where, came: Iterable[Record] = (), gone: Iterable[str] = ()) -> dict[str, Record]:
    """The turns, stored ones and those that come, whose `next_user` is another when `came` are there and `gone` are not."""
    came, gone, changed = [turn for turn in came if _linked(turn)], set(gone), {}
    for session in dict.fromkeys(turn.session for turn in came):
        mine = [turn for turn in came if turn.session == session]
        here = replace(
            where, sessions=(session,), roles=("turn",), kinds=(), projects=(), agent=None, since=None, exclude=frozenset()
        )
        there = _neighbourhood(store, here, mine, gone)
        for source in dict.fromkeys(turn.source for turn in mine):
            old = [turn for turn in there if turn.source == source]
            ids = {turn.id for turn in mine}
            kept = [turn for turn in old if turn.id not in gone and turn.id not in ids]
            new = sorted([*kept, *(turn for turn in mine if turn.source == source and turn.id not in gone)], key=place)
            changed |= _changed(old, new)
    return changed


def with_next(turn: Record, said: str | None) -> Mapping[str, str]:
    """The views of a turn with these words of its successor, or without."""
    views = {name: text for name, text in turn.views.items() if name != NEXT} | ({NEXT: said} if said else {})
    return MappingProxyType(dict(sorted(views.items()))) if views else EMPTY


def _linked(turn: Record) -> bool:
    return turn.role == "turn" and turn.session is not None


def place(turn: Record) -> tuple[int, int, str]:
    return turn.turn or 0, micros(turn.recorded_at), turn.id


def _neighbourhood(store: Store, here: Where, mine: Sequence[Record], gone: set[str]) -> list[Record]:
    """The session's turns as they are: the last ones are enough for what is appended."""
    near = store.records(store.select(here, order="latest", limit=NEAR))
    near.reverse()
    first = min(map(place, mine))
    ids = {turn.id for turn in near}
    appended = not near or (
        place(near[-1]) < first and not gone & ids and {turn.source for turn in mine} <= {turn.source for turn in near}
    )
    if appended or len(near) < NEAR:
        return near
    return store.records(store.select(here, order="turns", limit=ALL))


def _changed(old: Sequence[Record], new: Sequence[Record]) -> dict[str, Record]:
    """Turns of the new order whose `next_user` was empty, or was written by us, and is another now."""
    before = {turn.id: following for turn, following in zip(old, [*old[1:], None], strict=True)} if old else {}
    changed = {}
    for turn, following in zip(new, [*new[1:], None], strict=False):
        was, now = turn.views.get(NEXT), following.views.get(USER) if following else None
        former = before.get(turn.id)
        ours = was is None or (former is not None and was == former.views.get(USER))
        if ours and was != now and (now or former is not None):
            changed[turn.id] = replace(turn, views=with_next(turn, now))
    return changed
