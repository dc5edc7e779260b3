"""Laws: what holds for every recipe and every small world, not only for the examples we thought of. About 15 seconds.

Worlds are tiny on purpose: few words, few moments, few vectors, so that ties are the rule. They are played on two stores, the
plain one and sqlite in memory, whose answers must be the same to the last digit.
"""

from __future__ import annotations

import math
from contextlib import closing
from itertools import pairwise

import pytest
from doubles import Spy, Toy, memory_on, names
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_recipes import recipes

from recollect import Memory
from recollect.recipes import PRESETS, Pool, Recipe, RouteSpec
from recollect.settings import Settings
from recollect.stores import open_store
from recollect.testing import FixedClock

NOW = FixedClock()
VECTORS = ([1, 0, 0], [0, 1, 0], [0.6, 0.8, 0], [0.6, 0, 0.8], [0.5, 0, 0.8660254], [-1, 0, 0])
AGES = (0, 1, 3, 29, 30, 31, 45, 400)
WORDS = ("goa", "beach", "beaches", "Priya", "told", "the", "vacation", "東京", "京都", "café", "the goa beach")
EVERY_ROUTE = Recipe(
    name="every", limit=50, pool=Pool(least=100), sessions="first", neighbours=2, catch_up=True, profile=True, alpha=0.1,
    decay="half-life", mmr=0.7, redundancy=(("words", 1.0), ("cosine", 1.0)), duplicate=0.94,
    routes=(
        RouteSpec(kind="tokens", threshold=0.1), RouteSpec(kind="lexical"), RouteSpec(kind="vector"),
        RouteSpec(kind="vector", view="user"), RouteSpec(kind="substring"),
        RouteSpec(kind="lexical", kinds=("identity",), name="shared"),
        RouteSpec(kind="vector", kinds=("identity",), name="shared_vec"),
    ),
)  # fmt: skip
ALL = {**PRESETS, "every": EVERY_ROUTE}

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
vectors = st.sampled_from(VECTORS)
sessions = st.sampled_from([None, "s1", "s2"])
kinds = st.sampled_from(["semantic", "episodic", "identity", "person", "procedural"])
held, to_hold = {"valid_to": "2026-03-10"}, {"valid_from": "2026-03-11"}
holds = {"valid_from": "2026-03-01", "valid_to": "2026-04-01"}
told = st.builds(
    lambda about, valid: {**about, **valid},
    st.fixed_dictionaries(
        {"text": texts, "at": st.sampled_from(AGES), "kind": kinds},
        optional={
            "vectors": st.dictionaries(st.sampled_from(["full", "user"]), vectors, min_size=1), "source": sessions,
            "session": sessions, "project": sessions, "agent": sessions, "turn": st.integers(0, 3),
            "role": st.sampled_from(["note", "turn", "session", "summary"]), "quality": st.sampled_from([0.0, 0.5, 1.0]),
            "tags": st.sampled_from([(), ("a",), ("a", "b")]), "speaker": st.sampled_from(["Priya", None]),
        },
    ),
    st.sampled_from([{}, {}, holds, held, to_hold]),
)  # fmt: skip
narrower = st.sampled_from([{}, {"limit": 2}, {"as_of": "2026-03-09"}, {"sessions": ["s1"]}, {"first_turn": True}])
worlds = st.lists(told, min_size=1, max_size=8)
questions = st.one_of(texts, st.sampled_from(["", "?!", "goa beach", "zebra", "Priya told"]))
any_preset = st.sampled_from(list(ALL.values()))
bounded = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def remember(memory: Memory, world: list[dict]) -> None:
    now = memory._now() / 1e6
    for number, about in enumerate(world):
        memory.remember_many([{"id": f"m{(number * 7) % 10}", **about, "at": now - about["at"] * 86_400}])


def opened(url: str = "memory:", recipe="balanced", owner: str = "acme/alice") -> Memory:
    return Memory.open(url, owner=owner, recipe=recipe, embedder="none", clock=NOW, settings=Settings())


def told_of(answer) -> list[tuple]:
    return [(hit.id, hit.score, hit.rrf_score, names(hit.neighbors)) for hit in answer]


def without_times(answer) -> dict:
    """The answer as every door tells it, but for how long it took and the asides of a store."""
    shown = answer.to_dict()
    for about in (shown["diagnostics"], shown["diagnostics"]["rerank"] or {}, *shown["diagnostics"]["routes"]):
        for name in ("ms", "notes", "reason"):
            about.pop(name, None)
    return shown


