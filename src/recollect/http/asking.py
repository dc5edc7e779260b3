"""Questions: recall, explain, context, and the search for episodes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from ..asking import LONGEST_QUESTION
from ..memory import Memory
from ..wire import context_json, entities_json, neighborhood_json, recall_json, record_json
from . import answers, shapes
from .desk import AtDesk
from .routing import Door
from .shapes import Kind, Role, When

door = Door(tags=["questions"])
Question = Annotated[str, Query(max_length=LONGEST_QUESTION, description="The question.", examples=["vacation plans"])]
BY_WORDS = "nexus(weights={vector: 0, lexical: 1})"


@door.post("/v1/recall", answers=answers.Answer, summary="The memories that answer a question, best first")
async def recall(desk: AtDesk, asked: shapes.Recall):
    return await desk.read(
        lambda memory: recall_json(desk.count(memory.recall(asked.query, **asked.narrowed())), explain=asked.explain)
    )


@door.post("/v1/explain", answers=answers.Explanation, summary="Why these memories; or why not that one")
async def explain(desk: AtDesk, asked: shapes.Explain):
    return await desk.read(lambda memory: memory.explain(asked.query, expect=asked.expect, **asked.narrowed()).to_dict())


@door.post("/v1/inspect", answers=answers.Inspection, summary="The whole picture: every candidate, and what became of it")
async def inspect(desk: AtDesk, asked: shapes.Ask):
    return await desk.read(lambda memory: memory.inspect(asked.query, **asked.narrowed()).to_dict())


@door.get("/v1/context", answers=answers.Context, summary="Results, and the <memory> block for a prompt")
async def context(
    desk: AtDesk,
    query: Question,
    limit: Annotated[int | None, Query(ge=1, le=1000)] = None,
    recipe: Annotated[str | None, Query()] = None,
    session: Annotated[str | None, Query(description="The session that is asking.")] = None,
    first_turn: bool = False,
    max_chars: Annotated[int, Query(ge=1, le=1_000_000)] = 2000,
    max_tokens: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    ids: Annotated[bool, Query(description="Put each record's id before it.")] = False,
    kinds: Annotated[list[Kind] | None, Query()] = None,
    roles: Annotated[list[Role] | None, Query()] = None,
    sessions: Annotated[list[str] | None, Query()] = None,
    projects: Annotated[list[str] | None, Query()] = None,
    exclude: Annotated[list[str] | None, Query(description="Ids to leave out.")] = None,
    as_of: When | None = None,
    since: When | None = None,
):
    filters = {"kinds": kinds, "roles": roles, "sessions": sessions, "projects": projects, "exclude": exclude}
    asked = {name: value for name, value in (filters | {"as_of": as_of, "since": since}).items() if value is not None}

    def work(memory: Memory):
        told = memory.recall(query, limit=limit, recipe=recipe, session=session, first_turn=first_turn, **asked)
        answer = desk.count(told)
        return context_json(answer, memory.render(answer, max_chars=max_chars, max_tokens=max_tokens, ids=ids))

    return await desk.read(work)


@door.get("/v1/entities", answers=answers.Entities, summary="Named things that memories speak of, most often mentioned first")
async def entities(desk: AtDesk, limit: Annotated[int, Query(ge=1, le=1000)] = 100):
    return await desk.read(lambda memory: entities_json(memory.entities(limit=limit)))


@door.get("/v1/neighborhood", answers=answers.Neighborhood, summary="What an entity is linked to")
async def neighborhood(
    desk: AtDesk,
    entity: Annotated[str, Query(max_length=200, description="Its name, or one of them.", examples=["Priya"])],
    hops: Annotated[int, Query(ge=1, le=5)] = 1,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
):
    return await desk.read(lambda memory: neighborhood_json(memory.neighborhood(entity, hops=hops, limit=limit)))


@door.get(
    "/episodes/search", answers=list[answers.Episode], summary="Episodes that hold these words",
    description="Whole records, best first, found by their words alone; with `sessionIds`, only of those sessions.",
)  # fmt: skip
async def episodes(
    desk: AtDesk,
    q: Question,
    sessionIds: Annotated[str | None, Query(description="Sessions, separated by commas.", examples=["1,2,3"])] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 10,
):
    sessions = None if sessionIds is None else [name.strip() for name in sessionIds.split(",") if name.strip()]
    if sessions == []:  # a scope that holds no session, not the lack of a scope
        return await desk.read(lambda memory: [])
    return await desk.read(
        lambda memory: [
            record_json(hit.record) | {"session_id": hit.session}
            for hit in memory.recall(q, recipe=BY_WORDS, limit=limit, sessions=sessions)
        ]
    )
