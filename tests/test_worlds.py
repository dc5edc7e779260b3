"""Every world on every store: a story, a question, and the table that must come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.testing import FixedClock, play, read_world

WORLDS = sorted((Path(__file__).parent / "worlds").glob("*.world"))


@pytest.mark.parametrize("path", WORLDS, ids=lambda path: path.stem)
def test_world(path, open_memory):
    world = read_world(path)
    memory = open_memory(owner=world.owner, recipe=world.recipe, clock=FixedClock(world.now))
    asked = 0
    for played in play(world, memory):
        assert played.actual == played.expected, f"{path.name}: {played.question}"
        asked += 1
    assert asked, "a world asks something"
    assert world.title and world.recipe, "a world says what it is about and which recipe it shows"
