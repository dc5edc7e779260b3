"""PostgreSQL: URLs and what is said when one is wrong; rights, versions, bounds.

What every store promises is in test_conformance, random operations are in test_congruence, crashes in test_postgres_faults. That
no question leaves its partition is in test_postgres_partitions, what the server searches itself in test_postgres_hnsw.
"""

from __future__ import annotations

import re
import threading
from contextlib import closing

import numpy as np
import pytest
from doubles import Toy, names
from postgres_server import server

from recollect import Memory
from recollect.cli import main
from recollect.errors import InvalidSetting, InvalidVector, NewerSchema, StoreBusy, StoreReadOnly, StoreUnavailable
from recollect.moving import copy
from recollect.settings import Settings
from recollect.stores import migrate, open_store, postgres_server, sql
from recollect.testing import FixedClock


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


@pytest.mark.parametrize("option", ["pool=0", "pool=many", "wait=-1", "wait=x", "prepare=maybe", "hnsw=-1", "hnsw=all"])
def test_options_of_ours_are_checked(option):
    with pytest.raises(InvalidSetting, match=option.split("=")[0]):
        opened(f"{server().url()}&{option}")


def test_options_of_ours_and_several_hosts():
    server().empty()
    url = f"postgresql:///postgres?user=postgres&host=/nowhere,{server().folder}&port=1,5432&target_session_attrs=read-write"
    with opened(url + "&prepare=off&pool=2&wait=5&hnsw=0") as memory:
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
