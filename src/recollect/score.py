"""What a candidate is worth beyond its ranks: quality, age, and the support a session gets from its turns.

    own = (fused + support) / parts ^ parts_toll
    final = (own + kin × the best own in its session) × decay + alpha × quality

A record that is searched in parts has a chance with each of them, and answers of a thousand words would push aside what was
said in one line: the toll takes that advantage back. Kin is what a session lends to each of its turns: where one answers, the
others are likelier to (a document's evidence for its passages, after Callan 1994).

Decay by half-life is max(floor, 2^(−age/half-life)), the floor for evergreen kinds only; by Ebbinghaus it is
e^(−age / (half-life × (1 + reinforced))), so what was confirmed fades more slowly (after Zhong et al., MemoryBank, 2023). Age is
never negative, and a record without a time is ageless. Support follows Memsense: a session gains
min(cap, share × best fused score among its turns); its turns themselves step back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import attrgetter

from .ports import AGELESS, Facts, Store
from .query import Query, Where
from .rankings import Candidate
from .recipes import Recipe

DAY = 86_400_000_000


def score(found: list[Candidate], query: Query, recipe: Recipe, store: Store) -> list[Candidate]:
    """Candidates with their final scores, in no order; sessions stand in for their turns where the recipe says so."""
    if recipe.sessions != "off":
        found = stand_in(found, query, recipe, store)
    if recipe.kin:
        _lend(found)
    weigh(found, query, recipe)
    return found


def weigh(found: list[Candidate], query: Query, recipe: Recipe) -> None:
    """Give each candidate its final score."""
    now = query.where.as_of if query.where.as_of is not None else query.where.now
    for candidate in found:
        fused, facts = own(candidate), candidate.facts
        if candidate.kin is not None:
            fused += recipe.kin * candidate.kin
        if recipe.decay is not None:
            candidate.decay = decay(facts, now, recipe)
            fused *= candidate.decay
        candidate.final = fused + recipe.alpha * facts.quality if recipe.alpha else fused


def own(candidate: Candidate) -> float:
    """What a candidate has of itself."""
    return (candidate.fused + candidate.support) * candidate.toll


def charge(found: list[Candidate], parts: Mapping[int, int], recipe: Recipe) -> None:
    """Note what each candidate's number of parts leaves of its score."""
    for candidate in found:
        candidate.parts = parts.get(candidate.key, 1)
        candidate.toll = candidate.parts**-recipe.parts_toll


def _lend(found: list[Candidate]) -> None:
    """Note the best score among the turns of each session. Beside turns, what is none is its own kin: no worse off."""
    best: dict[str, float] = {}
    for candidate in found:
        if _turn(candidate):
            best[candidate.facts.session] = max(own(candidate), best.get(candidate.facts.session, 0.0))
    for candidate in found if best else ():
        candidate.kin = best[candidate.facts.session] if _turn(candidate) else own(candidate)


def _turn(candidate: Candidate) -> bool:
    return candidate.facts.role == "turn" and candidate.facts.session is not None


def decay(facts: Facts, now: int, recipe: Recipe) -> float:
    """From 1, new, towards the floor."""
    age = age_days(facts, now)
    half_life = dict(recipe.half_lives).get(facts.kind, recipe.half_life)
    floor = recipe.floor if facts.kind in recipe.evergreen else 0.0
    if recipe.decay == "ebbinghaus":
        return max(floor, math.exp(-age / (half_life * (1 + facts.reinforced))))
    return max(floor, 2.0 ** (-age / half_life))


def age_days(facts: Facts, now: int) -> float:
    """Days since it happened; 0 for the ageless and for what is still to come."""
    return 0.0 if facts.at == AGELESS else max(0.0, (now - facts.at) / DAY)


def ordered(found: list[Candidate], by: str) -> list[Candidate]:
    """The tie rule: the score, then the best rank in any route, then the newest, then the id."""
    value = attrgetter(by)
    places = [(-value(c), c.best_rank, -c.facts.at, c.facts.id, number) for number, c in enumerate(found)]
    places.sort()
    return [found[place[-1]] for place in places]


def stand_in(found: list[Candidate], query: Query, recipe: Recipe, store: Store) -> list[Candidate]:
    """Session chunks instead of turns, each supported by its best turn. Notes stay, unless only sessions are wanted."""
    chunks = _chunks(found, query.where, store)
    if not chunks:
        return found
    turns: dict[str, list[Candidate]] = {}
    for candidate in found:
        if candidate.facts.role == "turn" and candidate.facts.session in chunks:
            turns.setdefault(candidate.facts.session, []).append(candidate)
    kept = {c.key: c for c in found if _stays(c, chunks, recipe)}
    for session, voices in turns.items():
        best = min(voices, key=lambda c: (-c.fused, c.best_rank, -c.facts.at))
        for key, facts in _supported(chunks[session], best, kept):
            chunk = kept.setdefault(key, Candidate(key))
            chunk.facts, chunk.best_rank = facts, chunk.best_rank or best.best_rank
            chunk.support = min(recipe.support_cap, recipe.support * best.fused)
            chunk.support_count, chunk.support_key, chunk.support_places = len(voices), best.key, best.places
    return list(kept.values())


def _stays(candidate: Candidate, chunks: dict[str, list[tuple[int, Facts]]], recipe: Recipe) -> bool:
    if candidate.facts.role == "session":
        return True
    return recipe.sessions != "only" and not (candidate.facts.role == "turn" and candidate.facts.session in chunks)


def _chunks(found: list[Candidate], where: Where, store: Store) -> dict[str, list[tuple[int, Facts]]]:
    """Session → its chunks, for every session that a candidate is, or is a turn of."""
    sessions = {c.facts.session for c in found if c.facts.session is not None and c.facts.role in ("session", "turn")}
    if not sessions:
        return {}
    narrowed = Where(
        owner=where.owner, agent=where.agent, projects=where.projects, sessions=tuple(sorted(sessions)), kinds=where.kinds,
        roles=("session",), since=where.since, now=where.now, as_of=where.as_of, exclude=where.exclude,
    )  # fmt: skip
    keys = store.select(narrowed, order="turns", limit=10_000)
    chunks: dict[str, list[tuple[int, Facts]]] = {}
    for key, facts in store.facts(keys).items():
        chunks.setdefault(facts.session, []).append((key, facts))
    return chunks


def _supported(chunks: list[tuple[int, Facts]], best: Candidate, kept: dict[int, Candidate]) -> list[tuple[int, Facts]]:
    """The chunks that were found themselves; else the one that holds the best turn."""
    found = [(key, facts) for key, facts in chunks if key in kept]
    before = [entry for entry in chunks if (entry[1].turn or 0) <= (best.facts.turn or 0)]
    return found or (before[-1:] or chunks[:1])
