"""What a record speaks of: taken in every form people write, refused with a reason, carried wherever the record goes."""

from __future__ import annotations

import json

import pytest

from recollect.errors import InvalidRecord
from recollect.portable import line_of, read_lines
from recollect.records import Entity, Link, Scope, Span, moment
from recollect.testing import FixedClock
from recollect.wire import record_json

MARCH = Span(start=moment(1_772_323_200_000_000), end=moment(1_775_001_600_000_000), text="in March")
LINK = Link(subject="Rajesh", predicate="planning", object="vacation to Goa")
TABLE = {"subject": "a", "predicate": "b", "object": "c"}
GOA, TOKYO = Entity(name="Goa", type="place"), Entity(name="東京", type="place", aliases=("Tokyo",))
FORMS = [
    ("entities", ["Priya", ("Goa", "place"), {"name": "東京", "type": "place", "aliases": ["Tokyo", "Tokyo"]}, GOA],
     (Entity(name="Priya"), GOA, TOKYO)),
    ("links", [("Rajesh", "planning", "vacation to  Goa"), LINK, ["Rajesh", "planning", "vacation to Goa"]], (LINK,)),
    ("links", [{"subject": "a", "predicate": "is", "object": "a", "weight": 1, "valid_from": "2026-01-01", "record": None}],
     (Link(subject="a", predicate="is", object="a", valid_from=moment(1_767_225_600_000_000)),)),
    ("dates", [("2026-03-01", "2026-04-01", "in March"), MARCH, {"start": "2026-03-01", "end": "2026-04-01", "text": "in March"}],
     (MARCH,)),
    ("entities", None, ()), ("links", [], ()), ("dates", (), ()),
]  # fmt: skip
REFUSED = [
    ({"entities": "Priya"}, "entities='Priya' is not a list"), ({"entities": [3]}, r"entities\[0\]=3 can't be used"),
    ({"entities": [""]}, r"entities\[0\].name='' is not a name"), ({"entities": ["x" * 201]}, "is not a name"),
    ({"entities": [("Priya", "dog")]}, r"entities\[0\].type='dog' is unknown"),
    ({"entities": [{"name": "Priya", "aliases": "Mom"}]}, "aliases='Mom' can't be used"),
    ({"entities": [{"name": "Priya", "aliases": ["x"] * 51}]}, "aliases=.* can't be used"),
    ({"entities": [{"name": "Priya", "colour": "red"}]}, "has no field 'colour'"),
    ({"links": [("Rajesh", "planning")]}, r"links\[0\].object=None is not a name"),
    ({"links": [("a", "b", "c", "d")]}, r"links\[0\]=.* can't be used"), ({"links": LINK}, "links=.* is not a list"),
    ({"links": [LINK] * 10_000}, "10,000 links are too many"), ({"links": [{}]}, "can't be used"),
    ({"links": [{**TABLE, "weight": 2}]}, "weight=2 is out of range"),
    ({"links": [{**TABLE, "valid_from": "soon"}]}, r"links\[0\].valid_from='soon'"),
    ({"links": [{**TABLE, "valid_from": "2026-02-01", "valid_to": "2026-01-01"}]}, "is not after"),
    ({"dates": [("2026-03-01",)]}, r"dates\[0\] lacks its end"), ({"dates": [("2026-03-01", "2026-03-01")]}, "is not after"),
    ({"dates": [("0000-01-01", "2026-03-01")]}, "is not a date"), ({"dates": 5}, "dates=5 is not a list"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "given", "taken"), FORMS)
def test_every_form_is_taken(open_memory, field, given, taken):
    memory = open_memory(extractor="none")
    first = memory.remember("Rajesh plans a vacation", **{field: given})
    second = memory.amend(memory.remember("Another"), **{field: given})
    assert [getattr(memory.get(one), field) for one in (first, second)] == [taken, taken]


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_what_can_not_be_used_is_refused_with_a_reason(open_memory, given, said):
    memory = open_memory()
    with pytest.raises(InvalidRecord, match=said):
        memory.remember("Rajesh plans a vacation", **given)
    assert memory.list() == []


def test_lines_of_json_carry_it_all(open_memory):
    memory = open_memory()
    record = memory.remember(
        "Rajesh plans a vacation", entities=[Entity(name="Priya S.", type="person", aliases=("Mom",))], dates=[MARCH],
        links=[Link(subject="Rajesh", predicate="knows", object="Priya S.", weight=0.5, valid_to=MARCH.end, record="m0")],
    )  # fmt: skip
    shown = record_json(record)
    assert json.loads(json.dumps(shown)) == shown and shown["links"][0]["valid_to"] == "2026-04-01T00:00:00Z"
    assert shown["entities"] == [{"name": "Priya S.", "type": "person", "aliases": ["Mom"]}]
    assert [held.record for held in read_lines([line_of(record)], Scope(owner="alice"), FixedClock()())] == [record]


def test_what_was_derived_is_not_searched_and_goes_with_its_source(open_memory):
    memory = open_memory(embedder="hashing:16")
    told = memory.remember("Rajesh plans a vacation")
    fact = memory.remember("Rajesh plans vacation", kind="relationship", role="derived", source=f"record:{told.id}", links=[LINK])
    assert [hit.id for hit in memory.recall("vacation", recipe="annie")] == [told.id]
    assert memory.flush() == 0 and memory.reembed(dry_run=True) == {"lacking": 0, "left": 0}
    assert memory.forget(told)["removed"]["derived"] == 1 and memory.list() == [] and fact.role == "derived"
