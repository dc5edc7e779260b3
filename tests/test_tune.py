"""recollect tune and feedback: a replay changes nothing, a gain is only what was not seen, and thin evidence is refused."""

from __future__ import annotations

import json
from hashlib import sha256

import numpy as np
import pytest

from recollect import Memory
from recollect.errors import InvalidDataset, UnknownRecord
from recollect.evaluate.datasets import Question
from recollect.evaluate.replay import Replay
from recollect.evaluate.stages import questions, remembered
from recollect.evaluate.tune import LEAST, Asking, Board, around, folds, tune, turns, with_turn
from recollect.feedback import Label, labels
from recollect.portable import export, load
from recollect.recipes import PRESETS, as_recipe
from recollect.records import Scope, moment
from recollect.testing import FixedClock

BASE = as_recipe("balanced")
ENDS = ("fast", "inth", "more", "wick", "by", "ago", "ham")
TOWNS = [start + end for start in ("Bel", "Cor", "Dun", "Mar", "Ost", "Tar", "Vel") for end in ENDS]


# Replay ----------------------------------------------------------------------------------------------------------------


class Counted:
    """A lexical port that counts its searches."""

    def __init__(self, port):
        self.port, self.searches = port, 0

    def words(self, where, text: str, limit: int, match: str) -> Found:  # noqa: F821 - as the protocol says it
        self.searches += 1
        return self.port.words(where, text, limit, match)

    def __getattr__(self, name):
        return getattr(self.port, name)


def test_a_replay_gives_what_the_store_gives(open_memory):
    memory = open_memory(embedder="hashing")
    memory.remember_many(
        [{"text": f"We met in {town} about {thing}.", "session": "s1"} for town in TOWNS for thing in ("tea", "ore")]
    )
    store = memory._store
    counted = Counted(store.lexical)

    class Watched:
        lexical = counted

        def __getattr__(self, name):
            return getattr(store, name)

    replay = Replay(Watched())
    again = Memory(replay, memory.scope, embedding=memory._embedding, recipe=BASE, clock=memory._clock, judges=memory._judges)
    tried = [
        *PRESETS.values(),
        *(BASE.replace(rrf_k=k, mmr=m) for k in (1, 60) for m in (None, 0.7)),
        BASE.with_weights({"lexical": 2}),
    ]
    for question in ("Where did we meet about tea?", "ore in Corinth"):
        replay.forget()
        before = counted.searches
        for limit in (3, 10):
            for recipe in tried:
                theirs = memory.recall(question, recipe=recipe, limit=limit)
                ours = again.recall(question, recipe=recipe, limit=limit)
                assert [(hit.id, hit.score) for hit in ours] == [(hit.id, hit.score) for hit in theirs], recipe.name
        assert counted.searches - before <= 8  # as many as there are kinds filters and ways to match, not as many as recipes


def test_a_longer_answer_is_asked_for_and_a_write_forgets():
    from recollect.ports import Found

    class Port:
        asked: list[int] = []  # noqa: RUF012

        def words(self, text: str, limit: int) -> Found:
            self.asked.append(limit)
            return Found(list(range(min(limit, 400))), [1.0] * min(limit, 400))

    class Inner:
        lexical = Port()

        def write(self, owner, changes):
            return owner

    replay = Replay(Inner())
    assert replay.lexical.words("a", 5).keys == [0, 1, 2, 3, 4] and replay.lexical.words("a", limit=7).keys == list(range(7))
    assert len(replay.lexical.words("a", 300).keys) == 300 and len(replay.lexical.words("a", 200).keys) == 200
    assert Port.asked == [150, 300]
    assert replay.write("alice", []) == "alice" and replay.lexical.words("a", 1).keys == [0] and Port.asked == [150, 300, 150]


# Folds and climbing ----------------------------------------------------------------------------------------------------


def asked(count: int, scopes: int = 1) -> list[Question]:
    return [Question(id=f"q{n}", text="?", grades={"yes": 1.0}, scope=f"s{n % scopes}") for n in range(count)]


def staged(questions, finds):
    """A stage on which a recipe finds what `finds` says."""

    def stage():
        for question in questions:
            yield Asking("set", question, lambda recipe, question=question: ["yes"] if finds(recipe, question) else ["no"])

    return stage


def luck(*words: object) -> float:
    return int.from_bytes(sha256(repr(words).encode()).digest()[:4], "big") / (1 << 32)


