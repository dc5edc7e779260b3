"""Fusion by scores, the toll of parts, kin, and how far a judge reaches: worked numbers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.explain import explain_answer
from recollect.fuse import fuse, scale, voiced
from recollect.ports import JudgeProfile
from recollect.rankings import Ranking
from recollect.recipes import RouteSpec, parse, preset
from recollect.rerankers.late import REACH, Late
from recollect.rerankers.opening import open_reranker
from recollect.rerankers.together import Together

SCORES = "recipe(routes=[lexical, vector], fuse=scores{})"
VECTORS = ([1.0, 0.0], [0.8, 0.6], [0.6, 0.8])
AT = datetime(2026, 1, 1, tzinfo=UTC)


def ranking(kind, scores, weight=1.0) -> Ranking:
    return Ranking(RouteSpec(kind=kind), weight, keys=list(range(len(scores))), scores=scores)


def fused(*rankings) -> dict[int, float]:
    recipe = preset("balanced").replace(routes=tuple(one.route for one in rankings))
    return {candidate.key: candidate.fused for candidate in fuse(rankings, recipe, 100)}


def trees_hold(answer) -> bool:
    return all(node.value == hit.score == node.recompute() for hit, node in explain_answer(answer).trees)


def test_words_count_from_zero_and_cosines_from_the_last():
    assert fused(ranking("lexical", [8.0, 4.0, 2.0], 0.5)) == {0: 0.5, 1: 0.25, 2: 0.125}
    assert fused(ranking("vector", [0.75, 0.625, 0.5], 2.0)) == {0: 2.0, 1: 1.0, 2: 0.0}
    assert fused(ranking("lexical", [8.0, 4.0]), ranking("vector", [0.5, 0.25])) == {0: 2.0, 1: 0.5}


@pytest.mark.parametrize("kind", ["lexical", "vector"])
@pytest.mark.parametrize("scores", [[0.5], [0.5, 0.5], [0.0, 0.0]])
def test_who_is_as_good_as_the_best_is_worth_all(kind, scores):
    assert set(fused(ranking(kind, scores)).values()) == {1.0}


def test_scores_that_can_not_be_compared_give_way_to_ranks():
    mixed = ranking("vector", [0.9, 0.3, 0.8, 0.2])
    assert voiced(mixed) == [1.0, 0.75, 0.5, 0.25] and scale(mixed) == (0.25, 0.75)
    assert fused(mixed) == pytest.approx({0: 1.0, 1: 2 / 3, 2: 1 / 3, 3: 0.0})


def test_nothing_found_is_nothing_fused():
    assert fused(ranking("lexical", []), ranking("vector", [])) == {}


@given(st.lists(st.floats(0, 100), min_size=1, max_size=30), st.sampled_from(["lexical", "vector", "tokens"]), st.floats(0.1, 5))
def test_contributions_fall_with_the_ranks_and_lie_between_0_and_the_weight(scores, kind, weight):
    found = list(fused(ranking(kind, sorted(scores, reverse=True), weight)).values())
    assert found == sorted(found, reverse=True) and found[0] == weight and found[-1] >= 0


def test_an_answer_by_scores_and_its_explanation(open_memory):
    memory = open_memory(recipe=SCORES.format(""))
    for number, vector in enumerate(VECTORS):
        memory.remember(f"Goa {'sea ' * number}", id=f"m{number}", vectors={"full": vector})
    answer = memory.recall("Goa", vectors={"full": VECTORS[0]})
    assert [hit.id for hit in answer] == ["m0", "m1", "m2"] and answer[0].score == 2.0
    second, third = (hit.routes["vector(full)"].contribution for hit in answer[1:])
    assert second == pytest.approx(0.5) and third == 0.0
    assert trees_hold(answer) and "above the least" in str(memory.explain("Goa", vectors={"full": VECTORS[0]}))


def test_a_record_in_parts_pays_for_its_chances(open_memory):
    memory = open_memory(recipe="recipe(routes=[lexical], fuse=scores)")
    memory.remember("The ferry leaves at nine.", id="short")
    memory.remember("\n\n".join(f"Line {number} about ferries and the ferry. " * 12 for number in range(4)), id="long")
    plain = {hit.id: hit.score for hit in memory.recall("ferry")}
    answer = memory.recall("ferry", recipe="recipe(routes=[lexical], fuse=scores, parts_toll=0.5)")
    parts = next(hit for hit in answer if hit.id == "long").explain["parts"]
    assert parts > 1 and plain["long"] > plain["short"]
    assert {hit.id: hit.score for hit in answer} == {"short": plain["short"], "long": plain["long"] * parts**-0.5}
    assert trees_hold(answer) and f"{parts} parts ^ -0.5" in str(answer.explain())


def test_the_best_turn_of_a_session_lends_to_the_others(open_memory):
    memory = open_memory(recipe="recipe(routes=[lexical], fuse=scores, kin=0.5)")
    said = [("Goa Goa Goa", "a"), ("Goa, said she, and nothing", "a"), ("Goa, said he, and that", "b")]
    for number, (text, session) in enumerate(said):
        memory.remember(text, id=f"m{number}", role="turn", session=session, turn=number, at=AT + timedelta(minutes=number))
    memory.remember("Goa, said a note, and no", id="note", session="a", at=AT)
    own = {hit.id: hit.score for hit in memory.recall("Goa", recipe="recipe(routes=[lexical], fuse=scores)")}
    answer = memory.recall("Goa")
    lent = {id: own[id] + 0.5 * own[best] for id, best in (("m0", "m0"), ("m1", "m0"), ("m2", "m2"), ("note", "note"))}
    assert {hit.id: hit.score for hit in answer} == lent
    assert [hit.id for hit in answer][:2] == ["m0", "m1"] and answer[-1].explain["kin"] == own[answer[-1].id]
    assert trees_hold(answer) and "best of its session" in str(answer.explain())


class Judge:
    """Says the same of everything."""

    def __init__(self, score, **profile):
        self.score, self.asked = score, []
        self.profile = JudgeProfile(**{"name": "judge", "model": "m", "inline": True, **profile})

    def scores(self, query, texts):
        self.asked += texts
        return [self.score] * len(texts)


@pytest.mark.parametrize(("reach", "weight"), [(0, 0.5), (100, 0.5), (5, 0.125)])
def test_who_reaches_short_texts_only_counts_less_about_long_ones(open_memory, reach, weight):
    recipe = "recipe(routes=[lexical], fuse=scores, rerank=auto, rerank_by=score, rerank_weight=0.5)"
    memory = open_memory(recipe=recipe, reranker=Judge(0.5, reach=reach))
    memory.remember("Goa in May")
    answer = memory.recall("Goa")
    assert answer[0].score == (1 - weight) + weight * 0.5 and trees_hold(answer)


def test_a_memory_without_an_embedder_goes_without_word_vectors(open_memory):
    memory = open_memory(recipe="balanced")
    memory.remember("Goa in May")
    answer = memory.recall("Goa")
    read = answer.diagnostics.rerank
    assert (read.status, read.reason, read.candidates) == ("skipped", "there is no embedder", 0) and not answer.diagnostics.notes


def test_late_asks_the_words_that_tell_a_question_from_others():
    late = Late()
    said = ["The orchestra plays Sibelius in April.", "And so it was that they had been there for it.", ""]
    first, second, nothing = late.scores("And so, as it was, was it there that the orchestra was?", said)
    assert first > second > nothing == 0.0 and late.profile.reach == REACH
    assert late.scores("orchestra orchestra orchestra", said) == late.scores("orchestra", said)
    assert late.scores("", said) == [0.0] * 3 and late.scores("orchestra", []) == []


@pytest.mark.parametrize(("question", "weight"), [(0, 0.5), (3, 0.5), (1, 0.5 / 9)])
def test_who_was_trained_on_short_questions_counts_less_about_long_ones(open_memory, question, weight):
    recipe = "recipe(routes=[lexical], fuse=scores, rerank=auto, rerank_by=score, rerank_weight=0.5)"
    memory = open_memory(recipe=recipe, reranker=Judge(0.5, question=question))
    memory.remember("Goa in May")
    answer = memory.recall("Goa")
    assert answer[0].score == pytest.approx((1 - weight) + weight * 0.5) and trees_hold(answer)


def test_of_several_who_is_best_at_the_question_is_heard_most():
    short, far = Judge(0.2, question=2), Judge(0.8)
    both = Together([short, far])
    assert both.scores("four", ["text"]) == pytest.approx([(0.25 * 0.2 + 0.8) / 1.25]) and both.heard("four", ["text"]) == 1.0
    assert Together([short, Judge(1.0, scripts=frozenset({"han"}))]).heard("four", ["text"]) == 0.25


def test_who_takes_his_time_reads_what_either_order_puts_first_and_only_once():
    class Table(Judge):
        def __init__(self, table, **profile):
            super().__init__(0.0, **profile)
            self.table = table

        def scores(self, query, texts):
            self.asked.append((query, tuple(texts)))
            return [self.table[text] for text in texts]

    quick = Table({"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.9})
    slow = Table({"a": 0.5, "b": 1.0, "c": 0.8, "d": 0.4}, few=3)
    both = Together([slow, quick])
    assert both.scores("Goa", "abcd") == pytest.approx([0.3, (0.2 + 0.4) / 2, (0.3 + 0.8) / 2, 0.65]), "b is held for the least"
    assert slow.asked == [("Goa", ("d", "a", "c"))] and both.compares
    assert both.scores("Goa", "abcd") == both.scores("Goa", "abcd") and len(slow.asked) == 1
    assert both.scores("Goa", "ab") == pytest.approx([0.3, 0.6]) and slow.asked[1:] == [("Goa", ("b",))]
    assert Together([slow]).scores("Pune", "abcd") == [0.5, 1.0, 0.8, 0.4], "alone he reads them all"
    assert Together([slow, quick]).scores("Goa", []) == []


def test_several_judges_are_averaged_and_who_can_not_read_is_not_asked():
    one, far, latin = Judge(0.2), Judge(0.8, reach=5), Judge(1.0, scripts=frozenset({"han"}))
    assert Together([one, Judge(0.6)]).scores("Goa", ["text"]) == pytest.approx([0.4])
    assert Together([one, far]).scores("Goa", ["0123456789"]) == pytest.approx([(0.2 + 0.25 * 0.8) / 1.25])
    assert Together([one, latin]).scores("Goa", ["text"]) == [0.2] and not latin.asked
    assert Together([latin]).scores("Goa", ["text", "more"]) == [0.0, 0.0]
    profile = Together([one, latin]).profile
    assert (profile.name, profile.scripts, profile.reach, profile.inline) == ("judge+judge", frozenset(), 0, True)


def test_a_judge_that_is_not_installed_leaves_the_others(tmp_path):
    assert open_reranker("late+cross-encoder", models_dir=tmp_path).profile.name == "late"
    with pytest.raises((FileNotFoundError, ImportError)):
        open_reranker("cross-encoder+cross-encoder", models_dir=tmp_path)
    assert open_reranker("late+late").profile.name == "late+late"


def test_neighbours_of_balanced():
    assert [route.kind for route in preset("fast").routes] == ["lexical"] and preset("fast").rerank == "late"
    assert preset("thorough").routes == preset("balanced").routes and preset("thorough").rerank == "late+cross-encoder"
    assert parse("balanced(rerank=late+cross-encoder)").rerank == "late+cross-encoder"


def test_what_is_read_again_by_score_fades_with_age(open_memory):
    read = "rerank=auto, rerank_by=score, rerank_weight=0.5"
    recipe = f"recipe(routes=[lexical], fuse=scores, decay=half-life, half_life=1d, {read})"
    memory = open_memory(recipe=recipe, reranker=Judge(0.5))
    for days in (0, 1):
        memory.remember("Goa in May", id=f"m{days}", at=AT + timedelta(days=days))
    answer = memory.recall("Goa")
    assert trees_hold(answer) and all(
        hit.score == pytest.approx(0.5 * hit.explain["decay"] / answer[0].explain["decay"] + 0.25 * hit.explain["decay"])
        for hit in answer
    )
