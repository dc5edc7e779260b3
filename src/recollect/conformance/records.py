"""What every store promises of records: they come back as they were, to those who may see them, and go without a trace."""

from __future__ import annotations

from dataclasses import replace

from ..errors import DuplicateRecord, InvalidRecord, ScopeRequired, StoreClosed, UnknownRecord
from ..ports import AGELESS, Add, Amend, Facts, Forget, Store
from ..records import moment
from .toys import ALICE, DAY, FULL, NOW, a_note, adding, everything, ids_of, in_sight, key_of, on, put, refused, row, sight


def a_record_comes_back_as_it_was(store: Store) -> None:
    times = {"at": on(-3), "valid_from": on(-9), "valid_to": on(9)}
    names = {"kind": "fact", "role": "turn", "agent": "a", "project": "p", "session": "s", "speaker": "Priya", "source": "mail"}
    numbers = {"turn": 4, "quality": 0.75, "confidence": 0.25, "reinforced": 2, "tags": ("family", "goa")}
    maps = {"views": {"user": "Where?"}, "metadata": {"x": [1, 2.5, None, {"y": "z"}], "n": True}}
    whole = a_note("m1", "Goa é 東京 \U0001f334", **times, **names, **numbers, **maps)
    bare = a_note("m2", at=None)
    put(store, whole, bare)
    keys = [store.resolve(sight(), ["m1", "m2", "none"])[name] for name in ("m2", "m1")]
    assert store.records(keys) == [bare, whole]
    assert dict(store.facts(keys)) == {
        keys[0]: Facts(AGELESS, "semantic", "note", None, None, 0.5, 0, "m2"),
        keys[1]: Facts(NOW - 3 * DAY, "fact", "turn", "s", 4, 0.75, 2, "m1"),
    }


def an_empty_store_finds_nothing(store: Store) -> None:
    assert everything(store, sight()) == [[]] * 5
    assert store.resolve(sight(), ["m1"]) == {} and dict(store.facts([7])) == {} and store.records([7]) == []
    assert store.settings(ALICE) == {} and store.outbox.waiting(None) == 0 and store.outbox.known("toy", ["x"]) == {}
    assert store.vector.coverage(sight(), *FULL) == (0, 0)


def a_write_is_all_or_nothing(store: Store) -> None:
    put(store, a_note("m1"))
    with refused(UnknownRecord):
        changes = [Add(record=a_note("m2"), pending=[FULL]), Amend(id="m1", fields={"quality": 0.9}), Forget(id="none")]
        store.write(ALICE, changes)
    assert ids_of(store, store.select(sight(), order="newest", limit=9)) == ["m1"]
    assert store.records([key_of(store, "m1")])[0].quality == 0.5 and store.outbox.waiting(None) == 0


def adding_again_changes_nothing_or_is_refused(store: Store) -> None:
    first = a_note("m1", at=on(-1))
    receipt = store.write(ALICE, [Add(record=first), Add(record=replace(first, recorded_at=moment(NOW + 1)))])
    assert (receipt.added, receipt.unchanged, receipt.amended) == (1, 1, 0)
    assert store.records([key_of(store, "m1")]) == [first]
    with refused(DuplicateRecord):
        put(store, replace(first, text="something else"))
    put(store, replace(first, owner="acme/bob", text="ids are unique to one owner only"), owner="acme/bob")


def only_what_is_there_can_be_changed(store: Store) -> None:
    put(store, a_note("m1"))
    for owner, change in [(ALICE, Forget(id="m2")), ("acme/bob", Amend(id="m1", fields={"quality": 1.0}))]:
        with refused(UnknownRecord):
            store.write(owner, [change])
    for fields in ({"id": "m2"}, {"owner": "acme/bob"}, {"colour": "blue"}):
        with refused(InvalidRecord):
            store.write(ALICE, [Amend(id="m1", fields=fields)])


def an_owner_writes_only_its_own_records(store: Store) -> None:
    put(store, replace(a_note("t1"), owner="acme", kind="identity"))
    for record in (replace(a_note("t2"), owner="acme"), replace(a_note("t3"), owner="acme/bob", kind="identity")):
        with refused(ScopeRequired):
            put(store, record)
    with refused(ScopeRequired):
        store.write("", [])


def nobody_sees_another_owners_records(store: Store) -> None:
    for owner in ("acme", "acme/bob", "acme/alice/phone", "acme/alic"):
        store.write(owner, [adding(replace(a_note("m1", "goa"), owner=owner), {FULL: [1, 0, 0]})])
    assert everything(store, sight()) == [[]] * 5 and everything(store, sight(tenant="acme")) == [[]] * 5
    assert store.resolve(sight(tenant="acme"), ["m1"]) == {} and store.status(ALICE)["records"] == 0


def what_the_tenant_shares_is_its_identity_records(store: Store) -> None:
    facts = [replace(a_note("t1", "goa"), owner="acme", kind="identity"), replace(a_note("t2", "goa"), owner="acme")]
    store.write("acme", [adding(record, {FULL: [1, 0, 0]}) for record in facts])
    assert everything(store, sight()) == [[]] * 5
    assert everything(store, sight(tenant="acme")) == [["t1"]] * 5


