"""Large lanes that PostgreSQL searches: when they get an index, that filters lose nothing, and that ties and scores are exact."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from unittest.mock import patch

import numpy as np
import pytest
from postgres_server import all_on_the_server, server

from recollect import Memory
from recollect.conformance import conformance
from recollect.ports import Add, Amend, Forget
from recollect.query import Where
from recollect.records import Record, micros, moment
from recollect.settings import Settings
from recollect.stores import open_store, postgres_hnsw, postgres_lanes
from recollect.stores.inmemory import InMemoryStore
from recollect.stores.postgres_lanes import PostgresLanes, ServedLane
from recollect.stores.vectors import Lane
from recollect.testing import FixedClock

COUNT, SIZE = 2_500, 32
NOW = micros("2026-03-10T00:00Z")
PLACE = ("toy", "full")
LARGE = "&hnsw=2000"


def cloud(count: int, seed: int) -> np.ndarray:
    """Vectors in heaps, as texts on some subjects have them."""
    pick = np.random.default_rng(seed)
    heaps = np.random.default_rng(1).standard_normal((40, SIZE))
    vectors = heaps[pick.integers(0, 40, count)] + 0.7 * pick.standard_normal((count, SIZE))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def note(number: int, vector: np.ndarray, **more) -> Add:
    fields = {"id": f"m{number}", "owner": "al'ice", "text": f"note {number}", "recorded_at": moment(NOW), **more}
    kind = "fact" if number % 2 else "semantic"
    record = Record(**{"kind": kind, "session": f"s{number % 50}", "at": moment(NOW - number % 7), **fields})
    return Add(record=record, vectors={PLACE: vector}, pending=[])


def fill(store, start: int = 0, end: int = COUNT, **more) -> None:
    vectors = cloud(COUNT, 2)
    store.write("al'ice", [note(number, vectors[number], **more) for number in range(start, end)])


def held(store) -> object:
    """How the store holds the lane."""
    return type(store._shelves._shelves["al'ice"].lanes[PLACE])


def ask(store, vector: np.ndarray, limit: int = 10, threshold: float | None = None, beside: str | None = None, **where):
    found = store.vector.nearest(
        Where(**{"owner": "al'ice", "now": NOW + 1, **where}), *PLACE, vector, limit, threshold, beside=beside
    )
    return [(record.id, score) for record, score in zip(store.records(found.keys), found.scores, strict=True)]


@pytest.fixture
def nominating(monkeypatch):
    """So few vectors as there are here are asked of the index already; how often it was, and how often each was looked at."""
    monkeypatch.setattr(postgres_lanes, "FEW", 200)
    counts = {"near": 0, "best_among": 0}

    def counted(name: str) -> None:
        real = getattr(PostgresLanes, name)

        def call(*given):
            counts[name] += 1
            return real(*given)

        monkeypatch.setattr(PostgresLanes, name, call)

    counted("near"), counted("best_among")
    return counts


@pytest.fixture(scope="module")
def large() -> Iterator[tuple]:
    """A large owner with an index, and the oracle with the same."""
    oracle = InMemoryStore()
    fill(oracle)
    with closing(open_store(server().new("large") + LARGE)) as store:
        fill(store)
        assert store.tend("al'ice", dry_run=False)[1:] == ("1 made", True)
        yield store, oracle


FILTERS = [
    ({}, 1.0), ({"kinds": ("fact",)}, 0.5), ({"sessions": tuple(f"s{n}" for n in range(20))}, 0.4), ({"sessions": ("s7",)}, 0.02),
    ({"exclude": frozenset({"m1", "m2"})}, 1.0), ({"since": NOW - 3}, 0.57), ({"as_of": NOW - 9}, 0.0), ({"kinds": ("x",)}, 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("where", "share"), FILTERS, ids=lambda given: "".join(given) if isinstance(given, dict) else "")
@pytest.mark.parametrize("limit", [10, 60])
def test_it_finds_what_is_there_whatever_the_filter(large, nominating, where, share, limit):
    store, oracle = large
    hits = due = 0
    for vector in cloud(25, 3):
        found, exact = ask(store, vector, limit, **where), ask(oracle, vector, limit, **where)
        hits, due = hits + len(set(found) & set(exact)), due + len(exact)
        assert len(found) == len(exact) and found == sorted(found, key=lambda hit: -hit[1])
    assert held(store) is ServedLane
    assert hits >= 0.99 * due, f"recall {hits / max(1, due):.4f}"
    assert (nominating["near"] > 0) == (share * COUNT > 200), "the index is asked where it may be"
    if not nominating["near"]:
        assert hits == due, "and where it is not, the answer is exact"


def test_what_was_not_asked_of_the_index_is_exact(large):
    store, oracle = large
    with patch.object(postgres_lanes, "FEW", COUNT):
        for number, vector in enumerate(cloud(8, 4)):
            for limit, threshold in ((1, None), (30, 0.3), (COUNT, None)):
                assert ask(store, vector, limit, threshold) == ask(oracle, vector, limit, threshold), number
        assert ask(store, 70_000 * vector, 5) == ask(oracle, 70_000 * vector, 5), "not of length one: beyond half precision"


def test_many_equals_are_ranked_as_everywhere(nominating):
    """Crowds of the same vector: the newest first, then by id; no index can tell which of them those are."""
    oracle, (one, other) = InMemoryStore(), cloud(2, 5)
    with closing(open_store(server().empty() + "&hnsw=600")) as store:
        for each in (oracle, store):
            each.write("al'ice", [note(number, one if number % 3 else other) for number in range(700)])
        store.tend("al'ice", dry_run=False)
        for vector in (one, other):
            assert ask(store, vector, 20) == ask(oracle, vector, 20)
        assert nominating == {"near": 2, "best_among": 2} and held(store) is ServedLane


def test_it_follows_what_others_write(nominating):
    oracle, url = InMemoryStore(), server().empty() + "&hnsw=300"
    vectors = cloud(40, 6)
    with closing(open_store(url)) as store, closing(open_store(url)) as other:
        for each in (oracle, store):
            fill(each, 0, 400)
        store.tend("al'ice", dry_run=False)
        changes = [
            [note(500 + number, vector) for number, vector in enumerate(vectors[:20])],
            [Forget(id="m3"), Forget(id="m4"), Amend(id="m5", fields={"text": "new"})],
            [Amend(id="m6", fields={}, vectors={PLACE: vectors[30]})],
            [Amend(id="m5", fields={}, vectors={PLACE: vectors[31]}), note(999, vectors[32], kind="identity")],
        ]  # fmt: skip
        for change in changes:
            assert ask(store, vectors[0], 5) == ask(oracle, vectors[0], 5)
            for each in (oracle, other):
                each.write("al'ice", change)
            for vector in vectors[28:34]:
                assert ask(store, vector, 8) == ask(oracle, vector, 8)
            where = Where(owner="al'ice", now=NOW)
            assert store.vector.coverage(where, *PLACE) == oracle.vector.coverage(where, *PLACE)
            keys = store.select(where, order="oldest", limit=500)
            assert len(store.vector.vectors(*PLACE, keys)) == store.vector.coverage(where, *PLACE)[0]
        assert held(store) is ServedLane and nominating["near"] > 10


def indexes() -> list[str]:
    """Of the database for tests."""
    return [name for (name,) in server().run("SELECT indexname FROM pg_indexes WHERE indexname LIKE 'hnsw%' ORDER BY 1")]


def test_upkeep_makes_and_drops_them_and_nothing_else_does():
    url = server().empty()
    with closing(open_store(url + "&hnsw=300")) as store, closing(open_store(url + "&hnsw=0")) as never:
        assert store.tend("al'ice", dry_run=False) == ("0 indexes over 300 vectors or more", "", True)
        fill(store, 0, 299)
        assert store.tend("al'ice", dry_run=False)[1] == "" and indexes() == []
        fill(store, 299, 300)
        assert ask(store, cloud(1, 3)[0]) and held(store) is Lane
        assert store.tend("al'ice", dry_run=True) == ("0 indexes over 300 vectors or more, 1 to make", "", True)
        assert indexes() == []
        assert store.tend("al'ice", dry_run=False)[1] == "1 made" and len(indexes()) == 1
        assert store.tend("al'ice", dry_run=False) == ("1 indexes over 300 vectors or more", "", True), "once is enough"
        assert ask(store, cloud(1, 3)[0]) == ask(never, cloud(1, 3)[0])
        assert (held(store), held(never)) == (ServedLane, Lane)
        store.write("al'ice", [Forget(id=f"m{number}") for number in range(150)])
        assert store.tend("al'ice", dry_run=False)[1] == "", "half as many keep it"
        store.write("al'ice", [Forget(id="m150")])
        assert store.tend("al'ice", dry_run=False)[1] == "1 dropped" and indexes() == []
        assert ask(store, cloud(1, 3)[0]) == ask(never, cloud(1, 3)[0]) and held(store) is Lane
        assert store.check() == []


def test_one_that_was_not_finished_is_made_anew():
    with closing(open_store(server().empty() + "&hnsw=5")) as store:
        fill(store, 0, 6)
        store.tend("al'ice", dry_run=False)
        assert ask(store, cloud(1, 3)[0]) and held(store) is ServedLane
        broken = f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'recollect.{indexes()[0]}'::regclass"
        server().run(broken)
        assert "is not valid" in store.check()[0]
        assert ask(store, cloud(1, 3)[0]) and held(store) is ServedLane, "who has it goes on, whatever the server does"
        assert store.tend("al'ice", dry_run=False) [1:] == ("1 made, 1 dropped", True)
        assert store.check() == []


def test_what_is_in_the_way_is_said(monkeypatch):
    with closing(open_store(server().empty() + "&hnsw=5")) as store:
        fill(store, 0, 6)
        monkeypatch.setattr(postgres_hnsw, "LONGEST", 16)
        assert "more than 16 numbers" in store.tend("al'ice", dry_run=False)[0]
        monkeypatch.setattr(postgres_hnsw, "OLDEST", (99, 0))
        assert "ALTER EXTENSION vector UPDATE" in store.tend("al'ice", dry_run=False)[0]
        assert indexes() == [] and ask(store, cloud(1, 3)[0])


def test_many_alike_get_none():
    """A crowd of equals would hide the rest from those who walk the graph."""
    with closing(open_store(server().empty() + "&hnsw=50")) as store:
        fill(store, 0, 60)
        assert store.tend("al'ice", dry_run=False)[1] == "1 made"
        fill(store, 60, 75, text="Thanks!")
        found, did, _ = store.tend("al'ice", dry_run=False)
        assert "alike" in found and did == "1 dropped" and indexes() == []


def test_who_may_not_make_them_is_told():
    server().run("DROP ROLE IF EXISTS writer", "CREATE ROLE writer LOGIN")
    with closing(open_store(server().empty() + "&hnsw=5")) as store:
        fill(store, 0, 6)
    server().run(*(f"GRANT {what} SCHEMA recollect TO writer" for what in ("USAGE ON", "ALL ON ALL TABLES IN")))
    try:
        with closing(open_store(server().url().replace("postgres@", "writer@") + "&hnsw=5")) as store:
            _, did, ok = store.tend("al'ice", dry_run=False)
            assert not ok and "must be owner" in did
    finally:
        server().run("DROP OWNED BY writer", "DROP ROLE writer")


def test_the_step_of_upkeep():
    given = {"owner": "al'ice", "embedder": "none", "settings": Settings(), "clock": FixedClock()}
    with Memory.open(server().empty() + "&hnsw=5", **given) as memory:
        fill(memory.store, 0, 6)
        steps = {step.name: step for step in memory.upkeep(dry_run=True)}
        assert steps["hnsw"].found == "0 indexes over 5 vectors or more, 1 to make" and indexes() == []
        steps = {step.name: step for step in memory.upkeep()}
        assert steps["hnsw"].did == "1 made" and steps["hnsw"].ok and steps["check"].ok


@pytest.mark.parametrize("promise", conformance, ids=lambda promise: promise.__name__)
def test_every_promise_is_kept_on_the_server(promise):
    with all_on_the_server(), closing(open_store(server().empty() + "&hnsw=1")) as store:
        promise(store)
