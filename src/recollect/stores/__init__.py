"""Stores by URL: `memory:`, a file name, `sqlite:///memory.db`, `postgresql://…`."""

from __future__ import annotations

import os
from collections.abc import Callable

from ..errors import StoreUnavailable
from ..ports import Store
from .urls import without_secrets

__all__ = ["open_store", "without_secrets"]


def open_store(
    url: str | os.PathLike[str], *, busy_seconds: float | None = None, vector: str = "", graph: str = "",
    wall: Callable[[], float] | None = None,
) -> Store:  # fmt: skip
    """The store behind a URL or a file name, with the indexes beside it that have a URL. `wall`: seconds all processes share, by
    which those that keep one index up take turns. The module that serves a URL is imported only now."""
    url = _text(url)
    if not (vector or graph):
        return _open(url, busy_seconds)
    from .beside import BesideStore
    from .indexes import open_graph_index, open_vector_index

    opened = {"vector": open_vector_index(vector) if vector else None, "graph": open_graph_index(graph) if graph else None}
    store = _open(url, busy_seconds)
    try:
        return BesideStore(store, **opened, wall=wall)
    except Exception:
        store.close()
        raise


def _text(url: object) -> str:
    url = os.fspath(url) if isinstance(url, os.PathLike) else url
    if not isinstance(url, str) or url in ("", "sqlite:///") or "\0" in url:
        hint = "Use a file name, sqlite:///memory.db, postgresql://… or memory: (see docs/stores.md)."
        raise StoreUnavailable(f"{url!r:.200} names no memory.", hint=hint)
    return url


def _open(url: str, busy_seconds: float | None) -> Store:
    scheme, _, rest = url.partition(":")
    scheme = scheme.lower()
    if url == "memory:":
        from .inmemory import InMemoryStore

        return InMemoryStore()
    if scheme in ("postgresql", "postgres"):
        from .postgres import PostgresStore

        return PostgresStore(url, busy_seconds=busy_seconds)
    if "://" in url and scheme != "sqlite":
        raise StoreUnavailable(
            f"No store speaks {scheme}://.",
            hint="Use a file name, sqlite:///memory.db, postgresql://… or memory: (see docs/stores.md).",
        )
    if scheme == "sqlite" and not rest.startswith("///"):
        raise StoreUnavailable(f"{url!r:.200} names no file.", hint="Write sqlite:///memory.db, or sqlite:////var/lib/memory.db.")
    from .sqlite import SqliteStore

    path = rest.removeprefix("///") if scheme == "sqlite" and rest.startswith("///") else url
    return SqliteStore(path, **({} if busy_seconds is None else {"busy_seconds": busy_seconds}))
