"""Indexes beside a store: the answers are the store's own, whatever the index is, does, or fails to do."""

from __future__ import annotations

import itertools
import sys
import tempfile
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from conftest import STORES, store_url
from doubles import ASK, Toy, memory_on, names, near, reasons, statuses
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from indexes import Plain, beside, unit
from promises import PROMISES_OF_NEAREST
from test_congruence import Handles, battery, outcome, steps, take
from test_worlds import WORLDS

from recollect import Memory
from recollect.conformance import conformance
from recollect.errors import IndexFailed, IndexResting, IndexTimeout, InvalidVector, MissingExtra, StoreUnavailable, UnknownIndex
from recollect.ports import Add, Amend, Forget, Holding
from recollect.query import Where
from recollect.rankings import TIMED_OUT
from recollect.records import Record, micros, moment
from recollect.settings import Settings
from recollect.stores import following, open_store
from recollect.stores.guard import FAILURES, Guard
from recollect.stores.indexes import open_vector_index
from recollect.stores.inmemory import InMemoryStore
from recollect.stores.payload import Among, Sight, lane_of, met, payload_of, sight_of
from recollect.stores.tables import visible
from recollect.stores.urls import without_secrets
from recollect.testing import FixedClock, play, read_world

NOW = micros("2026-03-10T00:00Z")
DAY = 86_400_000_000
FULL = ("toy", "full")
ENGINES = {"local": "qdrant:memory", "folder": "qdrant:///{folder}/qdrant", "edge": "qdrant-edge:///{folder}/edge"}


@pytest.fixture
def closing():
    """What was opened is closed."""
    opened = []
    yield lambda store: opened.append(store) or store
    for one in opened:
        one.close()


def note(id: str, text: str = "We can do March.", **fields) -> Record:
    return Record(**{"id": id, "owner": "alice", "text": text, "recorded_at": moment(NOW), **fields})


def where(**fields) -> Where:
    return Where(**{"owner": "alice", "now": NOW, **fields})


def put(store, *ids: str, owner: str = "alice", **fields) -> None:
    vectors = {id: unit(1, number / 10, 0) for number, id in enumerate(ids)}
    store.write(owner, [Add(record=note(id, owner=owner, **fields), vectors={FULL: vectors[id]}) for id in ids])


def found(store, seen: Where | None = None, limit: int = 9) -> list[str]:
    keys = store.vector.nearest(seen or where(), *FULL, unit(1, 0, 0), limit, None).keys
    return [record.id for record in store.records(keys)]


# The same answers


@pytest.mark.parametrize("promise", conformance, ids=lambda promise: promise.__name__)
@pytest.mark.parametrize("kind", STORES)
def test_a_store_beside_qdrant_keeps(promise, kind, tmp_path, open_store):
    promise(open_store(store_url(kind, tmp_path), vector=ENGINES["local"], wall=time.time))


@pytest.mark.parametrize("promise", PROMISES_OF_NEAREST, ids=lambda promise: promise.__name__)
@pytest.mark.parametrize("engine", ["folder", "edge"])
def test_a_store_beside_an_engine_in_a_folder_keeps(promise, engine, tmp_path, open_store):
    promise(open_store("memory:", vector=ENGINES[engine].format(folder=tmp_path)))


@pytest.mark.parametrize("path", WORLDS, ids=lambda path: path.stem)
def test_worlds_are_the_same_beside_qdrant(path, tmp_path):
    world = read_world(path)
    given = {"owner": world.owner, "recipe": world.recipe, "clock": FixedClock(world.now), "settings": Settings()}
    with Memory.open(str(tmp_path / "memory.db"), embedder="none", vector=ENGINES["local"], **given) as memory:
        for played in play(world, memory):
            assert played.actual == played.expected, f"{path.name}: {played.question}"


class Beside(Handles):
    """Two openings of one file, each with an index of its own that follows what the other wrote."""

    def __init__(self, path: str) -> None:
        list.__init__(self, (open_store(path, vector=ENGINES["local"]) for _ in range(2)))
        self.url = path

    def reopen(self, number: int) -> None:
        self[number].close()
        self[number] = open_store(self.url, vector=ENGINES["local"])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(steps=steps)
def test_random_operations_agree_beside_qdrant(steps):
    oracle = InMemoryStore()
    with tempfile.TemporaryDirectory() as folder:
        pair = Beside(f"{folder}/memory.db")
        try:
            take(pair, oracle, steps)
            agree_on_vectors(pair, oracle)
        finally:
            for store in pair:
                store.close()


