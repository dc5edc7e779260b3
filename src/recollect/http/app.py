"""The HTTP door as an ASGI application: `create(memory)`. Thin: endpoints translate, `Memory` does the work, in threads."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from .. import __version__
from ..errors import RecollectError
from ..memory import Memory
from . import asking, memories, pages, tuning, watch
from .gate import App, Gate
from .metrics import Counts
from .problems import misread, of_status, problem, unexpected
from .service import Limits, Service

DOORS = (memories.door, asking.door, tuning.door, watch.door, pages.door)
ABOUT = """Memory for agents: remembers what was said, recalls it by words, meaning and time, and says why.

Send `Authorization: Bearer …` with a token of `recollect token create`. `X-Recollect-Owner` or `owner=` names whose memory
is meant; left out, it is the token's own. What goes wrong is told as `{"error": {"code", "message", "hint"}}`.
"""


def create(
    memory: Memory, *, limits: Limits | None = None, owner: str | None = None, here: bool = True, counts: Path | None = None
) -> App:
    """The application around an open memory, which it closes when it ends.

    `owner`: whose memory is meant where nobody is named. `here`: only this machine can reach it, so that tokens are needed from
    the first one made on; otherwise always. `counts`: the folder in which all processes of one server count.
    """
    service = Service(memory, limits=limits or Limits(), owner=owner, here=here)

    @asynccontextmanager
    async def lifespan(app: FastAPI):
        yield
        await service.threads.end(memory.close)

    inner = FastAPI(
        title="recollect", version=__version__, description=ABOUT, docs_url=None, redoc_url=None, lifespan=lifespan,
        exception_handlers={
            RecollectError: _told, RequestValidationError: _misread, HTTPException: _refused, Exception: _failed,
        }, separate_input_output_schemas=False,
    )  # fmt: skip
    for door in DOORS:
        inner.include_router(door)
    service.counts = Counts((route.path_format for door in DOORS for route in door.routes), counts)
    return Gate(inner, service, watch.Watch(service))


async def _told(request: Request, error: Any) -> Response:
    return problem(error)


async def _misread(request: Request, error: Any) -> Response:
    return problem(misread(error.errors()))


async def _refused(request: Request, error: Any) -> Response:
    return of_status(error.status_code, error.headers, request.method)


async def _failed(request: Request, error: Any) -> Response:
    return unexpected()
