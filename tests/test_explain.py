"""Why these hits, and why not that one: every gate of the read path stops a record here, and is named."""

from __future__ import annotations

import json

import pytest
from doubles import ASK, Toy, down, names, near

from recollect.recipes import PRESETS
from recollect.testing import FixedClock

TEXT = "annie(mmr=none)"  # words alone, nothing put off


@pytest.fixture
def memory(open_memory):
    return open_memory(recipe=TEXT, owner="acme/alice")


def gate(memory, expect="m1", question="Goa", **asked) -> str:
    """The gate, after checking that the explanation holds together and that the answer agrees with it."""
    told = memory.explain(question, expect=expect, **asked)
    found = names(memory.recall(question, **asked))
    assert (told.gate in ("found", "over budget")) == (expect in found) == bool(told.trees)
    assert f"{expect}: {told.gate}. {told.reason}" in str(told) and json.loads(json.dumps(told.to_dict()))["gate"] == told.gate
    return told.gate


# Who may see it, and when it holds


def test_found(memory):
    memory.remember("Pune", id="m2")
    memory.remember("Goa", id="m1")
    told = memory.explain("Goa", expect="m1")
    assert gate(memory) == "found" and told.reason == "It is hit 1." and told.details["lexical"].startswith("rank 1 of 1")


def test_out_of_scope(memory):
    memory.for_owner("acme/bob").remember("Goa", id="bob's")
    memory.for_owner("globex").remember("Goa", id="theirs", kind="identity")
    for expect in ("bob's", "theirs", "nobody's", ""):
        assert gate(memory, expect) == "out of scope"
        assert "no record" in memory.explain("Goa", expect=expect).reason


def test_a_shared_fact_that_was_not_asked_for(memory):
    memory.remember("Goa", id="m1", kind="identity")
    assert gate(memory) == "filtered" and "shared by all of acme" in memory.explain("Goa", expect="m1").reason
    assert gate(memory, kinds=["identity"]) == "found" and gate(memory, recipe="sci") == "found"


def test_expired(memory):
    memory.remember("Goa", id="m1", valid_from="2026-01-01", valid_to="2026-03-10T00:00Z")
    assert gate(memory) == "expired" and "2026-03-10" in memory.explain("Goa", expect="m1").reason
    assert gate(memory, as_of="2026-03-09") == "recorded later"


def test_not_yet_valid(memory):
    memory.remember("Goa", id="m1", valid_from="2026-03-10T00:00:01Z")
    assert gate(memory) == "not yet valid" and "2026-03-10 00:00" in memory.explain("Goa", expect="m1").reason


def test_superseded(open_memory):
    clock = FixedClock()
    memory = open_memory(recipe=TEXT, clock=clock)
    memory.remember("Goa", id="m1")
    clock.advance(days=1)
    memory.remember("Pune", id="m2", supersedes="m1")
    assert gate(memory) == "superseded" and "m2" in memory.explain("Goa", expect="m1").reason
    assert gate(memory, as_of="2026-03-10") == "found" and gate(memory, as_of="2026-03-11") == "superseded"
    assert gate(memory, timeless=True) == "found"


def test_recorded_later(memory):
    memory.remember("Goa", id="m1", at="2026-01-01")
    assert gate(memory, as_of="2026-03-09") == "recorded later"


def test_excluded(memory):
    memory.remember("Goa", id="m1")
    assert gate(memory, exclude=["m1"]) == "excluded"


@pytest.mark.parametrize(
    "asked", [{"kinds": ["fact"]}, {"roles": ["turn"]}, {"sessions": ["s2"]}, {"projects": ["p2"]}, {"agent": "a2"}], ids=str
)
def test_filtered(memory, asked):
    memory.remember("Goa", id="m1", kind="place", role="note", session="s1", project="p1", agent="a1")
    assert gate(memory, **asked) == "filtered"
    (name,) = asked
    assert memory.explain("Goa", expect="m1", **asked).reason.startswith(f"Its {name.rstrip('s')} is ")


def test_too_old(memory):
    memory.remember("Goa", id="m1", at="2026-03-01")
    assert gate(memory, since="2026-03-01T00:00:01Z") == "too old" and gate(memory, since="2026-03-01") == "found"


# What a route says


