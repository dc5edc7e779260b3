"""Faults: each route down, slow or lying. The answer comes from the rest, is degraded and says which route and why.

Also: remembering never waits for an embedder, and what waits for its vector survives a crash. Bounds on time are generous.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from contextlib import closing

import numpy as np
import pytest
from doubles import ASK, Spy, Toy, asleep, down, memory_on, names, near, ranks, reasons, statuses

from recollect.embed import FAILURES, REST
from recollect.errors import EmbedderResting, StoreBusy, StoreClosed, StoreUnavailable
from recollect.ports import Found
from recollect.rankings import TIMED_OUT
from recollect.recipes import PRESETS, Pool, Recipe, RouteSpec
from recollect.stores import open_store

EVERY = Recipe(
    name="every", pool=Pool(least=50),
    routes=(RouteSpec(kind="lexical"), RouteSpec(kind="tokens"), RouteSpec(kind="substring"), RouteSpec(kind="vector")),
)  # fmt: skip
SEARCH = {"vector(full)": "vector.nearest", "lexical": "lexical.words"}
SEARCH |= {"tokens": "lexical.tokens", "substring": "lexical.substring"}


@pytest.fixture
def spied(store):
    """A memory that knows Goa by every route, behind a window on its store."""
    toy, spy = Toy({"Goa": ASK, "Goa in March": near(0.9)}), Spy(store)
    memory = memory_on(spy, embedder=toy, recipe=EVERY)
    memory.remember("Goa in March", id="goa")
    assert memory.flush(10) == 0
    yield memory, spy, toy
    memory.close()


# A route is down, lies, or is slow


@pytest.mark.parametrize("route", SEARCH)
@pytest.mark.parametrize("error", [RuntimeError("index torn"), OSError("no route to host"), KeyError("x"), MemoryError()])
def test_a_search_that_raises_leaves_the_others_and_says_so(spied, route, error):
    memory, spy, _ = spied
    spy.broken[SEARCH[route]] = error
    answer = memory.recall("Goa")
    assert names(answer) == ["goa"] and answer.diagnostics.degraded
    assert statuses(answer) == {name: "failed" if name == route else "ran" for name in SEARCH}
    assert type(error).__name__ in reasons(answer)[route] and str(error) in reasons(answer)[route]
    assert set(ranks(answer[0])) == set(SEARCH) - {route}


@pytest.mark.parametrize("error", [StoreUnavailable("the disk is gone"), StoreBusy(), StoreClosed()])
@pytest.mark.parametrize("route", SEARCH)
def test_a_store_that_is_gone_is_an_error_not_an_empty_answer(spied, route, error):
    memory, spy, _ = spied
    spy.broken[SEARCH[route]] = error
    with pytest.raises(type(error)):
        memory.recall("Goa")


def test_a_closed_memory_says_so(store):
    memory = memory_on(store, embedder=Toy())
    memory.close()
    memory.close()
    for use in (lambda: memory.remember("Goa"), lambda: memory.recall("Goa"), memory.list, memory.status):
        with pytest.raises(StoreClosed, match="closed"):
            use()


@pytest.mark.parametrize("route", ["lexical", "tokens", "substring", "vector(full)"])
def test_a_search_that_invents_records_brings_nothing_in(spied, route):
    memory, spy, _ = spied
    spy.broken[SEARCH[route]] = lambda *asked: Found([123_456_789, 1 << 40], [9.0, 8.0])
    answer = memory.recall("Goa")
    assert names(answer) == ["goa"] and route not in ranks(answer[0])


def test_a_search_that_repeats_itself_counts_once_at_its_best_rank(spied):
    memory, spy, _ = spied
    (key,) = spy.resolve(memory._where(), ["goa"]).values()
    spy.broken["lexical.words"] = lambda *asked: Found([key, key, key], [3.0, 2.0, 1.0])
    (hit,) = memory.recall("Goa", recipe="annie(decay=none, mmr=none)")
    assert hit.score == 1 / 61 + 1 / 61 and hit.routes["lexical"].raw == 3.0


LIES = {
    "no rows": lambda rows: rows[:0],
    "too few rows": lambda rows: [],
    "too many rows": lambda rows: np.vstack([rows, rows]),
    "nothing": lambda rows: None,
    "a short row": lambda rows: rows[:, :2],
    "NaN": lambda rows: rows * np.nan,
    "infinity": lambda rows: rows * np.inf,
    "zeros": lambda rows: rows * 0,
    "words": lambda rows: [["a"] * 4] * len(rows),
    "a ragged row": lambda rows: [[1.0, [2.0]]] * len(rows),
    "an error": down(),
    "an odd error": down(ZeroDivisionError("1/0")),
}


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("lie", LIES)
def test_an_embedder_that_lies_about_a_question_leaves_the_words(spied, lie):
    memory, _, toy = spied
    toy.trouble = LIES[lie]
    answer = memory.recall("Goa")
    assert names(answer) == ["goa"]
    status, path = ("failed", "token_recall_after_embed_error")
    if lie == "zeros":  # which say that it knows no word of the question
        status, path = "skipped", "token_recall"
    assert answer.diagnostics.degraded == (status == "failed") and answer.diagnostics.retrieval_path == path
    assert statuses(answer)["vector(full)"] == status and reasons(answer)["vector(full)"]
    toy.trouble = None
    assert statuses(memory.recall("Goa"))["vector(full)"] == "ran"


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("lie", LIES)
def test_an_embedder_that_lies_about_a_record_loses_nothing(store, lie):
    toy = Toy()
    with closing(memory_on(store, embedder=toy, recipe="opencouch")) as memory:
        toy.trouble = LIES[lie]
        memory.remember("Goa in March", id="goa")
        assert memory.flush(10) == 1
        assert names(memory.recall("Goa")) == ["goa"]
        assert memory.status()["embedder_error"]


@pytest.mark.parametrize("trouble", ["down", "lies", "slow"])
def test_with_every_other_route_off_a_broken_embedder_still_gives_an_answer(store, trouble):
    toy = Toy()
    with closing(memory_on(store, embedder=toy, recipe="nexus", deadline=0.05)) as memory:
        memory.remember("Goa")
        assert memory.flush(10) == 0
        toy.trouble = {"down": down(), "lies": LIES["NaN"], "slow": asleep(0.5)}[trouble]
        with np.errstate(invalid="ignore"):
            answer = memory.recall("Goa")
        assert len(answer) == 0 and answer.diagnostics.degraded
        assert answer.diagnostics.retrieval_path == "token_recall_after_embed_error"


def test_an_embedder_that_is_slow_is_not_waited_for_beyond_its_deadline(store):
    toy = Toy()
    with closing(memory_on(store, embedder=toy, recipe="opencouch", deadline=0.1)) as memory:
        memory.remember("Goa in March", id="goa")
        assert memory.flush(10) == 0
        toy.trouble = asleep(4)
        started = time.monotonic()
        answer = memory.recall("Goa")
        assert time.monotonic() - started < 2
        assert names(answer) == ["goa"] and answer.diagnostics.degraded
        assert statuses(answer)["vector(semantic)"] == TIMED_OUT and "0.1 s" in reasons(answer)["vector(semantic)"]
        assert answer.diagnostics.retrieval_path == "token_recall_after_embed_error"


def test_all_views_of_one_question_share_one_deadline(store):
    toy = Toy()
    with closing(memory_on(store, embedder=toy, recipe="memsense", deadline=0.3)) as memory:
        views = ("user", "assistant", "next_user", "personal_info", "preferences", "events")
        memory.remember("Goa in March", views={view: f"{view} of Goa" for view in views})
        assert memory.flush(10) == 0
        toy.trouble = asleep(3)
        started = time.monotonic()
        answer = memory.recall("Goa")
        assert time.monotonic() - started < 1.5, "seven vector routes, one wait"
        assert sum(status == TIMED_OUT for status in statuses(answer).values()) == 7 and len(answer) == 1
        assert toy.asked == ["Goa"]


def test_a_broken_circuit_rests_and_closes_again(store):
    toy, now = Toy(), [1000.0]
    with closing(memory_on(store, embedder=toy, recipe="opencouch", wall=lambda: now[0])) as memory:
        memory.remember("Goa in March")
        assert memory.flush(10) == 0
        toy.trouble = down()
        for number in range(FAILURES):
            assert memory.recall(f"Goa {number}").diagnostics.degraded
        asked = toy.calls
        answer = memory.recall("Goa at last")
        assert toy.calls == asked and "rests" in reasons(answer)["vector(semantic)"]
        assert answer.diagnostics.degraded and len(answer) == 1
        assert answer.diagnostics.retrieval_path == "token_recall_after_embed_error"
        toy.trouble = None
        now[0] += REST + 1
        assert statuses(memory.recall("Goa at last"))["vector(semantic)"] == "ran"
        assert toy.calls == asked + 1


def test_a_resting_embedder_does_not_burden_the_background(store):
    toy, now = Toy(), [1000.0]
    toy.trouble = down()
    with closing(memory_on(store, embedder=toy, wall=lambda: now[0])) as memory:
        for number in range(50):
            memory.remember(f"Goa {number}")
        memory.flush(10)
        assert toy.calls <= 64 * (FAILURES + 2), "it was left alone"
        assert memory.flush(0.5) == 50 and isinstance(EmbedderResting(), RuntimeError)
        toy.trouble = None
        now[0] += 4000
        assert memory.flush(20) == 0


@pytest.mark.parametrize("call", ["outbox.claim", "outbox.known", "outbox.settle", "outbox.postpone"])
@pytest.mark.parametrize("error", [RuntimeError("torn"), StoreBusy()])
def test_an_outbox_that_fails_once_is_tried_again(store, call, error):
    spy, toy, now = Spy(store, {call: error}), Toy(), [1000.0]
    if call == "outbox.postpone":
        toy.trouble = down()
    with closing(memory_on(spy, embedder=toy, recipe="opencouch", wall=lambda: now[0])) as memory:
        memory.remember("Goa", id="goa")
        assert memory.flush(5) == 1 and str(error) in memory.status()["embedder_error"]
        spy.broken.clear()
        toy.trouble = None
        now[0] += 3600
        assert memory.flush(5) == 0 and statuses(memory.recall("Goa"))["vector(semantic)"] == "ran"


# Remembering does not wait


@pytest.mark.parametrize("trouble", ["asleep", "dead"])
def test_remembering_never_waits_for_the_embedder(store, trouble):
    toy = Toy({"Goa": ASK})
    toy.trouble = {"asleep": asleep(5), "dead": down()}[trouble]
    memory = memory_on(store, embedder=toy, recipe="opencouch", deadline=0.05)
    started = time.monotonic()
    for number in range(10):
        memory.remember(f"Goa {number}", id=f"m{number}")
    assert time.monotonic() - started < 2
    answer = memory.recall("Goa", limit=7)
    assert len(answer) == 5 and memory.status()["waiting"] == 10
    toy.trouble = None
    started = time.monotonic()
    memory._crew.worker.stop(0)  # not waited for: it sleeps on a daemon thread
    store.close()
    assert time.monotonic() - started < 2


def test_vectors_follow_when_the_embedder_heals(store):
    toy, now = Toy({"Goa": ASK, "beach": ASK}), [1000.0]
    toy.trouble = down()
    with closing(memory_on(store, embedder=toy, recipe="opencouch", wall=lambda: now[0])) as memory:
        memory.remember("beach", id="beach")
        assert memory.flush(10) == 1 and names(memory.recall("Goa")) == []
        assert names(memory.recall("beach")) == ["beach"], "by its words at once"
        toy.trouble = None
        now[0] += 3600
        assert memory.flush(10) == 0
        assert ranks(memory.recall("Goa")[0]) == {"vector(semantic)": 1}


def test_asking_wakes_the_worker_for_what_waits(store):
    toy, now = Toy({"Goa": ASK, "beach": ASK}), [1000.0]
    toy.trouble = down()
    with closing(memory_on(store, embedder=toy, recipe=PRESETS["opencouch"], wall=lambda: now[0])) as memory:
        memory.remember("Goa", id="goa", at="2026-03-10")
        toy.trouble = None
        now[0] += 3600
        memory.remember("beach", id="beach")
        memory.flush(10)
        now[0] += 3600
        answer = memory.recall("Goa")
        deadline = time.monotonic() + 10
        while memory.status()["waiting"] and time.monotonic() < deadline:
            answer = memory.recall("Goa")
            time.sleep(0.01)
        assert memory.status()["waiting"] == 0 and "goa" in names(answer)


def test_the_outbox_survives_a_kill(tmp_path, open_memory):
    path = tmp_path / "memory.db"
    script = textwrap.dedent("""
        import sys, time
        sys.path.insert(0, sys.argv[2])
        from doubles import Toy, asleep
        from recollect import Memory
        toy = Toy()
        toy.trouble = asleep(60)
        memory = Memory.open(sys.argv[1], owner="alice", embedder=toy)
        for number in range(5):
            memory.remember(f"Goa {number}", id=f"m{number}")
        print("remembered", flush=True)
        time.sleep(60)
    """)
    folder = str(pytest.importorskip("doubles").__file__).rpartition("/")[0]
    child = subprocess.Popen([sys.executable, "-c", script, str(path), folder], stdout=subprocess.PIPE, cwd=tmp_path)
    with child:
        assert child.stdout.readline() == b"remembered\n"
        child.send_signal(signal.SIGKILL)
        assert child.wait(30) == -signal.SIGKILL
    toy, now = Toy(), time.time()
    with closing(memory_on(open_store(str(path)), embedder=toy, recipe="opencouch", wall=lambda: now)) as memory:
        assert sorted(names(memory.list())) == [f"m{number}" for number in range(5)]
        assert len(memory.recall("Goa", recipe="annie")) == 5
        waited = memory.flush(10)  # what the dead process had claimed is leased for two minutes
        now += 200
        assert waited <= 5 and memory.flush(10) == 0
        assert len(toy.told) == 5 and statuses(memory.recall("Goa"))["vector(semantic)"] == "ran"
