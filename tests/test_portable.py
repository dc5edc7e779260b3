"""A memory as lines: what is handed out comes in again and answers as before, to the last digit; a damaged line is named."""

from __future__ import annotations

import gc
import gzip
import io
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from doubles import Toy, memory_on
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Memory, Scope
from recollect.errors import InvalidRecord, InvalidVector, NewerSchema
from recollect.portable import FORMAT, export, line_of, lines_of, load, read_lines, record_of_line
from recollect.ports import Holding
from recollect.recipes import PRESETS
from recollect.records import ENTITY_TYPES, KINDS, Record, moment
from recollect.stores import open_store
from recollect.testing import Ask, FixedClock, play, read_world

WORLDS = sorted((Path(__file__).parent / "worlds").glob("*.world"))
NOW = FixedClock()


def exported(memory, **how) -> list[bytes]:
    stream = io.BytesIO()
    export(memory, stream, **how)
    return stream.getvalue().splitlines(keepends=True)


def told(answer) -> dict:
    """An answer with everything it explains, but for how long it took."""
    whole = answer.to_dict() | {"explanation": [part for part in answer.explain().splitlines() if " ms" not in part]}
    about = whole["diagnostics"]
    timeless = {"ms": 0, "routes": [route | {"ms": 0} for route in about["routes"]]}
    return whole | {"diagnostics": about | timeless | {"rerank": about["rerank"] and about["rerank"] | {"ms": 0}}}


def asked_everything(memory, questions: list[tuple[str, dict]]) -> list[dict]:
    """Every question by every preset."""
    return [told(memory.recall(text, recipe=recipe, **about)) for text, about in questions for recipe in PRESETS]


# Round trips ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", WORLDS, ids=lambda path: path.stem)
def test_every_world_answers_the_same_after_a_journey(path, open_memory):
    world = read_world(path)
    clock = FixedClock(world.now)
    here = Memory.open("memory:", owner=world.owner, recipe=world.recipe, embedder="none", clock=clock)
    there = open_memory(owner=world.owner, recipe=world.recipe, clock=FixedClock("2031-01-01"))
    with closing(here):
        list(play(world, here))
        asks = [step for step in world.steps if isinstance(step, Ask)]
        questions = [(ask.text, {**ask.fields, **({"vectors": ask.vectors} if ask.vectors else {})}) for ask in asks]
        tenant = here.scope.tenant
        for owner in dict.fromkeys((tenant, world.owner)):
            load(there.for_owner(owner), exported(here.for_owner(owner)))
            assert exported(there.for_owner(owner)) == exported(here.for_owner(owner))
        there = Memory(there._store, there.scope, embedding=None, recipe=here.recipe, clock=clock, judges=here._judges)
        assert asked_everything(there, questions) == asked_everything(here, questions)


texts = st.text(min_size=1, max_size=40).filter(lambda text: any(c.isprintable() and not c.isspace() for c in text))
names = st.none() | st.text("abcé漢 -", min_size=1, max_size=10)
said = st.text("abcé漢-", min_size=1, max_size=10)
times = st.none() | st.floats(0, 4e9).map(lambda seconds: round(seconds, 3))
shares = st.floats(0, 1)
drafts = st.fixed_dictionaries({
    "text": texts, "kind": st.sampled_from([kind for kind in KINDS if kind != "identity"]), "at": times | st.just("ageless"),
    "session": names, "project": names, "agent": names, "speaker": names, "turn": st.none() | st.integers(0, 99),
    "tags": st.lists(texts.map(str.strip).filter(bool), max_size=3), "quality": shares, "confidence": shares,
    "reinforced": st.integers(0, 9), "valid_from": times, "views": st.dictionaries(st.sampled_from(["user", "events"]), texts),
    "metadata": st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | st.integers() | st.text(max_size=5)),
    "entities": st.lists(st.fixed_dictionaries(
        {"name": said, "type": st.sampled_from(ENTITY_TYPES), "aliases": st.lists(said, max_size=2)}), max_size=2),
    "links": st.lists(st.fixed_dictionaries(
        {"subject": said, "predicate": said, "object": said, "weight": shares, "valid_from": times}), max_size=2),
    "dates": st.lists(st.tuples(st.integers(0, 10**9), st.integers(10**9 + 1, 2 * 10**9), said), max_size=2),
    "role": st.sampled_from(["note", "turn", "session", "summary"]),
})  # fmt: skip


