"""The read path: a question in, an answer out. The order of the stages is fixed; a recipe holds their numbers.

query → routes (side by side) → gather → fuse → score → rerank → diversify → expand → Answer

Every stage is a function of one module each. `Stages` keeps what each of them made, so that the explanation is
the same computation told again, not a second one.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from .diversify import diversify
from .embed import Embedding
from .expand import expand
from .fuse import fuse
from .gather import gather
from .ports import Store
from .query import Query
from .rankings import FAILED, RAN, TIMED_OUT, Answer, Candidate, Diagnostics, Hit, Place, Ranking, Reranked
from .recipes import Recipe
from .records import PARTS, Record
from .rerank import Judges, Said, declined, rerank
from .routes import run
from .score import age_days, charge, ordered, score, weigh
from .spaces import leading

if TYPE_CHECKING:
    import numpy as np

PROFILE_MOST = 500
_new = tuple.__new__  # half the time of a named tuple's own


class Desk:
    """What one recall has taken off the shelves, so that nothing is fetched twice."""

    def __init__(self, store: Store, space: str | None) -> None:
        self.store, self.space = store, space
        self.held: dict[int, Record] = {}

    def records(self, keys: Sequence[int]) -> Mapping[int, Record]:
        missing = [key for key in keys if key not in self.held]
        if missing:
            records = self.store.records(missing)
            if len(records) == len(missing):
                self.held.update(zip(missing, records, strict=True))
            else:  # something went while we were asking
                self.held.update((key, record) for key in missing for record in self.store.records([key]))
        return self.held

    def vectors(self, keys: Sequence[int]) -> Mapping[int, np.ndarray]:
        return self.store.vector.vectors(self.space, "full", keys) if self.space else {}

    def ids(self, keys: Sequence[int]) -> dict[int, str]:
        return {key: facts.id for key, facts in self.store.facts(keys).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """Everything between question and answer: the pool after fusion, scored, in final order."""

    rankings: Sequence[Ranking]
    pool: list[Candidate]
    scored: list[Candidate]
    final: list[Candidate]
    desk: Desk
    passages: Mapping[int, int]
    reranked: Reranked | None
    ms: float


def recall(query: Query, recipe: Recipe, embedding: Embedding | None, store: Store, judges: Judges | None = None) -> Answer:
    """The hits for a question, best first, with everything needed to say why."""
    stages = go(query, recipe, embedding, store, judges)
    top = _caught_up(stages.final, query, recipe, store)[: query.limit]
    records = stages.desk.records([candidate.key for candidate in top])
    neighbours = expand(top, records, query, recipe, store)
    passages = _passages(top, stages)
    found = [candidate for candidate in top if candidate.key in records]
    names = [ranking.route.name for ranking in stages.rankings]
    hits = [
        Hit(
            (record := records[candidate.key]).id, record.text, candidate.final, rank, candidate.fused + candidate.support,
            places(candidate.places, names), _explained(candidate, names, stages, query, recipe), record,
            neighbours.get(candidate.key, ()), passages.get(candidate.key, ""),
        )
        for rank, candidate in enumerate(found, 1)
    ]  # fmt: skip
    return Answer(
        query=query, recipe=recipe, hits=tuple(hits), profile=_profile(query, recipe, store),
        diagnostics=_diagnosed(stages, query, store),
    )  # fmt: skip


def _said(top: Sequence[Candidate], passages: Mapping[int, int], desk: Desk, before: Mapping[int, int]) -> list[Said]:
    """What of each candidate is read with the question: speaker and text, of a long one the best part, and the turn before."""
    keys = [passages.get(candidate.key, candidate.key) for candidate in top]
    held = desk.records([*keys, *before.values()])
    return [Said(_spoken(held.get(key)), _spoken(held.get(before.get(own.key, -1)))) for own, key in zip(top, keys, strict=True)]


def _spoken(record: Record | None) -> str:
    if record is None:
        return ""
    return f"{record.speaker}: {record.text}" if record.speaker and record.text else record.text


def _before(top: Sequence[Candidate], query: Query, recipe: Recipe, store: Store) -> dict[int, int]:
    """Turn's key → that of the turn before it, whatever the question narrows."""
    told = [(own.key, own.facts) for own in top if own.facts.role == "turn"] if recipe.rerank_before else []
    places = {key: (facts.session, facts.turn - 1) for key, facts in told if facts.session and facts.turn}
    if not places:
        return {}
    where = dataclasses.replace(query.where, tenant=None, projects=(), sessions=(), kinds=(), roles=(), since=None)
    there = store.turns(where, list(dict.fromkeys(places.values())))
    return {key: there[place] for key, place in places.items() if place in there}


