"""The nine tools of MCP's reference memory server, under its names and with its shapes: entities, relations, observations.

Each of these is a record of its own in the project "knowledge graph": recalled, explained, exported and forgotten like any
other. Ids are made from what they say, so that creating a thing again changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

from pydantic import BaseModel, Field

from ..errors import UnknownRecord
from ..http.shapes import Name, Shape, Text
from ..memory import Memory
from ..records import ENTITY_TYPES, Record
from .tools import Tool

PROJECT = "knowledge graph"
BY_WORDS = "nexus(weights={vector: 0, lexical: 1})@50"


class Entity(Shape):
    name: Name
    entityType: Name
    observations: list[Text] = Field([])


class Relation(Shape):
    from_: Name = Field(alias="from")
    to: Name
    relationType: Name = Field(description="In active voice, such as works_at.")


class Graph(BaseModel):
    entities: list[dict[str, Any]]
    relations: list[dict[str, str]]


class CreateEntities(Shape):
    entities: list[Entity]


class Relations(Shape):
    relations: list[Relation]


class Observed(Shape):
    entityName: Name
    contents: list[Text]


class AddObservations(Shape):
    observations: list[Observed]


class DeleteEntities(Shape):
    entityNames: list[Name]


class Unobserved(Shape):
    entityName: Name
    observations: list[Text]


class DeleteObservations(Shape):
    deletions: list[Unobserved]


class Nothing(Shape):
    pass


class Search(Shape):
    query: str = Field(description="What to look for in names, types and observations.")


class Open(Shape):
    names: list[Name]


def _create_entities(memory: Memory, told: CreateEntities) -> dict[str, Any]:
    held = _ids(memory)
    fresh = [one for one in told.entities if _id("entity", one.name) not in held]
    fresh = list({one.name: one for one in fresh}.values())
    _remember(memory, [_entity(one) for one in fresh], held)
    _remember(memory, [_observation(one.name, text) for one in fresh for text in one.observations], held)
    return {"entities": [one.sent() for one in fresh]}


def _create_relations(memory: Memory, told: Relations) -> dict[str, Any]:
    held = _ids(memory)
    drafts = {_relation_id(one): one for one in told.relations}
    fresh = [one for id, one in drafts.items() if id not in held]
    _remember(memory, [_relation(one) for one in fresh], held)
    return {"relations": [one.model_dump(by_alias=True) for one in fresh]}


def _add_observations(memory: Memory, told: AddObservations) -> dict[str, Any]:
    held, results = _ids(memory), []
    for one in told.observations:
        if _id("entity", one.entityName) not in held:
            raise UnknownRecord(f"There is no entity {one.entityName!r:.80}.", hint="Create it first: create_entities.")
    for one in told.observations:
        fresh = [text for text in dict.fromkeys(one.contents) if _id("observation", one.entityName, text) not in held]
        _remember(memory, [_observation(one.entityName, text) for text in fresh], held)
        results.append({"entityName": one.entityName, "addedObservations": fresh})
    return {"results": results}


def _delete_entities(memory: Memory, told: DeleteEntities) -> dict[str, Any]:
    names = set(told.entityNames)
    return _forget(memory, (r for r in _records(memory) if names & {r.metadata.get(part) for part in ("entity", "from", "to")}))


def _delete_observations(memory: Memory, told: DeleteObservations) -> dict[str, Any]:
    ids = {_id("observation", one.entityName, text) for one in told.deletions for text in one.observations}
    return _forget(memory, (record for record in _records(memory) if record.id in ids))


def _delete_relations(memory: Memory, told: Relations) -> dict[str, Any]:
    ids = {_relation_id(one) for one in told.relations}
    return _forget(memory, (record for record in _records(memory) if record.id in ids))


def _read_graph(memory: Memory, asked: Nothing) -> dict[str, Any]:
    return _graph(_records(memory))


def _search_nodes(memory: Memory, asked: Search) -> dict[str, Any]:
    """By words, as recall finds them, and by what merely contains the query, as the reference server does."""
    records, wanted = list(_records(memory)), asked.query.casefold()
    found = {hit.record.metadata.get("entity") for hit in memory.recall(asked.query, recipe=BY_WORDS, projects=[PROJECT])}
    found |= {r.metadata.get("entity") for r in records if wanted in f"{r.text}\n{r.metadata.get('type', '')}".casefold()}
    return _graph(records, found)


def _open_nodes(memory: Memory, asked: Open) -> dict[str, Any]:
    return _graph(_records(memory), set(asked.names))


def _graph(records: Iterable[Record], names: set[Any] | None = None) -> dict[str, Any]:
    """Entities with their observations, and the relations among them; only of these names if some are given."""
    entities: dict[str, dict[str, Any]] = {}
    observations, relations = [], []
    for record in records:
        about = record.metadata
        if about.get("graph") == "entity":
            entities[about["entity"]] = {"name": about["entity"], "entityType": about["type"], "observations": []}
        elif about.get("graph") == "observation":
            observations.append((about["entity"], record.text))
        elif about.get("graph") == "relation":
            relations.append({"from": about["from"], "to": about["to"], "relationType": about["type"]})
    for name, text in observations:
        if name in entities:
            entities[name]["observations"].append(text)
    shown = {name: one for name, one in entities.items() if names is None or name in names}
    among = [one for one in relations if names is None or (one["from"] in shown and one["to"] in shown)]
    return {"entities": list(shown.values()), "relations": among}


def _entity(one: Entity) -> dict[str, Any]:
    kind = one.entityType.lower()
    known = {"name": one.name, "type": kind if kind in ENTITY_TYPES else "thing"}
    about = {"graph": "entity", "entity": one.name, "type": one.entityType}
    return {"id": _id("entity", one.name), "text": one.name, "entities": [known], "metadata": about}


def _observation(name: str, text: str) -> dict[str, Any]:
    about = {"graph": "observation", "entity": name}
    return {"id": _id("observation", name, text), "text": text, "entities": [{"name": name}], "metadata": about}


def _relation(one: Relation) -> dict[str, Any]:
    about = {"graph": "relation", "entity": one.from_, "from": one.from_, "to": one.to, "type": one.relationType}
    link = {"subject": one.from_, "predicate": one.relationType, "object": one.to}
    text = f"{one.from_} {one.relationType} {one.to}"
    return {"id": _relation_id(one), "text": text, "kind": "relationship", "links": [link], "metadata": about}


def _relation_id(one: Relation) -> str:
    return _id("relation", one.from_, one.relationType, one.to)


def _id(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=14).hexdigest()


def _records(memory: Memory) -> Iterable[Record]:
    return memory.each(projects=[PROJECT], timeless=False)


def _ids(memory: Memory) -> set[str]:
    return {record.id for record in _records(memory)}


def _remember(memory: Memory, drafts: list[dict[str, Any]], held: set[str]) -> None:
    """Those that are not there yet."""
    fresh = {draft["id"]: draft | {"project": PROJECT} for draft in drafts if draft["id"] not in held}
    memory.remember_many(list(fresh.values()))
    held |= set(fresh)


def _forget(memory: Memory, records: Iterable[Record]) -> dict[str, Any]:
    gone = [record.id for record in list(records) if memory.forget(record)]
    return {"deleted": len(gone)}


def _tool(name: str, takes: type[Shape], run: Any, about: str, **more: Any) -> Tool:
    return Tool(name=name, title=name.replace("_", " ").capitalize(), takes=takes, run=run, about=about, **more)


REFERENCE: Sequence[Tool] = (
    _tool("create_entities", CreateEntities, _create_entities, "Create entities; those that exist are left alone.",
          writes=True, repeats=True),
    _tool("create_relations", Relations, _create_relations, "Create relations between entities, in active voice.",
          writes=True, repeats=True),
    _tool("add_observations", AddObservations, _add_observations, "Add observations to entities that exist.",
          writes=True, repeats=True),
    _tool("delete_entities", DeleteEntities, _delete_entities, "Delete entities with their observations and relations.",
          writes=True, destroys=True, repeats=True),
    _tool("delete_observations", DeleteObservations, _delete_observations, "Delete observations from entities.",
          writes=True, destroys=True, repeats=True),
    _tool("delete_relations", Relations, _delete_relations, "Delete relations.", writes=True, destroys=True, repeats=True),
    _tool("read_graph", Nothing, _read_graph, "The whole graph.", answers=Graph),
    _tool("search_nodes", Search, _search_nodes, "Entities that fit a query, and the relations among them.", answers=Graph),
    _tool("open_nodes", Open, _open_nodes, "These entities, and the relations among them.", answers=Graph),
)  # fmt: skip