@given(st.lists(drafts, max_size=5), st.sampled_from(["hashing:16", "none", Toy()]), st.sampled_from([{}, {"rrf_k": 7}]))
@settings(max_examples=40, deadline=None)
def test_whatever_was_remembered_makes_the_journey(remembered, embedder, live):
    clock = FixedClock()
    with Memory.open("memory:", owner="alice", embedder=embedder, clock=clock) as memory:
        memory.remember_many(remembered)
        if remembered:
            memory.remember("Newer", supersedes=memory.list(limit=1, timeless=True)[0].id)
        memory.update_settings(**live)
        memory.flush(5)
        lines, held = exported(memory), list(memory.holdings())
        questions = [(draft["text"], {}) for draft in remembered[:2]]
        answers = asked_everything(memory, questions)
    clock.advance(days=9)
    with Memory.open("memory:", owner="alice", embedder=embedder, clock=clock) as memory:
        load(memory, lines)
        clock.advance(days=-9)
        assert exported(memory) == lines and asked_everything(memory, questions) == answers
        for one, other in zip(memory.holdings(), held, strict=True):
            assert (one.record, one.waiting) == (other.record, other.waiting)
            assert {lane: vector.tobytes() for lane, vector in one.vectors.items()} == {
                lane: vector.tobytes() for lane, vector in other.vectors.items()
            }


def test_a_long_text_comes_with_its_parts(open_memory):
    memory = open_memory(embedder="hashing:16")
    memory.remember("The kiln is dead, and the potter walks. " * 100 + "Goa!", id="m1")
    assert len(list(memory.holdings())) > 3
    bob = memory.for_owner("bob")
    assert load(bob, exported(memory))["added"] == len(list(memory.holdings()))
    assert [json.loads(line) | {"owner": "alice"} for line in exported(bob)[1:-1]] == list(
        map(json.loads, exported(memory)[1:-1])
    )
    assert [hit.id for hit in bob.recall("Goa")] == ["m1"]
    bare = exported(memory, vectors=False)
    zoe = memory.for_owner("zoe")
    load(zoe, bare)
    assert [json.loads(line) | {"owner": "bob"} for line in exported(zoe)[1:-1]] == list(map(json.loads, exported(bob)[1:-1]))
    forged = json.dumps({"text": "x", "id": "m1\x1f1"})
    with pytest.raises(InvalidRecord, match="printable"):
        load(bob, [forged])


def test_conversations_go_on_after_a_journey_with_all_that_is_kept_of_them(open_memory):
    """Turns, next words, chunks, summaries, the log of what was said, confirmations: nothing is told or made twice."""
    chat = [
        {"role": "user", "content": "I moved to Goa with my sister Priya."}, {"role": "assistant", "content": "How lovely!"},
        {"role": "user", "content": "We bake a walnut cake every Sunday."}, {"role": "assistant", "content": "A recipe. " * 400},
    ]  # fmt: skip
    here = open_memory(recipe="memsense", embedder="hashing", url="memory:")
    here.remember_messages(chat, session="s1")
    here.remember_many(["Nora lives in Goa.", {"text": "Nora lives in Goa", "id": "newest"}])
    here.feedback("Where does Nora live?", "newest")
    here.upkeep()
    lines = exported(here)
    there = open_memory(recipe="memsense", embedder="hashing", owner="bob")
    load(there, lines)
    questions = [
        ("Where does Nora live?", {}), ("walnut cake", {}), ("a recipe", {"roles": ["summary", "turn"]}),
        ("Good morning!", {"first_turn": True, "session": "s2"}), ("Nora", {"timeless": True}),
    ]  # fmt: skip

    def answers(memory):
        return [[(hit.id, hit.score, hit.text, hit.passage) for hit in memory.recall(text, recipe=recipe, **about)]
                for text, about in questions for recipe in PRESETS]  # fmt: skip

    assert answers(there) == answers(here) and [one.id for one in there.history("newest")][-1] == "newest"
    before = exported(there)
    assert there.remember_messages(chat, session="s1") == [] and not any(step.tasks for step in there.upkeep())
    assert exported(there) == before and there.reembed() == {"lacking": 0, "left": 0}
    assert [turn.turn for turn in there.remember_messages([*chat, {"role": "user", "content": "Thanks!"}], session="s1")] == [3]


