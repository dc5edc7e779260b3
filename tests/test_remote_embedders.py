"""The one transport and OpenAI-style servers, against a server on this machine that stalls, drips, fails and lies."""

from __future__ import annotations

import ssl
import time
from concurrent.futures import ThreadPoolExecutor

import fake_embedding_server as fake
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.embedders import open_embedder
from recollect.embedders.batches import in_batches
from recollect.embedders.openai import OpenAIEmbedder
from recollect.errors import (
    EmbedderFailed,
    EmbedderRefused,
    EmbedderResting,
    EmbedderTimeout,
    InvalidSetting,
)
from recollect.remote import Patience, Remote

KEY = "sk-secret-0123456789"
TEXTS = ["one", "two", "three"]


class Time:
    """A clock that only sleeping moves."""

    def __init__(self):
        self.now, self.slept = 100.0, []

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def server():
    with fake.FakeServer() as server:
        yield server


@pytest.fixture
def hours():
    return Time()


def opened(server, hours=None, *, timeout=20.0, **patience):
    """An OpenAI embedder on the server, its time being `hours` if given."""
    times = {"clock": hours.clock, "sleep": hours.sleep, "chance": lambda: 0.0} if hours else {}
    headers = {"Authorization": f"Bearer {KEY}"}
    remote = Remote(server.url, who="openai", headers=headers, patience=Patience(**patience), **times)
    return OpenAIEmbedder(f"m@{server.size}", api_key=KEY, base_url=server.url, timeout=timeout, remote=remote)


def expected(server, texts=TEXTS, size=None):
    rows = np.array([fake.vector(text, server.size)[:size] for text in texts], dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_openai_asks_as_it_is_documented(server):
    embedder = open_embedder("openai:m@8", api_key=KEY, base_url=server.url + "/v1/")
    rows = embedder.embed_documents(TEXTS)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, expected(server), atol=1e-6)
    path, headers, body = server.requests[0]
    assert path == "/v1/embeddings"
    assert body == {"model": "m", "input": TEXTS}
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert headers["Host"] == server.url.removeprefix("http://")


def test_dimensions_are_sent_only_if_asked_for(server):
    embedder = open_embedder("openai:m", api_key=KEY, base_url=server.url, dimensions=4)
    assert embedder.embed_queries(["x"]).shape == (1, 4)
    assert server.requests[0][2]["dimensions"] == 4


def test_openai_is_the_large_model_and_its_fingerprint_names_no_host():
    profile = open_embedder("auto", api_key=KEY).profile
    assert (profile.model, profile.dimension) == ("text-embedding-3-large", 3072)
    assert profile.fingerprint == "openai:text-embedding-3-large:3072+speaker"
    shorter = open_embedder("openai", api_key=KEY, dimensions=1024).profile
    assert shorter.fingerprint == "openai:text-embedding-3-large:1024+speaker"
    assert open_embedder("openai:text-embedding-3-small", api_key=KEY).profile.dimension == 1536


def test_another_host_is_in_the_fingerprint():
    profile = open_embedder("openai", base_url="https://gate.example/v1").profile
    assert profile.fingerprint == "openai:gate.example/text-embedding-3-large:3072+speaker"
    profile = open_embedder("openai:bge-m3@1024", base_url="http://[::1]:8000/v1").profile
    assert profile.fingerprint == "openai:[::1]:8000/bge-m3:1024+speaker"


@pytest.mark.parametrize(
    ("spec", "options", "says"),
    [
        ("openai", {}, "API key"),
        ("openai", {"api_key": "a\nb"}, "character"),
        ("openai:bge-m3", {"api_key": KEY}, "bge-m3@1024"),
        ("openai:bge-m3@x", {"api_key": KEY}, "size"),
        ("openai", {"api_key": KEY, "base_url": "gate.example"}, "https://"),
        ("openai", {"api_key": KEY, "base_url": "ftp://gate.example"}, "base URL"),
        ("openai", {"api_key": KEY, "base_url": "https://gate.example:x"}, "base URL"),
        ("openai", {"api_key": KEY, "base_url": "https://me:pass@gate.example"}, "password"),
        ("ollama:mine", {}, "mine@768"),
        ("ollama:bge-m3", {"dimensions": 2048}, "1024"),
    ],
)
def test_what_can_not_work_is_refused_at_opening(spec, options, says):
    with pytest.raises(InvalidSetting, match=says) as caught:
        open_embedder(spec, **options)
    assert "pass@" not in str(caught.value)


