"""A write that only adds goes to PostgreSQL as one statement, on what was last seen of the owner; right also when that is old."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime

import numpy as np
import pytest
from postgres_server import server

from recollect import Memory
from recollect.errors import DuplicateRecord, InvalidRecord, RecordChanged, StoreBusy
from recollect.ports import Add, Told
from recollect.records import Record
from recollect.settings import Settings
from recollect.stores import open_store, postgres_appends, postgres_server
from recollect.testing import FixedClock

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def record(id: str, text: str = "A note.", **fields) -> Record:
    return Record(id=id, owner="alice", text=text, recorded_at=NOW, **fields)


def add(id: str, text: str = "A note.", told: Told | None = None) -> Add:
    vectors = {("toy", "full"): np.array([1, 0, 0, 0], "f4")}
    return Add(record=record(id, text, entities=()), vectors=vectors, pending=[("late", "full")], told=told)


@pytest.fixture
def one():
    store = open_store(server().empty())
    store.write("alice", [add("first")])
    yield store
    store.close()


@pytest.fixture
def other(one):
    store = open_store(server().url())
    yield store
    store.close()


@pytest.fixture
def sent(monkeypatch):
    """Every statement that is sent."""
    import psycopg

    statements: list[str] = []

    class Watched(psycopg.RawCursor):
        def execute(self, query, params=None, **more):
            statements.append(query)
            return super().execute(query, params, **more)

        def executemany(self, query, params_seq, **more):
            statements.append(query)
            return super().executemany(query, params_seq, **more)

    def counted(psycopg, connection, names, query, given):
        statements.append(query)
        return real(psycopg, connection, names, query, given)

    real = postgres_server.counted
    monkeypatch.setattr(postgres_server, "counted", counted)
    monkeypatch.setattr(psycopg, "RawCursor", Watched)
    return statements


def slots() -> list[int]:
    return [slot for (slot,) in server().run("SELECT slot FROM recollect.records WHERE owner = 'alice' ORDER BY slot")]


def test_it_is_one_statement(sent):
    said = {"links": [("Priya", "likes", "tea")], "dates": [("2026-03-01", "2026-03-02")], "tags": ["a"]}
    with Memory.open(server().empty(), owner="alice", embedder="none", settings=Settings(), clock=FixedClock()) as memory:
        memory.remember("The first, on 8 May.", id="m1", vectors={"full": [1, 0]}, **said)
        sent.clear()
        memory.remember("The second, on 9 May.", id="m2", vectors={"full": [0, 1]}, **said)
        assert len(sent) == 1
        memory.remember_many([{"text": f"Note {n} of some.", "id": f"n{n}"} for n in range(3)])
        assert len(sent) == 2
        memory.remember("Told without an id.")
        assert len(sent) == 4, "whether it was told already is asked first"
        assert slots() == list(range(6))
        assert memory.get("m2").dates == memory.get("m1").dates != ()
        near = memory.recall("x", vectors={"full": [0, 1]}, recipe="recipe(routes=[vector()])", limit=1)
        assert [hit.id for hit in near] == ["m2"]


def test_those_who_write_at_the_same_time_never_take_the_same_slot(one, other):
    for n in range(10):
        for store, name in ((one, "a"), (other, "b"), (other, "c")):
            assert store.write("alice", [add(f"{name}{n}", f"{name} {n}")]).added == 1
    assert slots() == list(range(31))
    for store in (one, other):
        assert len(list(store.holdings("alice"))) == 31
        assert store.outbox.waiting("alice") == 31
        assert store.check() == []


def test_whom_others_write_too_is_asked_first(sent, one, other):
    standings = one._standings
    assert standings.of("alice") is not None
    other.write("alice", [add("theirs")])
    one.write("alice", [add("missed")])
    assert standings.of("alice") is None, "the row was another than we thought"
    one.write("alice", [add("careful")])
    assert standings.of("alice") is not None, "and nobody has written since"
    sent.clear()
    one.write("alice", [add("alone")])
    assert len(sent) == 1
    assert slots() == list(range(5))


def test_an_id_that_is_there(one, other):
    one.write("alice", [add("m1", "The text.")])
    for store in (one, other, one):
        assert store.write("alice", [add("m1", "The text.")]) == (0, 0, {}, 1, {})
        with pytest.raises(DuplicateRecord):
            store.write("alice", [add("m1", "Another.")])
    with pytest.raises(DuplicateRecord):
        one.write("alice", [add("m2"), add("m1", "Another.")])
    assert slots() == [0, 1], "all or nothing"


def test_what_somebody_else_told_meanwhile(one, other):
    told = Told(b"digest", 1_000, 2_000)
    other.write("alice", [add("theirs", told=told)])
    for _ in range(3):
        with pytest.raises(RecordChanged):
            one.write("alice", [add("ours", told=told)])
        one.write("alice", [add(f"n{_}")])
    assert one.told("alice", [b"digest"], 1_000).keys() == {b"digest"}
    assert one.write("alice", [add("later", told=Told(b"digest", 2_000, 3_000))]).added == 1, "its time is over"
    assert len(one.told("alice", [b"digest"], 2_500)) == 1


def test_a_connection_that_was_lost(one):
    server().run("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'recollect'")
    assert one.write("alice", [add("m1")]).added == 1
    assert slots() == [0, 1]


def test_a_write_that_got_through_before_the_connection_was_lost(one, monkeypatch):
    real = one.server.hopefully

    def lost(query, given):
        assert real(query, given)
        return False

    monkeypatch.setattr(one.server, "hopefully", lost)
    assert one.write("alice", [add("m1")]).unchanged == 1, "it is there, and not there twice"
    assert slots() == [0, 1]


def test_a_server_that_takes_no_statement_of_several_parts(sent, one, monkeypatch):
    import psycopg

    def refused(*given):
        raise psycopg.errors.FeatureNotSupported("not on this cluster")

    monkeypatch.setattr(postgres_server, "counted", refused)
    for n in range(2):
        assert one.write("alice", [add(f"m{n}")]).added == 1
    assert not one.server.composes and slots() == [0, 1, 2]


def test_without_prepared_statements_and_when_they_are_gone(one):
    with closing(open_store(server().url(prepare="off"))) as store:
        for n in range(3):
            assert store.write("alice", [add(f"off{n}")]).added == 1
    for n in range(4):
        if n % 2:
            one.server.run("DISCARD ALL")
        assert one.write("alice", [add(f"on{n}")]).added == 1
    assert slots() == list(range(8))


def test_values_come_back_as_they_went(one):
    odd = "a' \"b\" \\ \u0001 \U0001f600 é {1} %s $1"
    said = {"quality": 0.1, "confidence": 1 / 3, "turn": 5, "tags": (odd, "b"), "speaker": odd, "metadata": {"k": [odd, 1.5]}}
    stamped = {"at": datetime(1, 1, 1, tzinfo=UTC), "valid_to": datetime(9999, 1, 1, tzinfo=UTC)}
    given = record("odd", odd, **said, **stamped)
    assert one.write("alice", [Add(record=given)]).added == 1
    (held,) = [held.record for held in one.holdings("alice") if held.record.id == "odd"]
    assert held == given
    for text in ("NUL \0 in it", "half \ud800 a pair"):
        with pytest.raises(InvalidRecord):
            one.write("alice", [Add(record=record("bad", text))])
    assert slots() == [0, 1]


def test_it_waits_for_who_holds_the_owner_and_then_gives_up(one):
    import psycopg

    one.server.wait = 0.2
    with psycopg.connect(server().url()) as holder:
        holder.execute("SELECT 1 FROM recollect.owners FOR UPDATE")
        with pytest.raises(StoreBusy, match="nothing was written"):
            one.write("alice", [add("m1")])
    assert one.write("alice", [add("m1")]).added == 1


def test_now_and_then_it_goes_the_careful_way_which_tidies_up(sent, one, monkeypatch):
    monkeypatch.setattr(postgres_appends, "TIDIED", 4)
    careful = 0
    for n in range(12):
        sent.clear()
        one.write("alice", [add(f"n{n}", told=Told(b"%d" % n, n * 10, n * 10 + 5))])
        careful += any(query.startswith("BEGIN") for query in sent)
    assert careful == 3
    assert server().run("SELECT count(*) FROM recollect.told")[0][0] < 5


def test_a_number_too_large_is_refused_with_a_sentence(one):
    with pytest.raises(InvalidRecord, match="PostgreSQL can't keep this"):
        one.write("alice", [Add(record=record("m1", turn=1 << 70))])
    assert slots() == [0]
