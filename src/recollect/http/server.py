"""`recollect serve`: uvicorn around the application, in one process or several, until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import uvicorn
from uvicorn.supervisors import Multiprocess

from ..access import Access
from ..errors import NotAllowed
from ..memory import Memory
from ..records import Scope
from ..settings import Settings
from .app import create
from .gate import HERE, App
from .service import Limits

NOBODY = "recollect"  # the scope of the memory that others are opened from


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


def serve(serving: Serving, said: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; then finish what was begun."""
    here = serving.host in HERE
    if not here and not _has_tokens(serving):
        raise NotAllowed(
            f"Without access tokens the server binds to this machine only, not to {serving.host}.",
            hint="Make one first: recollect token create --owner acme/alice --write.",
        )
    config = uvicorn.Config(
        partial(application, serving), factory=True, host=serving.host, port=serving.port, workers=serving.workers,
        access_log=False, log_level="warning", server_header=False, date_header=False, ws="none", lifespan="on",
        timeout_graceful_shutdown=int(serving.limits.seconds) + 1, http="httptools",
    )  # fmt: skip
    socket = config.bind_socket()
    host, port = socket.getsockname()[:2]
    said(f"Serving {serving.url} on http://{f'[{host}]' if ':' in host else host}:{port}")
    if here and not _has_tokens(serving):
        said("There are no access tokens: every program on this machine may read and write. recollect token create makes one.")
    if serving.workers == 1:
        uvicorn.Server(config).run(sockets=[socket])
    else:
        Multiprocess(config, sockets=[socket]).run()


def application(serving: Serving) -> App:
    """The application of one worker process."""
    return create(_memory(serving), limits=serving.limits, owner=serving.owner, here=serving.host in HERE)


def _memory(serving: Serving) -> Memory:
    return Memory.open(serving.url, scope=Scope(owner=NOBODY), settings=serving.settings)


def _has_tokens(serving: Serving) -> bool:
    with _memory(serving) as memory:
        return Access(memory.store, memory.now).needed()
