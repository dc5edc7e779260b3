"""Long texts are searched in parts and found as one: cut where they pause, never shown twice, gone when their record goes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.chunks import LONG, MOST_PARTS, PART, chunked, parts
from recollect.parts import in_parts
from recollect.records import PARTS

PAGES = [f"Page {number} is about the topic{number}. " + "It goes on and on about nothing of note. " * 15 for number in range(12)]
LONG_TEXT = "\n\n".join(PAGES)


@given(st.text(max_size=6000))
def test_parts_hold_every_word_in_order_and_keep_to_their_size(text):
    found = parts(text * 3)
    if len(text) * 3 <= LONG:
        assert not found
    assert "".join("".join(found).split()) == "".join((text * 3).split()) or not found
    assert all(0 < len(part) <= PART for part in found)


@pytest.mark.parametrize(
    "piece, count", [("x", 4_000_000), ("word ", 400_000), ("Ein Satz. ", 200_000), ("段落。", 600_000), ("a\n\n", 9_999)]
)
def test_the_number_of_parts_is_bounded(piece, count):
    assert 2 <= len(parts(piece * count)) <= MOST_PARTS


@given(st.lists(st.text("ab \n", min_size=1, max_size=300).filter(str.strip), max_size=12), st.integers(0, 12))
def test_chunks_grow_at_their_end_only(turns, count):
    """What was chunked stays, but for the run from the last turn that began a chunk."""
    before, after = chunked(turns[:count], 200), chunked(turns, 200)
    assert all(len(chunk.text) <= 200 for chunk in after)
    settled = [chunk for chunk in before if chunk.first < before[-1].first] if before else []
    assert after[: len(settled)] == settled
    if before:
        start = before[-1].first
        again = chunked(turns[start:], 200)
        assert [chunk.text for chunk in after[len(settled) :]] == [chunk.text for chunk in again]


def test_a_long_text_is_found_once_by_its_best_part_and_shown_from_there(open_memory):
    memory = open_memory()
    long, short = memory.remember(LONG_TEXT), memory.remember("The topic7 in short.")
    answer = memory.recall("What of topic7?")
    assert [hit.id for hit in answer] == [short.id, long.id]
    assert "topic7" in answer[1].passage and len(answer[1].passage) <= PART and answer[1].text == LONG_TEXT
    assert [hit.id for hit in memory.recall("nothing of note")] == [long.id], "parts never crowd the answer"
    assert "- Page 9 is about the topic9." in memory.context("What about topic9?")
    assert {record.id for record in memory.list()} == {short.id, long.id} and memory.status()["records"] == 2
    assert memory.recall("topic3", recipe="opencouch")[0].id == long.id


def test_parts_are_seen_where_their_record_is(open_memory):
    memory = open_memory()
    long = memory.remember(LONG_TEXT, session="s1", kind="fact", at="2026-01-05")
    for asked in ({"sessions": ["s1"]}, {"kinds": ["fact"]}, {"roles": ["note"]}, {"since": "2026-01-01"}):
        assert [hit.id for hit in memory.recall("topic7", **asked)] == [long.id], asked
    for asked in ({"sessions": ["s2"]}, {"kinds": ["event"]}, {"roles": ["turn"]}, {"since": "2026-02-01"}, {"exclude": [long]}):
        assert not memory.recall("topic7", **asked), asked
    memory.remember("Something else.", supersedes=long.id)
    assert not memory.recall("topic7"), "a superseded record is not found by its parts"


def test_a_pool_full_of_parts_does_not_hide_the_others(open_memory):
    memory = open_memory()
    memory.remember("\n\n".join(["goa " * 240] * 300))
    others = [memory.remember(f"Goa and a lot of other words, number {number}, " + "more words " * 20) for number in range(9)]
    assert {hit.id for hit in memory.recall("goa")} >= {other.id for other in others}


def test_amending_and_forgetting_take_the_parts_along(open_memory):
    memory = open_memory()
    long = memory.remember(LONG_TEXT, metadata={"mine": 1})
    memory.amend(long, text=LONG_TEXT.replace("topic7", "ferry"))
    assert memory.recall("ferry")[0].passage and not memory.recall("topic7")
    memory.amend(long, session="s9", metadata={"mine": 2})
    assert memory.recall("ferry", sessions=["s9"])[0].record.metadata["mine"] == 2
    memory.amend(long, text="A short ferry.")
    assert not memory.recall("ferry")[0].passage and PARTS not in memory.get(long).metadata and not memory.recall("topic8")
    memory.amend(long, text=LONG_TEXT)
    assert memory.recall("topic7")
    removed = memory.forget(long)["removed"]["records"]
    assert removed > 10 and not list(memory.each()), "nothing of it is left"


def test_why_not_speaks_of_the_parts(open_memory):
    memory = open_memory()
    long = memory.remember(LONG_TEXT)
    memory.remember("topic7 " * 5)
    assert "rank 2 of 2" in memory.explain("topic7", expect=long).details["lexical"]
    assert memory.explain("topic7", expect=long, limit=1).gate == "beyond the limit"


def test_vectors_belong_to_the_parts(open_memory):
    memory = open_memory(embedder="hashing")
    long = memory.remember(LONG_TEXT)
    views = {(lane["view"], lane["count"]) for lane in memory.status()["vectors"]}
    assert views == {("full", len(in_parts(long)[1]))}
    assert memory.recall("topic7", recipe="recipe(routes=[vector])")[0].id == long.id
    assert memory.reembed() == {"lacking": 0, "left": 0}


def test_a_record_with_its_own_vector_is_searched_as_it_is(open_memory):
    memory = open_memory()
    assert PARTS not in memory.remember(LONG_TEXT, vectors={"full": [1, 0]}).metadata


def test_both_sides_of_a_turn_keep_their_names():
    from recollect.records import Record, moment

    sides = {"user": "How long?", "assistant": LONG_TEXT}
    text = f"Nora: {sides['user']}\nAssistant: {sides['assistant']}"
    turn = Record(id="t", owner="a", role="turn", text=text, views=sides, recorded_at=moment(0))
    texts = [part.text for part in in_parts(turn)[1]]
    assert texts[0] == "Nora: How long?" and all(part.startswith("Assistant: ") for part in texts[1:])
