"""Memories as resources: remember, list, look at, change, forget, follow their versions."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Annotated, Any, Literal

from fastapi import Body, Header, Path, Query
from starlette.responses import Response

from ..errors import RecordChanged, UnknownRecord
from ..memory import Memory
from ..records import Record
from ..wire import history_json, page_json, record_json, records_json, told_json
from . import answers, shapes
from .desk import AtDesk, Reply, ToWrite
from .once import Key
from .routing import Door
from .shapes import MOST_AT_ONCE, Kind, Role, When

door = Door(tags=["memories"])
Id = Annotated[str, Path(description="The record's id.", max_length=400)]
Session = Annotated[str, Path(description="The conversation.", min_length=1, max_length=200)]
_ETAG = {"ETag": {"description": "The version of the record: give it as If-Match.", "schema": {"type": "string"}}}


@door.post(
    "/v1/memories", status_code=201, summary="Remember one text, or many",
    answers=answers.Told | answers.ToldMany, description="One memory is answered with its record, a list with `records`.",
)  # fmt: skip
async def remember(
    desk: ToWrite, told: shapes.Memory | Annotated[list[shapes.Memory], Body(min_length=1, max_length=MOST_AT_ONCE)]
):
    items = [one.given() for one in (told if isinstance(told, list) else [told])]

    def work(memory: Memory) -> Reply:
        records = _told(memory, items, desk.key)
        found = [told_json(record, item) for record, item in zip(records, items, strict=True)]
        if isinstance(told, list):
            return Reply(found={"records": found}, status=201)
        return Reply(found=found[0], status=201, headers={"ETag": etag(records[0])})

    return await desk.write(work)


@door.post(
    "/v1/sessions/{session:path}/messages", status_code=201, summary="Remember a conversation, or its end",
    answers=answers.Records,
    description="Answers with the turns that are new or changed: what was sent before is not remembered twice.",
)  # fmt: skip
async def messages(desk: ToWrite, session: Session, said: shapes.Messages):
    given = said.given()
    return await desk.write(
        lambda memory: Reply(found=records_json(memory.remember_messages(session=session, **given)), status=201)
    )


@door.get("/v1/memories", answers=answers.Page, summary="What is remembered, a page at a time")
async def listing(
    desk: AtDesk,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    after: Annotated[str | None, Query(description="`next` of the page before.", max_length=4000)] = None,
    order: Literal["newest", "oldest", "turns"] = "newest",
    kind: Annotated[list[Kind] | None, Query()] = None,
    role: Annotated[list[Role] | None, Query()] = None,
    session: Annotated[list[str] | None, Query()] = None,
    project: Annotated[list[str] | None, Query()] = None,
    as_of: When | None = None,
    since: When | None = None,
    all: Annotated[bool, Query(description="Also what has expired or was superseded.")] = False,
):
    narrower = {"kinds": kind, "roles": role, "sessions": session, "projects": project, "as_of": as_of, "since": since}
    asked = {name: value for name, value in narrower.items() if value is not None}
    return await desk.read(
        lambda memory: page_json(memory.list(limit=limit, order=order, after=after, timeless=all, **asked), limit, order)
    )


@door.get("/v1/memories/{id:path}/history", answers=answers.History, summary="All versions of a memory, oldest first")
async def history(desk: AtDesk, id: Id):
    return await desk.read(lambda memory: history_json(id, memory.history(id)))


@door.get(
    "/v1/memories/{id:path}", answers=answers.Record, summary="One record", headers=_ETAG,
    others={304: "The record is still the one of If-None-Match."},
)  # fmt: skip
async def look(desk: AtDesk, id: Id, if_none_match: Annotated[str | None, Header(max_length=400)] = None):
    def work(memory: Memory) -> Any:
        record = memory.get(id)
        if if_none_match is not None and _matches(if_none_match, record):
            return Response(status_code=304, headers={"ETag": etag(record)})
        return _shown(record)

    return await desk.read(work)


@door.patch("/v1/memories/{id:path}", answers=answers.Record, summary="Change fields of a record", headers=_ETAG)
async def change(
    desk: ToWrite, id: Id, fields: shapes.Change, if_match: Annotated[str | None, Header(max_length=400)] = None
):
    return await desk.write(
        lambda memory: _shown(memory.amend(id, expected=_expected(memory, id, if_match), **fields.sent()))
    )


@door.delete("/v1/memories/{id:path}", answers=answers.Receipt, summary="Remove a record and everything made from it")
async def forget(desk: ToWrite, id: Id, if_match: Annotated[str | None, Header(max_length=400)] = None):
    return await desk.write(lambda memory: memory.forget(id, expected=_expected(memory, id, if_match)))


def etag(record: Record) -> str:
    """The version of a record: a hash of all it holds."""
    said = json.dumps(record_json(record), sort_keys=True).encode("ascii")
    return f'"{blake2b(said, digest_size=12).hexdigest()}"'


def _told(memory: Memory, items: list[dict[str, Any]], key: Key | None) -> list[Record]:
    """Remember, or find again: with an Idempotency-Key the ids come from it, and a process may have died halfway through."""
    if key is None:
        return memory.remember_many(items)
    ids = [item.get("id") or key.id(number) for number, item in enumerate(items)]
    there = {id: record for id, item in zip(ids, items, strict=True) if not item.get("id") and (record := _found(memory, id))}
    fresh = [item | {"id": id} for id, item in zip(ids, items, strict=True) if id not in there]
    there |= {record.id: record for record in memory.remember_many(fresh)}
    return [there[id] for id in ids]


def _found(memory: Memory, id: str) -> Record | None:
    try:
        return memory.get(id)
    except UnknownRecord:
        return None


def _shown(record: Record) -> Reply:
    return Reply(found=record_json(record), headers={"ETag": etag(record)})


def _expected(memory: Memory, id: str, if_match: str | None) -> Record | None:
    """The record that If-Match means, which the store then holds us to; or the error that it is another by now."""
    if if_match is None or if_match.strip() == "*":
        return None
    record = memory.get(id)
    if not _matches(if_match, record):
        raise RecordChanged(f"The record is {etag(record)} by now.", hint="Get it again, then decide.")
    return record


def _matches(header: str, record: Record) -> bool:
    named = [one.strip().removeprefix("W/") for one in header.split(",")]
    return "*" in named or etag(record) in named
