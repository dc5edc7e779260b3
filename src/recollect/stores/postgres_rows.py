"""The rows of the postgres store, as shelves read them and as a write transaction changes them.

Every statement names the owner, by its path: so it reads one partition. What a transaction changes without having to know the
outcome is collected, and sent in one go before something is read and at the end.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InvalidVector, StoreClosed
from ..records import Record
from ..tokens import language_of, pack, terms
from .postgres_vectors import Floats
from .rows import NO_WORDS, index_text, mentions_of, record_of, values_of
from .writing import Row

if TYPE_CHECKING:
    import psycopg

    from .postgres_server import Server

PAGE = 10_000  # slots of texts read at a time
COPIED = 64  # records from which COPY is quicker than statements
MOST_PLACES, LAST_PLACE = 255, 16_383  # of a word in a tsvector
LONGEST_VECTOR = 16_000  # numbers pgvector keeps
LONGEST_LEXEMES = 500_000  # characters: a tsvector holds a megabyte
Index = tuple[int, str, bytes, str]


class Pulse(NamedTuple):
    """What an owner's row said, and whether anything waits for a vector. Compared by what shelves go by."""

    no: int
    next_slot: int
    change: int


class PostgresReads:
    """What shelves ask; see `shelves.Reads`. `steady` keeps what one thread has been told for a whole answer."""

    def __init__(self, server: Server, queries: SimpleNamespace) -> None:
        self.server, self.q = server, queries
        self._paths: dict[int, str] = {}
        self._lock = threading.RLock()
        self._local = threading.local()
        self._wrote: dict[int, Pulse] = {}

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._lock:
            if self.server._closed:
                raise StoreClosed()
            yield

    def snapshot(self) -> Any:
        return self.server.snapshot()

    @contextmanager
    def steady(self, path: str) -> Iterator[None]:
        """Inside, this thread asks only once whether an owner's rows have changed."""
        if getattr(self._local, "told", None) is not None:
            yield
            return
        self._local.told = {}
        try:
            self.told(path)  # before any lock is taken, so that threads wait for the server side by side
            yield
        finally:
            self._local.told = None

    def told(self, path: str) -> tuple[Pulse | None, str | None, bool]:
        """An owner's pulse, its settings, and whether anything waits."""
        known = getattr(self._local, "told", None)
        if known is not None and path in known:
            return known[path]
        row = self.server.one(self.q.pulse, (path,))
        if row is None:
            told = None, None, False
        else:
            told = Pulse(*row[:3]), row[3], row[4]
            self._paths[row[0]] = path
        if known is not None:
            known[path] = told
        return told

    def wrote(self, marks: Sequence[Any]) -> None:
        """What we committed ourselves: what shelves hold from before is old."""
        for mark in marks:
            self._wrote[mark.no] = Pulse(mark.no, mark.next_slot, mark.change)
        if getattr(self._local, "told", None):
            self._local.told.clear()

    def pulse(self, path: str) -> Pulse | None:
        return self.told(path)[0]

    def fresh(self, pulse: Pulse | None) -> bool:
        last = None if pulse is None else self._wrote.get(pulse.no)
        return last is None or (pulse.next_slot >= last.next_slot and pulse.change >= last.change)

    def owner(self, path: str) -> tuple[int, int, int] | None:
        row = self.server.one(self.q.pulse, (path,))
        if row is None:
            return None
        self._paths[row[0]] = path
        return row[:3]

    def path_of(self, number: int) -> str:
        path = self._paths.get(number)
        if path is None:
            row = self.server.one(self.q.path_of, (number,)) if 0 <= number < 1 << 63 else None
            if row is None:
                return ""
            path = self._paths[number] = row[0]
        return path

    def columns(self, owner: int, start: int, end: int) -> list[tuple]:
        return self.server.all(self.q.columns, (self.path_of(owner), owner, start, end))

    def some_columns(self, owner: int, slots: Sequence[int]) -> list[tuple]:
        return self.server.all(self.q.some_columns, (self.path_of(owner), owner, list(slots)))

    def changes_since(self, owner: int, change: int) -> list[tuple]:
        return self.server.all(self.q.changes_since, (self.path_of(owner), change))

    def lane(self, owner: int, space: str, view: str) -> tuple[int, int] | None:
        return self.server.one(self.q.lane, (self.path_of(owner), space, view))

    def lanes_of(self, owner: int) -> list[tuple]:
        return self.server.all(self.q.lanes_of, (self.path_of(owner),))

    def lane_blocks(self, owner: int, lane: int, size: int, at_once: int) -> Iterator[list[tuple[int, bytes]]]:
        path, first = self.path_of(owner), 0
        while rows := self.server.all(self.q.lane_vectors, (path, lane, first, size, at_once)):
            yield rows
            first = rows[-1][0] + 1

    def vectors(self, owner: int, lane: int, slots: Sequence[int]) -> list[tuple[int, bytes]]:
        return self.server.all(self.q.vectors_by_slots, (self.path_of(owner), lane, list(slots)))

    def slots(self, owner: int, ids: Sequence[str]) -> list[tuple[str, int]]:
        ids = [id for id in ids if _sendable(id)]
        return self.server.all(self.q.slots_by_ids, (self.path_of(owner), ids)) if ids else []

    def records(self, keys: Sequence[int]) -> list[tuple]:
        rows = []
        for number in {key >> 32 for key in keys}:
            slots = [key & 0xFFFFFFFF for key in keys if key >> 32 == number]
            path = self.path_of(number)
            found = self.server.all(self.q.records_by_slots, (path, slots)) if path else ()
            rows += [(number << 32 | slot, *rest) for slot, *rest in found]
        return rows

    def texts(self, owner: int, start: int, end: int) -> Iterator[tuple[int, str]]:
        path = self.path_of(owner)
        for first in range(start, end, PAGE):
            yield from self.server.all(self.q.texts, (path, first, min(end, first + PAGE)))

    def dates(self, owner: int, start: int, end: int, also: Sequence[int]) -> list[tuple[int, str]]:
        return self.server.all(self.q.dates, (self.path_of(owner), start, end, list(also)))

    def web(self, owner: int, start: int, end: int) -> list[tuple]:
        return self.server.all(self.q.web, (self.path_of(owner), start, end))

    def waiting(self, owner: int, space: str, view: str) -> int:
        path = self.path_of(owner)
        if not self.told(path)[2]:
            return 0
        return self.server.one(self.q.count_jobs_of_view, (path, space, view))[0]


