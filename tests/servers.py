"""A server for tests: an application on a free port, in a thread, as `recollect serve` runs it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from recollect import Memory, Scope
from recollect.http.connection import Connection
from recollect.settings import Settings


def any_memory(**given) -> Memory:
    """A memory as a server opens it: for nobody in particular."""
    usual = {"url": "memory:", "scope": Scope(owner="recollect"), "embedder": "hashing", "settings": Settings()}
    return Memory.open(**usual | given)


@contextmanager
def running(app) -> Iterator[int]:
    """The application's port, while it runs."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=Connection, ws="none", lifespan="on", log_config=None, log_level="error", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started:
        assert thread.is_alive() and time.monotonic() < deadline, "the server did not start"
        time.sleep(0.01)
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive(), "the server did not stop"
