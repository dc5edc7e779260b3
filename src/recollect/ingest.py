"""The write path: what is handed in becomes records, clean and checked, and goes to the store in one transaction.

    remember: normalise → check → identify → store, with a place in the outbox for every vector it still needs

Nothing here waits for an embedder that takes its time: a record is found by its words as soon as it is stored. Only an embedder
that declares itself `inline` (microseconds, no I/O) is asked at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict

from .chunks import LONG
from .embed import Embedding
from .errors import InvalidRecord, InvalidVector
from .mentions import dates_given, entities_given, links_given, order_given
from .normalize import clean_text
from .parts import in_parts
from .ports import Add, Store, Told
from .records import CONFIRMS, EMPTY, KINDS, PARTS, PROMOTED, ROLES, VIEWS, Record, Scope, micros, moment
from .render import strip_blocks

if TYPE_CHECKING:
    import numpy as np

MOST_NAME, MOST_TAGS, MOST_METADATA = 200, 100, 100_000


_OURS = ("supersedes", PARTS, PROMOTED, CONFIRMS)  # what history, search and upkeep follow: no change of metadata takes it away


class Draft(TypedDict, total=False):
    """What may be said about a memory besides its text. Everything has a default."""

    id: str
    kind: str
    role: str
    at: datetime | str | float | None  # when it happened; not given: now; "ageless": at no time
    session: str | None
    project: str | None
    agent: str | None
    turn: int | None
    speaker: str | None
    valid_from: datetime | str | float | None
    valid_to: datetime | str | float | None
    tags: Sequence[str]
    quality: float
    confidence: float
    reinforced: int
    source: str | None
    views: Mapping[str, str]
    metadata: Mapping[str, Any]
    supersedes: str
    vectors: Mapping[str, Any]  # view → numbers, instead of embedding it
    entities: Sequence[Any]  # Entity, a name, (name, type), or {"name", "type", "aliases"}
    links: Sequence[Any]  # Link, (subject, predicate, object), or {"subject", "predicate", "object", …}
    dates: Sequence[Any]  # Span, (start, end), or {"start", "end", "text"}


class Ids:
    """Ids that sort by time: milliseconds, then a counter that starts at random. Unique across processes, ascending in one."""

    def __init__(self) -> None:
        self._next = count(int.from_bytes(os.urandom(7), "big"))

    def __call__(self, now: int) -> str:
        return f"{now // 1000:012x}{next(self._next) & 0xFFFFFFFFFFFFFFFF:016x}"


def drafts(items: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Texts, each with what is said about it, or the error that shows what is neither a text nor a table."""
    for item in items if isinstance(items, Iterable) and not isinstance(items, (str, Mapping)) else [items]:
        if not isinstance(item, (str, Mapping)):
            raise InvalidRecord(
                f"{item!r:.60} is not a memory.", hint='Pass texts, or tables such as {"text": "…", "kind": "fact"}.'
            )
        about = {"text": item} if isinstance(item, str) else dict(item)
        yield fresh(about.pop("text", "")), about


def fresh(text: Any) -> Any:
    """A text without the blocks we wrote into it; what is no text is refused later, by its name."""
    return strip_blocks(text) if isinstance(text, str) else text


def records_of(texts: Iterable[tuple[str, Mapping[str, Any]]], scope: Scope, now: int, new_id: Ids) -> list[Record]:
    """Texts and what is said about them, as records."""
    stamp = moment(now)
    return [record_of(text, scope, stamp, now, new_id, draft) for text, draft in texts]


def additions(
    records: Sequence[tuple[Record, Any]], embedding: Embedding | None, store: Store, told: Mapping[str, Told] = EMPTY
) -> list[Add]:
    """Records, each with the vectors it brings if any, as changes for the store; behind them their parts. `told`: by id."""
    return _adds(_with_parts(records), embedding, store, told)


def as_they_are(records: Iterable[Record], embedding: Embedding | None, store: Store) -> list[Add]:
    """Records that were made elsewhere, as changes for the store: times and versions stay what they are."""
    return _adds([(record, None) for record in records], embedding, store)


def record_of(
    text: str, scope: Scope, stamp: datetime, now: int, new_id: Callable[[int], str], draft: Mapping[str, Any]
) -> Record:
    """One record from a text and what is said about it; InvalidRecord names the field, what was seen and the cure."""
    said: dict[str, Any] = {"agent": scope.agent, "project": scope.project, "session": scope.session}
    for name, value in draft.items():
        check = _CHECKS.get(name)
        if check is None:
            raise InvalidRecord(f"A memory has no field {name!r:.60}.", hint=f"The fields are {', '.join(sorted(FIELDS))}.")
        said[name] = check(name, value)
    said.pop("vectors", None)
    if "valid_from" in said and "valid_to" in said:
        order_given("valid_from", said["valid_from"], "valid_to", said["valid_to"])
    if supersedes := said.pop("supersedes", None):
        said["metadata"] = MappingProxyType({**said.get("metadata", {}), "supersedes": supersedes})
    at = said.pop("at", None)
    return Record(
        **said | {"id": said.get("id") or new_id(now), "at": stamp if at is None else None if at == "ageless" else at},
        text=clean_text(text), owner=scope.tenant if said.get("kind") == "identity" else scope.owner, recorded_at=stamp,
    )  # fmt: skip