@bounded
@given(worlds, questions, vectors, any_preset | recipes(), st.data())
def test_weight_0_equals_absent_and_makes_no_call(world, question, vector, recipe, data):
    silent = data.draw(st.sampled_from(recipe.routes)).name
    zero = recipe.with_weights({silent: 0})
    rest = tuple(route for route in recipe.routes if route.name != silent)
    absent = recipe.replace(routes=rest) if rest else None
    with closing(memory_on(Spy(open_store("memory:")), recipe=zero, owner="acme/alice", clock=NOW)) as memory:
        remember(memory, world)
        spy = memory._store
        spy.calls.clear()
        answer = told_of(memory.recall(question, vectors=vector))
        searched = [call for call in spy.calls if call.split(".")[0] in ("lexical", "vector") and call != "vector.vectors"]
        assert answer == (told_of(memory.recall(question, vectors=vector, recipe=absent)) if absent else [])
        kinds = {route.kind for route in rest if route.weight}
        allowed = {
            "lexical": {"lexical.words", "lexical.shares"}, "tokens": {"lexical.tokens"}, "substring": {"lexical.substring"},
        }  # fmt: skip
        may = set().union(*(allowed[kind] for kind in kinds & set(allowed)))
        assert {call for call in searched if call.startswith("lexical")} <= may
        assert "vector" in kinds or not [call for call in searched if call.startswith("vector")]


@bounded
@given(worlds, questions, vectors, any_preset, st.randoms(use_true_random=False))
def test_fusing_is_indifferent_to_route_order(world, question, vector, recipe, random):
    routes = list(recipe.routes)
    random.shuffle(routes)
    with closing(opened()) as memory:
        remember(memory, world)
        shuffled = memory.recall(question, vectors=vector, recipe=recipe.replace(routes=tuple(routes)))
        assert told_of(shuffled) == told_of(memory.recall(question, vectors=vector, recipe=recipe))


kinds_of_decay = st.sampled_from(["half-life", "ebbinghaus"])
spans = st.floats(0.01, 5000)


@bounded
@given(st.lists(st.floats(-100, 20_000), min_size=2, max_size=6), kinds_of_decay, spans, st.floats(0, 1), st.integers(0, 5))
def test_decay_stays_between_floor_and_1_and_falls_with_age(ages, decay, half_life, floor, reinforced):
    recipe = PRESETS["annie"].replace(decay=decay, half_life=half_life, floor=floor, evergreen=("person",), mmr=None, limit=20)
    with closing(opened(recipe=recipe)) as memory:
        for kind in ("person", "semantic"):
            for number, age in enumerate(sorted(ages)):
                at = NOW.now.timestamp() - age * 86_400
                memory.remember("Goa", kind=kind, at=at, id=f"{kind}{number}", reinforced=reinforced)
        hits = {hit.id: hit for hit in memory.recall("Goa")}
        for kind, least in (("person", floor), ("semantic", 0.0)):
            found = [hits[f"{kind}{number}"] for number in range(len(ages))]
            assert all(least <= hit.explain["decay"] <= 1 for hit in found)
            assert all(one.explain["decay"] >= other.explain["decay"] for one, other in pairwise(found))
            assert all(hit.explain["decay"] == 1 for hit, age in zip(found, sorted(ages), strict=True) if age <= 0)
            assert all(math.isclose(hit.score, hit.rrf_score * hit.explain["decay"]) for hit in found)


@bounded
@given(worlds, questions, vectors, any_preset)
def test_mmr_with_lambda_1_is_the_identity(world, question, vector, recipe):
    with closing(opened()) as memory:
        remember(memory, world)
        for normalise in (True, False):
            plain = recipe.replace(mmr=None, duplicate=None)
            mmr = recipe.replace(mmr=1.0, duplicate=None, normalise=normalise)
            assert told_of(memory.recall(question, vectors=vector, recipe=mmr)) == told_of(
                memory.recall(question, vectors=vector, recipe=plain)
            )


@bounded
@given(worlds, questions, vectors, any_preset | recipes())
def test_the_explanation_s_root_is_the_score_and_its_leaves_make_it(world, question, vector, recipe):
    with closing(opened(recipe=recipe)) as memory:
        remember(memory, world)
        answer = memory.recall(question, vectors=vector)
        explained = memory.explain(question, vectors=vector)
        assert [hit.id for hit, _ in explained.trees] == names(answer)
        for hit, node in explained.trees:
            assert node.value == hit.score == node.recompute()
            assert hit.rank == names(answer).index(hit.id) + 1
        assert str(explained) and answer.explain().splitlines()[0] == str(explained).splitlines()[0]


@bounded
@given(worlds, questions, vectors, any_preset, st.integers(120, 900), st.booleans())
def test_a_context_never_exceeds_its_budget(world, question, vector, recipe, budget, ids):
    with closing(opened(recipe=recipe)) as memory:
        remember(memory, world)
        block = memory.context(question, vectors=vector, max_chars=budget, ids=ids)
        assert len(block) <= budget and block.count("</memory>") == (1 if block else 0)
        rendered = memory.render(memory.recall(question, vectors=vector), max_chars=budget, max_tokens=60)
        assert rendered.tokens <= 60 and len(rendered.text) <= budget


