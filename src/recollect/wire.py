"""The JSON shapes shared by the doors: one answer, the same object everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from .access import Grant
from .errors import RecollectError
from .explain import explain_answer
from .inspection import Inspection, Standing, pieces
from .paging import Cursor
from .ports import Neighborhood, Node
from .rankings import Answer, Hit, Place, Ranking
from .recipe_text import plain
from .recipes import PRESETS, Recipe, fields_table
from .records import Entity, Link, Record, Span, moment
from .render import Rendered


def answer_json(answer: Answer) -> dict[str, Any]:
    """What `recall` returns through every door."""
    found = answer.diagnostics
    return {
        "query": answer.query.text,
        "recipe": str(answer.recipe),
        "hits": [hit_json(hit) for hit in answer],
        "profile": [record_json(record) for record in answer.profile],
        "diagnostics": {
            "retrieval_path": found.retrieval_path, "degraded": found.degraded, "notes": list(found.notes),
            "routes": [route_json(ranking) for ranking in found.routes], "ms": round(found.ms, 3),
            "rerank": None if found.rerank is None else {**found.rerank._asdict(), "ms": round(found.rerank.ms, 3)},
        },
    }  # fmt: skip


def hit_json(hit: Hit) -> dict[str, Any]:
    return {
        "id": hit.id, "text": hit.text, "score": hit.score, "rank": hit.rank, "kind": hit.kind, "at": _when(hit.at),
        "session": hit.session, "speaker": hit.speaker, "routes": {name: place_json(place) for name, place in hit.routes.items()},
        "rrf_score": hit.rrf_score, "final_score": hit.final_score, "explain": _plain(hit.explain),
        "neighbors": [record_json(record) for record in hit.neighbors],
    }  # fmt: skip


def place_json(place: Place) -> dict[str, Any]:
    return {"rank": place.rank, "raw": place.raw, "contribution": place.contribution}


def route_json(ranking: Ranking) -> dict[str, Any]:
    return {
        "name": ranking.route.name, "status": ranking.status, "candidates": len(ranking.keys), "ms": round(ranking.ms, 3),
        "reason": ranking.reason, "weight": ranking.weight,
    }  # fmt: skip


def record_json(record: Record) -> dict[str, Any]:
    """A record with every field; times as ISO 8601."""
    return {name: _plain(getattr(record, name)) for name in Record.__dataclass_fields__}


def told_json(record: Record, given: Mapping[str, Any]) -> dict[str, Any]:
    """What `remember` answers with: the record; and, if the same had been told before, that it is `repeated`."""
    return record_json(record) | ({"repeated": True} if record.reinforced > (given.get("reinforced") or 0) else {})


def entry_json(hit: Hit) -> dict[str, Any]:
    """A hit shaped as OpenCouch's WorkingMemoryEntry: content, when, where from, how relevant."""
    record = hit.record
    return {
        "id": hit.id, "content": hit.text, "kind": hit.kind, "timestamp": _when(hit.at), "session_id": hit.session,
        "relevance_score": hit.score, "source": record.source, "tags": list(record.tags), "metadata": _plain(record.metadata),
    }  # fmt: skip


def recall_json(answer: Answer, *, explain: bool = False) -> dict[str, Any]:
    """An answer; with `explain`, the tree of every score besides."""
    return answer_json(answer) | ({"explanation": explain_answer(answer).to_dict()} if explain else {})


def inspection_json(inspection: Inspection) -> dict[str, Any]:
    """An answer with every score as a tree and as a sum, the memory block, and every candidate with the gate that kept it out."""
    answer, block = inspection.answer, inspection.block
    return recall_json(answer, explain=True) | {
        "pieces": {hit.id: [piece._asdict() for piece in pieces(hit, answer)] for hit in answer},
        "memory": block.text, "dropped": [{"id": one.id, "reason": one.reason} for one in block.dropped],
        "candidates": [standing_json(standing) for standing in inspection.candidates],
        "dials": dials_json(answer.recipe),
    }  # fmt: skip


