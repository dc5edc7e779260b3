"""Between the routes and their fusion: what was found in parts is one again, and nothing stands beside its own repetition.

A part gives its place to the record it belongs to, once a route, at the best rank; that record's `passage` is the part that
did best over all routes. Session chunks that repeat their turns are left out by recipes that don't look at sessions, and our
summaries of sessions by all that don't catch up, unless summaries are asked for. When a route's pool was so full of the same
that too few are left, the routes are run again with larger pools.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from .chunks import sentences
from .parts import whole_of
from .ports import Facts, Store
from .query import Query
from .rankings import RAN, Answer, Hit, Ranking
from .recipes import Pool, Recipe
from .records import PART, SUMMARY
from .tokens import language_of, query_terms, terms

Run = Callable[[Query, Recipe], Sequence[Ranking]]
CHUNK_ID, SUMMARY_ID = "session-", f"{SUMMARY}-"  # of the chunks and summaries we make ourselves
DEEPER, DEEPEST = 4, 64  # so many times the candidates, when a pool was full of the same


class Gathered(NamedTuple):
    """Rankings without parts; record's key → the key of its best part."""

    rankings: Sequence[Ranking]
    passages: Mapping[int, int]


def gather(rankings: Sequence[Ranking], query: Query, recipe: Recipe, store: Store, run: Run) -> Gathered:
    """The rankings as records; untouched where no part and no repetition can be among them."""
    if not _concerned(recipe, query, store):
        return Gathered(rankings, {})
    times = 1
    found = _gathered(rankings, query, recipe, store)
    while times < DEEPEST and _starved(rankings, found.rankings, query.limit, times):
        times *= DEEPER
        rankings = _under(rankings, run(query, _deeper(recipe, query.limit, times)))
        found = _gathered(rankings, query, recipe, store)
    return found if times == 1 else found._replace(rankings=[_cut(ranking, query.limit) for ranking in found.rankings])


def pointed(answer: Answer) -> list[Hit]:
    """The hits, passages and sessions from the sentence on that answers: an item in a prompt is cut short, but not before it."""
    long = ((hit, hit.passage or (hit.text if hit.record.role == "session" else "")) for hit in answer)
    return [hit._replace(passage=_from_best(text, answer.query.text)) if text else hit for hit, text in long]


def _from_best(text: str, question: str) -> str:
    """A text from the sentence with most of the question's words in it and right behind it."""
    said = sentences(text)
    language = language_of(text)
    wanted = set(query_terms(question, [language]))
    shared = [len(wanted.intersection(terms(sentence, language))) for sentence in said]
    worth = [2 * own + next_ for own, next_ in zip(shared, [*shared[1:], 0], strict=True)]
    best = max(range(len(said)), key=lambda number: (worth[number], -number), default=0)
    return text if not best or not any(worth) else text[text.index(said[best]) :]


def _concerned(recipe: Recipe, query: Query, store: Store) -> bool:
    """Whether the store may hold what has to be gathered. One that can't tell cheaply is taken at its worst."""
    roles = getattr(store, "roles", None)
    if roles is None:
        return True
    where, tenant = query.where, query.scope.tenant
    held = roles(where if tenant in (where.owner, where.tenant) else replace(where, tenant=tenant))
    if SUMMARY in held and _tells_no_summary(recipe, query):
        return True
    return PART in held or (recipe.sessions == "off" and "session" in held)


def _gathered(rankings: Sequence[Ranking], query: Query, recipe: Recipe, store: Store) -> Gathered:
    facts = store.facts(list({key: None for ranking in rankings for key in ranking.keys}))
    parts = {key: whole_of(own.id) for key, own in facts.items() if own.role == PART}
    dropped = {key for key, own in facts.items() if _repeats(own, recipe, query)}
    if not (parts or dropped):
        return Gathered(rankings, {})
    keys = store.resolve(replace(query.where, tenant=query.scope.tenant), sorted(set(parts.values())))
    whole = {part: keys.get(name) for part, name in parts.items()}
    return Gathered([_one(ranking, whole, dropped) for ranking in rankings], _passages(rankings, whole, recipe))


def _repeats(facts: Facts, recipe: Recipe, query: Query) -> bool:
    """Whether it only says again what turns say, and nobody asked for that; what has another name is somebody's own."""
    if facts.role == SUMMARY:
        return facts.id.startswith(SUMMARY_ID) and _tells_no_summary(recipe, query)
    return facts.role == "session" and facts.id.startswith(CHUNK_ID) and recipe.sessions == "off"


def _tells_no_summary(recipe: Recipe, query: Query) -> bool:
    return not (recipe.catch_up or SUMMARY in query.where.roles)


def _one(ranking: Ranking, whole: Mapping[int, int | None], dropped: set[int]) -> Ranking:
    """A ranking of records: each at the place of its best part; one that is found itself, too, stands where its parts do."""
    mine = {whole[key] for key in ranking.keys if key in whole}
    best: dict[int, float] = {}
    reasons: dict[int, str] = {}
    for key, score in zip(ranking.keys, ranking.scores, strict=True):
        record = whole.get(key, key)
        if record is not None and record not in best and key not in dropped and not (key in mine and key not in whole):
            best[record] = score
            if key in ranking.reasons:
                reasons[record] = ranking.reasons[key]
    return ranking._replace(keys=list(best), scores=list(best.values()), reasons=reasons)


def _passages(rankings: Sequence[Ranking], whole: Mapping[int, int | None], recipe: Recipe) -> dict[int, int]:
    votes: dict[int, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking.keys if ranking.status == RAN else (), 1):
            if whole.get(key) is not None:
                votes[key] = votes.get(key, 0.0) + ranking.weight / (recipe.rrf_k + rank)
    passages: dict[int, int] = {}
    for part in sorted(votes, key=lambda part: (-votes[part], part)):
        passages.setdefault(whole[part], part)
    return passages


def _starved(asked: Sequence[Ranking], left: Sequence[Ranking], limit: int, times: int) -> bool:
    """A route gave all it was asked for, and too little of it is left to fill the answer."""
    return any(
        len(kept.keys) < limit and len(kept.keys) < len(full.keys) >= times * full.route.pool.size(limit)
        for full, kept in zip(asked, left, strict=True)
    )


def _deeper(recipe: Recipe, limit: int, times: int) -> Recipe:
    routes = (route.replace(pool=Pool(least=times * route.pool.size(limit))) for route in recipe.routes)
    return recipe.replace(routes=tuple(routes))


def _under(rankings: Sequence[Ranking], deeper: Sequence[Ranking]) -> list[Ranking]:
    """The deeper rankings, under the routes that were asked for."""
    return [new._replace(route=old.route) for old, new in zip(rankings, deeper, strict=True)]


def _cut(ranking: Ranking, limit: int) -> Ranking:
    size = ranking.route.pool.size(limit)
    return ranking._replace(keys=ranking.keys[:size], scores=ranking.scores[:size])