def agree_on_vectors(pair: Beside, oracle: InMemoryStore) -> None:
    for step in battery():
        if step[0] == "ask":
            step = (*step[:3], [question for question in step[3] if question[0] == "nearest"])
            expected = outcome(oracle, step)
            assert [outcome(store, step) for store in pair] == [expected, expected], step


@pytest.mark.parametrize("engine", ["local", "edge"])
def test_many_records_of_several_owners_are_found_as_the_store_finds_them(engine, tmp_path, closing):
    """Filters, ties, a shared tenant, half of it amended: at every limit the same as the store's own search."""
    pick = np.random.default_rng(5)
    store = closing(open_store(str(tmp_path / "memory.db"), vector=ENGINES[engine].format(folder=tmp_path)))
    for owner in ("acme/alice", "acme/bob", "acme"):
        rows = pick.integers(-2, 3, (300, 8)) + 0.01  # few different ones: ties are the rule
        kinds = ["identity", "semantic", "fact"]
        store.write(owner, [
            Add(record=note(f"m{n}", owner=owner, kind=kinds[n % 3], session=f"s{n % 5}", at=moment(NOW - n % 7 * DAY)),
                vectors={FULL: unit(*row)}) for n, row in enumerate(rows)])  # fmt: skip
    edits = [{"valid_to": moment(NOW)}, {"superseded_by": "m1", "superseded_at": moment(NOW - DAY)}, {"kind": "fact"}]
    store.write("acme/alice", [Amend(id=f"m{n}", fields=edits[n % 3]) for n in range(0, 300, 2)])
    store.write("acme/alice", [Forget(id=f"m{n}") for n in range(0, 300, 11)])
    seen = where(owner="acme/alice", tenant="acme")
    for narrower in (
        {},
        {"kinds": ("identity",)},
        {"sessions": ("s1", "s2")},
        {"since": NOW - 2 * DAY},
        {"as_of": NOW - 2 * DAY},
        {"timeless": True},
        {"exclude": frozenset(f"m{n}" for n in range(50))},
        {"tenant": None},
        {"agent": "x"},
    ):
        for limit, threshold in ((1, None), (10, 0.3), (500, None)):
            asked = replace(seen, **narrower), *FULL, unit(*pick.standard_normal(8)), limit, threshold
            assert store.vector.nearest(*asked) == store.inner.vector.nearest(*asked)


def test_a_crowd_of_equals_is_left_to_the_store(closing):
    store = closing(beside(Plain()))
    count = 4200
    store.write("alice", [Add(record=note(f"m{n:04}"), vectors={FULL: unit(1, 0, 0)}) for n in range(count)])
    store.indexes[0].catch_up("alice")
    assert found(store, limit=3) == ["m0000", "m0001", "m0002"]


def test_a_vector_of_another_length_is_refused_as_the_store_refuses_it(closing):
    store = closing(beside(Plain()))
    put(store, "m1")
    for wrong in (unit(1, 0), np.array([np.nan, 0, 1])):
        with pytest.raises(InvalidVector):
            store.vector.nearest(where(), *FULL, wrong, 9, None)


# What an index is told, and of whom it may tell


