"""Changing the embedder: old vectors answer until new ones are there, the two never meet, and nothing is embedded twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from doubles import ASK, Toy, near, reasons, statuses
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Memory, Scope
from recollect.embed import LEASE, Embedding, beside
from recollect.embedders import embedder_of, open_embedder
from recollect.errors import EmbedderFailed, UnknownEmbedder
from recollect.ports import Amend, Found
from recollect.recipes import as_recipe
from recollect.spaces import merged
from recollect.stores import open_store as open_url
from recollect.testing import FixedClock

ONLY_VECTORS = "nexus(threshold=none)"
WHERE = "vector(full)"


def memory_with(store, new: Toy, old: Toy | None = None, *, owner: str = "alice", wall=time.time) -> Memory:
    """A memory whose embedder is `new`, and that can still open `old`, if that is given."""

    def opener(space: str) -> Toy:
        if old is None or space != old.profile.fingerprint:
            raise UnknownEmbedder(f"No embedder here makes vectors of {space}.")
        return old

    embedding = Embedding(new, deadline=3.0, wall=wall, opener=opener)
    recipe = as_recipe("balanced(weights={lexical: 0}, rerank=none)")
    return Memory(store, Scope(owner=owner), embedding=embedding, recipe=recipe, clock=FixedClock())


@pytest.fixture
def old():
    return Toy({"Where?": ASK, "near": near(0.9), "nearer": near(0.95, 2), "far": near(0.1)}, name="old")


@pytest.fixture
def new():
    return Toy({"Where?": [0, 1, 0], "near": [0, 0.6, 0.8], "nearer": [0, 0.8, 0.6], "fresh": [0, 1, 0]}, name="new", size=3)


def remembered(store, old: Toy) -> None:
    with_old = memory_with(store, old)
    for text in ("near", "far", "nearer"):
        with_old.remember(text, id=text)
    assert with_old.flush(10) == 0


def ids(answer) -> list[str]:
    return [hit.id for hit in answer]


# Reading ---------------------------------------------------------------------------------------------------------------


def test_old_vectors_answer_until_there_are_new_ones(store, old, new):
    remembered(store, old)
    memory = memory_with(store, new, old)
    answer = memory.recall("Where?")
    assert ids(answer) == ["nearer", "near", "far"] and statuses(answer)[WHERE] == "ran"
    assert reasons(answer)[WHERE] == "no full vectors of new:3; 3 records are searched by their vectors of old:4"
    assert any("old:4" in note for note in answer.diagnostics.notes) and not answer.diagnostics.degraded
    memory.remember("fresh", id="fresh")
    assert memory.flush(10) == 0
    answer = memory.recall("Where?")
    assert ids(answer) == ["fresh", "nearer", "near", "far"], "the new ones first at every rank, each once"
    assert reasons(answer)[WHERE] == "3 records are searched by their vectors of old:4"
    assert memory.reembed() == {"lacking": 3, "left": 0}
    before = len(old.asked)
    answer = memory.recall("Where now?")
    assert reasons(answer)[WHERE] == "" and len(old.asked) == before, "when all is done the old model is left alone"
    assert memory.status()["vectors"] == [
        {"space": "new:3", "view": "full", "count": 4}, {"space": "old:4", "view": "full", "count": 3},
    ]  # fmt: skip


def test_it_says_so_when_the_old_model_can_not_be_opened_or_fails(store, old, new):
    remembered(store, old)
    memory = memory_with(store, new)
    answer = memory.recall("Where?")
    assert ids(answer) == [] and statuses(answer)[WHERE] == "skipped"
    assert "3 records have a vector of old:4 only and are not searched: No embedder here" in reasons(answer)[WHERE]
    memory.remember("fresh", id="fresh")
    memory.flush(10)
    answer = memory.recall("Where?")
    assert ids(answer) == ["fresh"] and "3 records have a vector of old:4 only" in reasons(answer)[WHERE]
    old.trouble = lambda rows: 1 / 0
    answer = memory_with(store, new, old).recall("Where?")
    assert ids(answer) == ["fresh"] and "not searched: division by zero" in reasons(answer)[WHERE]
    with pytest.raises(EmbedderFailed, match="No model"):
        Embedding(new, deadline=1, wall=time.time).other("old:4")


def test_the_new_model_down_is_told_as_ever(store, old, new):
    remembered(store, old)
    memory = memory_with(store, new, old)
    memory.remember("fresh", id="fresh")
    memory.flush(10)
    new.trouble = lambda rows: 1 / 0
    answer = memory.recall("Where?")
    assert statuses(answer)[WHERE] == "failed" and answer.diagnostics.degraded


def test_a_given_vector_is_asked_in_its_own_space_alone(store, old, new):
    remembered(store, old)
    answer = memory_with(store, new, old).recall("Where?", vectors=[0, 1, 0])
    assert ids(answer) == [] and not old.asked


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 30), unique=True, max_size=12), min_size=1, max_size=3), st.integers(1, 20))
def test_merging_keeps_each_order_and_counts_nothing_twice(rankings, limit):
    found = merged([(Found(keys, [1.0 / (1 + n) for n in range(len(keys))]), 1.0) for keys in rankings], limit)
    everything = merged([(Found(keys, [0.0] * len(keys)), 1.0) for keys in rankings], 99).keys
    assert merged([(Found(keys, [0.0] * len(keys)), 0.3) for keys in rankings], 99, 5.0).keys == everything, "equal worth"
    assert found.keys == everything[:limit] and len(set(found.keys)) == len(found.keys) == len(found.scores)
    assert set(everything) == {key for keys in rankings for key in keys}
    for keys in rankings:
        for rank, key in enumerate(keys):
            assert everything.index(key) < len(rankings) * (rank + 1), "no further down than there are rankings"


# Writing ---------------------------------------------------------------------------------------------------------------


def test_the_next_write_of_a_record_embeds_it_anew(store, old, new):
    remembered(store, old)
    memory = memory_with(store, new, old)
    memory.promote("near")
    assert memory.flush(10) == 0 and new.told == ["near"], "what is written is embedded anew, and nothing else"
    lanes = {lane["space"]: lane["count"] for lane in memory.status()["vectors"]}
    assert lanes == {"old:4": 3, "new:3": 1}
    memory.promote("near")
    assert memory.flush(10) == 0 and new.told == ["near"]
    memory.remember("Now here", id="here", supersedes="far")
    assert memory.flush(10) == 0 and sorted(new.told) == ["Now here", "far", "near"]


def test_old_vectors_go_when_asked_and_nothing_needs_them(store, old, new):
    remembered(store, old)
    memory = memory_with(store, new, old)
    assert memory.reembed(dry_run=True, drop_old=True) == {"lacking": 3, "left": 3, "dropped": {}, "needed": {"old:4": 3}}
    new.trouble = lambda rows: 1 / 0
    assert memory.reembed(drop_old=True) == {"lacking": 3, "left": 3, "dropped": {}, "needed": {"old:4": 3}}
    new.trouble = None
    assert memory.reembed() == {"lacking": 3, "left": 0}
    assert {lane["space"] for lane in memory.status()["vectors"]} == {"old:4", "new:3"}, "nothing goes unasked"
    assert memory.reembed(dry_run=True, drop_old=True) == {"lacking": 0, "left": 0, "dropped": {"old:4": 3}, "needed": {}}
    assert memory.reembed(drop_old=True)["dropped"] == {"old:4": 3}
    assert [lane["space"] for lane in memory.status()["vectors"]] == ["new:3"] and len(memory.recall("Where?")) == 3
    assert memory.reembed(drop_old=True) == {"lacking": 0, "left": 0, "dropped": {}, "needed": {}}


def test_a_record_only_the_old_model_reads_keeps_its_vector(store, old):
    english = Toy(name="english", scripts=frozenset({"latin"}))
    memory_with(store, old).remember_many([{"text": "東京", "id": "tokyo"}, {"text": "Goa", "id": "goa"}])
    memory_with(store, old).flush(10)
    memory = memory_with(store, english, old)
    assert memory.reembed(drop_old=True) == {"lacking": 1, "left": 0, "dropped": {}, "needed": {"old:4": 1}}
    assert "tokyo" in ids(memory.recall("東京"))


def test_queueing_again_does_not_take_a_text_from_who_is_at_it(store, new):
    memory = memory_with(store, new)
    new.trouble = lambda rows: 1 / 0
    memory.remember("Goa")
    memory.flush(5)
    new.trouble = None
    changes = [Amend(id=record.id, fields={}, pending=[("new:3", "full")]) for record in memory.each()]
    store.write("alice", changes)
    now = int(time.time() * 1e6)
    (job,) = store.outbox.claim("alice", "new:3", 9, now, int(1e9))
    store.write("alice", changes)
    assert store.outbox.claim("alice", "new:3", 9, now + int(1e8), 1) == []
    store.outbox.settle("new:3", [(job, np.eye(3, dtype=np.float32)[0])])
    assert memory.reembed() == {"lacking": 0, "left": 0}


# Several processes, and one that dies ---------------------------------------------------------------------------------

CHILD = textwrap.dedent("""
    import sys, time
    import numpy as np
    from recollect import Memory
    from recollect.ports import Profile

    class Slow:
        profile = Profile(name="slow", model="m", dimension=4, fingerprint="slow:4")
        def embed_documents(self, texts):
            with open(sys.argv[2], "a", encoding="utf-8") as told:
                told.writelines(text + "\\n" for text in texts)
            time.sleep(float(sys.argv[3]))
            return np.eye(4, dtype=np.float32)[[len(text) % 4 for text in texts]]
        embed_queries = embed_documents

    with Memory.open(sys.argv[1], owner="alice", embedder=Slow()) as memory:
        print("go", flush=True)
        found = memory.reembed(progress=lambda done, total: print(done, flush=True))
        print("done", found["left"], flush=True)