def test_every_question_is_in_one_fold_and_scopes_stay_together():
    numbers, groups = folds([("set", question) for question in asked(50)])
    assert groups == 5 and np.bincount(numbers).tolist() == [10] * 5
    numbers, groups = folds([("set", question) for question in asked(50, scopes=3)])
    assert groups == 3 and len({(q.scope, n) for q, n in zip(asked(50, scopes=3), numbers, strict=True)}) == 3
    both = [("one", question) for question in asked(9)] + [("two", question) for question in asked(20, scopes=4)]
    numbers, groups = folds(both)
    assert groups == 5 and set(numbers[9:].tolist()) == {0, 1, 2, 3}


def test_a_real_gain_is_found_and_recommended():
    found = tune(staged(asked(60), lambda recipe, q: recipe.rrf_k == 20 or luck(q.id) < 0.3), BASE, turns(BASE), "nDCG@10")
    assert found.advice == BASE.replace(rrf_k=20) and found.why == ""
    assert found.held_out.difference.mean == pytest.approx(1 - found.before) and found.held_out.p < 0.001
    assert set(found.chosen) == {str(found.advice)} and found.folds == 5


def test_luck_is_not_recommended():
    turned = [{"rrf_k": k} for k in range(1, 41)]
    found = tune(staged(asked(80), lambda recipe, q: luck(recipe.rrf_k, q.id) < 0.5), BASE, turned, "nDCG@10")
    assert found.seen > 0.05, "among many recipes some are lucky on what they were chosen by"
    assert abs(found.held_out.difference.mean) < found.seen / 2 and found.advice is None and "chance may explain it" in found.why


def test_too_few_questions_are_refused():
    found = tune(staged(asked(LEAST - 1), lambda recipe, q: recipe.rrf_k == 20), BASE, turns(BASE), "nDCG@10")
    assert found.advice is None and "too few" in found.why and found.found.rrf_k == 20
    with pytest.raises(InvalidDataset, match="no question to learn from"):
        tune(staged([], lambda recipe, q: True), BASE, turns(BASE), "nDCG@10")


def test_nothing_better_is_said():
    found = tune(staged(asked(60), lambda recipe, q: True), BASE, turns(BASE), "nDCG@10")
    assert found.found == BASE and found.advice is None and "Nothing that was tried is better" in found.why


def test_each_recipe_is_tried_once():
    seen = []

    def finds(recipe, question):
        seen.append((str(recipe), question.id))
        return recipe.rrf_k == 10 and recipe.mmr == 0.9

    found = tune(staged(asked(40), finds), BASE, turns(BASE), "recall@10")
    assert len(seen) == len(set(seen)) == found.tried * 40


def test_sets_count_alike_whatever_their_size():
    def stage():
        for name, size, good in (("large", 90, False), ("small", 10, True)):
            for question in asked(size):
                yield Asking(name, question, lambda recipe, good=good: ["yes"] if good else ["no"])

    board = Board(stage, "nDCG@10", None)
    board.try_all([BASE])
    assert board.mean(BASE, np.ones(100, bool)) == pytest.approx(0.5)


def test_turns_are_recipes_that_find_something():
    others = around(as_recipe("recipe(routes=[lexical])@5"), turns(as_recipe("recipe(routes=[lexical])@5")))
    assert (
        others
        and all(any(route.weight for route in other.routes) for other in others)
        and len(set(map(str, others))) == len(others)
    )
    assert with_turn(BASE, {"weights.lexical": 0.5, "rrf_k": 20}) == BASE.replace(rrf_k=20).with_weights({"lexical": 0.5})


# Feedback --------------------------------------------------------------------------------------------------------------


def test_feedback_is_noted_once_and_the_last_word_counts(open_memory):
    clock = FixedClock("2026-03-10")
    memory = open_memory(clock=clock)
    goa, pie = memory.remember("Priya's parents live in Goa."), memory.remember("Pie in Corinth.")
    memory.feedback("Where do they live?", goa)
    memory.feedback("Where do they live?", pie)
    clock.advance(days=1)
    note = memory.feedback("Where do they live?", pie.id, good=False)
    found = {label.id: label for label in labels(memory.each())}
    assert found[goa.id].good and not found[pie.id].good and moment(found[pie.id].at) == clock.now and len(found) == 2
    assert note.role == "derived" and note.source == f"record:{pie.id}"
    assert [hit.id for hit in memory.recall("Where do they live?")] == [goa.id], "no route finds what was said of a record"
    assert list(labels(memory.for_owner("bob").each())) == []
    with pytest.raises(UnknownRecord):
        memory.for_owner("bob").feedback("Where do they live?", goa.id)


