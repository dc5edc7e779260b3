"""Fixtures: every store we have, empty, one after the other; a clock that stands still."""

from __future__ import annotations

import os

import postgres_server
import pytest

pytest.register_assert_rewrite("recollect.conformance", "recollect.testing")

ELSEWHERE = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST", "COHERE_API_KEY", "VOYAGE_API_KEY")
STORES = ("inmemory", "sqlite", "postgres")


def store_url(name: str, folder) -> str:
    """Where an empty store of this kind is."""
    return {"inmemory": "memory:", "sqlite": f"sqlite:///{folder}/memory.db"}.get(name) or postgres_server.server().empty()


@pytest.fixture(autouse=True, scope="session")
def nobodys_settings(tmp_path_factory):
    """No test sees the settings, the keys or the installed models of whoever runs it."""
    patch = pytest.MonkeyPatch()
    for name in [name for name in os.environ if name.startswith("RECOLLECT_") or name in ELSEWHERE]:
        patch.delenv(name)
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        patch.setenv(name, str(tmp_path_factory.mktemp("home")))
    yield
    patch.undo()


def pytest_sessionfinish():
    postgres_server.stop()


@pytest.fixture
def open_store():
    """recollect.stores.open_store, closing what it opened."""
    from recollect import stores

    opened = []

    def open_and_keep(url: str, **options):
        opened.append(stores.open_store(url, **options))
        return opened[-1]

    yield open_and_keep
    for store in opened:
        store.close()


@pytest.fixture(params=STORES)
def store(request, tmp_path, open_store):
    """An empty store of each kind."""
    return open_store(store_url(request.param, tmp_path))


@pytest.fixture
def clock():
    from recollect.testing import FixedClock

    return FixedClock()


@pytest.fixture(params=STORES)
def open_memory(request, tmp_path):
    """Memory.open on each kind of store, with a clock that stands still and no settings from outside; closes what it opened."""
    yield from _opening(store_url(request.param, tmp_path))


@pytest.fixture
def open_embedded(tmp_path):
    """The same on sqlite alone: for what has nothing to do with the store, in many variations."""
    yield from _opening(store_url("sqlite", tmp_path))


def _opening(url: str):
    from recollect import Memory
    from recollect.settings import Settings
    from recollect.testing import FixedClock

    opened = []

    def open_and_keep(**given):
        given = {"owner": "alice", "embedder": "none", "clock": FixedClock(), "settings": Settings(), **given}
        opened.append(Memory.open(given.pop("url", None) or url, **given))
        return opened[-1]

    yield open_and_keep
    for memory in opened:
        memory.close()