def test_another_owner_takes_it_over_whole(open_memory):
    memory = open_memory(embedder="hashing:16", extractor="none")
    memory.remember("Priya lives in Goa.", id="m1", links=[("Priya", "lives in", "Goa")])
    memory.remember("Priya lives in Pune.", id="m2", supersedes="m1")
    memory.remember("Priya: lives in: Pune", id="f1", role="derived", kind="relationship", source="record:m2")
    bob = memory.for_owner("acme/bob")
    assert load(bob, exported(memory)) == {"added": 3, "unchanged": 0, "differing": 0}
    assert {record.owner for record in bob.each()} == {"acme/bob"} and [r.id for r in bob.history("m1")] == ["m1", "m2"]
    assert bob.get("m1").links == memory.get("m1").links
    bob.forget("m2")
    assert [record.id for record in bob.each()] == ["m1"], "what was derived from it goes with it"
    assert len(list(memory.each())) == 3


def test_what_waits_waits_again_and_other_spaces_are_kept_apart():
    toy, other = Toy(), Toy(name="other", size=3)
    with closing(memory_on(open_store("memory:"), embedder=toy)) as memory:
        memory.remember("There already", id="m1")
        memory.flush(5)
        toy.trouble = lambda rows: 1 / 0
        memory.remember("Not yet", id="m2")
        memory.flush(5)
        lines = exported(memory)
    assert [json.loads(line).get("waiting") for line in lines[1:-1]] == [None, {"toy:4": ["full"]}]
    with closing(memory_on(open_store("memory:"), embedder=other)) as memory:
        load(memory, lines)
        assert memory.flush(5) == 1, "the text that waits for a toy goes on waiting"
        lanes = {lane["space"]: lane["count"] for lane in memory.status()["vectors"]}
        assert lanes == {"toy:4": 1, "other:3": 2} and sorted(other.told) == ["Not yet", "There already"]
    healed = Toy()
    with closing(memory_on(open_store("memory:"), embedder=healed)) as memory:
        load(memory, lines)
        assert memory.flush(5) == 0 and healed.told == ["Not yet"], "what has its vector is not embedded again"


def test_without_vectors_the_texts_are_embedded_anew():
    first, second, third = Toy(), Toy(), Toy()
    with closing(memory_on(open_store("memory:"), embedder=first)) as memory:
        memory.remember("Goa", id="m1")
        memory.flush(5)
        lines, bare = exported(memory), exported(memory, vectors=False)
    assert not any(b"vectors" in line for line in bare) and len(bare) == len(lines)
    for toy, source, how in ((second, bare, {}), (third, lines, {"vectors": False})):
        with closing(memory_on(open_store("memory:"), embedder=toy)) as memory:
            load(memory, source, **how)
            assert memory.flush(5) == 0 and toy.told == ["Goa"]
            assert exported(memory) == lines
    with closing(memory_on(open_store("memory:"))) as memory:
        load(memory, bare)
        assert load(memory, lines) == {"added": 0, "unchanged": 1, "differing": 0} and exported(memory) == lines


# Old files, written ones, interrupted ones ------------------------------------------------------------------------------


