"""Embedders by name, and those that work offline: hashing, static, WordPiece."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.embedders import NAMES, chosen, open_embedder, profile_of
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


def test_a_key_chooses_openai_and_no_key_something_offline():
    assert chosen("auto", api_key="k") == "openai"
    assert chosen("auto") == "static"
    assert chosen("hashing:64") == "hashing:64"


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