def validity_includes_its_start_and_not_its_end(store: Store) -> None:
    put(store, a_note("m1", valid_from=on(1), valid_to=on(2)))
    seen = [in_sight(store, now=NOW + offset) for offset in (DAY - 1, DAY, 2 * DAY - 1, 2 * DAY)]
    assert seen == [[], ["m1"], ["m1"], []]
    assert in_sight(store, as_of=NOW + DAY) == ["m1"]  # the moment asked about is as_of, not now


def a_superseded_record_is_hidden_from_then_on(store: Store) -> None:
    put(store, a_note("m1", superseded_by="m2", superseded_at=on(2)), a_note("m2", superseded_by="m3"), a_note("m3"))
    assert in_sight(store, now=NOW) == ["m3"]
    assert [in_sight(store, as_of=NOW + days * DAY) for days in (-1, 0, 1, 2)] == [[], ["m1", "m3"], ["m1", "m3"], ["m3"]]


def every_filter_filters(store: Store) -> None:
    put(
        store,
        a_note("m1", kind="fact", role="turn", session="s1", project="p1", agent="a1", at=on(-2)),
        a_note("m2", kind="event", role="turn", session="s2", project="p2", agent="a2", at=on(-1)),
        a_note("m3", at=None),
    )
    assert in_sight(store, kinds=("fact", "semantic")) == ["m1", "m3"] and in_sight(store, roles=("turn",)) == [
        "m1",
        "m2",
    ]
    assert in_sight(store, sessions=("s1", "s2")) == ["m1", "m2"] and in_sight(store, projects=("p2",)) == ["m2"]
    assert in_sight(store, agent="a1") == ["m1"] and in_sight(store, exclude=frozenset({"m1", "x"})) == ["m2", "m3"]
    assert in_sight(store, since=NOW - DAY) == ["m2", "m3"] and in_sight(store, since=NOW - DAY + 1) == ["m3"]
    assert in_sight(store, kinds=("fact",), sessions=("s2",)) == []


def equal_scores_go_newest_first_then_by_id(store: Store) -> None:
    whens = {"m5": -1, "m1": -2, "m9": -1, "m3": None, "m2": -1, "m4": None}
    notes = [a_note(name, "goa", at=None if day is None else on(day)) for name, day in whens.items()]
    store.write(ALICE, [adding(note, {FULL: [1, 0, 0]}) for note in notes])
    assert everything(store, sight()) == [["m3", "m4", "m2", "m5", "m9", "m1"]] * 5
    assert ids_of(store, store.lexical.words(sight(), "goa", 3, "any").keys) == ["m3", "m4", "m2"]


def records_are_listed_in_three_orders(store: Store) -> None:
    put(store, a_note("m3", at=on(-1)), a_note("m1", at=on(-1)), a_note("m2", at=on(-2)), a_note("m4", at=None))
    put(store, a_note("m5", session="s", turn=2, at=on(-5)), a_note("m6", session="s", turn=1, at=on(-3)))
    orders = {
        "newest": ["m4", "m1", "m3", "m2", "m6", "m5"],
        "oldest": ["m5", "m6", "m2", "m1", "m3", "m4"],
        "turns": ["m1", "m2", "m3", "m4", "m6", "m5"],
    }
    for order, expected in orders.items():
        keys = store.select(sight(), order=order, limit=99)
        assert ids_of(store, keys) == expected, order
        assert store.select(sight(), order=order, limit=2, after=keys[1]) == keys[2:4]
        assert store.select(sight(), order=order, limit=9, after=keys[-1]) == []
    assert store.select(sight(), order="newest", limit=0) == []
    gone = key_of(store, "m1")
    store.write(ALICE, [Forget(id="m1")])
    with refused(UnknownRecord):
        store.select(sight(), order="newest", limit=9, after=gone)


def forgetting_leaves_nothing_behind(store: Store) -> None:
    store.write(ALICE, [adding(a_note("m1", "goa"), {FULL: [1, 0, 0]}, pending=[("other", "full")])])
    key = key_of(store, "m1")
    receipt = store.write(ALICE, [Forget(id="m1")])
    assert dict(receipt.removed) == {"records": 1, "vectors": 1, "jobs": 1}
    assert everything(store, sight()) == [[]] * 5 and store.records([key]) == [] and store.outbox.waiting(None) == 0
    derived = store.facts([key]), store.vector.vectors(*FULL, [key]), store.outbox.known("toy", ["goa"])
    assert list(map(dict, derived)) == [{}, {}, {}]
    put(store, a_note("m1", "another goa"))
    assert ids_of(store, store.lexical.words(sight(), "goa", 9, "any").keys) == ["m1"]


