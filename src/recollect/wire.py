"""The JSON shapes shared by the doors: one answer, the same object everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from .errors import RecollectError
from .rankings import Answer, Hit, Place, Ranking
from .records import Entity, Link, Record, Span


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


def entry_json(hit: Hit) -> dict[str, Any]:
    """A hit shaped as OpenCouch's WorkingMemoryEntry: content, when, where from, how relevant."""
    record = hit.record
    return {
        "id": hit.id, "content": hit.text, "kind": hit.kind, "timestamp": _when(hit.at), "session_id": hit.session,
        "relevance_score": hit.score, "source": record.source, "tags": list(record.tags), "metadata": _plain(record.metadata),
    }  # fmt: skip


def error_json(error: RecollectError) -> dict[str, Any]:
    return {"error": {"code": error.code, "message": error.message, "hint": error.hint}}


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