def amended(old: Record, fields: Mapping[str, Any], scope: Scope, now: int) -> dict[str, Any]:
    """The values a change of fields comes to, checked like those of a new record."""
    if given := fields.keys() & {"supersedes", "vectors"}:
        raise InvalidRecord(f"{min(given)} can't be amended.", hint=f"Remember the new version with {min(given)}=….")
    draft = {name: getattr(old, name) for name in ("kind", "valid_from", "valid_to")} | fields
    new = record_of(draft.pop("text", old.text), scope, moment(now), now, lambda _: old.id, draft)
    if new.owner != old.owner:
        raise InvalidRecord(
            f"Identity records are {scope.tenant}'s, others are not: {old.kind} can't become {new.kind}.",
            hint="Remember it anew as what it is, and forget this one.",
        )
    changed = {name: getattr(new, name) for name in fields}
    kept = {name: old.metadata[name] for name in _OURS if name in old.metadata}
    if "metadata" in changed and kept:
        changed["metadata"] = MappingProxyType({**kept, **changed["metadata"]})
    return changed


def pending(record: Record, embedding: Embedding | None) -> list[tuple[str, str]]:
    """The (space, view) pairs this record still needs a vector for: views its model can read, or of several each that should."""
    if embedding is None:
        return []
    space, views = embedding.space, ("full", *(view for view in record.views if view != "full"))
    if len(embedding.voices) > 1:
        lanes = ((one.space, view) for view in views for one in embedding.readers(record.view(view) or ""))
        return [(space, view) for space, view in lanes if record.embedded(view, space) is not None]
    return [
        (space, view) for view in views if record.embedded(view, space) is not None and embedding.reads(record.view(view) or "")
    ]


def given_vectors(vectors: Mapping[str, Any], embedding: Embedding | None) -> dict[tuple[str, str], np.ndarray]:
    """Vectors handed in by the caller, at unit length, each in its space."""
    found = {}
    for view, numbers in vectors.items():
        _one_of("vectors", view, VIEWS)
        vector = unit(numbers)
        if embedding is not None and len(vector) != embedding.profile.dimension:
            raise InvalidVector(
                f"The vector for {view} has {len(vector)} numbers; those of {embedding.profile.name} have "
                f"{embedding.profile.dimension}.",
                hint='Use the same model, or open the memory with embedder="none" to bring your own vectors.',
            )
        found[embedding.space if embedding is not None else f"given:{len(vector)}", view] = vector
    return found


def unit(numbers: object) -> np.ndarray:
    """A vector at unit length; InvalidVector for what can't be one."""
    import numpy as np

    try:
        vector = np.asarray(numbers, np.float64)
    except (TypeError, ValueError):
        raise InvalidVector(f"{numbers!r:.60} is not a row of numbers.", hint="Pass a list of floats or an array.") from None
    with np.errstate(over="ignore", invalid="ignore"):  # numbers that are too large have no finite norm
        norm = float(np.sqrt(vector @ vector)) if vector.ndim == 1 and len(vector) else 0.0
    if not norm or not np.isfinite(norm):
        raise InvalidVector(
            "A vector must be a row of finite numbers, not all zero.", hint="Look for NaN or infinity in what the model returned."
        )
    return (vector / norm).astype(np.float32)


def _with_parts(records: Sequence[tuple[Record, Any]]) -> list[tuple[Record, Any]]:
    """Long records marked as such, and behind all of them their parts. One that brings its vector is searched as it is."""
    whole, parts = [], []
    for record, vectors in records:
        if len(record.text) > LONG and not vectors and PARTS not in record.metadata:
            record, own = in_parts(record)
            parts += [(part, None) for part in own]
        whole.append((record, vectors))
    return whole + parts


def _adds(
    records: Sequence[tuple[Record, Any]], embedding: Embedding | None, store: Store, told: Mapping[str, Told] = EMPTY
) -> list[Add]:
    lanes = [[] if vectors else pending(record, embedding) for record, vectors in records]
    inline = [one for one in (embedding.voices if embedding is not None else ()) if one.profile.inline]
    at_once = {one.space: made for one in inline if (made := _embedded(records, lanes, one)) is not None}
    return [_add(*about, own, embedding, at_once, told.get(about[0].id)) for about, own in zip(records, lanes, strict=True)]


