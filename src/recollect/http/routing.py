"""How an endpoint is declared: FastAPI's router, with what all of ours have in common said once.

`answers` is what a good answer holds, for the OpenAPI document; the answer itself comes ready made. Every endpoint may refuse in
the same few ways, and all refusals look alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.responses import Response

from .answers import Refusal

REFUSALS = {
    401: "No valid access token.",
    403: "The token does not allow it.",
    404: "No such record.",
    409: "It is there already, or is being done.",
    412: "The record is another by now.",
    413: "Too large.",
    422: "Something about the request can't be used.",
    429: "Too many requests; Retry-After says when to go on.",
    503: "The store or the server can't answer now; Retry-After says when to try again.",
}
NEEDS = {"GET": set(REFUSALS) - {409, 412}, "POST": set(REFUSALS) - {412}}


class Route(APIRoute):
    """A route that knows which parameters it takes."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        # an id may hold slashes; what ends so is the history of an id, whatever the method
        self.path_regex = re.compile(self.path_regex.pattern.replace("(?P<id>.*)$", "(?P<id>(?!.*/history$).*)$"))
        self.known = frozenset(_names(self.dependant))


class Door(APIRouter):
    """A router whose routes say what they answer with."""

    def __init__(self, **named: Any) -> None:
        super().__init__(route_class=Route, **named)

    def get(self, path: str, **about: Any):
        return self._declared("GET", path, **about)

    def post(self, path: str, **about: Any):
        return self._declared("POST", path, **about)

    def patch(self, path: str, **about: Any):
        return self._declared("PATCH", path, **about)

    def delete(self, path: str, **about: Any):
        return self._declared("DELETE", path, **about)

    def _declared(
        self, method: str, path: str, *, answers: Any, status_code: int = 200, headers: Mapping[str, Any] | None = None,
        others: Mapping[int, str] | None = None, media: str = "application/json", **about: Any,
    ) -> Callable:  # fmt: skip
        refused = NEEDS.get(method, set(REFUSALS))
        responses = {status: {"model": Refusal, "description": REFUSALS[status]} for status in sorted(refused)}
        good = {status_code: {"model": answers, **({"headers": headers} if headers else {})}}
        if media != "application/json":
            good, about["response_class"] = {status_code: {"content": {media: {"schema": {"type": "string"}}}}}, Response
        more = {status: {"description": said} for status, said in (others or {}).items()}
        return self.api_route(
            path, methods=[method], response_model=None, status_code=status_code, responses={**good, **more, **responses}, **about
        )


def _names(dependant: Any) -> list[str]:
    own = [param.alias for param in dependant.query_params]
    return own + [name for one in dependant.dependencies for name in _names(one)]