""")


def child(*words: object) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", CHILD, *map(str, words)], stdout=subprocess.PIPE, text=True)


def filled(path: Path, count: int) -> None:
    with Memory.open(str(path), owner="alice", embedder="hashing:16") as memory:
        memory.remember_many([f"Note {number}" for number in range(count)])


def test_processes_that_reembed_at_once_share_the_work(tmp_path):
    path, log = tmp_path / "memory.db", tmp_path / "told.txt"
    filled(path, 700)
    started = [child(path, log, 0.02) for _ in range(3)]
    for one in started:
        said, _ = one.communicate(timeout=60)
        assert one.returncode == 0 and said.splitlines()[-1] == "done 0"
    told = log.read_text(encoding="utf-8").splitlines()
    assert len(told) == len(set(told)) == 700, "each text was embedded once"


def test_a_reembedding_that_was_killed_is_taken_up(tmp_path):
    path, log = tmp_path / "memory.db", tmp_path / "told.txt"
    filled(path, 300)
    with child(path, log, 0.15) as one:
        while int(one.stdout.readline().replace("go", "0")) < 64:
            pass
        os.kill(one.pid, signal.SIGKILL)
        one.wait(30)
    before = log.read_text(encoding="utf-8").splitlines()
    assert 64 <= len(before) < 300
    toy = Toy(name="slow")
    with closing(open_url(str(path))) as store:
        now = time.time()
        memory = memory_with(store, toy, open_embedder("hashing:16"), wall=lambda: now + LEASE + 1)
        was = next(lane["count"] for lane in memory.status()["vectors"] if lane["space"] != "slow:4")
        answer = memory.recall("Note 299")
        assert len(answer) > 0 and "hashing:words-1:16" in reasons(answer)[WHERE], "half done, everything is found"
        found = memory.reembed()
        assert found["left"] == 0 and 0 < found["lacking"] < 300
        lanes = {lane["space"]: lane["count"] for lane in memory.status()["vectors"]}
        assert lanes["slow:4"] == 300 and lanes["hashing:words-1:16"] == was
        assert len(toy.told) <= 300 - len(before) + 64, "only the batch that died with it is embedded again"


# Opening a model by its space -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [
    "hashing", "hashing:64", "static", "openai", "openai:text-embedding-3-small", "openai:own-model@77", "ollama",
    "ollama:qwen3-embedding:8b", "ollama:own/model:tag@32",
])  # fmt: skip
def test_a_space_names_its_embedder(spec):
    there = open_embedder(spec, api_key="k")
    assert embedder_of(there.profile.fingerprint, api_key="k").profile == there.profile


@pytest.mark.parametrize("dimensions", [None, 256])
@pytest.mark.parametrize("base_url", [None, "http://127.0.0.1:9/v1"])
@pytest.mark.parametrize("spec", ["openai:text-embedding-3-large", "openai:BAAI/bge@1024"])
def test_hosts_and_shortened_vectors_are_part_of_it(spec, base_url, dimensions):
    there = open_embedder(spec, api_key="k", base_url=base_url, dimensions=dimensions)
    assert embedder_of(there.profile.fingerprint, api_key="k", base_url=base_url).profile == there.profile


@pytest.mark.parametrize(
    "space", ["given:3", "", "hashing", "openai:", "own:x:y:3", "hashing:words-9:16", "static:other:9", "ollama:a"]
)
def test_other_spaces_are_nobodys(space):
    with pytest.raises(UnknownEmbedder):
        embedder_of(space, api_key="k")


# Side by side ----------------------------------------------------------------------------------------------------------

ENGLISH = {"Where are they?": ASK, "They are near.": near(0.9), "They are far.": near(0.2)}
QUESTIONS = ("Where are they?", "Где они?", "Wo sind sie denn alle?")
TOLD = {"near": "They are near.", "far": "They are far.", "ru": "Они рядом.", "de": "Sie sind ganz in der Nähe von hier."}
EVERY = {question: [0, 1, 0] for question in QUESTIONS} | dict(
    zip(TOLD.values(), ([0, 0.6, 0.8], [0, 0.1, 0.99], [0, 0.8, 0.6], [0, 0.7, 0.7]), strict=True)
)


def side_by_side(store, **of_every):
    """A memory with an English embedder and one that reads everything and is worth less."""
    english = Toy(ENGLISH, name="english", scripts=frozenset({"latin"}), languages=frozenset({"en"}))
    every = Toy(EVERY, name="every", size=3, weight=0.3, **of_every)
    voices = beside(*(Embedding(one, deadline=3.0, wall=time.time) for one in (english, every)))
    recipe = as_recipe("balanced(weights={lexical: 0}, rerank=none)")
    return Memory(store, Scope(owner="alice"), embedding=voices, recipe=recipe, clock=FixedClock()), english, every


def told(memory) -> None:
    for id, text in TOLD.items():
        memory.remember(text, id=id)
    assert memory.flush(10) == 0


@pytest.mark.parametrize("inline", [False, True])
def test_each_text_is_embedded_by_those_that_should_read_it(store, inline):
    memory, english, every = side_by_side(store, inline=inline)
    told(memory)
    assert sorted(english.told) == ["They are far.", "They are near."], "no Russian, and no German though it is Latin"
    assert sorted(every.told) == sorted(TOLD.values())
    status = memory.status()
    assert status["embedder"] == memory.settings()["embedder"] == "english+every" and status["space"] == "english:4 + every:3"
    assert {lane["space"]: lane["count"] for lane in status["vectors"]} == {"english:4": 2, "every:3": 4}
    assert memory.reembed(drop_old=True) == {"lacking": 0, "left": 0, "dropped": {}, "needed": {}}


def test_a_question_leads_where_its_language_is_at_home(store):
    memory, english, every = side_by_side(store)
    told(memory)
    answer = memory.recall("Where are they?")
    assert ids(answer) == ["near", "far", "ru", "de"], "the English ones by the better model, then what only the other has"
    assert statuses(answer)[WHERE] == "ran" and reasons(answer)[WHERE] == "" and not answer.diagnostics.notes
    assert answer.diagnostics.routes[1].weight == 1.0 and english.asked == every.asked == ["Where are they?"]
    for question in QUESTIONS[1:]:
        english.asked.clear()
        answer = memory.recall(question)
        assert ids(answer) == ["ru", "de", "near", "far"], "all of it, by the one that reads it"
        assert answer.diagnostics.routes[1].weight == 0.3 and not english.asked and not answer.diagnostics.notes


def test_a_question_of_unknown_language_leads_where_most_of_the_memory_is(store):
    memory, english, every = side_by_side(store)
    for number in range(3):
        memory.remember(f"Sie sind ganz in der Nähe von {number}.")
    memory.remember("They are near.", id="near")
    memory.flush(10)
    for question, first in (("Goa?", every), ("Where are they?", english)):
        english.asked.clear(), every.asked.clear()
        answer = memory.recall(question)
        assert len(answer) == 4 and answer.diagnostics.routes[1].weight == first.profile.weight
        assert first.asked == [question] and (first is english or not english.asked)


def test_where_a_space_is_empty_the_other_answers_at_its_own_worth(store):
    memory, english, _ = side_by_side(store)
    memory.remember("Они рядом.", id="ru")
    memory.flush(10)
    answer = memory.recall("Where are they?")
    assert ids(answer) == ["ru"] and answer.diagnostics.routes[1].weight == 0.3 and not english.asked
    assert statuses(answer)[WHERE] == "ran" and reasons(answer)[WHERE] == ""


def test_a_memory_in_one_language_pays_for_one_model(store):
    memory, _, every = side_by_side(store)
    memory.remember("They are near.", id="near")
    memory.flush(10)
    memory.recall("Where are they?")
    assert not every.asked, "an English question about English records is the English model's alone"


def test_one_of_them_down_leaves_the_other(store):
    memory, english, every = side_by_side(store)
    english.trouble = lambda rows: 1 / 0
    memory.remember("They are near.", id="near")
    assert memory.flush(10) == 1 and every.told == ["They are near."], "its own place in the outbox, its own fate"
    assert ids(memory.recall("Где они?")) == ["near"]
    english.trouble, every.trouble = None, lambda rows: 1 / 0
    memory.remember("Они рядом.", id="ru")
    memory.recall("Где там?")
    assert statuses(memory.recall("Где там они?"))[WHERE] == "failed"


def test_a_lesser_models_first_comes_where_its_rank_is_worth_it():
    better, lesser = (Found([1, 2, 3, 4], [0.9] * 4), 1.0), (Found([5, 6], [0.9] * 2), 0.5)
    assert merged([better, lesser], 9).keys == [1, 5, 2, 6, 3, 4]
    assert merged([better, lesser], 9, k=0.0).keys == [1, 2, 5, 3, 4, 6]
    assert merged([lesser, better], 3, k=60.0).keys == [1, 2, 3]


def test_adding_one_beside_the_other_asks_for_its_vectors_alone(store):
    english = Toy(ENGLISH, name="english", scripts=frozenset({"latin"}), languages=frozenset({"en"}))
    alone = memory_with(store, english)
    alone.remember("They are near.", id="near")
    alone.remember("Они рядом.", id="ru")
    assert alone.flush(10) == 0
    memory, english, every = side_by_side(store)
    assert memory.reembed(dry_run=True)["lacking"] == 2
    assert memory.reembed()["left"] == 0 and sorted(every.told) == ["They are near.", "Они рядом."] and not english.told
