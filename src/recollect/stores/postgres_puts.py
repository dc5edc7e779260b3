"""What a write transaction of the postgres store does to rows.

Every statement names the owner, by its path: so it writes to one partition. What is changed without having to know the
outcome is collected, and sent in one go before something is read and at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ..errors import InvalidVector
from ..records import Record
from .postgres_vectors import Floats
from .postgres_words import Index, indexed
from .rows import mentions_of, record_of, values_of
from .writing import Row

if TYPE_CHECKING:
    import psycopg

COPIED = 64  # rows from which COPY is quicker than statements
LONGEST_VECTOR = 16_000  # numbers pgvector keeps
VECTOR = {"owner": "text", "lane": "int4", "slot": "int4", "hash": "bytea", "vector": "vector"}  # columns and their types
JOB = {"owner": "text", "slot": "int4", "space": "text", "view": "text"}
RECORD = {
    "owner": "text", "slot": "int4", "id": "text", "kind": "text", "role": "text", "agent": "text", "project": "text",
    "session": "text", "turn": "int8", "at": "int8", "recorded_at": "int8", "valid_from": "int8", "valid_to": "int8",
    "superseded_at": "int8", "superseded_by": "text", "quality": "float8", "confidence": "float8", "reinforced": "int8",
    "length": "int4", "language": "text", "terms": "bytea", "text": "text", "speaker": "text", "source": "text", "tags": "text",
    "views": "text", "metadata": "text", "lexemes": "text",
}  # fmt: skip


class PostgresPuts:
    """What a write transaction does; see `writing.Puts`."""

    def __init__(self, connection: psycopg.Connection, queries: SimpleNamespace) -> None:
        self.connection, self.q = connection, queries
        self._paths: dict[int, str] = {}
        self._lanes: dict[int, list[tuple[int, str, str, int]]] = {}
        self.found: dict[str, tuple[int, int, int]] = {}  # what owners' rows said
        self._queue: list[tuple[str, tuple]] = []
        self._first: dict[str, int] = {}  # slots from here on are new, and nothing beside them was sent yet
        self._vectors: dict[tuple, tuple] = {}  # of new slots: hash and vector by owner, lane, slot
        self._jobs: dict[tuple, None] = {}  # of new slots: owner, slot, space, view

    def owner(self, path: str) -> tuple[int, int, int]:
        row = self._one(self.q.owner_for_write, (path,))
        if row is None:
            (number,) = self._one(self.q.number_owner, (path,))
            self.connection.execute(self.q.add_owner, (path, number))
            row = self._one(self.q.owner_for_write, (path,))
        self._paths[row[0]] = path
        self.found[path], self._first[path] = row, row[1]
        return row

    def lanes(self, owner: int) -> list[tuple[int, str, str, int]]:
        if owner not in self._lanes:
            # Nothing that was collected changes lanes: it need not be sent before.
            self._lanes[owner] = self.connection.execute(self.q.lanes_of, (self._paths[owner],), binary=True).fetchall()
        return self._lanes[owner]

    def lanes_seen(self, owner: int) -> list[tuple[int, str, str, int]]:
        """Those that were asked for, or made."""
        return self._lanes.get(owner, [])

    def lane(self, owner: int, space: str, view: str, dimension: int) -> tuple[int, int]:
        for number, *place, known in self.lanes(owner):
            if place == [space, view]:
                return number, known
        if dimension > LONGEST_VECTOR:
            raise InvalidVector(
                f"PostgreSQL's vector type holds {LONGEST_VECTOR:,} numbers; a vector of {view} in {space} has {dimension:,}.",
                hint="Use a model with fewer numbers (many take dimensions=), or keep this memory in a SQLite file.",
            )
        self.connection.execute(self.q.add_space, (space, dimension))
        (alike,) = self._one(self.q.dimension_of, (space,))
        (number,) = self._one(self.q.add_lane, (self._paths[owner], space, view, alike))
        self._lanes[owner].append((number, space, view, alike))
        return number, alike

    def put_vector(self, owner: int, lane: int, slot: int, hash: bytes, vector: bytes) -> None:
        place, rest = (self._paths[owner], lane, slot), (hash, Floats(vector))
        if slot < self._first[place[0]]:
            self._later(self.q.put_vector, (*place, *rest))
        else:
            self._vectors[place] = rest

    def remove_vector(self, owner: int, lane: int, slot: int) -> int:
        return self._now(self.q.remove_vector, (self._paths[owner], lane, slot)).rowcount

    def some_vectors(self, owner: int, lane: int, limit: int) -> list[int]:
        return [slot for (slot,) in self._all(self.q.some_vectors, (self._paths[owner], lane, limit))]

    def add(self, rows: Sequence[Row]) -> bool:
        ids = [(row.owner, row.record.id) for row in rows]
        if len(set(ids)) < len(ids):
            return False
        for owner in {owner for owner, _ in ids}:
            if self._one(self.q.ids_there, (self._paths[owner], [id for of, id in ids if of == owner])):
                return False
        values = map(self._values, rows)
        if len(rows) >= COPIED:
            self.flush()
            self._copy("recollect.records", RECORD, values)
        else:
            self._queue += [(self.q.add_record, row) for row in values]
        for row in rows:
            said = mentions_of(row.record)
            if said:
                self._later(self.q.put_mentions, (self._paths[row.owner], row.slot, *said))
        return True

    def replace(self, owner: int, slot: int, record: Record, index: Index) -> None:
        self._later(self.q.replace_record, (self._paths[owner], slot, *values_of(record, index[:3]), index[3]))

    def put_mentions(self, owner: int, slot: int, said: tuple | None) -> None:
        place = self._paths[owner], slot
        self._later(*(self.q.put_mentions, (*place, *said)) if said else (self.q.remove_mentions, place))

    def find(self, owner: int, id: str) -> tuple[int, Record] | None:
        if "\0" in id:
            return None
        row = self._one(self.q.record_by_id, (self._paths[owner], id))
        return (row[0], record_of(row, self._paths[owner])) if row else None

    def remove(self, owner: int, slot: int) -> int:
        place = self._paths[owner], slot
        self._later(self.q.remove_mentions, place)
        self._later(self.q.remove_record, place)
        self._later(self.q.remove_told, place)
        return self._now(self.q.remove_jobs, place).rowcount

    def derived(self, owner: int, source: str, *, facts: bool) -> list[str]:
        return [id for (id,) in self._all(self.q.derived_from, (self._paths[owner], source, facts))]

    def add_jobs(self, owner: int, places: Sequence[tuple[int, str, str]]) -> None:
        path = self._paths[owner]
        for place in places:
            if place[0] < self._first[path]:
                self._later(self.q.add_job, (path, *place))
            else:
                self._jobs[path, *place] = None

    def jobs(self, owner: int, slot: int) -> list[tuple[int, str, str]]:
        return self._all(self.q.jobs_of, (self._paths[owner], slot))

    def remove_job(self, owner: int, number: int) -> None:
        self._later(self.q.remove_job, (self._paths[owner], number))

    def put_told(self, owner: int, told: Sequence[tuple[bytes, int, int]], now: int) -> int:
        path = self._paths[owner]
        self._later(self.q.remove_old_told, (path, now))
        return self._now(self.q.put_told, (path, *map(list, zip(*told, strict=True)))).rowcount

    def remove_told(self, owner: int, slot: int) -> None:
        self._later(self.q.remove_told, (self._paths[owner], slot))

    def tell(self, owner: int, change: int, what: str, lane: int, slots: bytes) -> None:
        self._later(self.q.add_change, (self._paths[owner], change, what, lane, slots))

    def prune(self, owner: int, change: int) -> None:
        self._later(self.q.prune_changes, (self._paths[owner], change))

    def advance(self, owner: int, next_slot: int, change: int) -> None:
        self._later(self.q.advance_owner, (self._paths[owner], next_slot, change))

    def flush(self, *, commit: bool = False) -> None:
        """Send what was collected, and with it, as its end, the commit."""
        self._beside_the_new()
        queue, self._queue = self._queue, []
        if not queue:
            return
        cursor, run = self.connection.cursor(), []
        with self.connection.pipeline():
            for query, given in queue:
                if run and run[0] != query:
                    cursor.executemany(*run)
                    run = []
                run = run or [query, []]
                run[1].append(given)
            cursor.executemany(*run)
            if commit:
                self.connection.execute("COMMIT", prepare=False)

    def _beside_the_new(self) -> None:
        """Of new records: there is nothing that could be in the way, so many are copied."""
        vectors, self._vectors = [(*place, *rest) for place, rest in self._vectors.items()], {}
        jobs, self._jobs = list(self._jobs), {}
        self._first |= {path: slot + 1 for path, slot in sorted([*(row[::2][:2] for row in vectors), *(row[:2] for row in jobs)])}
        for table, columns, statement, rows in (
            ("recollect.vectors", VECTOR, self.q.put_vector, vectors), ("recollect.outbox", JOB, self.q.add_job, jobs),
        ):  # fmt: skip
            if len(rows) >= COPIED:
                self._copy(table, columns, rows)
            else:
                self._queue += [(statement, row) for row in rows]

    def _values(self, row: Row) -> tuple:
        index = row.index or indexed(row.record)
        return self._paths[row.owner], row.slot, row.record.id, *values_of(row.record, index[:3]), index[3]

    def _copy(self, table: str, columns: Mapping[str, str], rows: Iterable[tuple]) -> None:
        statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
        with self.connection.cursor().copy(statement) as copy:
            copy.set_types(list(columns.values()))
            for row in rows:
                copy.write_row(row)

    def _later(self, query: str, given: tuple) -> None:
        self._queue.append((query, given))

    def _now(self, query: str, given: tuple) -> psycopg.Cursor:
        self.flush()
        return self.connection.execute(query, given, binary=True)

    def _one(self, query: str, given: tuple) -> tuple | None:
        return self._now(query, given).fetchone()

    def _all(self, query: str, given: tuple) -> list[tuple]:
        return self._now(query, given).fetchall()
