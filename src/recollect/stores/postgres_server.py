"""A PostgreSQL database, opened: a pool of connections, short transactions, and errors that name the cure.

What it is for: everything between the store and psycopg. It brings the schema up to date under an advisory lock, gives
statements to connections, tries a read again that met a connection the server had dropped, and turns psycopg's errors into ours.
Not for: what the statements mean.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit
from weakref import WeakKeyDictionary

from ..errors import InvalidSetting, MissingExtra, StoreClosed, StoreUnavailable
from . import migrate, sql
from .postgres_errors import URL_HINT, translated, unreachable
from .postgres_raw import counted
from .urls import without_secrets

if TYPE_CHECKING:
    import psycopg
    import psycopg_pool

OLDEST = 140_000  # PostgreSQL 14
POOL, WAIT = 8, 30.0  # connections, seconds
HNSW = 300_000  # vectors of one lane from which the server searches them
CONNECT_SECONDS = 10
EXTENSION = "vector"  # pgvector, by its name in the server
LOCK = 0x7265_636F_6C6C  # "recoll": who holds it brings the schema up to date
_ONE_STATE = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_MIGRATIONS = "postgres/migrations"
_OURS = ("pool", "wait", "prepare", "hnsw")


class Server:
    """See the module. `url`: a PostgreSQL URL; our own options are `pool`, `wait`, `prepare` and `hnsw`."""

    def __init__(self, url: str, *, wait: float | None = None) -> None:
        self.psycopg, pool = _drivers()
        self.url, options = _parted(url)
        self.name = _shown(self.url)
        self.wait = float(options.get("wait", WAIT if wait is None else wait))
        self.hnsw = int(options.get("hnsw", HNSW))
        self.prepare = None if options.get("prepare") == "off" else 1
        self._prepared: WeakKeyDictionary[psycopg.Connection, dict[str, bytes]] = WeakKeyDictionary()  # names, by statement
        self.composes = True  # whether it takes statements of several parts
        self._closed = False
        self._local = threading.local()
        with self._first() as connection:
            self.user, self.database = connection.info.user, connection.info.dbname
            self._prepare(connection)
            self.vector = self._vector_type(connection)
        self.pool: psycopg_pool.ConnectionPool = pool.ConnectionPool(
            self.url, min_size=1, max_size=int(options.get("pool", POOL)), timeout=self.wait, open=False,
            kwargs=self._kwargs(), configure=self._configure, max_idle=300.0, num_workers=1, name="recollect",
            reconnect_timeout=self.wait,
        )  # fmt: skip
        with self.named():
            self.pool.open(wait=True, timeout=CONNECT_SECONDS)

    # Reading

    def all(self, query: str, given: Sequence[Any] = ()) -> list[tuple]:
        """The rows of a statement: in this thread's snapshot if it has one, else on any connection."""
        connection = getattr(self._local, "snapshot", None)
        with self.named():
            if connection is not None:
                return connection.execute(query, given, binary=True).fetchall()
            return self._patiently(lambda connection: connection.execute(query, given, binary=True).fetchall())

    def one(self, query: str, given: Sequence[Any] = ()) -> tuple | None:
        """The first row, if there is one."""
        rows = self.all(query, given)
        return rows[0] if rows else None

    def tuned(self, begin: str, query: str, given: Sequence[Any]) -> list[tuple]:
        """The rows of a statement in a transaction of its own, which `begin` begins and sets up."""
        with self.named(), self._lent(begin) as connection:
            return connection.execute(query, given, binary=True).fetchall()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All reads of this thread inside see one state. It nests."""
        if getattr(self._local, "snapshot", None) is not None:
            yield
            return
        with self.apart() as connection:
            self._local.snapshot = connection
            try:
                yield
            finally:
                self._local.snapshot = None

    @contextmanager
    def apart(self) -> Iterator[psycopg.Connection]:
        """A connection inside one read transaction: a look at one state, however long."""
        with self.named(), self._lent(_ONE_STATE) as connection:
            yield connection

    # Writing

    @contextmanager
    def writing(self) -> Iterator[psycopg.Connection]:
        """A write transaction: committed when the block ends well, undone when it does not."""
        with self.named(), self._lent(f"BEGIN; SET LOCAL lock_timeout = {round(self.wait * 1000)}") as connection:
            yield connection
            if connection.info.transaction_status != self.psycopg.pq.TransactionStatus.IDLE:  # committed in the block already
                connection.execute("COMMIT")

    def run(self, query: str, given: Sequence[Any] = ()) -> int:
        """A single statement that changes something: how many rows."""
        with self.named(), self._connection() as connection:
            return connection.execute(query, given).rowcount

    def hopefully(self, query: str, given: Sequence[Any]) -> bool:
        """A single statement that changes something or finds that it can't, which it says by a count; or gets lost on the way.

        Lost with a dead connection, nobody knows whether it was done: whoever tries again must look.
        """
        with self.named(), self._connection() as connection:
            try:
                names = None if self.prepare is None else self._prepared.setdefault(connection, {})
                return counted(self.psycopg, connection, names, query, given) > 0
            except self.psycopg.errors.FeatureNotSupported:
                self.composes = False  # a cluster may not take it
                return False
            except self.psycopg.errors.InvalidSqlStatementName:
                self._prepared.pop(connection, None)
                return False
            except (KeyError, self.psycopg.errors.UniqueViolation, self.psycopg.errors.DuplicatePreparedStatement):
                return False
            except self.psycopg.OperationalError:
                if not connection.broken:
                    raise
                return False

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.pool.close()

    # Inside

    @contextmanager
    def named(self) -> Iterator[None]:
        """psycopg's errors as ours."""
        try:
            yield
        except (self.psycopg.Error, UnicodeEncodeError) as error:
            raise translated(error, self) from error

    def reach(self) -> None:
        """Ask the server for a connection past the pool: an error when it can't be reached."""
        self._first(2).close()

    def _patiently(self, ask: Callable[[psycopg.Connection], Any]) -> Any:
        """Once more when the connection was dead: the server was restarted, or tired of it."""
        for last in (False, True):
            with self._connection() as connection:
                try:
                    return ask(connection)
                except self.psycopg.OperationalError:
                    if last or not connection.broken:
                        raise
            self.pool.check()
        return None

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection]:
        self._check_open()
        connection = self.pool.getconn()
        try:
            yield connection
        finally:
            self.pool.putconn(connection)

    @contextmanager
    def _lent(self, begin: str) -> Iterator[psycopg.Connection]:
        """A connection that answers, inside a transaction that has just begun; what is not committed at the end is undone."""
        self._check_open()
        connection = self.pool.getconn()
        try:
            try:
                connection.execute(begin, prepare=False)  # several statements can't be prepared, but cost one round trip
            except self.psycopg.OperationalError:  # the server was restarted, or tired of this connection
                self.pool.putconn(connection)
                self.pool.check()
                connection = self.pool.getconn()
                connection.execute(begin, prepare=False)
            yield connection
        finally:
            if not connection.closed:
                connection.rollback()
            self.pool.putconn(connection)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed()

    def _first(self, seconds: int = CONNECT_SECONDS) -> psycopg.Connection:
        try:
            return self.psycopg.connect(self.url, connect_timeout=seconds, **self._kwargs())
        except self.psycopg.Error as error:
            raise unreachable(error, self.name) from error

    def _kwargs(self) -> dict[str, Any]:
        return {
            "autocommit": True, "cursor_factory": self.psycopg.RawCursor, "prepare_threshold": self.prepare,
            "application_name": "recollect",
        }  # fmt: skip

    def _configure(self, connection: psycopg.Connection) -> None:
        self.vector.register(connection)
        # A plan made once for all owners finds its partition when it is run; made anew for each question it costs more than that.
        connection.execute("SET plan_cache_mode = force_generic_plan")

    def _vector_type(self, connection: psycopg.Connection) -> Any:
        from .postgres_vectors import VectorType

        row = connection.execute("SELECT oid FROM pg_type WHERE typname = 'vector' ORDER BY oid LIMIT 1").fetchone()
        return VectorType(row[0])

    def _prepare(self, connection: psycopg.Connection) -> None:
        """Make a new database ours, bring an old one up to date, refuse what we can't work with."""
        _check(connection, self.name)
        known = sql.migrations(_MIGRATIONS)
        with self.named():
            if _version(connection) == migrate.latest(known):
                return
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock($1)", (LOCK,))
                _extension(connection, self.psycopg, self.name)
                self._bring_up(connection, known)

    def _bring_up(self, connection: psycopg.Connection, known: Sequence[migrate.Migration]) -> None:
        def note(number: int, name: str) -> None:
            connection.execute("INSERT INTO recollect.migrations VALUES ($1, $2)", (number, name))

        version = _version(connection)
        if version is None:
            connection.execute(sql.text("postgres/schema.sql"))
            note(1, "schema")
            for number, name, _ in known:
                note(number, name)
        else:
            migrate.bring_up(version, known, connection.execute, note, self.name)


