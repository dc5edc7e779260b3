"""No question to PostgreSQL and no write leaves its owner's partition: the plans say so. And how many round trips it takes."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from doubles import Toy
from postgres_server import server

from recollect import Memory
from recollect.recipes import PRESETS
from recollect.settings import Settings
from recollect.stores import postgres_lanes, postgres_server, sql
from recollect.testing import FixedClock

PARTITION = re.compile(r"(?:owners|records|mentions|changes|lanes|vectors|outbox)_(\d+)")


def opened(url: str, owner: str = "acme/alice", **given) -> Memory:
    return Memory.open(url, owner=owner, **{"embedder": "none", "settings": Settings(), "clock": FixedClock(), **given})


@pytest.fixture
def statements(monkeypatch):
    """Every statement that is sent while the fixture is in use, with what was given, and whether a caller waits for it."""
    import psycopg

    sent: list[tuple[str, tuple, bool]] = []
    me = threading.get_ident()
    real = psycopg.RawCursor

    class Watched(real):
        def execute(self, query, params=None, **more):
            sent.append((query, tuple(params or ()), threading.get_ident() == me))
            return super().execute(query, params, **more)

        def executemany(self, query, params_seq, **more):
            given = list(params_seq)
            sent.extend((query, tuple(params), threading.get_ident() == me) for params in given)
            return super().executemany(query, given, **more)

    def counted(psycopg, connection, names, query, given):
        sent.append((query, tuple(given), threading.get_ident() == me))
        return real_counted(psycopg, connection, names, query, given)

    real_counted = postgres_server.counted
    monkeypatch.setattr(postgres_server, "counted", counted)
    monkeypatch.setattr(psycopg, "RawCursor", Watched)
    return sent


def touched(connection, query: str, given: tuple) -> set[int]:
    """The partitions in the plan that the server runs for this statement: made once for all owners, pruned for this one."""
    from psycopg.sql import Literal

    from recollect.stores.postgres_vectors import Floats

    def literal(value) -> str:
        if isinstance(value, Floats):
            return "'" + str(np.frombuffer(value, "<f4").tolist()) + "'"
        return Literal(value).as_string(connection)

    connection.execute(f"PREPARE asked AS {query}")
    try:
        values = f"({', '.join(map(literal, given))})" if given else ""
        plan = connection.execute(f"EXPLAIN (FORMAT JSON, COSTS OFF) EXECUTE asked{values}").fetchone()[0]
    finally:
        connection.execute("DEALLOCATE asked")
    return {int(found[1]) for name in read(plan) if (found := PARTITION.fullmatch(name))}


def read(plan) -> Iterator[str]:
    """The tables that a plan reads. (Before PostgreSQL 18 the plan of a change lists besides where it might have written.)"""
    if isinstance(plan, list):
        for part in plan:
            yield from read(part)
    elif isinstance(plan, dict):
        if plan.get("Node Type", "").endswith("Scan") and "Relation Name" in plan:
            yield plan["Relation Name"]
        for part in plan.values():
            yield from read(part)


def live(url: str) -> None:
    """All that people do with a memory, by every preset."""
    with opened(url, owner="acme/alice", embedder=Toy()) as memory:
        memory.remember("Priya's parents live in Goa.", id="m1", session="s1", turn=1, links=[("Priya", "in", "Goa")])
        memory.remember_many([{"text": f"Note {n}", "id": f"n{n}", "at": "2026-03-01"} for n in range(70)])
        memory.remember("Alice is a nurse.", kind="identity", id="t1")
        said = [{"role": "user", "content": "We met on 8 May."}, {"role": "assistant", "content": "Nice."}]
        memory.remember_messages(said, session="chat")
        memory.remember("Moved to Pune.", id="m2", supersedes="m1")
        memory.amend("n1", text="Note one", entities=["Goa"])
        memory.forget("n2")
        memory.flush(10)
        assert memory.store.tend("acme/alice", dry_run=False)[1] == "1 made"
        for recipe in PRESETS:
            memory.recall("What did Priya say of Goa on 8 May?", recipe=recipe, limit=5)
        memory.recall("notes", as_of="2026-04-01", kinds=["semantic"], sessions=["s1"], exclude=["n3"])
        memory.explain("Goa", expect="n4")
        memory.context("Goa")
        memory.history("m1"), memory.list(limit=5), memory.entities(), memory.neighborhood("Priya")
        memory.update_settings(rrf_k=7)
        memory.settings()
    with opened(url, owner="acme/alice", recipe="sci") as memory:  # a process that must load what it is asked for
        memory.recall("Goa")


@pytest.mark.parametrize("recipe", PRESETS)
def test_a_question_takes_few_round_trips(statements, recipe):
    """One that asks the owner's shelf and one the tenant's what is new, and those that bring records not at hand."""
    with opened(server().empty(), owner="acme/alice", embedder=Toy(), recipe=recipe) as memory:
        memory.remember_many([{"text": f"Note {n} on Goa", "id": f"n{n}", "at": "2026-03-01"} for n in range(70)])
        assert memory.flush(10) == 0
        memory.recall("Goa")
        statements.clear()
        memory.recall("notes on Goa")
        asked = [query.partition("\n")[0] for query, _, waited in statements if waited]
        assert len(asked) <= 9, asked


def test_no_question_and_no_write_touches_more_than_one_partition(statements, monkeypatch):
    import psycopg

    monkeypatch.setattr(postgres_lanes, "FEW", 5)  # so that the server searches some by the index, some without
    url = server().empty() + "&hnsw=60"
    opened(url).close()
    statements.clear()  # those that make a new schema
    live(url)
    whole = {query: name for name, query in vars(sql.blocks("postgres/across.sql")).items()}
    assert {whole[query] for query, _, waited in statements if waited and query in whole} <= {"count_jobs"}, "asked by flush"
    asked = {(query, repr(given)): given for query, given, _ in statements if " recollect." in query and query not in whole}
    (made,) = [query for query, _ in asked if query.startswith("CREATE INDEX")]
    assert len(re.findall(r" recollect\.vectors_\d+ ", made)) == 1, "an index is made on one partition, and has no plan"
    asked = {known: given for known, given in asked.items() if known[0] != made}
    kinds = {query for query, _ in asked}
    assert any(query.startswith("WITH free AS") for query in kinds)
    assert len(kinds) > 30 and sql.blocks("postgres/hnsw.sql").best_among in kinds
    assert any("vector::halfvec(4) <#>" in query and "LIMIT" in query for query in kinds)
    met, wide = set(), {}
    with psycopg.connect(server().url(), autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute("SET plan_cache_mode = force_generic_plan")
        for (query, _), given in asked.items():
            parts = touched(connection, query, given)
            met |= parts
            if len(parts) > 1:
                wide[query] = parts
        assert wide == {}
        assert len(met) == len({"acme/alice", "acme"}), "two owners, two partitions"
        everywhere = touched(connection, sql.blocks("postgres/across.sql").due_jobs, ("toy:4", 0, 5))
        assert everywhere == set(range(16)), "the look at the plan sees what does touch them all"
