"""Ollama, against a server on this machine. Deadlines, retries and the rest are `test_remote_embedders.py`."""

from __future__ import annotations

import fake_embedding_server as fake
import numpy as np
import pytest

from recollect import Memory
from recollect.embedders import open_embedder
from recollect.embedders.ollama import OllamaEmbedder, address
from recollect.errors import EmbedderFailed
from recollect.settings import load

TEXTS = ["one", "two", "three"]


def expected(server, size):
    rows = np.array([fake.vector(text, server.size)[:size] for text in TEXTS], dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_ollama_asks_as_it_is_documented():
    with fake.FakeServer(size=4096) as server:
        embedder = open_embedder("ollama", base_url=server.url)
        assert embedder.profile.fingerprint == "ollama:qwen3-embedding:8b:1024:prefix-1+speaker"
        rows = embedder.embed_documents(TEXTS)
        np.testing.assert_allclose(rows, expected(server, size=1024), atol=1e-6)
        path, _, body = server.requests[0]
        assert path == "/api/embed"
        assert body == {"model": "qwen3-embedding:8b", "input": TEXTS, "truncate": False, "dimensions": 1024}
        embedder.embed_queries(["who?", ""])
        prefix = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
        assert server.requests[1][2]["input"] == [prefix + "who?"]


def test_an_ollama_that_ignores_dimensions_is_cut_here():
    def whole(handler, body):
        fake.well(handler, {"input": body["input"]})

    with fake.FakeServer(size=4096) as server:
        server.script = [whole]
        rows = open_embedder("ollama", base_url=server.url).embed_documents(TEXTS)
        np.testing.assert_allclose(rows, expected(server, size=1024), atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("gpu-box", "http://gpu-box:11434"),
        ("127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":5000", "http://127.0.0.1:5000"),
        ("[::1]:5000/", "http://[::1]:5000"),
        ("https://models.example.com/ollama", "https://models.example.com/ollama"),
        ("two words", "two words"),
    ],
)
def test_a_server_is_named_as_ollama_s_own_settings_name_it(host, url):
    assert address(host) == url


def test_ollama_is_found_where_its_own_variable_says():
    with fake.FakeServer(size=4096) as server:
        settings = load({"OLLAMA_HOST": server.url.removeprefix("http://")})
        with Memory.open("memory:", owner="alice", embedder="ollama", settings=settings) as memory:
            memory.remember("Goa in March")
            assert memory.flush(10) == 0 and server.requests[0][0] == "/api/embed"


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        (fake.rows(lambda rows: [row[:500] for row in rows]), "500 numbers; 768 were due"),
        (fake.rows(lambda rows: rows[:1]), "3 rows were due"),
        (fake.rows(lambda rows: ["x"] * 3), "without a list"),
        (fake.text(b'{"error": "model not found"}', 404), "is the model there"),
        (fake.text(b"null"), "without a list"),
    ],
)
def test_ollama_lies_are_caught_as_well(behaviour, says):
    with fake.FakeServer(size=768) as server:
        server.script = [behaviour]
        with pytest.raises(EmbedderFailed, match=says):
            OllamaEmbedder("mine@768", base_url=server.url).embed_documents(TEXTS)