def _drivers() -> tuple[Any, Any]:
    try:
        import psycopg
        import psycopg_pool
    except ImportError as error:
        raise MissingExtra(
            "The PostgreSQL store needs psycopg and its pool.", hint='pip install "recollect[postgres]"'
        ) from error
    log = logging.getLogger("psycopg.pool")
    if not log.handlers:  # what it says of a server that is away is in our errors; who wants to hear it sets up logging
        log.addHandler(logging.NullHandler())
    return psycopg, psycopg_pool


def _parted(url: str) -> tuple[str, dict[str, str]]:
    """The URL as PostgreSQL knows it, and our own options."""
    parts = _split(url)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    options = {name: value for name, value in pairs if name in _OURS}
    for name, valid in (("pool", r"[1-9]\d{0,3}"), ("wait", r"\d+(\.\d+)?"), ("prepare", "on|off"), ("hnsw", r"\d{1,10}")):
        if name in options and not re.fullmatch(valid, options[name]):
            raise InvalidSetting(
                f"{name}={options[name]!r:.40} in the URL is not usable.",
                hint="pool is a number of connections, wait are seconds, prepare is on or off, hnsw a number of vectors.",
            )
    rest = urlencode([(name, value) for name, value in pairs if name not in _OURS], quote_via=quote)
    return f"postgresql://{parts.netloc}{parts.path}" + (f"?{rest}" if rest else ""), options


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = None
    if parts is None or not url.partition(":")[2].startswith("//") or _unescaped(parts):
        raise StoreUnavailable(f"{without_secrets(url)!r:.200} is no URL of a PostgreSQL database.", hint=URL_HINT)
    return parts


