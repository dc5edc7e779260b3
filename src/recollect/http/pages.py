"""Pages for people: the inspector at `/` with its files, and the reference at `/docs`. All of it is in the package."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

door = APIRouter(include_in_schema=False)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
KINDS = {
    "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml", "png": "image/png", "woff2": "font/woff2", "ico": "image/x-icon",
}  # fmt: skip


@door.get("/")
async def inspector() -> Response:
    return _file("index.html")


@door.get("/web/{name}")
async def part(name: str) -> Response:
    return _file(name)


@door.get("/docs")
async def reference(request: Request) -> Response:
    return _page(_reference(request.app.openapi()).encode(), "text/html; charset=utf-8")


def _file(name: str) -> Response:
    """A file of the folder `web`. A name with a slash in it never comes here, and the rest is looked up, not joined."""
    found = next((file for file in files("recollect").joinpath("web").iterdir() if file.name == name and file.is_file()), None)
    kind = KINDS.get(name.rpartition(".")[2])
    if found is None or kind is None:
        raise HTTPException(404)
    return _page(found.read_bytes(), kind)


def _page(body: bytes, kind: str) -> Response:
    return Response(body, 200, {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}, kind)


# The reference: the OpenAPI document as a page that needs no script


def _reference(document: dict[str, Any]) -> str:
    said = [_operation(path, method, one) for path, methods in document["paths"].items() for method, one in methods.items()]
    about = document["info"]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<title>{escape(about["title"])}</title><link rel="stylesheet" href="/web/docs.css"><main>'
        f"<h1>{escape(about['title'])} {escape(about['version'])}</h1><p>{escape(about['description'])}</p>"
        f'<p><a href="/openapi.json">The same as an OpenAPI document</a></p>{"".join(said)}</main></html>'
    )


def _operation(path: str, method: str, one: dict[str, Any]) -> str:
    parameters = "".join(_parameter(parameter) for parameter in one.get("parameters", ()))
    body = one.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    refusals = ", ".join(f"{status} {escape(answer['description'])}" for status, answer in one["responses"].items())
    return (
        f'<section><h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(one.get("summary", ""))}. '
        f"{escape(one.get('description', ''))}</p>{f'<dl>{parameters}</dl>' if parameters else ''}"
        f"{f'<p>Body: <code>{escape(_named(body))}</code></p>' if body else ''}<p class=answers>{refusals}</p></section>"
    )


def _parameter(parameter: dict[str, Any]) -> str:
    return (
        f"<dt><code>{escape(parameter['name'])}</code> in {escape(parameter['in'])}"
        f"{', needed' if parameter.get('required') else ''}</dt><dd>{escape(parameter.get('description', ''))}</dd>"
    )


def _named(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    return " or ".join(map(_named, schema["anyOf"])) if "anyOf" in schema else schema.get("type", "any")
