"""What a store promises that searches by event time: a store without `temporal` promises nothing here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps

from ..ports import Add, Amend, Forget, Store
from ..query import Where
from ..records import Record, Span
from .toys import ALICE, DAY, NOW, on, put

Promise = Callable[[Store], None]


def _offered(promise: Promise) -> Promise:
    @wraps(promise)
    def kept(store: Store) -> None:
        if getattr(store, "temporal", None) is not None:
            promise(store)

    return kept


@_offered
def a_span_includes_its_start_and_not_its_end(store: Store) -> None:
    put(store, _note("m1", at=on(-2)), _note("m2", at=on(-1)), _note("m3", at=None))
    assert _within(store, -2, -1) == [("m1", 1.0)] and _within(store, -2, 0) == [("m2", 1.0), ("m1", 1.0)]
    assert _within(store, -1, -2) == _within(store, -1, -1) == _within(store, -9, -3) == []


@_offered
def what_a_record_speaks_of_counts_by_the_share_in_the_span(store: Store) -> None:
    put(
        store,
        _note("m1", at=on(0), dates=(_span(-9, -5),)),
        _note("m2", at=on(-8), dates=(_span(-30, -20),)),
        _note("m3", at=on(-8)),
        _note("m4", at=None, dates=(_span(-40, -39), _span(-10, 0))),
    )
    assert _within(store, -9, -6) == [("m3", 1.0), ("m1", 0.75), ("m2", 0.5), ("m4", 0.3)]
    assert _within(store, -9, 1) == [("m1", 1.0), ("m3", 1.0), ("m4", 0.9), ("m2", 0.5)]


@_offered
def equal_shares_are_newest_first_then_by_id(store: Store) -> None:
    put(store, *(_note(name, at=on(day)) for name, day in (("m2", -2), ("m1", -2), ("m3", -1))))
    assert [name for name, _ in _within(store, -9, 0)] == ["m3", "m1", "m2"]
    assert [name for name, _ in _within(store, -9, 0, limit=2)] == ["m3", "m1"] and _within(store, -9, 0, limit=0) == []


@_offered
def the_span_is_looked_for_in_scope_only(store: Store) -> None:
    put(store, _note("m1", session="s1"), _note("m2", valid_to=on(-1)))
    put(store, _note("m3", superseded_by="m1"), _note("m4", kind="event"))
    shared = replace(_note("t1"), owner="acme", kind="identity")
    store.write("acme", [Add(record=shared), Add(record=replace(_note("t2"), owner="acme"))])
    assert [name for name, _ in _within(store, -5, 5)] == ["m1", "m4"]
    assert [name for name, _ in _within(store, -5, 5, tenant="acme", exclude=frozenset({"m4"}))] == ["m1", "t1"]
    assert [name for name, _ in _within(store, -5, 5, sessions=("s1",))] == ["m1"]


@_offered
def what_was_derived_is_not_found_by_time(store: Store) -> None:
    put(store, _note("m1"), replace(_note("f1", dates=(_span(-2, 2),)), role="derived", kind="relationship", source="record:m1"))
    assert [name for name, _ in _within(store, -5, 5)] == ["m1"]


@_offered
def dates_follow_what_is_amended_and_forgotten(store: Store) -> None:
    put(store, _note("m1", at=None), _note("m2", at=None, dates=(_span(-9, -8),)))
    assert _within(store, -9, -8) == [("m2", 1.0)]
    store.write(ALICE, [Amend(id="m1", fields={"dates": (_span(-9, -7),)}), Amend(id="m2", fields={"dates": ()})])
    assert _within(store, -9, -8) == [("m1", 0.5)]
    store.write(ALICE, [Amend(id="m2", fields={"at": on(-8.5), "text": "another text"}), Forget(id="m1")])
    put(store, _note("m3", at=None, dates=(_span(-9, -8),)))
    assert sorted(_within(store, -9, -8)) == [("m2", 1.0), ("m3", 1.0)]


temporal = (
    a_span_includes_its_start_and_not_its_end,
    what_a_record_speaks_of_counts_by_the_share_in_the_span,
    equal_shares_are_newest_first_then_by_id,
    the_span_is_looked_for_in_scope_only,
    what_was_derived_is_not_found_by_time,
    dates_follow_what_is_amended_and_forgotten,
)


def _note(name: str, **fields: object) -> Record:
    return Record(**{"id": name, "owner": ALICE, "text": "We can do March.", "at": on(0), "recorded_at": on(0), **fields})


def _span(first: float, after: float) -> Span:
    return Span(start=on(first), end=on(after))


def _within(store: Store, first: float, after: float, *, limit: int = 9, **where: object) -> list[tuple[str, float]]:
    """Ids and scores of what falls between two days, counted from now."""
    found = store.temporal.within(
        Where(**{"owner": ALICE, "now": NOW, **where}), NOW + round(first * DAY), NOW + round(after * DAY), limit
    )
    return list(zip([record.id for record in store.records(found.keys)], found.scores, strict=True))
