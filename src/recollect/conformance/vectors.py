"""What every store promises of vectors: exact cosines, spaces and views kept apart, and an outbox of what waits for one."""

from __future__ import annotations

from dataclasses import replace

from ..errors import InvalidVector
from ..ports import Add, Amend, Forget, Store
from .toys import ALICE, FULL, NOW, a_note, adding, all_text, in_sight, key_of, refused, row, shown, sight


def cosines_meet_an_inclusive_threshold(store: Store) -> None:
    vectors = {"m1": [0.6, 0.8, 0], "m2": [1, 0, 0], "m3": [-1, 0, 0], "m4": [0, 1, 0]}
    store.write(ALICE, [adding(a_note(name), {FULL: vector}) for name, vector in vectors.items()])

    def ask(threshold: float | None) -> list[tuple[str, float]]:
        return shown(store, store.vector.nearest(sight(), *FULL, row(1, 0, 0), 9, threshold))

    assert ask(None) == [("m2", 1.0), ("m1", 0.6), ("m4", 0.0), ("m3", -1.0)]
    assert ask(0.6) == [("m2", 1.0), ("m1", 0.6)] and ask(0.600001) == [("m2", 1.0)]


def spaces_and_views_are_kept_apart(store: Store) -> None:
    vectors = {FULL: [1, 0, 0], ("toy", "user"): [0, 1, 0], ("other", "full"): [1, 0]}
    store.write(ALICE, [adding(a_note("m1"), vectors), Add(record=a_note("m2"))])
    key = key_of(store, "m1")
    assert list(store.vector.vectors("other", "full", [key, key_of(store, "m2")])) == [key]
    assert shown(store, store.vector.nearest(sight(), "toy", "user", row(1, 0, 0), 9, None)) == [("m1", 0.0)]
    assert store.vector.nearest(sight(), "toy", "events", row(1, 0, 0), 9, None).keys == []
    assert store.vector.coverage(sight(), *FULL) == (1, 0)


def a_wrong_vector_is_refused(store: Store) -> None:
    store.write(ALICE, [adding(a_note("m1"), {FULL: [1, 0, 0]})])
    for wrong in ([1, 0], [0, 0, 0], [float("nan"), 0, 1], [float("inf"), 0, 0]):
        with refused(InvalidVector):
            store.vector.nearest(sight(), *FULL, row(*wrong), 9, None)
        with refused(InvalidVector):
            store.write(ALICE, [adding(a_note("m2"), {FULL: wrong})])
    assert store.status(ALICE)["records"] == 1


def amended_text_is_searched_anew_and_loses_its_vectors(store: Store) -> None:
    vectors = {FULL: [1, 0, 0], ("toy", "user"): [0, 1, 0], ("other", "full"): [1, 0]}
    store.write(ALICE, [adding(a_note("m1", "goa", views={"user": "hello"}), vectors)])
    key = key_of(store, "m1")
    store.write(ALICE, [Amend(id="m1", fields={"quality": 0.7})])
    assert store.vector.coverage(sight(), *FULL) == (1, 0)
    receipt = store.write(ALICE, [Amend(id="m1", fields={"text": "lisbon", "kind": "fact"}, pending=[FULL])])
    assert receipt.amended == 1 and key_of(store, "m1") == key and store.vector.coverage(sight(), *FULL) == (0, 1)
    assert [list(store.vector.vectors(*place, [key])) for place in vectors] == [[], [key], []]
    assert [found.keys for found in all_text(store, sight(), "goa")] == [[]] * 3
    assert [found.keys for found in all_text(store, sight(), "lisbon")] == [[key]] * 3
    assert in_sight(store, kinds=("fact",)) == ["m1"]


def texts_wait_for_their_vectors(store: Store) -> None:
    pending = [FULL, ("toy", "user"), ("other", "full")]
    store.write(ALICE, [adding(a_note("m1", "goa", views={"user": "hello"}), {("other", "full"): [1, 0]}, pending=pending)])
    store.write("acme/bob", [Add(record=replace(a_note("m1", "goa"), owner="acme/bob"), pending=[FULL])])
    assert [store.outbox.waiting(*whose) for whose in ((None,), (ALICE,), (ALICE, "other"))] == [3, 2, 0]
    jobs = store.outbox.claim(ALICE, "toy", 9, NOW, 100)
    assert [(job.view, job.text) for job in jobs] == [("full", "goa"), ("user", "hello")]
    assert store.outbox.claim(ALICE, "toy", 9, NOW + 99, 100) == [] and len(store.outbox.claim(None, "toy", 9, NOW, 100)) == 1
    assert store.outbox.settle("toy", [(jobs[0], row(1, 0, 0))]) == 1
    store.outbox.postpone(jobs[1:], NOW + 500, "the embedder is down")
    assert store.outbox.claim(ALICE, "toy", 9, NOW + 499, 1) == []
    again = store.outbox.claim(ALICE, "toy", 9, NOW + 500, 1)
    assert [job.number for job in again] == [jobs[1].number] and again[0].attempts > jobs[1].attempts
    assert shown(store, store.vector.nearest(sight(), *FULL, row(1, 0, 0), 9, 0.5)) == [("m1", 1.0)]
    known = store.outbox.known("toy", ["goa", "hello"])
    assert {text: vector.tolist() for text, vector in known.items()} == {"goa": [1, 0, 0]}


