"""Memory: the one door to everything, and the only object with state.

    memory = Memory.open("memory.db", owner="alice")
    memory.remember("Priya's parents live in Goa.")
    memory.recall("Where do Priya's parents live?")

It holds an open store, an embedder and the owner; each method checks what it is given, and hands over to the write path
(ingest), the read path (recall), render or explain. Threads may share one, processes may open the same file.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Unpack

from . import consolidate, conversations, feedback, moving, summaries, upkeep
from .asking import days_of, hops_of, limit_of, name_of, question_of, vectors_of, where_fields
from .chat import Budget, Chat
from .embed import GRACE, Embedding, Worker, beside
from .errors import InvalidRecord, InvalidSetting, StoreUnavailable, UnknownRecord
from .explain import Explanation, explain_answer, why_not
from .gather import pointed
from .ingest import Draft, Ids, additions, amended, as_they_are, pending
from .inspection import Inspection, inspect
from .messages import read_messages
from .parts import in_parts, part_ids
from .ports import Amend, Change, Embedder, Forget, Holding, Neighborhood, Node, Reranker
from .query import Query, Where
from .rankings import Answer
from .recall import recall
from .recipes import Recipe, as_recipe
from .records import EMPTY, PART, SHOWN, Record, Scope, micros
from .render import Rendered, render, strip_blocks
from .rerank import Judges
from .settings import Settings, checked_live, live_recipe, load, models_folder
from .stores import open_store
from .summarise_chat import ByChat

if TYPE_CHECKING:
    from .ports import Store, Summariser

Clock = Callable[[], datetime]
BATCH = 2_000
CLOSING_SECONDS = 2.0


class Memory:
    """See the module. Make one with `Memory.open`; close it, or use it as a context manager."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        *,
        embedding: Embedding | None,
        recipe: Recipe,
        clock: Clock,
        worker: Worker | None = None,
        summariser: Summariser | None = None,
        judges: Judges | None = None,
    ) -> None:
        self.scope = scope
        self._store, self._embedding, self._base, self._clock = store, embedding, recipe, clock
        self._judges, self._ids = judges, Ids()
        self._archives: dict[str, Any] = {}
        self._summariser = summariser or summaries.RULES
        self._worker = worker or (Worker(store, embedding) if embedding is not None else None)
        self._live: tuple[Mapping[str, Any], Recipe] | None = None

    @classmethod
    def open(
        cls,
        url: str | None = None,
        *,
        owner: str | None = None,
        recipe: Recipe | str | Mapping[str, Any] | None = None,
        embedder: Embedder | str | None = None,
        summariser: Summariser | str | None = None,
        reranker: Reranker | str | None = None,
        clock: Clock | None = None,
        settings: Settings | None = None,
        scope: Scope | None = None,
        vector: str | None = None,
        graph: str | None = None,
    ) -> Memory:
        """Open a memory by file name or URL; the file is made when there is none. What is not given comes from the settings.

        `vector`, `graph`: URLs of indexes beside the store, such as qdrant://host:6333/memories.
        """
        settings = settings or load()
        scope = scope or Scope(owner=owner if owner is not None else settings.owner or "")
        base = as_recipe(recipe if recipe is not None else settings.recipe)
        embedding = open_embedding(embedder if embedder is not None else settings.embedder, settings)
        judges = open_judges(reranker if reranker is not None else settings.reranker, settings)
        beside = {"vector": settings.vector if vector is None else vector, "graph": settings.graph if graph is None else graph}
        store = open_store(url if url is not None else settings.db, busy_seconds=settings.busy, **beside, wall=time.time)
        try:
            summariser = open_summariser(summariser if summariser is not None else settings.summariser, settings, store)
        except Exception:
            store.close()
            raise
        own = {"embedding": embedding, "clock": clock or _now, "summariser": summariser, "judges": judges}
        return _kind(cls, settings)(store, scope, recipe=base, **own)

    def for_owner(self, owner: str | Scope) -> Memory:
        """The same open store, for somebody else; close the first one only."""
        scope = owner if isinstance(owner, Scope) else Scope(owner=owner)
        own = {"embedding": self._embedding, "clock": self._clock, "worker": self._worker, "summariser": self._summariser}
        own["judges"] = self._judges
        return type(self)(self._store, scope, recipe=self._base, **own)

    # Write

    def remember(self, text: str, **about: Unpack[Draft]) -> Record:
        """Remember one text. It is found by its words at once; by its meaning as soon as its vector is there."""
        return self.remember_many([{"text": text, **about}])[0]

    def remember_many(self, items: Iterable[Mapping[str, Any] | str]) -> list[Record]:
        """Remember many texts, each a text or a table with `text` and any field of `Draft`; a transaction per 2,000."""
        records: list[Record] = []
        batch: list[tuple[str, Mapping[str, Any]]] = []
        for item in _memories(items):
            about = {"text": item} if isinstance(item, str) else dict(item)
            batch.append((_fresh(about.pop("text", "")), about))
            if len(batch) == BATCH:
                records += self._store_batch(batch)
                batch = []
        return records + (self._store_batch(batch) if batch else [])

    def remember_messages(
        self, messages: Iterable[Any], *, session: str | None = None, pair: bool = True, system: bool = False, **about: Any
    ) -> list[Record]:
        """Remember a conversation, all of it or its end; returns the turns that are new or changed. Sent twice, it is there once.

        pair: one record for what the user said and what was answered, else one a message; system: also system prompts. `about`:
        kind (episodic, if not given), project, agent, tags, quality, confidence, source, metadata, valid_from, valid_to.
        """
        room = conversations.Room(
            self._store, self.scope, session or self.scope.session or "", self._now(), self._amending, self._adding,
            self.recipe.sessions != "off", pair, about, self._archives,
        )  # fmt: skip
        said = [message for message in read_messages(messages) if system or message.role != "system"]
        return conversations.remember(room, said, lambda writing: self._store_batch(writing.drafts, writing.changes))

    def amend(self, id: str | Record, *, expected: Record | None = None, **fields: Any) -> Record:
        """Change fields of a record; a changed text is searched anew and embedded again. `expected`: only if it is still this."""
        old = self.get(id)
        if "text" in fields:
            fields["text"] = _fresh(fields["text"])
        changed = amended(old, fields, self.scope, self._now())
        changes = self._amending(old, changed, expected)
        changes += conversations.following(self._room(old), old, dataclasses.replace(old, **changed))
        self._store.write(old.owner, changes)
        self._kick(_waits(changes))
        return self.get(old.id)

    def promote(self, id: str | Record, by: float = 0.15) -> Record:
        """Raise a record's quality, or lower it with a negative number; it stays within 0 and 1."""
        record = self.get(id)
        return self.amend(record, quality=min(1.0, max(0.0, record.quality + by)))

    def feedback(self, query: str, id: str | Record, *, good: bool = True) -> Record:
        """Note that for this question this record should have been recalled, or should not: what `recollect tune` learns from."""
        about, query = self.get(id), question_of(query)
        there = self._store.resolve(self._where(timeless=True, shared=True), [feedback.name_of(query, about)])
        self._store.write(self.scope.owner, [feedback.said(query, about, self.scope.owner, good, self._now(), bool(there))])
        return self.get(feedback.name_of(query, about))

    def forget(self, id: str | Record, *, expected: Record | None = None) -> dict[str, Any]:
        """Remove a record and everything made from it. The receipt says what was removed from where."""
        record = self.get(id)
        changes = self._forgetting(record, expected)
        receipt = self._store.write(record.owner, changes)
        self._kick(_waits(changes))
        beside = {"indexes": dict(receipt.beside)} if receipt.beside else {}
        return {"id": record.id, "owner": record.owner, "removed": dict(receipt.removed), **beside}

    def flush(self, timeout: float = 60.0) -> int:
        """Embed what waits, now. Returns how many texts still wait, because the time was up or the embedder is down."""
        if self._worker is not None and any(self._store.outbox.waiting(None, one.space) for one in self._embedding.voices):
            self._worker.kick()
            self._worker.wait(timeout)
        return self._store.outbox.waiting(self.scope.owner)

    # Read

    def recall(self, query: str, *, recipe: Recipe | str | Mapping[str, Any] | None = None, **asked: Any) -> Answer:
        """The memories that answer a question, best first.

        Asked for besides: limit, kinds, sessions, projects, agent, session (whose turn it is), first_turn, as_of, since, exclude
        (ids that are in view already), vectors (view to numbers, instead of embedding the question).
        """
        with self._steady():
            recipe = self.recipe if recipe is None else as_recipe(recipe)
            answer = recall(self._query(query, recipe, **asked), recipe, self._embedding, self._store, self._judges)
        if self._worker is not None and any("wait" in ranking.reason for ranking in answer.diagnostics.routes):
            self._worker.kick()
        return answer

    def explain(self, query: str, *, expect: str | Record | None = None, recipe: Any = None, **asked: Any) -> Explanation:
        """Why these hits; with `expect`, which gate lost that record, or where it stands."""
        recipe = self.recipe if recipe is None else as_recipe(recipe)
        question = self._query(query, recipe, **asked)
        if expect is None:
            return explain_answer(recall(question, recipe, self._embedding, self._store, self._judges))
        name = expect.id if isinstance(expect, Record) else expect
        return why_not(question, recipe, self._embedding, self._store, name, self._judges)

    def inspect(self, query: str, *, recipe: Any = None, max_chars: int = 2000, **asked: Any) -> Inspection:
        """The whole picture: the answer, the block made of it, and every candidate with the gate that kept it out."""
        recipe = self.recipe if recipe is None else as_recipe(recipe)
        question = self._query(query, recipe, **asked)
        return inspect(question, recipe, self._embedding, self._store, self._judges, max_chars=max_chars)

    def context(
        self, query: str, *, max_chars: int = 2000, max_tokens: int | None = None, ids: bool = False, **asked: Any
    ) -> str:
        """The safe `<memory>` block for a prompt."""
        return self.render(self.recall(query, **asked), max_chars=max_chars, max_tokens=max_tokens, ids=ids).text

    def render(self, answer: Answer, **how: Any) -> Rendered:
        """An answer as a block, with what was left out and why."""
        return render(pointed(answer), profile=answer.profile, **how)

    def get(self, id: str | Record) -> Record:
        """One record, whether it still holds or not."""
        name = id.id if isinstance(id, Record) else id
        keys = self._store.resolve(self._where(timeless=True, shared=True), [name]) if isinstance(name, str) else {}
        records = self._store.records(list(keys.values()))
        if not records:
            raise UnknownRecord(
                f"{self.scope.owner} has no record {name!r:.80}.", hint="Ids come from remember, recall and list."
            )
        return records[0]

    def list(self, *, limit: int = 100, order: str = "newest", after: str | Record | None = None, **asked: Any) -> list[Record]:
        """Records, in order: newest, oldest, turns, latest. `after`: go on behind it; `timeless`: also what no longer holds."""
        where, name = self._where(**{"roles": SHOWN, **asked}), after.id if isinstance(after, Record) else after
        start = None if name is None else self._store.resolve(where, [name]).get(name, -1)
        return self._store.records(self._store.select(where, order=order, limit=limit_of(limit, 100_000), after=start))

    def history(self, id: str | Record) -> list[Record]:
        """All versions of a memory, oldest first: what it superseded and what superseded it."""
        chain = [self.get(id)]
        while older := self._version(chain[0].metadata.get("supersedes"), chain):
            chain.insert(0, older)
        while newer := self._version(chain[-1].superseded_by, chain):
            chain.append(newer)
        return chain

    def entities(self, *, limit: int = 100, **asked: Any) -> list[Node]:
        """Named things that records speak of, those most often mentioned first."""
        graph = getattr(self._store, "graph", None)
        return [] if graph is None else graph.entities(self._where(**asked), limit_of(limit))

    def neighborhood(self, entity: str, *, hops: int = 1, limit: int = 50, **asked: Any) -> Neighborhood:
        """What an entity is linked to: the nodes up to so many hops away, nearest first, and the links among them."""
        graph = getattr(self._store, "graph", None)
        where, hops = self._where(**asked), hops_of(hops)
        return Neighborhood() if graph is None else graph.neighborhood(where, question_of(entity), hops, limit_of(limit))

    def each(self, *, order: str = "oldest", **asked: Any) -> Iterator[Record]:
        """Every record, one after the other, however many: what no longer holds, too, unless `timeless=False`."""
        return upkeep.each(self._store, self._where(**{"timeless": True, **asked}), order)

    def now(self) -> datetime:
        """What this memory's clock says."""
        return self._clock()

    # Upkeep

    def take(self, records: Iterable[Record | Holding]) -> dict[str, int]:
        """Take in records as they are, their times, versions and vectors too; one whose id is there already is left alone."""
        counts: Counter[str] = Counter()

        def wrote(found: Counter[str], waits: bool) -> None:
            counts.update(found)
            self._kick(waits)

        holdings = (Holding(one, EMPTY, ()) if isinstance(one, Record) else one for one in records)
        moving.take_all(holdings, self._store, self._embedding, wrote)
        return dict(counts)

    def holdings(self) -> Iterator[Holding]:
        """Every record with its vectors and what waits for one, in the order they came; what no longer holds, too."""
        scope = self.scope
        for held in self._store.holdings(scope.owner):
            if scope.agent in (None, held.record.agent) and scope.project in (None, held.record.project):
                yield held

    def reembed(
        self, *, dry_run: bool = False, drop_old: bool = False, progress: upkeep.Progress | None = None
    ) -> dict[str, Any]:
        """Embed every record that lacks a vector of the present model, while everything goes on; it may be interrupted.

        Until it is through, what still lacks one is searched by its old vectors. `drop_old` removes those of other models that
        nothing needs any more: `dropped` says how many of which space; `needed`, what is kept, for records that have no other.
        """
        if self._embedding is None:
            return {"lacking": 0, "left": 0}
        lacking = 0
        for changes in upkeep.lacking(self.holdings(), self._embedding):
            lacking += sum(len(change.pending) for change in changes)
            if not dry_run:
                self._store.write(self.scope.owner, changes)
        left = lacking if dry_run else upkeep.drain(self._worker, self._waits, progress, patience=upkeep.LEASED)
        found: dict[str, Any] = {"lacking": lacking, "left": left}
        if drop_old:
            found |= upkeep.drop_old(self._store, self._embedding, self._where(), dry_run=dry_run)
        return found

    def upkeep(
        self, *, dry_run: bool = False, forget_expired: float | None = None, progress: upkeep.Progress | None = None
    ) -> list[upkeep.Step]:
        """Put in order what is remembered, embed what waits, check the store; with `dry_run`, only say what there is to do.

        No memory is removed, unless `forget_expired` asks for it: what expired (`valid_to`) at least so many days ago.
        """
        hands, days = self._hands(dry_run, progress), days_of("forget_expired", forget_expired)
        steps, gone = consolidate.ordered(hands, self._forgetting, days)
        if self.recipe.sessions != "off":
            steps.append(consolidate.chunked(hands, self._room))
        kept = [*steps, consolidate.pruned(hands), summaries.told(hands, self._summariser, gone)]
        waits = self._waits()
        left = waits if dry_run or not waits else upkeep.drain(self._worker, self._waits, progress)
        did = f"{waits - left:,} embedded" + (f"; {self._worker.last_error}" if left else "") if waits and not dry_run else ""
        embedded = upkeep.Step("embed", f"{waits:,} texts wait for a vector", did, ok=dry_run or not left)
        looked = [upkeep.checked(self._store), upkeep.shortened(self._store, dry_run)]
        return [*kept, embedded, *self.index(dry_run=dry_run), *looked]

    def index(self, *, rebuild: bool = False, dry_run: bool = False) -> list[upkeep.Step]:
        """Bring the indexes beside the store up to it; `rebuild`: from nothing. One step for each; none, where there are none."""
        paths = list(dict.fromkeys([self.scope.owner, self.scope.tenant]))
        return [upkeep.indexed(one, paths, rebuild=rebuild, dry_run=dry_run) for one in getattr(self._store, "indexes", ())]

    def backup(self, target: str) -> None:
        """A consistent copy of the whole store, all owners, in a file; others may go on writing."""
        upkeep.backup(self._store, target)

    # Settings and state

    @property
    def store(self) -> Store:
        """The open store, for whoever looks after it: a server that asks whether it answers."""
        return self._store

    @property
    def recipe(self) -> Recipe:
        """The recipe in force: the opened one, changed by the owner's live settings."""
        live = self._store.settings(self.scope.owner)
        if self._live is None or self._live[0] != live:
            self._live = live, live_recipe(self._base, live)
        return self._live[1]

    def settings(self) -> dict[str, Any]:
        """What holds now: the recipe in full, its weights, and what was set by hand."""
        recipe = self.recipe
        return {
            "recipe": str(recipe), "weights": {route.name: route.weight for route in recipe.routes}, "limit": recipe.limit,
            "embedder": self._embedding.name if self._embedding else "none",
            "set": dict(self._store.settings(self.scope.owner)),
        }  # fmt: skip

    def update_settings(self, /, **change: Any) -> dict[str, Any]:
        """Change live settings, at once: `recipe`, `weights`, or any field of a recipe; None goes back to the default."""
        held = self._store.settings(self.scope.owner)
        self._store.settings(self.scope.owner, checked_live(self._base, held, change))
        return self.settings()

    def status(self) -> dict[str, Any]:
        """Counts, spaces, what waits and why."""
        voices = self._embedding.voices if self._embedding else ()
        return {
            "owner": self.scope.owner, "recipe": str(self.recipe), **self._store.status(self.scope.owner),
            "embedder": self._embedding.name if voices else "none", "space": " + ".join(one.space for one in voices) or None,
            "embedder_error": self._worker.last_error if self._worker else "",
        }  # fmt: skip

    def close(self) -> None:
        """Finish the batch at hand and let go of the file. What still waits for vectors stays in the outbox."""
        if self._worker is not None:
            self._worker.stop(CLOSING_SECONDS)
        if isinstance(self._summariser, ByChat):
            self._summariser.close()
        self._store.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Memory of {self.scope.owner}, {self._base.name}>"

    def _amending(self, old: Record, changed: Mapping[str, Any], expected: Record | None = None) -> list[Change]:
        """A record with other fields, and the parts it is searched in then."""
        new, parts = in_parts(dataclasses.replace(old, **changed))
        fields = {**changed, "metadata": new.metadata} if new.metadata != old.metadata else changed
        gone = [Forget(id=id) for id in self._parts(old)]
        amend = Amend(id=old.id, fields=fields, pending=self._waiting(new, fields), expected=expected)
        return [amend, *gone, *as_they_are(parts, self._embedding, self._store)]

    def _forgetting(self, record: Record, expected: Record | None = None) -> list[Change]:
        """A record, its parts, and what else changes when it goes."""
        parts = [Forget(id=id) for id in self._parts(record)]
        return [Forget(id=record.id, expected=expected), *parts, *conversations.following(self._room(record), record, None)]

    def _adding(self, records: Sequence[Record]) -> list[Change]:
        return as_they_are(records, self._embedding, self._store)

    def _hands(self, dry_run: bool = False, progress: upkeep.Progress | None = None, **narrower: Any) -> upkeep.Hands:
        """How upkeep looks after this owner's memory; with `dry_run`, it only looks."""

        def write(changes: Sequence[Change]) -> None:
            self._store.write(self.scope.owner, changes)
            self._kick(_waits(changes))

        where = self._where(**narrower)
        return upkeep.Hands(self._store, where, self._adding, self._amending, None if dry_run else write, progress)

    def _room(self, record: Record) -> conversations.Room:
        """The session a record belongs to."""
        about = {"project": record.project, "agent": record.agent, "source": record.source}
        scope = Scope(owner=record.owner)
        return conversations.Room(
            self._store, scope, record.session or "", self._now(), self._amending, self._adding, about=about,
            archives=self._archives,
        )  # fmt: skip

    def _store_batch(self, batch: Sequence[tuple[str, Mapping[str, Any]]], others: Sequence[Change] = ()) -> list[Record]:
        now = self._now()
        links = conversations.Links(self._store, self.scope, now)
        settled = list if others else links.settle  # a conversation brings its links
        adds = additions(batch, self.scope, now, self._ids, self._embedding, self._store, settled=settled)
        made = [add.record for add in adds if add.record.role != PART]
        mine, shared = self._superseding(
            [(record, about.get("supersedes")) for record, (_, about) in zip(made, batch, strict=True)]
        )
        others = [*others, *(change for old, views in links.amended for change in self._amending(old, {"views": views}))]
        self._store.write(self.scope.owner, [*others, *adds, *mine])
        if shared:
            self._store.write(self.scope.tenant, shared)
        self._kick(_waits([*adds, *mine, *shared, *others]))
        return made

    def _parts(self, record: Record) -> list[str]:
        """The ids of a record's parts that are there."""
        ids = part_ids(record)
        return [id for id in ids if id in self._store.resolve(self._where(timeless=True), ids)] if ids else []

    def _superseding(self, records: Iterable[tuple[Record, str | None]]) -> tuple[list[Amend], list[Amend]]:
        """What new records change in those they supersede: in the owner's own, earlier in the batch too, and in the tenant's."""
        earlier, changes = {}, ([], [])
        for record, name in records:
            if name is not None:
                old = earlier.get(name) or self.get(name)
                fields = {"superseded_by": record.id, "superseded_at": record.recorded_at}
                waiting = () if name in earlier else self._waiting(old, fields)
                changes[old.owner != self.scope.owner].append(Amend(id=old.id, fields=fields, pending=waiting))
            earlier[record.id] = record
        return changes

    def _version(self, name: object, chain: Sequence[Record]) -> Record | None:
        """A version by its id; None when it was forgotten, or is in the chain already."""
        if not name or name in [record.id for record in chain]:
            return None
        try:
            return self.get(str(name))
        except UnknownRecord:
            return None

    def _waits(self) -> int:
        """How many texts of the owner wait for a vector of the present model."""
        voices = () if self._embedding is None else self._embedding.voices
        return sum(self._store.outbox.waiting(self.scope.owner, one.space) for one in voices)

    def _waiting(self, record: Record, changed: Mapping[str, Any]) -> list[tuple[str, str]]:
        """What a changed record needs vectors for: every view of a new text, else those this model has none of yet."""
        lanes = pending(record, self._embedding)
        if not lanes or changed.keys() & {"text", "views", "speaker"}:
            return lanes
        keys = list(self._store.resolve(self._where(timeless=True, shared=True), [record.id]).values())
        return [(space, view) for space, view in lanes if not self._store.vector.vectors(space, view, keys)]

    def _kick(self, waiting: object) -> None:
        if waiting and self._worker is not None:
            self._worker.kick(grace=GRACE)

    def _steady(self) -> AbstractContextManager:
        """For the steps of one answer: a store that a network lies before is asked only once what is new."""
        steady = getattr(self._store, "steady", None)
        return nullcontext() if steady is None else steady(self.scope.owner)

    def _now(self) -> int:
        return micros(self._clock(), "clock")

    def _where(self, *, shared: bool = False, **narrower: Any) -> Where:
        """What may be seen, and no other: whose it is follows from the scope alone. `shared`: also what the tenant shares."""
        scope, tenant = self.scope, self.scope.tenant if shared else None
        own = {"agent": scope.agent, "projects": (scope.project,) if scope.project else ()}
        return Where(owner=scope.owner, tenant=tenant, now=self._now(), **{**own, **where_fields(narrower)})

    def _query(
        self, text: str, recipe: Recipe, *, limit: int | None = None, first_turn: bool = False, session: str | None = None,
        vectors: Any = None, **narrower: Any,
    ) -> Query:  # fmt: skip
        text = question_of(text)
        session = name_of("session", session) or self.scope.session
        if recipe.scope == "project" and session and not narrower.get("sessions") and not narrower.get("projects"):
            narrower.update(self._of_project(session))
        views = {route.view for route in recipe.routes if route.kind == "vector"}
        if first_turn and recipe.catch_up and narrower.get("as_of") is None:
            self._catch_up(session, narrower)
        return Query(
            text=text, scope=self.scope, where=self._where(**narrower), limit=limit_of(recipe.limit if limit is None else limit),
            first_turn=first_turn, vectors=vectors_of(vectors, views),
        )  # fmt: skip

    def _catch_up(self, session: str | None, narrower: Mapping[str, Any]) -> None:
        """See to the summary that a first turn begins with. Where it can't be written, the question is answered without."""
        where = {name: narrower[name] for name in ("projects", "agent") if narrower.get(name)}
        try:
            summaries.caught_up(self._hands(**where), session)
        except StoreUnavailable:
            return

    def _of_project(self, session: str) -> dict[str, Any]:
        """All sessions of the project when the session belongs to one, else the session alone."""
        keys = self._store.select(self._where(sessions=(session,), timeless=True), order="newest", limit=1)
        projects = {record.project for record in self._store.records(keys)} - {None}
        return {"projects": tuple(projects)} if projects else {"sessions": (session,)}