def test_blank_texts_are_not_sent_and_long_ones_are_cut(server):
    embedder = opened(server)
    rows = embedder.embed_documents(["", "one", " \n", "\ud800", "x" * 1_000_000])
    assert rows.any(axis=1).tolist() == [False, True, False, True, True]
    assert server.requests[0][2]["input"] == ["one", "?", "x" * embedder.profile.max_chars]
    assert embedder.embed_documents([" "]).shape == (1, 8)
    assert embedder.embed_documents([]).shape == (0, 8)
    assert len(server.requests) == 1


def test_many_texts_go_in_batches(server):
    texts = [f"text {number}" for number in range(600)]
    np.testing.assert_allclose(opened(server).embed_documents(texts), expected(server, texts), atol=1e-6)
    assert [len(body["input"]) for *_, body in server.requests] == [256, 256, 88]


@given(st.lists(st.integers(0, 60_000), max_size=12))
def test_a_batch_is_bounded_and_nothing_is_lost_or_mixed_up(lengths):
    asked = []

    def ask(texts):
        asked.append(texts)
        return np.array([[len(text)] for text in texts], dtype=np.float32)

    rows = in_batches(["x" * length for length in lengths], 1, ask, longest=50_000)
    assert rows[:, 0].tolist() == [min(length, 50_000) for length in lengths]
    assert all(sum(map(len, texts)) <= 100_000 for texts in asked)


def test_a_reordered_answer_is_put_in_order(server):
    server.script = [fake.items(lambda data: data[::-1])]
    np.testing.assert_allclose(opened(server).embed_documents(TEXTS), expected(server), atol=1e-6)


