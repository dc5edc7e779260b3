"""`recollect serve`: uvicorn around the application, in one process or several, until it is told to stop."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn
from uvicorn.supervisors import Multiprocess

from ..access import Access
from ..errors import NotAllowed
from ..memory import Memory
from ..records import Scope
from ..settings import Settings
from ..stores import without_secrets
from . import logs
from .app import create
from .connection import Connection
from .gate import HERE, App
from .service import Limits

NOBODY = "recollect"  # the scope of the memory that others are opened from


Build = Callable[["Serving", Path], App]


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Everything a worker process needs to know."""

    settings: Settings
    url: str
    owner: str | None
    host: str
    port: int
    workers: int
    limits: Limits
    log: str = "info"


def serve(serving: Serving, said: Callable[[str], None], build: Build | None = None) -> None:
    """Serve until SIGINT or SIGTERM; then finish what was begun. `build`: makes the application of a worker process."""
    here = serving.host in HERE
    if not here and not _has_tokens(serving):
        raise NotAllowed(
            f"Without access tokens the server binds to this machine only, not to {serving.host}.",
            hint="Make one first: recollect token create --owner acme/alice --write.",
        )
    logs.start(serving.log)
    with TemporaryDirectory(prefix="recollect-") as counts, _ending_well():
        _serve(serving, partial(build or application, serving, Path(counts)), here, said)


@contextmanager
def _ending_well() -> Iterator[None]:
    """Let SIGTERM end the process with status 0: uvicorn finishes what was begun, then raises the signal once more."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _serve(serving: Serving, app: Callable[[], App], here: bool, said: Callable[[str], None]) -> None:
    config = uvicorn.Config(
        app, factory=True, host=serving.host, port=serving.port, workers=serving.workers,
        http=Connection, ws="none", lifespan="on", log_config=None, log_level="warning", access_log=False, server_header=False,
        date_header=False, timeout_graceful_shutdown=int(serving.limits.seconds) + 1,
    )  # fmt: skip
    socket = config.bind_socket()
    socket.listen(config.backlog)  # from here on who connects is heard, if not answered at once
    host, port = socket.getsockname()[:2]
    said(f"Serving {without_secrets(serving.url)} on http://{f'[{host}]' if ':' in host else host}:{port}")
    if here and not _has_tokens(serving):
        said("There are no access tokens: every program on this machine may read and write. recollect token create makes one.")
    if serving.workers == 1:
        uvicorn.Server(config).run(sockets=[socket])
    else:
        Multiprocess(config, sockets=[socket]).run()


def application(serving: Serving, counts: Path) -> App:
    """The application of one worker process."""
    prepare(serving)
    return create(open_memory(serving), limits=serving.limits, owner=serving.owner, here=serving.host in HERE, counts=counts)


def prepare(serving: Serving) -> None:
    """What a worker process does first."""
    logs.start(serving.log)


def open_memory(serving: Serving) -> Memory:
    """The memory that those of all owners are opened from."""
    return Memory.open(serving.url, scope=Scope(owner=NOBODY), settings=serving.settings)


def _has_tokens(serving: Serving) -> bool:
    with open_memory(serving) as memory:
        return Access(memory.store, memory.now).needed()
