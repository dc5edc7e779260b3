"""What every store promises, as plain functions that take an empty store and fail with an AssertionError.

`conformance` at the end lists them. They are for whoever writes a store, and run over ours in the tests; docs/stores.md says the
same in prose. Not here: durability, several processes, speed, and random operations against the oracle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from .conformance_conversations import conversations
from .conformance_feed import feed
from .conformance_knowledge import knowledge
from .conformance_temporal import temporal
from .errors import DuplicateRecord, InvalidRecord, InvalidVector, ScopeRequired, StoreClosed, UnknownRecord
from .ports import AGELESS, Add, Amend, Facts, Forget, Found, Store
from .query import Where
from .records import Record, micros, moment

_ALICE = "acme/alice"
_DAY = 86_400_000_000
_NOW = micros("2026-03-10T00:00Z")
_FULL = ("toy", "full")


def a_record_comes_back_as_it_was(store: Store) -> None:
    times = {"at": _day(-3), "valid_from": _day(-9), "valid_to": _day(9)}
    names = {"kind": "fact", "role": "turn", "agent": "a", "project": "p", "session": "s", "speaker": "Priya", "source": "mail"}
    numbers = {"turn": 4, "quality": 0.75, "confidence": 0.25, "reinforced": 2, "tags": ("family", "goa")}
    maps = {"views": {"user": "Where?"}, "metadata": {"x": [1, 2.5, None, {"y": "z"}], "n": True}}
    whole = _note("m1", "Goa é 東京 \U0001f334", **times, **names, **numbers, **maps)
    bare = _note("m2", at=None)
    _put(store, whole, bare)
    keys = [store.resolve(_where(), ["m1", "m2", "none"])[name] for name in ("m2", "m1")]
    assert store.records(keys) == [bare, whole]
    assert dict(store.facts(keys)) == {
        keys[0]: Facts(AGELESS, "semantic", "note", None, None, 0.5, 0, "m2"),
        keys[1]: Facts(_NOW - 3 * _DAY, "fact", "turn", "s", 4, 0.75, 2, "m1"),
    }


def an_empty_store_finds_nothing(store: Store) -> None:
    assert _everything(store, _where()) == [[]] * 5
    assert store.resolve(_where(), ["m1"]) == {} and dict(store.facts([7])) == {} and store.records([7]) == []
    assert store.settings(_ALICE) == {} and store.outbox.waiting(None) == 0 and store.outbox.known("toy", ["x"]) == {}
    assert store.vector.coverage(_where(), *_FULL) == (0, 0)


def a_write_is_all_or_nothing(store: Store) -> None:
    _put(store, _note("m1"))
    with _refused(UnknownRecord):
        changes = [Add(record=_note("m2"), pending=[_FULL]), Amend(id="m1", fields={"quality": 0.9}), Forget(id="none")]
        store.write(_ALICE, changes)
    assert _ids(store, store.select(_where(), order="newest", limit=9)) == ["m1"]
    assert store.records([_key(store, "m1")])[0].quality == 0.5 and store.outbox.waiting(None) == 0


def adding_again_changes_nothing_or_is_refused(store: Store) -> None:
    first = _note("m1", at=_day(-1))
    receipt = store.write(_ALICE, [Add(record=first), Add(record=replace(first, recorded_at=moment(_NOW + 1)))])
    assert (receipt.added, receipt.unchanged, receipt.amended) == (1, 1, 0)
    assert store.records([_key(store, "m1")]) == [first]
    with _refused(DuplicateRecord):
        _put(store, replace(first, text="something else"))
    _put(store, replace(first, owner="acme/bob", text="ids are unique to one owner only"), owner="acme/bob")


def only_what_is_there_can_be_changed(store: Store) -> None:
    _put(store, _note("m1"))
    for owner, change in [(_ALICE, Forget(id="m2")), ("acme/bob", Amend(id="m1", fields={"quality": 1.0}))]:
        with _refused(UnknownRecord):
            store.write(owner, [change])
    for fields in ({"id": "m2"}, {"owner": "acme/bob"}, {"colour": "blue"}):
        with _refused(InvalidRecord):
            store.write(_ALICE, [Amend(id="m1", fields=fields)])


def an_owner_writes_only_its_own_records(store: Store) -> None:
    _put(store, replace(_note("t1"), owner="acme", kind="identity"))
    for record in (replace(_note("t2"), owner="acme"), replace(_note("t3"), owner="acme/bob", kind="identity")):
        with _refused(ScopeRequired):
            _put(store, record)
    with _refused(ScopeRequired):
        store.write("", [])


def nobody_sees_another_owners_records(store: Store) -> None:
    for owner in ("acme", "acme/bob", "acme/alice/phone", "acme/alic"):
        store.write(owner, [_add(replace(_note("m1", "goa"), owner=owner), {_FULL: [1, 0, 0]})])
    assert _everything(store, _where()) == [[]] * 5 and _everything(store, _where(tenant="acme")) == [[]] * 5
    assert store.resolve(_where(tenant="acme"), ["m1"]) == {} and store.status(_ALICE)["records"] == 0


def what_the_tenant_shares_is_its_identity_records(store: Store) -> None:
    facts = [replace(_note("t1", "goa"), owner="acme", kind="identity"), replace(_note("t2", "goa"), owner="acme")]
    store.write("acme", [_add(record, {_FULL: [1, 0, 0]}) for record in facts])
    assert _everything(store, _where()) == [[]] * 5
    assert _everything(store, _where(tenant="acme")) == [["t1"]] * 5


def validity_includes_its_start_and_not_its_end(store: Store) -> None:
    _put(store, _note("m1", valid_from=_day(1), valid_to=_day(2)))
    seen = [_seen(store, now=_NOW + offset) for offset in (_DAY - 1, _DAY, 2 * _DAY - 1, 2 * _DAY)]
    assert seen == [[], ["m1"], ["m1"], []]
    assert _seen(store, as_of=_NOW + _DAY) == ["m1"]  # the moment asked about is as_of, not now


def a_superseded_record_is_hidden_from_then_on(store: Store) -> None:
    _put(store, _note("m1", superseded_by="m2", superseded_at=_day(2)), _note("m2", superseded_by="m3"), _note("m3"))
    assert _seen(store, now=_NOW) == ["m3"]
    assert [_seen(store, as_of=_NOW + days * _DAY) for days in (-1, 0, 1, 2)] == [[], ["m1", "m3"], ["m1", "m3"], ["m3"]]


def every_filter_filters(store: Store) -> None:
    _put(
        store,
        _note("m1", kind="fact", role="turn", session="s1", project="p1", agent="a1", at=_day(-2)),
        _note("m2", kind="event", role="turn", session="s2", project="p2", agent="a2", at=_day(-1)),
        _note("m3", at=None),
    )
    assert _seen(store, kinds=("fact", "semantic")) == ["m1", "m3"] and _seen(store, roles=("turn",)) == ["m1", "m2"]
    assert _seen(store, sessions=("s1", "s2")) == ["m1", "m2"] and _seen(store, projects=("p2",)) == ["m2"]
    assert _seen(store, agent="a1") == ["m1"] and _seen(store, exclude=frozenset({"m1", "x"})) == ["m2", "m3"]
    assert _seen(store, since=_NOW - _DAY) == ["m2", "m3"] and _seen(store, since=_NOW - _DAY + 1) == ["m3"]
    assert _seen(store, kinds=("fact",), sessions=("s2",)) == []


def equal_scores_go_newest_first_then_by_id(store: Store) -> None:
    whens = {"m5": -1, "m1": -2, "m9": -1, "m3": None, "m2": -1, "m4": None}
    notes = [_note(name, "goa", at=None if day is None else _day(day)) for name, day in whens.items()]
    store.write(_ALICE, [_add(note, {_FULL: [1, 0, 0]}) for note in notes])
    assert _everything(store, _where()) == [["m3", "m4", "m2", "m5", "m9", "m1"]] * 5
    assert _ids(store, store.lexical.words(_where(), "goa", 3, "any").keys) == ["m3", "m4", "m2"]


def records_are_listed_in_three_orders(store: Store) -> None:
    _put(store, _note("m3", at=_day(-1)), _note("m1", at=_day(-1)), _note("m2", at=_day(-2)), _note("m4", at=None))
    _put(store, _note("m5", session="s", turn=2, at=_day(-5)), _note("m6", session="s", turn=1, at=_day(-3)))
    orders = {
        "newest": ["m4", "m1", "m3", "m2", "m6", "m5"],
        "oldest": ["m5", "m6", "m2", "m1", "m3", "m4"],
        "turns": ["m1", "m2", "m3", "m4", "m6", "m5"],
    }
    for order, expected in orders.items():
        keys = store.select(_where(), order=order, limit=99)
        assert _ids(store, keys) == expected, order
        assert store.select(_where(), order=order, limit=2, after=keys[1]) == keys[2:4]
        assert store.select(_where(), order=order, limit=9, after=keys[-1]) == []
    assert store.select(_where(), order="newest", limit=0) == []
    gone = _key(store, "m1")
    store.write(_ALICE, [Forget(id="m1")])
    with _refused(UnknownRecord):
        store.select(_where(), order="newest", limit=9, after=gone)


def bm25_is_computed_to_the_last_digit(store: Store) -> None:
    _put(store, _note("m1", "goa beach"), _note("m2", "goa goa airport hotel"))
    assert _shown(store, store.lexical.words(_where(), "goa", 9, "any")) == [("m2", 0.229204243), ("m1", 0.211109171)]
    found = store.lexical.words(_where(), "airport goa", 9, "any")
    assert _shown(store, found) == [("m2", 0.839173762), ("m1", 0.211109171)]


def a_filter_never_changes_a_score(store: Store) -> None:
    _put(store, _note("m1", "goa beach"), _note("m2", "goa goa airport hotel", kind="fact", valid_to=_day(-1)))
    assert _shown(store, store.lexical.words(_where(), "goa", 9, "any")) == [("m1", 0.211109171)]
    shared = replace(_note("t1", "goa beach"), owner="acme", kind="identity")
    store.write("acme", [Add(record=shared), Add(record=replace(_note("t2", "goa goa airport hotel"), owner="acme"))])
    found = store.lexical.words(_where(tenant="acme"), "goa", 9, "any")
    assert _shown(store, found) == [("m1", 0.211109171), ("t1", 0.211109171)]  # each shelf with its own statistics


def words_are_any_all_or_relaxed(store: Store) -> None:
    _put(store, _note("m1", "goa beach"), _note("m2", "goa airport"), _note("m3", "lisbon tram", speaker="Priya", tags=("rail",)))
    ask = {match: store.lexical.words(_where(), "goa airport", 9, match) for match in ("any", "all", "relax")}
    assert [_ids(store, found.keys) for found in ask.values()] == [["m2", "m1"], ["m2"], ["m2"]]
    assert [found.relaxed for found in ask.values()] == [False] * 3
    assert store.lexical.words(_where(), "goa priya", 9, "all").keys == []
    assert store.lexical.words(_where(), "nothing", 9, "relax")[:3] == ([], [], False)
    relaxed = store.lexical.words(_where(), "goa priya", 9, "relax")
    assert sorted(_ids(store, relaxed.keys)) == ["m1", "m2", "m3"] and relaxed.relaxed
    assert _ids(store, store.lexical.words(_where(), "priya rail lisbon", 9, "all").keys) == ["m3"]


def what_people_type_is_never_syntax(store: Store) -> None:
    _put(store, _note("m1", 'goa "beach" (NEAR) 100% C:\\x _y'))
    for text in ["goa*", '"goa', "NEAR(", "a AND OR NOT", "-goa", "text:goa", *"\"'*%_\\\x00^ ", ""]:
        for found in _all_text(store, _where(), text):
            assert set(_ids(store, found.keys)) <= {"m1"}
    hits = {text: store.lexical.substring(_where(), text, 9).scores for text in ("100% c:", "0%_", "_Y", "\\X")}
    assert hits == {"100% c:": [1.0], "0%_": [], "_Y": [1.0], "\\X": [1.0]}


def a_share_of_the_querys_tokens_is_enough(store: Store) -> None:
    long = "goa " + " ".join(f"filler{n}" for n in range(20))
    _put(store, _note("m1", long), _note("m2", "goa airport lisbon tram"), _note("m3", "hotel"))

    def ask(text: str, second: tuple[int, float] | None = None) -> list[tuple[str, float]]:
        return _shown(store, store.lexical.tokens(_where(), text, 9, 0.33, second))

    assert ask("goa beach rail") == [("m1", 0.333333333), ("m2", 0.333333333)]
    assert ask("goa beach rail bus") == []  # one of four
    assert ask("goa airport beach rail bus ship walk") == []
    assert ask("goa airport beach rail bus ship walk", (2, 0.40)) == [("m2", 0.285714286)]  # two of its four
    assert ask("goa airport beach rail bus ship walk", (3, 0.40)) == ask("") == ask("the") == []


def substrings_are_folded_and_whole(store: Store) -> None:
    _put(store, _note("m1", "The GOA Trip", at=_day(-2)), _note("m2", "a goa trip", at=_day(-1)), _note("m3", "trip to goa"))
    assert _shown(store, store.lexical.substring(_where(), " Goa TRIP ", 9)) == [("m2", 1.0), ("m1", 1.0)]
    assert store.lexical.substring(_where(), "  ", 9).keys == []


def cosines_meet_an_inclusive_threshold(store: Store) -> None:
    vectors = {"m1": [0.6, 0.8, 0], "m2": [1, 0, 0], "m3": [-1, 0, 0], "m4": [0, 1, 0]}
    store.write(_ALICE, [_add(_note(name), {_FULL: vector}) for name, vector in vectors.items()])

    def ask(threshold: float | None) -> list[tuple[str, float]]:
        return _shown(store, store.vector.nearest(_where(), *_FULL, _vector(1, 0, 0), 9, threshold))

    assert ask(None) == [("m2", 1.0), ("m1", 0.6), ("m4", 0.0), ("m3", -1.0)]
    assert ask(0.6) == [("m2", 1.0), ("m1", 0.6)] and ask(0.600001) == [("m2", 1.0)]


def spaces_and_views_are_kept_apart(store: Store) -> None:
    vectors = {_FULL: [1, 0, 0], ("toy", "user"): [0, 1, 0], ("other", "full"): [1, 0]}
    store.write(_ALICE, [_add(_note("m1"), vectors), Add(record=_note("m2"))])
    key = _key(store, "m1")
    assert list(store.vector.vectors("other", "full", [key, _key(store, "m2")])) == [key]
    assert _shown(store, store.vector.nearest(_where(), "toy", "user", _vector(1, 0, 0), 9, None)) == [("m1", 0.0)]
    assert store.vector.nearest(_where(), "toy", "events", _vector(1, 0, 0), 9, None).keys == []
    assert store.vector.coverage(_where(), *_FULL) == (1, 0)


def a_wrong_vector_is_refused(store: Store) -> None:
    store.write(_ALICE, [_add(_note("m1"), {_FULL: [1, 0, 0]})])
    for wrong in ([1, 0], [0, 0, 0], [float("nan"), 0, 1], [float("inf"), 0, 0]):
        with _refused(InvalidVector):
            store.vector.nearest(_where(), *_FULL, _vector(*wrong), 9, None)
        with _refused(InvalidVector):
            store.write(_ALICE, [_add(_note("m2"), {_FULL: wrong})])
    assert store.status(_ALICE)["records"] == 1


def amended_text_is_searched_anew_and_loses_its_vectors(store: Store) -> None:
    vectors = {_FULL: [1, 0, 0], ("toy", "user"): [0, 1, 0], ("other", "full"): [1, 0]}
    store.write(_ALICE, [_add(_note("m1", "goa", views={"user": "hello"}), vectors)])
    key = _key(store, "m1")
    store.write(_ALICE, [Amend(id="m1", fields={"quality": 0.7})])
    assert store.vector.coverage(_where(), *_FULL) == (1, 0)
    receipt = store.write(_ALICE, [Amend(id="m1", fields={"text": "lisbon", "kind": "fact"}, pending=[_FULL])])
    assert receipt.amended == 1 and _key(store, "m1") == key and store.vector.coverage(_where(), *_FULL) == (0, 1)
    assert [list(store.vector.vectors(*place, [key])) for place in vectors] == [[], [key], []]
    assert [found.keys for found in _all_text(store, _where(), "goa")] == [[]] * 3
    assert [found.keys for found in _all_text(store, _where(), "lisbon")] == [[key]] * 3
    assert _seen(store, kinds=("fact",)) == ["m1"]


def forgetting_leaves_nothing_behind(store: Store) -> None:
    store.write(_ALICE, [_add(_note("m1", "goa"), {_FULL: [1, 0, 0]}, pending=[("other", "full")])])
    key = _key(store, "m1")
    receipt = store.write(_ALICE, [Forget(id="m1")])
    assert dict(receipt.removed) == {"records": 1, "vectors": 1, "jobs": 1}
    assert _everything(store, _where()) == [[]] * 5 and store.records([key]) == [] and store.outbox.waiting(None) == 0
    derived = store.facts([key]), store.vector.vectors(*_FULL, [key]), store.outbox.known("toy", ["goa"])
    assert list(map(dict, derived)) == [{}, {}, {}]
    _put(store, _note("m1", "another goa"))
    assert _ids(store, store.lexical.words(_where(), "goa", 9, "any").keys) == ["m1"]


def texts_wait_for_their_vectors(store: Store) -> None:
    pending = [_FULL, ("toy", "user"), ("other", "full")]
    store.write(_ALICE, [_add(_note("m1", "goa", views={"user": "hello"}), {("other", "full"): [1, 0]}, pending=pending)])
    store.write("acme/bob", [Add(record=replace(_note("m1", "goa"), owner="acme/bob"), pending=[_FULL])])
    assert [store.outbox.waiting(*whose) for whose in ((None,), (_ALICE,), (_ALICE, "other"))] == [3, 2, 0]
    jobs = store.outbox.claim(_ALICE, "toy", 9, _NOW, 100)
    assert [(job.view, job.text) for job in jobs] == [("full", "goa"), ("user", "hello")]
    assert store.outbox.claim(_ALICE, "toy", 9, _NOW + 99, 100) == [] and len(store.outbox.claim(None, "toy", 9, _NOW, 100)) == 1
    assert store.outbox.settle("toy", [(jobs[0], _vector(1, 0, 0))]) == 1
    store.outbox.postpone(jobs[1:], _NOW + 500, "the embedder is down")
    assert store.outbox.claim(_ALICE, "toy", 9, _NOW + 499, 1) == []
    again = store.outbox.claim(_ALICE, "toy", 9, _NOW + 500, 1)
    assert [job.number for job in again] == [jobs[1].number] and again[0].attempts > jobs[1].attempts
    assert _shown(store, store.vector.nearest(_where(), *_FULL, _vector(1, 0, 0), 9, 0.5)) == [("m1", 1.0)]
    known = store.outbox.known("toy", ["goa", "hello"])
    assert {text: vector.tolist() for text, vector in known.items()} == {"goa": [1, 0, 0]}


def a_job_whose_text_changed_is_not_settled(store: Store) -> None:
    store.write(_ALICE, [Add(record=_note(name, "old"), pending=[_FULL]) for name in ("m1", "m2", "m3")])
    jobs = store.outbox.claim(None, "toy", 9, _NOW, 100)
    store.write(_ALICE, [Amend(id="m1", fields={"text": "new"}, pending=[_FULL]), Forget(id="m2")])
    assert store.outbox.settle("toy", [(job, _vector(1, 0, 0)) for job in jobs]) == 1
    assert list(store.vector.vectors(*_FULL, [job.key for job in jobs])) == [jobs[2].key]
    assert [job.text for job in store.outbox.claim(None, "toy", 9, _NOW, 100)] == ["new"] and store.outbox.waiting(None) == 1


def queueing_again_wakes_what_was_put_back_and_no_more(store: Store) -> None:
    store.write(_ALICE, [Add(record=_note("m1"), pending=[_FULL])])
    again = [Amend(id="m1", fields={}, pending=[_FULL])]
    jobs = store.outbox.claim(None, "toy", 9, _NOW, 100)
    store.write(_ALICE, again)  # somebody is at it: a second embedder has nothing to do
    assert store.outbox.claim(None, "toy", 9, _NOW + 99, 100) == [] and store.outbox.waiting(None) == 1
    store.outbox.postpone(jobs, _NOW + 500, "the embedder is down")
    store.write(_ALICE, again)
    assert [job.attempts for job in store.outbox.claim(None, "toy", 9, _NOW, 100)] == [1]


def an_amendment_may_bring_its_vectors(store: Store) -> None:
    store.write(_ALICE, [_add(_note("m1"), {_FULL: [1, 0, 0]}, pending=[("other", "full")])])
    vectors = {_FULL: _vector(0, 1, 0), ("other", "full"): _vector(1, 0)}
    store.write(_ALICE, [Amend(id="m1", fields={"quality": 0.7}, vectors=vectors, pending=[_FULL, ("third", "full")])])
    assert _shown(store, store.vector.nearest(_where(), *_FULL, _vector(0, 1, 0), 9, None)) == [("m1", 1.0)]
    assert [store.outbox.waiting(_ALICE, space) for space in ("toy", "other", "third")] == [0, 0, 1]


def all_that_is_held_can_be_carried_away(store: Store) -> None:
    notes = [
        _note(name, f"goa {name}", at=_day(-number), views={"user": "hello"}) for number, name in enumerate(("m2", "m1", "m3"))
    ]
    store.write(
        _ALICE, [_add(notes[0], {_FULL: [0.6, 0.8, 0], ("other", "user"): [0, 1]}, pending=[("toy", "user"), ("other", "full")])]
    )
    store.write(_ALICE, [Add(record=note) for note in notes[1:]])
    store.write("acme", [Add(record=replace(_note("m1"), owner="acme"))])
    first, *rest = store.holdings(_ALICE)
    assert [held.record for held in (first, *rest)] == notes and [(dict(h.vectors), h.waiting) for h in rest] == [({}, ())] * 2
    assert {place: vector.tolist() for place, vector in first.vectors.items()} == {
        _FULL: _vector(0.6, 0.8, 0).tolist(), ("other", "user"): [0, 1],
    }  # fmt: skip
    assert first.waiting == (("other", "full"), ("toy", "user"))
    assert [held.record.id for held in store.holdings(_ALICE, ["m3", "m2", "none"])] == ["m2", "m3"]
    assert list(store.holdings("nobody")) == [] and list(store.holdings(_ALICE, [])) == []
    walking = store.holdings(_ALICE)
    next(walking)
    store.write(_ALICE, [Forget(id="m1"), Amend(id="m3", fields={"quality": 0.9}), Add(record=_note("m4"))])
    assert [held.record for held in walking] == notes[1:]  # as it was when the walk began


def owners_are_those_who_have_something(store: Store) -> None:
    assert store.owners() == []
    for owner in ("zoe", "acme/bob"):
        store.write(owner, [Add(record=replace(_note("m1"), owner=owner))])
    store.settings("acme", {"recipe": "sci"})
    assert store.owners() == ["acme", "acme/bob", "zoe"]
    store.write("zoe", [Forget(id="m1")])
    store.settings("acme", {"recipe": None})
    assert store.owners() == ["acme/bob"]


def what_one_space_lacks_is_found_in_another(store: Store) -> None:
    old, new = ("other", "full"), _FULL
    store.write(_ALICE, [_add(_note(name), {old: [1, 0]}) for name in ("m1", "m2", "m3")])
    assert store.vector.elsewhere(_where(), *new) == {"other": 3} and store.vector.elsewhere(_where(), *old) == {}
    store.write(_ALICE, [_add(_note("m4"), {new: [1, 0, 0]}), Amend(id="m2", fields={}, vectors={new: _vector(1, 0, 0)})])
    assert store.vector.elsewhere(_where(), *new) == {"other": 2} and store.vector.elsewhere(_where(), *old) == {"toy": 1}
    assert store.vector.elsewhere(_where(), "toy", "user") == {}
    found = store.vector.nearest(_where(), *old, _vector(1, 0), 9, None, beside="toy")
    assert _shown(store, found) == [("m1", 1.0), ("m3", 1.0)]
    assert len(store.vector.nearest(_where(), *old, _vector(1, 0), 9, None, beside="third").keys) == 3
    store.write(_ALICE, [Forget(id="m1"), Forget(id="m3")])
    assert store.vector.elsewhere(_where(), *new) == {}


def a_space_can_be_dropped(store: Store) -> None:
    vectors = {_FULL: [1, 0, 0], ("toy", "user"): [0, 1, 0], ("other", "full"): [1, 0]}
    store.write(_ALICE, [_add(_note("m1", views={"user": "hello"}), vectors), Add(record=_note("m2"), pending=[_FULL])])
    store.write("acme/bob", [_add(replace(_note("m1"), owner="acme/bob"), {_FULL: [1, 0, 0]})])
    assert store.vector.nearest(_where(), *_FULL, _vector(1, 0, 0), 9, None).keys
    assert store.vector.drop(_ALICE, "toy") == 2 and store.vector.drop(_ALICE, "toy") == store.vector.drop("nobody", "toy") == 0
    assert store.vector.nearest(_where(), *_FULL, _vector(1, 0, 0), 9, None).keys == []
    assert (
        store.status(_ALICE)["vectors"] == [{"space": "other", "view": "full", "count": 1}] and store.outbox.waiting(_ALICE) == 0
    )
    assert store.vector.coverage(_where(owner="acme/bob"), *_FULL) == (1, 0)
    store.write(_ALICE, [Amend(id="m2", fields={}, vectors={_FULL: _vector(0, 1, 0)})])
    assert _shown(store, store.vector.nearest(_where(), *_FULL, _vector(0, 1, 0), 9, None)) == [("m2", 1.0)]


def settings_belong_to_an_owner(store: Store) -> None:
    assert store.settings(_ALICE, {"recipe": "annie@5", "weights": {"lexical": 1.5}, "x": 1})["x"] == 1
    store.settings("acme/bob", {"recipe": "sci"})
    assert store.settings(_ALICE, {"x": None, "none": None}) == {"recipe": "annie@5", "weights": {"lexical": 1.5}}
    assert store.settings(_ALICE) == {"recipe": "annie@5", "weights": {"lexical": 1.5}} and store.settings("acme") == {}


def notes_are_kept_until_their_time(store: Store) -> None:
    if (notes := getattr(store, "notes", None)) is None:
        return
    assert notes.get("key", "a", _NOW) is None and dict(notes.all("key", _NOW)) == {}
    assert notes.add("key", "a", {"n": 1}, _NOW) and not notes.add("key", "a", {"n": 2}, _NOW)
    assert notes.add("key", "b", {"é": [None, "\ud800"]}, _NOW, _NOW + 5) and notes.add("other", "a", {}, _NOW)
    assert notes.all("key", _NOW) == {"a": {"n": 1}, "b": {"é": [None, "\ud800"]}}
    assert notes.get("key", "b", _NOW + 5) is None and list(notes.all("key", _NOW + 5)) == ["a"]
    assert notes.add("key", "b", {}, _NOW + 5), "a note whose time is over makes room"
    notes.put("key", "a", {"n": 3})
    notes.drop("other", "a")
    notes.drop("other", "none")
    assert notes.get("key", "a", _NOW) == {"n": 3} and notes.get("other", "a", _NOW) is None
    assert store.settings(_ALICE) == {} and _seen(store) == []


def the_status_counts(store: Store) -> None:
    store.write(_ALICE, [_add(_note("m1"), {_FULL: [1, 0, 0]}), Add(record=_note("m2", kind="fact"), pending=[_FULL])])
    status = store.status(_ALICE)
    assert (status["records"], status["by_kind"], status["waiting"]) == (2, {"fact": 1, "semantic": 1}, 1)
    assert status["vectors"] == [{"space": "toy", "view": "full", "count": 1}]


def closing_is_final_and_can_be_repeated(store: Store) -> None:
    store.close()
    store.close()
    with _refused(StoreClosed):
        store.select(_where(), order="newest", limit=1)
    with _refused(StoreClosed):
        _put(store, _note("m1"))


conformance = tuple(
    check for name, check in list(globals().items())
    if callable(check) and getattr(check, "__module__", "") == __name__ and not name.startswith("_")
) + knowledge + temporal + conversations + feed  # fmt: skip


def _note(name: str, text: str = "We can do March.", **fields: object) -> Record:
    return Record(**{"id": name, "owner": _ALICE, "text": text, "recorded_at": moment(_NOW), **fields})


def _where(**fields: object) -> Where:
    return Where(**{"owner": _ALICE, "now": _NOW, **fields})


def _day(days: float):
    return moment(_NOW + round(days * _DAY))


def _vector(*numbers: float):
    import numpy as np

    return np.array(numbers, dtype=np.float32)


def _put(store: Store, *records: Record, owner: str = _ALICE) -> None:
    store.write(owner, [Add(record=record) for record in records])


def _add(record: Record, vectors: Mapping, pending: Sequence[tuple[str, str]] = ()) -> Add:
    return Add(record=record, vectors={place: _vector(*numbers) for place, numbers in vectors.items()}, pending=pending)


def _key(store: Store, name: str) -> int:
    return store.resolve(_where(), [name])[name]


def _ids(store: Store, keys: Sequence[int]) -> list[str]:
    return [record.id for record in store.records(keys)]


def _shown(store: Store, found: Found) -> list[tuple[str, float]]:
    return list(zip(_ids(store, found.keys), found.scores, strict=True))


def _seen(store: Store, **fields: object) -> list[str]:
    return sorted(_ids(store, store.select(_where(**fields), order="newest", limit=99)))


def _all_text(store: Store, where: Where, text: str) -> list[Found]:
    search = store.lexical
    return [search.words(where, text, 9, "any"), search.tokens(where, text, 9, 0.33, None), search.substring(where, text, 9)]


def _everything(store: Store, where: Where) -> list[list[str]]:
    """What `goa` and the first axis find, by every way of reading."""
    nearest = store.vector.nearest(where, *_FULL, _vector(1, 0, 0), 9, None)
    found = [*_all_text(store, where, "goa"), nearest]
    return [_ids(store, keys) for keys in (*(f.keys for f in found), store.select(where, order="newest", limit=9))]


@contextmanager
def _refused(error: type[Exception]) -> Iterator[None]:
    try:
        yield
    except error:
        return
    raise AssertionError(f"{error.__name__} was not raised")