LIES = {
    "too few": (fake.rows(lambda rows: rows[:-1]), "2 vectors to 3 texts"),
    "too many": (fake.rows(lambda rows: [*rows, rows[0]]), "4 vectors to 3 texts"),
    "too long": (fake.rows(lambda rows: [[*row, 0.5] for row in rows]), "9 numbers; 8 were due"),
    "too short": (fake.rows(lambda rows: [row[1:] for row in rows]), "7 numbers; 8 were due"),
    "ragged": (fake.rows(lambda rows: [rows[0][1:], *rows[1:]]), "not 3 rows of numbers"),
    "nan": (fake.rows(lambda rows: [[float("nan")] * 8, *rows[1:]]), "not finite"),
    "infinite": (fake.rows(lambda rows: [[1e39] * 8, *rows[1:]]), "not finite"),
    "enormous": (fake.rows(lambda rows: [[10**400] * 8, *rows[1:]]), "not 3 rows of numbers"),
    "null": (fake.rows(lambda rows: [None, *rows[1:]]), "not 3 rows of numbers"),
    "words": (fake.rows(lambda rows: [["0.5"] * 8] * 3), "not 3 rows of numbers"),
    "zeros": (fake.rows(lambda rows: [[0.0] * 8, *rows[1:]]), "zeros"),
    "an index twice": (fake.items(lambda data: [data[0], data[0], data[2]]), r"\[0, 0, 2\]"),
    "no index": (fake.items(lambda data: [{"embedding": item["embedding"]} for item in data]), "None"),
    "index true": (fake.items(lambda data: [{**item, "index": bool(item["index"])} for item in data]), "False"),
    "index beyond": (fake.items(lambda data: [{**item, "index": item["index"] + 1} for item in data]), r"\[1, 2, 3\]"),
    "no vector": (fake.items(lambda data: [{"index": item["index"]} for item in data]), "not 3 rows"),
    "no list": (fake.items(lambda data: "data"), "without a list"),
    "another object": (fake.text(b'{"error": "model is loading"}'), "without a list"),
    "no object": (fake.text(b"[]"), "without a list"),
    "a page": (fake.text(b"<html>Sign in</html>"), "not JSON.*Sign in"),
    "nothing": (fake.text(b""), "not JSON"),
    "deep": (fake.text(b"[" * 200_000), "not JSON"),
    "bytes": (fake.text(b"\xff\x00\xfe"), "not JSON"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_an_error_that_says_what_was_seen(server, lie):
    behaviour, says = LIES[lie]
    server.script = [behaviour]
    embedder = opened(server)
    with pytest.raises(EmbedderFailed, match=says):
        embedder.embed_documents(TEXTS)
    np.testing.assert_allclose(embedder.embed_documents(TEXTS), expected(server), atol=1e-6)


FAILURES = {
    "500": fake.text(b"oops", 500),
    "503": fake.text(b"", 503),
    "429": fake.text(b"slow down", 429),
    "closed": fake.hang_up,
    "broken off": fake.close_mid_body,
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_passing_failure_is_tried_again_after_a_growing_pause(server, hours, failure):
    server.script = [FAILURES[failure]] * 3
    np.testing.assert_allclose(opened(server, hours).embed_documents(TEXTS), expected(server), atol=1e-6)
    assert hours.slept == [0.25, 0.5, 1.0]


@pytest.mark.parametrize("failure", FAILURES)
def test_a_lasting_failure_is_given_up(server, hours, failure):
    server.script = [FAILURES[failure]] * 9
    with pytest.raises(EmbedderFailed, match="failed 4 times"):
        opened(server, hours).embed_documents(TEXTS)
    assert len(server.requests) == 4


def test_a_server_that_is_not_there(hours):
    with fake.FakeServer() as gone:
        pass
    with pytest.raises(EmbedderFailed, match=r"ConnectionRefused.*Is the server running"):
        opened(gone, hours).embed_documents(TEXTS)


def test_retry_after_is_honoured_within_the_deadline(server, hours):
    server.script = [fake.text(b"", 429, Retry_After="7"), fake.text(b"", 503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT")]
    opened(server, hours).embed_documents(TEXTS)
    assert hours.slept == [7.0, 0.0]  # the date is long past by the server's own clock
    server.script = [fake.text(b"", 429, Retry_After="60")]
    with pytest.raises(EmbedderTimeout, match="no time to try again: HTTP 429"):
        opened(server, hours).embed_documents(TEXTS)
    assert len(hours.slept) == 2


@pytest.mark.parametrize(("status", "cure"), [(401, "key"), (404, "base URL"), (302, ""), (418, "")])
def test_what_will_not_pass_is_not_tried_again(server, hours, status, cure):
    server.script = [fake.text(b"no", status, Location="http://127.0.0.1:1/")]
    with pytest.raises(EmbedderFailed, match=f"HTTP {status}: no.*{cure}"):
        opened(server, hours).embed_documents(TEXTS)
    assert len(server.requests) == 1


def test_a_refused_text_is_told_apart_and_does_not_wear_the_breaker_out(server, hours):
    embedder = opened(server, hours, failures=2)
    server.script = [fake.text(b"too long", 400)] * 5
    for _ in range(5):
        with pytest.raises(EmbedderRefused, match="too long"):
            embedder.embed_documents(TEXTS)
    assert embedder.embed_documents(TEXTS).any()


@pytest.mark.parametrize("behaviour", [fake.stall, fake.drip, fake.drip_headers])
def test_the_deadline_holds_whatever_the_server_does(server, behaviour):
    server.script = [behaviour]
    embedder = opened(server, timeout=0.3)
    start = time.monotonic()
    with pytest.raises(EmbedderTimeout, match="in time"):
        embedder.embed_documents(TEXTS)
    assert 0.25 < time.monotonic() - start < 5
    assert embedder.embed_documents(TEXTS).any()


def test_an_endless_answer_is_cut_off(server):
    server.script = [fake.text(b"x" * 100_000)]
    with pytest.raises(EmbedderFailed, match="more than 70,000 bytes"):
        opened(server, largest=70_000).embed_documents(TEXTS)


def test_after_failures_in_a_row_it_rests_then_one_call_probes(server, hours):
    embedder = opened(server, hours, attempts=1, failures=3, rest=30.0)
    server.script = [FAILURES["500"]] * 4
    for _ in range(3):
        with pytest.raises(EmbedderFailed, match="HTTP 500"):
            embedder.embed_queries(["x"])
    with pytest.raises(EmbedderResting, match=r"3 times in a row.*another 30 s"):
        embedder.embed_queries(["x"])
    assert len(server.requests) == 3
    hours.now += 31
    with pytest.raises(EmbedderFailed, match="HTTP 500"):  # the probe fails: rest again
        embedder.embed_queries(["x"])
    with pytest.raises(EmbedderResting):
        embedder.embed_queries(["x"])
    hours.now += 31
    assert embedder.embed_queries(["x"]).any()
    assert embedder.embed_queries(["x"]).any()
    assert len(server.requests) == 6


def test_while_one_call_probes_the_others_rest(server, hours):
    embedder = opened(server, hours, attempts=1, failures=1)
    server.script = [FAILURES["500"], lambda handler, body: (others.append(resting(embedder)), fake.well(handler, body))]
    others = []
    with pytest.raises(EmbedderFailed):
        embedder.embed_queries(["x"])
    hours.now += 31
    assert embedder.embed_queries(["x"]).any()
    assert others == [True]


def resting(embedder):
    try:
        embedder.embed_queries(["y"])
    except EmbedderResting:
        return True
    return False


def test_a_success_in_between_forgives(server, hours):
    embedder = opened(server, hours, attempts=1, failures=2)
    for _ in range(4):
        server.script = [FAILURES["500"]]
        with pytest.raises(EmbedderFailed, match="HTTP 500"):
            embedder.embed_queries(["x"])
        embedder.embed_queries(["x"])


def test_a_connection_is_kept(server):
    embedder = opened(server)
    for _ in range(5):
        embedder.embed_queries(["x"])
    assert server.connections == 1
    server.script = [fake.well_chunked]
    np.testing.assert_allclose(embedder.embed_queries(TEXTS), expected(server), atol=1e-6)
    assert server.connections == 1


def test_a_connection_that_was_closed_meanwhile_is_replaced_without_a_pause(server, hours):
    embedder = opened(server, hours)
    server.script = [fake.well_then_hang_up, fake.well_and_goodbye]
    for _ in range(3):
        np.testing.assert_allclose(embedder.embed_queries(TEXTS), expected(server), atol=1e-6)
    assert hours.slept == []
    assert server.connections == 3


def test_an_old_connection_is_not_trusted(server, hours):
    embedder = opened(server, hours)
    embedder.embed_queries(["x"])
    hours.now += 60
    embedder.embed_queries(["x"])
    assert server.connections == 2


def test_threads_share_an_embedder(server):
    embedder = opened(server)
    texts = [[f"{thread} {number}" for number in range(5)] for thread in range(40)]
    with ThreadPoolExecutor(8) as pool:
        for asked, rows in zip(texts, pool.map(embedder.embed_documents, texts), strict=True):
            np.testing.assert_allclose(rows, expected(server, asked), atol=1e-6)
    assert server.connections <= 8


def test_the_key_is_nowhere_to_be_read(server, hours):
    embedder = opened(server, hours)
    said = [repr(embedder), repr(embedder._remote), repr(embedder.profile), str(vars(embedder))]
    echo = f"Incorrect API key: {KEY}".encode()
    server.script = [fake.text(echo, 401), *[fake.text(echo, 500)] * 4, fake.text(echo)]
    for _ in range(3):
        with pytest.raises(EmbedderFailed) as caught:
            embedder.embed_queries(["x"])
        said += [str(caught.value), repr(caught.value.__cause__)]
    assert "Incorrect" in said[4]
    assert not any(KEY in words for words in said)


def test_tls_is_verified():
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust = ssl.create_default_context(cadata=fake.CERTIFICATE[fake.CERTIFICATE.index("-----BEGIN CERT") :])
    with fake.FakeServer(tls=fake.certified(tls)) as server:
        with pytest.raises(EmbedderFailed, match="certificate"):
            open_embedder("openai:m@8", api_key=KEY, base_url=server.url).embed_queries(["x"])
        remote = Remote(server.url, who="openai", tls=trust)
        embedder = OpenAIEmbedder("m@8", base_url=server.url, remote=remote)
        np.testing.assert_allclose(embedder.embed_queries(TEXTS), expected(server), atol=1e-6)
        embedder.embed_queries(["x"])
        assert server.connections == 1


def test_a_tls_handshake_that_stalls_is_cut_off(server):
    server.script = [fake.stall]
    embedder = OpenAIEmbedder("m@8", base_url=server.url.replace("http:", "https:"), timeout=0.3)
    with pytest.raises(EmbedderFailed):
        embedder.embed_queries(["x"])
