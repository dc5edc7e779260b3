"""mem0's `Memory`, as its programs call it, on a memory of ours: for moving over without rewriting, or for trying both.

    from recollect.adapters.mem0 import Memory                    # instead of: from mem0 import Memory
    memory = Memory()                                             # or Memory(ours), Memory(url="memory.db", owner="acme")
    memory.add("I like walnuts.", user_id="alice")
    memory.search("What does she like?", filters={"user_id": "alice"})["results"]

Same names, arguments and shapes of answers as mem0 2's; the older `user_id=` and `limit=` of search and get_all are taken, too.
Each `user_id` is an owner of its own below the memory's, so that it is no filter that stands between two people; `agent_id` and
`run_id` narrow.

What differs: no language model is asked, so `infer` keeps what was said in its own words, and leaves out only what is there
already. `score` is the share of the best score there could be. What is deleted leaves the history, too: its rows stay, their
texts go.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from functools import wraps
from hashlib import md5
from inspect import isfunction
from typing import Any
from uuid import UUID, uuid4

from .. import aio, memory
from ..errors import DuplicateRecord, InvalidRecord, InvalidRequest, UnknownRecord
from ..messages import SYSTEM, read_messages
from ..rankings import RAN, Answer, Hit
from ..records import DERIVED, Record, Scope
from ..settings import load
from ..wire import hit_json
from .carried import TRIES, find, visible
from .matching import matches
from .mem0_names import IDS, digest_of, history_of, narrowing, new_id, owner_of, part_of, scope_of, user_record

MARK, USER, EVENT = "mem0", "mem0_user", "mem0_event"
OWNER, MOST = "mem0", 1_000
UNSET: Any = object()


class Memory:
    """See the module. `held`: a memory of ours; without one, `opened` is what `recollect.Memory.open` takes."""

    def __init__(self, held: memory.Memory | aio.AsyncMemory | None = None, **opened: Any) -> None:
        self._opened = held is None
        if held is None:
            opened["owner"] = opened.get("owner") or (opened.get("settings") or load()).owner or OWNER
            held = memory.Memory.open(opened.pop("url", None), **opened)
        self._memory = aio.AsyncMemory.of(held).memory
        if self._memory.scope != Scope(owner=self._memory.scope.owner):
            raise InvalidRequest(
                "mem0's agents and runs need a memory that is bound to an owner alone.", hint='memory.for_owner("acme")'
            )

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Memory:
        """A memory from a table of what `recollect.Memory.open` takes: url, owner, recipe, embedder."""
        unknown = config_dict.keys() - {"url", "owner", "recipe", "embedder", "clock", "settings"}
        if unknown:
            hint = "What there is: url, owner, recipe, embedder. Stores and models of mem0's are not used here."
            raise InvalidRequest(f"There is no setting {min(unknown)!r:.60}.", hint=hint)
        return cls(**config_dict)

    def add(
        self, messages: Any, *, user_id: Any = None, agent_id: Any = None, run_id: Any = None,
        metadata: Mapping[str, Any] | None = None, timestamp: Any = None, expiration_date: Any = None, infer: bool = True,
        memory_type: str | None = None, prompt: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Remember what was said, a memory a message; `{"results": [{"id", "memory", "event": "ADD", …}]}` of what is new."""
        scope = scope_of({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        if memory_type not in (None, "procedural_memory"):
            raise InvalidRequest(f"memory_type={memory_type!r:.60} is unknown.", hint="It is procedural_memory, or left out.")
        kept = {name: value for name, value in (metadata or {}).items() if name not in (*IDS, "actor_id")}
        about = {"metadata": kept, "expiration_date": _day(expiration_date)}
        said = _said(messages)
        if memory_type is not None:
            said = (
                [{"role": None, "text": "\n".join(f"{one['role']}: {one['text']}" for one in said), "name": None}] if said else []
            )
            kept["memory_type"] = memory_type
        home = self._home(scope, make=True)
        for _ in range(TRIES):
            drafts = self._drafts(home, scope, [{**about, **one, "at": timestamp} for one in said], infer)
            try:
                made = home.remember_many([draft for pair in drafts for draft in pair])
                return {"results": [_added(record) for record in made if MARK in record.metadata]}
            except DuplicateRecord as error:
                lost = error  # somebody else added the same just now
        raise lost

    def search(
        self, query: str, *, top_k: int | None = None, filters: Mapping[str, Any] | None = None, threshold: float | None = None,
        rerank: bool = False, explain: bool = False, reference_date: Any = None, show_expired: bool = False,
        limit: int | None = None, **ids: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """The memories that answer a question, best first: `{"results": [{"id", "memory", "score", …}]}`."""
        if not isinstance(query, str) or not query.strip():
            raise InvalidRequest("The query is empty.", hint='search("What does she like?", filters={"user_id": "alice"})')
        scope, wanted, most = self._asked(filters, ids, top_k if top_k is not None else limit, 20)
        asked = {"as_of": reference_date} if reference_date is not None else {"timeless": show_expired}
        found = []
        for home in self._homes(scope) if most else ():
            narrow = {**narrowing(scope), **asked}
            others = (
                [one.id for one in self._records(home, scope, show_expired) if not matches(_payload(one), wanted)]
                if wanted
                else []
            )
            answer = home.recall(query, limit=min(most, MOST), exclude=others, **narrow)
            found += [(_share(hit, answer), hit) for hit in answer if MARK in hit.record.metadata]
        found = sorted(found, key=lambda one: -one[0])[:most]
        rows = [
            {**_item(hit.record), "score": score} | ({"score_details": hit_json(hit)["explain"]} if explain else {})
            for score, hit in found if threshold is None or score >= threshold
        ]  # fmt: skip
        return {"results": rows}

    def get_all(
        self, *, filters: Mapping[str, Any] | None = None, top_k: int | None = None, show_expired: bool = False,
        limit: int | None = None, **ids: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """All memories of somebody, the newest first: `{"results": […]}`."""
        scope, wanted, most = self._asked(filters, ids, top_k if top_k is not None else limit, 20)
        every = [
            one
            for home in self._homes(scope)
            for one in self._records(home, scope, show_expired)
            if matches(_payload(one), wanted)
        ]
        rows = [
            _item(one) for one in sorted(every, key=lambda one: (one.recorded_at, one.at or one.recorded_at), reverse=True)[:most]
        ]
        return {"results": [{name: value for name, value in row.items() if name != "score"} for row in rows]}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """One memory, or None."""
        record = self._find(memory_id)[1]
        return None if record is None else _item(record)

    def update(
        self, memory_id: str, text: str | None = None, metadata: Mapping[str, Any] | None = None, expiration_date: Any = UNSET,
        data: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Another text, more metadata, or another end for a memory; whose it is stays."""
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is UNSET:
            raise InvalidRequest("There is nothing to update.", hint='update(memory_id, text="…")')
        home, old = self._there(memory_id)
        mark, fields = dict(old.metadata[MARK]), {}
        mark["metadata"] = mark["metadata"] | {
            name: one for name, one in (metadata or {}).items() if name not in (*IDS, "actor_id")
        }
        mark["updated_at"] = home.now().isoformat()
        if expiration_date is not UNSET:
            mark["expiration_date"] = _day(expiration_date)
            fields["valid_to"] = _ends(mark["expiration_date"])
        if text is not None:
            fields["text"] = text
        new = home.amend(old, metadata={MARK: mark}, **fields)
        home.remember_many([self._row(home, new.id, mark, new.recorded_at, "UPDATE", old.text, new.text)])
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, Any]:
        """Forget a memory."""
        self._forget(*self._there(memory_id))
        return {"message": "Memory deleted successfully!"}

    def delete_all(self, user_id: Any = None, agent_id: Any = None, run_id: Any = None) -> dict[str, Any]:
        """Forget all memories of a user, agent or run, or of all that are named together."""
        scope = scope_of({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        for home in self._homes(scope):
            for record in self._records(home, scope, True):
                self._forget(home, record)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """What happened to a memory, the first first. Of a deleted one the rows are left, without their texts."""
        home = self._find(memory_id)[0]
        return [] if home is None else [dict(event.metadata[EVENT]) for event in self._events(home, memory_id)]

    def reset(self) -> None:
        """Forget everything that came through here, of every user."""
        for home in list(self._homes({}))[::-1]:  # the memory itself, which knows the users, last
            for record in [one for one in home.each() if {MARK, EVENT, USER} & one.metadata.keys()]:
                with suppress(UnknownRecord):
                    home.forget(record)

    def close(self) -> None:
        """Let go of the memory, if it was opened here."""
        if self._opened:
            self._memory.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # Whose

    def _home(self, scope: Mapping[str, str], *, make: bool = False) -> memory.Memory:
        """The memory of a user; what has no user is in the memory itself."""
        user = scope.get("user_id")
        if make and user is not None and find(self._memory, user_record(user)) is None:
            with suppress(DuplicateRecord):  # somebody else was quicker
                self._memory.remember(
                    "a user", id=user_record(user), role=DERIVED, at="ageless", source=MARK, metadata={USER: user}
                )
        return self._memory if user is None else self._memory.for_owner(owner_of(self._memory.scope.owner, user))

    def _homes(self, scope: Mapping[str, str]) -> Iterator[memory.Memory]:
        """Where to look: with one user, or everywhere when none is named."""
        yield self._home(scope)
        if "user_id" not in scope:
            for record in [one for one in self._memory.each(roles=(DERIVED,)) if USER in one.metadata]:
                yield self._home({"user_id": str(record.metadata[USER])})

    def _asked(
        self, filters: Mapping[str, Any] | None, ids: Mapping[str, Any], most: Any, otherwise: int
    ) -> tuple[dict[str, str], dict[str, Any], int]:
        """Whose memories, which of them, and how many."""
        unknown = ids.keys() - set(IDS)
        if unknown:
            raise InvalidRequest(f"There is no argument {min(unknown)!r:.60}.", hint='filters={"user_id": "alice"}')
        given = {**(filters or {}), **{name: value for name, value in ids.items() if value is not None}}
        most = otherwise if most is None else most
        if isinstance(most, bool) or not isinstance(most, int) or most < 0:
            raise InvalidRequest(f"top_k={most!r:.40} can't be used.", hint="It is a whole number from 0.")
        return scope_of(given), {name: value for name, value in given.items() if name not in IDS}, most

    # Memories

    def _drafts(
        self, home: memory.Memory, scope: Mapping[str, str], told: Iterable[dict[str, Any]], infer: bool
    ) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """A memory and the first row of its history for each thing told; with `infer`, only of what is not there yet."""
        drafts: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        now = home.now()
        for one in told:
            id = new_id(scope, one["text"] if infer else None)
            old = find(home, id)
            if id in drafts or (old is not None and old.text == one["text"] and (old.valid_to is None or old.valid_to > now)):
                continue
            id = id if old is None else new_id(scope, None)
            mark = {**dict.fromkeys(IDS), **scope, "actor_id": one["name"], "updated_at": None}
            mark |= {name: one[name] for name in ("role", "metadata", "expiration_date")}
            draft = {
                "id": id, "text": one["text"], "at": one["at"], "agent": part_of(scope, "agent_id"), "project": MARK,
                "source": MARK, "session": part_of(scope, "run_id"), "valid_to": _ends(one["expiration_date"]),
                "metadata": {MARK: mark},
            }  # fmt: skip
            drafts[id] = draft, self._row(home, id, mark, now, "ADD", None, one["text"])
        return list(drafts.values())

    def _records(self, home: memory.Memory, scope: Mapping[str, str], expired: bool) -> list[Record]:
        found = home.each(order="newest", timeless=expired, **narrowing(scope))
        return [record for record in found if MARK in record.metadata]

    def _find(self, memory_id: str) -> tuple[memory.Memory | None, Record | None]:
        """A memory by its id, and whose it is: the first half of an id stands for the user."""
        try:
            digest = UUID(memory_id).bytes[:8]
        except (ValueError, TypeError, AttributeError):
            return None, None
        if digest == digest_of(None):
            home = self._memory
        else:
            user = find(self._memory, f"mem0-user-{digest.hex()}")
            if user is None:
                return None, None
            home = self._home({"user_id": str(user.metadata[USER])})
        record = find(home, memory_id)
        return home, record if record is not None and MARK in record.metadata else None

    def _there(self, memory_id: str) -> tuple[memory.Memory, Record]:
        home, record = self._find(memory_id)
        if home is None or record is None:
            raise InvalidRequest(f"Memory with id {memory_id!r:.60} not found.", hint="Ids come from add, search and get_all.")
        return home, record

    def _forget(self, home: memory.Memory, record: Record) -> None:
        with suppress(UnknownRecord):  # somebody else was quicker
            home.forget(record)
        for event in self._events(home, record.id):
            home.amend(event, metadata={EVENT: {**event.metadata[EVENT], "old_memory": None, "new_memory": None}})
        home.remember_many([self._row(home, record.id, record.metadata[MARK], record.recorded_at, "DELETE", None, None)])

    def _events(self, home: memory.Memory, memory_id: str) -> list[Record]:
        found = home.each(projects=[history_of(memory_id)], roles=(DERIVED,))
        return sorted((event for event in found if EVENT in event.metadata), key=lambda event: event.turn or 0)

    def _row(
        self, home: memory.Memory, id: str, mark: Mapping[str, Any], made: datetime, event: str, old: str | None, new: str | None
    ) -> dict[str, Any]:
        """A row of a memory's history, as a record that no search sees."""
        row = {
            "id": str(uuid4()), "memory_id": id, "old_memory": old, "new_memory": new, "event": event,
            "created_at": made.isoformat(), "updated_at": home.now().isoformat(), "is_deleted": event == "DELETE",
            "actor_id": mark["actor_id"], "role": mark["role"],
        }  # fmt: skip
        about = {"text": "an event", "role": DERIVED, "project": history_of(id), "source": MARK, "metadata": {EVENT: row}}
        return {**about, "turn": len(self._events(home, id))}


class AsyncMemory:
    """mem0's `AsyncMemory`: the same, awaitable. Each call is made in a thread."""

    def __init__(self, held: memory.Memory | aio.AsyncMemory | None = None, **opened: Any) -> None:
        self._sync = Memory(held, **opened)
        self._aio = held if isinstance(held, aio.AsyncMemory) else aio.AsyncMemory(self._sync._memory)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> AsyncMemory:
        """As `Memory.from_config`."""
        made = Memory.from_config(config_dict)
        own = cls(made._memory)
        own._sync = made
        return own

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def _awaitable(method: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    @wraps(method)
    async def awaited(self: AsyncMemory, /, *given: Any, **named: Any) -> Any:
        return await self._aio.run(method, self._sync, *given, **named)

    return awaited


for _name, _method in list(vars(Memory).items()):
    if isfunction(_method) and not _name.startswith("_"):
        setattr(AsyncMemory, _name, _awaitable(_method))


def _said(messages: Any) -> list[dict[str, Any]]:
    """Who said what; system prompts are nobody's memory."""
    if not isinstance(messages, (str, Mapping, list, tuple)):
        raise InvalidRequest(
            f"Messages are text or tables, not {type(messages).__name__}.", hint='add("I like walnuts.", user_id="alice")'
        )
    read = read_messages([messages] if isinstance(messages, (str, Mapping)) else messages)
    said = [one for one in read if one.role != SYSTEM and visible(one.text)]
    return [{"role": one.role, "text": one.text, "name": one.speaker} for one in said]


def _added(record: Record) -> dict[str, Any]:
    mark = record.metadata[MARK]
    row = {"id": record.id, "memory": record.text, "event": "ADD"}
    return row if mark["role"] is None else {**row, "actor_id": mark["actor_id"], "role": mark["role"]}


def _day(value: Any) -> str | None:
    """A date, as mem0 writes one."""
    try:
        value = value.date() if isinstance(value, datetime) else value
        return None if value is None else (value if isinstance(value, date) else date.fromisoformat(value)).isoformat()
    except (TypeError, ValueError):
        raise InvalidRecord(f"expiration_date={value!r:.60} is not a date.", hint="Write YYYY-MM-DD.") from None


def _ends(day: str | None) -> datetime | None:
    """The moment after a day: a memory holds through the day it expires on."""
    return None if day is None else datetime.combine(date.fromisoformat(day), time(), UTC) + timedelta(days=1)


def _share(hit: Hit, answer: Answer) -> float:
    """A score between 0 and 1: of the best that the routes that ran could have given."""
    best = sum(ranking.weight / (answer.recipe.rrf_k + 1) for ranking in answer.diagnostics.routes if ranking.status == RAN)
    return max(0.0, min(1.0, hit.score / best if best > 0 else hit.score))


def _item(record: Record) -> dict[str, Any]:
    """A memory in mem0's shape."""
    mark = record.metadata[MARK]
    shown = {name: mark[name] for name in (*IDS, "actor_id", "role", "expiration_date") if mark.get(name) is not None}
    return {
        "id": record.id, "memory": record.text, "hash": md5(record.text.encode(), usedforsecurity=False).hexdigest(),
        "metadata": dict(mark["metadata"]) or None, "score": None, "created_at": record.recorded_at.isoformat(),
        "updated_at": mark["updated_at"] or record.recorded_at.isoformat(), **shown,
    }  # fmt: skip


def _payload(record: Record) -> dict[str, Any]:
    """What filters look at."""
    item = _item(record)
    return {**item, **(item["metadata"] or {})}
