"""One embedder as the engine uses it: never twice for the same text, in time, left alone while broken; nothing owed is lost."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest
from doubles import ASK, Spy, Toy, asleep, down, memory_on, names, near, reasons, statuses

from recollect.embed import BATCH, FAILURES, REMEMBERED, REST, Embedding, Worker
from recollect.errors import EmbedderFailed, EmbedderRefused, EmbedderResting, EmbedderTimeout
from recollect.recipes import PRESETS
from recollect.stores import open_store

TEXTS = {"Goa": ASK, "beach": near(0.9), "Pune": near(0.1)}


@pytest.fixture
def toy():
    return Toy(TEXTS)


@pytest.fixture
def memory(store, toy):
    memory = memory_on(store, embedder=toy, recipe="opencouch")
    yield memory
    memory.close()


# Never twice


def test_the_same_text_is_embedded_once_over_all_records_and_views(memory, toy):
    memory.remember("Goa", id="m1")
    assert memory.flush(10) == 0
    memory.remember_many([{"text": "Goa", "id": "m2"}, {"text": "Goa", "id": "m3", "views": {"user": "Goa", "events": "beach"}}])
    assert memory.flush(10) == 0
    memory.for_owner("bob").remember("Goa")
    assert memory.for_owner("bob").flush(10) == 0 and memory.flush(10) == 0
    assert sorted(toy.told) == ["Goa", "beach"]
    assert set(names(memory.recall("Goa"))) == {"m1", "m2", "m3"}


def test_the_same_text_in_one_batch_is_embedded_once(memory, toy):
    memory.remember_many(["Goa"] * 200)
    assert memory.flush(10) == 0 and toy.told == ["Goa"]


def test_the_same_text_is_embedded_once_over_restarts(tmp_path, toy):
    for number in range(3):
        with closing(memory_on(open_store(str(tmp_path / "m.db")), embedder=toy)) as memory:
            memory.remember("Goa", id=f"m{number}")
            assert memory.flush(10) == 0
    assert toy.told == ["Goa"]


def test_another_model_embeds_anew(tmp_path, toy):
    path, other = str(tmp_path / "m.db"), Toy(TEXTS, name="other")
    for number, embedder in enumerate((toy, other, toy)):
        with closing(memory_on(open_store(path), embedder=embedder)) as memory:
            memory.remember("Goa", id=f"m{number}")
            assert memory.flush(10) == 0
    assert toy.told == ["Goa"] and other.told == ["Goa"]


def test_a_question_is_embedded_once_for_all_views_and_every_time_it_comes(memory, toy):
    memory.remember("Goa", views={"user": "beach", "events": "Pune"})
    assert memory.flush(10) == 0
    for _ in range(3):
        memory.recall("beach", recipe="memsense")
        memory.recall("beach")
    assert toy.asked == ["beach"]


def test_questions_are_forgotten_in_the_order_they_were_last_asked(toy):
    embedding = Embedding(toy, deadline=1, wall=lambda: 0.0)
    for number in range(REMEMBERED):
        embedding.ask(f"q{number}")()
    embedding.ask("q0")()
    embedding.ask("one more")()
    asked = len(toy.asked)
    embedding.ask("q0")()
    assert len(toy.asked) == asked
    embedding.ask("q1")()
    assert len(toy.asked) == asked + 1


def test_a_failed_question_is_asked_again(memory, toy):
    memory.remember("Goa")
    assert memory.flush(10) == 0
    toy.trouble = down()
    assert memory.recall("beach").diagnostics.degraded
    toy.trouble = None
    assert not memory.recall("beach").diagnostics.degraded and toy.asked == ["beach", "beach"]


def test_what_is_given_is_not_embedded(memory, toy):
    memory.remember("Goa", id="m1", vectors={"full": near(0.9)})
    assert memory.flush(10) == 0
    assert names(memory.recall("elsewhere", vectors=ASK)) == ["m1"] and toy.calls == 0


def test_nothing_is_asked_where_there_is_nothing_to_search(memory, toy):
    memory.recall("Goa")
    memory.remember("Goa", vectors={"user": ASK})
    memory.recall("Goa")
    assert toy.calls == 0


# What comes back is checked


def test_vectors_are_brought_to_unit_length(store):
    toy = Toy({"Goa": [3.0, 0, 0, 0], "beach": [0.0, 400, 0, 0], "both": [1e-20, 0, 0, 0]})
    with closing(memory_on(store, embedder=toy, recipe="nexus(routes=[vector])")) as memory:
        memory.remember_many(["Goa", "beach"])
        assert memory.flush(10) == 0
        assert [hit.routes["vector(full)"].raw for hit in memory.recall("both")] == [1.0, 0.0]


@pytest.mark.parametrize("rows", [[], [[1, 0]], [[1, 0, 0, 0]] * 2, None, [[np.nan] * 4], [["a"] * 4], [[0, 0, 0, 0]]])
def test_a_question_s_vector_is_one_or_an_error(toy, rows):
    toy.trouble = lambda _: rows
    embedding = Embedding(toy, deadline=5, wall=lambda: 0.0)
    with pytest.raises((EmbedderFailed, ValueError)):
        embedding.ask("Goa")()


def test_a_deadline_is_kept_and_a_late_answer_is_remembered(toy):
    embedding = Embedding(toy, deadline=0.05, wall=lambda: 0.0)
    toy.trouble = asleep(0.4)
    with pytest.raises(EmbedderTimeout, match=r"0\.05 s"):
        embedding.ask("Goa")()
    deadline = time.monotonic() + 10
    while "Goa" not in embedding._asked and time.monotonic() < deadline:
        time.sleep(0.01)
    assert embedding.ask("Goa")() is not None and toy.asked == ["Goa"]


def test_the_deadline_runs_from_the_asking(toy):
    embedding = Embedding(toy, deadline=0.2, wall=lambda: 0.0)
    toy.trouble = asleep(2.0)
    answer = embedding.ask("Goa")
    time.sleep(0.2)  # the text routes, say
    began = time.monotonic()
    with pytest.raises(EmbedderTimeout):
        answer()
    assert time.monotonic() - began < 0.15


def test_a_question_is_embedded_once_for_all_views(store):
    toy = Toy(TEXTS, inline=True)
    with closing(memory_on(store, embedder=toy, recipe="memsense")) as memory:
        memory.remember("beach", id="m1", views={"user": "beach", "events": "beach"})
        assert len(memory.recall("Goa")[0].routes) == 3 and toy.asked == ["Goa"]


def test_texts_are_cut_to_what_the_model_takes(store):
    toy = Toy(max_chars=10)
    with closing(memory_on(store, embedder=toy, recipe="opencouch")) as memory:
        memory.remember("0123456789abcdef")
        assert memory.flush(10) == 0
        memory.recall("question number one")
    assert toy.told == ["0123456789"] and toy.asked == ["question n"]


# What a model can't read


def test_a_model_of_one_script_is_not_asked_about_another(store):
    toy = Toy(scripts=frozenset({"latin"}))
    with closing(memory_on(store, embedder=toy, recipe="opencouch")) as memory:
        memory.remember("北京", id="zh")
        memory.remember("Beijing", id="en")
        assert memory.flush(10) == 0 and toy.told == ["Beijing"]
        answer = memory.recall("北京")
        assert names(answer) == ["zh"] and toy.asked == []
        assert statuses(answer)["vector(semantic)"] == "skipped" and "can't read" in reasons(answer)["vector(semantic)"]
        assert not answer.diagnostics.degraded and answer.diagnostics.retrieval_path == "token_recall"


def test_a_text_without_a_known_word_keeps_nothing_waiting_for_an_inline_model(store):
    toy = Toy({"??": [0.0] * 4, "Goa": ASK}, inline=True)
    with closing(memory_on(store, embedder=toy, recipe="opencouch")) as memory:
        memory.remember("??")
        memory.remember_many([{"text": "??", "id": "odd"}, {"text": "Goa", "id": "goa"}])
        assert memory.status()["waiting"] == 0 and names(memory.recall("Goa")) == ["goa"]
        assert memory.flush(5) == 0


def test_an_inline_model_is_asked_in_the_write_itself(store):
    toy = Toy(TEXTS, inline=True)
    with closing(memory_on(store, embedder=toy, recipe="opencouch")) as memory:
        memory.remember("beach", id="m1")
        assert toy.told == ["beach"] and memory._crew.worker._thread is None
        assert set(memory.recall("Goa")[0].routes) == {"vector(semantic)"}


def test_an_inline_model_that_fails_leaves_its_texts_waiting(store):
    toy, now = Toy(TEXTS, inline=True), [1000.0]
    toy.trouble = down(EmbedderFailed("no"))
    with closing(memory_on(store, embedder=toy, recipe="opencouch", wall=lambda: now[0])) as memory:
        memory.remember("beach", id="m1")
        assert memory.flush(5) == 1 and names(memory.recall("beach")) == ["m1"]
        toy.trouble = None
        now[0] += 3600
        assert memory.flush(5) == 0 and names(memory.recall("Goa")) == ["m1"]


@pytest.mark.parametrize("error", [ConnectionError("gone"), ValueError("odd"), RuntimeError("no")])
def test_an_inline_model_that_fails_oddly_does_not_stop_the_write(store, error):
    toy = Toy(inline=True)
    toy.trouble = down(error)
    with closing(memory_on(store, embedder=toy, recipe="opencouch")) as memory:
        memory.remember("Goa", id="m1")
        assert names(memory.recall("Goa")) == ["m1"] and memory.flush(5) == 1


def test_trust_scales_a_route_by_what_its_model_is_worth(store):
    toy = Toy(TEXTS, weight=0.5)
    with closing(memory_on(store, embedder=toy, recipe=PRESETS["balanced"])) as memory:
        memory.remember("beach", id="m1")
        assert memory.flush(10) == 0
        hit = memory.recall("Goa")[0]
        recipe = memory.recipe
        assert hit.routes["vector(full)"].contribution == recipe.route("vector(full)").weight * 0.5
        assert hit.score == memory.explain("Goa").trees[0][1].recompute()
        plain = memory.recall("Goa", recipe="balanced(trust=false)")[0].routes["vector(full)"].contribution
        assert plain == pytest.approx(2 * hit.routes["vector(full)"].contribution)


# The worker


def picky(rows):
    """Refuses every batch in which a row starts with 7."""
    if (rows[:, 0] == 7).any():
        raise EmbedderRefused("not this text")
    return rows


def test_one_bad_text_does_not_hold_up_the_others(store):
    toy, now = Toy({"bad": [7.0, 0, 0, 0]}), [1000.0]
    toy.trouble = picky
    with closing(memory_on(store, embedder=toy, recipe="opencouch", wall=lambda: now[0])) as memory:
        memory.remember_many([f"Goa {number}" for number in range(10)] + ["bad"])
        for _ in range(4):
            if memory.flush(10) > 1:
                now[0] += 4000
        assert memory.flush(10) == 1 and "not this text" in memory.status()["embedder_error"]
        assert names(memory.recall("bad")) != []


def test_refused_texts_do_not_leave_questions_without_vectors(toy):
    embedding = Embedding(toy, deadline=5, wall=lambda: 0.0)
    toy.trouble = down(EmbedderRefused("too long"))
    for _ in range(FAILURES + 1):
        with pytest.raises(EmbedderRefused):
            embedding.documents(["Goa"])
    toy.trouble = None
    assert embedding.ask("Goa")() is not None


def test_a_question_takes_up_what_a_process_left_behind_even_before_the_first_vector(store):
    toy, now = Toy(TEXTS), [1000.0]
    toy.trouble = down()
    first = memory_on(store, embedder=toy, recipe="opencouch", wall=lambda: now[0])
    first.remember("beach", id="m1")
    assert first.flush(5) == 1
    toy.trouble, now[0] = None, 9000.0
    with closing(memory_on(store, embedder=toy, recipe="opencouch", wall=lambda: now[0])) as memory:
        assert "1 texts wait" in reasons(memory.recall("Goa"))["vector(semantic)"]
        assert memory._crew.worker.wait(10) and names(memory.recall("Goa")) == ["m1"]


def test_waits_grow_and_a_text_is_never_dropped(store):
    toy, now = Toy(), [1000.0]
    toy.trouble = down()
    with closing(memory_on(store, embedder=toy, wall=lambda: now[0])) as memory:
        memory.remember("Goa")
        memory.flush(5)
        attempts = []
        for _ in range(400):
            before = toy.calls
            memory.flush(5)
            if toy.calls > before:
                attempts.append(now[0])
            now[0] += REST + 1
        waits = [later - earlier for earlier, later in pairwise(attempts)]
        assert waits == sorted(waits) and waits[-1] > 1000 and len(attempts) < 30
        toy.trouble = None
        now[0] += 7200
        assert memory.flush(5) == 0


def test_what_fits_in_no_batch_goes_in_several(memory, toy):
    memory.remember_many(f"Goa {number}" for number in range(3 * BATCH + 1))
    assert memory.flush(20) == 0 and len(toy.told) == 3 * BATCH + 1 == len(set(toy.told))


def test_the_thread_lives_only_while_there_is_work(memory):
    for _ in range(3):
        memory.remember(f"Goa {time.monotonic_ns()}")
        assert memory.flush(10) == 0
        deadline = time.monotonic() + 5
        while memory._crew.worker._thread is not None and time.monotonic() < deadline:
            time.sleep(0.005)
        assert memory._crew.worker._thread is None


def test_a_text_that_changes_while_it_is_embedded_keeps_no_old_vector(store):
    toy, gate = Toy({"Goa": ASK, "Pune": near(0.0), "beach": ASK}), threading.Event()

    def wait(rows):
        gate.wait(10)
        return rows

    toy.trouble = wait
    with closing(memory_on(store, embedder=toy, recipe="opencouch")) as memory:
        memory.remember("Goa", id="changed")
        memory.remember("Goa", id="forgotten")
        memory.amend("changed", text="Pune")
        memory.forget("forgotten")
        gate.set()
        assert memory.flush(10) == 0
        assert names(memory.recall("beach")) == [] and memory.status()["vectors"][0]["count"] == 1


def test_closing_leaves_what_waits_in_the_outbox(tmp_path):
    toy, path = Toy(), str(tmp_path / "m.db")
    toy.trouble = asleep(0.2)
    memory = memory_on(open_store(path), embedder=toy)
    memory.remember_many(f"Goa {number}" for number in range(3 * BATCH))
    memory.close()
    assert BATCH <= len(toy.told) < 3 * BATCH
    toy.trouble = None
    with closing(memory_on(open_store(path), embedder=toy, wall=lambda: time.time() + 200)) as memory:
        assert memory.flush(20) == 0 and memory.status()["vectors"][0]["count"] == 3 * BATCH
        assert len(toy.told) == 3 * BATCH, "what was embedded already is not embedded again"


def test_stopping_twice_and_kicking_after_is_harmless(store, toy):
    worker = Worker(store, Embedding(toy, deadline=1, wall=time.time))
    worker.stop(1)
    worker.stop(1)
    worker.kick(grace=0.1)
    assert worker.wait(1) and toy.calls == 0


def test_the_circuit_counts_questions_and_records_alike(toy):
    now = [0.0]
    embedding = Embedding(toy, deadline=1, wall=lambda: now[0])
    toy.trouble = down()
    for number in range(FAILURES):
        with pytest.raises(ConnectionError):
            embedding.ask("Goa")() if number % 2 else embedding.documents(["Goa"])
    for use in (lambda: embedding.ask("Goa"), lambda: embedding.documents(["Goa"])):
        with pytest.raises(EmbedderResting, match="rests"):
            use()
    now[0] += REST + 1
    toy.trouble = None
    assert embedding.documents(["Goa"]) and embedding.ask("beach")() is not None
    toy.trouble = down()
    with pytest.raises(ConnectionError):
        embedding.ask("Pune")()
    toy.trouble = None
    assert embedding.ask("Pune")() is not None, "one failure after a success opens nothing"


def test_a_memory_without_an_embedder_queues_nothing(store):
    spy = Spy(store)
    with closing(memory_on(spy)) as memory:
        memory.remember("Goa")
        memory.recall("Goa")
        assert memory.flush(5) == 0 and "outbox.claim" not in spy.calls and memory.status()["embedder"] == "none"
