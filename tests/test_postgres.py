"""PostgreSQL: URLs and what is said when one is wrong; rights, versions, bounds; and that no question leaves its partition.

What every store promises is in test_conformance, random operations are in test_congruence, crashes in test_postgres_faults.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from doubles import Toy, names
from postgres_server import server

from recollect import Memory
from recollect.cli import main
from recollect.errors import InvalidSetting, InvalidVector, NewerSchema, StoreBusy, StoreReadOnly, StoreUnavailable
from recollect.moving import copy
from recollect.recipes import PRESETS
from recollect.settings import Settings
from recollect.stores import migrate, open_store, postgres_server, sql
from recollect.testing import FixedClock

PARTITION = re.compile(r"(?:owners|records|mentions|changes|lanes|vectors|outbox)_(\d+)")


def opened(url: str, owner: str = "alice", **given) -> Memory:
    return Memory.open(url, owner=owner, **{"embedder": "none", "settings": Settings(), "clock": FixedClock(), **given})


def refused(url: str, kind: type = StoreUnavailable) -> str:
    """What is said to somebody who opens this and writes."""
    with pytest.raises(kind) as caught, opened(url) as memory:
        memory.remember("Goa")
    return str(caught.value)


# URLs


@pytest.mark.parametrize(("url", "said"), [
    ("postgresql://localhost:1/x", "Is the server running"), ("postgres://localhost:1/x", "Is the server running"),
    ("PostgreSQL://localhost:1/x", "Is the server running"), ("postgresql://nowhere.invalid/x", "Check host and port"),
    ("postgresql:///x?host=/nowhere", "Is the server running"), ("postgresql://?host=/nowhere", "Is the server running"),
    ("postgresql:memory", "Write postgresql://"), ("postgresql://[::1/x", "Write postgresql://"),
    ("postgresql://u:se/cr@et@localhost/x", "Write postgresql://"), ("postgresql://u:secr@et@localhost/x", "@ is %40"),
    ("postgresql://localhost/x?colour=red", "Write postgresql://"), ("postgresql+psycopg://localhost/x", "postgresql://"),
])  # fmt: skip
def test_a_wrong_url_names_the_cure_and_no_password(url, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = refused(url)
    assert said in answer and "secr" not in answer and "cr@et" not in answer
    assert not list(tmp_path.iterdir()), "and makes no file of that name"


def test_a_database_and_a_user_that_are_not_there():
    assert "createdb" in refused(server().url("nowhere"))
    assert "createuser" in refused(server().url().replace("postgres@", "nobody@"))


@pytest.mark.parametrize("option", ["pool=0", "pool=many", "wait=-1", "wait=x", "prepare=maybe"])
def test_options_of_ours_are_checked(option):
    with pytest.raises(InvalidSetting, match=option.split("=")[0]):
        opened(f"{server().url()}&{option}")


def test_options_of_ours_and_several_hosts():
    server().empty()
    url = f"postgresql:///postgres?user=postgres&host=/nowhere,{server().folder}&port=1,5432&target_session_attrs=read-write"
    with opened(url + "&prepare=off&pool=2&wait=5") as memory:
        memory.remember("Goa", id="goa")
        assert names(memory.recall("Goa")) == ["goa"]


def test_nothing_printed_holds_a_password(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "hashing")
    server().empty()
    url = server().url().replace("postgres@", "postgres:hush@")
    file, whom = str(tmp_path / "m.db"), ["--owner", "alice", "--db", url]
    for words in (
        ["remember", "Goa", *whom], ["doctor", *whom], ["status", *whom], ["settings", *whom], ["restore", "x.db", *whom],
        ["backup", file, *whom], ["copy", url, file], ["copy", url, file, "--json"], ["copy", url, url],
        ["copy", url, file, "--owner", "bob"], ["copy", file, url], ["recall", "Goa", *whom[:3], f"{url}&x=1"],
    ):  # fmt: skip
        main(words)
    out = capsys.readouterr()
    assert "hush" not in out.out + out.err and "Goa" not in out.err
    assert "postgres:…@" in out.out and "pg_dump" in out.err and ".part" not in out.err


# Rights, versions, bounds


def as_user(name: str, url: str) -> str:
    return url.replace("postgres@", f"{name}@")


@pytest.fixture
def plain():
    """A user without any rights."""
    server().run("DROP ROLE IF EXISTS plain", "CREATE ROLE plain LOGIN")
    yield "plain"
    for database in ("rights",):
        server().new(database)
    server().run("DROP OWNED BY plain", "DROP ROLE plain")


def grants(said: str) -> list[str]:
    return re.findall(r"(?:GRANT|CREATE EXTENSION) [^;]*;", said)


def test_what_the_errors_say_to_grant_is_enough(plain):
    """An administrator who types what each message says, and nothing more, ends with a user who can do everything."""
    url = server().new("rights")
    said = refused(as_user(plain, url))
    assert "CREATE EXTENSION vector;" in said
    server().run(*grants(said), database="rights")
    said = refused(as_user(plain, url), StoreReadOnly)
    assert grants(said) == ["GRANT CREATE ON DATABASE rights TO plain;"]
    server().run(*grants(said), database="rights")
    with opened(as_user(plain, url)) as memory:
        memory.remember("Goa", id="goa")


def test_a_memory_somebody_else_made(plain):
    url = server().new("rights")
    with opened(url) as memory:
        memory.remember("Goa", id="goa")
    said = refused(as_user(plain, url), StoreReadOnly)
    server().run(*grants(said), database="rights")
    with opened(as_user(plain, url), embedder=Toy()) as memory:
        memory.remember("Pune", id="pune", links=[("Pune", "is in", "India")])
        memory.update_settings(rrf_k=7)
        assert memory.flush(10) == 0 and names(memory.recall("Pune"))[0] == "pune"
        memory.forget("goa")


def test_who_may_only_read_reads(plain):
    url = server().new("rights")
    with opened(url) as memory:
        memory.remember("Goa", id="goa")
    server().run(
        "GRANT USAGE ON SCHEMA recollect TO plain", "GRANT SELECT ON ALL TABLES IN SCHEMA recollect TO plain", database="rights"
    )
    with opened(as_user(plain, url)) as memory:
        assert names(memory.recall("Goa")) == ["goa"]
        with pytest.raises(StoreReadOnly, match="GRANT ALL ON ALL TABLES"):
            memory.remember("Pune")
    server().run("ALTER DATABASE rights SET default_transaction_read_only = on")
    with opened(url) as memory, pytest.raises(StoreReadOnly, match="standby"):
        memory.remember("Pune")


def test_an_old_server_and_a_server_without_pgvector(monkeypatch):
    url = server().new("rights")
    monkeypatch.setattr(postgres_server, "OLDEST", 990_000)
    assert "needs PostgreSQL 99 or newer" in refused(url)
    monkeypatch.undo()
    monkeypatch.setattr(postgres_server, "EXTENSION", "vektor")
    assert "pgvector is not installed on the server" in refused(url)


def test_a_database_of_another_encoding():
    server().run("DROP DATABASE IF EXISTS latin", "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    assert "createdb --encoding=UTF8" in refused(server().url("latin"))


def test_a_newer_schema_is_refused_untouched():
    url = server().new("newer")
    opened(url).close()
    server().run("INSERT INTO recollect.migrations VALUES (99, 'the future')", database="newer")
    assert "version 99" in refused(url, NewerSchema)
    server().run("DELETE FROM recollect.migrations WHERE number = 99", database="newer")
    with opened(url) as memory:
        assert memory.list() == []


@pytest.mark.parametrize("size", [16_001, 70_000])
def test_more_numbers_than_a_vector_holds(size):
    with opened(server().empty()) as memory:
        memory.remember("Goa", id="goa", vectors={"full": np.eye(1, 16_000)[0]})
        with pytest.raises(InvalidVector, match="16,000"):
            memory.remember("Pune", vectors={"full": np.eye(1, size)[0]})
        assert names(memory.list()) == ["goa"]


def test_an_embedder_with_more_numbers_than_a_vector_holds():
    with opened(server().empty(), embedder=Toy(size=16_001)) as memory:
        memory.remember("Goa", id="goa")
        memory.flush(2)
        assert "16,000" in memory.status()["embedder_error"]
        assert names(memory.recall("Goa")) == ["goa"], "it is found by its words"


def test_an_exhausted_pool():
    with closing(open_store(server().empty() + "&pool=1&wait=0.3")) as store:
        with store.server.apart():
            caught: list[Exception] = []

            def ask() -> None:
                try:
                    store.settings("alice")
                except Exception as error:
                    caught.append(error)

            thread = threading.Thread(target=ask)
            thread.start()
            thread.join(20)
        assert [type(error) for error in caught] == [StoreBusy] and "?pool=20" in str(caught[0])
        assert store.settings("alice") == {}, "and when one is free, it goes on"


def test_a_writer_waits_for_another_and_then_gives_up_with_a_reason():
    import psycopg

    url = server().empty()
    with opened(url + "&wait=0.3") as memory:
        memory.remember("before", id="m1")
        with psycopg.connect(url) as other:
            other.execute("SELECT 1 FROM recollect.owners FOR UPDATE")
            with pytest.raises(StoreBusy, match="nothing was written"):
                memory.remember("during")
            assert names(memory.recall("before")) == ["m1"], "reading goes on"
        memory.remember("after", id="m2")
        assert sorted(names(memory.list())) == ["m1", "m2"]


# The schema


def shape(database: str) -> list[tuple]:
    """Columns and indexes of a schema."""
    columns = """SELECT table_name, column_name, data_type, is_nullable, column_default, generation_expression
                 FROM information_schema.columns WHERE table_schema = 'recollect' ORDER BY 1, 2"""
    indexes = "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'recollect' ORDER BY 1, 2"
    return server().run(columns, database=database) + server().run(indexes, database=database)


def test_a_migrated_schema_and_a_new_one_are_equal(monkeypatch):
    added = "CREATE TABLE recollect.extra (x integer PRIMARY KEY);\nCREATE INDEX extra_x ON recollect.extra (x);"
    old = server().new("older")
    opened(old).close()
    before, real = shape("older"), sql.text("postgres/schema.sql")
    known = sql.migrations("postgres/migrations")
    number = migrate.latest(known) + 1
    broken = [*known, (number, "broken", added + "\nCREATE TABLE recollect.extra (x integer);")]
    monkeypatch.setattr(postgres_server.sql, "migrations", lambda path: broken)
    assert "extra" in refused(old)
    assert shape("older") == before, "a migration that fails leaves nothing behind"
    monkeypatch.setattr(postgres_server.sql, "migrations", lambda path: [*known, (number, "extra", added)])
    opened(old).close()
    monkeypatch.setattr(postgres_server.sql, "text", lambda path: real + "\n" + added)
    opened(server().new("fresh")).close()
    assert shape("older") == shape("fresh") != before


# Copies


def test_a_copy_from_a_server_into_a_file_and_back(tmp_path):
    with opened(server().empty(), embedder=Toy()) as memory:
        memory.remember_many([{"text": f"Note {n} of 東京", "id": f"m{n}", "tags": ["a-b"]} for n in range(700)])
        memory.remember("Newer", id="new", supersedes="m0", links=[("Priya", "lives in", "Goa")])
        memory.update_settings(rrf_k=7)
        assert memory.flush(20) == 0
        asked = [(hit.id, hit.score) for hit in memory.recall("東京 notes", limit=50)]
    file = str(tmp_path / "m.db")
    with closing(open_store(server().url())) as source, closing(open_store(file)) as target:
        assert copy(source, target, "alice").verified
    with opened(file, embedder=Toy()) as memory:
        assert [(hit.id, hit.score) for hit in memory.recall("東京 notes", limit=50)] == asked
    server().empty()
    with closing(open_store(file)) as source, closing(open_store(server().url())) as target:
        found = copy(source, target, "alice")
        assert found.verified and found.added == 701 and copy(source, target, "alice").added == 0


# PostgreSQL's own ranking


def test_recipes_can_rank_as_two_of_the_published_systems_do():
    """`ts_rank_cd` with AND, as `sci`'s document has it, and with OR, as `annie`'s."""
    texts = {"n0": "Priya lives in Goa by the sea", "n1": "Goa Goa Goa", "n2": "Priya's vacation in Goa", "n3": "東京の天気"}

    def found(memory: Memory, question: str, match: str) -> list[tuple[str, float]]:
        answer = memory.recall(question, recipe=f"recipe(routes=[lexical(match={match}, rank=native)])")
        return [(hit.id, hit.routes["lexical"].raw) for hit in answer]

    with opened(server().empty()) as memory, opened("memory:") as other:
        for id, text in texts.items():
            memory.remember(text, id=id, at="2026-03-01")
            other.remember(text, id=id, at="2026-03-01")
        asked = "SELECT ts_rank_cd(words, 'priya & vacat & goa'::tsquery) FROM recollect.records WHERE id = 'n2'"
        ((rank,),) = server().run(asked)
        assert rank > 0 and found(memory, "Priya vacations Goa", "all") == [("n2", pytest.approx(rank, abs=1e-6))]
        assert [id for id, _ in found(memory, "Priya vacations Goa", "any")] == ["n1", "n2", "n0"]
        assert [id for id, _ in found(memory, "京 \"' & | ! :* 天気", "any")] == ["n3"], "text is never syntax"
        assert [id for id, _ in found(memory, "Priya skis", "relax")] == ["n0", "n2"]
        said = other.recall("Goa", recipe="recipe(routes=[lexical(rank=native)])").diagnostics.notes
        assert "BM25 ranked" in said[0], "another store says that it can't"


# One partition


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


def test_no_question_and_no_write_touches_more_than_one_partition(statements):
    import psycopg

    url = server().empty()
    opened(url).close()
    statements.clear()  # those that make a new schema
    live(url)
    whole = {query: name for name, query in vars(sql.blocks("postgres/across.sql")).items()}
    assert {whole[query] for query, _, waited in statements if waited and query in whole} <= {"count_jobs"}, "asked by flush"
    asked = {(query, repr(given)): given for query, given, _ in statements if " recollect." in query and query not in whole}
    assert len({query for query, _ in asked}) > 30
    met, wide = set(), {}
    with psycopg.connect(url, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
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
