"""Where an endpoint hands its work in: whose memory it is for, in a thread, and what comes of it as an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request
from starlette.responses import Response

from ..errors import InvalidRequest, NotAllowed
from ..memory import Memory
from ..recipe_fields import nearest
from .problems import packed
from .service import Caller, Service

OWNER = "Whose memory, such as acme/alice; for a token, its own owner path or one below it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a write answers with, where 200 and a body are not enough."""

    found: Any
    status: int = 200
    headers: Mapping[str, str] | None = None


class Desk:
    """See the module."""

    __slots__ = ("_caller", "_request", "_service", "owner")

    def __init__(self, request: Request, named: str | None) -> None:
        state = request.scope["state"]
        self._service: Service = state["service"]
        self._caller: Caller = state["caller"]
        self._request = request
        self.owner = self._caller.owner(named, self._service.owner)

    async def read(self, work: Callable[[Memory], Any]) -> Response:
        """The answer to a question."""
        return await self._service.threads.run(self._answer, work)

    async def write(self, work: Callable[[Memory], Any]) -> Response:
        """The answer to what changes something: for those who may."""
        if not self._caller.may_write:
            raise NotAllowed("The token may only read.", hint="Make one that may write: recollect token create --write.")
        return await self._service.threads.run(self._answer, work)

    def _answer(self, work: Callable[[Memory], Any]) -> Response:
        found = work(self._service.memory_of(self.owner))
        if isinstance(found, Response):
            return found
        reply = found if isinstance(found, Reply) else Reply(found=found)
        return Response(packed(reply.found), reply.status, dict(reply.headers or {}), "application/json")


async def _desk(
    request: Request,
    header: Annotated[str | None, Header(alias="X-Recollect-Owner", description=OWNER, max_length=400)] = None,
    owner: Annotated[str | None, Query(description=OWNER, max_length=400)] = None,
) -> Desk:
    _known(request)
    if header is not None and owner is not None and header != owner:
        raise InvalidRequest("The header and the parameter name two owners.", hint="Name one.")
    return Desk(request, owner if owner is not None else header)


AtDesk = Annotated[Desk, Depends(_desk)]


def _known(request: Request) -> None:
    """Refuse a parameter that is not there: a misspelt filter would answer another question."""
    known = request.scope["route"].known
    for name in request.query_params:
        if name not in known:
            raise InvalidRequest(
                f"There is no parameter {name.encode('ascii', 'replace').decode():.60}.",
                hint=f"{nearest(name, known)} There are {', '.join(sorted(known))}.".strip(),
            )
