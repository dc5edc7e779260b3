"""What only large owners reach: codes that stand in for vectors, and scores that an interruption must not leave behind."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.stores import postings, vectors
from recollect.stores.postings import Postings
from recollect.stores.vectors import Lane
from recollect.tokens import pack, term_hash

WIDTH = 64


@pytest.fixture
def lane(monkeypatch):
    monkeypatch.setattr(vectors, "CODED", 500)
    monkeypatch.setattr(vectors, "STAGED", 1500)
    return Lane(1, "toy", "full", WIDTH, lambda slots: {})


def crowd(count: int, seed: int = 1) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, WIDTH)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def nearest(lane: Lane, query: np.ndarray, mask: np.ndarray | None = None) -> list[float]:
    _, cosines = lane.nearest(query, 10, None, mask)
    return sorted(cosines.tolist(), reverse=True)[:10]


def exact(rows: np.ndarray, query: np.ndarray) -> list[float]:
    return sorted((rows.astype(np.float64) @ query.astype(np.float64)).round(6).tolist(), reverse=True)[:10]


def test_codes_nominate_and_vectors_decide(lane):
    """Three bits while there are few, four from then on; forgotten and hidden ones are never found."""
    rows, questions = crowd(2000), crowd(40, seed=2)
    lane.put(range(1000), rows[:1000])
    for _ in range(vectors.PATIENCE + 1):
        nearest(lane, questions[0])
    assert lane.codes.bit_width == 3
    assert [nearest(lane, one) for one in questions] == [exact(rows[:1000], one) for one in questions]
    lane.put(range(1000, 2000), rows[1000:])
    assert [nearest(lane, one) for one in questions] == [exact(rows, one) for one in questions]
    assert lane.codes.bit_width == 4
    for slot in range(0, 2000, 3):
        lane.drop(slot)
    mask = np.arange(2000) % 2 == 1
    left = rows[[slot for slot in range(2000) if slot % 3 and slot % 2]]
    assert [nearest(lane, one, mask) for one in questions] == [exact(left, one) for one in questions]


@pytest.mark.parametrize("bounds", [{}, {"DENSE": 0}, {"SUMMED": 0}, {"SUMMED": 0, "FEWER": 0}])
def test_an_interrupted_question_leaves_nothing_in_the_next_ones_scores(monkeypatch, bounds):
    for name, value in bounds.items():
        monkeypatch.setattr(postings, name, value)
    held = Postings()
    packed = [pack(["goa", "beach"] if number % 3 else ["goa", "rain", "rain"]) for number in range(600)]
    held.load(range(600), [blob for blob, _ in packed], [length for _, length in packed])
    asked = [term_hash("rain"), term_hash("goa")]
    before = held.best(asked, 5, None)
    with monkeypatch.context() as broken:
        broken.setattr(Postings, "_floor", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            held.best(asked, 5, None)
    assert not held._scores.any() and not held._among.any()
    assert [part.tolist() for part in held.best(asked, 5, None)] == [part.tolist() for part in before]
