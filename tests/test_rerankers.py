"""The rerankers themselves: by name, by shape, offline with a stand-in for the model, and remote against a server that lies."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import fake_embedding_server as fake
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Memory
from recollect.embedders import models
from recollect.embedders.wordpiece import CLS, SEP, bert_uncased
from recollect.errors import (
    InvalidSetting,
    MissingExtra,
    ModelDamaged,
    ModelNotInstalled,
    RerankerFailed,
    RerankerRefused,
    RerankerResting,
    RerankerTimeout,
    UnknownReranker,
)
from recollect.ports import JudgeProfile
from recollect.rerankers import NAMES, chosen, cross_encoder, open_reranker
from recollect.rerankers.remote import PROVIDERS, RemoteReranker
from recollect.settings import Settings

KEY = "co-secret-0123456789"
TEXTS = ["We swam at noon.", "", "The rent is due."]


# By name and by shape ---------------------------------------------------------------------------------------------------


def test_auto_is_the_best_that_is_there(judge, tmp_path):
    assert chosen("auto", models_dir=judge) == "cross-encoder" and chosen("auto") == "late" and chosen("voyage") == "voyage"
    assert open_reranker("auto", models_dir=judge).profile.name == "cross-encoder"
    models.remove("reranker", judge)
    assert open_reranker(models_dir=judge).profile.name == "late"
    with pytest.raises(ModelNotInstalled, match="recollect models install ms-marco-minilm"):
        open_reranker("cross-encoder", models_dir=judge)


@pytest.mark.parametrize("name", ["oracle", "late:x", "cross-encoder:x", "", "none"])
def test_what_there_is_not_is_refused_with_what_there_is(name):
    with pytest.raises(UnknownReranker):
        open_reranker(name)
    assert set(NAMES) >= {"auto", "cross-encoder", "late", "cohere", "voyage"}


def test_without_onnxruntime_the_pip_line_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr("recollect.rerankers.opening.find_spec", lambda name: None)
    assert chosen("auto", models_dir=tmp_path) == "late"
    with pytest.raises(MissingExtra, match=r'pip install "recollect\[local\]"'):
        open_reranker("cross-encoder", models_dir=tmp_path)


class Theirs:
    name, model = "theirs", "v1"

    def predict(self, pairs):
        return np.array([len(text) + len(query) for query, text in pairs], np.float32)


class Fast:
    def rerank(self, query, documents):
        return iter([0.5] * len(documents))


def test_other_libraries_cross_encoders_are_rerankers_as_they_are():
    wrapped = open_reranker(Theirs())
    assert (wrapped.profile.name, wrapped.profile.model) == ("theirs", "v1")
    assert wrapped.scores("ab", ["c", "def"]) == [3.0, 5.0]
    assert open_reranker(Fast()).scores("q", ["a", "b"]) == [0.5, 0.5] and open_reranker(Fast()).profile.name == "Fast"
    own = SimpleNamespace(profile=JudgeProfile(name="own", model="own"), scores=lambda query, texts: [1.0])
    assert open_reranker(own) is own
    with pytest.raises(UnknownReranker, match="scores"):
        open_reranker(object())
    with pytest.raises(UnknownReranker):
        Memory.open("memory:", owner="a", embedder="none", reranker=object(), settings=Settings())


def test_a_memory_takes_any_of_them():
    with Memory.open("memory:", owner="a", embedder="none", reranker=Theirs(), settings=Settings()) as memory:
        memory.remember("Goa", id="short")
        memory.remember("Goa, the longest of all of these", id="long")
        for name in ("auto", "theirs"):
            answer = memory.recall("Goa", recipe=f"balanced(rerank={name}, weights={{vector: 0}})")
            assert [hit.id for hit in answer] == ["long", "short"] and answer.diagnostics.rerank.name == "theirs"


# The cross-encoder --------------------------------------------------------------------------------------------------------


class Session:
    """A stand-in for onnxruntime's: the more pieces question and text share, the larger the logit."""

    loaded, known = 0, 1.0

    def __init__(self, path, options, providers):
        assert (options.intra_op_num_threads, providers) == (1, ["CPUExecutionProvider"])
        type(self).loaded += 1
        self.fed = []

    def run(self, outputs, fed):
        assert outputs == ["logits"] and set(fed) == {"input_ids", "attention_mask", "token_type_ids"}
        pieces, types = fed["input_ids"][0].tolist(), fed["token_type_ids"][0].tolist()
        border = types.index(1)
        assert pieces[0] == CLS and pieces[border - 1] == pieces[-1] == SEP and len(pieces) <= 256 and fed["attention_mask"].all()
        self.fed.append((pieces[1 : border - 1], pieces[border:-1]))
        shared = len(set(pieces[1 : border - 1]) & set(pieces[border:-1]))
        return [np.array([[self.known * 4.0 * (shared - 2.5)]], np.float32)]


