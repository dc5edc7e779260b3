"""The HTTP door as an ASGI application: `create(memory)`. Thin: endpoints translate, `Memory` does the work, in threads."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from .. import __version__
from ..errors import InvalidRequest, RecollectError
from ..memory import Memory
from . import asking, memories, pages, tuning, watch
from .gate import OPEN, App, Gate
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

    inner = Documented(
        title="recollect", version=__version__, description=ABOUT, docs_url=None, redoc_url=None, lifespan=lifespan,
        exception_handlers=HANDLERS, separate_input_output_schemas=False,
    )  # fmt: skip
    for door in DOORS:
        inner.router.routes.extend(door.routes)  # as they are: include_router makes them anew, without their regular expressions
    service.counts = Counts((route.path_format for door in DOORS for route in door.routes), counts)
    return Gate(inner, service, watch.Watch(service))


class Documented(FastAPI):
    """FastAPI, whose OpenAPI document says how tokens are sent. Without tokens on the server, none is needed."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            document = super().openapi()
            document.setdefault("components", {})["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            for path, methods in document["paths"].items():
                for one in methods.values():
                    one["security"] = [] if OPEN.fullmatch(path) else [{"token": []}, {}]
        return self.openapi_schema


async def _told(request: Request, error: Any) -> Response:
    return problem(error)


async def _misread(request: Request, error: Any) -> Response:
    if request.scope["state"]["body"] and not _is_json(request.headers.get("content-type", "")):
        return problem(InvalidRequest("The body is not said to be JSON.", hint="Send the header Content-Type: application/json."))
    return problem(misread(error.errors()))


def _is_json(kind: str) -> bool:
    media = kind.partition(";")[0].strip().lower()
    return media == "application/json" or (media.startswith("application/") and media.endswith("+json"))


async def _refused(request: Request, error: Any) -> Response:
    return of_status(error.status_code, _allowed(request) if error.status_code == 405 else error.headers, request.method)


def _allowed(request: Request) -> dict[str, str]:
    """All methods of an address: the framework tells those of the first route that has it."""
    routes = (route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE)
    methods = {method for route in routes for method in route.methods or ()}
    return {"Allow": ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))}


async def _failed(request: Request, error: Any) -> Response:
    return unexpected()


HANDLERS: dict[Any, Any] = {
    RecollectError: _told, RequestValidationError: _misread, HTTPException: _refused, Exception: _failed,
}  # fmt: skip
