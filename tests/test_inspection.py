"""The whole picture of one question: every score as a sum, every candidate with its place after all stages."""

from __future__ import annotations

from math import fsum

import pytest

from recollect import Memory
from recollect.demo import QUESTIONS, Clock, live_through
from recollect.inspection import pieces
from recollect.recipes import PRESETS
from recollect.settings import Settings

STAGED = (
    "balanced(decay=half-life, alpha=0.1)", "balanced(rerank_by=rank)", "balanced(rerank=none, decay=ebbinghaus)",
    "memsense(decay=half-life, kin=0.5)", "annie(rerank=late, rerank_weight=0.9)",
)  # fmt: skip


@pytest.fixture(scope="module")
def memory():
    clock = Clock()
    with Memory.open("memory:", owner="nora", embedder="static", clock=clock, settings=Settings(reranker="late")) as memory:
        live_through(memory, clock)
        memory.remember("We pack for the holiday. " + "Then this, then that. " * 400, id="long")
        memory.flush(60)
        yield memory


@pytest.mark.parametrize("recipe", [*PRESETS, *STAGED])
def test_a_score_is_the_sum_of_its_pieces(memory, recipe):
    for question in QUESTIONS:
        answer = memory.recall(question.text, recipe=recipe)
        for hit in answer:
            found = pieces(hit, answer)
            assert fsum(one.value for one in found if not one.lost) == pytest.approx(hit.score, abs=1e-12)
            assert all(one.value > 0 for one in found)
            assert {one.what for one in found if not one.lost} <= {*hit.routes, "kin", "quality", "rerank", "turn_support"}
            assert any(one.what == "decay" for one in found) == (hit.explain.get("decay", 1.0) < 1)


def test_the_length_of_a_record_is_charged_and_told(memory):
    answer = memory.recall("pack for the holiday", recipe="balanced(rerank=none)")
    hit = next(hit for hit in answer if hit.id == "long")
    toll = next(one for one in pieces(hit, answer) if one.what == "toll")
    whole = fsum(place.contribution for place in hit.routes.values())
    assert toll.lost and toll.value == pytest.approx(whole * (1 - hit.explain["parts"] ** -0.4))


def test_who_was_left_out_knows_how_narrowly(memory):
    found = memory.inspect(QUESTIONS[0].text)
    ranks = sorted(one.final_rank for one in found.candidates if one.final_rank)
    assert ranks == list(range(1, len(ranks) + 1))
    assert all(one.rank in (None, one.final_rank) for one in found.candidates)
    read = {one.record.id: one.reread for one in found.candidates if one.reread}
    assert len(read) == found.answer.diagnostics.rerank.candidates == 30
    for hit in found.answer:
        seen = hit.explain["rerank"]
        assert read[hit.id] == (seen["rank"], seen["relevance"])
    assert not any(one.reread for one in memory.inspect(QUESTIONS[0].text, recipe="annie").candidates)
