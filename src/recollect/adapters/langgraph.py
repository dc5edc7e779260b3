"""LangGraph's long-term memory, a `BaseStore`, on a memory: its items are records, and its search is recall.

    from recollect.adapters.langgraph import RecollectStore
    store = RecollectStore(memory)                          # graph = builder.compile(store=store)
    store.put(("users", "alice"), "food", {"text": "Alice likes walnuts."})
    store.search(("users",), query="What does Alice eat?")

The memory's owner is the boundary: everything of the store is the owner's. A namespace is the `project` of its items, written
so that no two namespaces are spelled alike, and the store itself filters by it; a search under a prefix names each namespace
under it. For a boundary between users that nothing in a graph can cross, give each a store: `memory.for_owner("acme/alice")`.

A value is kept to the letter. What `index` names is the text that is searched, and a path that ends in the name of a view
(`user`, `preferences`, …) is that view, too; `views` names others. With `index=False` an item is only got and listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from ..aio import AsyncMemory
from ..errors import DuplicateRecord, InvalidQuery, MissingExtra, RecordChanged, UnknownRecord
from ..memory import Memory
from ..records import DERIVED, VIEWS, Record
from .carried import TRIES, carried, carry, change, find, lacking, name_of, remove, roomy, visible
from .matching import compared, equal

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        validate_op_namespace,
    )  # fmt: skip
except ImportError:
    raise MissingExtra("LangGraph is not installed.", hint='pip install "recollect[langgraph]"') from None

WHOLE = "$"  # the path of a whole value
MARK, SPACES = "langgraph", "langgraph namespaces"
MOST = 1_000  # hits of one recall
PAGES = (50, 200)  # so many are recalled for smaller pages: one page goes on where the one before it ended
Namespace = tuple[str, ...]


class RecollectStore(BaseStore):
    """See the module. `index`: paths that are searched, the whole value if none; `views`: path → view; `ttl` as LangGraph's."""

    supports_ttl = True

    def __init__(
        self, memory: Memory | AsyncMemory, *, index: Sequence[str] = (WHOLE,), views: Mapping[str, str] | None = None,
        recipe: Any = None, ttl: TTLConfig | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._aio = AsyncMemory.of(memory)
        self._memory = roomy(self._aio.memory)
        self._scope = (memory.scope.agent, memory.scope.project)
        self._index, self._views, self._recipe = tuple(index), dict(views or {}), recipe
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """All operations; what is read is as it was before what is put."""
        ops = list(ops)
        for op in ops:
            validate_op_namespace(op)
        answers = [None if isinstance(op, PutOp) else self._read(op) for op in ops]
        self._put({(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}.values())
        return answers

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same in a thread: the loop goes on."""
        return await self._aio.run(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Delete what has expired; how many items that were. Until then it is there, and hidden."""
        return sum(self._forget(record) for record in self._memory.each() if MARK in record.metadata and self._expired(record))

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise InvalidQuery(f"A store can't do {type(op).__name__}.", hint="It gets, puts, searches, and lists namespaces.")

    # Items

    def _get(self, op: GetOp) -> Item | None:
        record = self._there(op.namespace, op.key)
        if record is None or self._expired(record):
            return None
        self._touch([record] if op.refresh_ttl else [])
        return self._item(record)

    def _put(self, ops: Iterable[PutOp]) -> None:
        for _ in range(TRIES):
            try:
                drafts = [draft for op in ops for draft in self._changed(op)]
                spaces = {draft["id"]: draft for op in ops if op.value is not None for draft in self._space(op.namespace)}
                self._memory.remember_many([*spaces.values(), *drafts])
                return
            except (DuplicateRecord, RecordChanged, UnknownRecord) as error:
                lost = error  # somebody else put or deleted one of them: look again
        raise lost

    def _changed(self, op: PutOp) -> list[dict[str, Any]]:
        """What is to be remembered for an item that is new. One that is there is changed, or deleted, here."""
        old = self._there(op.namespace, op.key)
        if op.value is None:
            if old is not None:
                self._forget(old)
            return []
        now = self._memory.now()
        ends = None if op.ttl is None else now + timedelta(minutes=op.ttl)
        began = now.isoformat() if old is None or self._expired(old) else old.metadata[MARK]["created"]
        mark = {"namespace": list(op.namespace), "key": op.key, "created": began, "ttl": op.ttl}
        fields = {**self._searched(op), "at": now, "valid_to": ends, "metadata": {MARK: mark}}
        if old is not None:
            change(self._memory, old, dict(op.value), **fields)
            return []
        id = self._id(op.namespace, op.key)
        metadata, rest = carry(id, dict(op.value))
        draft = {**fields, "id": id, "project": self._project(op.namespace), "source": MARK}
        return [*lacking(self._memory, rest), {**draft, "metadata": {**metadata, MARK: mark}}]

    def _searched(self, op: PutOp) -> dict[str, Any]:
        """The text and views of a value; an item that nothing is searched of is hidden from every route."""
        paths = () if op.index is False else self._index if op.index is None else tuple(op.index)
        found = {path: [text for text in _texts(op.value, path) if visible(text)] for path in paths}
        text = "\n".join(dict.fromkeys(text for texts in found.values() for text in texts))
        views: dict[str, str] = {}
        for path, texts in found.items():
            view = self._views.get(path, path.rpartition(".")[2])
            if texts and view in VIEWS and view != "full":
                views[view] = "\n".join([*([views[view]] if view in views else []), *texts])
        return {"text": text or "nothing to search", "role": "note" if text else DERIVED, "views": views}

    def _search(self, op: SearchOp) -> list[SearchItem]:
        """Best first; what no route finds follows without a score, newest first, as LangGraph's own stores do it."""
        projects = [self._project(namespace) for namespace in self._under(op.namespace_prefix)]
        if not projects or op.limit <= 0:
            return []
        wanted, start = op.limit + op.offset, op.offset
        there = self._all(projects) if op.filter or not op.query else None
        matching = None if there is None else [one for one in there if _matches(carried(self._memory, one), op.filter or {})]
        hits = self._recalled(op.query, projects, there, matching, wanted) if op.query else {}
        found = list(hits)[start:wanted]
        if len(found) < op.limit:
            rest = [one for one in (matching if matching is not None else self._all(projects)) if one.id not in hits]
            found += [one.id for one in rest[max(0, start - len(hits)) : wanted - len(hits)]]
        records = {one.id: one for one in matching or ()} | {id: record for id, (record, _) in hits.items()}
        shown = [(records.get(id) or self._memory.get(id), hits[id][1] if id in hits else None) for id in found]
        self._touch([record for record, _ in shown] if op.refresh_ttl else [])
        return [self._item(record, score, SearchItem) for record, score in shown]

    def _recalled(
        self, query: str, projects: Sequence[str], there: Sequence[Record] | None, matching: Sequence[Record] | None, wanted: int
    ) -> dict[str, tuple[Record, float]]:
        """Hits by id. What a filter rules out is excluded before anything is ranked, so that it takes nobody's place."""
        asked = {} if self._recipe is None else {"recipe": self._recipe}
        if there is not None:
            asked["exclude"] = [one.id for one in set_aside(there, matching or ())]
        limit = next((step for step in PAGES if step >= wanted), MOST)
        answer = self._memory.recall(query, limit=limit, projects=projects, roles=("note",), **asked)
        hits = [(hit.id, (hit.record, hit.score)) for hit in answer if MARK in hit.record.metadata]
        return dict(hits[:wanted])

    def _all(self, projects: Sequence[str]) -> list[Record]:
        found = self._memory.each(order="newest", projects=projects, roles=("note", DERIVED), timeless=False)
        return [record for record in found if MARK in record.metadata]

    def _there(self, namespace: Namespace, key: str) -> Record | None:
        return find(self._memory, self._id(namespace, key))

    def _forget(self, record: Record) -> bool:
        try:
            remove(self._memory, record)
        except UnknownRecord:
            return False
        return True

    def _item(self, record: Record, score: float | None = None, kind: type[Item] = Item) -> Any:
        mark = record.metadata[MARK]
        more = {} if kind is Item else {"score": score}
        return kind(
            namespace=tuple(mark["namespace"]), key=mark["key"], value=carried(self._memory, record),
            created_at=datetime.fromisoformat(mark["created"]), updated_at=record.at, **more,
        )  # fmt: skip

    # Time to live

    def _expired(self, record: Record) -> bool:
        return record.valid_to is not None and record.valid_to <= self._memory.now()

    def _touch(self, records: Iterable[Record]) -> None:
        """What was read lives on from now."""
        for record in records:
            minutes = record.metadata[MARK]["ttl"]
            if minutes is not None:
                with suppress(RecordChanged, UnknownRecord):  # somebody else put, read or deleted it just now
                    self._memory.amend(record, expected=record, valid_to=self._memory.now() + timedelta(minutes=minutes))

    # Namespaces

    def _id(self, namespace: Namespace, key: str) -> str:
        return name_of("item", *self._scope, list(namespace), key)

    def _project(self, namespace: Namespace) -> str:
        """A namespace as a project: readable where it is short and plain, and never another's."""
        plain = "langgraph:" + ".".join(namespace)
        harmless = len(plain) <= 100 and plain.isprintable() and self._scope == (None, None)
        return plain if harmless else "langgraph#" + name_of("space", *self._scope, list(namespace))

    def _space(self, namespace: Namespace) -> list[dict[str, Any]]:
        """What says that a namespace is there, if that is lacking: a record for each prefix it can be found under."""
        about = {"text": "a namespace", "role": DERIVED, "project": SPACES, "source": MARK, "at": "ageless"}
        drafts = [
            {**about, "id": name_of("space", *self._scope, list(namespace), end), "session": self._project(namespace[:end]),
             "metadata": {SPACES: list(namespace)}}
            for end in range(len(namespace), -1, -1)
        ]  # fmt: skip
        return drafts if lacking(self._memory, drafts[:1]) else []

    def _under(self, prefix: Namespace) -> list[Namespace]:
        found = self._memory.each(projects=[SPACES], sessions=[self._project(tuple(prefix))])
        return [tuple(record.metadata[SPACES]) for record in found if SPACES in record.metadata]

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        fit = [one for one in self._under(_start(op)) if all(_fits(condition, one) for condition in op.match_conditions or ())]
        held = [one for one in fit if self._memory.list(limit=1, projects=[self._project(one)], roles=("note", DERIVED))]
        return sorted({one[: op.max_depth] for one in held})[op.offset : op.offset + op.limit]


def set_aside(there: Iterable[Record], matching: Iterable[Record]) -> list[Record]:
    """Those that don't match."""
    ids = {one.id for one in matching}
    return [one for one in there if one.id not in ids]


def _texts(value: Mapping[str, Any], path: str) -> list[str]:
    return ["\n".join(_lines("", value))] if path == WHOLE else get_text_at_path(value, path)


def _lines(name: str, value: Any) -> Iterator[str]:
    """A whole value as text: sentences as they are, words and numbers with their name."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _lines(str(key), inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _lines(name, inner)
    elif value is not None and visible(text := str(value)):
        yield text if len(text.split()) > 1 or not name else f"{name}: {text}"


def _matches(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(_meets(value.get(name), condition) for name, condition in wanted.items())


def _meets(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, Mapping):
        return equal(value, wanted)
    if any(str(name).startswith("$") for name in wanted):
        return all(compared(str(name).removeprefix("$"), value, other) for name, other in wanted.items())
    return isinstance(value, Mapping) and _matches(value, wanted)


def _start(op: ListNamespacesOp) -> Namespace:
    """The labels that all namespaces asked for begin with."""
    paths = [condition.path for condition in op.match_conditions or () if condition.match_type == "prefix"]
    return tuple(takewhile(lambda label: label != "*", max(paths, key=len, default=())))


def _fits(condition: MatchCondition, namespace: Namespace) -> bool:
    """Whether a namespace begins, or ends, as a path says; `*` stands for any label."""
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    labels = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, labels, strict=True))
