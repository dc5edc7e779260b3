"""Recipes: presets to the digit, ranges, the text form, tables."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
import tomllib
from dataclasses import FrozenInstanceError, fields
from enum import StrEnum
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidRecipe
from recollect.recipe_text import LONGEST_TEXT
from recollect.recipes import (
    MEASURES,
    MOST_ROUTES,
    PRESETS,
    ROUTE_KINDS,
    Pool,
    Recipe,
    RouteSpec,
    as_recipe,
    as_route,
    fields_table,
    from_mapping,
    parse,
    preset,
    to_mapping,
)
from recollect.records import KINDS, VIEWS

KINDS_ARE = "a list of kinds of record"
LIMITS_ARE = "a table of kinds of record, each with 0 to 1000"
MEASURES_ARE = "a table of cosine, tags, words or shingles, each with 0 to 1"
NAMES_ARE = "a short name such as lexical, vec_full or vector(semantic)"
NO_EFFECT = "of route lexical has no effect: lexical routes have none. It belongs to"
PAGE = Path(__file__).parent.parent / "docs" / "recipes.md"


def sizes(recipe: Recipe) -> dict[str, int]:
    return {route.name: route.pool.size(recipe.limit) for route in recipe.routes}


# The presets


def test_the_presets_are_these():
    assert list(PRESETS) == ["balanced", "fast", "thorough", "opencouch", "sci", "sci_cloud", "memsense", "annie", "nexus"]
    assert all(name == recipe.name == str(recipe) for name, recipe in PRESETS.items())
    assert all(preset(name) is recipe for name, recipe in PRESETS.items())


def test_presets_can_not_be_changed():
    with pytest.raises(TypeError):
        PRESETS["mine"] = PRESETS["annie"]
    with pytest.raises(FrozenInstanceError):
        PRESETS["annie"].limit = 3


def test_opencouch():
    recipe = preset("opencouch")
    assert sizes(recipe) == {"tokens(semantic)": 20, "vector(semantic)": 20, "tokens(episodic)": 20, "vector(episodic)": 20}
    assert (recipe.rrf_k, recipe.limit, recipe.kind_limits) == (60, 7, (("semantic", 5), ("episodic", 2)))
    assert recipe.catch_up and recipe.profile
    for route in recipe.routes:
        assert route.name == f"{route.kind}({route.kinds[0]})" and route.weight == 1
        assert route.max_age == (30 if route.kinds == ("episodic",) else None)
        assert (route.threshold, route.second_gate) == ((0.33, (2, 0.40)) if route.kind == "tokens" else (0.5, None))
    threshold = recipe.route("tokens(semantic)").threshold
    assert 1 / 4 < threshold <= 1 / 3


def test_opencouch_keeps_every_candidate_until_the_kinds_are_counted():
    recipe = preset("opencouch")
    assert recipe.pool.size(recipe.limit) >= sum(sizes(recipe).values())


@pytest.mark.parametrize(("name", "text"), [("sci", "lexical"), ("sci_cloud", "substring")])
def test_sci(name, text):
    recipe = preset(name)
    kinds = ("episodic", "semantic", "identity")
    assert sizes(recipe) == {f"{kind}({of})": 30 for of in kinds for kind in ("vector", text)}
    assert (recipe.rrf_k, recipe.limit, recipe.kind_limits) == (60, 10, ())
    assert {route.match for route in recipe.routes if route.kind == "lexical"} <= {"all"}
    assert {route.boost for route in recipe.routes if route.kind == "substring"} <= {0.02}
    assert round(1 / (recipe.rrf_k + 1) + 1 / (recipe.rrf_k + 5), 4) == 0.0318


def test_memsense():
    recipe = preset("memsense")
    assert [(route.name, route.kind, route.view) for route in recipe.routes] == [
        ("vec_full", "vector", "full"), ("vec_user", "vector", "user"), ("vec_asst", "vector", "assistant"),
        ("vec_next_user", "vector", "next_user"), ("lexical", "lexical", "full"),
        ("facet_personal_info", "vector", "personal_info"), ("facet_preferences", "vector", "preferences"),
        ("facet_events", "vector", "events"),
    ]  # fmt: skip
    assert set(sizes(recipe).values()) == {64} and recipe.pool.size(4) == recipe.mmr_pool.size(4) == 32
    assert (recipe.rrf_k, recipe.alpha, recipe.sessions, recipe.support, recipe.support_cap) == (15, 0.1, "first", 0.6, 0.12)
    assert (recipe.mmr, recipe.redundancy, recipe.duplicate) == (0.78, (("cosine", 1.0), ("tags", 0.35)), 0.94)
    assert (recipe.normalise, recipe.refill, recipe.decay) == (False, True, None)
    assert (recipe.neighbours, recipe.neighbours_when, recipe.limit) == (1, "no-session", 4)


@pytest.mark.parametrize("limit", [1, 4, 7, 8, 9, 20, 1000])
def test_memsense_pools_are_those_of_its_page_at_every_limit(limit):
    recipe = preset("memsense")
    assert recipe.routes[0].pool.size(limit) == max(max(limit * 4, 32) * 2, 40)
    assert recipe.pool.size(limit) == max(limit * 4, 32)


def test_annie():
    recipe = preset("annie")
    assert sizes(recipe) == {"lexical": 20, "vector(full)": 10, "graph": 5}
    assert sum(sizes(recipe).values()) == 35 == recipe.pool.size(recipe.limit)
    assert (recipe.rrf_k, recipe.decay, recipe.half_life, recipe.floor) == (60, "half-life", 30, 0.3)
    assert recipe.evergreen == ("person", "place", "relationship") and recipe.lookback is None
    assert (recipe.mmr, recipe.redundancy, recipe.mmr_pool.size(5), recipe.normalise) == (0.7, (("words", 1.0),), 20, True)
    assert recipe.route("lexical").match == "any"


def test_nexus():
    recipe = preset("nexus")
    assert sizes(recipe) == {"vector(full)": 5, "lexical": 10}
    assert [route.weight for route in recipe.routes] == [1, 0]
    assert (recipe.rrf_k, recipe.scope, recipe.routes[0].threshold) == (60, "project", 0.5)


def test_balanced_has_every_general_route_and_runs_two():
    recipe = preset("balanced")
    assert [route.name for route in recipe.routes if route.weight] == ["lexical", "vector(full)"]
    assert [route.name for route in recipe.routes if not route.weight] == ["graph", "temporal"]
    assert [route.weight for route in recipe.routes] == [1, 1, 0, 0]
    assert sizes(recipe) == dict.fromkeys(("lexical", "vector(full)", "graph", "temporal"), 80)
    assert recipe.trust and recipe.fuse == "scores" and recipe.rerank == "late"
    assert recipe.decay is None and recipe.mmr is None


# Values


def test_pools():
    four_times, twenty, larger = Pool(times=4), Pool(least=20), Pool(times=8, least=64)
    assert [four_times.size(5), twenty.size(5), larger.size(4), larger.size(10)] == [20, 20, 64, 80]
    assert [str(four_times), str(twenty), str(larger)] == ["4x", "20", "max(8x, 64)"]
    for bad in ({}, {"times": -1}, {"least": 2.5}, {"times": True}):
        with pytest.raises(InvalidRecipe):
            Pool(**bad)


def test_a_route_is_called_by_its_kind_or_its_view_unless_it_is_given_a_name():
    assert RouteSpec(kind="lexical").name == "lexical"
    assert RouteSpec(kind="vector", view="user").name == "vector(user)"
    assert RouteSpec(kind="vector", name="vec_user", view="user").replace(view="events").name == "vec_user"
    assert RouteSpec(kind="vector", view="user").replace(view="events").name == "vector(events)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight": 6}, "weight of route lexical must be 0 to 5, not 6."),
        ({"weight": float("nan")}, "weight of route lexical must be 0 to 5, not nan."),
        ({"weight": True}, "weight of route lexical must be 0 to 5, not True."),
        ({"weight": None}, "weight of route lexical must be 0 to 5, not None."),
        ({"pool": "4y"}, "pool of route lexical must be a number of candidates such as 4x, 20 or max(8x, 64), not 4y."),
        ({"pool": 0}, "pool of route lexical: A pool of 0 candidates finds nothing. Write 4x, 20 or max(8x, 64)."),
        ({"match": "eny"}, "match of route lexical must be any, all or relax, not eny. Did you mean any?"),
        ({"kinds": ("semantics",)}, f"kinds of route lexical must be {KINDS_ARE}, not ('semantics',). Did you mean semantic?"),
        ({"kinds": "semantic"}, f"kinds of route lexical must be {KINDS_ARE}, not semantic. Write a list."),
        ({"max_age": -1}, "max_age of route lexical must be 0 to 36500 days, such as 30d, or none, not -1."),
        ({"threshold": 0.5}, f"threshold {NO_EFFECT} tokens and vector and graph routes."),
        ({"view": "user"}, f"view {NO_EFFECT} vector routes."),
        ({"name": "two words"}, f"name of route two words must be {NAMES_ARE}, not two words."),
        ({"name": "none"}, f"name of route none must be {NAMES_ARE}, not none."),
    ],
)
def test_a_wrong_route_says_which_field_its_range_and_what_was_given(change, message):
    with pytest.raises(InvalidRecipe) as error:
        RouteSpec(kind="lexical", **change)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"limit": 0}, "limit must be 1 to 1000, not 0."),
        ({"limit": 2.0}, "limit must be 1 to 1000, not 2."),
        ({"rrf_k": "60"}, "rrf_k must be 0 to 1000, not 60."),
        ({"decay": "linear"}, "decay must be half-life or ebbinghaus, or none, not linear."),
        ({"half_life": 0}, "half_life must be above 0 to 36500 days, such as 30d, not 0."),
        ({"half_life": None}, "half_life must be above 0 to 36500 days, such as 30d, not None."),
        ({"lookback": "1w"}, "lookback must be above 0 to 36500 days, such as 168h, or none, not 1w."),
        ({"mmr": 1.01}, "mmr must be 0 to 1, or none, not 1.01."),
        ({"trust": 1}, "trust must be true or false, not 1."),
        ({"neighbours": 21}, "neighbours must be 0 to 20, not 21."),
        ({"redundancy": ()}, f"redundancy must be {MEASURES_ARE}, not (). Name at least one."),
        ({"kind_limits": {"semantic": -1}}, f"kind_limits must be {LIMITS_ARE}, not {{'semantic': -1}}."),
        ({"kind_limits": 5}, f"kind_limits must be {LIMITS_ARE}, not 5. Write a table or pairs."),
        ({"routes": ()}, "routes must be a list of 1 to 32 routes with distinct names, not ()."),
        ({"routes": ("graph", "graph")}, "routes: two routes are called graph. Give one another name=."),
        ({"routes": ("lexical(hops=3)",)}, f"routes: At character 1 of the recipe: hops {NO_EFFECT} graph routes."),
        ({"routes": (3,)}, "routes: A recipe is a text, a table or a Recipe, not int. Try memsense@10."),
    ],
)
def test_a_wrong_field_says_its_range_and_what_was_given(change, message):
    with pytest.raises(InvalidRecipe) as error:
        preset("annie").replace(**change)
    assert str(error.value) == message


def test_an_unknown_field_names_the_fields_and_the_one_that_was_meant():
    with pytest.raises(InvalidRecipe, match=r"recipe has no field rrfk\. Did you mean rrf_k\? The fields are name, routes,"):
        preset("annie").replace(rrfk=3)
    with pytest.raises(InvalidRecipe, match=r"A route has no field wait\. Did you mean weight\?"):
        RouteSpec(kind="graph").replace(wait=3)


def test_an_unknown_preset_names_the_presets():
    with pytest.raises(InvalidRecipe, match=r"There is no recipe memsens\. Did you mean memsense\? The presets are balanced"):
        preset("memsens")


def test_values_are_equal_by_content_however_they_were_written():
    by_hand = preset("annie").replace(rrf_k=60, half_life="720h", evergreen=["person", "place", "relationship"], mmr_pool=20)
    assert by_hand == preset("annie") and hash(by_hand) == hash(preset("annie"))
    assert type(by_hand.rrf_k) is float and type(by_hand.evergreen) is tuple


def test_an_enumeration_is_taken_as_its_word():
    sessions = StrEnum("Sessions", {"ONLY": "only"})
    assert type(preset("memsense").replace(sessions=sessions.ONLY).sessions) is str


def test_recipes_survive_pickling_and_can_be_keys():
    for recipe in PRESETS.values():
        assert {pickle.loads(pickle.dumps(recipe)): 1}[recipe] == 1


def test_replace_leaves_the_original_alone():
    before = str(preset("annie"))
    assert preset("annie").replace(rrf_k=10).rrf_k == 10
    assert str(preset("annie")) == before == "annie"


# Weights


def test_weights_by_name_and_by_kind_and_the_name_wins():
    recipe = preset("memsense").with_weights({"vec_user": 2, "vector": 0.5})
    assert {route.name: route.weight for route in recipe.routes if route.kind == "vector"} == {
        "vec_full": 0.5, "vec_user": 2, "vec_asst": 0.5, "vec_next_user": 0.5,
        "facet_personal_info": 0.5, "facet_preferences": 0.5, "facet_events": 0.5,
    }  # fmt: skip
    assert recipe.route("lexical").weight == 1


def test_a_word_that_is_a_route_means_that_route_alone():
    recipe = as_recipe("recipe(routes=[lexical, lexical(name=strict, match=all)])").with_weights({"lexical": 0.5})
    assert [route.weight for route in recipe.routes] == [0.5, 1]


def test_weights_of_routes_that_are_not_there():
    with pytest.raises(InvalidRecipe, match=r"no route lexcal\. Did you mean lexical\? The routes are vector\(full\), lexical\."):
        preset("nexus").with_weights({"lexcal": 1})
    with pytest.raises(InvalidRecipe, match=r"weight of route lexical must be 0 to 5, not 6\."):
        preset("nexus").with_weights({"lexical": 6})
    with pytest.raises(InvalidRecipe, match="weights must be a table"):
        preset("nexus").with_weights(0.5)


def test_a_route_by_name():
    assert preset("nexus").route("lexical").weight == 0
    with pytest.raises(InvalidRecipe, match=r"nexus has no route graph\."):
        preset("nexus").route("graph")


# The text form


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("memsense(rrf_k=20, neighbours=2)@10", None),
        ("memsense @ 4", "memsense"),
        (" memsense ( neighbours = 2 , rrf_k = 20.0 , ) @ 10 ", "memsense(rrf_k=20, neighbours=2)@10"),
        ("annie(lookback=168h)", None),
        ("annie(lookback=7d)", "annie(lookback=168h)"),
        ("annie(lookback=7)", "annie(lookback=168h)"),
        ("annie(half_life=12h)", None),
        ("annie(half_life=48h)", "annie(half_life=2d)"),
        ("annie(decay=none, mmr=none)", None),
        ("annie(limit=9)", "annie@9"),
        ("annie(evergreen=[], refill=false)", None),
        ("nexus(weights={lexical: .5})", "nexus(weights={lexical: 0.5})"),
        ("sci(weights={vector: 0})", "sci(weights={vector(episodic): 0, vector(semantic): 0, vector(identity): 0})"),
        ("nexus(weights={lexical: 0})", "nexus"),
        ("nexus(routes=[lexical(weight=0.5, pool=4x), vector(user, threshold=0.5)])", None),
        ("nexus(routes=[lexical], weights={lexical: 0.5})", "nexus(routes=[lexical(weight=0.5)])"),
        ("recipe(routes=[vector(view=user, name=u)])", "recipe(routes=[vector(user, name=u)])@10"),
        ("recipe(routes=[vector()])@3", "recipe(routes=[vector])@3"),
        ("memsense(name=mine, routes=[lexical], mmr=none, duplicate=none)", None),
        ("annie(kind_limits={semantic: 5}, redundancy={cosine: 1, words: 0.5})", None),
    ],
)
def test_texts(written, printed):
    recipe = parse(written)
    if printed is not None:
        assert str(recipe) == printed
    assert parse(str(recipe)) == recipe == Recipe.parse(written)
    if printed is None and "name=" not in written:
        assert str(recipe) == written


def test_a_recipe_under_another_name_spells_everything_out():
    pinned = preset("nexus").replace(name="recipe")
    assert str(pinned) == "recipe(routes=[vector(pool=1x, threshold=0.5), lexical(weight=0, pool=2x)], scope=project)@5"
    assert str(pinned.replace(name="mine")).startswith("recipe(name=mine, routes=[")


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("", 1, "expected the name of a preset, or recipe, found the end"),
        ("memsens", 1, "Did you mean memsense?"),
        ("recipe", 1, "needs routes. Write recipe(routes=[lexical, vector])"),
        ("recipe@3", 1, "needs routes"),
        ("memsense(rrf=20)", 10, "Did you mean rrf_k?"),
        ("memsense(wights={})", 10, "Did you mean weights?"),
        ("memsense(rrf_k=2000)", 16, "rrf_k must be 0 to 1000, not 2000"),
        ("memsense(rrf_k 20)", 16, "expected =, found '20)'"),
        ("memsense(rrf_k=20 alpha=1)", 19, "expected , or ), found 'alpha=1)'"),
        ("memsense(rrf_k=20", 18, "expected , or ), found the end"),
        ("memsense(rrf_k=)", 16, "expected a value, found ')'"),
        ("memsense(rrf_k=2, rrf_k=3)", 19, "rrf_k is given twice"),
        ("memsense)", 9, "expected the end"),
        ("memsense@", 10, "expected a value, found the end"),
        ("memsense@0", 10, "limit must be 1 to 1000, not 0"),
        ("memsense@4@5", 11, "expected the end"),
        ("memsense(limit=3)@4", 19, "limit= was given already"),
        ("memsense(weights={x: 1})", 18, "memsense has no route x"),
        ("memsense(weights={lexical: 1, lexical: 2})", 31, "a name that is not there yet"),
        ("recipe(routes=lexical)", 15, "expected [, found 'lexical)'"),
        ("recipe(routes=[])", 15, "routes must be a list of 1 to 32 routes"),
        ("recipe(routes=[lexcal])", 16, "Did you mean lexical?"),
        ("recipe(routes=[lexical(wait=2)])", 24, "Did you mean weight?"),
        ("recipe(routes=[vector(usr)])", 23, "Did you mean user?"),
        ("recipe(routes=[vector(user weight=2)])", 28, "expected , or )"),
        ("recipe(routes=[vector(user, view=full)])", 29, "view is given twice"),
        ("recipe(routes=[lexical(user)])", 16, "view of route lexical has no effect"),
        ("recipe(routes=[lexical, lexical])", 15, "two routes are called lexical"),
        ("annie(mmr=1e999)", 11, "mmr must be 0 to 1, or none, not inf"),
        ("annie(mmr=nan)", 11, "mmr must be 0 to 1, or none, not nan"),
        ("annie(evergreen=[[person]])", 18, "expected a value"),
        ("__import__(os)", 1, "There is no recipe __import__"),
    ],
)
def test_an_error_in_a_text_names_its_place(text, place, says):
    with pytest.raises(InvalidRecipe) as error:
        parse(text)
    assert str(error.value).startswith(f"At character {place} of the recipe: ")
    assert says in str(error.value)


def test_a_text_is_bounded():
    with pytest.raises(InvalidRecipe, match="at most 20000 characters, not 20001"):
        parse("a" * (LONGEST_TEXT + 1))
    for deep in ("annie(kinds=" + "[" * 9000, "recipe(routes=[" * 900, "annie(" * 3000, "annie(pool=" + "max(" * 4000):
        with pytest.raises(InvalidRecipe):
            parse(deep)


# Any recipe at all

words = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,39}", fullmatch=True).filter(lambda w: w not in ("none", "true", "false"))
share = st.floats(0, 1)
upto5 = st.floats(0, 5)
days = st.one_of(st.floats(0, 36500, exclude_min=True), st.integers(1, 5000).map(lambda hours: hours / 24), st.integers(1, 400))
pools = st.builds(Pool, times=st.integers(0, 1000), least=st.integers(1, 100_000)) | st.builds(Pool, times=st.integers(1, 1000))
some_kinds = st.lists(st.sampled_from(KINDS), unique=True, max_size=4).map(tuple)
OWN = {
    "tokens": {"threshold": share, "second_gate": st.none() | st.tuples(st.integers(1, 100), share)},
    "vector": {"threshold": st.none() | st.floats(-1, 1), "view": st.sampled_from(VIEWS)},
    "lexical": {
        "match": st.sampled_from(("any", "all", "relax")),
        "rank": st.sampled_from(("bm25", "native")),
        "cover": st.floats(0, 20),
    },
    "substring": {"boost": share},
    "graph": {"hops": st.integers(1, 5), "facts": st.booleans()},
    "temporal": {},
}


def table(keys, values):
    return st.dictionaries(st.sampled_from(keys), values, max_size=4).map(lambda d: tuple(d.items()))


@st.composite
def routes(draw):
    kind = draw(st.sampled_from(ROUTE_KINDS))
    shared = {"weight": upto5, "pool": pools, "max_age": st.none() | days, "kinds": some_kinds}
    chosen = draw(st.fixed_dictionaries({}, optional=shared | OWN[kind]))
    name = draw(st.just("") | words | st.builds("{}({})".format, words, words))
    return RouteSpec(kind=kind, name=name, **chosen)


FIELDS = {
    "routes": st.lists(routes(), min_size=1, max_size=5, unique_by=lambda route: route.name).map(tuple),
    "limit": st.integers(1, 1000), "kinds": some_kinds, "kind_limits": table(KINDS, st.integers(0, 1000)),
    "rrf_k": st.floats(0, 1000), "pool": pools, "trust": st.booleans(), "alpha": share,
    "decay": st.sampled_from((None, "half-life", "ebbinghaus")), "half_life": days, "half_lives": table(KINDS, days),
    "floor": share, "evergreen": some_kinds, "sessions": st.sampled_from(("off", "first", "only")), "support": upto5,
    "support_cap": upto5, "mmr": st.none() | share, "redundancy": table(MEASURES, share).filter(bool),
    "rerank": st.none() | st.sampled_from(("late", "mine")), "rerank_top": pools,
    "fuse": st.sampled_from(("ranks", "scores")), "kin": st.floats(0, 5), "parts_toll": st.floats(0, 2),
    "rerank_by": st.sampled_from(("rank", "score")), "rerank_weight": share,
    "rerank_before": st.integers(0, 4000), "duplicate": st.none() | share,
    "mmr_pool": pools, "normalise": st.booleans(), "refill": st.booleans(),
    "neighbours": st.integers(0, 20), "neighbours_when": st.sampled_from(("never", "no-session", "always")),
    "catch_up": st.booleans(), "profile": st.booleans(), "scope": st.sampled_from(("owner", "project")),
    "lookback": st.none() | days,
}  # fmt: skip


@st.composite
def recipes(draw):
    base = draw(st.sampled_from(list(PRESETS.values())))
    recipe = base.replace(**draw(st.fixed_dictionaries({}, optional=FIELDS)))
    recipe = recipe.with_weights(draw(st.dictionaries(st.sampled_from([r.name for r in recipe.routes]), upto5, max_size=3)))
    return recipe.replace(name=draw(st.sampled_from([base.name, "recipe"]) | words))


def test_the_strategy_covers_every_field():
    assert {"name", *FIELDS} == {one.name for one in fields(Recipe)}
    own = {name for kind in OWN.values() for name in kind}
    assert own | {"kind", "name", "weight", "pool", "max_age", "kinds"} == {one.name for one in fields(RouteSpec)}


@given(recipes())
@settings(max_examples=150, deadline=None)
def test_what_is_printed_reads_back_the_same(recipe):
    assert parse(str(recipe)) == recipe
    assert as_recipe(recipe) is recipe


@given(recipes())
@settings(max_examples=60, deadline=None)
def test_tables_read_back_the_same_through_json_and_toml(recipe):
    plain = to_mapping(recipe)
    assert from_mapping(plain) == recipe
    assert from_mapping(json.loads(json.dumps(plain))) == recipe
    assert from_mapping(tomllib.loads(toml({"recipe": plain}))["recipe"]) == recipe


@given(routes())
@settings(max_examples=60, deadline=None)
def test_routes_read_back_the_same(route):
    assert as_route(str(route)) == route


@given(st.text("memsanirclxvtou(){}[]=:,.@0123456789 _-\n", max_size=60) | st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_recipe_or_an_error_that_says_so(text):
    for attempt in (text, f"memsense({text}", f"recipe(routes=[{text}", f"annie(weights={{{text}"):
        try:
            assert parse(str(parse(attempt))) == parse(attempt)
        except InvalidRecipe as error:
            assert re.match("At character [0-9]+ of the recipe: ", str(error))


def test_the_longest_recipe_can_be_read_back():
    awkward = 0.12345678901234567e-4
    kinds = dict.fromkeys(KINDS, awkward)
    longest = [
        RouteSpec(
            kind="vector", view="personal_info", name=f"{'n' * 38}{number:02}({'m' * 40})", weight=awkward, threshold=-awkward,
            pool=Pool(times=999, least=99_999), max_age=awkward, kinds=KINDS,
        )
        for number in range(MOST_ROUTES)
    ]  # fmt: skip
    recipe = preset("memsense").replace(
        name="x" * 40, routes=longest, kinds=KINDS, evergreen=KINDS, half_lives=kinds, kind_limits=dict.fromkeys(KINDS, 1000),
        redundancy=dict.fromkeys(MEASURES, awkward), lookback=awkward, half_life=awkward, floor=awkward, support=awkward,
    )  # fmt: skip
    assert parse(str(recipe)) == recipe and len(str(recipe)) < LONGEST_TEXT


# Tables


def toml(tables: dict[str, dict[str, object]]) -> str:
    """Enough TOML to write what `to_mapping` returns."""
    lines = []
    for name, content in tables.items():
        lines.append(f"[{name}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in content.items() if not isinstance(value, dict)]
        lines += [f"{key} = {{ {', '.join(f'{json.dumps(k)} = {json.dumps(v)}' for k, v in value.items())} }}"
                  for key, value in content.items() if isinstance(value, dict)]  # fmt: skip
    return "\n".join(lines)


def test_a_table_says_only_what_differs():
    recipe = preset("memsense").replace(rrf_k=20, limit=10).with_weights({"lexical": 0.5})
    assert to_mapping(recipe) == {"base": "memsense", "limit": 10, "rrf_k": 20, "weights": {"lexical": 0.5}}
    assert to_mapping(preset("annie")) == {"base": "annie"}


def test_routes_of_a_table_are_texts_or_tables():
    routes = ["lexical(pool=4x)", {"kind": "vector", "view": "user", "threshold": 0.5, "max_age": "30d"}]
    assert str(from_mapping({"routes": routes, "limit": 5})) == (
        "recipe(routes=[lexical(pool=4x), vector(user, threshold=0.5, max_age=30d)])@5"
    )


def test_the_base_of_a_table_may_be_any_recipe():
    assert from_mapping({"base": "memsense(rrf_k=20)@9", "alpha": 0}) == parse("memsense(rrf_k=20, alpha=0)@9")
    assert from_mapping({"base": "recipe", "routes": ["graph"]}) == Recipe(routes=("graph",))
    assert from_mapping({"base": "annie", "decay": None, "mmr": "none"}) == parse("annie(decay=none, mmr=none)")


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({}, "A recipe without a preset needs routes."),
        ({"base": "nope"}, "There is no recipe nope."),
        ({"base": "annie", "rrfk": 3}, "Did you mean rrf_k?"),
        ({"base": "annie", 3: 3}, "A recipe has no field 3."),
        ({"base": "annie", "weights": [1]}, "weights must be a table"),
        ({"base": "annie", "weights": {"vec": 1}}, "annie has no route vec."),
        ({"base": 5}, "A recipe is a text, a table or a Recipe, not int."),
        ({"routes": [{"knd": "graph"}]}, "Did you mean kind?"),
        ({"routes": [{"view": "user"}]}, "kind"),
    ],
)
def test_wrong_tables(table, says):
    with pytest.raises(InvalidRecipe) as error:
        from_mapping(table)
    assert says in str(error.value)


def test_reading_a_table_leaves_it_alone():
    table = {"base": "annie", "weights": {"graph": 0}, "limit": 3}
    copy = json.loads(json.dumps(table))
    from_mapping(table)
    assert table == copy


# The page


def rows() -> list[str]:
    lines = []
    for of in ("recipe", "route"):
        lines += ["", f"Of a {of}:", "", "| field | may be | default | what it says |", "|---|---|---|---|"]
        lines += [
            f"| `{row.name}` | {row.range} | {f'`{row.default}`' if row.default else ''} | {row.meaning} |"
            for row in fields_table() if row.of == of
        ]  # fmt: skip
    return [*lines, ""]


def test_the_page_has_the_fields_as_they_are():
    table = re.search(r"<!-- fields:.*?-->\n(.*?)<!-- end of fields -->", PAGE.read_text(encoding="utf-8"), re.S)[1]
    assert table == "\n".join(rows()) + "\n"


def test_the_page_names_every_field_and_preset():
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"`{one.name}`" in page for cls in (Recipe, RouteSpec) for one in fields(cls))
    assert all(f"`{name}`" in page for name in PRESETS)


def test_the_recipes_of_the_page_are_as_we_print_them():
    listed = re.search(r"```recipe\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)[1].splitlines()
    assert len(listed) == 10 and [str(parse(line)) for line in listed] == listed


def test_the_examples_of_the_page_run():
    page = PAGE.read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", page, re.S):
        exec(compile(block, str(PAGE), "exec"), {})
    tables = [tomllib.loads(block)["recipe"] for block in re.findall(r"```toml\n(.*?)```", page, re.S)]
    assert [str(from_mapping(table)) for table in tables] == [
        "memsense(weights={lexical: 0.5}, rrf_k=20, half_life=90d)@10",
        "recipe(name=mine, routes=[lexical(pool=4x), vector(user, threshold=0.5)])@10",
    ]
    assert all(str(parse(text)) == text for text in re.findall(r"`((?:annie|memsense|nexus|balanced)\([^`]*\)(?:@\d+)?)`", page))


def test_importing_recipes_brings_in_nothing_heavy():
    code = "import sys, recollect.recipes; print(sorted({'numpy', 'sqlite3', 'asyncio', 'hypothesis'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
