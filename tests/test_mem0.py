"""The facade of mem0: its names, arguments and shapes; a user's memories are nobody else's; what is deleted is gone."""

from __future__ import annotations

import asyncio
import hashlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from uuid import UUID

import pytest

import recollect
from recollect import Scope
from recollect.adapters.mem0 import AsyncMemory, Memory
from recollect.errors import RecollectError
from recollect.testing import FixedClock

SAID = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "I like walnuts in my cake.", "name": "alice"},
    {"role": "assistant", "content": "The rent is due on the third."},
]
ITEM = {"id", "memory", "hash", "metadata", "score", "created_at", "updated_at"}
HOSTILE = [
    "alice",
    "Alice",
    "alic",
    "alicee",
    "bob",
    "alice/x",
    "..",
    ".",
    "../bob",
    "/bob",
    "bob/",
    "%2e%2e",
    "user-1",
    "a" * 90,
    "a" * 5_000,
    "a" * 5_001,
    "алиса",
    "'--",
    "*",
    "\x00",
    "\ud800",
    "mem0",
    "None",
    "0",
]


@pytest.fixture
def ours(open_memory):
    return open_memory(owner="acme")


@pytest.fixture
def memory(ours):
    return Memory(ours)


@pytest.fixture
def near(open_embedded):
    return Memory(open_embedded(owner="acme"))


def texts(found: dict) -> list[str]:
    assert list(found) == ["results"]
    return [row["memory"] for row in found["results"]]


def test_add_answers_with_what_is_new(memory):
    added = memory.add(SAID, user_id="alice")
    assert [set(row) for row in added["results"]] == [{"id", "memory", "event", "actor_id", "role"}] * 2
    assert [(row["memory"], row["event"], row["actor_id"], row["role"]) for row in added["results"]] == [
        ("I like walnuts in my cake.", "ADD", "alice", "user"),
        ("The rent is due on the third.", "ADD", None, "assistant"),
    ]
    assert all(UUID(row["id"]) for row in added["results"])
    assert memory.add(SAID, user_id="alice") == {"results": []} == memory.add([], user_id="alice")
    assert len(memory.add(SAID, user_id="alice", infer=False)["results"]) == 2
    assert texts(memory.add("Just text.", user_id=7)) == ["Just text."] == texts(memory.get_all(filters={"user_id": "7"}))
    assert len(memory.add({"role": "user", "content": "One table."}, run_id="r")["results"]) == 1


def test_search_answers_best_first_with_scores_of_one_at_most(memory):
    memory.add(SAID, user_id="alice", metadata={"kind": "food"})
    found = memory.search("What cake?", filters={"user_id": "alice"})["results"]
    assert found[0]["memory"] == "I like walnuts in my cake." and 0 < found[0]["score"] <= 1
    assert set(found[0]) == ITEM | {"user_id", "actor_id", "role"} and found[0]["metadata"] == {"kind": "food"}
    assert found[0]["hash"] == hashlib.md5(b"I like walnuts in my cake.").hexdigest()
    assert datetime.fromisoformat(found[0]["created_at"]).tzinfo is not None and found[0]["updated_at"] == found[0]["created_at"]
    assert memory.search("cake", user_id="alice", limit=1)["results"][0]["id"] == found[0]["id"]
    assert texts(memory.search("cake", user_id="alice", threshold=1.0)) in ([], ["I like walnuts in my cake."])
    assert texts(memory.search("cake rent", user_id="alice", top_k=0)) == []
    detailed = memory.search("cake", user_id="alice", explain=True, rerank=True)["results"][0]["score_details"]
    assert detailed and isinstance(detailed, dict)


def test_get_and_get_all(memory):
    id = memory.add("I like walnuts.", user_id="alice", agent_id="cook", run_id="r1")["results"][0]["id"]
    item = memory.get(id)
    assert set(item) == ITEM | {"user_id", "agent_id", "run_id", "role"} and item["metadata"] is None and item["score"] is None
    assert (item["user_id"], item["agent_id"], item["run_id"]) == ("alice", "cook", "r1")
    (listed,) = memory.get_all(filters={"user_id": "alice"})["results"]
    assert listed == {name: value for name, value in item.items() if name != "score"}
    assert memory.get("nothing") is None is memory.get(str(UUID(int=1))) is memory.get(None) is memory.get(id[:-1] + "z")
    for number in range(30):
        memory.add(f"Memory number {number}.", user_id="alice")
    assert (
        len(memory.get_all(user_id="alice")["results"]) == 20 and len(memory.get_all(user_id="alice", top_k=100)["results"]) == 31
    )


