"""What a store promises to indexes beside it: they hear of every change, from any moment on, or that they must begin anew.

More of `conformance`, which lists these too. A store without `feed` keeps none of them and is not asked to.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .ports import Add, Amend, Changed, Feed, Forget, Store
from .query import Where
from .records import Record, micros, moment

_ALICE, _BOB = "acme/alice", "acme/bob"
_NOW = micros("2026-03-10T00:00Z")
_FULL = ("toy", "full")
_VECTOR = np.array([1, 0, 0], np.float32)


def every_change_is_told(store: Store) -> None:
    if (feed := getattr(store, "feed", None)) is None:
        return
    nothing = _since(feed, feed.mark(_ALICE))
    assert not nothing.keys and nothing.mark == feed.mark(_ALICE)
    mark = nothing.mark
    store.write(_ALICE, [Add(record=_note("m1"), pending=[_FULL]), Add(record=_note("m2")), Add(record=_note("m3"))])
    keys = store.resolve(Where(owner=_ALICE, now=_NOW), ["m1", "m2", "m3"])
    first, mark = _since(feed, mark)
    assert set(first) == set(keys.values())
    steps = {
        "settled": lambda: store.outbox.settle("toy", [(store.outbox.claim(None, "toy", 1, _NOW, 9)[0], _VECTOR)]),
        "amended": lambda: store.write(_ALICE, [Amend(id="m1", fields={"quality": 0.9})]),
        "given a vector": lambda: store.write(_ALICE, [Amend(id="m1", fields={}, vectors={_FULL: _VECTOR})]),
        "dropped": lambda: store.vector.drop(_ALICE, "toy"),
        "forgotten": lambda: store.write(_ALICE, [Forget(id="m1")]),
    }
    for name, step in steps.items():
        step()
        changed = _since(feed, mark)
        assert keys["m1"] in changed.keys and changed.mark == feed.mark(_ALICE) != mark, name
        mark = changed.mark
    assert not _since(feed, mark).keys
    every = _since(feed, nothing.mark)
    assert set(keys.values()) <= set(every.keys) and every.mark == mark


def only_changes_are_told_and_only_of_that_shelf(store: Store) -> None:
    if (feed := getattr(store, "feed", None)) is None:
        return
    store.write(_ALICE, [Add(record=_note("m1"))])
    alice, bob = feed.mark(_ALICE), feed.mark(_BOB)
    store.write(_ALICE, [Add(record=_note("m1"))])  # there already, and the same
    store.settings(_ALICE, {"recipe": "sci"})
    store.write(_BOB, [Add(record=replace(_note("m1"), owner=_BOB))])
    assert feed.mark(_ALICE) == alice and feed.mark(_BOB) != bob
    (key,) = store.resolve(Where(owner=_BOB, now=_NOW), ["m1"]).values()
    assert list(_since(feed, bob, _BOB).keys) == [key]
    tenants = feed.mark("acme")
    store.write(_BOB, [Add(record=replace(_note("m2"), owner="acme", kind="identity"))])  # a user writes to the tenant's shelf
    assert len(_since(feed, tenants, "acme").keys) == 1


def a_mark_of_another_store_is_none_of_ours(store: Store) -> None:
    if (feed := getattr(store, "feed", None)) is None:
        return
    store.write(_ALICE, [Add(record=_note("m1"))])
    for mark in ("", "x", "1:2:3:4", "::", "another" + feed.mark(_ALICE)):
        assert feed.since(_ALICE, mark) is None, mark


def _since(feed: Feed, mark: str, owner: str = _ALICE) -> Changed:
    changed = feed.since(owner, mark)
    assert changed is not None, mark
    return changed


def _note(id: str) -> Record:
    return Record(id=id, owner=_ALICE, text="We can do March.", recorded_at=moment(_NOW))


feed = (every_change_is_told, only_changes_are_told_and_only_of_that_shelf, a_mark_of_another_store_is_none_of_ours)