def _unescaped(parts: SplitResult) -> bool:
    """Is there a character in the password that means something else in a URL?"""
    return parts.netloc.count("@") > 1 or "@" in parts.path or bool(parts.fragment)


def _shown(url: str) -> str:
    """The URL without its password."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2] or dict(parse_qsl(parts.query)).get("host", "localhost")
    return f"PostgreSQL {parts.path.strip('/') or 'database'} at {host}"


def _check(connection: psycopg.Connection, name: str) -> None:
    info = connection.info
    if info.server_version < OLDEST:
        version = f"{info.server_version // 10_000}.{info.server_version % 10_000}"
        raise StoreUnavailable(f"{name} is version {version}.", hint=f"recollect needs PostgreSQL {OLDEST // 10_000} or newer.")
    encoding = info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreUnavailable(
            f"{name} keeps texts as {encoding}, which has no place for most of the world's letters.",
            hint="Make a database for recollect: createdb --encoding=UTF8 --template=template0 memory",
        )


def _version(connection: psycopg.Connection) -> int | None:
    """The schema's version; None when there is no schema."""
    if connection.execute("SELECT to_regclass('recollect.migrations')").fetchone()[0] is None:
        return None
    return connection.execute("SELECT max(number) FROM recollect.migrations").fetchone()[0]


def _extension(connection: psycopg.Connection, psycopg: Any, name: str) -> None:
    """pgvector, made available in this database if it isn't."""
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = $1", (EXTENSION,)).fetchone():
        return
    version = connection.info.server_version // 10_000
    try:
        with connection.transaction():
            connection.execute(f"CREATE EXTENSION {EXTENSION}")
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreUnavailable(
            f"{name} has no vector extension, and this user may not add it.",
            hint="Ask an administrator to run in this database: CREATE EXTENSION vector;",
        ) from error
    except (psycopg.errors.UndefinedFile, psycopg.errors.FeatureNotSupported) as error:
        raise StoreUnavailable(
            f"pgvector is not installed on the server of {name}.",
            hint=f"Install it there (Debian: apt install postgresql-{version}-pgvector), then open the memory again.",
        ) from error