def test_update_changes_text_metadata_and_end_and_nothing_else(memory):
    id = memory.add("I like walnuts.", user_id="alice", metadata={"a": 1})["results"][0]["id"]
    assert memory.update(id, "I like pears.") == {"message": "Memory updated successfully!"}
    memory.update(id, metadata={"b": 2, "user_id": "bob", "actor_id": "bob"})
    memory.update(memory_id=id, data="I like plums.")
    item = memory.get(id)
    assert (item["memory"], item["metadata"], item["user_id"]) == ("I like plums.", {"a": 1, "b": 2}, "alice")
    assert (
        texts(memory.search("plums", user_id="alice")) == ["I like plums."]
        and texts(memory.search("walnuts", user_id="alice")) == []
    )
    assert len(memory.add("I like walnuts.", user_id="alice")["results"]) == 1, "it is no longer there, so it is new"
    with pytest.raises(ValueError, match="nothing to update"):
        memory.update(id)
    with pytest.raises(ValueError, match="not found"):
        memory.update(str(UUID(int=5)), "x")


def test_history_has_a_row_for_each_change(memory):
    id = memory.add([SAID[1]], user_id="alice")["results"][0]["id"]
    memory.update(id, "I like pears.")
    rows = memory.history(id)
    assert [(row["event"], row["old_memory"], row["new_memory"], row["is_deleted"]) for row in rows] == [
        ("ADD", None, "I like walnuts in my cake.", False),
        ("UPDATE", "I like walnuts in my cake.", "I like pears.", False),
    ]
    shape = {"id", "memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at", "is_deleted", "actor_id", "role"}
    assert all(set(row) == shape and row["memory_id"] == id and row["actor_id"] == "alice" for row in rows)
    assert memory.delete(id) == {"message": "Memory deleted successfully!"} and memory.get(id) is None
    gone = memory.history(id)
    assert [(row["event"], row["is_deleted"]) for row in gone] == [("ADD", False), ("UPDATE", False), ("DELETE", True)]
    assert all(row["old_memory"] is None is row["new_memory"] for row in gone), "what is deleted is deleted from the history, too"
    assert memory.history("nothing") == [] == memory.history(str(UUID(int=1)))
    with pytest.raises(ValueError, match="not found"):
        memory.delete(id)


def test_nothing_deleted_is_left_in_the_file(tmp_path):
    with Memory(url=f"{tmp_path}/m.db", owner="acme", embedder="none") as memory:
        id = memory.add("My secret is xyzzyplugh.", user_id="alice")["results"][0]["id"]
        memory.update(id, "My secret is frobozzle.")
        memory.delete(id)
        every = [record for home in memory._homes({}) for record in home.each()]
    assert every and not any(word in str(record) for record in every for word in ("xyzzyplugh", "frobozzle"))


@pytest.mark.parametrize("user", HOSTILE, ids=range(len(HOSTILE)))
def test_no_user_is_another(near, user):
    others = [other for other in HOSTILE if other != user]
    ids = [near.add("The secret is walnuts.", user_id=other)["results"][0]["id"] for other in others]
    assert len(set(ids)) == len(ids)
    assert texts(near.search("secret walnuts", filters={"user_id": user})) == [] == texts(near.get_all(user_id=user))
    near.add("My own.", user_id=user)
    near.delete_all(user_id=user)
    assert texts(near.get_all(user_id=user)) == []
    assert all(near.get(id) is not None and near.get(id)["user_id"] == other for id, other in zip(ids, others, strict=True))


def test_users_are_owners_below_the_memorys(ours, memory):
    ours.remember("The tenant's walnuts.")
    memory.add("My walnuts.", user_id="alice")
    memory.add("The cook's walnuts.", agent_id="cook")
    assert {hit.text for hit in ours.for_owner("acme/alice").recall("walnuts")} == {"My walnuts."}
    assert {hit.text for hit in ours.recall("walnuts")} == {"The tenant's walnuts.", "The cook's walnuts."}
    assert texts(memory.search("walnuts", agent_id="cook")) == ["The cook's walnuts."]
    other = Memory(ours.for_owner("umbrella"))
    assert (
        texts(other.search("walnuts", user_id="alice")) == []
        and other.get(memory.get_all(user_id="alice")["results"][0]["id"]) is None
    )


