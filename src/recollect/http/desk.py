"""Where an endpoint hands its work in: whose memory it is for, in a thread, and what comes of it as an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request
from starlette.responses import Response

from ..errors import InvalidRequest, NotAllowed
from ..memory import Memory
from ..rankings import Answer
from ..recipe_fields import nearest
from ..records import micros
from .once import Key, once
from .problems import answer
from .service import Caller, Service

ONCE = "Sent again with the same key, the request is not done again: the first answer comes back, for a day."
_NAME = r"[^\s/\x00-\x1f\x7f][^/\x00-\x1f\x7f]*"
_PATH = {"minLength": 1, "pattern": f"^{_NAME}(/{_NAME})*$"}  # said in the document; the engine judges
OWNER = "Whose memory, such as acme/alice; for a token, its own owner path or one below it."
_OWNER: dict[str, Any] = {"description": OWNER, "max_length": 400, "json_schema_extra": _PATH}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a write answers with, where 200 and a body are not enough."""

    found: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Desk:
    """See the module."""

    __slots__ = ("_caller", "_service", "key", "owner")

    def __init__(self, request: Request, named: str | None, key: str | None = None) -> None:
        state = request.scope["state"]
        self._service: Service = state["service"]
        self._caller: Caller = state["caller"]
        self.owner = self._caller.owner(named, self._service.owner)
        whole = (request.method.encode(), request.url.path.encode(), request.scope["query_string"], state["body"])
        self.key = None if key is None else Key.of(key, self.owner, *whole)

    async def read(self, work: Callable[[Memory], Any]) -> Response:
        """The answer to a question."""
        return await self._service.threads.run(self._answer, work)

    async def write(self, work: Callable[[Memory], Any]) -> Response:
        """The answer to what changes something: for those who may."""
        if not self._caller.may_write:
            raise NotAllowed("The token may only read.", hint="Make one that may write: recollect token create --write.")
        return await self._service.threads.run(self._answer if self.key is None else self._once, work)

    def count(self, answer: Answer) -> Answer:
        """Note what the routes of an answer did, and whoever read it again."""
        for ranking in answer.diagnostics.routes:
            self._service.counts.route(ranking.route.kind, ranking.status)
        if answer.diagnostics.rerank is not None:
            self._service.counts.route("rerank", answer.diagnostics.rerank.status)
        return answer

    def _answer(self, work: Callable[[Memory], Any]) -> Response:
        found = work(self._service.memory_of(self.owner))
        if isinstance(found, Response):
            return found
        reply = _reply(found)
        return answer(reply.found, status=reply.status, headers=reply.headers)

    def _once(self, work: Callable[[Memory], Any]) -> Response:
        memory = self._service.memory_of(self.owner)
        reply, fresh = once(self.key, memory.store, micros(memory.now()), lambda: asdict(_reply(work(memory))))
        headers = {**reply["headers"], **({} if fresh else {"Idempotency-Replayed": "true"})}
        return answer(reply["found"], status=reply["status"], headers=headers)


async def _desk(
    request: Request,
    header: Annotated[str | None, Header(alias="X-Recollect-Owner", **_OWNER)] = None,
    owner: Annotated[str | None, Query(**_OWNER)] = None,
) -> Desk:
    _known(request)
    if header is not None and owner is not None and header != owner:
        raise NotAllowed("The header and the parameter name two owners.", hint="Name one.")
    return Desk(request, owner if owner is not None else header)


async def _writing(
    request: Request,
    desk: Annotated[Desk, Depends(_desk)],
    key: Annotated[str | None, Header(alias="Idempotency-Key", description=ONCE, max_length=255)] = None,
) -> Desk:
    return desk if key is None else Desk(request, desk.owner, key)


AtDesk = Annotated[Desk, Depends(_desk)]
ToWrite = Annotated[Desk, Depends(_writing)]


def _reply(found: Any) -> Reply:
    return found if isinstance(found, Reply) else Reply(found=found)


def _known(request: Request) -> None:
    """Refuse a parameter that is not there: a misspelt filter would answer another question."""
    known = request.scope["route"].known
    for name in request.query_params:
        if name not in known:
            raise InvalidRequest(
                f"There is no parameter {name.encode('ascii', 'replace').decode():.60}.",
                hint=f"{nearest(name, known)} There are {', '.join(sorted(known))}.".strip(),
            )
