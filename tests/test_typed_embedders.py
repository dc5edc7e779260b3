"""Cohere's and Voyage's embeddings against a server on this machine: asked as documented, and every lie is an error."""

from __future__ import annotations

import json

import fake_embedding_server as fake
import numpy as np
import pytest

from recollect import Memory
from recollect.embedders import embedder_of, open_embedder
from recollect.embedders.typed import PROVIDERS, TypedEmbedder
from recollect.errors import EmbedderFailed, EmbedderRefused, EmbedderTimeout, InvalidSetting
from recollect.settings import Settings, load

KEY = "typed-secret-0123456789"
TEXTS = ["one", "", "two"]
providers = pytest.mark.parametrize("provider", PROVIDERS)


@pytest.fixture
def server():
    with fake.FakeServer() as server:
        yield server


def opened(server, provider, **more):
    return open_embedder(f"{provider}:m@8", api_key=KEY, base_url=server.url + "/v9", **more)


def expected(texts):
    return np.array([fake.vector(text, 8) for text in texts], np.float32)


def test_cohere_is_asked_as_it_is_documented(server):
    embedder = opened(server, "cohere")
    rows = embedder.embed_documents(TEXTS)
    np.testing.assert_allclose(rows[[0, 2]], expected(["one", "two"]), atol=1e-6)
    assert not rows[1].any()
    embedder.embed_queries(["where?"])
    (path, headers, said), (_, _, asked) = server.requests
    assert path == "/v9/embed" and headers["Authorization"] == f"Bearer {KEY}"
    assert said == {"model": "m", "texts": ["one", "two"], "input_type": "search_document", "embedding_types": ["float"]}
    assert asked["input_type"] == "search_query" and asked["texts"] == ["where?"]


def test_voyage_is_asked_as_it_is_documented(server):
    embedder = opened(server, "voyage")
    np.testing.assert_allclose(embedder.embed_queries(["where?"]), expected(["where?"]), atol=1e-6)
    embedder.embed_documents(["one"])
    (path, _, asked), (_, _, said) = server.requests
    assert path == "/v9/embeddings" and asked == {"model": "m", "input": ["where?"], "input_type": "query"}
    assert said["input_type"] == "document"


@providers
def test_a_size_is_asked_for_only_if_it_was_named(server, provider):
    assert open_embedder(f"{provider}:m", api_key=KEY, base_url=server.url, dimensions=4).embed_queries(["x"]).shape == (1, 4)
    assert server.requests[0][2]["output_dimension"] == 4


@providers
def test_a_batch_is_as_large_as_they_take(server, provider):
    most = PROVIDERS[provider].most
    rows = opened(server, provider).embed_documents([f"text {number}" for number in range(most + 1)])
    assert rows.any(axis=1).all()
    assert [len(body[PROVIDERS[provider].texts]) for _, _, body in server.requests] == [most, 1]


@providers
def test_profiles_name_the_model_and_a_host_that_is_not_theirs(server, provider):
    own = open_embedder(provider, api_key=KEY).profile
    model, dimension = PROVIDERS[provider].model, PROVIDERS[provider].dimensions[PROVIDERS[provider].model]
    assert (own.name, own.model, own.dimension) == (provider, model, dimension)
    assert own.fingerprint == f"{provider}:{model}:{dimension}+speaker"
    there = opened(server, provider).profile.fingerprint
    assert there == f"{provider}:{server.url.removeprefix('http://')}/m:8+speaker"
    assert embedder_of(own.fingerprint, api_key=KEY).profile == own
    assert embedder_of(there, api_key=KEY, base_url=server.url + "/v9").profile.fingerprint == there
    with pytest.raises(InvalidSetting, match=f"{provider}_api_key"):
        open_embedder(provider)
    with pytest.raises(InvalidSetting, match=f"{provider}:new@1024"):
        open_embedder(f"{provider}:new", api_key=KEY)


LIES = {
    "too few": fake.rows(lambda rows: rows[1:]), "too many": fake.rows(lambda rows: [*rows, rows[0]]),
    "short": fake.rows(lambda rows: [row[1:] for row in rows]), "words": fake.rows(lambda rows: [["a"] * 8 for _ in rows]),
    "NaN": fake.rows(lambda rows: [[float("nan")] * 8 for _ in rows]), "zeros": fake.rows(lambda rows: [[0.0] * 8 for _ in rows]),
    "nothing": fake.text(b"{}"), "a list": fake.text(b"[]"), "flat": fake.text(b'{"embeddings": [[1]], "data": {}}'),
    "no JSON": fake.text(b"oops"), "gone": fake.text(b"no such model", 404),
}  # fmt: skip


@providers
@pytest.mark.parametrize("lie", LIES)
def test_a_wrong_answer_is_an_error_and_never_a_vector(server, provider, lie):
    server.script = [LIES[lie]]
    with pytest.raises(EmbedderFailed) as error:
        opened(server, provider).embed_documents(["one", "two"])
    assert KEY not in str(error.value)


@providers
def test_refusals_and_stalls_are_told_apart(server, provider):
    server.script = [fake.text(b"too long", 422), fake.stall, fake.text(b"busy", 503), fake.well]
    embedder = TypedEmbedder(provider, "m@8", api_key=KEY, base_url=server.url, timeout=0.3)
    with pytest.raises(EmbedderRefused):
        embedder.embed_documents(["one"])
    with pytest.raises(EmbedderTimeout):
        embedder.embed_documents(["one"])
    patient = TypedEmbedder(provider, "m@8", api_key=KEY, base_url=server.url, timeout=20)
    assert patient.embed_documents(["one"]).any(), "a busy server is asked again"


@providers
def test_a_memory_takes_the_key_and_the_address_from_the_settings(server, provider):
    given = load({f"{provider.upper()}_API_KEY": KEY, f"RECOLLECT_{provider.upper()}_BASE_URL": server.url,
                  "RECOLLECT_EMBEDDER": f"{provider}:m@8", "HOME": "/nowhere", "RECOLLECT_OWNER": "a"})  # fmt: skip
    assert isinstance(given, Settings) and KEY not in repr(given)
    with Memory.open("memory:", settings=given) as memory:
        memory.remember("Goa")
        assert memory.flush(10) == 0 and json.dumps(memory.status()["vectors"]).count(f"{provider}:") == 1
        assert memory.recall("Where?")[0].text == "Goa"
