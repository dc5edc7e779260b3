"""recollect models: what it lists, and how quick a model is on this machine."""

from __future__ import annotations

import json

import pytest

from recollect.embedders import open_embedder
from recollect.embedders.speed import FILE, QUESTIONS, TEXTS, Speed, keep, kept, measure


class Counting:
    """An embedder that counts what it is asked."""

    def __init__(self):
        self.inner, self.calls = open_embedder("hashing"), []
        self.profile = self.inner.profile

    def embed_queries(self, texts):
        self.calls.append(len(texts))
        return self.inner.embed_queries(texts)

    def embed_documents(self, texts):
        self.calls.append(len(texts))
        return self.inner.embed_documents(texts)


def test_questions_are_asked_one_by_one_and_texts_together():
    embedder = Counting()
    speed = measure(embedder)
    assert embedder.calls == [1] * (1 + QUESTIONS) + [TEXTS] and min(speed) > 0


def test_speeds_are_kept_by_fingerprint(tmp_path):
    keep(tmp_path / "models", "a:1", Speed(0.5, 4.25, 120.0))
    keep(tmp_path / "models", "b:1", Speed(0.1, 0.5, 9.0))
    keep(tmp_path / "models", "a:1", Speed(0.5, 4.5, 100.0))
    assert kept(tmp_path / "models") == {"a:1": Speed(0.5, 4.5, 100.0), "b:1": Speed(0.1, 0.5, 9.0)}
    assert [one.name for one in (tmp_path / "models").iterdir()] == [FILE]
    assert str(Speed(0.5, 4.5, 1000.0)) == "4.50 ms a question, 1,000 texts/s, 0.50 s to load"


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": [1]}', '{"a": 7}', "null"])
def test_a_file_that_says_nothing_is_measured_again(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    assert kept(tmp_path) == {} == kept(tmp_path / "nowhere")


@pytest.fixture
def models(monkeypatch, capsys, tmp_path):
    from recollect.cli import main

    for name, value in {"HOME": tmp_path, "RECOLLECT_MODELS": tmp_path / "models", "RECOLLECT_EMBEDDER": "static"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(tmp_path)

    def run(*words):
        status = main(["models", *words])
        return status, *capsys.readouterr()

    return run


def test_the_list_says_what_a_chooser_asks(models):
    status, out, _ = models("--json")
    found = {one["name"]: one for one in json.loads(out)["models"]}
    arctic, static = found["arctic-embed-s"], found["potion-base-8m"]
    assert status == 0 and not arctic["installed"] and arctic["get"] == "recollect models install arctic-embed-s"
    assert (arctic["dimension"], arctic["languages"], arctic["licence"], arctic["speed"]) == (384, "English", "Apache-2.0", None)
    assert static["installed"] and static["licence"] == "MIT" and static["path"] is None
    assert found["use-multilingual-v3"]["get"] == 'pip install "recollect[multilingual]"'


def test_bench_measures_what_is_there_and_the_list_shows_it(models):
    status, out, _ = models("bench", "--json")
    names = [one["name"] for one in json.loads(out)["models"]]
    assert status == 0 and "potion-base-8m" in names and "arctic-embed-s" not in names
    _, out, _ = models()
    assert next(line for line in out.splitlines() if line.startswith("potion-base-8m")).count("ms a question") == 1
    status, _, err = models("bench", "arctic-embed-s")
    assert status == 1 and ("not on this machine yet" in err or "not installed" in err)
    status, _, err = models("bench", "word2vec")
    assert status == 1 and "No model named 'word2vec' makes vectors" in err
    assert models("install")[0] == models("verify")[0] == 1


def test_the_dimensions_listed_are_the_models_own():
    from recollect.embedders.models import PACKAGED

    for one in PACKAGED:
        if one.extra == "":
            assert open_embedder(one.embedder).profile.dimension == one.dimension
            assert one.name in open_embedder(one.embedder).profile.fingerprint
