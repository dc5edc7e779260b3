"""One sqlite file, opened: two connections, short write transactions, and errors that name the cure.

Why two: writes of this process and of others reach the reader by the same path, the file. Why our own checkpoints:
SQLite before 3.51.3 can damage a file when a checkpoint overlaps a commit that restarts the log
(https://sqlite.org/wal.html#walresetbug); most Pythons carry an older one. So automatic checkpoints are off, and ours run
while we hold the write lock, when nobody can commit.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import RLock

from ..errors import InvalidRecord, NotADatabase, RecollectError, StoreBusy, StoreClosed, StoreReadOnly, StoreUnavailable
from . import migrate, sql

APPLICATION_ID = 0x52434C54  # "RCLT": whose file it is
BUSY_SECONDS = 30.0
CHECKPOINT_COMMITS = 400
CHECKPOINT_BYTES = 16 << 20
LOOK_SECONDS = 0.005  # that SQLite itself waits for the write lock, before we look anew
_MIGRATIONS = "sqlite/migrations"


class Reading:
    """`with file.reading() as connection`: one caller at a time, sqlite's errors as ours. Without state, so that it nests."""

    __slots__ = ("_file",)

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    def __enter__(self) -> sqlite3.Connection:
        self._file._reader_lock.acquire()
        if self._file._closed:
            self._file._reader_lock.release()
            raise StoreClosed()
        return self._file._reader

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._file._reader_lock.release()
        if isinstance(error, sqlite3.DatabaseError):
            raise _translated(error, self._file.path) from error