def _passages(top: Sequence[Candidate], stages: Stages) -> dict[int, str]:
    """What of the long ones answers the question: the best part."""
    best = {candidate.key: stages.passages[candidate.key] for candidate in top if candidate.key in stages.passages}
    parts = stages.desk.records(list(best.values())) if best else {}
    return {key: parts[part].text for key, part in best.items() if part in parts}


def go(
    query: Query, recipe: Recipe, embedding: Embedding | None, store: Store, judges: Judges | None = None, *, whole: bool = False
) -> Stages:  # fmt: skip
    """The stages up to the final order of the candidates; `whole`: of all in the pool, for whoever asks why not."""
    started = perf_counter()
    rankings, passages = gather(
        run(query, recipe, embedding, store), query, recipe, store, lambda ask, deeper: run(ask, deeper, embedding, store)
    )
    desk = Desk(store, _space(query, embedding, store))
    read = 0 if declined(recipe, embedding is not None) else recipe.rerank_top.size(query.limit)
    size = max(recipe.pool.size(query.limit), query.limit, read)
    rescored = _rescored(query, recipe, store, passages)
    # When nothing after fusion can change the order, what lies beyond the limit need not be looked at.
    plain = not (rescored or whole or read or recipe.mmr is not None or recipe.kind_limits or query.first_turn)
    pool = ordered(_known(fuse(rankings, recipe, query.limit if plain else size), store), "fused")[:size]
    if recipe.parts_toll and passages:
        charge(pool, _parts(pool, passages, desk), recipe)
    scored = score(list(pool), query, recipe, store)
    if rescored:
        scored = ordered(scored, "final")
    scored, reranked = rerank(
        scored, query, recipe, judges, lambda top: _said(top, passages, desk, _before(top, query, recipe, store)),
        embeds=embedding is not None,
    )  # fmt: skip
    scored = _limited(scored, recipe)
    final = diversify(scored, recipe, query.limit, desk.records, desk.vectors)
    return Stages(
        rankings=rankings, pool=pool, scored=scored, final=final, desk=desk, passages=passages,
        reranked=reranked, ms=(perf_counter() - started) * 1000,
    )  # fmt: skip


def _rescored(query: Query, recipe: Recipe, store: Store, passages: Mapping[int, int]) -> bool:
    """Can scoring change the order that fusion gave? Kin only where something is a turn of a session."""
    if recipe.alpha or recipe.decay or recipe.sessions != "off" or (recipe.parts_toll and passages):
        return True
    return bool(recipe.kin) and "turn" in store.roles(query.where)


def _parts(pool: Sequence[Candidate], passages: Mapping[int, int], desk: Desk) -> dict[int, int]:
    """In how many parts each of these is searched, where it is in more than one."""
    keys = [candidate.key for candidate in pool if candidate.key in passages]
    held = desk.records(keys)
    counts = {key: held[key].metadata.get(PARTS, 1) for key in keys if key in held}
    return {key: count for key, count in counts.items() if isinstance(count, int) and count > 1}


def _space(query: Query, embedding: Embedding | None, store: Store) -> str | None:
    if embedding is not None:
        return (embedding if query.vectors else leading(embedding, query.text, query.where, store)).space
    return f"given:{len(query.vectors['full'])}" if "full" in query.vectors else None


def _known(found: list[Candidate], store: Store) -> list[Candidate]:
    """The candidates the store knows, with what scoring needs of them. A route can't bring in what the store hasn't got."""
    facts = store.facts([candidate.key for candidate in found]) if found else {}
    known = [candidate for candidate in found if candidate.key in facts]
    for candidate in known:
        candidate.facts = facts[candidate.key]
    return known


def _limited(found: list[Candidate], recipe: Recipe) -> list[Candidate]:
    """At most so many of a kind."""
    if not recipe.kind_limits:
        return found
    room = dict(recipe.kind_limits)
    taken: Counter[str] = Counter()
    kept = []
    for candidate in found:
        kind = candidate.facts.kind
        taken[kind] += 1
        if taken[kind] <= room.get(kind, len(found)):
            kept.append(candidate)
    return kept