def test_below_the_threshold(open_memory):
    memory = open_memory(recipe="nexus")
    memory.remember("Goa", id="m1", vectors={"full": near(0.42)})
    told = memory.explain("beach", expect="m1", vectors=ASK)
    assert gate(memory, question="beach", vectors=ASK) == "no route"
    assert told.details == {"vector(full)": "0.42 is below the threshold 0.5", "lexical": "weight 0: does not run"}


def test_too_far_away_in_the_graph(open_memory):
    """A name on every page brings every page; a threshold keeps those that are nearer."""
    memory = open_memory()
    for number in range(20):
        memory.remember(f"Page {number}.", id=f"m{number}", entities=["Nora"])
    memory.remember("Goa.", id="far", entities=["Nora", "Goa"])
    everything = memory.recall("Nora in Goa", recipe="recipe(routes=[graph])@30")
    some = memory.recall("Nora in Goa", recipe="recipe(routes=[graph(threshold=0.4)])@30")
    assert len(everything) == 21 and [hit.id for hit in some] == ["far"]
    told = memory.explain("Nora in Goa", expect="m3", recipe="recipe(routes=[graph(threshold=0.4)])@30")
    assert told.gate == "no route" and "is below the threshold 0.4" in told.details["graph"]


def test_too_small_a_share_of_the_question(open_memory):
    memory = open_memory(recipe="opencouch")
    memory.remember("Sarah ran along the amber river yesterday", id="m1")
    told = memory.explain("Sarah fluoxetine Lisbon guitar", expect="m1")
    assert told.gate == "no route" and "below the threshold 0.33" in told.details["tokens(semantic)"]
    assert told.details["tokens(episodic)"] == "kind semantic is not searched here"


def test_no_shared_word(memory):
    memory.remember("Pune", id="m1")
    assert gate(memory) == "no route"
    assert memory.explain("Goa", expect="m1").details["lexical"] == "shares no word with the question"


def test_a_word_is_missing(open_memory):
    memory = open_memory(recipe="sci")
    memory.remember("Threadline", id="m1")
    told = memory.explain("Threadline auth", expect="m1")
    assert told.gate == "no route" and told.details["lexical(semantic)"] == "lacks a word of the question"


def test_the_whole_question_is_not_in_it(open_memory):
    memory = open_memory(recipe="sci_cloud")
    memory.remember("Goa", id="m1")
    assert memory.explain("Goa beach", expect="m1").details["substring(semantic)"] == "does not contain the question"


def test_older_than_a_route_looks_back(open_memory):
    memory = open_memory(recipe="opencouch")
    memory.remember("Sarah", id="m1", kind="episodic", at="2026-02-07T23:59:59Z")
    told = memory.explain("Sarah", expect="m1")
    assert told.gate == "no route" and told.details["tokens(episodic)"] == "older than this route looks back (2026-02-08)"


def test_no_vector_of_this_model(open_memory):
    memory = open_memory(recipe="nexus")
    memory.remember("Goa", id="m1")
    memory.remember("Pune", id="m2", vectors={"full": ASK})
    told = memory.explain("beach", expect="m1", vectors=ASK)
    assert told.gate == "no route" and told.details["vector(full)"] == "no full vector of this model"


def test_no_embedder_and_a_failing_one(open_memory, tmp_path):
    memory = open_memory(recipe="nexus")
    memory.remember("Goa", id="m1")
    assert memory.explain("Goa", expect="m1").details["vector(full)"] == "skipped: there is no embedder"
    toy = Toy()
    memory = open_memory(recipe="nexus", embedder=toy, url=str(tmp_path / "other.db"))
    memory.remember("Goa", id="m1")
    assert memory.flush(10) == 0
    toy.trouble = down()
    told = memory.explain("beach", expect="m1")
    assert told.gate == "no route" and told.details["vector(full)"].startswith("failed: the server is gone")


def test_texts_that_still_wait(open_memory):
    toy = Toy()
    toy.trouble = down()
    memory = open_memory(recipe="nexus", embedder=toy)
    memory.remember("Goa", id="m1")
    memory.flush(5)
    assert "1 texts wait" in memory.explain("beach", expect="m1").details["vector(full)"]