class PostgresPuts:
    """What a write transaction does; see `writing.Puts`."""

    def __init__(self, connection: psycopg.Connection, queries: SimpleNamespace) -> None:
        self.connection, self.q = connection, queries
        self._paths: dict[int, str] = {}
        self._lanes: dict[int, list[tuple[int, str, str, int]]] = {}
        self._queue: list[tuple[str, tuple]] = []

    def owner(self, path: str) -> tuple[int, int, int]:
        row = self._one(self.q.owner_for_write, (path,))
        if row is None:
            (number,) = self._one(self.q.number_owner, (path,))
            self.connection.execute(self.q.add_owner, (path, number))
            row = self._one(self.q.owner_for_write, (path,))
        self._paths[row[0]] = path
        return row

    def lanes(self, owner: int) -> list[tuple[int, str, str, int]]:
        if owner not in self._lanes:
            # Nothing that was collected changes lanes: it need not be sent before.
            self._lanes[owner] = self.connection.execute(self.q.lanes_of, (self._paths[owner],), binary=True).fetchall()
        return self._lanes[owner]

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
        self._later(self.q.put_vector, (self._paths[owner], lane, slot, hash, Floats(vector)))

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
        values = [self._values(row) for row in rows]
        if len(rows) >= COPIED:
            self._copy("recollect.records", _COLUMNS, values)
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
        for slot, space, view in places:
            self._later(self.q.add_job, (self._paths[owner], slot, space, view))

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

    def flush(self) -> None:
        """Send what was collected."""
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

    def _values(self, row: Row) -> tuple:
        return self._paths[row.owner], row.slot, row.record.id, *values_of(row.record, row.index[:3]), row.index[3]

    def _copy(self, table: str, columns: str, rows: Sequence[tuple]) -> None:
        self.flush()
        with self.connection.cursor().copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
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


_COLUMNS = (
    "owner, slot, id, kind, role, agent, project, session, turn, at, recorded_at, valid_from, valid_to, superseded_at, "
    "superseded_by, quality, confidence, reinforced, length, language, terms, text, speaker, source, tags, views, metadata, "
    "lexemes"
)


def _sendable(text: str) -> bool:
    """Whether PostgreSQL takes the text: an id that it doesn't is nobody's."""
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def indexed(record: Record) -> Index:
    """A record's length in terms, its language, its packed terms, and its lexemes."""
    if record.wordless:
        return *NO_WORDS, ""
    text = index_text(record)
    language = language_of(text)
    found = terms(text, language)
    blob, length = pack(found)
    return length, language, blob, lexemes(found)


def lexemes(found: Sequence[str]) -> str:
    """Terms and their places, as PostgreSQL reads a tsvector. It has bounds: of a very long text the end has no places."""
    places: dict[str, list[str]] = {}
    for place, term in enumerate(found, 1):
        mine = places.setdefault(term, [])
        if place <= LAST_PLACE and len(mine) < MOST_PLACES:
            mine.append(str(place))
    parts, size = [], 0
    for term, mine in places.items():
        part = quoted(term) + (":" + ",".join(mine) if mine else "")
        size += len(part.encode("utf-8", "surrogatepass")) + 1
        if size > LONGEST_LEXEMES:
            break
        parts.append(part)
    return " ".join(parts)


def quoted(term: str) -> str:
    """A term as a tsvector or a tsquery writes it: data, whatever is in it."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"
