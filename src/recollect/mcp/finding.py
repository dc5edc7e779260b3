"""The two tools that ChatGPT's connectors ask for: search and fetch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel, Field

from ..http.shapes import Shape
from ..memory import Memory
from ..records import Record
from ..wire import record_json
from .tools import Said, Tool

TITLE = 80


class Search(Shape):
    query: str = Field(description="What to look for, in plain words.")


class Fetch(Shape):
    id: str = Field(description="An id that search gave.")


class Found(BaseModel):
    id: str
    title: str
    url: str


class Results(BaseModel):
    results: list[Found]


class Document(Found):
    text: str
    metadata: dict[str, Any]


def _search(memory: Memory, asked: Search) -> Said:
    return _said({"results": [_entry(hit.record) for hit in memory.recall(asked.query)]})


def _fetch(memory: Memory, asked: Fetch) -> Said:
    record = memory.get(asked.id)
    about = {name: value for name, value in record_json(record).items() if name not in ("id", "text")}
    return _said({**_entry(record), "text": record.text, "metadata": about})


def _entry(record: Record) -> dict[str, Any]:
    line = " ".join(record.text.split())
    title = line if len(line) <= TITLE else line[: TITLE - 1].rstrip() + "…"
    return {"id": record.id, "title": title, "url": f"recollect://memory/{quote(record.id, safe='')}"}


def _said(found: dict[str, Any]) -> Said:
    return Said(found, json.dumps(found))


SEARCH: Sequence[Tool] = (
    Tool(
        name="search", title="Search", takes=Search, answers=Results, run=_search,
        about="Search what is remembered. Gives ids and titles; fetch gives the whole of one.",
    ),
    Tool(name="fetch", title="Fetch", takes=Fetch, answers=Document, run=_fetch, about="The whole of one memory, by its id."),
)  # fmt: skip
