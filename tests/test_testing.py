"""The clock that stands still, and worlds: read, acted out, compared."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from recollect.testing import Ask, FixedClock, Forget, Line, Remember, parse_world, play, read_world

STORY = """
# Goa comes first
recipe: annie@5
now: 2026-03-10T00:00Z
remember id=m1 kind=semantic at=2026-03-07T09:00Z speaker="Dr. Rao" tags=a,b turn=3 quality=0.75: I told: we can\\ndo March
vector m1 full: 1 0 0
view m1 user: Can we: March?
vector m1 user: 0 1 0
# a comment in between
remember: Bare.
forget m1
ask limit=5 kinds=fact,semantic: What did I tell Priya?
vector ask: 1 0.5 0
----
m1  0.0303  lexical#2 vector(full)#1
m2  -
path: hybrid_rrf
----
ask: Nothing?
----
----
"""


def test_a_clock_stands_still_until_it_is_moved():
    clock = FixedClock("2026-03-10")
    assert clock() == clock() == datetime(2026, 3, 10, tzinfo=UTC)
    assert clock.advance(days=2, hours=1) == clock() == datetime(2026, 3, 12, 1, tzinfo=UTC)


def test_a_world_is_read_as_it_is_written(tmp_path):
    path = tmp_path / "goa.world"
    path.write_text(STORY, encoding="utf-8")
    world = read_world(path)
    told, bare, gone, ask, nothing = world.steps
    assert (world.title, world.recipe, world.owner, world.now) == ("Goa comes first", "annie@5", "alice", "2026-03-10T00:00Z")
    assert told.text == "I told: we can\ndo March"
    assert told.fields.pop("tags") == ("a", "b") and told.fields.pop("speaker") == "Dr. Rao"
    assert told.fields == {"id": "m1", "kind": "semantic", "at": "2026-03-07T09:00Z", "turn": 3, "quality": 0.75}
    assert (told.views, told.vectors) == ({"user": "Can we: March?"}, {"full": [1, 0, 0], "user": [0, 1, 0]})
    assert (bare, gone) == (Remember(text="Bare."), Forget(id="m1"))
    assert (ask.fields, ask.vectors, ask.path) == (
        {"limit": 5, "kinds": ("fact", "semantic")},
        {"full": [1, 0.5, 0]},
        "hybrid_rrf",
    )
    assert ask.expected == (Line(id="m1", score="0.0303", places=("lexical#2", "vector(full)#1")), Line(id="m2"))
    assert nothing == Ask(text="Nothing?")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("remembr: x", "goa:1: not a line of a world"),
        ("remember: x\nrecipe: annie", "goa:2: not a line of a world"),
        ("----", "goa:1: a table needs a question above it"),
        ("vector m1 full: 1", "goa:1: no line 'm1' above it"),
        ("remember turn=x: y", "goa:1: invalid literal"),
        ("ask: x\nview ask user: y", "goa:2: no line 'ask' above it"),
        ("ask: x\n----\nm1", "the last table is not closed"),
    ],
)
def test_a_mistake_names_its_line(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_world(text, "goa")


class Parrot:
    """A memory that notes what it is told and answers with what it was given."""

    def __init__(self, *hits) -> None:
        self.hits, self.heard = list(hits), []

    def remember(self, text, **fields):
        self.heard.append(("remember", text, fields))

    def forget(self, name):
        self.heard.append(("forget", name))

    def recall(self, text, **fields):
        self.heard.append(("recall", text, fields))
        hits, self.hits = self.hits, []
        return Answered(hits)


class Answered(list):
    diagnostics = SimpleNamespace(retrieval_path="hybrid_rrf")


def hit(name, score, **routes):
    return SimpleNamespace(id=name, score=score, routes={route: SimpleNamespace(rank=rank) for route, rank in routes.items()})


def test_a_world_that_holds_is_its_own_expectation():
    memory = Parrot(hit("m1", 0.030312, **{"lexical": 2, "vector(full)": 1}), hit("m2", 0.1, lexical=1))
    played = list(play(parse_world(STORY), memory))
    assert [p.actual for p in played] == [p.expected for p in played]
    assert played[0].expected == "m1  0.0303  lexical#2 vector(full)#1\nm2  -\npath:  hybrid_rrf"
    assert memory.heard[0][2]["vectors"] == {"full": [1, 0, 0], "user": [0, 1, 0]} and memory.heard[0][2]["turn"] == 3
    assert [heard[0] for heard in memory.heard] == ["remember", "remember", "forget", "recall", "recall"]
    assert memory.heard[1] == ("remember", "Bare.", {})


@pytest.mark.parametrize(
    "hits",
    [
        [],
        [hit("m2", 0.0303, lexical=2), hit("m1", 0.1)],
        [hit("m1", 0.0304, **{"lexical": 2, "vector(full)": 1}), hit("m2", 0.1)],
        [hit("m1", 0.0303, **{"lexical": 1, "vector(full)": 1}), hit("m2", 0.1)],
        [hit("m1", 0.0303, **{"lexical": 2, "vector(full)": 1}), hit("m2", 0.1), hit("m3", 0.1)],
    ],
)
def test_a_world_that_fails_shows_what_came_instead(hits):
    first = next(play(parse_world(STORY), Parrot(*hits)))
    assert first.actual != first.expected
