"""What every store promises of knowledge: what records speak of, and what was derived from them.

More of `conformance`, which lists these too.
"""

from __future__ import annotations

from dataclasses import replace

from .ports import Add, Amend, Forget, Learn, Store
from .query import Where
from .records import Entity, Link, Record, Span, micros, moment

_ALICE = "acme/alice"
_DAY = 86_400_000_000
_NOW = micros("2026-03-10T00:00Z")
_FULL = ("toy", "full")


def what_a_record_speaks_of_comes_back(store: Store) -> None:
    spoken = {
        "entities": (Entity(name="Priya S.", type="person", aliases=("Mom", "Priya")), Entity(name="東京", type="place")),
        "links": (
            Link(subject="Rajesh", predicate="planning", object="vacation to Goa", weight=0.5, record="m9"),
            Link(subject="Rajesh", predicate="knows", object="Priya S.", valid_from=_day(-9), valid_to=_day(9)),
        ),
        "dates": (Span(start=_day(-3), end=_day(-2), text="last Friday"),),
    }  # fmt: skip
    whole = replace(_note("m1"), **spoken)
    _put(store, whole, _note("m2"), replace(_note("m3"), dates=spoken["dates"]))
    assert _records(store) == {"m1": whole, "m2": _note("m2"), "m3": replace(_note("m3"), dates=spoken["dates"])}
    store.write(_ALICE, [Amend(id="m1", fields={"entities": (), "links": ()}), Amend(id="m2", fields=spoken)])
    assert _records(store)["m1"] == replace(whole, entities=(), links=()) and _records(store)["m2"] == replace(whole, id="m2")
    store.write(_ALICE, [Amend(id="m1", fields={"dates": ()}), Forget(id="m2")])
    _put(store, _note("m2"))
    assert _records(store) == {"m1": _note("m1"), "m2": _note("m2"), "m3": replace(_note("m3"), dates=spoken["dates"])}


def what_was_derived_has_no_words_and_no_vectors(store: Store) -> None:
    """Nor does it count where records are counted: BM25 stays what it was."""
    _put(store, _note("m1", "We can do March."), _note("m2", "Trams."))
    before = store.lexical.words(_where(), "march", 9, "any")
    fact = _fact("f1", "m1", text="March, march, march.")
    store.write(_ALICE, [Add(record=fact, vectors={_FULL: _vector(1, 0)}, pending=[("other", "full")])])
    assert store.lexical.words(_where(), "march", 9, "any") == before
    assert store.lexical.tokens(_where(), "march", 9, 0.3, None).keys == before.keys
    assert store.lexical.substring(_where(), "march", 9).keys == before.keys
    assert not store.vector.nearest(_where(), *_FULL, _vector(1, 0), 9, None).keys and store.outbox.waiting(None) == 0
    assert _records(store)["f1"] == fact
    store.write(_ALICE, [Amend(id="f1", fields={"role": "note"}, pending=[_FULL])])
    assert len(store.lexical.words(_where(), "march", 9, "any").keys) == 2 and store.outbox.waiting(None) == 1
    store.write(_ALICE, [Amend(id="f1", fields={"role": "derived"})])
    assert store.lexical.words(_where(), "march", 9, "any") == before and store.outbox.waiting(None) == 0


def forgetting_takes_what_was_derived_along(store: Store) -> None:
    _put(store, _note("m1"), _note("m2"), _fact("f1", "m1"), _fact("f2", "f1"), _fact("f3", "m2"))
    _put(store, replace(_fact("n1", "m1"), role="note"))
    assert store.write(_ALICE, [Forget(id="m1")]).removed["records"] == 3
    assert set(_records(store)) == {"m2", "f3", "n1"}


def what_is_learned_replaces_what_was_learned_before(store: Store) -> None:
    note = _note("m1")
    store.write(
        _ALICE, [Add(record=note, pending=[("extract:x", "full")]), Add(record=_note("m2")), Add(record=_fact("f1", "m1"))]
    )
    job = store.outbox.claim(_ALICE, "extract:x", 9, 0, 1)[0]
    spoken = (Entity(name="Goa", type="place"),)
    learn = Learn(
        id="m1", text=note.text, fields={"entities": spoken}, facts=[_fact("f2", "m1"), _fact("f3", "m1")],
        amends=[Amend(id="m2", fields={"superseded_by": "f2", "superseded_at": _day(0)}), Amend(id="gone", fields={})],
        job=job.number,
    )  # fmt: skip
    receipt = store.write(_ALICE, [learn])
    assert (receipt.added, receipt.amended, receipt.removed["records"]) == (2, 2, 1)
    assert set(_records(store)) == {"m1", "m2", "f2", "f3"} and _records(store)["m1"].entities == spoken
    assert store.outbox.waiting(None) == 0 and _records(store)["m2"].superseded_by == "f2"
    store.write(_ALICE, [Amend(id="f2", fields={"superseded_by": "f9"})])
    store.write(_ALICE, [learn])
    assert _records(store)["f2"].superseded_by == "f9", "what is there already is left as it is"


def learning_leaves_alone_what_is_no_fact(store: Store) -> None:
    note, verdict = _note("m1"), replace(_fact("v1", "m1"), kind="episodic", links=())
    _put(store, note, verdict, _fact("f1", "m1"))
    store.write(_ALICE, [Learn(id="m1", text=note.text, fields={})])
    assert set(_records(store)) == {"m1", "v1"}


def nothing_is_learned_from_a_text_that_changed(store: Store) -> None:
    store.write(_ALICE, [Add(record=_note("m1"), pending=[("extract:x", "full")]), Add(record=_note("m2"))])
    job = store.outbox.claim(_ALICE, "extract:x", 9, 0, 1)[0]
    for name, text in (("m1", "another text"), ("gone", "We can do March.")):
        fields = {"entities": (Entity(name="Goa"),)}
        receipt = store.write(_ALICE, [Learn(id=name, text=text, fields=fields, facts=[_fact("f1", name)], job=job.number)])
        assert (receipt.added, receipt.amended) == (0, 0)
    assert _records(store) == {"m1": _note("m1"), "m2": _note("m2")} and store.outbox.waiting(None) == 0


knowledge = (
    what_a_record_speaks_of_comes_back,
    what_was_derived_has_no_words_and_no_vectors,
    forgetting_takes_what_was_derived_along,
    what_is_learned_replaces_what_was_learned_before,
    learning_leaves_alone_what_is_no_fact,
    nothing_is_learned_from_a_text_that_changed,
)


def _note(name: str, text: str = "We can do March.") -> Record:
    return Record(id=name, owner=_ALICE, text=text, recorded_at=_day(0))


def _fact(name: str, of: str, text: str = "Rajesh plans.") -> Record:
    links = (Link(subject="Rajesh", predicate="plans", object="vacation"),)
    return replace(_note(name, text), kind="relationship", role="derived", source=f"record:{of}", links=links)


def _put(store: Store, *records: Record) -> None:
    store.write(_ALICE, [Add(record=record) for record in records])


def _records(store: Store) -> dict[str, Record]:
    where = _where(timeless=True)
    return {record.id: record for record in store.records(store.select(where, order="newest", limit=99))}


def _where(**fields: object) -> Where:
    return Where(**{"owner": _ALICE, "now": _NOW, **fields})


def _day(days: float):
    return moment(_NOW + round(days * _DAY))


def _vector(*numbers: float):
    import numpy as np

    return np.asarray(numbers, np.float32)