class SqliteFile:
    """`reading()` and `writing()` hand out a connection, one caller at a time each."""

    def __init__(self, path: str, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path
        self.busy_seconds = busy_seconds
        self.in_memory = path == ":memory:"
        self.writes = 0  # commits of our own, for readers on the same connection
        self._unchecked = [0, 0]  # commits and bytes since the last checkpoint
        self._reader_lock, self._writer_lock = RLock(), RLock()
        if self.in_memory:
            self._reader_lock = self._writer_lock
        self._closed = False
        self._reading = Reading(self)
        with self._named():
            self._writer = self._connect()
            try:
                self._prepare()
                self._reader = self._writer if self.in_memory else self._connect()
            except BaseException:
                self._writer.close()
                raise

    def reading(self) -> Reading:
        """The reading connection, outside a transaction: each statement sees the newest commit."""
        return self._reading

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """The reading connection inside a transaction: all statements see one state."""
        with self.reading() as connection:
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:  # over a damaged page SQLite has ended it itself
                    connection.execute("COMMIT")

    @contextmanager
    def apart(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own inside one read transaction: a long look at one state, which holds nobody up."""
        with self._named():
            with self.reading() as reader:
                connection = self._copy_of(reader) if self.in_memory else self._connect()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                connection.close()

    @contextmanager
    def writing(self, size: int = 0) -> Iterator[sqlite3.Connection]:
        """A write transaction: committed when the block ends well, undone when it does not. `size`: about how many bytes."""
        with self._writer_lock, self._named():
            self._check_open()
            connection = self._writer
            self._begin()
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self.writes += 1
            self._maybe_checkpoint(size)

    def _begin(self) -> None:
        """Take the write lock. SQLite looks the less often the longer it has waited, and all who come pass the one who waits
        longest; here everybody goes on looking as at first."""
        until = time.monotonic() + self.busy_seconds
        while True:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                    raise

    def pulse(self) -> tuple[int, int]:
        """Changes whenever anybody has committed. Call while reading."""
        return self._reader.execute("PRAGMA data_version").fetchone()[0], self.writes

    def backup(self, target: str) -> None:
        """A consistent copy, while others go on writing. An older copy at the target is overwritten."""
        if not target or (os.path.exists(target) and os.path.exists(self.path) and os.path.samefile(target, self.path)):
            raise StoreUnavailable(f"{target or 'A file without a name'} can't hold the copy.", hint="Name another file.")
        with self._named():
            source = self._reader if self.in_memory else self._connect()
        try:
            with self._named(target), closing(sqlite3.connect(target)) as copy:
                # In one step: between two, a commit by anybody would make SQLite begin again.
                source.backup(copy, pages=-1)
        finally:
            if source is not self._reader:
                source.close()

    def checkpoint(self, *, patient: bool = True) -> None:
        """Move the log into the file, holding the write lock so that no commit can overlap. Not `patient`: now or not at all."""
        if self.in_memory:
            return
        with self._writer_lock:
            self._check_open()
            self._unchecked = [0, 0]
            if patient:
                self._begin()
            else:
                self._writer.execute("BEGIN IMMEDIATE")
            try:
                with self._reader_lock:
                    self._reader.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            finally:
                self._writer.execute("ROLLBACK")

    def close(self) -> None:
        with self._writer_lock, self._reader_lock:
            if not self._closed:
                self._closed = True
                self._reader.close()
                self._writer.close()

    def size(self) -> int:
        return 0 if self.in_memory else sum(os.path.getsize(p) for p in (self.path, self.path + "-wal") if os.path.exists(p))

    def _maybe_checkpoint(self, size: int) -> None:
        commits, total = self._unchecked[0] + 1, self._unchecked[1] + size
        self._unchecked = [commits, total]
        if commits >= CHECKPOINT_COMMITS or total >= CHECKPOINT_BYTES:
            with suppress(sqlite3.OperationalError):  # somebody else is writing: the log stays, a later commit tries again
                self.checkpoint(patient=False)
            self._unchecked = [0, 0]

    def _connect(self) -> sqlite3.Connection:
        if not self.in_memory:
            parent = Path(self.path).absolute().parent
            if not parent.is_dir():
                raise StoreUnavailable(f"There is no folder {parent}.", hint=f"Make it first: mkdir -p {parent}")
        connection = sqlite3.connect(
            self.path, timeout=self.busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        connection.execute("PRAGMA cache_size = -16000")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        return connection

    def _prepare(self) -> None:
        """Make a new file ours, bring an old one up to date, refuse what is not ours."""
        connection = self._writer
        if self._blank(connection) and not self.in_memory:
            connection.execute("PRAGMA page_size = 8192")
            self._patiently("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._bring_up(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        if not self.in_memory and connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            self._patiently("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA busy_timeout = {round(min(LOOK_SECONDS, self.busy_seconds) * 1000)}")

    def _copy_of(self, reader: sqlite3.Connection) -> sqlite3.Connection:
        """What has no file can't be opened twice."""
        copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        reader.backup(copy)
        return copy

    def _blank(self, connection: sqlite3.Connection) -> bool:
        return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]

    def _bring_up(self, connection: sqlite3.Connection) -> None:
        known = sql.migrations(_MIGRATIONS)

        def run(script: str) -> None:
            for statement in migrate.statements(script):
                connection.execute(statement)

        def note(number: int, name: str) -> None:
            connection.execute("INSERT INTO migrations VALUES (?, ?)", (number, name))

        if self._blank(connection):
            run(sql.text("sqlite/schema.sql"))
            note(1, "schema")
            for number, name, _ in known:
                note(number, name)
        elif connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise NotADatabase(f"{self.path} is a database of another program.", hint="Name another file.")
        version = connection.execute("PRAGMA user_version").fetchone()[0] or migrate.latest(known)
        version = migrate.bring_up(version, known, run, note, self.path)
        for name, value in (("application_id", APPLICATION_ID), ("user_version", version)):
            if connection.execute(f"PRAGMA {name}").fetchone()[0] != value:  # opening alone must not be a write
                connection.execute(f"PRAGMA {name} = {value}")

    def _patiently(self, statement: str) -> None:
        """SQLite does not wait for other processes when it changes the journal mode: we do."""
        deadline = time.monotonic() + self.busy_seconds
        while True:
            try:
                self._writer.execute(statement)
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed()

    @contextmanager
    def _named(self, path: str | None = None) -> Iterator[None]:
        """sqlite's errors as ours, about this file or another."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise _translated(error, path or self.path) from error
        except UnicodeEncodeError as error:
            raise InvalidRecord(
                "A text holds half a surrogate pair.", hint="Clean it first: recollect.normalize.clean_text."
            ) from error


def _translated(error: sqlite3.DatabaseError, path: str) -> RecollectError | sqlite3.DatabaseError:
    said = str(error)
    if "malformed" in said or "decode to UTF-8" in said:
        what = said.split(" with text")[0]  # without what it read there
        return NotADatabase(f"{path} is damaged ({what}).", hint="Restore a backup: recollect restore FILE.")
    if "not a database" in said:
        return NotADatabase(
            f"{path} is not a recollect database ({said}).", hint="Name another file, or restore a backup: recollect restore."
        )
    if "locked" in said or "busy" in said:
        return StoreBusy(f"{path} stayed locked by another process.", hint="Try again; find the process that keeps it open.")
    if "readonly" in said:
        return StoreReadOnly(f"{path} can't be written ({said}).", hint="Check the permissions of the file and of its folder.")
    if "unable to open" in said:
        return StoreUnavailable(f"{path} can't be opened ({said}).", hint="It must be a file in a folder this user may write to.")
    if "constraint failed" in said:
        return InvalidRecord(
            f"A record lacks what it needs ({said}).", hint="id, text, kind, role and recorded_at can't be empty."
        )
    if "disk I/O" in said:
        return StoreUnavailable(
            f"{path} can't be read or written ({said}).",
            hint="Look after the disk; if the file was cut short, restore a backup: recollect restore.",
        )
    if "full" in said:
        return StoreUnavailable(f"{path} can't be written ({said}).", hint="Free some space; nothing acknowledged is lost.")
    return error
