"""Told again: one record within ten minutes, the newest of what is nearly the same; what differs in anything said is another."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

from recollect import Memory
from recollect.errors import InvalidSetting
from recollect.ports import Profile
from recollect.records import CONFIRMS
from recollect.repeats import Dedup
from recollect.testing import FixedClock

GOA = "Priya's parents live in Goa."
PARK = "My sister Anna lives in Berlin near the big old park with her dog."


@pytest.fixture
def clock():
    return FixedClock("2026-03-10T12:00Z")


@pytest.fixture(params=["inmemory", "sqlite", "postgres"])
def memory(request, tmp_path, clock):
    from conftest import store_url

    with Memory.open(store_url(request.param, tmp_path), owner="acme/alice", embedder="none", clock=clock) as opened:
        yield opened


@pytest.mark.parametrize("text", ["off", "exact", "exact=60 near", "near=0.9 alike", "exact near alike=0.95", "exact=0.5"])
def test_rules_print_what_they_parse(text):
    assert str(Dedup.parse(text)) == text and Dedup.parse(str(Dedup.parse(text))) == Dedup.parse(text)


@pytest.mark.parametrize("text", ["", "often", "exact=x", "near=2", "exact=-1", "near=nan", "exact=100000"])
def test_what_is_no_rule_is_refused(text):
    with pytest.raises(InvalidSetting, match="dedup"):
        Dedup.parse(text)


def test_told_again_within_ten_minutes_it_is_the_record_that_is_there(memory, clock):
    first = memory.remember(GOA)
    clock.advance(minutes=9, seconds=59)
    again = memory.remember("  priya's parents LIVE in Goa. ")
    assert (again.id, again.reinforced, again.text) == (first.id, 1, GOA) and memory.get(first) == again
    clock.advance(seconds=1)
    assert memory.remember(GOA).id != first.id and len(memory.list()) == 2


@pytest.mark.parametrize(
    "other",
    [{"tags": ["family"]}, {"session": "s"}, {"kind": "fact"}, {"at": "2026-03-01"}, {"metadata": {"a": 1}}, {"id": "m"}],
)  # fmt: skip
def test_whatever_else_is_said_makes_it_another(memory, other):
    first = memory.remember(GOA)
    second = memory.remember(GOA, **other)
    assert second.id != first.id and second.reinforced == 0
    if "id" not in other:
        assert memory.remember(GOA, **other).id == second.id


def test_told_twice_in_one_go(memory):
    one, two, three = memory.remember_many([GOA, GOA.upper(), "Lisbon has trams."])
    assert one == two == memory.get(one) and (one.reinforced, three.reinforced) == (1, 0) and len(memory.list()) == 2


def test_what_was_forgotten_changed_or_replaced_is_told_anew(memory):
    first = memory.remember(GOA)
    memory.forget(first)
    second = memory.remember(GOA)
    memory.promote(second)
    assert memory.remember(GOA).id == second.id
    memory.amend(second, text="They moved to Pune.")
    third = memory.remember(GOA)
    newer = memory.remember("They moved.", supersedes=third.id)
    assert memory.remember("They moved.", supersedes=third.id).id == newer.id
    fourth = memory.remember(GOA)
    assert len({first.id, second.id, third.id, fourth.id}) == 4 and fourth.reinforced == 0


def test_the_facts_of_what_is_told_again_are_stated_once(memory):
    for _ in range(3):
        memory.remember("I live in Berlin.", speaker="Priya")
    assert len(memory.list()) == 1 and [fact.reinforced for fact in memory.list(roles=["derived"])] == [0]


def test_turns_and_rules_that_are_off(memory):
    chat = [{"role": "user", "content": "Yes."}, {"role": "assistant", "content": "Good."}] * 2
    assert len(memory.remember_messages(chat, session="s")) == 2
    assert memory.remember(GOA, dedup="off").id != memory.remember(GOA, dedup="off").id
    assert memory.remember_many([GOA, GOA], dedup=Dedup(exact=60))[1].reinforced == 1


def test_many_who_tell_the_same_at_once_make_one(tmp_path):
    path, ids = str(tmp_path / "m.db"), []

    def tell():
        with Memory.open(path, owner="alice", embedder="none") as mine:
            ids.extend(mine.remember(GOA).id for _ in range(5))

    Memory.open(path, owner="alice", embedder="none").close()
    threads = [threading.Thread(target=tell) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    with Memory.open(path, owner="alice", embedder="none") as memory:
        (record,) = memory.list()
        assert set(ids) == {record.id} and record.reinforced == len(ids) - 1 == 19


def test_nearly_the_same_takes_the_place_of_the_old_one(memory, clock):
    first = memory.remember(PARK, dedup="near")
    clock.advance(days=30)
    second = memory.remember(PARK.replace("big ", ""), dedup="near")
    assert second.reinforced == 1 and [record.id for record in memory.history(second)] == [first.id, second.id]
    assert [record.id for record in memory.list()] == [second.id]
    third = memory.remember_many([PARK, PARK.replace("old ", "")], dedup="near")
    assert [record.reinforced for record in third] == [2, 3] and len(memory.list()) == 1 and len(memory.history(third[1])) == 4


@pytest.mark.parametrize("other", [PARK.replace("lives", "never lives"), PARK + " Since 2020.", PARK.replace("Anna", "Ada 2")])
def test_numbers_and_denials_are_never_nearly_the_same(memory, other):
    memory.remember_many([PARK, other], dedup="near=0.5")
    assert len(memory.list()) == 2


def test_what_happened_may_happen_twice_and_places_are_kept_apart(memory):
    memory.remember(PARK, kind="episodic", dedup="near")
    memory.remember(PARK, kind="episodic", dedup="near")
    memory.remember(PARK, project="p", dedup="near")
    memory.remember(PARK, session="s", dedup="near")
    assert len(memory.list()) == 4


def test_promoting_stays_within_bounds_and_says_so(memory):
    record = memory.remember(GOA)
    assert [memory.promote(record).quality for _ in range(5)] == pytest.approx([0.65, 0.8, 0.95, 1.0, 1.0])
    assert [memory.promote(record, -0.15).quality for _ in range(8)][-2:] == [0.0, 0.0]


def test_confirmations_slow_forgetting_where_a_recipe_wants_it(memory, clock):
    kept, other = memory.remember("The goat ate the hat."), memory.remember("The goat ate the mat.")
    for _ in range(3):
        memory.remember("The goat ate the hat.")
    clock.advance(days=60)
    fades = memory.recall("goat ate", recipe="opencouch(decay=ebbinghaus, half_life=30)")
    scores = {hit.id: hit.final_score / hit.rrf_score for hit in fades}
    assert scores == pytest.approx({kept.id: math.exp(-60 / 120), other.id: math.exp(-60 / 30)}, rel=1e-3)


class Meaning:
    """A model for which all that speaks of Goa means the same, and nothing else does."""

    def __init__(self, alike=0.0):
        self.profile = Profile(name="toy", model="goa", dimension=2, fingerprint="toy:goa", alike=alike)

    def embed_documents(self, texts):
        return np.array([[1, 0.3 * ("really" in text)] if "Goa" in text else [0, 1] for text in texts], np.float32)

    embed_queries = embed_documents


def told_of_goa(url, **how):
    with Memory.open(url, owner="alice", **how) as memory:
        first = memory.remember(GOA, session="s1")
        memory.flush()
        later = [f"Really, {GOA} They really do.", "They do not live in Goa.", "They left Goa in 2020.", "Trams."]
        others = memory.remember_many(later)
        memory.flush()
        memory.reembed()
        return memory.get(first), [memory.get(one) for one in others]


def test_the_same_meaning_confirms_the_older_record_once(tmp_path):
    first, others = told_of_goa(str(tmp_path / "m.db"), embedder=Meaning(), dedup="exact alike")
    assert first.reinforced == 1 and [one.reinforced for one in others] == [0] * 4
    assert [one.metadata.get(CONFIRMS) for one in others] == [first.id, None, None, None]


@pytest.mark.parametrize("how", [{"embedder": Meaning(0.99), "dedup": "alike"}, {"embedder": Meaning()}])
def test_a_crowded_model_asks_for_more_and_nobody_has_to(tmp_path, how):
    first, others = told_of_goa(str(tmp_path / "m.db"), **how)
    assert first.reinforced == 0 and not any(CONFIRMS in one.metadata for one in others)
