"""Reading the best again: the new order is the reader's, its numbers add up, and what goes wrong leaves the order as it was."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from itertools import pairwise

import pytest
from doubles import names
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.embed import FAILURES, REST
from recollect.errors import RerankerTimeout, UnknownReranker
from recollect.explain import explain_answer
from recollect.ports import JudgeProfile
from recollect.rankings import Candidate
from recollect.recipes import preset
from recollect.rerank import Judge, Judges, Said, rerank
from recollect.settings import Settings

TEXT = preset("annie").replace(mmr=None, decay=None)
PLAIN = "recipe(routes=[lexical], rrf_k=5)"
BY_RANK = "recipe(routes=[lexical], rrf_k=5, rerank=auto)"


class Reader:
    """Scores by a table of words; counts what it is asked. `trouble` stands in for its answer."""

    def __init__(self, table=None, **profile):
        self.table = table or {}
        self.profile = JudgeProfile(**{"name": "reader", "model": "m", "inline": True, **profile})
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.trouble = None

    def scores(self, query, texts):
        self.asked.append((query, tuple(texts)))
        if self.trouble is not None:
            return self.trouble(texts)
        return [next((score for word, score in self.table.items() if word in text), 0.0) for text in texts]


@pytest.fixture
def reader():
    return Reader({"March": 0.9, "April": 0.5, "Goa": 0.1})


@pytest.fixture
def memory(open_memory, reader):
    memory = open_memory(recipe=BY_RANK, reranker=reader)
    for number, text in enumerate(["Goa Goa", "Goa in April with Priya", "Goa in March with Priya and her parents"], 1):
        memory.remember(text, id=f"m{number}")
    return memory


def scores_of(answer) -> dict[str, float]:
    return {hit.id: hit.score for hit in answer}


def told(answer) -> tuple[str, str]:
    read = answer.diagnostics.rerank
    return read.status, read.reason


def trees_hold(answer) -> bool:
    return all(
        node.value == pytest.approx(hit.score, abs=1e-15) and node.recompute() == pytest.approx(hit.score, abs=1e-15)
        for hit, node in explain_answer(answer).trees
    )


def test_the_readers_order_is_the_answers(memory, reader):
    assert names(memory.recall("Goa", recipe=PLAIN)) == ["m1", "m2", "m3"]
    answer = memory.recall("Goa")
    assert names(answer) == ["m3", "m2", "m1"] and told(answer) == ("ran", "") and not answer.diagnostics.degraded
    assert scores_of(answer) == pytest.approx({"m3": 1 / 6, "m2": 1 / 7, "m1": 1 / 8})
    assert reader.asked == [("Goa", ("Goa Goa", "Goa in April with Priya", "Goa in March with Priya and her parents"))]
    read = answer.to_dict()["diagnostics"]["rerank"]
    assert (read["name"], read["status"], read["candidates"]) == ("reader", "ran", 3)
    assert answer[0].explain["rerank"]["relevance"] == 0.9 and answer[0].explain["rerank"]["rank"] == 1
    said = str(memory.explain("Goa"))
    assert trees_hold(answer) and "reader: rank 1, 0.9" in said and "3 read by reader" in said


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ("rerank_weight=0.5", {"m1": 0.5 / 6 + 0.5 / 8, "m2": 0.5 / 7 + 0.5 / 7, "m3": 0.5 / 8 + 0.5 / 6}),
        ("rerank_by=score", {"m3": 0.9, "m2": 0.5, "m1": 0.1}),
        ("rerank_by=score, rerank_weight=0.25", {"m1": 0.75 + 0.025, "m2": 0.75 * 6 / 7 + 0.125, "m3": 0.75 * 6 / 8 + 0.225}),
        ("rerank_top=2", {"m2": 1 / 6, "m1": 1 / 7, "m3": 0.0}),
        ("rerank_top=2, rerank_weight=0.5", {"m1": 0.5 / 6 + 0.5 / 7, "m2": 0.5 / 7 + 0.5 / 6, "m3": 0.5 / 8}),
        ("rerank_top=1, rerank_by=score, rerank_weight=0.5", {"m1": 0.55, "m2": 0.5 * 6 / 7, "m3": 0.5 * 6 / 8}),
    ],
)
def test_worked_numbers(memory, recipe, expected):
    answer = memory.recall("Goa", recipe=f"recipe(routes=[lexical], rrf_k=5, rerank=reader, {recipe})")
    assert scores_of(answer) == pytest.approx(expected)
    assert [hit.score for hit in answer] == sorted(scores_of(answer).values(), reverse=True) and trees_hold(answer)


@pytest.mark.parametrize("recipe", ["balanced(rerank=auto, rerank_weight=0)", "recipe(routes=[lexical])"])
def test_weight_0_and_no_name_ask_nobody(memory, reader, recipe):
    answer = memory.recall("Goa", recipe=recipe)
    assert reader.asked == [] and answer.diagnostics.rerank is None and names(answer) == ["m1", "m2", "m3"]
    assert answer.to_dict()["diagnostics"]["rerank"] is None


def test_nothing_is_imported_before_a_recipe_wants_it(tmp_path):
    code = (
        "import sys; from recollect import Memory; m = Memory.open('memory:', owner='a', embedder='none'); m.remember('Goa');"
        "m.recall('Goa', recipe='balanced(rerank=auto, rerank_weight=0)'); print('recollect.rerankers' in sys.modules);"
        "m.recall('Goa', recipe='balanced(rerank=auto)'); print('recollect.rerankers.late' in sys.modules)"
    )
    env = {**os.environ, "RECOLLECT_MODELS": str(tmp_path)}  # where no better one is installed
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path, env=env)
    assert ran.stdout.split() == ["False", "True"], ran.stderr


def test_what_it_can_not_read_keeps_its_place(open_memory):
    reader = Reader({"March": 0.9, "April": 0.5}, scripts=frozenset({"latin"}), languages=frozenset({"en"}))
    memory = open_memory(recipe=BY_RANK, reranker=reader)
    told_of = {
        "m1": "Goa", "zh": "Goa 我们 在 海边 住 了 一个 星期 然后 回家",
        "m2": "Goa in April with all of us and the dog, and so",
        "m3": "Goa in March with her parents and the rest of them, which was the plan from the beginning of it",
    }  # fmt: skip
    for id, text in told_of.items():
        memory.remember(text, id=id)
    before = names(memory.recall("Goa", recipe=PLAIN))
    answer = memory.recall("Goa")
    assert [id for id in before if id != "zh"] == ["m1", "m2", "m3"]
    assert [id for id in names(answer) if id != "zh"] == ["m3", "m2", "m1"]
    assert names(answer).index("zh") == before.index("zh") and trees_hold(answer)
    assert "can't read it, so it keeps its place" in str(memory.explain("Goa"))
    by_score = memory.recall("Goa", recipe=BY_RANK[:-1] + ", rerank_by=score, rerank_weight=0.5)")
    zh = next(hit for hit in by_score if hit.id == "zh").explain["rerank"]
    assert scores_of(by_score)["zh"] == pytest.approx(zh["before"] / zh["best"]) and trees_hold(by_score)
    for question in ("我们 住 在 哪里", "Wo haben wir mit den Eltern in der Nähe gewohnt?"):
        reader.asked.clear()
        assert told(memory.recall(question)) == ("skipped", "reader can't read this question") and not reader.asked


TROUBLES = {
    "raises": (lambda texts: 1 / 0, "failed", "ZeroDivisionError"),
    "too few": (lambda texts: [1.0], "failed", "1 numbers to 3 texts"),
    "NaN": (lambda texts: [float("nan")] * len(texts), "failed", "not finite"),
    "no numbers": (lambda texts: ["good", "bad", "ugly"], "failed", "instead of 3 numbers"),
    "nothing": (lambda texts: None, "failed", "instead of 3 numbers"),
    "no package": (lambda texts: __import__("no_such_package"), "skipped", "no_such_package"),
    "late": (lambda texts: (_ for _ in ()).throw(RerankerTimeout("too late")), "timed_out", "too late"),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_reader_in_trouble_leaves_the_order_and_the_answer_says_so(memory, reader, trouble):
    reader.trouble, status, reason = TROUBLES[trouble]
    answer = memory.recall("Goa")
    assert names(answer) == ["m1", "m2", "m3"] and told(answer)[0] == status and reason in told(answer)[1]
    assert answer.diagnostics.degraded == (status != "skipped")
    assert any(note.startswith("rerank: ") for note in answer.diagnostics.notes) and trees_hold(answer)
    assert "rerank" not in answer[0].explain and f"rerank: {status}" in str(memory.explain("Goa"))
    assert memory.inspect("Goa").answer.diagnostics.rerank.status == status


def test_a_slow_reader_is_waited_for_until_the_deadline_and_no_longer(open_memory):
    slow = Reader(inline=False)
    slow.trouble = lambda texts: time.sleep(1.0) or [1.0] * len(texts)
    memory = open_memory(recipe=BY_RANK, reranker=slow, settings=Settings(deadline=0.05))
    memory.remember("Goa", id="m1")
    answer = memory.recall("Goa")
    assert names(answer) == ["m1"] and told(answer) == ("timed_out", "reader did not answer within 0.05 s.")


def test_after_some_failures_in_a_row_it_is_left_alone(reader):
    wall = [0.0]
    judge = Judge(reader, deadline=1, wall=lambda: wall[0])
    reader.trouble = lambda texts: 1 / 0
    for _ in range(FAILURES):
        with pytest.raises(ZeroDivisionError):
            judge.scores("Goa", ["Goa"])
    with pytest.raises(Exception, match="rests for a while"):
        judge.scores("Goa", ["Goa"])
    assert len(reader.asked) == FAILURES
    wall[0], reader.trouble = REST, None
    assert judge.scores("Goa", ["Goa"]) == [0.1]


def test_the_same_is_never_read_twice(memory, reader):
    memory.recall("Goa")
    memory.explain("Goa", expect="m1")
    memory.inspect("Goa")
    assert sum(len(texts) for _, texts in reader.asked) == 3
    memory.remember("Goa again", id="m4")
    memory.recall("Goa")
    assert reader.asked[-1] == ("Goa", ("Goa again",))


def test_speakers_are_read_and_of_a_long_text_its_best_part(open_memory, reader):
    memory = open_memory(recipe=BY_RANK, reranker=reader)
    memory.remember("Goa was fine.", id="said", speaker="Caroline")
    around = ("Nothing to see here. " * 300, "More of the same. " * 300)
    memory.remember("\n\nGoa is where the parents live.\n\n".join(around), id="long")
    memory.recall("Goa parents live")
    (_, texts), *_ = reader.asked
    assert "Caroline: Goa was fine." in texts
    assert any("Goa is where the parents live." in text and len(text) < 6_000 for text in texts)


def test_why_not_says_where_the_reader_put_it(memory):
    told_of = memory.explain("Goa", expect="m1", limit=1)
    assert told_of.gate == "beyond the limit"
    assert told_of.reason == "Final rank 3; 1 were asked for. The reranker reader put it at 3 of 3."
    assert memory.explain("Goa", expect="m1", limit=1, recipe="balanced(rerank=auto, rerank_top=1)").reason.count("reader") == 0


def test_a_name_nobody_has_is_skipped_with_the_names_there_are(memory):
    answer = memory.recall("Goa", recipe="recipe(routes=[lexical], rrf_k=5, rerank=oracle)")
    assert names(answer) == ["m1", "m2", "m3"]
    assert told(answer)[0] == "skipped" and "oracle" in told(answer)[1] and "cross-encoder" in told(answer)[1]


def test_judges_open_each_reader_once_and_look_again_for_one_that_was_missing():
    opened = []

    def opener(name):
        opened.append(name)
        if len(opened) == 1:
            raise UnknownReranker("not yet")
        return Reader(name=name)

    judges = Judges("cohere:rerank-v9", opener, deadline=1, wall=lambda: 0.0)
    with pytest.raises(UnknownReranker):
        judges.of("auto")
    assert judges.of("auto") is judges.of("auto") and opened == ["cohere:rerank-v9"] * 2
    assert judges.of("cohere").profile.name == "cohere:rerank-v9" and judges.of("late").profile.name == "late"


def test_a_turn_is_read_with_the_one_before_it(open_memory, reader):
    memory = open_memory(recipe=BY_RANK[:-1] + ", rerank_before=30)", reranker=reader)
    long = "Oh Goa, " * 9 + "Goa!"
    said = [
        ("s1", 0, "Goa in March?"),
        ("s1", 1, "Yes, Goa it is!"),
        ("s1", 3, "Goa, again."),
        ("s2", 0, long),
        ("s2", 1, "Goa."),
    ]
    for session, turn, text in said:
        memory.remember(text, id=f"{session}:{turn}", session=session, turn=turn, role="turn", speaker="Priya")
    memory.remember("Goa, noted.", id="note", session="s1")
    told = {f"Priya: {text}" for _, _, text in said if "Yes" not in text} | {"Goa, noted."}
    memory.recall("Goa")
    assert set(reader.asked[-1][1]) == told | {"Priya: Goa in March?\nPriya: Yes, Goa it is!"}
    memory.recall(
        "Goa, please", recipe=BY_RANK[:-1] + ", rerank_before=200)", roles=["turn"], since="2026-01-01", exclude=["s1:0"]
    )
    both = f"Priya: {long}\nPriya: Goa."
    assert {text for text in reader.asked[-1][1] if "\n" in text} == {both}, (
        "a filter narrows answers; what is excluded is not read"
    )


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12), st.integers(1, 14),
    st.sampled_from(["rank", "score"]), st.floats(0.01, 1),
)  # fmt: skip
def test_scores_never_rise_down_the_order_and_nobody_is_lost(numbers, top, by, weight):
    before = sorted((score for score, _ in numbers), reverse=True)
    found = [Candidate(key) for key in range(len(before))]
    for candidate, score in zip(found, before, strict=True):
        candidate.final = score
    reader = Reader({f"<{key}>": voice for key, (_, voice) in enumerate(numbers)})
    judges = Judges(reader, lambda name: reader, deadline=1, wall=lambda: 0.0)
    recipe = TEXT.replace(rerank="auto", rerank_top=top, rerank_by=by, rerank_weight=weight)
    query = type("Query", (), {"text": "?", "limit": 1})
    new, read = rerank(found, query, recipe, judges, lambda some: [Said(f"<{one.key}>") for one in some])
    assert sorted(one.key for one in new) == list(range(len(before))) and read.candidates == min(top, len(before))
    assert all(one.final >= other.final - 1e-12 for one, other in pairwise(new))
    assert {one.key for one in new[: read.candidates]} == set(range(read.candidates))
