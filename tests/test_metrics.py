"""Metrics and chance: the laws, the worked numbers, and trec_eval's own code as a second opinion."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.evaluate.chance import holm, interval, paired
from recollect.evaluate.metrics import NAMES, ndcg, recall, recall_all, recall_any, reciprocal_rank, scores

IDS = [f"d{n}" for n in range(30)]
GRADES = st.dictionaries(st.sampled_from(IDS), st.integers(1, 3), min_size=1, max_size=12)
RANKINGS = st.lists(st.sampled_from(IDS), unique=True, max_size=25)


def test_worked_numbers():
    grades = {"a": 2.0, "b": 1.0}
    assert ndcg(["x", "a"], grades, 10) == pytest.approx((2 / math.log2(3)) / (2 + 1 / math.log2(3)))
    assert recall(["x", "a"], grades, 10) == 0.5
    assert (recall_any(["x", "a"], grades, 2), recall_any(["x", "a"], grades, 1)) == (1.0, 0.0)
    assert (recall_all(["b", "a"], grades, 2), recall_all(["b", "a"], grades, 1)) == (1.0, 0.0)
    assert reciprocal_rank(["x", "y", "b"], grades, 10) == pytest.approx(1 / 3)
    assert reciprocal_rank(["x", "y", "b"], grades, 2) == 0.0


@settings(max_examples=60, deadline=None)
@given(GRADES)
def test_a_perfect_ranking_scores_one(grades):
    best = sorted(grades, key=lambda id: -grades[id])
    found = scores(best, best, grades)
    assert found["nDCG@10"] == pytest.approx(1) and found["MRR@10"] == 1 and found["recall@50"] == 1
    assert set(found) == set(NAMES) and all(0 <= value <= 1 + 1e-12 for value in found.values())


@settings(max_examples=60, deadline=None)
@given(GRADES, RANKINGS, st.integers(0, 24))
def test_moving_a_relevant_record_up_never_costs_and_repeating_it_never_pays(grades, ranked, place):
    before = scores(ranked, ranked, grades)
    relevant = [id for id in ranked if id in grades]
    if relevant:
        lifted = ranked.copy()
        at = lifted.index(relevant[place % len(relevant)])
        if at and lifted[at - 1] not in grades:
            lifted[at - 1], lifted[at] = lifted[at], lifted[at - 1]
        after = scores(lifted, lifted, grades)
        assert all(after[name] >= before[name] - 1e-12 for name in NAMES)
        again = [*ranked, relevant[0], relevant[0]]
        assert scores(again, again, grades) == before


@settings(max_examples=60, deadline=None)
@given(GRADES, RANKINGS)
def test_grades_in_another_order_score_the_same(grades, ranked):
    assert scores(ranked, ranked, dict(reversed(grades.items()))) == scores(ranked, ranked, grades)


@settings(max_examples=80, deadline=None)
@given(GRADES, RANKINGS)
def test_trec_eval_says_the_same(grades, ranked):
    trec = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier, of the dependency group test, is not installed")
    judge = trec.RelevanceEvaluator({"q": dict(grades)}, {"ndcg_cut.10", "recall.5,10,50", "recip_rank", "success.5,10"})
    run = {"q": {id: float(-rank) for rank, id in enumerate(ranked)}}
    theirs = judge.evaluate(run).get("q", {}) if ranked else {}
    ours = scores(ranked, ranked, grades)
    for name, their in {"nDCG@10": "ndcg_cut_10", "recall@5": "recall_5", "recall@10": "recall_10", "recall@50": "recall_50",
                        "any@5": "success_5", "any@10": "success_10"}.items():  # fmt: skip
        assert ours[name] == pytest.approx(theirs.get(their, 0.0), abs=1e-9), name
    first = judge.evaluate({"q": dict(list(run["q"].items())[:10])}).get("q", {}) if ranked else {}
    assert ours["MRR@10"] == pytest.approx(first.get("recip_rank", 0.0))


def test_an_interval_holds_its_mean_and_says_nothing_it_cannot_know():
    values = [0.0, 1.0] * 50
    found = interval([values])
    assert found.low < found.mean == 0.5 < found.high and found == interval([values])
    assert found.high - found.low == pytest.approx(4 * 0.5 / math.sqrt(100), rel=0.15)  # 1.96 standard errors either way
    assert interval([[0.3] * 9]) == pytest.approx((0.3, 0.3, 0.3))
    assert interval([[1.0] * 1000, [0.0] * 10]).mean == 0.5  # each set counts alike


def test_the_paired_test_is_exact_where_it_can_be():
    found = paired([[1.0] * 5], [[0.0] * 5])
    assert found.exact and found.p == 2 / 32 and found.difference.mean == 1  # all five one way, or all five the other
    assert paired([[0.4] * 8], [[0.4] * 8]).p == 1.0
    assert paired([[]], [[]]).p == 1.0


def test_the_paired_test_finds_what_is_there_and_not_what_is_not():
    better, worse = [0.5 + 0.01 * (n % 7) for n in range(200)], [0.5 + 0.01 * (n % 5) for n in range(200)]
    assert paired([better], [worse]).significant and not paired([better], [better[::-1]]).significant
    assert paired([better], [worse]).p == paired([worse], [better]).p


def test_several_comparisons_need_more_proof():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == [] and holm([0.9, 0.8]) == [1.0, 1.0]
