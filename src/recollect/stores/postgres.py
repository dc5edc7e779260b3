"""PostgreSQL as a complete system of record: the same answers as every other store, from a server that many machines share.

The rows are the truth, and every table that holds an owner's things is partitioned by owner. What searches need is held in
memory per owner (`shelves.py`), loaded when an owner is first asked and kept up by the change log: an answer costs one round
trip, which asks whether anything is new. A reader sees what anybody has committed before it asked. The vectors of a very large
owner stay on the server and are searched there (`postgres_lanes`).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from ..errors import StoreUnavailable
from ..ports import Add, Change, Holding, Receipt
from ..records import check_owner
from ..tokens import tokens_version
from . import migrate, sql
from .postgres_appends import Appends, NotSure, Standing, Standings, appends
from .postgres_carry import Carrying
from .postgres_hnsw import Tending
from .postgres_lanes import PostgresLanes
from .postgres_notes import PostgresNotes
from .postgres_outbox import PostgresOutbox
from .postgres_puts import COPIED, PostgresPuts
from .postgres_rows import PostgresReads
from .postgres_search import PostgresLexical
from .postgres_server import Server
from .postgres_words import Index, indexed
from .rows import record_of
from .searches import ShelfVector
from .shelf_feed import ShelfFeed
from .shelf_times import ShelfTemporal
from .shelves import Shelves
from .writing import Writing

WIDE = 4  # an answer takes the way to the server and back: beside that, looking at more nominees costs little


class PostgresStore:
    """See the module. `url`: postgresql://user:password@host:5432/database, and options of our own (`postgres_server`)."""

    def __init__(self, url: str, *, busy_seconds: float | None = None) -> None:
        self.q, self.across = sql.blocks("postgres/queries.sql"), sql.blocks("postgres/across.sql")
        self.server = Server(url, wait=busy_seconds)
        self._reads = PostgresReads(self.server, self.q)
        hnsw = sql.blocks("postgres/hnsw.sql")
        self._shelves = shelves = Shelves(self._reads, PostgresLanes(self.server, hnsw, self._reads).open, WIDE)
        self.resolve, self.select = shelves.resolve, shelves.select
        self.facts, self.records = shelves.facts, shelves.records
        self.turns, self.roles = shelves.turns, shelves.roles
        self.lexical = PostgresLexical(shelves, self.server, self.q)
        self.vector = ShelfVector(shelves, self._drop)
        self.temporal = ShelfTemporal(shelves)
        self.graph = shelves.graph
        self.outbox = PostgresOutbox(self)
        self.notes = PostgresNotes(self)
        self.feed = ShelfFeed(self._reads, self._id, shelves.shelf)
        self.tend = Tending(self.server, self.q, hnsw).tend
        self._standings = Standings()
        self._keep_terms_current()

    def write(self, owner: str, changes: Iterable[Change]) -> Receipt:
        """All changes or none. Durable when it returns."""
        check_owner(owner)
        changes = list(changes)
        adds = [change for change in changes if isinstance(change, Add)]
        # Of many, a record's words are split while the server takes in those before it, which takes longer.
        indexes = {id(add): indexed(add.record) if len(adds) < COPIED else None for add in adds}
        standing = self._standings.of(owner) if self.server.composes and appends(owner, changes) else None
        receipt = self._append(owner, changes, indexes, standing) if standing else None
        if receipt is None:
            with self.server.writing() as connection:
                writing = self.in_transaction(connection)
                receipt = writing.apply(owner, changes, indexes)
                writing.puts.flush(commit=True)
            self.committed(writing)
        return receipt

    def steady(self, owner: str) -> AbstractContextManager:
        """Inside, this thread asks the server only once what is new of an owner: for the steps of one answer."""
        return self._reads.steady(owner)

    def told(self, owner: str, digests: Sequence[bytes], now: int) -> dict[bytes, int]:
        """Keys of the records that were told so and may still be repeated."""
        return dict(self.server.all(self.q.told, (owner, list(digests), now))) if digests else {}

    def holdings(self, owner: str, ids: Sequence[str] | None = None) -> Iterator[Holding]:
        """The owner's own records with their vectors and what waits for one, in the order they were added."""
        with self.server.apart() as connection:
            yield from Carrying(connection, self.q).holdings(owner, ids)

    def owners(self) -> list[str]:
        """Everybody who has a record or a setting here, in order."""
        paths = [path for (path,) in self.server.all(self.q.every_owner)]
        return [path for path in paths if self.server.one(self.q.holds_anything, (path,))[0]]

    def settings(self, owner: str, change: Mapping[str, object | None] | None = None) -> dict[str, object]:
        """The owner's settings, after the change if one is given (None removes a key)."""
        check_owner(owner)
        if change:
            with self.server.writing() as connection:
                writing = self.in_transaction(connection)
                writing.mark(owner)
                held = connection.execute(self.q.settings_for_write, (owner,)).fetchone()[0]
                after = {**json.loads(held or "{}"), **change}
                kept = {name: value for name, value in after.items() if value is not None}
                connection.execute(self.q.put_settings, (owner, json.dumps(kept)))
            self.committed(writing)
        with self._reads.reading():
            held = json.loads(self._reads.told(owner)[1] or "{}")
        return dict(sorted(held.items()))

    def status(self, owner: str) -> dict[str, object]:
        """Counts and facts for people."""
        with self._reads.reading(), self.server.snapshot():
            kinds = dict(self.server.all(self.q.count_by_kind, (owner,)))
            lanes = [(*lane, self._count(owner, number)) for number, *lane, _ in self.server.all(self.q.lanes_of, (owner,))]
            return {
                "records": sum(kinds.values()), "by_kind": kinds,
                "derived": self.server.one(self.q.count_derived, (owner,))[0],
                "vectors": [{"space": space, "view": view, "count": count} for space, view, count in sorted(lanes) if count],
                "waiting": self.server.one(self.q.count_jobs, (owner, None))[0],
                "schema": migrate.latest(sql.migrations("postgres/migrations")),
                "bytes": self.server.one(self.across.size)[0],
            }  # fmt: skip

    def backup(self, target: str) -> None:
        """Not ours to do: the server has a better way."""
        raise StoreUnavailable(
            "A memory in PostgreSQL is backed up by PostgreSQL.",
            hint="Use pg_dump --format=custom --file=FILE DATABASE, or make a file of it: recollect copy SOURCE memory.db",
        )

    def check(self) -> list[str]:
        """What does not fit together; empty when all is well."""
        lost = [f"{count} {what} belong to no record" for what, count in self.orphans(remove=False).items() if count]
        (slots,) = self.server.one(self.across.lost_slots)
        broken = [f"the index {name} is not valid" for (name,) in self.server.all(self.across.broken_indexes)]
        return lost + ([f"{slots} records belong to no owner"] if slots else []) + broken

    def orphans(self, *, remove: bool) -> dict[str, int]:
        """How many rows there are that belong to no record, by what they are. Another program, or a restored part, left them."""
        q, across = self.q, self.across
        looks = {"vectors": (across.lost_vectors, q.remove_lost_vectors), "jobs": (across.lost_jobs, q.remove_lost_jobs),
                 "mentions": (across.lost_mentions, q.remove_lost_mentions)}  # fmt: skip
        found = {name: self.server.all(look) for name, (look, _) in looks.items()}
        for name, rows in found.items() if remove else ():
            for owner, _ in rows:
                self.server.run(looks[name][1], (owner,))
        return {name: sum(count for _, count in rows) for name, rows in found.items()}

    def _id(self) -> str:
        """What tells this memory from others, given when it is first asked for."""
        self.server.run(self.q.add_fact, ("feed", secrets.token_hex(4)))
        return self.server.one(self.q.fact, ("feed",))[0]

    def close(self) -> None:
        """Release everything. Closing twice is fine."""
        self.server.close()
        self._shelves.clear()

    # What belongs to this store: its outbox and its searches.

    def in_transaction(self, connection) -> Writing:
        """What a write transaction does, on its connection. Its `puts` are to be flushed."""
        return Writing(PostgresPuts(connection, self.q), indexed)

    def committed(self, writing: Writing) -> None:
        """What shelves hold from before is old."""
        self._standings.asked(writing.puts, writing.marks)
        self._reads.wrote(writing.marks.values())

    def _append(
        self, owner: str, changes: Sequence[Change], indexes: Mapping[int, Index], standing: Standing
    ) -> Receipt | None:
        """In one round trip, if the owner's row is what we think it is; None when nothing was written, or nobody knows."""
        puts = Appends(owner, standing)
        writing = Writing(puts, indexed)
        try:
            receipt = writing.apply(owner, changes, indexes)
        except NotSure:
            return None
        if not puts.written(self.server):
            self._standings.missed(owner)
            return None
        self._standings.appended(owner, writing.marks[owner], standing.lanes)
        self._reads.wrote(writing.marks.values())
        return receipt

    def path_of(self, key: int) -> str:
        """Whose record it is."""
        with self._reads.reading():
            return self._reads.path_of(key >> 32)

    def number_of(self, path: str) -> int:
        """An owner's number; he has one."""
        with self._reads.reading():
            return self._reads.owner(path)[0]

    def _count(self, owner: str, lane: int) -> int:
        return self.server.one(self.q.count_vectors, (owner, lane))[0]

    def _drop(self, owner: str, space: str) -> int:
        """A transaction for each so many: others may write in between."""
        gone = 0
        while some := self._drop_some(owner, space):
            gone += some
        self.server.run(self.q.remove_jobs_of_space, (owner, space))
        return gone

    def _drop_some(self, owner: str, space: str) -> int:
        if self.server.one(self.q.pulse, (owner,)) is None:
            return 0
        with self.server.writing() as connection:
            writing = self.in_transaction(connection)
            gone = writing.drop_vectors(owner, space)
            writing.puts.flush(commit=True)
        self.committed(writing)
        return gone

    def _keep_terms_current(self) -> None:
        """Make all terms anew when they were made by another tokenisation, or another version of its stemmers."""
        made_by, version = self.server.one(self.q.fact, ("tokens",)), tokens_version()
        if made_by == (version,):
            return
        for (owner,) in self.server.all(self.q.every_owner) if made_by else ():
            with self.server.writing() as connection:
                connection.execute(self.q.owner_for_write, (owner,))
                slot = -1
                while rows := connection.execute(self.q.some_texts, (owner, slot), binary=True).fetchall():
                    slot = rows[-1][0]
                    made = [(owner, row[0], *indexed(record_of(row, owner))) for row in rows]
                    connection.cursor().executemany(self.q.put_terms, made)
                connection.execute(self.q.disturb_owner, (owner,))
        self.server.run(self.q.put_fact, ("tokens", version))