def _memories(items: Any) -> Iterator[Mapping[str, Any] | str]:
    """Texts and tables, or the error that shows what is neither."""
    for item in items if isinstance(items, Iterable) and not isinstance(items, (str, Mapping)) else [items]:
        if not isinstance(item, (str, Mapping)):
            raise InvalidRecord(
                f"{item!r:.60} is not a memory.", hint='Pass texts, or tables such as {"text": "…", "kind": "fact"}.'
            )
        yield item


def _waits(changes: Iterable[Change]) -> bool:
    """Whether any text waits for its vector."""
    return any(not isinstance(change, Forget) and change.pending for change in changes)


def _fresh(text: Any) -> Any:
    """A text without the blocks we wrote into it; what is no text is refused later, by its name."""
    return strip_blocks(text) if isinstance(text, str) else text


def _kind(plain: type[Memory], settings: Settings) -> type[Memory]:
    """The class of a memory: the plain one, or one whose operations leave traces."""
    if settings.traces == "off" or plain is not Memory:
        return plain
    from .traces import traced

    return traced(settings.traces)


def _now() -> datetime:
    return datetime.now(UTC)


def open_judges(spec: Reranker | str, settings: Settings) -> Judges:
    """Rerankers by name, opened when a recipe asks for one, with the deadline, keys and folders of the settings."""

    def opened(name: Reranker | str) -> Reranker:
        from .rerankers import open_reranker

        return open_reranker(name, models_dir=models_folder(settings), **settings.of(str(name)))

    own = spec if isinstance(spec, str) else opened(spec)
    return Judges(own, opened, deadline=settings.deadline, wall=time.time)