def _caught_up(found: list[Candidate], query: Query, recipe: Recipe, store: Store) -> list[Candidate]:
    """In the first turn of a session the latest session summary comes first, whatever its age, and never twice."""
    if not (query.first_turn and recipe.catch_up):
        return found
    summaries = dataclasses.replace(query.where, roles=("summary",), kinds=(), sessions=(), since=None)
    keys = store.select(summaries, order="newest", limit=1)
    if not keys:
        return found
    latest = next((candidate for candidate in found if candidate.key == keys[0]), None)
    if latest is None:
        latest = Candidate(keys[0])
        facts = store.facts(keys)
        if not facts:
            return found
        latest.facts = facts[keys[0]]
        weigh([latest], query, recipe)
    return [latest, *(candidate for candidate in found if candidate is not latest)]


def _profile(query: Query, recipe: Recipe, store: Store) -> tuple[Record, ...]:
    if not recipe.profile:
        return ()
    rules = dataclasses.replace(query.where, kinds=("procedural",), sessions=(), projects=(), roles=(), since=None)
    return tuple(store.records(store.select(rules, order="oldest", limit=PROFILE_MOST)))


def places(found: Sequence[tuple[int, int, float, float]], names: Sequence[str]) -> dict[str, Place]:
    """Route name → rank, raw score and contribution."""
    return {names[place[0]]: _new(Place, place[1:]) for place in found}


def _explained(candidate: Candidate, names: Sequence[str], stages: Stages, query: Query, recipe: Recipe) -> dict[str, object]:
    """Every number the score was made of, under the names Memsense gave them."""
    numbers: dict[str, object] = {"rrf_score": candidate.fused, "memory_score": candidate.facts.quality, "alpha": recipe.alpha}
    if candidate.parts > 1:
        numbers["parts"] = candidate.parts
    if candidate.kin is not None:
        numbers["kin"] = candidate.kin
    if recipe.decay is not None:
        now = query.where.as_of if query.where.as_of is not None else query.where.now
        numbers |= {"decay": candidate.decay, "age_days": age_days(candidate.facts, now)}
    if recipe.sessions != "off":
        numbers |= {
            "session_rrf_score": candidate.fused, "turn_support": candidate.support,
            "supporting_turn_count": candidate.support_count, "best_turn_routes": places(candidate.support_places, names),
        }  # fmt: skip
    if candidate.diversity is not None:
        nearest = candidate.diversity["nearest"]
        named = None if nearest is None else stages.desk.ids([nearest]).get(nearest)
        numbers["diversity"] = {**candidate.diversity, "nearest": named}
    if candidate.judged is not None:
        numbers["rerank"] = {"name": stages.reranked.name, **candidate.judged}
    ways = {ranking.route.name: ranking.reasons[candidate.key] for ranking in stages.rankings if candidate.key in ranking.reasons}
    return numbers | ({"ways": ways} if ways else {})


def _diagnosed(stages: Stages, query: Query, store: Store) -> Diagnostics:
    notes = [f"{r.route.name}: {r.reason}" for r in stages.rankings if r.status == RAN and r.reason]
    path = _path(stages.rankings)
    if not stages.pool and path != "token_recall_after_embed_error" and not store.select(query.where, order="newest", limit=1):
        path = "skipped_empty_store"
    read = stages.reranked
    notes += [f"rerank: {read.reason}"] if read is not None and read.reason and not read.idle else []
    return Diagnostics(
        retrieval_path=path, routes=tuple(stages.rankings), rerank=stages.reranked, notes=tuple(notes), ms=stages.ms
    )


def _path(rankings: Sequence[Ranking]) -> str:
    """Which path ran, in OpenCouch's words, and two more where it has none."""
    vectors = [ranking for ranking in rankings if ranking.route.kind == "vector" and ranking.weight]
    text = any(ranking.status == RAN for ranking in rankings if ranking.route.kind != "vector")
    if any(ranking.status == RAN for ranking in vectors):
        return "hybrid_rrf" if text else "vector_recall"
    if any(ranking.status in (FAILED, TIMED_OUT) for ranking in vectors):
        return "token_recall_after_embed_error"
    return "token_recall" if text else "nothing_ran"