def standing_json(standing: Standing) -> dict[str, Any]:
    record = standing.record
    return {
        "id": record.id, "text": record.text, "kind": record.kind, "role": record.role, "at": _when(record.at),
        "session": record.session, "speaker": record.speaker,
        "routes": {name: place_json(place) for name, place in standing.routes.items()}, "fused_rank": standing.fused_rank,
        "rrf_score": standing.rrf_score, "rank": standing.rank, "gate": standing.gate, "reason": standing.reason,
        "final_rank": standing.final_rank,
        "reread": None if standing.reread is None else dict(zip(("rank", "relevance"), standing.reread, strict=True)),
    }  # fmt: skip


def dials_json(recipe: Recipe) -> dict[str, Any]:
    """Every number of a recipe as it stands, and the weight of each route: what a page can turn."""
    own = {field.name: plain(field.metadata, getattr(recipe, field.name)) for field in fields(Recipe) if field.name != "routes"}
    return own | {"weights": {route.name: route.weight for route in recipe.routes}}


def context_json(answer: Answer, block: Rendered) -> dict[str, Any]:
    """An answer as a prompt needs it: results as Annie's context engine gave them, and the safe block made of them."""
    return {
        "query": answer.query.text, "recipe": str(answer.recipe), "results": [result_json(hit) for hit in answer],
        "memory": block.text, "included": list(block.included),
        "dropped": [{"id": one.id, "reason": one.reason} for one in block.dropped], "chars": block.chars, "tokens": block.tokens,
    }  # fmt: skip


def result_json(hit: Hit) -> dict[str, Any]:
    """A hit shaped as Annie's RetrievalResult."""
    return {
        "text": hit.text, "source_session": hit.session, "timestamp": _when(hit.at), "relevance_score": hit.score,
        "entities": [entity.name for entity in hit.record.entities], "speaker": hit.speaker,
    }  # fmt: skip


def records_json(records: Sequence[Record]) -> dict[str, Any]:
    """Records that were made together."""
    return {"records": [record_json(record) for record in records]}


def page_json(records: Sequence[Record], limit: int, order: str = "newest") -> dict[str, Any]:
    """A page of records; `next` is what to go on after, if there may be more."""
    return {
        "records": [record_json(record) for record in records],
        "next": str(Cursor.of(records[-1], order)) if records and len(records) == limit else None,
    }


def history_json(id: str, versions: Sequence[Record]) -> dict[str, Any]:
    """All versions of a memory, oldest first."""
    return {"id": id, "versions": [record_json(record) for record in versions]}


def entities_json(nodes: Sequence[Node]) -> dict[str, Any]:
    """Named things, with how often they are mentioned."""
    return {"entities": [_node(node) for node in nodes]}


def neighborhood_json(around: Neighborhood) -> dict[str, Any]:
    """Nodes and the links among them."""
    edges = [
        edge._asdict() | {"valid_from": _when(moment(edge.valid_from)), "valid_to": _when(moment(edge.valid_to))}
        for edge in around.edges
    ]
    return {"nodes": [_node(node) for node in around.nodes], "edges": edges}


def recipes_json() -> dict[str, Any]:
    """The presets, and what every field of a recipe and of a route may hold."""
    return {"recipes": [recipe_json(recipe) for recipe in PRESETS.values()], "fields": [row._asdict() for row in fields_table()]}


def recipe_json(recipe: Recipe) -> dict[str, Any]:
    """A recipe in short: its text, and its routes with their weights."""
    routes = [{"name": route.name, "kind": route.kind, "weight": route.weight, "text": str(route)} for route in recipe.routes]
    return {"name": recipe.name, "text": str(recipe), "limit": recipe.limit, "routes": routes}


def grant_json(grant: Grant) -> dict[str, Any]:
    """What an access token allows; never the token."""
    return {name: _plain(getattr(grant, name)) for name in Grant.__dataclass_fields__}


def error_json(error: RecollectError) -> dict[str, Any]:
    return {"error": {"code": error.code, "message": error.message, "hint": error.hint}}


def _node(node: Node) -> dict[str, Any]:
    return node._asdict() | {"aliases": list(node.aliases)}


def _when(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat().replace("+00:00", "Z")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return _when(value)
    if isinstance(value, Place):
        return place_json(value)
    if isinstance(value, (Entity, Link, Span)):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value