def test_files_of_old_and_lines_by_hand_are_read(open_memory):
    old = {
        "id": "m1", "owner": "zoe", "text": "Goa", "kind": "fact", "role": "note", "agent": None, "project": None, "session": "s",
        "turn": 3, "speaker": "Priya", "at": None, "recorded_at": "2026-01-02T03:04:05.000006Z", "valid_from": None,
        "valid_to": None, "superseded_by": "m2", "superseded_at": "2026-02-01T00:00:00Z", "tags": ["a"], "quality": 0.25,
        "confidence": 1.0, "reinforced": 1, "source": None, "views": {"user": "Where?"}, "metadata": {"n": [1, {"x": None}]},
    }  # fmt: skip
    memory = open_memory()
    found = load(memory, ["\ufeff".encode() + json.dumps(old).encode(), b"\n", '{"text": "by hand, \u6771\u4eac"}\n'.encode()])
    assert found == {"added": 2, "unchanged": 0, "differing": 0}
    told = json.loads(line_of(memory.get("m1")))
    assert told == old | {"owner": "alice", "entities": [], "links": [], "dates": []}
    assert memory.recall("東京")[0].text == "by hand, 東京"


def test_take_leaves_alone_what_is_there(open_memory):
    memory = open_memory(embedder="hashing")
    memory.remember("One", id="1")
    one = memory.get("1")
    lines = ['{"id": "2", "text": "Two"}', '{"id": "2", "text": "Two again"}', '{"id": "1", "text": "Other"}', line_of(one)]
    assert memory.take(read_lines(lines, memory.scope, memory.now())) == {"added": 1, "unchanged": 1, "differing": 2}
    assert (memory.get("1"), memory.get("2").text) == (one, "Two")


def test_settings_come_along_and_those_that_are_there_stay(open_memory):
    memory = open_memory()
    lines = list(lines_of([], "zoe", {"rrf_k": 7, "recipe": "nexus"}))
    memory.update_settings(rrf_k=9)
    load(memory, lines, settings=False)
    assert memory.settings()["set"] == {"rrf_k": 9}
    load(memory, lines)
    assert memory.settings()["set"] == {"rrf_k": 9, "recipe": "nexus"}
    wrong = list(lines_of([], "zoe", {"colour": "red"}))
    with pytest.raises(ValueError, match="colour"):
        load(memory, wrong)


def test_an_interrupted_import_is_run_again(open_memory):
    memory = open_memory()
    lines = [json.dumps({"id": f"m{number}", "text": f"Note {number}"}).encode() + b"\n" for number in range(1203)]

    def torn() -> Iterator[bytes]:
        yield from lines[:1100]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(memory, torn())
    assert len(list(memory.each())) == 1000, "whole batches only"
    assert load(memory, lines) == {"added": 203, "unchanged": 1000, "differing": 0}


def test_a_cut_file_is_noticed_wherever_it_was_cut(open_memory):
    memory = open_memory(embedder="hashing:16")
    memory.remember_many([{"text": f"Note {number}", "id": f"m{number}"} for number in range(3)])
    lines = exported(memory)
    bob = memory.for_owner("bob")
    with pytest.raises(InvalidRecord, match=r"Line 3: this is not JSON\. Perhaps the file was cut off"):
        load(bob, [*lines[:2], lines[2][:50]])
    assert list(bob.each()) == [], "nothing of a batch that holds a wrong line"
    with pytest.raises(InvalidRecord, match="ends after 2 records"):
        load(bob, lines[:3])
    with pytest.raises(InvalidRecord, match="holds 2 records and was written with 3"):
        load(bob, [*lines[:2], *lines[3:]])
    with pytest.raises(InvalidRecord, match="where another begins"):
        load(bob, [*lines[:3], *lines])
    assert load(bob, lines + lines)["unchanged"] == 6, "one after the other is fine"
    packed = gzip.compress(b"".join(lines))
    with pytest.raises(InvalidRecord, match=r"Line \d: the compressed file is damaged or cut short"):
        load(bob, gzip.GzipFile(fileobj=io.BytesIO(packed[:-12])))
    with pytest.raises(InvalidRecord, match="damaged"):
        load(bob, gzip.GzipFile(fileobj=io.BytesIO(packed[:40] + b"\0\0\0" + packed[43:])))


