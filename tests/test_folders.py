"""A folder with a model in it: what is read of it, how it runs on the real onnxruntime, and what is said of what is missing."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tiny_onnx as tiny

from recollect import Memory
from recollect.embedders import embedder_of, open_embedder
from recollect.embedders.folders import Folder
from recollect.errors import (
    EmbedderFailed,
    InvalidSetting,
    MissingExtra,
    ModelDamaged,
    ModelNotInstalled,
    RerankerFailed,
    UnknownEmbedder,
)
from recollect.rerankers import open_reranker
from recollect.settings import Settings

pytest.importorskip("onnxruntime", reason='onnxruntime is not installed: pip install "recollect[local]"')

TABLE = np.eye(len(tiny.VOCABULARY), 4, k=-4, dtype=np.float32)  # cat, dog, rent, where: a direction each
TABLE[tiny.VOCABULARY.index("[CLS]")] = [0, 0, 0, 1]
WORTH = np.zeros((len(tiny.VOCABULARY), 1), np.float32)
WORTH[tiny.VOCABULARY.index("cat")], WORTH[tiny.VOCABULARY.index("rent")] = 3, -3


@pytest.fixture
def home(tmp_path):
    return tiny.folder(tmp_path / "my-model", tiny.embedder(TABLE), config='{"hidden_size": 4}')


def test_the_mean_of_the_pieces_unless_the_folder_says_otherwise(home):
    embedder = open_embedder(f"onnx:{home}")
    rows = embedder.embed_documents(["cat", "the cat and the dog", "  ", "Cats!"])
    np.testing.assert_allclose(rows[0], np.array([1, 0, 0, 1]) / np.sqrt(2), atol=1e-6)
    assert rows[1][0] == pytest.approx(rows[1][1]) and not rows[2].any() and rows[3][0] > 0.5
    assert embedder.profile.model == "my-model" and embedder.profile.fingerprint.startswith("onnx:my-model:4:")
    (home / "1_Pooling").mkdir()
    (home / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    cls = open_embedder(f"onnx:{home}")
    np.testing.assert_allclose(cls.embed_documents(["cat"]), [[0, 0, 0, 1]], atol=1e-6)
    assert cls.profile.fingerprint != embedder.profile.fingerprint, "another way is another space"


def test_prompts_are_those_of_its_makers(home):
    (home / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "dog dog dog ", "document": ""}}))
    embedder = open_embedder(f"onnx:{home}")
    asked, said = embedder.embed_queries(["cat"])[0], embedder.embed_documents(["cat"])[0]
    assert asked[1] > asked[0] > 0 and said[1] == 0


def test_other_weights_are_another_space_wherever_they_are(home, tmp_path):
    first = open_embedder(f"onnx:{home}").profile.fingerprint
    elsewhere = tiny.folder(tmp_path / "b" / "my-model", tiny.embedder(TABLE), config='{"hidden_size": 4}')
    assert open_embedder(f"onnx:{elsewhere}").profile.fingerprint == first
    other = tiny.folder(tmp_path / "c" / "my-model", tiny.embedder(TABLE * 2), config='{"hidden_size": 4}')
    assert open_embedder(f"onnx:{other}").profile.fingerprint != first
    with pytest.raises(UnknownEmbedder):
        embedder_of(first)


def test_a_long_text_is_cut_and_the_size_may_be_named(home):
    (home / "config.json").write_text('{"max_position_embeddings": 8}')
    with pytest.raises(InvalidSetting, match="does not say how long"):
        open_embedder(f"onnx:{home}")
    embedder = open_embedder(f"onnx:{home}@4")
    row = embedder.embed_documents(["cat cat cat cat cat cat dog dog"])[0]
    assert row[1] == 0 and row[0] > 0
    with pytest.raises(EmbedderFailed, match=r"shape \(1, 4\); 5 numbers were due.*@4"):
        open_embedder(f"onnx:{home}@5").embed_documents(["cat"])


def test_what_is_missing_or_damaged_is_said(home, tmp_path, monkeypatch):
    for spec in ("onnx:", "onnx:@4"):
        with pytest.raises(InvalidSetting):
            open_embedder(spec)
    with pytest.raises(ModelNotInstalled, match="no ONNX model"):
        open_embedder(f"onnx:{tmp_path}")
    (home / "config.json").write_text("{")
    with pytest.raises(ModelDamaged, match="can't be read"):
        open_embedder(f"onnx:{home}")
    (home / "config.json").write_text('{"hidden_size": 4}')
    (home / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    with pytest.raises(ModelDamaged, match="tells capitals apart"):
        open_embedder(f"onnx:{home}").embed_documents(["cat"])
    (home / "tokenizer_config.json").unlink()
    (home / "vocab.txt").write_text("cat\ndog")
    with pytest.raises(ModelDamaged, match="not a vocabulary"):
        open_embedder(f"onnx:{home}").embed_documents(["cat"])
    (home / "vocab.txt").unlink()
    with pytest.raises(ModelNotInstalled, match="no vocabulary"):
        Folder(home)
    (home / "tokenizer.json").write_text("{}")
    monkeypatch.setattr("recollect.embedders.folders.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"recollect\[onnx\]"):
        Folder(home)
    monkeypatch.setattr("recollect.embedders.opening.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"onnxruntime is not installed.*recollect\[onnx\]"):
        open_embedder(f"onnx:{home}")


def test_weights_that_are_no_model_are_damaged(home):
    (home / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelDamaged, match="onnxruntime can't read"):
        open_embedder(f"onnx:{home}").embed_documents(["cat"])


def test_a_tokenizer_json_is_read_by_the_package_that_writes_them(home):
    tokenizers = pytest.importorskip("tokenizers", reason='tokenizers is not installed: pip install "recollect[onnx]"')
    ours = open_embedder(f"onnx:{home}").embed_documents(["The cats, the dog"])
    numbers = {piece: number for number, piece in enumerate(tiny.VOCABULARY)}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(numbers, unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.save(str(home / "tokenizer.json"))
    words = Folder(home)
    for text in ("cat", "cat dog rent " * 9, ""):
        assert words.fed(text, pieces=12)["input_ids"].shape[1] <= 12
    before = [words.fed("where is the cat", text, pieces=12, question=3) for text in ("dog", "rent " * 20)]
    (home / "vocab.txt").unlink()
    theirs = Folder(home)
    after = [theirs.fed("where is the cat", text, pieces=12, question=3) for text in ("dog", "rent " * 20)]
    assert before[0]["input_ids"].tolist() == after[0]["input_ids"].tolist() and after[1]["input_ids"].shape[1] <= 12
    np.testing.assert_allclose(open_embedder(f"onnx:{home}").embed_documents(["The cats, the dog"]), ours, atol=1e-6)
    assert theirs.fed("cat dog rent " * 9, pieces=6)["input_ids"].shape[1] == 6
    (home / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelDamaged, match="can't be read"):
        Folder(home).fed("cat")


def test_a_cross_encoder_of_ones_own_judges(tmp_path):
    home = tiny.folder(tmp_path / "judge", tiny.judge(WORTH))
    reranker = open_reranker(f"onnx:{home}")
    high, middle, low = reranker.scores("where", ["the cat", "the dog", "the rent"])
    assert (high, middle, low) == pytest.approx((1 / (1 + np.exp(-3)), 0.5, 1 / (1 + np.exp(3))))
    assert reranker.profile.model == "judge"
    two = tiny.folder(tmp_path / "two", tiny.judge(np.hstack((-WORTH / 2, WORTH / 2))))
    assert open_reranker(f"onnx:{two}").scores("where", ["the cat"]) == [pytest.approx(high)]
    three = tiny.folder(tmp_path / "three", tiny.judge(np.hstack((WORTH, WORTH, WORTH))))
    with pytest.raises(RerankerFailed, match="no cross-encoder"):
        open_reranker(f"onnx:{three}").scores("where", ["the cat"])
    with pytest.raises(InvalidSetting):
        open_reranker("onnx")


def test_a_memory_runs_on_both(home, tmp_path):
    judge = tiny.folder(tmp_path / "judge", tiny.judge(WORTH))
    given = Settings(embedder=f"onnx:{home}", reranker=f"onnx:{judge}")
    with Memory.open("memory:", owner="a", settings=given, recipe="balanced(rerank=auto)") as memory:
        for text in ("the dog", "the rent", "the cat"):
            memory.remember(text)
        assert memory.flush(10) == 0
        answer = memory.recall("where is the dog")
        assert [hit.text for hit in answer] == ["the cat", "the dog", "the rent"] and answer.diagnostics.rerank.name == "onnx"
        assert answer.diagnostics.routes[1].status == "ran" and memory.status()["embedder"] == "onnx"
