"""Old files open: migrations run once, in order, each file whole or not at all; and schema 1 as it was released still answers."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import NewerSchema
from recollect.stores import migrate, sql, sqlite_file

FORMATS = Path(__file__).parent / "formats"
KNOWN = sql.migrations("sqlite/migrations")
NEXT = migrate.latest(KNOWN) + 1


def shape(path: Path) -> list[tuple]:
    """Tables and indexes, as SQLite keeps them."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()
    connection.close()
    return [(kind, name, " ".join(text.split())) for kind, name, text in rows]


def test_only_what_is_missing_runs_and_is_noted():
    ran, noted = [], []
    known = [(2, "two", "B"), (3, "three", "C"), (4, "four", "D")]
    assert migrate.bring_up(2, known, ran.append, lambda number, name: noted.append((number, name)), "x.db") == 4
    assert ran == ["C", "D"] and noted == [(3, "three"), (4, "four")]
    assert migrate.bring_up(4, known, ran.append, lambda *_: noted.append(_), "x.db") == 4 and len(ran) == 2


def test_a_newer_file_is_refused_untouched():
    with pytest.raises(NewerSchema, match="version 9"):
        migrate.bring_up(9, [(2, "two", "B")], lambda script: pytest.fail("ran"), lambda *_: None, "x.db")


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "memory.db"
    with Memory.open(str(path), owner="alice", embedder="none") as memory:
        memory.remember("Goa")
    before = shape(path)
    broken = [*KNOWN, (NEXT, "broken", "CREATE TABLE extra (x); CREATE TABLE extra (x);")]
    monkeypatch.setattr(sqlite_file.sql, "migrations", lambda path: broken)
    with pytest.raises(sqlite3.OperationalError, match="extra"):
        Memory.open(str(path), owner="alice", embedder="none")
    monkeypatch.undo()
    assert shape(path) == before
    with Memory.open(str(path), owner="alice", embedder="none") as memory:
        assert [hit.text for hit in memory.recall("goa")] == ["Goa"]


def test_a_migrated_file_and_a_new_one_are_equal(tmp_path, monkeypatch):
    added = "CREATE TABLE extra (x INTEGER PRIMARY KEY);\nCREATE INDEX extra_x ON extra (x);"
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    Memory.open(str(old), owner="alice", embedder="none").close()
    schema = sql.text("sqlite/schema.sql")
    monkeypatch.setattr(sqlite_file.sql, "migrations", lambda path: [*KNOWN, (NEXT, "extra", added)])
    monkeypatch.setattr(sqlite_file.sql, "text", lambda path: schema + "\n" + added)
    for path in (old, new):
        Memory.open(str(path), owner="alice", embedder="none").close()
        with sqlite3.connect(path) as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (NEXT,)
            numbers = connection.execute("SELECT number FROM migrations ORDER BY number").fetchall()
            assert numbers == [(number,) for number in range(1, NEXT + 1)]
        connection.close()
    assert shape(old) == shape(new)


def test_schema_1_becomes_what_a_new_file_is(tmp_path):
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    old.write_bytes(gzip.decompress((FORMATS / "schema-1.db.gz").read_bytes()))
    for path in (old, new):
        Memory.open(str(path), owner="alice", embedder="none").close()
    assert shape(old) == shape(new)


@pytest.mark.parametrize("packed", sorted(FORMATS.glob("*.db.gz")), ids=lambda path: path.name)
def test_every_released_format_opens_and_answers(packed, tmp_path):
    path = tmp_path / "memory.db"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    with Memory.open(str(path), owner="acme/alice", embedder="hashing:16") as memory:
        assert [record.id for record in memory.list(order="oldest")] == ["m1", "m2", "m3"]
        answer = memory.recall("Where do Priya's parents live?", limit=1)
        assert answer[0].id == "m1" and set(answer[0].routes) == {"lexical", "vector(full)"}
        assert memory.get("t1").text == "Alice is a nurse." and memory.settings()["set"] == {"rrf_k": 7}
        assert [record.id for record in memory.history("m3")] == ["m2b", "m3"] and memory.flush() == 0
        memory.remember("and it can be written to", id="m9")
        assert memory.recall("written").hits[0].id == "m9"
        said = memory.amend("m1", links=[("Priya's parents", "lives_in", "Goa")])
        assert said.links[0].object == "Goa" and memory.get("m1") == said