def test_feedback_goes_with_its_record_and_travels_with_its_owner(open_memory, tmp_path):
    memory = open_memory(extractor="none")
    goa = memory.remember("Priya's parents live in Goa.")
    memory.feedback("Where do they live?", goa)
    with (tmp_path / "out.jsonl").open("wb") as stream:
        export(memory, stream)
    other = Memory.open("memory:", owner="alice", embedder="none")
    load(other, (tmp_path / "out.jsonl").read_bytes().splitlines())
    assert [(label.query, label.id, label.good) for label in labels(other.each())] == [("Where do they live?", goa.id, True)]
    assert memory.forget(goa)["removed"] == {"records": 1, "derived": 1, "vectors": 0, "jobs": 0}
    assert list(labels(memory.each())) == []


def test_labels_become_questions():
    said = [Label("a?", "m1", True, 5), Label("a?", "m2", False, 9), Label("b?", "m2", False, 3), Label("c?", "gone", True, 4)]
    (question,) = questions(iter(said), lambda id: id != "gone")
    assert (question.text, dict(question.grades), question.at) == ("a?", {"m1": 1.0}, 9)


def test_the_past_is_asked_as_it_stood(open_memory):
    clock = FixedClock("2026-03-10")
    memory = open_memory(clock=clock)
    old = memory.remember("The key hangs in the hall.")
    clock.advance(days=1)
    memory.feedback("Where is the key?", old)
    clock.advance(days=1)
    memory.remember("The key hangs in the shed.", supersedes=old.id)
    (asking,) = remembered(memory._store, Scope(owner="alice"), None)()
    assert asking.ask(BASE) == [old.id] and dict(asking.question.grades) == {old.id: 1.0}


# The commands ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    given = {"HOME": tmp_path, "XDG_CACHE_HOME": tmp_path / "cache", "RECOLLECT_EMBEDDER": "none", "RECOLLECT_OWNER": "alice"}
    for name, value in given.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(tmp_path)

    def run(*words):
        from recollect.cli import main

        status = main([*map(str, words)])
        return status, *capsys.readouterr()

    return run


def test_the_command_learns_from_feedback_and_says_how_to_apply_it(command):
    base = "recipe(routes=[substring, lexical(weight=0)])"
    with Memory.open("memory.db", owner="alice", embedder="none") as memory:
        records = memory.remember_many([f"We spent a week in {town}." for town in TOWNS])
        for town, record in zip(TOWNS, records, strict=True):
            memory.feedback(f"How was {town}?", record)
    status, out, err = command("tune", "--feedback", "--recipe", base, "--vary", "weights.lexical=0,1", "--json")
    found = json.loads(out)
    assert status == 0 and found["recommended"] and found["gain"]["mean"] == 1.0 and found["questions"] == len(TOWNS) and not err
    status, out, _ = command("tune", "--feedback", "--recipe", base, "--vary", "weights.lexical=0,1")
    assert status == 0 and f"recollect settings 'recipe={found['recommended']}'" in out
    assert command("settings", f"recipe={found['recommended']}")[0] == 0
    status, _, err = command("tune", "--feedback", "--vary", "rrf_k=5,20")  # now the recipe in force, which finds them all
    assert status == 1 and "Nothing that was tried is better" in err


def test_the_commands_say_what_is_wrong(command):
    assert "There is nothing to learn from" in command("tune")[2]
    assert "no question to learn from" in command("tune", "--feedback")[2]
    _, id, _ = command("remember", "The key hangs in the hall.")
    status, out, _ = command("feedback", "Where is the key?", id.strip())
    assert status == 0 and out.startswith("Noted as feedback:")
    assert json.loads(command("feedback", "Where is the key?", id.strip(), "--bad", "--json")[1])["good"] is False
    status, _, err = command("feedback", "Where is the key?", "nowhere")
    assert status == 1 and "has no record 'nowhere'" in err
    command("feedback", "Where is the key?", id.strip())
    status, _, err = command("tune", "--feedback", "--vary", "rrf_k")
    assert status == 1 and "is not FIELD=VALUE,VALUE" in err
    status, _, err = command("tune", "--feedback", "--vary", "rrf_q=1")
    assert status == 1 and "no field rrf_q" in err
    status, _, err = command("tune", "--feedback")
    assert status == 1 and "1 questions are too few" in err