def _add(
    record: Record, vectors: Mapping[str, Any] | None, lanes: Sequence[tuple[str, str]], embedding: Embedding | None,
    at_once: Mapping[str, Mapping[str, np.ndarray]], told: Told | None,
) -> Add:  # fmt: skip
    if vectors:
        return Add(record=record, vectors=given_vectors(vectors, embedding))
    if not at_once:
        return Add(record=record, pending=lanes, told=told)
    now = [(lane, record.embedded(lane[1], lane[0])) for lane in lanes if lane[0] in at_once]
    # Of these nothing waits: what is not ready now has no word the model knows.
    ready = {lane: at_once[lane[0]][text] for lane, text in now if text in at_once[lane[0]]}
    left = [lane for lane in lanes if lane[0] not in at_once]
    return Add(record=record, vectors=ready or None, pending=left, told=told)


def _embedded(
    records: Sequence[tuple[Record, Any]], lanes: Sequence[Sequence[tuple[str, str]]], embedding: Embedding
) -> dict[str, np.ndarray] | None:
    """Vectors of all texts of these records from an inline embedder; None if it fails: then they wait like any other."""
    texts = list(dict.fromkeys(
        record.embedded(view, space) or ""
        for (record, _), own in zip(records, lanes, strict=True) for space, view in own if space == embedding.space
    ))  # fmt: skip
    try:
        vectors = embedding.documents(texts) if texts else []
    except Exception:  # whatever it is, the worker meets it again and notes it; it must not stop the write
        return None
    return {text: vector for text, vector in zip(texts, vectors, strict=True) if vector is not None}


def _one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InvalidRecord(f"{name}={value!r:.60} is unknown.", hint=f"It is one of {', '.join(allowed)}.")


def _name(name: str, value: object) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > MOST_NAME or not value.isprintable():
        hint = f"It is text of at most {MOST_NAME} printable characters."
        raise InvalidRecord(f"{name}={value!r:.60} can't be used.", hint=hint)
    return value


def _whole(name: str, value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise InvalidRecord(f"{name}={value!r:.60} can't be used.", hint="It is a whole number from 0.")
    return value


def _share(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InvalidRecord(f"{name}={value!r:.60} is out of range.", hint="It is a number from 0 to 1.")
    return float(value)


def _when(name: str, value: Any) -> datetime | str | None:
    return value if name == "at" and value == "ageless" else moment(micros(value, name))


def _tags(name: str, tags: Any) -> tuple[str, ...]:
    if not tags:
        return ()
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise InvalidRecord(f"tags={tags!r:.60} is not a list of words.", hint='Write tags=["family"].')
    tags = tuple(dict.fromkeys(clean_text(tag).strip() for tag in tags))
    if len(tags) > MOST_TAGS or any(len(tag) > MOST_NAME for tag in tags):
        raise InvalidRecord(f"{len(tags)} tags can't be used.", hint=f"At most {MOST_TAGS}, each up to {MOST_NAME} characters.")
    return tags


def _views(name: str, views: Any) -> Mapping[str, str]:
    if not views:
        return EMPTY
    if not isinstance(views, Mapping):
        raise InvalidRecord(f"views={views!r:.60} is not a table of texts.", hint='Write views={"user": "…"}.')
    for view in views:
        _one_of("views", view, VIEWS)
    return MappingProxyType({view: clean_text(text) for view, text in sorted(views.items()) if text})


def _metadata(name: str, metadata: Any) -> Mapping[str, Any]:
    if not metadata:
        return EMPTY
    try:
        packed = json.dumps(dict(metadata) if isinstance(metadata, Mapping) else metadata, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRecord(f"metadata can't be written as JSON: {error}.", hint="Use text, numbers, lists and tables.") from None
    if not isinstance(metadata, Mapping) or len(packed) > MOST_METADATA:
        raise InvalidRecord("metadata is not a table, or too large.", hint=f"A table of at most {MOST_METADATA:,} characters.")
    return MappingProxyType(json.loads(packed))


def _among(allowed: Sequence[str]) -> Callable[[str, Any], str]:
    known = frozenset(allowed)

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            _one_of(name, value, allowed)
        return value

    return check


_CHECKS: Mapping[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("id", "session", "project", "agent", "speaker", "source", "supersedes"), _name),
    **dict.fromkeys(("at", "valid_from", "valid_to"), _when), **dict.fromkeys(("quality", "confidence"), _share),
    "kind": _among(KINDS), "role": _among(ROLES), "turn": _whole, "reinforced": lambda name, value: _whole(name, value) or 0,
    "tags": _tags, "views": _views, "metadata": _metadata, "vectors": lambda name, value: value,
    "entities": entities_given, "links": links_given, "dates": dates_given,
}  # fmt: skip
FIELDS = frozenset(_CHECKS)
