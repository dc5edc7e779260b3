"""The rows of the sqlite store, as shelves read them and as a write transaction changes them.

Keys are numbers: an owner's or a lane's in the high 32 bits, the slot in the low ones. What belongs together is one range.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from types import SimpleNamespace

from ..records import Record
from .rows import mentions_of, record_of, values_of
from .sqlite_file import SqliteFile
from .writing import Row

LOW = 0xFFFFFFFF


class Steady(threading.local):
    """`with steady:` this thread asks the file only once whether anybody has committed."""

    deep = 0
    pulse: tuple[int, int] | None = None

    def __enter__(self) -> None:
        self.deep += 1

    def __exit__(self, *error: object) -> None:
        self.deep -= 1
        self.pulse = None


class SqliteReads:
    """What shelves ask; see `shelves.Reads`."""

    def __init__(self, file: SqliteFile, queries: SimpleNamespace) -> None:
        self.file, self.q = file, queries
        self._paths: dict[int, str] = {}
        self.reading, self.snapshot, self.steady = file.reading, file.snapshot, Steady()

    def pulse(self, path: str) -> tuple[int, int]:
        steady = self.steady
        if not steady.deep:
            return self.file.pulse()
        if steady.pulse is None or not self.fresh(steady.pulse):
            steady.pulse = self.file.pulse()
        return steady.pulse

    def fresh(self, pulse: tuple[int, int]) -> bool:
        return pulse[1] == self.file.writes

    def owner(self, path: str) -> tuple[int, int, int] | None:
        row = self._one(self.q.owner, (path,))
        if row is not None:
            self._paths[row[0]] = path
        return row

    def path_of(self, number: int) -> str:
        path = self._paths.get(number)
        if path is None:
            row = self._one(self.q.path_of, (number,))
            path = self._paths[number] = row[0] if row else ""
        return path

    def columns(self, owner: int, start: int, end: int) -> list[tuple]:
        return self._all(self.q.columns, (owner << 32 | start, (owner << 32) + end))

    def some_columns(self, owner: int, slots: Sequence[int]) -> list[tuple]:
        return [row for slot in slots for row in self.columns(owner, slot, slot + 1)]

    def changes_since(self, owner: int, change: int) -> list[tuple]:
        return self._all(self.q.changes_since, (owner, change))

    def lane(self, owner: int, space: str, view: str) -> tuple[int, int] | None:
        return self._one(self.q.lane, (owner, space, view))

    def lanes_of(self, owner: int) -> list[tuple]:
        return self._all(self.q.lanes_of, (owner,))

    def lane_blocks(self, owner: int, lane: int, size: int, at_once: int) -> Iterator[tuple[list[int], bytes]]:
        with self.file.reading() as connection:
            rows = connection.execute(self.q.lane_vectors, (lane << 32, (lane << 32) + size))
            while some := rows.fetchmany(at_once):
                yield [key & LOW for key, _ in some], b"".join([blob for _, blob in some])

    def vectors(self, owner: int, lane: int, slots: Sequence[int]) -> list[tuple[int, bytes]]:
        rows = self._all(self.q.vectors_by_keys, (keys_json(lane << 32 | slot for slot in slots),))
        return [(key & LOW, blob) for key, blob in rows]

    def slots(self, owner: int, ids: Sequence[str]) -> list[tuple[str, int]]:
        return [(id, key & LOW) for id, key in self._all(self.q.keys_by_ids, (owner, json.dumps(list(ids))))]

    def records(self, keys: Sequence[int]) -> list[tuple]:
        return self._all(self.q.records_by_keys, (keys_json(keys),))

    def texts(self, owner: int, start: int, end: int) -> Iterator[tuple[int, str]]:
        with self.file.reading() as connection:
            for key, text in connection.execute(self.q.texts, ((owner << 32) + start, (owner << 32) + end)):
                yield key & LOW, text

    def dates(self, owner: int, start: int, end: int, also: Sequence[int]) -> list[tuple[int, str]]:
        rows = self._all(self.q.dates, ((owner << 32) + start, (owner << 32) + end))
        if also:
            rows += self._all(self.q.dates_by_keys, (keys_json(owner << 32 | slot for slot in also),))
        return [(key & LOW, dates) for key, dates in rows]

    def web(self, owner: int, start: int, end: int) -> list[tuple]:
        rows = self._all(self.q.web, ((owner << 32) + start, (owner << 32) + end))
        return [(key & LOW, *said) for key, *said in rows]

    def waiting(self, owner: int, space: str, view: str) -> int:
        return self._one(self.q.count_jobs_of_view, (*span(owner), space, view))[0]

    def _one(self, query: str, given: tuple) -> tuple | None:
        with self.file.reading() as connection:
            return connection.execute(query, given).fetchone()

    def _all(self, query: str, given: tuple) -> list[tuple]:
        with self.file.reading() as connection:
            return connection.execute(query, given).fetchall()


class SqlitePuts:
    """What a write transaction does; see `writing.Puts`."""

    def __init__(self, connection: sqlite3.Connection, queries: SimpleNamespace) -> None:
        self.run, self.run_many = connection.execute, connection.executemany
        self.q = queries
        self._paths: dict[int, str] = {}

    def owner(self, path: str) -> tuple[int, int, int]:
        row = self.run(self.q.owner, (path,)).fetchone()
        if row is None:
            self.run(self.q.add_owner, (path,))
            row = self.run(self.q.owner, (path,)).fetchone()
        self._paths[row[0]] = path
        return row

    def lanes(self, owner: int) -> list[tuple[int, str, str, int]]:
        return self.run(self.q.lanes_of, (owner,)).fetchall()

    def lane(self, owner: int, space: str, view: str, dimension: int) -> tuple[int, int]:
        known = self.run(self.q.lane, (owner, space, view)).fetchone()
        if known is None:
            alike = self.run(self.q.dimension_of, (space,)).fetchone() or (dimension,)
            known = self.run(self.q.add_lane, (owner, space, view, *alike)).lastrowid, *alike
        return known

    def put_vector(self, owner: int, lane: int, slot: int, hash: bytes, vector: bytes) -> None:
        self.run(self.q.put_vector, (lane << 32 | slot, hash, vector))

    def remove_vector(self, owner: int, lane: int, slot: int) -> int:
        return self.run(self.q.remove_vector, (lane << 32 | slot,)).rowcount

    def some_vectors(self, owner: int, lane: int, limit: int) -> list[int]:
        return [key & LOW for (key,) in self.run(self.q.some_vectors, (*span(lane), limit)).fetchall()]

    def add(self, rows: Sequence[Row]) -> bool:
        self.run("SAVEPOINT adding")
        try:
            self._insert(rows)
        except sqlite3.IntegrityError as error:
            self.run("ROLLBACK TO adding")
            if "UNIQUE" not in str(error):
                raise
            return False
        self.run("RELEASE adding")
        return True

    def replace(self, owner: int, slot: int, record: Record, index: tuple[int, str, bytes]) -> None:
        self.run(self.q.replace_record, (*values_of(record, index), owner << 32 | slot))

    def put_mentions(self, owner: int, slot: int, said: tuple | None) -> None:
        key = owner << 32 | slot
        self.run(*(self.q.put_mentions, (key, *said)) if said else (self.q.remove_mentions, (key,)))

    def find(self, owner: int, id: str) -> tuple[int, Record] | None:
        row = self.run(self.q.record_by_id, (owner, id)).fetchone()
        return (row[0] & LOW, record_of(row, self._paths[owner])) if row else None

    def remove(self, owner: int, slot: int) -> int:
        key = (owner << 32 | slot,)
        jobs = self.run(self.q.remove_jobs, key).rowcount
        self.run(self.q.remove_mentions, key)
        self.run(self.q.remove_record, key)
        self.run(self.q.remove_told, key)
        return jobs

    def derived(self, owner: int, source: str, *, facts: bool) -> list[str]:
        query = self.q.facts_from if facts else self.q.derived_from
        return [id for (id,) in self.run(query, (owner, source)).fetchall()]

    def add_jobs(self, owner: int, places: Sequence[tuple[int, str, str]]) -> None:
        if places:
            self.run_many(self.q.add_job, [(owner << 32 | slot, space, view) for slot, space, view in places])

    def jobs(self, owner: int, slot: int) -> list[tuple[int, str, str]]:
        return self.run(self.q.jobs_of, (owner << 32 | slot,)).fetchall()

    def remove_job(self, owner: int, number: int) -> None:
        self.run(self.q.remove_job, (number,))

    def put_told(self, owner: int, told: Sequence[tuple[bytes, int, int]], now: int) -> int:
        self.run(self.q.remove_old_told, (now,))
        rows = [(owner, digest, owner << 32 | slot, until) for digest, slot, until in told]
        return self.run_many(self.q.put_told, rows).rowcount

    def remove_told(self, owner: int, slot: int) -> None:
        self.run(self.q.remove_told, (owner << 32 | slot,))

    def tell(self, owner: int, change: int, what: str, lane: int, slots: bytes) -> None:
        self.run(self.q.add_change, (owner, change, what, lane, slots))

    def prune(self, owner: int, change: int) -> None:
        self.run(self.q.prune_changes, (owner, change))

    def advance(self, owner: int, next_slot: int, change: int) -> None:
        self.run(self.q.advance_owner, (next_slot, change, owner))

    def _insert(self, rows: Sequence[Row]) -> None:
        values, mentions = [], []
        for row in rows:
            key = row.owner << 32 | row.slot
            values.append((key, row.owner, row.record.id, *values_of(row.record, row.index)))
            said = mentions_of(row.record)
            if said:
                mentions.append((key, *said))
        self.run_many(self.q.add_record, values)
        if mentions:
            self.run_many(self.q.put_mentions, mentions)


def span(number: int) -> tuple[int, int]:
    """The keys of an owner or a lane."""
    return number << 32, (number + 1) << 32


def keys_json(keys: Iterable[int]) -> str:
    """A list of keys as one SQL parameter."""
    return str(list(keys))  # of whole numbers that is JSON, in a third of the time