def test_beyond_a_route_s_pool(open_memory):
    memory = open_memory(recipe="annie@1")
    memory.remember_many({"text": "Goa", "id": f"m{number}", "at": f"2026-03-0{number}"} for number in range(1, 7))
    told = memory.explain("Goa", expect="m1")
    assert told.gate == "no route" and told.details["lexical"].startswith("rank 6 of 6")
    assert told.details["lexical"].endswith("beyond the pool of 4")


# What comes after the routes


def test_beyond_the_fused_pool(open_memory):
    memory = open_memory(recipe="annie(pool=2)")
    memory.remember_many({"text": "Goa", "id": f"m{number}", "at": f"2026-03-0{number}"} for number in range(1, 7))
    assert gate(memory) == "beyond the pool"
    assert memory.explain("Goa", expect="m1").reason == "Fused rank 6; the pool is 2."


def test_stands_behind_its_session(open_memory):
    memory = open_memory(recipe="memsense")
    memory.remember("Goa", id="m1", role="turn", session="s1", turn=1)
    memory.remember("A day", id="chunk", role="session", session="s1")
    assert gate(memory) == "stands behind its session" and "s1" in memory.explain("Goa", expect="m1").reason
    assert gate(memory, "chunk") == "found"


def test_sessions_only(open_memory):
    memory = open_memory(recipe="memsense(sessions=only)")
    memory.remember("Goa", id="m1")
    assert gate(memory) == "found", "there is no session to show"
    memory.remember("Goa and more", id="chunk", role="session", session="s1")
    memory.remember("Goa again", id="loose", role="turn", session="s2")
    assert gate(memory) == gate(memory, "loose") == "filtered" and gate(memory, "chunk") == "found"


def test_limit_of_its_kind(open_memory):
    memory = open_memory(recipe="opencouch")
    memory.remember_many({"text": "Sarah", "id": f"m{number}", "at": f"2026-03-0{number}"} for number in range(1, 8))
    assert gate(memory, question="Sarah") == "limit of its kind"
    assert memory.explain("Sarah", expect="m1").reason == "Enough semantic records ranked higher."


@pytest.mark.parametrize("recipe", ["memsense@2", "memsense(refill=false)@2"])
def test_duplicate(open_memory, recipe):
    memory = open_memory(recipe=recipe)
    memory.remember("Goa", id="one", vectors={"full": [1, 0, 0, 0]})
    memory.remember("Goa amber", id="m1", vectors={"full": near(0.97)})
    memory.remember("Goa amber birch", id="other", vectors={"full": [0, 0, 1, 0]})
    asked = {"vectors": {"full": ASK}}
    assert gate(memory, **asked) == "duplicate" and gate(memory, "other", **asked) == "found"
    assert memory.explain("Goa", expect="m1", **asked).reason == "It says the same as one (redundancy 0.97)."


def test_beyond_the_limit(memory):
    memory.remember_many({"text": "Goa", "id": f"m{number}", "at": f"2026-03-0{number}"} for number in range(1, 4))
    assert gate(memory, limit=2) == "beyond the limit"
    assert memory.explain("Goa", expect="m1", limit=2).reason == "Final rank 3; 2 were asked for."


def test_over_budget(memory):
    memory.remember_many({"text": f"Goa {'x' * 190}", "id": f"m{number:02}"} for number in range(12))
    answer = memory.recall("Goa", limit=12)
    last = answer[11].id
    assert gate(memory, last, limit=12) == "over budget" and gate(memory, answer[0].id, limit=12) == "found"
    assert last in {dropped.id for dropped in memory.render(answer).dropped}


def test_caught_up_though_no_route_found_it(open_memory):
    memory = open_memory(recipe="opencouch")
    memory.remember("Quiet week", id="m1", kind="episodic", role="summary", at="2025-01-01")
    assert gate(memory, question="Sarah") == "no route"
    assert gate(memory, question="Sarah", first_turn=True) == "found"


def test_pushed_out_by_the_latest_summary(open_memory):
    memory = open_memory(recipe="opencouch@1")
    memory.remember("Quiet week", id="latest", kind="episodic", role="summary", at="2025-01-01")
    memory.remember("Sarah", id="m1")
    assert gate(memory, question="Sarah") == "found"
    assert gate(memory, question="Sarah", first_turn=True) == "beyond the limit"
    reason = memory.explain("Sarah", expect="m1", first_turn=True).reason
    assert reason == "Final rank 1; 1 were asked for, and the latest summary comes first."


