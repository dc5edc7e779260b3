"""Models run by sentence-transformers and fastembed, with stand-ins that have the libraries' own methods."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from recollect.embedders import embedder_of, open_embedder
from recollect.errors import EmbedderFailed, MissingExtra, RerankerFailed, UnknownEmbedder, UnknownReranker
from recollect.rerankers import open_reranker


def module(name: str, **names) -> ModuleType:
    made = ModuleType(name)
    made.__spec__ = SimpleNamespace(name=name)
    for word, value in names.items():
        setattr(made, word, value)
    return made


@pytest.fixture
def theirs(monkeypatch):
    """Both libraries, pretending; what they were asked."""
    asked: list[tuple] = []

    class SentenceTransformer:
        def __init__(self, name):
            asked.append(("load", name))

        def get_sentence_embedding_dimension(self):
            return 3

        def encode_query(self, texts):
            asked.append(("query", tuple(texts)))
            return np.tile([3.0, 0, 4], (len(texts), 1)).astype(np.float32)

        def encode_document(self, texts):
            asked.append(("document", tuple(texts)))
            if "boom" in texts:
                raise RuntimeError("CUDA out of memory")
            return np.ones((len(texts), 3), np.float32)

    class CrossEncoder:
        def __init__(self, name):
            asked.append(("load", name))

        def predict(self, pairs):
            return np.array([len(text) / 10 for _, text in pairs], np.float32)

    class TextEmbedding:
        def __init__(self, name, threads):
            asked.append(("load", name, threads))

        @staticmethod
        def list_supported_models():
            return [{"model": "BAAI/bge-small-en-v1.5", "dim": 3}]

        def query_embed(self, texts):
            return (np.array([0, 0, 2.0]) for _ in texts)

        def passage_embed(self, texts):
            return (np.array([0, 5.0, 0]) for _ in texts)

    class TextCrossEncoder:
        def __init__(self, name, threads):
            asked.append(("load", name, threads))

        def rerank(self, query, texts):
            return iter([0.0, -1e6][: len(texts)])

    cross = module("fastembed.rerank.cross_encoder", TextCrossEncoder=TextCrossEncoder)
    for made in (
        module("sentence_transformers", SentenceTransformer=SentenceTransformer, CrossEncoder=CrossEncoder),
        module("fastembed", TextEmbedding=TextEmbedding), module("fastembed.rerank"), cross,
    ):  # fmt: skip
        monkeypatch.setitem(sys.modules, made.__name__, made)
    return asked


def test_sentence_transformers_asks_the_model_how_long_its_vectors_are(theirs):
    embedder = open_embedder("sentence-transformers:all-MiniLM-L6-v2")
    assert embedder.profile.dimension == 3 and theirs == [("load", "all-MiniLM-L6-v2")]
    np.testing.assert_allclose(embedder.embed_queries(["where?", " "]), [[0.6, 0, 0.8], [0, 0, 0]], atol=1e-6)
    embedder.embed_documents(["a\ud800", "b" * 9_000])
    assert theirs[1:] == [("query", ("where?",)), ("document", ("a?", "b" * 8_000))], "loaded once, cut, encodable"
    assert embedder.profile.fingerprint == "sentence-transformers:all-MiniLM-L6-v2:3+speaker"


def test_with_the_size_in_the_name_nothing_is_loaded_before_the_first_text(theirs):
    embedder = open_embedder("sentence-transformers:org/model@3")
    assert theirs == [] and embedder_of(embedder.profile.fingerprint).profile == embedder.profile
    embedder.embed_documents(["a"])
    assert theirs[0] == ("load", "org/model")
    with pytest.raises(EmbedderFailed, match="3 numbers; 4 were due"):
        open_embedder("sentence-transformers:org/model@4").embed_documents(["a"])


def test_fastembed_knows_its_models(theirs):
    embedder = open_embedder("fastembed:BAAI/bge-small-en-v1.5")
    assert theirs == [] and embedder.profile.dimension == 3
    np.testing.assert_allclose(embedder.embed_queries(["q"]), [[0, 0, 1]])
    np.testing.assert_allclose(embedder.embed_documents(["d", "e"]), [[0, 1, 0]] * 2)
    assert theirs == [("load", "BAAI/bge-small-en-v1.5", 1)]
    with pytest.raises(UnknownEmbedder, match="fastembed has no model"):
        open_embedder("fastembed:word2vec")


def test_what_goes_wrong_inside_is_an_embedder_or_a_reranker_that_failed(theirs):
    with pytest.raises(EmbedderFailed, match="RuntimeError: CUDA out of memory"):
        open_embedder("sentence-transformers:m").embed_documents(["boom"])
    with pytest.raises(RerankerFailed, match="could not judge"):
        open_reranker("fastembed:m").scores("q", None)


def test_their_cross_encoders_judge_from_0_to_1(theirs):
    assert open_reranker("sentence-transformers:cross-encoder/m").scores("q", ["ab", "abcd"]) == pytest.approx([0.2, 0.4])
    assert open_reranker("fastembed:m").scores("q", ["a", "b"]) == [0.5, 0.0]
    assert theirs == [("load", "cross-encoder/m"), ("load", "m", 1)] and open_reranker("fastembed:m").profile.model == "m"


@pytest.mark.parametrize("library", ["sentence-transformers", "fastembed"])
def test_without_a_name_or_the_library_it_is_said(theirs, monkeypatch, library):
    with pytest.raises(UnknownEmbedder, match=f"For example {library}:"):
        open_embedder(library)
    with pytest.raises(UnknownReranker, match=f"For example {library}:"):
        open_reranker(library)
    for place, open_one in (("embedders", open_embedder), ("rerankers", open_reranker)):
        monkeypatch.setattr(f"recollect.{place}.opening.find_spec", lambda name: None)
        with pytest.raises(MissingExtra, match=rf"recollect\[{library}\]"):
            open_one(f"{library}:m")