def all_that_is_held_can_be_carried_away(store: Store) -> None:
    notes = [
        a_note(name, f"goa {name}", at=on(-number), views={"user": "hello"}) for number, name in enumerate(("m2", "m1", "m3"))
    ]
    store.write(
        ALICE, [adding(notes[0], {FULL: [0.6, 0.8, 0], ("other", "user"): [0, 1]}, pending=[("toy", "user"), ("other", "full")])]
    )
    store.write(ALICE, [Add(record=note) for note in notes[1:]])
    store.write("acme", [Add(record=replace(a_note("m1"), owner="acme"))])
    first, *rest = store.holdings(ALICE)
    assert [held.record for held in (first, *rest)] == notes and [(dict(h.vectors), h.waiting) for h in rest] == [({}, ())] * 2
    assert {place: vector.tolist() for place, vector in first.vectors.items()} == {
        FULL: row(0.6, 0.8, 0).tolist(), ("other", "user"): [0, 1],
    }  # fmt: skip
    assert first.waiting == (("other", "full"), ("toy", "user"))
    assert [held.record.id for held in store.holdings(ALICE, ["m3", "m2", "none"])] == ["m2", "m3"]
    assert list(store.holdings("nobody")) == [] and list(store.holdings(ALICE, [])) == []
    walking = store.holdings(ALICE)
    next(walking)
    store.write(ALICE, [Forget(id="m1"), Amend(id="m3", fields={"quality": 0.9}), Add(record=a_note("m4"))])
    assert [held.record for held in walking] == notes[1:]  # as it was when the walk began


def owners_are_those_who_have_something(store: Store) -> None:
    assert store.owners() == []
    for owner in ("zoe", "acme/bob"):
        store.write(owner, [Add(record=replace(a_note("m1"), owner=owner))])
    store.settings("acme", {"recipe": "sci"})
    assert store.owners() == ["acme", "acme/bob", "zoe"]
    store.write("zoe", [Forget(id="m1")])
    store.settings("acme", {"recipe": None})
    assert store.owners() == ["acme/bob"]


def settings_belong_to_an_owner(store: Store) -> None:
    assert store.settings(ALICE, {"recipe": "annie@5", "weights": {"lexical": 1.5}, "x": 1})["x"] == 1
    store.settings("acme/bob", {"recipe": "sci"})
    assert store.settings(ALICE, {"x": None, "none": None}) == {"recipe": "annie@5", "weights": {"lexical": 1.5}}
    assert store.settings(ALICE) == {"recipe": "annie@5", "weights": {"lexical": 1.5}} and store.settings("acme") == {}


def notes_are_kept_until_their_time(store: Store) -> None:
    if (notes := getattr(store, "notes", None)) is None:
        return
    assert notes.get("key", "a", NOW) is None and dict(notes.all("key", NOW)) == {}
    assert notes.add("key", "a", {"n": 1}, NOW) and not notes.add("key", "a", {"n": 2}, NOW)
    assert notes.add("key", "b", {"é": [None, "\ud800"]}, NOW, NOW + 5) and notes.add("other", "a", {}, NOW)
    assert notes.all("key", NOW) == {"a": {"n": 1}, "b": {"é": [None, "\ud800"]}}
    assert notes.get("key", "b", NOW + 5) is None and list(notes.all("key", NOW + 5)) == ["a"]
    assert notes.add("key", "b", {}, NOW + 5), "a note whose time is over makes room"
    notes.put("key", "a", {"n": 3})
    notes.drop("other", "a")
    notes.drop("other", "none")
    assert notes.get("key", "a", NOW) == {"n": 3} and notes.get("other", "a", NOW) is None
    assert store.settings(ALICE) == {} and in_sight(store) == []


def the_status_counts(store: Store) -> None:
    store.write(ALICE, [adding(a_note("m1"), {FULL: [1, 0, 0]}), Add(record=a_note("m2", kind="fact"), pending=[FULL])])
    status = store.status(ALICE)
    assert (status["records"], status["by_kind"], status["waiting"]) == (2, {"fact": 1, "semantic": 1}, 1)
    assert status["vectors"] == [{"space": "toy", "view": "full", "count": 1}]


def closing_is_final_and_can_be_repeated(store: Store) -> None:
    store.close()
    store.close()
    with refused(StoreClosed):
        store.select(sight(), order="newest", limit=1)
    with refused(StoreClosed):
        put(store, a_note("m1"))


records = (
    a_record_comes_back_as_it_was,
    an_empty_store_finds_nothing,
    a_write_is_all_or_nothing,
    adding_again_changes_nothing_or_is_refused,
    only_what_is_there_can_be_changed,
    an_owner_writes_only_its_own_records,
    nobody_sees_another_owners_records,
    what_the_tenant_shares_is_its_identity_records,
    validity_includes_its_start_and_not_its_end,
    a_superseded_record_is_hidden_from_then_on,
    every_filter_filters,
    equal_scores_go_newest_first_then_by_id,
    records_are_listed_in_three_orders,
    forgetting_leaves_nothing_behind,
    all_that_is_held_can_be_carried_away,
    owners_are_those_who_have_something,
    settings_belong_to_an_owner,
    notes_are_kept_until_their_time,
    the_status_counts,
    closing_is_final_and_can_be_repeated,
)