GATES = {
    "found", "over budget", "nothing to show", "expired", "not yet valid", "recorded later", "filtered", "too old", "no route",
    "beyond the pool", "stands behind its session", "limit of its kind", "duplicate", "beyond the limit",
}  # fmt: skip


@bounded
@given(worlds, questions, vectors, any_preset | recipes(), narrower, st.integers(1, 3))
def test_why_not_agrees_with_the_answer(world, question, vector, recipe, asked, limit):
    with closing(opened(recipe=recipe)) as memory:
        remember(memory, world)
        asked = {"limit": limit, "vectors": vector, **asked}
        hits = names(memory.recall(question, **asked))
        for number in range(len(world)):
            told = memory.explain(question, expect=f"m{(number * 7) % 10}", **asked)
            assert told.gate in GATES and told.reason
            assert (told.gate in ("found", "over budget", "nothing to show")) == (told.expected in hits) == bool(told.trees)
            if told.gate == "limit of its kind":
                assert recipe.kind_limits
            if told.gate == "duplicate":
                assert recipe.duplicate is not None


OWNERS = ("acme", "acme/alice", "acme/alice/work", "acme/bob", "acm", "acme2/alice", "globex/alice")
shelves = st.lists(st.tuples(st.sampled_from(OWNERS), told), min_size=2, max_size=12)


@pytest.mark.parametrize("url", ["memory:", "sqlite:///:memory:"])
@bounded
@given(shelves, questions, vectors, st.sampled_from(OWNERS), any_preset, st.sampled_from([{}, {"kinds": ["identity"]}]))
def test_nothing_outside_the_scope_ever_comes_back(url, told, question, vector, owner, recipe, asked):
    with closing(opened(url)) as first:
        for number, (whose, about) in enumerate(told):
            remember(first.for_owner(whose), [{**about, "id": f"{whose}-{number}"}])
        memory = first.for_owner(owner)
        answer = memory.recall(question, vectors=vector, recipe=recipe, limit=50, first_turn=True, **asked)
        neighbours = [record for hit in answer for record in hit.neighbors]
        seen = [*(hit.record for hit in answer), *neighbours, *answer.profile, *memory.list()]
        tenant = owner.split("/")[0]
        for record in seen:
            assert record.owner == owner or (record.owner == tenant and record.kind == "identity")
        if not asked and recipe.name not in ("sci", "sci_cloud", "every"):
            assert {record.owner for record in seen} <= {owner}
        for whose, about in ((whose, f"{whose}-{number}") for number, (whose, _) in enumerate(told)):
            if whose.split("/")[0] != tenant:
                assert memory.explain(question, expect=about, recipe=recipe, vectors=vector).gate == "out of scope"


@bounded
@given(worlds, questions, vectors, any_preset)
def test_equal_scores_follow_the_tie_rule(world, question, vector, recipe):
    with closing(opened(recipe=recipe.replace(mmr=None, sessions="off"))) as memory:
        remember(memory, world)
        answer = memory.recall(question, vectors=vector)
        places = [(-hit.score, min(place.rank for place in hit.routes.values()), -hit.at.timestamp(), hit.id) for hit in answer]
        assert places == sorted(places)


@pytest.mark.parametrize("preset", ALL)
@settings(bounded, max_examples=40)
@given(worlds, questions, vectors, narrower)
def test_both_stores_answer_alike(preset, world, question, vector, asked):
    shown = []
    for url in ("memory:", "sqlite:///:memory:"):
        with closing(opened(url, ALL[preset])) as memory:
            remember(memory, world)
            if len(world) > 3:
                memory.forget("m7" if any(about["kind"] != "identity" for about in world[1:2]) else "m0")
            answer = memory.recall(question, vectors=vector, **asked)
            fates = [(fate.gate, fate.reason, dict(fate.details)) for fate in (
                memory.explain(question, expect=f"m{number}", vectors=vector, **asked) for number in (0, 4)
            )]  # fmt: skip
            shown.append((without_times(answer), fates, memory.context(question, vectors=vector, **asked)))
    assert shown[0] == shown[1]


@bounded
@given(worlds, questions, st.sampled_from(list(PRESETS)))
def test_an_embedder_makes_no_difference_between_the_stores_either(world, question, preset):
    shown = []
    for url in ("memory:", "sqlite:///:memory:"):
        toy = Toy(inline=True)
        with closing(memory_on(open_store(url), embedder=toy, recipe=preset, owner="acme/alice", clock=NOW)) as memory:
            remember(memory, [{name: value for name, value in about.items() if name != "vectors"} for about in world])
            shown.append(without_times(memory.recall(question)))
    assert shown[0] == shown[1]
