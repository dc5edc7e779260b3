"""Errors as answers: one table from what went wrong to a status, and one body for all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from .. import errors
from ..errors import InvalidRequest, NotFound, RecollectError, WrongMethod
from ..wire import error_json

STATUS: Mapping[type[Exception], int] = {
    ValueError: 422,  # whatever else was handed in and can't be used
    RuntimeError: 503,  # whatever else can't be done just now
    OSError: 503,
    errors.ScopeRequired: 422,
    errors.NotAuthenticated: 401,
    errors.NotAllowed: 403,
    errors.UnknownRecord: 404,
    errors.NotFound: 404,
    errors.WrongMethod: 405,
    errors.DuplicateRecord: 409,
    errors.KeyInUse: 409,
    errors.RecordChanged: 412,
    errors.TooLarge: 413,
    errors.TooManyRequests: 429,
    errors.Overloaded: 503,
    errors.TookTooLong: 503,
    errors.StoreUnavailable: 503,
    errors.NotADatabase: 503,
    errors.NewerSchema: 503,
    errors.EmbedderFailed: 503,
    errors.MissingExtra: 503,
    errors.UnknownEmbedder: 503,
    errors.UnknownReranker: 503,
    errors.ModelNotInstalled: 503,
    errors.ModelDamaged: 503,
}
_AGAIN = {401: ("WWW-Authenticate", "Bearer"), 429: ("Retry-After", "1"), 503: ("Retry-After", "1")}


def status_of(error: RecollectError) -> int:
    """The status of an error, or of the nearest class it derives from."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def problem(error: RecollectError, headers: Mapping[str, str] | None = None) -> Response:
    """An error as the answer to a request."""
    status = status_of(error)
    more = dict([_AGAIN[status]]) if status in _AGAIN else {}
    return answer(error_json(error), status=status, headers={**more, **(headers or {})})


def unexpected() -> Response:
    """For what should not happen: nothing of it is told, the log has the place."""
    said = {"code": "internal_error", "message": "Something went wrong in the server.", "hint": "Its log tells where."}
    return answer({"error": said}, status=500)


def answer(found: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Plain data as an answer in JSON."""
    return Response(packed(found), status, dict(headers or {}), "application/json")


def packed(found: Any) -> bytes:
    """JSON in ASCII: whatever half characters somebody's metadata holds, it can be sent."""
    return json.dumps(found, separators=(",", ":")).encode("ascii")


def misread(faults: Sequence[Mapping[str, Any]]) -> InvalidRequest:
    """What pydantic found wrong with a request, in a sentence. What was given is not repeated."""
    told = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in faults[:3]]
    message = ("; ".join(told) or "The request can't be read").encode("ascii", "replace").decode()
    return InvalidRequest(f"{message[:400]}.", hint="See /docs for what it may hold.")


def of_status(status: int, headers: Mapping[str, str] | None, method: str) -> Response:
    """What the framework itself refuses."""
    if status == 404:
        return problem(NotFound(hint="See /docs for what there is."))
    if status == 405:
        return problem(WrongMethod(f"This address does not take {method[:20]}.", hint="See /docs."), headers)
    return problem(InvalidRequest("The request can't be read.", hint="Send JSON in UTF-8."))