def a_job_whose_text_changed_is_not_settled(store: Store) -> None:
    store.write(ALICE, [Add(record=a_note(name, "old"), pending=[FULL]) for name in ("m1", "m2", "m3")])
    jobs = store.outbox.claim(None, "toy", 9, NOW, 100)
    store.write(ALICE, [Amend(id="m1", fields={"text": "new"}, pending=[FULL]), Forget(id="m2")])
    assert store.outbox.settle("toy", [(job, row(1, 0, 0)) for job in jobs]) == 1
    assert list(store.vector.vectors(*FULL, [job.key for job in jobs])) == [jobs[2].key]
    assert [job.text for job in store.outbox.claim(None, "toy", 9, NOW, 100)] == ["new"] and store.outbox.waiting(None) == 1


def queueing_again_wakes_what_was_put_back_and_no_more(store: Store) -> None:
    store.write(ALICE, [Add(record=a_note("m1"), pending=[FULL])])
    again = [Amend(id="m1", fields={}, pending=[FULL])]
    jobs = store.outbox.claim(None, "toy", 9, NOW, 100)
    store.write(ALICE, again)  # somebody is at it: a second embedder has nothing to do
    assert store.outbox.claim(None, "toy", 9, NOW + 99, 100) == [] and store.outbox.waiting(None) == 1
    store.outbox.postpone(jobs, NOW + 500, "the embedder is down")
    store.write(ALICE, again)
    assert [job.attempts for job in store.outbox.claim(None, "toy", 9, NOW, 100)] == [1]


def an_amendment_may_bring_its_vectors(store: Store) -> None:
    store.write(ALICE, [adding(a_note("m1"), {FULL: [1, 0, 0]}, pending=[("other", "full")])])
    vectors = {FULL: row(0, 1, 0), ("other", "full"): row(1, 0)}
    store.write(ALICE, [Amend(id="m1", fields={"quality": 0.7}, vectors=vectors, pending=[FULL, ("third", "full")])])
    assert shown(store, store.vector.nearest(sight(), *FULL, row(0, 1, 0), 9, None)) == [("m1", 1.0)]
    assert [store.outbox.waiting(ALICE, space) for space in ("toy", "other", "third")] == [0, 0, 1]


def what_one_space_lacks_is_found_in_another(store: Store) -> None:
    old, new = ("other", "full"), FULL
    store.write(ALICE, [adding(a_note(name), {old: [1, 0]}) for name in ("m1", "m2", "m3")])
    assert store.vector.elsewhere(sight(), *new) == {"other": 3} and store.vector.elsewhere(sight(), *old) == {}
    store.write(ALICE, [adding(a_note("m4"), {new: [1, 0, 0]}), Amend(id="m2", fields={}, vectors={new: row(1, 0, 0)})])
    assert store.vector.elsewhere(sight(), *new) == {"other": 2} and store.vector.elsewhere(sight(), *old) == {"toy": 1}
    assert store.vector.elsewhere(sight(), "toy", "user") == {}
    found = store.vector.nearest(sight(), *old, row(1, 0), 9, None, beside="toy")
    assert shown(store, found) == [("m1", 1.0), ("m3", 1.0)]
    assert len(store.vector.nearest(sight(), *old, row(1, 0), 9, None, beside="third").keys) == 3
    store.write(ALICE, [Forget(id="m1"), Forget(id="m3")])
    assert store.vector.elsewhere(sight(), *new) == {}


def a_space_can_be_dropped(store: Store) -> None:
    vectors = {FULL: [1, 0, 0], ("toy", "user"): [0, 1, 0], ("other", "full"): [1, 0]}
    store.write(ALICE, [adding(a_note("m1", views={"user": "hello"}), vectors), Add(record=a_note("m2"), pending=[FULL])])
    store.write("acme/bob", [adding(replace(a_note("m1"), owner="acme/bob"), {FULL: [1, 0, 0]})])
    assert store.vector.nearest(sight(), *FULL, row(1, 0, 0), 9, None).keys
    assert store.vector.drop(ALICE, "toy") == 2 and store.vector.drop(ALICE, "toy") == store.vector.drop("nobody", "toy") == 0
    assert store.vector.nearest(sight(), *FULL, row(1, 0, 0), 9, None).keys == []
    assert store.status(ALICE)["vectors"] == [{"space": "other", "view": "full", "count": 1}] and store.outbox.waiting(ALICE) == 0
    assert store.vector.coverage(sight(owner="acme/bob"), *FULL) == (1, 0)
    store.write(ALICE, [Amend(id="m2", fields={}, vectors={FULL: row(0, 1, 0)})])
    assert shown(store, store.vector.nearest(sight(), *FULL, row(0, 1, 0), 9, None)) == [("m2", 1.0)]


vectors = (
    cosines_meet_an_inclusive_threshold,
    spaces_and_views_are_kept_apart,
    a_wrong_vector_is_refused,
    amended_text_is_searched_anew_and_loses_its_vectors,
    texts_wait_for_their_vectors,
    a_job_whose_text_changed_is_not_settled,
    queueing_again_wakes_what_was_put_back_and_no_more,
    an_amendment_may_bring_its_vectors,
    what_one_space_lacks_is_found_in_another,
    a_space_can_be_dropped,
)
