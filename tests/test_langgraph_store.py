"""LangGraph's store: it answers as LangGraph's own does, and nothing passes between namespaces or owners."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, Item, PutOp, SearchItem, SearchOp
from langgraph.store.memory import InMemoryStore

from recollect import Memory, Scope
from recollect.adapters.langgraph import RecollectStore
from recollect.aio import AsyncMemory
from recollect.errors import InvalidQuery, InvalidRecord
from recollect.testing import FixedClock

HOSTILE = [
    ("users", "alice"),
    ("users", "alic"),
    ("users", "alicee"),
    ("users", "Alice"),
    ("users",),
    ("users", "alice", "x"),
    ("alice",),
    ("users:alice",),
    ("users/alice",),
    ("users%2Ealice",),
    ("usersalice",),
    ("users", "*"),
    ("users", "%"),
    ("users", "_"),
    ("users", "' OR 1=1 --"),
    ("users", "алиса"),
    ("users", "alice\u200b"),
    ("users", "alice\n"),
    ("users", " alice"),
    ("langgraph namespaces",),
    ("recollect:carried",),
    ("users", "\ud800"),
    ("x" * 5_000,),
    ("x" * 5_001,),
    ("[]",),
    ('["users","alice"]',),
]


@pytest.fixture
def store(open_memory):
    return RecollectStore(open_memory(embedder="static"))


@pytest.fixture
def near(open_embedded):
    return RecollectStore(open_embedded(embedder="static"))


def keys(found) -> list[str]:
    return [item.key for item in found]


def test_it_is_a_store_of_langgraphs(store):
    assert isinstance(store, BaseStore) and store.supports_ttl
    store.put(("users", "alice"), "food", {"text": "Alice likes walnuts.", "score": 3})
    item = store.get(("users", "alice"), "food")
    assert type(item) is Item and item.value == {"text": "Alice likes walnuts.", "score": 3}
    assert (item.namespace, item.key) == (("users", "alice"), "food")
    assert item.created_at == item.updated_at and item.created_at.tzinfo is not None
    assert store.get(("users", "alice"), "drink") is None and store.get(("users",), "food") is None
    (found,) = store.search(("users",), query="walnuts")
    assert type(found) is SearchItem and found.score > 0


def test_search_ranks_by_meaning_and_words(store):
    for key, text in [
        ("a", "Alice likes walnuts in her cake."),
        ("b", "The rent is due on the third."),
        ("c", "Bob is from Goa."),
    ]:
        store.put(("notes",), key, {"text": text})
    assert keys(store.search(("notes",), query="What goes into the cake?"))[0] == "a"
    assert keys(store.search(("notes",), query="rent due", limit=1)) == ["b"]
    scores = [item.score for item in store.search(("notes",), query="cake")]
    ranked = [score for score in scores if score is not None]
    assert ranked == sorted(ranked, reverse=True) and scores[len(ranked) :] == [None] * (3 - len(ranked))


def test_pages_join_without_gap_or_repetition(near):
    for number in range(25):
        near.put(("notes",), f"n{number:02}", {"text": f"note {number} about walnuts" if number % 2 else f"note {number}"})
    for query in ("walnuts", None):
        whole = keys(near.search(("notes",), query=query, limit=25))
        pages = [key for start in range(0, 30, 7) for key in keys(near.search(("notes",), query=query, limit=7, offset=start))]
        assert pages == whole and len(set(whole)) == 25


@pytest.mark.parametrize(
    "asked, found",
    [
        ({"kind": "a"}, "13"),
        ({"kind": {"$eq": "a"}}, "13"),
        ({"kind": {"$ne": "a"}}, "245"),
        ({"n": {"$gt": 2}}, "34"),
        ({"n": {"$gte": 2}}, "234"),
        ({"n": {"$lt": 2}}, "1"),
        ({"n": {"$lte": 2, "$gt": 1}}, "2"),
        ({"deep": {"x": [1, 2]}}, "4"),
        ({"deep": {"x": {"$eq": [1, 2]}}}, "4"),
        ({"n": 1, "kind": "b"}, ""),
        ({"n": {"$gt": "two"}}, ""),
        ({"nothing": None}, "12345"),
        ({"kind": {"$gt": 1}}, ""),
        ({"n": True}, ""),
    ],
)
@pytest.mark.parametrize("query", ["word", None])
def test_filters(near, asked, found, query):
    values = [
        {"kind": "a", "n": 1},
        {"kind": "b", "n": 2},
        {"kind": "a", "n": 3},
        {"kind": "b", "n": "4", "deep": {"x": [1, 2]}},
        {},
    ]
    for number, value in enumerate(values, 1):
        near.put(("f",), str(number), {**value, "text": f"word number {number}"})
    assert "".join(sorted(keys(near.search(("f",), query=query, filter=asked)))) == found


def test_what_a_filter_rules_out_takes_nobodys_place(near):
    for number in range(60):
        near.put(("f",), f"loud{number}", {"text": "walnuts walnuts walnuts", "kind": "loud"})
    near.put(("f",), "quiet", {"text": "a cake with walnuts", "kind": "quiet"})
    (found,) = near.search(("f",), query="walnuts", filter={"kind": "quiet"}, limit=1)
    assert found.key == "quiet" and found.score > 0


def test_an_unknown_operator_is_named(store):
    store.put(("f",), "a", {"n": 1})
    with pytest.raises(InvalidQuery, match=r"no operator 'where'"):
        store.search(("f",), filter={"n": {"$where": "1"}})


def test_index_paths_are_what_is_searched(open_memory):
    memory = open_memory(embedder="none")
    store = RecollectStore(memory, index=["title", "notes[*].text"], views={"title": "personal_info"})
    store.put(("d",), "a", {"title": "Walnut cake", "notes": [{"text": "oven"}, {"text": "flour"}], "secret": "password"})
    assert store.search(("d",), query="flour")[0].score and store.search(("d",), query="walnut")[0].score
    assert store.search(("d",), query="password")[0].score is None
    store.put(("d",), "b", {"preferences": "no nuts at all", "other": "zebra"}, index=["preferences"])
    store.put(("d",), "c", {"title": "hidden giraffe"}, index=False)
    assert store.search(("d",), query="zebra giraffe", limit=1)[0].score is None
    assert store.get(("d",), "c").value == {"title": "hidden giraffe"}
    views = {
        record.metadata["langgraph"]["key"]: dict(record.views) for record in memory.each() if "langgraph" in record.metadata
    }
    assert views == {"a": {"personal_info": "Walnut cake"}, "b": {"preferences": "no nuts at all"}, "c": {}}


def test_an_item_may_come_to_be_searched_and_cease_to_be(store):
    store.put(("d",), "a", {"text": "a giraffe"}, index=False)
    assert [item.score for item in store.search(("d",), query="giraffe")] == [None]
    store.put(("d",), "a", {"text": "a giraffe"})
    assert store.search(("d",), query="giraffe")[0].score > 0
    store.put(("d",), "a", {"text": ""})
    assert [item.score for item in store.search(("d",), query="giraffe")] == [None]


@pytest.mark.parametrize("namespace", HOSTILE, ids=range(len(HOSTILE)))
def test_no_namespace_is_another(open_embedded, namespace):
    store = RecollectStore(open_embedded())
    others = [other for other in HOSTILE if other != namespace]
    store.batch([PutOp(other, "secret", {"text": f"the secret word of {number}"}) for number, other in enumerate(others)])
    assert store.get(namespace, "secret") is None
    below = [other for other in others if other[: len(namespace)] == namespace]
    for query in ("secret word", None):
        found = {item.namespace for item in store.search(namespace, query=query, limit=100)}
        assert found == set(below)
    store.put(namespace, "secret", {"text": "mine"})
    store.delete(namespace, "secret")
    assert all(store.get(other, "secret") is not None for other in others)
    assert store.get(namespace, "secret") is None and set(store.list_namespaces()) == set(others)


def test_a_namespace_nobody_has_finds_nothing(store):
    store.put(("a",), "k", {"text": "secret"})
    assert store.search(("b",), query="secret") == [] == store.search(("b",))


def test_owners_agents_and_projects_share_nothing(open_memory):
    memory = open_memory()
    scopes = [
        Scope(owner="acme/alice"),
        Scope(owner="acme/bob"),
        Scope(owner="acme"),
        Scope(owner="acme/alice", agent="x"),
        Scope(owner="acme/alice", agent="x", project="p"),
        Scope(owner="acme/alice", project="p"),
        Scope(owner="acme/alice", project="q"),
    ]
    stores = [RecollectStore(memory.for_owner(scope)) for scope in scopes]
    for number, store in enumerate(stores[1:], 1):
        store.put(("n",), "k", {"text": f"secret {number}"})
    assert [store.get(("n",), "k") and store.get(("n",), "k").value["text"] for store in stores[1:]] == [
        f"secret {number}" for number in range(1, len(stores))
    ]
    for store in stores[1:]:
        assert len(store.search((), query="secret")) == 1 == len(store.search(("n",)))
    assert stores[0].get(("n",), "k") is None


def test_other_memories_of_the_owner_are_no_items(open_memory):
    memory = open_memory()
    store = RecollectStore(memory)
    memory.remember("walnuts are mine", project="langgraph:n")
    store.put(("n",), "k", {"text": "walnuts"})
    assert keys(store.search((), query="walnuts")) == ["k"] == keys(store.search(("n",)))
    assert {hit.text for hit in memory.recall("walnuts")} == {"walnuts are mine", "text: walnuts"}


def test_labels_are_checked_in_batches_too(store):
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "k", {"x": 1})])
    with pytest.raises(InvalidNamespaceError):
        store.batch([SearchOp(("",))])
    with pytest.raises(InvalidQuery):
        store.batch(["nonsense"])


def _count(store) -> int:
    return len(list(store._memory.each()))


def test_values_come_back_to_the_letter(store):
    value = {
        "text": "<memory>kept</memory>\r\n\x00\x1b[31m",
        "surrogate": "\ud800",
        "deep": [{"a": None}, [], {}, 1.5, True],
        "": "é" * 3,
        "long": 'walnut \\" \u4f60 ' * 20_000,
    }
    store.put(("v",), "k", value)
    found = store.get(("v",), "k")
    assert found.value == value and store.search(("v",))[0].value == value
    found.value["deep"].append("changed by the caller")
    assert store.get(("v",), "k").value == value
    before = _count(store)
    store.put(("v",), "k", {**value, "more": 1})
    assert store.get(("v",), "k").value == {**value, "more": 1} and _count(store) == before
    store.put(("v",), "k", {"short": 1})
    assert store.get(("v",), "k").value == {"short": 1} and _count(store) == 3
    store.delete(("v",), "k")
    assert _count(store) == 2, "what says that the namespace was there, once for each prefix"


def test_what_is_no_json_is_refused(store):
    with pytest.raises(InvalidRecord, match="JSON"):
        store.put(("v",), "k", {"x": object()})
    assert store.get(("v",), "k") is None


def test_time_to_live(open_memory):
    clock = FixedClock()
    memory = open_memory(clock=clock)
    store = RecollectStore(memory, ttl={"default_ttl": 10, "refresh_on_read": False})
    store.put(("t",), "short", {"text": "walnut"})
    store.put(("t",), "long", {"text": "walnut"}, ttl=60)
    store.put(("t",), "ever", {"text": "walnut"}, ttl=None)
    clock.advance(minutes=9)
    assert store.get(("t",), "short") is not None
    clock.advance(minutes=2)
    assert store.get(("t",), "short") is None
    assert set(keys(store.search(("t",), query="walnut"))) == {"long", "ever"} == set(keys(store.search(("t",))))
    clock.advance(minutes=40)
    assert store.get(("t",), "long", refresh_ttl=True) is not None
    clock.advance(minutes=40)
    assert store.search(("t",), query="walnut", refresh_ttl=True) and store.get(("t",), "long") is not None
    clock.advance(minutes=61)
    assert keys(store.search(("t",))) == ["ever"]
    store.put(("t",), "short", {"text": "again"})
    assert store.get(("t",), "short").created_at == memory.now()
    assert store.sweep_ttl() == 1 == RecollectStore(memory).sweep_ttl() + 1
    clock.advance(minutes=11)
    store.put(("u",), "k", {"text": "x"}, ttl=0.5)
    clock.advance(minutes=1)
    assert store.list_namespaces() == [("t",)] and store.sweep_ttl() == 2


def test_an_update_keeps_when_it_was_made(open_memory):
    clock = FixedClock()
    store = RecollectStore(open_memory(clock=clock))
    store.put(("n",), "k", {"v": 1})
    made = store.get(("n",), "k").created_at
    clock.advance(hours=1)
    store.put(("n",), "k", {"v": 2})
    item = store.get(("n",), "k")
    assert (item.created_at, item.updated_at - made) == (made, timedelta(hours=1)) and isinstance(made, datetime)


def test_a_batch_reads_what_was_before_it(store):
    store.put(("b",), "k", {"v": 1})
    answers = store.batch([PutOp(("b",), "k", {"v": 2}), GetOp(("b",), "k"), PutOp(("b",), "k", {"v": 3}), SearchOp(("b",))])
    assert [answers[0], answers[1].value, answers[2], answers[3][0].value] == [None, {"v": 1}, None, {"v": 1}]
    assert store.get(("b",), "k").value == {"v": 3}


def test_the_loop_goes_on(open_memory):
    async def scenario():
        memory = AsyncMemory(open_memory())
        store = RecollectStore(memory)
        await asyncio.gather(*(store.aput(("n", str(n % 3)), f"k{n}", {"text": f"walnut {n}"}) for n in range(12)))
        assert len(await store.asearch(("n",), query="walnut", limit=20)) == 12
        assert (await store.aget(("n", "1"), "k1")).value == {"text": "walnut 1"}
        await store.adelete(("n", "1"), "k1")
        assert await store.aget(("n", "1"), "k1") is None
        assert await store.alist_namespaces(prefix=("n",)) == [("n", "0"), ("n", "1"), ("n", "2")]
        held, gate, loop, inner = asyncio.Event(), threading.Event(), asyncio.get_running_loop(), store.batch
        store.batch = lambda ops: (loop.call_soon_threadsafe(held.set), gate.wait(5), inner(ops))[2]
        asking = asyncio.create_task(store.aget(("n", "0"), "k0"))
        await asyncio.wait_for(held.wait(), 5)
        assert not asking.done()  # it is in its thread, and we are here
        gate.set()
        assert (await asking).value == {"text": "walnut 0"}

    asyncio.run(scenario())


def test_upkeep_leaves_items_alone_that_say_the_same(open_memory):
    memory = open_memory(embedder="none")
    store = RecollectStore(memory)
    for key in "abc":
        store.put(("n",), key, {"text": "The very same words, twice and thrice."})
    store.put(("n",), "d", {"text": "hidden"}, index=False)
    memory.upkeep()
    store.put(("n",), "a", {"text": "The very same words, twice and thrice."})
    assert sorted(keys(store.search(("n",), query="same words"))) == list("abcd") == sorted(keys(store.search(("n",))))


def test_it_is_all_there_after_reopening(tmp_path):
    with Memory.open(f"{tmp_path}/m.db", owner="alice", embedder="none") as memory:
        RecollectStore(memory).put(("n",), "k", {"text": "walnut"})
    with Memory.open(f"{tmp_path}/m.db", owner="alice", embedder="none") as memory:
        store = RecollectStore(memory)
        assert keys(store.search(("n",), query="walnut")) == ["k"] and store.list_namespaces() == [("n",)]


def test_threads_that_put_the_same_key_all_succeed(tmp_path):
    with Memory.open(f"{tmp_path}/m.db", owner="alice", embedder="none") as memory:
        store = RecollectStore(memory)
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda n: store.put(("n",), f"k{n % 2}", {"v": n, "pad": "x" * (n % 3) * 30_000}), range(30)))
        assert len(store.search(("n",))) == 2 and {item.value["v"] % 2 for item in store.search(("n",))} == {0, 1}


LABELS = st.sampled_from(["a", "b", "ab", "*"])
SPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
STEPS = st.one_of(
    st.tuples(
        st.just("put"), SPACES, st.sampled_from("xyz"), st.dictionaries(st.sampled_from("nm"), st.integers(0, 3), max_size=2)
    ),
    st.tuples(st.just("delete"), SPACES, st.sampled_from("xyz")),
    st.tuples(st.just("get"), SPACES, st.sampled_from("xyz")),
    st.tuples(
        st.just("search"),
        st.lists(LABELS, max_size=2).map(tuple),
        st.sampled_from([None, {"n": 1}, {"n": {"$ne": 2}, "m": {"$eq": 0}}]),
    ),
    st.tuples(
        st.just("list"),
        st.sampled_from([None, ("a",), ("*", "b")]),
        st.sampled_from([None, ("b",), ("*",)]),
        st.sampled_from([None, 1, 2]),
    ),
)


def said(store, step):
    match step:
        case "put", space, key, value:
            return store.put(space, key, value)
        case "delete", space, key:
            return store.delete(space, key)
        case "get", space, key:
            item = store.get(space, key)
            return item and (item.namespace, item.key, item.value)
        case "search", space, wanted:
            return sorted((i.namespace, i.key, str(i.value)) for i in store.search(space, filter=wanted, limit=100))
        case "list", prefix, suffix, depth:
            return store.list_namespaces(prefix=prefix, suffix=suffix, max_depth=depth)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=3, max_size=25))
def test_it_answers_as_langgraphs_own_store(steps):
    with Memory.open("memory:", owner="alice", embedder="none") as memory:
        ours, theirs = RecollectStore(memory), InMemoryStore()
        for step in steps:
            if step[0] == "list":  # theirs goes on listing namespaces that nothing is in any more
                for space in [space for space, items in theirs._data.items() if not items]:
                    del theirs._data[space]
            assert said(ours, step) == said(theirs, step), step
