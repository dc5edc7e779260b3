"""Stores by URL: `memory:`, a file name, `sqlite:///memory.db`, later `postgresql://…`."""

from __future__ import annotations

from ..errors import StoreUnavailable
from ..ports import Store


def open_store(url: str, *, busy_seconds: float | None = None) -> Store:
    """The store behind a URL or a file name. The module that serves it is imported only now."""
    scheme, _, rest = url.partition(":")
    if url == "memory:":
        from .inmemory import InMemoryStore

        return InMemoryStore()
    if "://" in url and scheme != "sqlite":
        raise StoreUnavailable(
            f"No store speaks {scheme}://.", hint="Use a file name, sqlite:///memory.db or memory: (see docs/stores.md)."
        )
    if scheme == "sqlite" and not rest.startswith("///"):
        raise StoreUnavailable(f"{url!r:.200} names no file.", hint="Write sqlite:///memory.db, or sqlite:////var/lib/memory.db.")
    from .sqlite import SqliteStore

    path = rest.removeprefix("///") if scheme == "sqlite" and rest.startswith("///") else url
    return SqliteStore(path, **({} if busy_seconds is None else {"busy_seconds": busy_seconds}))
