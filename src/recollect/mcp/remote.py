"""The tools over HTTP, at /mcp, for whoever has an access token.

Each request stands for itself: there is no session to be taken over, and any worker process may answer. Before it comes here it
has passed the gate of the HTTP door, with its tokens, limits, log and counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.routing import Mount

from ..errors import NotFound
from ..http import watch
from ..http.app import HANDLERS
from ..http.gate import HERE, App, Gate
from ..http.metrics import Counts
from ..http.server import Serving, open_memory, prepare
from ..http.service import Caller, Limits, Service
from ..memory import Memory
from .door import Door

PATH = "/mcp"


def application(sets: Sequence[str], read_only: bool, serving: Serving, counts: Path) -> App:
    """The application of one worker process."""
    prepare(serving)
    here, memory = serving.host in HERE, open_memory(serving)
    return create(memory, sets, read_only=read_only, limits=serving.limits, owner=serving.owner, here=here, counts=counts)


def create(
    memory: Memory, sets: Sequence[str] = ("memory",), *, read_only: bool = False, limits: Limits | None = None,
    owner: str | None = None, here: bool = True, counts: Path | None = None,
) -> App:  # fmt: skip
    """The ASGI application around an open memory, which it closes when it ends."""
    service = Service(memory, limits=limits or Limits(), owner=owner, here=here)
    service.counts = Counts((PATH, *(route.path_format for route in watch.door.routes)), counts)

    def whose(request: Any) -> tuple[Caller, str]:
        caller = request.scope["state"]["caller"]
        return caller._replace(reads_only=read_only), caller.owner(request.headers.get("x-recollect-owner"), owner)

    tools = Door(sets, service.threads, whose, service.memory_of).server().streamable_http_app(
        streamable_http_path=PATH, json_response=True, stateless_http=True, max_request_body_size=service.limits.body,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the gate sees to it
    )  # fmt: skip

    async def checked(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] != PATH:
            raise NotFound(hint=f"The tools are at {PATH}.")
        whose(Request(scope))  # whoever may not name that owner is told so before the protocol begins
        await tools(scope, receive, send)

    @asynccontextmanager
    async def lifespan(app: FastAPI):
        async with tools.router.lifespan_context(tools):
            yield
        await service.threads.end(memory.close)

    inner = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan, exception_handlers=HANDLERS)
    inner.router.routes.extend([*watch.door.routes, Mount("/", checked)])
    return Gate(inner, service, watch.Watch(service))