WHOLE = line_of(Holding(Record(id="m1", owner="alice", text="Goa", recorded_at=moment(0)), {("s", "full"): np.eye(3)[0]}, ()))


@pytest.mark.parametrize("line", [
    "null", "[]", "{}", '{"text": 7}', '{"text": ""}', '{"text": "x", "id": 7}', '{"text": "x", "at": "soon"}', "{" * 5000,
    '{"text": "x", "superseded_by": 7}', '{"text": "x", "recorded_at": true}', '{"text": "x", "vectors": []}', '"x"',
    '{"text": "x"', '{"text": "x", "metadata": []}x', '{"text": "x", "vectors": {"s": {"full": "AAAA"}}}',
    '{"text": "x", "vectors": {"s": {"full": "?"}}}', '{"text": "x", "vectors": {"s": {"full": 7}}}',
    '{"text": "x", "vectors": {"s": {"colour": "AACAPw=="}}}', '{"text": "x", "vectors": {"s": {"full": "AADAfw=="}}}',
    '{"text": "x", "vectors": {"s": []}}', '{"text": "x", "waiting": {"s": {}}}', '{"text": "x", "waiting": {"s": [7]}}',
    '{"text": "x", "waiting": {"": ["full"]}}', '{"text": "x", "vectors": {"a\\nb": {}}}',
    '{"recollect": 7}', '{"recollect": {}}',
    '{"text": "x", "valid_from": "2026-02-01", "valid_to": "2026-01-01"}', WHOLE.replace("AACAPw", "AACAQA"),
])  # fmt: skip
def test_a_line_that_is_no_record_is_refused_by_its_number(line):
    scope, now = Scope(owner="alice"), FixedClock()()
    with pytest.raises((InvalidRecord, InvalidVector), match=r"^Line 2: .*"):
        list(read_lines(['{"text": "x"}', line], scope, now))


def test_a_file_from_the_future_is_refused():
    with pytest.raises(NewerSchema, match=f"Line 1: The file has format {FORMAT + 1}"):
        list(read_lines([json.dumps({"recollect": {"format": FORMAT + 1}})], Scope(owner="alice"), NOW()))


def test_a_line_without_an_id_gets_the_same_one_each_time():
    scope, now = Scope(owner="alice"), FixedClock()()
    one, two, three = (record_of_line(line, scope, now) for line in ('{"text": "x"}', '{"text": "x"}\n', '{"text": "y"}'))
    assert one.id == two.id != three.id


def test_an_old_version_that_held_for_no_time_is_carried():
    at = "2026-01-01T00:00:00Z"
    line = json.dumps({"text": "x", "recorded_at": at, "valid_from": at, "valid_to": at})
    record = record_of_line(line, Scope(owner="alice"), NOW())
    assert record.valid_from == record.valid_to


# Much of it -------------------------------------------------------------------------------------------------------------


def test_both_directions_hold_little_at_a_time(tmp_path):
    count = 3_000
    notes = [{"text": f"Note {number} of many", "id": f"m{number}"} for number in range(count)]
    with Memory.open(str(tmp_path / "here.db"), owner="alice", embedder="none", clock=NOW) as memory:
        memory.remember_many(notes)
        memory.flush(60)  # nobody else holds any
        lines = list(lines_of(memory.holdings(), "alice", {}))
        alive = [living(Record) for number, _ in enumerate(memory.holdings()) if number % 700 == 0]
        assert len(alive) == 5 and max(alive) < min(alive) + 600, alive
    with Memory.open(str(tmp_path / "there.db"), owner="alice", embedder="none", clock=NOW) as memory:
        ahead = []

        def watched() -> Iterator[str]:
            for number, line in enumerate(lines):
                if number % 700 == 0:
                    ahead.append(number - memory.status()["records"])
                yield line

        assert load(memory, watched())["added"] == count and max(ahead) <= 501


def living(cls: type) -> int:
    return sum(type(one) is cls for one in gc.get_objects())
