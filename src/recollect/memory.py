"""Memory: the one door to everything, and the only object with state.

    memory = Memory.open("memory.db", owner="alice")
    memory.remember("Priya's parents live in Goa.")
    memory.recall("Where do Priya's parents live?")

It holds an open store, an embedder and the owner; each method checks what it is given, and hands over to the write path
(ingest), the read path (recall), render or explain. Threads may share one, processes may open the same file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import datetime
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from . import consolidate, conversations, feedback, moving, summaries, upkeep
from .asking import Named, days_of, hops_of, id_of, limit_of, name_of, query_of, question_of, sight
from .crew import Crew
from .dead_letters import DeadLetters
from .embed import Embedding
from .errors import RecordChanged, StoreUnavailable, UnknownRecord
from .explain import Explanation, explain_answer, why_not
from .gather import pointed
from .ingest import Draft, Ids, drafts
from .inspection import Inspection, inspect
from .messages import read_messages
from .opening import Clock, now, open_beside, open_embedding, open_extractor, open_judges, open_summariser
from .paging import keys_after
from .pen import Pen
from .ports import Change, Embedder, Extractor, Holding, Neighborhood, Node, Receipt, Reranker
from .query import Query, Where
from .rankings import Answer
from .recall import recall
from .recipes import Recipe, as_recipe
from .records import EMPTY, SHOWN, Record, Scope, micros
from .render import Rendered, render
from .repeats import OFF, Dedup
from .rerank import Judges
from .settings import Settings, checked_live, live_recipe, load
from .summarise_chat import ByChat

if TYPE_CHECKING:
    from .ports import Store, Summariser

BATCH, TRIES = 2_000, 50


class Memory:
    """One owner's memory in an open store. Make one with `Memory.open`; close it, or use it in a `with` statement."""

    def __init__(
        self, store: Store, scope: Scope, *, embedding: Embedding | None, recipe: Recipe, clock: Clock,
        summariser: Summariser | None = None, judges: Judges | None = None, extractor: Extractor | None = None,
        dedup: Dedup = OFF, crew: Crew | None = None,
    ) -> None:  # fmt: skip
        self.scope = scope
        self._store, self._embedding, self._base, self._clock = store, embedding, recipe, clock
        self._judges, self._pen = judges, Pen(store, scope, embedding, self._now, Ids(), {}, extractor)
        self._dedup, self._summariser = dedup, summariser or summaries.RULES
        self._crew = crew or Crew(store, embedding, extractor, dedup, lambda owner, read: self._pen.of(owner).learning(read))
        self._live: tuple[Mapping[str, Any], Recipe] | None = None

    @classmethod
    def open(
        cls,
        url: str | PathLike[str] | None = None,
        *,
        owner: str | None = None,
        recipe: Recipe | str | Mapping[str, Any] | None = None,
        embedder: Embedder | str | None = None,
        summariser: Summariser | str | None = None,
        reranker: Reranker | str | None = None,
        extractor: Extractor | str | None = None,
        clock: Clock | None = None,
        settings: Settings | None = None,
        scope: Scope | None = None,
        vector: str | None = None,
        graph: str | None = None,
        dedup: Dedup | str | None = None,
    ) -> Memory:
        """Open a memory by file name or URL. A missing file is created. What you don't give comes from the settings.

        `vector`, `graph`: URLs of indexes beside the store, such as qdrant://host:6333/memories.
        """
        settings = settings or load()
        scope = scope or Scope(owner=owner if owner is not None else settings.owner or "")
        base = as_recipe(recipe if recipe is not None else settings.recipe)
        embedding = open_embedding(embedder if embedder is not None else settings.embedder, settings)
        judges = open_judges(reranker if reranker is not None else settings.reranker, settings)
        store = open_beside(url, settings, vector, graph)
        try:
            reads = open_extractor(extractor if extractor is not None else settings.extractor, settings, store)
            summariser = open_summariser(summariser if summariser is not None else settings.summariser, settings, store)
        except Exception:
            store.close()
            raise
        own = {"embedding": embedding, "clock": clock or now, "summariser": summariser, "judges": judges}
        own |= {"extractor": reads, "dedup": Dedup.of(settings.dedup if dedup is None else dedup)}
        memory = _kind(cls, settings)(store, scope, recipe=base, **own)
        memory._crew.resume()
        return memory

    def for_owner(self, owner: str | Scope) -> Memory:
        """The same open store for another owner. Close only the first memory."""
        scope = owner if isinstance(owner, Scope) else Scope(owner=owner)
        return type(self)(
            self._store, scope, recipe=self._base, embedding=self._embedding, clock=self._clock, summariser=self._summariser,
            judges=self._judges, extractor=self._pen.extractor, dedup=self._dedup, crew=self._crew,
        )  # fmt: skip

    # Write

    def remember(self, text: str, *, dedup: Dedup | str | None = None, **about: Unpack[Draft]) -> Record:
        """Remember one text. Search finds it by its words at once, and by its meaning as soon as it has a vector.

        Told the same a moment ago, it answers with the record that is there, `reinforced` once more. `dedup`: other rules.
        """
        return self.remember_many([{"text": text, **about}], dedup=dedup)[0]

    def remember_many(self, items: Iterable[Mapping[str, Any] | str], *, dedup: Dedup | str | None = None) -> list[Record]:
        """Remember many: each item is a text, or a table with `text` and any fields of `Draft`. 2,000 make a transaction."""
        rules = self._dedup if dedup is None else Dedup.of(dedup)
        return [record for some in moving.batches(drafts(items), BATCH) for record in self._told(some, rules)]

    def remember_messages(
        self, messages: Iterable[Any], *, session: str | None = None, pair: bool = True, system: bool = False, **about: Any
    ) -> list[Record]:
        """Remember a conversation: all of it or its end. Returns the turns that are new or changed. Sent twice, it is there once.

        `pair`: one record for what the user said with the answer to it, else one per message. `system`: also system prompts.
        `about`: kind (default: episodic), project, agent, tags, quality, confidence, source, metadata, valid_from, valid_to.
        """
        room = conversations.Room(
            self._store, self.scope, session or self.scope.session or "", self._now(), self._pen.amending, self._pen.adding,
            self.recipe.sessions != "off", pair, about, self._pen.archives,
        )  # fmt: skip
        said = [message for message in read_messages(messages) if system or message.role != "system"]
        return conversations.remember(room, said, lambda one: self._write(one.drafts, one.changes))

    def amend(self, id: Named, *, expected: Record | None = None, **fields: Any) -> Record:
        """Change fields of a record; a changed text is searched anew and embedded again. `expected`: only if it is still this."""
        with self._crew.turn(self.scope.owner):
            old = self.get(id)
            self._put(old.owner, self._pen.revising(old, fields, expected))
        return self.get(old.id)

    def promote(self, id: Named, by: float = 0.15) -> Record:
        """Raise a record's quality, or lower it with a negative number; it stays within 0 and 1."""
        record = self.get(id)
        return self.amend(record, quality=min(1.0, max(0.0, record.quality + by)))

    def feedback(self, query: str, id: Named, *, good: bool = True) -> Record:
        """Note that this record should be recalled for this question, or should not. `recollect tune` learns from that."""
        about, query = self.get(id), question_of(query)
        there = self._store.resolve(self._where(timeless=True, shared=True), [feedback.name_of(query, about)])
        self._store.write(self.scope.owner, [feedback.said(query, about, self.scope.owner, good, self._now(), bool(there))])
        return self.get(feedback.name_of(query, about))

    def forget(self, id: Named, *, expected: Record | None = None) -> dict[str, Any]:
        """Remove a record and everything made from it. The receipt says what was removed from where."""
        with self._crew.turn(self.scope.owner):
            record = self.get(id)
            receipt = self._put(record.owner, self._pen.forgetting(record, expected))
        beside = {"indexes": dict(receipt.beside)} if receipt.beside else {}
        return {"id": record.id, "owner": record.owner, "removed": dict(receipt.removed), **beside}

    def flush(self, timeout: float = 60.0) -> int:
        """Read and embed now what waits. Returns how many texts still wait, because time ran out or a model is down."""
        self._crew.finish(timeout)
        return self._store.outbox.waiting(self.scope.owner)

    # Read

    def recall(self, query: str, *, recipe: Recipe | str | Mapping[str, Any] | None = None, **asked: Any) -> Answer:
        """The memories that answer a question, best first.

        Also takes: limit, kinds, roles, sessions, projects, agent, as_of, since, timeless, exclude (ids already in view),
        session (the one that asks), first_turn, vectors (view to numbers, instead of embedding the question).
        """
        with self._steady():
            question, recipe = self._asked(query, recipe, asked)
            answer = recall(question, recipe, self._embedding, self._store, self._judges)
        self._crew.recalled(answer)
        return answer

    def explain(self, query: str, *, expect: Named | None = None, recipe: Any = None, **asked: Any) -> Explanation:
        """Why these hits. With `expect`: which gate kept that record out, or where it stands."""
        question, recipe = self._asked(query, recipe, asked)
        if expect is None:
            return explain_answer(recall(question, recipe, self._embedding, self._store, self._judges))
        return why_not(question, recipe, self._embedding, self._store, name_of("expect", id_of(expect)), self._judges)

    def inspect(self, query: str, *, recipe: Any = None, max_chars: int = 2000, **asked: Any) -> Inspection:
        """The whole picture: the answer, the block made from it, and every candidate with the gate that kept it out."""
        question, recipe = self._asked(query, recipe, asked)
        return inspect(question, recipe, self._embedding, self._store, self._judges, max_chars=max_chars)

    def context(
        self, query: str, *, max_chars: int = 2000, max_tokens: int | None = None, ids: bool = False, **asked: Any
    ) -> str:
        """The safe `<memory>` block for a prompt."""
        return self.render(self.recall(query, **asked), max_chars=max_chars, max_tokens=max_tokens, ids=ids).text

    def render(self, answer: Answer, **how: Any) -> Rendered:
        """The block of an answer, and what was left out of it, with the reason."""
        return render(pointed(answer), profile=answer.profile, **how)

    def get(self, id: Named) -> Record:
        """One record, even if it no longer holds."""
        return self._pen.get(id_of(id))

    def history(self, id: Named) -> list[Record]:
        """All versions of a memory, oldest first: what it superseded and what superseded it."""
        return self._pen.versions(self.get(id))

    def entities(self, *, limit: int = 100, **asked: Any) -> list[Node]:
        """The named things that records mention, most often mentioned first."""
        graph = getattr(self._store, "graph", None)
        return [] if graph is None else graph.entities(self._where(**asked), limit_of(limit))

    def neighborhood(self, entity: str, *, hops: int = 1, limit: int = 50, **asked: Any) -> Neighborhood:
        """What an entity is linked to: the nodes up to `hops` links away, nearest first, and the links between them."""
        graph = getattr(self._store, "graph", None)
        where, hops = self._where(**asked), hops_of(hops)
        return Neighborhood() if graph is None else graph.neighborhood(where, question_of(entity), hops, limit_of(limit))

    def each(self, *, order: str = "oldest", **asked: Any) -> Iterator[Record]:
        """Every record, one after the other, however many. Includes what no longer holds, unless `timeless=False`."""
        return upkeep.each(self._store, self._where(**{"timeless": True, **asked}), order)

    @property
    def dead_letters(self) -> DeadLetters:
        """What the extractor could not read after all its tries: `list`, `retry`, `drop`."""
        return DeadLetters(self._store, self._where(timeless=True), self._again)

    def now(self) -> datetime:
        """What this memory's clock says."""
        return self._clock()

    # Upkeep

    def take(self, records: Iterable[Record | Holding]) -> dict[str, int]:
        """Take in records as they are, with their times, versions and vectors. A record whose id exists already is left alone."""
        counts: Counter[str] = Counter()

        def wrote(found: Counter[str], changes: Sequence[Change]) -> None:
            counts.update(found)
            self._crew.written(changes)

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
        """Embed every record that lacks a vector of the present model. Everything else goes on; it can be interrupted.

        Until it is done, a record without a new vector is searched by its old one. `drop_old` then removes the vectors of other
        models that no record needs: `dropped` counts them by space, `needed` counts what is kept for records that have no other.
        """
        if self._embedding is None:
            return {"lacking": 0, "left": 0}
        lacking = upkeep.queued(self._store, self.scope.owner, self.holdings(), self._embedding, dry_run=dry_run)
        left = lacking if dry_run else upkeep.drain(self._crew.worker, self._waits, progress, patience=upkeep.LEASED)
        gone = upkeep.drop_old(self._store, self._embedding, self._where(), dry_run=dry_run) if drop_old else {}
        return {"lacking": lacking, "left": left, **gone}

    def upkeep(
        self, *, dry_run: bool = False, forget_expired: float | None = None, progress: upkeep.Progress | None = None
    ) -> list[upkeep.Step]:
        """Put the memory in order, embed what waits, check the store. With `dry_run`, only say what there is to do.

        Removes no memory, unless `forget_expired` asks for it: those that expired (`valid_to`) at least so many days ago.
        """
        hands, days = self._hands(dry_run, progress), days_of("forget_expired", forget_expired)
        room_of = self._pen.room if self.recipe.sessions != "off" else None
        steps = consolidate.kept(hands, self._pen.forgetting, days, room_of, self._summariser)
        reader, unread = self._crew.reader, partial(self._crew.unread, self.scope.owner)
        steps += [] if reader is None else [upkeep.caught_up(reader, unread, progress, dry_run=dry_run)]
        steps.append(upkeep.embedded(self._crew.worker, self._waits, progress, dry_run=dry_run))
        return [*steps, *self.index(dry_run=dry_run), *upkeep.looked_after(self._store, self.scope.owner, dry_run)]

    def index(self, *, rebuild: bool = False, dry_run: bool = False) -> list[upkeep.Step]:
        """Bring the indexes beside the store up to date; with `rebuild`, from nothing. One step for each index."""
        paths = list(dict.fromkeys([self.scope.owner, self.scope.tenant]))
        return [upkeep.indexed(one, paths, rebuild=rebuild, dry_run=dry_run) for one in getattr(self._store, "indexes", ())]

    def backup(self, target: str) -> None:
        """Copy the whole store, with all owners, into a file. The copy is consistent, even while others write."""
        upkeep.backup(self._store, target)

    # Settings and state

    @property
    def store(self) -> Store:
        """The open store, for whatever looks after it, such as a server that checks whether it answers."""
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
        """Change live settings, effective at once: `recipe`, `weights`, or any field of a recipe. None restores the default."""
        held = self._store.settings(self.scope.owner)
        self._store.settings(self.scope.owner, checked_live(self._base, held, change))
        return self.settings()

    def status(self) -> dict[str, Any]:
        """How much is remembered, in which vector spaces, what waits for a vector, and why."""
        voices = self._embedding.voices if self._embedding else ()
        return {
            "owner": self.scope.owner, "recipe": str(self.recipe), **self._store.status(self.scope.owner),
            "embedder": self._embedding.name if voices else "none", "space": " + ".join(one.space for one in voices) or None,
            "extractor": self._pen.extractor.fingerprint if self._pen.extractor else "none",
            **self._crew.status(self.scope.owner), "dead_letters": len(self.dead_letters),
        }  # fmt: skip

    def close(self) -> None:
        """Finish the batch at hand and let go of the file. What still waits to be read or embedded stays in the outbox."""
        self._crew.stop()
        if isinstance(self._summariser, ByChat):
            self._summariser.close()
        self._store.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Memory of {self.scope.owner}, {self._base.name}>"

    def _hands(self, dry_run: bool = False, progress: upkeep.Progress | None = None, **narrower: Any) -> upkeep.Hands:
        """How upkeep looks after this owner's memory; with `dry_run`, it only looks."""
        write = None if dry_run else partial(self._put, self.scope.owner)
        return upkeep.Hands(self._store, self._where(**narrower), self._pen.adding, self._pen.amending, write, progress)

    def _told(self, some: Sequence[tuple[Any, dict[str, Any]]], rules: Dedup) -> list[Record]:
        """Written; looked up again when somebody tells the same, or changes what is there, at this moment."""
        for _ in range(TRIES if rules != OFF else 0):
            with suppress(RecordChanged, UnknownRecord):
                return self._write(some, dedup=rules)
        return self._write(some)

    def _write(
        self, some: Sequence[tuple[Any, Mapping[str, Any]]], others: Sequence[Change] = (), dedup: Dedup = OFF
    ) -> list[Record]:
        with self._crew.turn(self.scope.owner):
            batch = self._pen.writing(some, others, dedup=dedup)
            self._store.write(self.scope.owner, batch.changes)
            if batch.shared:
                self._store.write(self.scope.tenant, batch.shared)
        self._crew.written([*batch.changes, *batch.shared])
        return batch.made

    def _put(self, owner: str, changes: Sequence[Change]) -> Receipt:
        """Write, and have done what waits for it."""
        receipt = self._store.write(owner, changes)
        self._crew.written(changes)
        return receipt

    def _waits(self) -> int:
        """How many texts of the owner wait for a vector of the present models."""
        return self._crew.unembedded(self.scope.owner)

    def _again(self, id: str) -> bool:
        """Have a record read anew."""
        with self._crew.turn(self.scope.owner), suppress(UnknownRecord):
            record = self.get(id)
            self._put(record.owner, self._pen.rereading(record))
            return True
        return False

    def _steady(self) -> AbstractContextManager:
        """For the steps of one answer: a store that a network lies before is asked only once what is new."""
        steady = getattr(self._store, "steady", None)
        return nullcontext() if steady is None else steady(self.scope.owner)

    def _now(self) -> int:
        return micros(self._clock(), "clock")

    def _where(self, *, shared: bool = False, **narrower: Any) -> Where:
        return sight(self.scope, self._now(), shared=shared, **narrower)

    def _asked(self, text: str, recipe: Any, asked: Mapping[str, Any]) -> tuple[Query, Recipe]:
        """What is asked, and how to recall it. A first turn begins with a summary: where it can't be written, without."""
        recipe = self.recipe if recipe is None else as_recipe(recipe)
        query = query_of(text, recipe, self.scope, self._store, self._now(), **asked)
        if query.first_turn and recipe.catch_up and query.where.as_of is None:
            hands = self._hands(projects=query.where.projects, agent=query.where.agent)
            with suppress(StoreUnavailable):
                summaries.caught_up(hands, asked.get("session") or self.scope.session)
        return query, recipe

    def list(self, *, limit: int = 100, order: str = "newest", after: Named | None = None, **asked: Any) -> list[Record]:
        """Records, in order: newest, oldest, turns, latest. `after`: go on behind a record, its id or the `next` of a page;
        `timeless`: also what no longer holds."""
        where = self._where(**{"roles": SHOWN, **asked})  # the last method here: it hides Python's `list`
        return self._store.records(keys_after(self._store, where, order, limit_of(limit, 100_000), after))


def _kind(plain: type[Memory], settings: Settings) -> type[Memory]:
    """The class of a memory: the plain one, or one whose operations leave traces."""
    if settings.traces == "off" or plain is not Memory:
        return plain
    from .traces import traced

    return traced(settings.traces)