def test_agents_and_runs_narrow_and_are_found_across_users(memory):
    for user, agent, run in [
        ("alice", "cook", "r1"),
        ("alice", "cook", "r2"),
        ("alice", "maid", "r1"),
        ("bob", "cook", "r1"),
        (None, "cook", None),
    ]:
        memory.add(f"walnuts of {user} {agent} {run}", user_id=user, agent_id=agent, run_id=run)
    found = sorted(texts(memory.search("walnuts", filters={"user_id": "alice", "agent_id": "cook"})))
    assert found == ["walnuts of alice cook r1", "walnuts of alice cook r2"]
    assert texts(memory.get_all(filters={"user_id": "alice", "agent_id": "maid", "run_id": "r2"})) == []
    assert len(texts(memory.search("walnuts", filters={"agent_id": "cook"}))) == 4 == len(texts(memory.get_all(agent_id="cook")))
    assert len(texts(memory.search("walnuts", filters={"run_id": "r1"}))) == 3
    assert memory.delete_all(agent_id="cook") == {"message": "Memories deleted successfully!"}
    assert [texts(memory.get_all(user_id=user)) for user in ("alice", "bob")] == [["walnuts of alice maid r1"], []]


@pytest.mark.parametrize(
    "wanted, found",
    [
        ({"kind": "a"}, "13"),
        ({"kind": {"ne": "a"}}, "24"),
        ({"n": {"gt": 2}}, "34"),
        ({"n": {"gte": 2, "lt": 4}}, "23"),
        ({"n": {"lte": 1}}, "1"),
        ({"kind": {"in": ["b", "c"]}}, "24"),
        ({"kind": {"nin": ["b"]}}, "13"),
        ({"note": {"contains": "Nut"}}, "1"),
        ({"kind": {"gt": 1}}, ""),
        ({"note": {"icontains": "nut"}}, "14"),
        ({"note": "*"}, "14"),
        ({"AND": [{"kind": "a"}, {"n": {"gt": 1}}]}, "3"),
        ({"OR": [{"n": 1}, {"n": 4}]}, "14"),
        ({"NOT": [{"kind": "a"}]}, "24"),
        ({"role": "user"}, "1234"),
        ({"role": "assistant"}, ""),
    ],
)
def test_filters(near, wanted, found):
    for number, kind in enumerate("abab", 1):
        note = {1: {"note": "a Nut"}, 4: {"note": "some nuts"}}.get(number, {})
        near.add(f"walnut {number}", user_id="alice", metadata={"kind": kind, "n": number, **note})
    asked = {"user_id": "alice", **wanted}
    for rows in (near.search("walnut", filters=asked), near.get_all(filters=asked)):
        assert "".join(sorted(text[-1] for text in texts(rows))) == found


def test_expired_memories_are_hidden_and_may_be_shown(open_memory):
    clock = FixedClock()
    memory = Memory(open_memory(owner="acme", clock=clock))
    day = clock().date().isoformat()
    id = memory.add("walnuts for today", user_id="alice", expiration_date=day)["results"][0]["id"]
    assert memory.get(id)["expiration_date"] == day and len(texts(memory.search("walnuts", user_id="alice"))) == 1
    clock.advance(days=1, seconds=1)
    assert texts(memory.search("walnuts", user_id="alice")) == [] == texts(memory.get_all(user_id="alice"))
    assert len(texts(memory.search("walnuts", user_id="alice", show_expired=True))) == 1
    assert len(texts(memory.get_all(user_id="alice", show_expired=True))) == 1
    assert len(memory.add("walnuts for today", user_id="alice")["results"]) == 1, "what has expired may be said again"
    memory.update(id, expiration_date=None)
    assert len(texts(memory.get_all(user_id="alice"))) == 2 and "expiration_date" not in memory.get(id)


def test_times_can_be_told_and_asked_for(memory):
    memory.add("walnuts of spring", user_id="alice", timestamp=datetime(2020, 3, 1, tzinfo=UTC))
    home = memory._memory.for_owner("acme/alice")
    assert home.recall("walnuts")[0].at.year == 2020
    assert texts(memory.search("walnuts", user_id="alice", reference_date="2019-01-01")) == []


def test_procedures_are_one_memory(memory):
    (row,) = memory.add(SAID, agent_id="cook", memory_type="procedural_memory")["results"]
    assert set(row) == {"id", "memory", "event"} and row["memory"].startswith("user: I like walnuts")
    assert memory.get(row["id"])["metadata"] == {"memory_type": "procedural_memory"}


