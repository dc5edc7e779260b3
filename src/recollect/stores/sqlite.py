"""The embedded default: one sqlite file that several processes may write and read at once.

The rows are the truth. What searches need is held in memory per owner (`shelves.py`), loaded when an owner is first asked
and kept up with the file by its change log, so a reader sees what any process has committed.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from ..ports import Add, Change, Holding, Receipt
from ..records import check_owner
from ..tokens import tokens_version
from . import sql
from .rows import indexed, record_of
from .searches import ShelfLexical, ShelfVector
from .shelf_feed import ShelfFeed
from .shelf_times import ShelfTemporal
from .shelves import Shelves
from .sqlite_carry import Carrying
from .sqlite_file import BUSY_SECONDS, SqliteFile
from .sqlite_notes import SqliteNotes
from .sqlite_outbox import SqliteOutbox
from .sqlite_rows import SqlitePuts, SqliteReads, span
from .writing import Writing


class SqliteStore:
    """See the module. `path` is a file or `:memory:`."""

    def __init__(self, path: str, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.q = sql.blocks("sqlite/queries.sql")
        self.file = SqliteFile(path, busy_seconds=busy_seconds)
        self._reads = SqliteReads(self.file, self.q)
        self._shelves = shelves = Shelves(self._reads)
        self.resolve, self.select = shelves.resolve, shelves.select
        self.facts, self.records = shelves.facts, shelves.records
        self.turns, self.roles = shelves.turns, shelves.roles
        self.lexical = ShelfLexical(shelves)
        self.vector = ShelfVector(shelves, self._drop)
        self.temporal = ShelfTemporal(shelves)
        self.graph = shelves.graph
        self.outbox = SqliteOutbox(self)
        self.notes = SqliteNotes(self)
        self.feed = ShelfFeed(shelves.reads, self._id, shelves.shelf)
        self._keep_terms_current()

    def write(self, owner: str, changes: Iterable[Change]) -> Receipt:
        """All changes or none. Durable when it returns."""
        check_owner(owner)
        changes = list(changes)
        indexes = {id(change): indexed(change.record) for change in changes if isinstance(change, Add)}
        size = sum(len(change.record.text) + 800 for change in changes if isinstance(change, Add))
        with self.file.writing(size) as connection:
            return self._writing(connection).apply(owner, changes, indexes)

    def steady(self, owner: str) -> AbstractContextManager:
        """Inside, this thread asks the file only once whether anything is new: for the steps of one answer."""
        return self._reads.steady

    def told(self, owner: str, digests: Sequence[bytes], now: int) -> dict[bytes, int]:
        """Keys of the records that were told so and may still be repeated."""
        with self.file.reading() as connection:
            number = (connection.execute(self.q.owner, (owner,)).fetchone() or (None,))[0]
            found = [(digest, connection.execute(self.q.told, (number, digest, now)).fetchone()) for digest in digests]
        return {digest: row[0] for digest, row in found if row}

    def holdings(self, owner: str, ids: Sequence[str] | None = None) -> Iterator[Holding]:
        """The owner's own records with their vectors and what waits for one, in the order they were added."""
        with self.file.apart() as connection:
            yield from Carrying(connection, self.q).holdings(owner, ids)

    def owners(self) -> list[str]:
        """Everybody who has a record or a setting here, in order."""
        with self.file.reading() as connection:
            return [path for (path,) in connection.execute(self.q.owners)]

    def settings(self, owner: str, change: Mapping[str, object | None] | None = None) -> dict[str, object]:
        """The owner's settings, after the change if one is given (None removes a key)."""
        check_owner(owner)
        if change:
            with self.file.writing() as connection:
                no = self._writing(connection).mark(owner).no
                for name, value in change.items():
                    drop = value is None
                    connection.execute(
                        self.q.remove_setting if drop else self.q.put_setting,
                        (no, name) if drop else (no, name, json.dumps(value)),
                    )
        with self.file.reading() as connection:
            row = connection.execute(self.q.owner, (owner,)).fetchone()
            return {name: json.loads(value) for name, value in connection.execute(self.q.settings, row[:1])} if row else {}

    def status(self, owner: str) -> dict[str, object]:
        """Counts and facts for people."""
        with self.file.snapshot() as connection:
            row = connection.execute(self.q.owner, (owner,)).fetchone()
            low, high = span(row[0]) if row else (0, 0)
            kinds = dict(connection.execute(self.q.count_by_kind, (low, high)).fetchall())
            lanes = connection.execute(self.q.lanes_of, row[:1]).fetchall() if row else []
            counted = [(*lane, connection.execute(self.q.count_vectors, span(no)).fetchone()[0]) for no, *lane, _ in lanes]
            vectors = [{"space": space, "view": view, "count": count} for space, view, count in counted if count]
            return {
                "records": sum(kinds.values()), "by_kind": kinds,
                "derived": connection.execute(self.q.count_derived, (low, high)).fetchone()[0], "vectors": vectors,
                "waiting": connection.execute(self.q.count_jobs, (low, high, None)).fetchone()[0],
                "schema": connection.execute("PRAGMA user_version").fetchone()[0], "bytes": self.file.size(),
            }  # fmt: skip

    def backup(self, target: str) -> None:
        """A consistent copy, while others go on writing."""
        self.file.backup(target)

    def check(self) -> list[str]:
        """What sqlite itself finds wrong with the file; empty when all is well."""
        with self.file.reading() as connection:
            return [row[0] for row in connection.execute("PRAGMA integrity_check").fetchall() if row[0] != "ok"]

    def orphans(self, *, remove: bool) -> dict[str, int]:
        """How many rows there are that belong to no record, by what they are. Another program, or a damaged file, left them."""
        looks = {"vectors": (self.q.lost_vectors, self.q.remove_vector), "jobs": (self.q.lost_jobs, self.q.remove_job),
                 "mentions": (self.q.lost_mentions, self.q.remove_mentions)}  # fmt: skip
        with self.file.reading() as connection:
            found = {name: len(connection.execute(look).fetchall()) for name, (look, _) in looks.items()}
        if remove and any(found.values()):
            with self.file.writing() as connection:
                for look, drop in looks.values():
                    connection.executemany(drop, connection.execute(look).fetchall())
        return found

    def close(self) -> None:
        """Release everything. Closing twice is fine."""
        self.file.close()
        self._shelves.clear()

    def _keep_terms_current(self) -> None:
        """Make all terms anew when they were made by another tokenisation, or another version of its stemmers."""
        with self.file.reading() as connection:
            made_by = connection.execute(self.q.fact, ("tokens",)).fetchone()
        version = tokens_version()
        if made_by == (version,):
            return
        with self.file.writing() as connection:
            key = -1
            while made_by and (rows := connection.execute(self.q.some_texts, (key,)).fetchall()):
                key = rows[-1][0]
                connection.executemany(self.q.put_terms, [(*indexed(record_of(row, "")), row[0]) for row in rows])
            connection.execute(self.q.disturb_owners)
            connection.execute(self.q.put_fact, ("tokens", version))

    def _id(self) -> str:
        """What tells this file from others, given when it is first asked for."""
        with self.file.reading() as connection:
            held = connection.execute(self.q.fact, ("feed",)).fetchone()
        if held is None:
            with self.file.writing() as connection:
                held = connection.execute(self.q.fact, ("feed",)).fetchone() or (secrets.token_hex(4),)
                connection.execute(self.q.put_fact, ("feed", *held))
        return held[0]

    def _drop(self, owner: str, space: str) -> int:
        """A transaction for each so many: others may write in between."""
        gone = 0
        while some := self._drop_some(owner, space):
            gone += some
        with self.file.writing() as connection:
            row = connection.execute(self.q.owner, (owner,)).fetchone()
            if row is not None:
                connection.execute(self.q.remove_jobs_of_space, (*span(row[0]), space))
        return gone

    def _drop_some(self, owner: str, space: str) -> int:
        with self.file.writing() as connection:
            if connection.execute(self.q.owner, (owner,)).fetchone() is None:
                return 0
            return self._writing(connection).drop_vectors(owner, space)

    def _writing(self, connection: sqlite3.Connection) -> Writing:
        return Writing(SqlitePuts(connection, self.q), indexed)