def test_a_record_is_as_good_as_its_id(memory):
    record = memory.remember("Goa")
    assert memory.explain("Goa", expect=record).gate == "found"


# Trees


def test_a_tree_reads_from_the_score_down_to_the_ranks(open_memory):
    memory = open_memory(recipe="memsense")
    memory.remember("Goa", id="turn", role="turn", session="s1", turn=1)
    memory.remember("Goa and more", id="chunk", role="session", session="s1")
    explained = memory.explain("Goa")
    ((hit, node),) = explained.trees
    assert hit.id == "chunk" and node.name == "final_score" and node.value == hit.score == node.recompute()
    hybrid, quality = node.children
    own, support = hybrid.children
    assert (hybrid.name, own.value, quality.value) == ("hybrid", pytest.approx(1 / 17), pytest.approx(0.05))
    assert support.name == "turn_support" and support.value == pytest.approx(0.6 / 16) and "1 turns" in support.note
    text = str(explained)
    for part in ("turn_support", "support_cap", "memory_score", "rank 2", "BM25", "k + rank", "vec_full: skipped"):
        assert part in text, part
    assert memory.recall("Goa").explain().splitlines()[-1] == text.splitlines()[-1]


def test_a_tree_tells_of_age_and_of_repetition(open_memory):
    memory = open_memory(recipe="annie")
    memory.remember("Goa in March", id="m1", kind="place", at="2025-12-10")
    memory.remember("Goa in March again", id="m2", at="2026-03-10")
    text = str(memory.explain("Goa"))
    assert "90 days old, half-life 30 days, floor 0.3" in text and "nearest m2" in text


def test_a_boost_has_no_rank_in_its_tree(open_memory):
    memory = open_memory(recipe="sci_cloud")
    memory.remember("Goa in March", id="m1")
    ((_, node),) = memory.explain("goa").trees
    assert node.recompute() == 0.02 and "boost" in str(memory.explain("goa"))


@pytest.mark.parametrize("preset", PRESETS)
def test_an_explanation_without_hits_says_what_ran(open_memory, preset):
    recipe, told = PRESETS[preset], open_memory(recipe=preset).explain("Goa")
    assert told.trees == () and told.path == "skipped_empty_store"
    assert len(told.routes) == len(recipe.routes) + bool(recipe.rerank)
    assert json.loads(json.dumps(told.to_dict()))["hits"] == []


def test_a_summary_that_was_put_first_is_worth_what_its_tree_says(open_memory):
    memory = open_memory(recipe="opencouch(alpha=0.5, decay=half-life)")
    memory.remember("Sarah went home", id="latest", kind="episodic", role="summary", quality=0.8, at="2025-06-01")
    told = memory.explain("nothing of the kind", first_turn=True)
    ((hit, tree),) = told.trees
    assert hit.id == "latest" and hit.score == tree.value == tree.recompute() == 0.4
    assert hit.explain["decay"] < 0.01 and hit.explain["age_days"] > 200


def test_a_text_that_holds_all_of_the_question_overtakes_one_that_repeats_some(open_memory):
    memory = open_memory(recipe="recipe(routes=[lexical(cover=4)])")
    memory.remember("Goa, Goa, Goa! Goa and the beach, the beach.", id="some")
    memory.remember("We walked from the airport to a beach in Goa, a long way in the rain, and the bus was gone.", id="all")
    memory.remember("The airport is closed.", id="one")
    memory.remember("A beach towel.", id="towel")
    assert names(memory.recall("beach Goa airport", recipe="recipe(routes=[lexical])")) == ["some", "all", "one", "towel"]
    answer = memory.recall("beach Goa airport")
    assert names(answer) == ["all", "some", "one", "towel"]
    assert "rank 1, score 5.73475, from 1.14695, holding 100% of what was asked" in answer.explain()


def test_a_long_text_says_so_of_its_part(open_memory):
    memory = open_memory(recipe="recipe(routes=[lexical(cover=4)])")
    memory.remember(" ".join([*["A sentence about nothing much, and long."] * 60, "The airport of Goa."]), id="long")
    memory.remember("Goa.", id="short")
    answer = memory.recall("Goa airport")
    assert names(answer)[0] == "long" and "airport" in answer[0].passage and "holding 100% of what was asked" in answer.explain()