def test_reset_forgets_every_user_and_leaves_what_others_remembered(ours, memory):
    ours.remember("Not mem0's.")
    for user in ("alice", "bob"):
        memory.add("walnuts", user_id=user)
    memory.add("walnuts", run_id="r")
    assert memory.reset() is None
    assert texts(memory.search("walnuts", run_id="r")) == []
    assert [record.text for record in ours.each()] == ["Not mem0's."]
    assert [list(ours.for_owner(f"acme/{user}").each()) for user in ("alice", "bob")] == [[], []]


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.add("x"),
        lambda m: m.add("x", user_id=""),
        lambda m: m.add("x", user_id="a b"),
        lambda m: m.add(3, user_id="a"),
        lambda m: m.add("x", user_id={"in": ["a"]}),
        lambda m: m.add("x", user_id=["a"]),
        lambda m: m.add("x", user_id="a", expiration_date="soon"),
        lambda m: m.add("x", user_id="a", memory_type="other"),
        lambda m: m.add("x", user_id="a", metadata={"x": object()}),
        lambda m: m.search("x"),
        lambda m: m.search("", user_id="a"),
        lambda m: m.search(None, user_id="a"),
        lambda m: m.search("x", filters={"k": 1}),
        lambda m: m.search("x", user_id="a", top_k=-1),
        lambda m: m.search("x", user_id="a", top_k="3"),
        lambda m: m.search("x", user="a"),
        lambda m: (m.add("x", user_id="a"), m.search("x", filters={"user_id": "a", "n": {"near": 1}})),
        lambda m: (m.add("x", user_id="a"), m.search("x", filters={"user_id": "a", "OR": []})),
        lambda m: m.get_all(),
        lambda m: m.get_all(filters={"user_id": " "}),
        lambda m: m.delete_all(),
        lambda m: m.delete("x"),
        lambda m: Memory.from_config({"vector_store": {"provider": "qdrant"}}),
        lambda m: Memory(m._memory.for_owner(Scope(owner="a", agent="b"))),
    ],
)
def test_what_makes_no_sense_is_refused(near, call):
    with pytest.raises(RecollectError) as error:
        call(near)
    assert isinstance(error.value, ValueError) and error.value.hint
    assert texts(near.get_all(user_id="a")) in ([], ["x"])


def test_it_opens_a_memory_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")
    monkeypatch.setenv("RECOLLECT_DB", f"{tmp_path}/own.db")
    monkeypatch.delenv("RECOLLECT_OWNER", raising=False)
    with Memory() as memory:
        memory.add("walnuts", user_id="alice")
    with Memory.from_config({"url": f"{tmp_path}/own.db"}) as memory:
        assert texts(memory.search("walnuts", user_id="alice")) == ["walnuts"]
    with recollect.Memory.open(f"{tmp_path}/own.db", owner="mem0/alice") as alice:
        assert alice.recall("walnuts")


def test_the_asynchronous_one_does_the_same(ours, tmp_path):
    async def scenario():
        memory = AsyncMemory(ours)
        added = await memory.add(SAID, user_id="alice")
        assert len(added["results"]) == 2 and await memory.add(SAID, user_id="alice") == {"results": []}
        assert texts(await memory.search("cake", user_id="alice", limit=1)) == ["I like walnuts in my cake."]
        id = added["results"][0]["id"]
        await memory.update(id, "I like pears.")
        assert (await memory.get(id))["memory"] == "I like pears." and len(await memory.history(id)) == 2
        await memory.delete(id)
        await memory.delete_all(user_id="alice")
        assert texts(await memory.get_all(user_id="alice")) == []
        await memory.reset()
        async with AsyncMemory.from_config({"url": f"{tmp_path}/a.db", "embedder": "none"}) as own:
            assert len((await own.add("x y z", user_id="alice"))["results"]) == 1

    asyncio.run(scenario())
    public = {name for name in vars(Memory) if not name.startswith("_")}
    assert public <= set(vars(AsyncMemory))


def test_the_same_said_by_many_at_once_is_there_once(tmp_path):
    with Memory(url=f"{tmp_path}/m.db", owner="acme", embedder="none") as memory, ThreadPoolExecutor(4) as pool:
        added = list(pool.map(lambda _: memory.add("I like walnuts.", user_id="alice")["results"], range(12)))
        assert sum(map(len, added)) == 1 == len(memory.get_all(user_id="alice")["results"])