def open_embedding(spec: Embedder | str, settings: Settings) -> Embedding | None:
    """The embedder of a name or an object, or those of a name such as local+multilingual, with what the settings say of them."""
    from .embedders import apart, embedder_of, open_embedder

    def options(name: str) -> dict[str, Any]:
        return {"models_dir": models_folder(settings), **settings.of(name)}

    def opener(space: str) -> Embedder:
        return embedder_of(space, **options(space))

    names = apart(spec, models_dir=models_folder(settings), api_key=settings.openai_api_key or None)
    embedders = [found for name in names if (found := open_embedder(name, **options(str(name)))) is not None]
    return beside(*(Embedding(one, deadline=settings.deadline, wall=time.time, opener=opener) for one in embedders))


def open_summariser(spec: Summariser | str, settings: Settings, store: Store) -> Summariser:
    """The summariser of a name, `rules` or `llm`, or the object itself."""
    if not isinstance(spec, str):
        return spec
    if spec not in ("rules", "llm"):
        raise InvalidSetting(f"There is no summariser {spec!r:.60}.", hint='It is "rules", "llm", or an object of your own.')
    chat = open_chat(settings, store) if spec == "llm" else None
    if spec == "llm" and chat is None:
        raise InvalidSetting("The summariser llm needs a language model.", hint="Set chat_model; see docs/settings.md.")
    return ByChat(chat) if chat is not None else summaries.RULES


def open_chat(settings: Settings, store: Store) -> Chat | None:
    """The language model of the settings, its budget kept in the store; None when none is named."""
    if not settings.chat_model:
        return None
    # A key goes to the server it was meant for.
    key = settings.chat_api_key or ("" if settings.chat_base_url else settings.openai_api_key)
    budget = Budget(settings.chat_budget, time.time, getattr(store, "notes", None))
    base_url = settings.chat_base_url or settings.openai_base_url or None
    return Chat(settings.chat_model, base_url=base_url, api_key=key or None, budget=budget)