@pytest.fixture
def judge(tmp_path, monkeypatch):
    """A folder with the model in it, and an onnxruntime that pretends to run it."""
    (tmp_path / models.MSMARCO.name).mkdir()
    with (tmp_path / models.MSMARCO.name / "model.onnx").open("wb") as file:
        file.truncate(models.MSMARCO.size)
    options = type("SessionOptions", (), {"add_session_config_entry": lambda *_: None})
    monkeypatch.setitem(sys.modules, "onnxruntime", SimpleNamespace(SessionOptions=options, InferenceSession=Session, __spec__=1))
    monkeypatch.setattr(Session, "loaded", 0)
    monkeypatch.setattr(Session, "known", 1.0)
    return tmp_path


def test_the_cross_encoder_reads_question_and_text_together_and_cuts(judge):
    reranker = open_reranker("cross-encoder", models_dir=judge)
    assert Session.loaded == 0
    scores = reranker.scores("Where is the red fox?", ["The red fox is in the den.", "Rent.", "", "fox " * 9_000])
    assert Session.loaded == 1 and scores[0] > 0.8 and scores[1] < 0.2 and all(0 <= score <= 1 for score in scores)
    asked = bert_uncased().encode("Where is the red fox?", 64)
    fed = reranker._session.fed[2:]  # after the self-test's two
    assert [question for question, _ in fed] == [asked] * 4 and fed[2][1] == [] and len(fed[3][1]) == 192 - 3 - len(asked)
    long = reranker.scores("why " * 500, ["because"])
    assert len(reranker._session.fed[-1][0]) == 64 and len(long) == 1
    assert "latin" in reranker.profile.scripts and reranker.profile.languages == {"en"} and not reranker.profile.inline


@pytest.mark.parametrize("known", [0.0, -1.0, float("nan")])
def test_a_processor_that_judges_otherwise_is_noticed(judge, monkeypatch, known):
    monkeypatch.setattr(Session, "known", known)
    with pytest.raises(ModelDamaged, match="does not judge as it should"):
        open_reranker("cross-encoder", models_dir=judge).scores("x", ["y"])


def test_the_logistic_of_an_absurd_logit_is_0(judge, monkeypatch):
    reranker = open_reranker("cross-encoder", models_dir=judge)
    reranker.scores("x", ["y"])
    monkeypatch.setattr(cross_encoder, "run", lambda *_: np.array([[-1e6]], np.float32))
    assert reranker.scores("x", ["y"]) == [0.0]


# Late interaction ---------------------------------------------------------------------------------------------------------


def test_late_finds_the_word_that_answers_among_many():
    late = open_reranker("late")
    question = "Which pet did Caroline adopt?"
    right = "After the long week and all the paperwork we finally drove out there, and she took home a small grey cat."
    scores = late.scores(question, [right, "The rent is due on the first of the month.", "", "😀", "Caroline adopted a dog."])
    assert scores[4] > scores[0] > scores[1] > 0 and scores[2] == scores[3] == 0.0
    assert late.scores("😀", ["a"]) == [0.0] and late.scores("a", []) == [] and late.scores("a", ["😀"]) == [0.0]
    assert late.scores("a cat", ["a cat"]) == [pytest.approx(1.0)] and late.profile.inline


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("abc de😀中f", max_size=20), max_size=8), st.text("abc de", min_size=1, max_size=20))
def test_late_judges_each_text_as_if_it_were_alone(texts, question):
    late = open_reranker("late")
    together = late.scores(question, texts)
    assert together == pytest.approx([late.scores(question, [text])[0] for text in texts], abs=2e-6)
    assert all(0 <= score <= 1 for score in together)