some = st.sampled_from
moments = some([None, moment(NOW), moment(NOW - DAY), moment(NOW + DAY), moment(253_402_300_799_000_000)])
records = st.builds(
    lambda **fields: note("m1", **fields), owner=some(["acme/alice", "acme", "acme/bob"]), kind=some(["identity", "fact"]),
    role=some(["note", "turn"]), session=some([None, "s1", "\ud800"]), agent=some([None, "a"]), at=moments, valid_from=moments,
    valid_to=moments, superseded_by=some([None, "m2"]), superseded_at=moments,
)  # fmt: skip
wheres = st.builds(
    lambda **fields: where(owner="acme/alice", **fields), tenant=some([None, "acme", "acme/alice"]),
    kinds=some([(), ("identity",)]), roles=some([(), ("turn",)]), sessions=some([(), ("s1", "\ud800")]),
    agent=some([None, "a"]), since=some([None, NOW - DAY, NOW]),
    as_of=some([None, NOW - DAY, NOW]), exclude=some([frozenset(), frozenset({"m1"})]), timeless=st.booleans(),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(record=records, seen=wheres)
def test_what_may_be_seen_is_in_sight_and_what_is_another_owners_never(record, seen):
    load = payload_of(Holding(record, {FULL: unit(1, 0)}, ()))
    inside = met(load, sight_of(seen, "full"))
    assert inside or not visible(record, seen)
    assert not inside or record.owner == "acme/alice" or (record.owner, record.kind, seen.tenant) == ("acme", "identity", "acme")


def test_no_text_tag_or_metadata_leaves_the_store(closing):
    index = Plain()
    store = closing(beside(index))
    fields = {
        "tags": ("secret-tag",),
        "metadata": {"k": "secret-meta"},
        "views": {"user": "secret-view"},
        "speaker": "secret-one",
    }
    put(store, "m1", text="secret-text", source="secret-source", **fields)
    assert index.points and "secret" not in str([load for load, _ in index.points.values()])


@pytest.mark.parametrize("engine", ["local", "edge"])
def test_engines_filter_as_defined(engine, tmp_path, closing):
    """Each condition by itself and all together, on points that differ in one thing each."""
    index = open_vector_index(ENGINES[engine].format(folder=tmp_path)).index
    closing(index)
    variants = [
        {}, {"kind": "identity"}, {"role": "turn"}, {"session": "s1"}, {"session": "\ud800"}, {"agent": "a"}, {"project": "p"},
        {"at": moment(NOW - 9 * DAY)}, {"valid_from": moment(NOW + DAY)}, {"valid_to": moment(NOW - DAY)},
        {"superseded_by": "m", "superseded_at": moment(NOW)}, {"superseded_by": "m"}, {"recorded_at": moment(NOW + 9 * DAY)},
    ]  # fmt: skip
    held = {}
    for owner in ("acme/alice", "acme", "acme/bob"):
        mine = {
            len(held) + n: Holding(note(f"m{n}", owner=owner, **fields), {FULL: unit(1, n)}, ())
            for n, fields in enumerate(variants)
        }
        index.put(owner, mine, [])
        held |= mine
    sights = [
        {}, {"tenant": "acme"}, {"kinds": ("identity", "fact")}, {"roles": ("turn",)}, {"sessions": ("s1", "\ud800")},
        {"agent": "a"}, {"projects": ("p",)}, {"since": NOW - DAY}, {"as_of": NOW - DAY}, {"as_of": NOW + DAY},
        {"timeless": True},
        {"exclude": frozenset({"m0", "m3"}), "tenant": "acme", "since": NOW - DAY, "as_of": NOW},
    ]  # fmt: skip
    for fields in sights:
        seen = where(owner="acme/alice", **fields)
        expected = {key for key, one in held.items() if met(payload_of(one), sight_of(seen, "full"))}
        assert {key for key, _ in index.nearest(seen, *FULL, unit(1, 0), 99, None, None)} == expected, fields
    assert index.count("acme/alice", *FULL) == len(variants) and index.keys("acme") == list(range(13, 26))
    assert index.nearest(where(owner="acme/alice"), *FULL, unit(1, 0), 99, None, "toy") == []


@pytest.mark.parametrize("quantise, least", [("int8", 100), ("binary", 90)])
def test_codes_nominate_and_the_vectors_decide(quantise, least, tmp_path, closing):
    """int8 misses nothing here; one bit a number misses some, and what it finds has the store's scores."""
    store = closing(open_store("memory:", vector=f"qdrant-edge:///{tmp_path}/edge?quantise={quantise}"))
    pick = np.random.default_rng(1)
    rows = pick.standard_normal((800, 64))
    store.write("alice", [Add(record=note(f"m{n}"), vectors={FULL: unit(*row)}) for n, row in enumerate(rows)])
    met = 0
    for row in rows[:10] + pick.standard_normal((10, 64)):
        asked = where(), *FULL, unit(*row), 10, None
        answer, exact = store.vector.nearest(*asked), store.inner.vector.nearest(*asked)
        every = store.inner.vector.nearest(*asked[:-2], 800, None)
        assert set(zip(answer.keys, answer.scores, strict=True)) <= set(zip(every.keys, every.scores, strict=True))
        met += len({*answer.keys} & {*exact.keys})
    assert met >= least


# Down, slow, lying, stale, returning


def test_an_index_that_is_down_leaves_the_answer_whole_and_it_says_so(closing):
    index, toy = Plain(), Toy({"Goa": ASK, "Goa in March": near(0.9)})
    memory = closing(memory_on(beside(index), embedder=toy, recipe="opencouch"))
    memory.remember("Goa in March", id="goa")
    assert memory.flush(10) == 0
    whole = memory.recall("Goa")
    index.trouble["*"] = ConnectionError("no route to host")
    answer = memory.recall("Goa")
    assert [(hit.id, hit.score) for hit in answer] == [(hit.id, hit.score) for hit in whole] and not answer.diagnostics.degraded
    assert "no route to host" in reasons(answer)["vector(semantic)"] and "store's own" in " ".join(answer.diagnostics.notes)
    memory.remember("Goa again", id="again")
    assert memory.flush(10) == 0, "remembering does not depend on it"
    assert memory.status()["indexes"][0]["ok"] is False


def test_without_the_fallback_the_route_fails_and_the_others_answer(closing):
    index, toy = Plain(), Toy({"Goa": ASK, "Goa in March": near(0.9)})
    memory = closing(memory_on(beside(index, fallback=False), embedder=toy, recipe="opencouch"))
    memory.remember("Goa in March", id="goa")
    assert memory.flush(10) == 0
    index.trouble["*"] = ConnectionError("no route to host")
    answer = memory.recall("Goa")
    assert names(answer) == ["goa"] and answer.diagnostics.degraded
    assert statuses(answer)["vector(semantic)"] == "failed" and "no route" in reasons(answer)["vector(semantic)"]


def test_an_index_across_a_network_is_waited_for_until_its_deadline_and_no_longer(closing):
    index, toy, go_on = Plain(remote=True), Toy({"Goa": ASK, "Goa in March": near(0.9)}), threading.Event()
    store = beside(index, fallback=False, deadline=0.1)
    memory = closing(memory_on(store, embedder=toy, recipe="opencouch"))
    memory.remember("Goa in March", id="goa")
    assert memory.flush(10) == 0 and store.indexes[0].wait(10)
    index.trouble["nearest"] = lambda: go_on.wait(30)
    answer = memory.recall("Goa")
    go_on.set()
    assert names(answer) == ["goa"] and statuses(answer)["vector(semantic)"] == TIMED_OUT
    assert "0.1 s" in reasons(answer)["vector(semantic)"]


def test_an_index_that_keeps_failing_is_left_alone_for_a_while(closing):
    guard, calls = Guard("plain", deadline=1, remote=False, rest=0.05), itertools.count(1)

    def fail() -> None:
        raise OSError(f"down {next(calls)}")

    for _ in range(FAILURES):
        with pytest.raises(IndexFailed, match="OSError: down"):
            guard.call(fail)
    with pytest.raises(IndexResting, match=f"down {FAILURES}"):
        guard.call(fail)
    assert next(calls) == FAILURES + 1, "it was not asked"
    time.sleep(0.06)
    assert guard.call(lambda: "back") == "back" and guard.error == ""


def test_an_engine_in_this_process_is_asked_one_call_at_a_time():
    guard, inside, leave = Guard("plain", deadline=0.05, remote=False), threading.Event(), threading.Event()
    slow = threading.Thread(target=lambda: guard.call(lambda: (inside.set(), leave.wait(10))))
    slow.start()
    assert inside.wait(10)
    with pytest.raises(IndexTimeout, match="busy"):
        guard.call(lambda: None)
    leave.set()
    slow.join(10)
    assert guard.call(lambda: 1) == 1


LIES = {
    "other owners' records": lambda keys, other: [(key, 9.0) for key in other],
    "invented records": lambda keys, other: [(123_456_789, 9.0), (-1, 8.0)],
    "one record again and again": lambda keys, other: [(keys[0], 1.0)] * 50,
    "the worst first, at any score": lambda keys, other: [(key, 1e9) for key in reversed(keys)],
    "scores that are no numbers": lambda keys, other: [(key, float("nan")) for key in keys],
    "words": lambda keys, other: [("drop", "table")],
    "nothing at all": lambda keys, other: None,
    "what can't be unpacked": lambda keys, other: [1, 2, 3],
}


@pytest.mark.parametrize("lie", LIES)
def test_an_index_that_lies_shows_nobody_what_is_not_theirs(lie, closing):
    index = Plain()
    store = closing(beside(index))
    put(store, "m1", "m2", "m3")
    put(store, "b1", "b2", owner="bob")
    keys, other = (
        list(store.resolve(where(owner=owner), ids).values())
        for owner, ids in (("alice", ["m1", "m2", "m3"]), ("bob", ["b1", "b2"]))
    )
    index.trouble["nearest"] = lambda: LIES[lie](keys, other)
    assert set(found(store)) <= {"m1", "m2", "m3"}
    asked = where(), *FULL, unit(1, 0, 0), 9, None
    right = dict(zip(*store.inner.vector.nearest(*asked)[:2], strict=True))
    answer = store.vector.nearest(*asked)
    assert all(right[key] == score for key, score in zip(answer.keys, answer.scores, strict=True)), "scores are the store's"
    assert answer.scores == sorted(answer.scores, reverse=True)


def test_an_index_that_is_stale_shows_nothing_that_went_expired_or_was_changed(closing):
    index = Plain()
    store = closing(beside(index))
    put(store, "m1", "m2", "m3", "m4", "m5")
    index.trouble["put"] = lambda: None  # it says yes and does nothing
    store.write(
        "alice", [Forget(id="m1"), Amend(id="m2", fields={"superseded_by": "m3"}), Amend(id="m3", fields={"kind": "fact"})]
    )
    store.write("alice", [Amend(id="m4", fields={}, vectors={FULL: unit(0, 0, 1)})])
    assert found(store, where(kinds=("semantic",))) == ["m5", "m4"]
    assert store.vector.nearest(where(kinds=("semantic",)), *FULL, unit(0, 0, 1), 1, None).scores == [1.0]


def test_an_index_that_lost_something_is_found_out_by_counting_and_brought_up(closing, monkeypatch):
    monkeypatch.setattr(following, "AUDIT", 0.0)
    index = Plain()
    store = closing(beside(index))
    put(store, "m1", "m2", "m3")
    assert found(store) == ["m1", "m2", "m3"]
    del index.points[next(iter(index.points))]
    answer = store.vector.nearest(where(), *FULL, unit(1, 0, 0), 9, None)
    assert len(answer.keys) == 3 and "holds 2 vectors where the store has 3" in answer.note
    assert store.indexes[0].wait(10)
    assert len(index.points) == 3 and store.vector.nearest(where(), *FULL, unit(1, 0, 0), 9, None).note == ""


@pytest.mark.parametrize("remote", [False, True])
def test_an_index_that_was_away_catches_up_when_it_is_back(remote, closing):
    index = Plain(remote=remote)
    store = closing(beside(index))
    store.indexes[0].guard.rest = 0.0
    put(store, "m1", "m2", "m3")
    assert store.indexes[0].wait(10) and (found(store), len(index.points)) == (["m1", "m2", "m3"], 3)
    index.trouble["*"] = ConnectionError("down")
    put(store, "m0")
    store.write("alice", [Forget(id="m1"), Amend(id="m2", fields={}, vectors={FULL: unit(0, 1, 0)})])
    assert store.indexes[0].wait(10) and len(index.points) == 3 and found(store) == ["m0", "m3", "m2"]
    index.trouble.clear()
    store.indexes[0].doubt()
    assert found(store) == ["m0", "m3", "m2"], "what it has not seen yet is compared from the rows"
    assert store.indexes[0].wait(10)
    keys = store.resolve(where(), ["m0", "m2", "m3"])
    assert set(index.points) == set(keys.values()) and index.points[keys["m2"]][1][FULL].tolist() == [0, 1, 0]
    assert index.marks["alice"] == store.feed.mark("alice")


def test_what_a_process_without_the_index_wrote_is_found_and_followed(tmp_path, closing):
    path, index = str(tmp_path / "memory.db"), Plain(remote=True)
    store, other = closing(beside(index, store=open_store(path))), closing(open_store(path))
    put(store, "m1")
    put(other, "m2", "m3")
    other.write("alice", [Forget(id="m1")])
    assert found(store) == ["m2", "m3"], "before it followed"
    assert store.indexes[0].wait(10) and len(index.points) == 2
    assert store.indexes[0].catch_up("alice") and found(store) == ["m2", "m3"]


def test_a_crash_between_the_commit_and_the_index_costs_nothing(tmp_path, closing):
    """The mark is noted behind what it stands for: what was put without it is put again, what was not put is."""
    path, index = str(tmp_path / "memory.db"), Plain()
    store = beside(index, store=open_store(path))
    put(store, "m1", "m2")
    index.trouble["settle"] = SystemError("killed")
    put(store, "m3")
    index.trouble["put"] = SystemError("killed")
    put(store, "m4")
    store.close()
    index.trouble.clear()
    again = closing(beside(index, store=open_store(path)))
    assert again.indexes[0].catch_up("alice") and len(index.points) == 4 and len(found(again)) == 4


def test_a_log_that_does_not_reach_back_means_the_whole_shelf_is_read(tmp_path, closing, monkeypatch):
    monkeypatch.setattr("recollect.stores.writing.KEPT_CHANGES", 2)
    path, index = str(tmp_path / "memory.db"), Plain()
    other, store = closing(open_store(path)), closing(beside(index, store=open_store(path)))
    put(store, "m1", "m2")
    for number in range(300):
        other.write("alice", [Amend(id="m1", fields={"quality": number / 300})])
    other.write("alice", [Forget(id="m2")])
    assert store.indexes[0].news("alice") is None
    assert found(store) == ["m1"] and len(index.points) == 1


def test_an_index_of_another_store_is_read_everything_anew(tmp_path, closing):
    index = Plain()
    first = closing(beside(index, store=open_store(str(tmp_path / "a.db"))))
    put(first, "m1", "m2")
    second = closing(beside(index, store=open_store(str(tmp_path / "b.db"))))
    put(second, "m3")
    assert found(second) == ["m3"] and len(index.points) == 1


def test_a_large_shelf_is_brought_up_in_the_background(closing, monkeypatch):
    monkeypatch.setattr(following, "INLINE", 0.0)
    index, inner = Plain(), InMemoryStore()
    for start in range(0, 1200, 300):
        put(inner, *(f"m{n}" for n in range(start, start + 300)))
    store = closing(beside(index, store=inner))
    answer = store.vector.nearest(where(), *FULL, unit(1, 0, 0), 5, None)
    assert len(answer.keys) == 5 and "being brought up" in answer.note
    assert store.indexes[0].wait(20) and len(index.points) == 1200
    assert store.vector.nearest(where(), *FULL, unit(1, 0, 0), 5, None) == answer._replace(note="")


def test_a_rebuild_puts_everything_and_takes_away_what_is_not_there(closing):
    index = Plain()
    memory = closing(memory_on(beside(index), embedder=None))
    put(memory.store, "m1", "m2")
    index.points[999] = ({**index.points[min(index.points)][0]}, {})
    del index.points[min(index.points)]
    (step,) = memory.index(rebuild=True)
    assert step.ok and "2 records" in step.did and 999 not in index.points and len(index.points) == 2
    index.trouble["*"] = ConnectionError("down")
    (step,) = memory.index(rebuild=True)
    assert not step.ok and "down" in step.found


def test_only_one_process_at_a_time_keeps_an_index_across_a_network_up(tmp_path, closing):
    path, index = str(tmp_path / "memory.db"), Plain(remote=True)
    one, other = (closing(beside(index, store=open_store(path), wall=time.time)) for _ in range(2))
    put(one.inner, "m1")
    inside, leave = threading.Event(), threading.Event()
    index.trouble["put"] = lambda: (inside.set(), leave.wait(10))
    one.indexes[0].kick("alice")
    assert inside.wait(10) and not other.indexes[0].catch_up("alice", 0.2)
    leave.set()
    index.trouble.clear()
    assert one.indexes[0].wait(10) and other.indexes[0].catch_up("alice")
    assert one.notes.all("index", int(time.time() * 1e6)) == {}, "the lease was given back"


def test_whoever_lost_the_lease_stops(tmp_path, closing):
    index, wall = Plain(remote=True), [1000.0]
    store = closing(beside(index, wall=lambda: wall[0]))
    put(store.inner, "m1")

    def meanwhile() -> str:
        wall[0] += 1000
        store.notes.add("index", "plain alice", {"by": "somebody else"}, int(wall[0] * 1e6), None)
        return ""

    index.trouble["mark"] = meanwhile
    with pytest.raises(IndexFailed, match="took over"):
        store.indexes[0].catch_up("alice")
    assert index.points == {} and store.notes.all("index", int(wall[0] * 1e6)), "the other's lease stands"


# Forgetting, closing


def test_forgetting_says_what_became_of_the_copy(closing):
    index = Plain(remote=True)
    memory = closing(memory_on(beside(index), embedder=None))
    put(memory.store, "m1", "m2")
    assert memory.store.indexes[0].wait(10)
    assert memory.forget("m1")["indexes"] == {"plain": "removed"} and len(index.points) == 1
    index.trouble["put"] = ConnectionError("no route to host")
    receipt = memory.forget("m2")
    assert receipt["removed"]["records"] == 1 and receipt["indexes"]["plain"].startswith("not yet: ")
    assert "no route" in receipt["indexes"]["plain"] and found(memory.store) == []
    index.trouble.clear()
    assert memory.index()[0].ok and index.points == {}


def test_vectors_that_follow_reach_the_index(closing):
    index, toy = Plain(), Toy({"Goa": ASK, "beach": near(0.9)})
    memory = closing(memory_on(beside(index), embedder=toy, recipe="opencouch"))
    memory.remember("beach", id="beach")
    assert memory.flush(10) == 0 and len(index.points) == 1
    assert names(memory.recall("Goa")) == ["beach"] and index.calls[-1] == "nearest"
    memory.store.vector.drop("alice", toy.profile.fingerprint)
    assert index.points == {}


def test_closing_lets_go_of_the_index_once_more_or_not(tmp_path):
    for url in ENGINES.values():
        store = open_store("memory:", vector=url.format(folder=tmp_path))
        put(store, "m1")
        store.close()
        store.close()


@pytest.mark.parametrize("engine", ["folder", "edge"])
def test_an_index_in_a_folder_goes_on_where_it_was(engine, tmp_path):
    path, url = str(tmp_path / "memory.db"), ENGINES[engine].format(folder=tmp_path)
    with_index = open_store(path, vector=url)
    put(with_index, "m1", "m2")
    with_index.close()
    plain = open_store(path)
    plain.write("alice", [Forget(id="m1")])
    plain.close()
    again = open_store(path, vector=url)
    assert len(again.indexes[0].news("alice")) == 1, "it need not read everything"
    assert found(again) == ["m2"] and again.indexes[0].index.count("alice", *FULL) == 1
    again.close()


# Opening


WRONG = {
    "nonsense://x": "speaks 'nonsense'", "qdrant://host:port/x": "no URL", "qdrant:memory?qantise=int8": "no option 'qantise'",
    "qdrant:memory?quantise=int4": "quantise='int4'", "qdrant:memory?deadline=0": "deadline='0'",
    "qdrant-edge:": "names no folder", "qdrant:memory?fallback=maybe": "fallback='maybe'",
}  # fmt: skip


@pytest.mark.parametrize("url, said", WRONG.items())
def test_a_url_that_is_wrong_says_what_is_right(url, said):
    with pytest.raises(UnknownIndex, match=said) as raised:
        open_store("memory:", vector=url)
    assert raised.value.hint


@pytest.mark.parametrize(
    "module, url, extra", [("qdrant_client", "qdrant:memory", "qdrant"), ("qdrant_edge", "qdrant-edge:///x", "edge")]
)
def test_a_missing_package_names_the_line_that_installs_it(module, url, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf'pip install "recollect\[{extra}\]"'):
        open_store("memory:", vector=url)


def test_a_store_without_a_log_of_changes_can_have_no_index():
    class Silent(InMemoryStore):
        def __init__(self) -> None:
            super().__init__()
            self.feed = None

    with pytest.raises(StoreUnavailable, match="no log of changes"):
        beside(Plain(), store=Silent())


def test_a_server_that_is_away_keeps_no_memory_from_being_opened(closing):
    url = "qdrant://:secret@127.0.0.1:9/memories?deadline=5"  # the discard port: nobody listens
    settings = Settings(vector=url)
    assert "secret" not in repr(settings) and "secret" not in without_secrets(url)
    memory = closing(Memory.open("memory:", owner="alice", embedder="static", settings=settings))
    memory.remember("Priya's parents live in Goa.", id="goa")
    memory.flush(5)
    answer = memory.recall("Where do Priya's parents live?")
    assert names(answer) == ["goa"] and "qdrant failed" in " ".join(answer.diagnostics.notes)


def test_lanes_are_named_by_space_and_view():
    load = payload_of(Holding(note("m1"), {FULL: unit(1, 0), ("toy", "user"): unit(1, 0)}, ()))
    assert met(load, Sight("alice", None, (Among("lanes", (lane_of("toy", "user"),)),)))
    assert not met(load, Sight("alice", None, (Among("lanes", (lane_of("toy", "events"),)),)))