# Remote -------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def server():
    with fake.FakeServer() as server:
        yield server


def judged(change=lambda found: found, under="results"):
    """Longer texts are better; best first, as these servers answer."""

    def behave(handler, body):
        found = [{"index": place, "relevance_score": len(text) / 100} for place, text in enumerate(body["documents"])]
        found.sort(key=lambda one: -one["relevance_score"])
        handler.answer(json.dumps({under: change(found)}).encode())

    return behave


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_remote_one_is_asked_as_it_is_documented(server, provider):
    server.script = [judged(under=PROVIDERS[provider].results)]
    reranker = open_reranker(f"{provider}:m-1", api_key=KEY, base_url=server.url + "/v9/")
    assert reranker.scores("Where?", TEXTS) == [len(text or "-") / 100 for text in TEXTS]
    path, headers, body = server.requests[0]
    assert path == "/v9/rerank" and headers["Authorization"] == f"Bearer {KEY}"
    assert body == {"model": "m-1", "query": "Where?", "documents": [TEXTS[0], "-", TEXTS[2]]}
    assert reranker.profile.name == provider and not reranker.profile.scripts
    assert open_reranker(provider, api_key=KEY).profile.model == PROVIDERS[provider].model
    with pytest.raises(InvalidSetting, match=f"{provider}_api_key"):
        open_reranker(provider)


LIES = {
    "too few": judged(lambda found: found[1:]), "twice": judged(lambda found: [*found[1:], found[1]]),
    "beyond": judged(lambda found: [{**one, "index": one["index"] + 1} for one in found]),
    "unnumbered": judged(lambda found: [{"relevance_score": 1.0} for _ in found]),
    "no scores": judged(lambda found: [{"index": one["index"]} for one in found]),
    "words": judged(lambda found: [{**one, "relevance_score": "high"} for one in found]),
    "yes": judged(lambda found: [{**one, "relevance_score": True} for one in found]),
    "a table": judged(lambda found: {"0": 1.0}), "elsewhere": judged(under="answers"), "a list": fake.text(b"[1, 2, 3]"),
    "no JSON": fake.text(b"<html>"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_wrong_answer_is_an_error_that_says_what_was_seen(server, lie):
    server.script = [LIES[lie]]
    with pytest.raises(RerankerFailed, match="cohere"):
        open_reranker("cohere", api_key=KEY, base_url=server.url).scores("Where?", TEXTS)


def test_refusals_stalls_and_rests_are_told_apart(server):
    reranker = RemoteReranker("voyage", api_key=KEY, base_url=server.url, timeout=0.3)
    server.script = [fake.text(b"too many", 400), fake.stall]
    with pytest.raises(RerankerRefused):
        reranker.scores("Where?", TEXTS)
    with pytest.raises(RerankerTimeout):
        reranker.scores("Where?", TEXTS)
    server.script = [fake.text(b"no", 403)] * 4
    for _ in range(4):
        with pytest.raises(RerankerFailed) as error:
            reranker.scores("Where?", TEXTS)
        assert KEY not in str(error.value)
    with pytest.raises(RerankerResting):
        reranker.scores("Where?", TEXTS)


def test_a_memory_with_a_remote_one_that_is_down_answers_and_says_so(server):
    given = Settings(reranker="cohere:m", cohere_api_key=KEY, cohere_base_url=server.url)
    server.script = [judged(), fake.text(b"gone", 404)]
    with Memory.open("memory:", owner="a", embedder="none", settings=given, recipe="balanced(rerank=auto)") as memory:
        memory.remember("Goa", id="short")
        memory.remember("Goa is the longer of the two texts", id="long")
        assert [hit.id for hit in memory.recall("Goa")] == ["long", "short"]
        answer = memory.recall("Goa?")
        assert [hit.id for hit in answer] == ["short", "long"] and answer.diagnostics.degraded
        assert "HTTP 404" in answer.diagnostics.rerank.reason and KEY not in repr(given)
