"""What a store promises to indexes beside it: they hear of every change, from any moment on, or that they must begin anew.

A store without `feed` keeps none of them and is not asked to.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..ports import Add, Amend, Changed, Feed, Forget, Store
from ..query import Where
from .toys import ALICE, FULL, NOW, a_note

_BOB = "acme/bob"
_VECTOR = np.array([1, 0, 0], np.float32)


def every_change_is_told(store: Store) -> None:
    if (feed := getattr(store, "feed", None)) is None:
        return
    nothing = _since(feed, feed.mark(ALICE))
    assert not nothing.keys and nothing.mark == feed.mark(ALICE)
    mark = nothing.mark
    store.write(ALICE, [Add(record=a_note("m1"), pending=[FULL]), Add(record=a_note("m2")), Add(record=a_note("m3"))])
    keys = store.resolve(Where(owner=ALICE, now=NOW), ["m1", "m2", "m3"])
    first, mark = _since(feed, mark)
    assert set(first) == set(keys.values())
    steps = {
        "settled": lambda: store.outbox.settle("toy", [(store.outbox.claim(None, "toy", 1, NOW, 9)[0], _VECTOR)]),
        "amended": lambda: store.write(ALICE, [Amend(id="m1", fields={"quality": 0.9})]),
        "given a vector": lambda: store.write(ALICE, [Amend(id="m1", fields={}, vectors={FULL: _VECTOR})]),
        "dropped": lambda: store.vector.drop(ALICE, "toy"),
        "forgotten": lambda: store.write(ALICE, [Forget(id="m1")]),
    }
    for name, step in steps.items():
        step()
        changed = _since(feed, mark)
        assert keys["m1"] in changed.keys and changed.mark == feed.mark(ALICE) != mark, name
        mark = changed.mark
    assert not _since(feed, mark).keys
    every = _since(feed, nothing.mark)
    assert set(keys.values()) <= set(every.keys) and every.mark == mark


def only_changes_are_told_and_only_of_that_shelf(store: Store) -> None:
    if (feed := getattr(store, "feed", None)) is None:
        return
    store.write(ALICE, [Add(record=a_note("m1"))])
    alice, bob = feed.mark(ALICE), feed.mark(_BOB)
    store.write(ALICE, [Add(record=a_note("m1"))])  # there already, and the same
    store.settings(ALICE, {"recipe": "sci"})
    store.write(_BOB, [Add(record=replace(a_note("m1"), owner=_BOB))])
    assert feed.mark(ALICE) == alice and feed.mark(_BOB) != bob
    (key,) = store.resolve(Where(owner=_BOB, now=NOW), ["m1"]).values()
    assert list(_since(feed, bob, _BOB).keys) == [key]
    tenants = feed.mark("acme")
    store.write(_BOB, [Add(record=replace(a_note("m2"), owner="acme", kind="identity"))])  # a user writes to the tenant's shelf
    assert len(_since(feed, tenants, "acme").keys) == 1


def a_mark_of_another_store_is_none_of_ours(store: Store) -> None:
    if (feed := getattr(store, "feed", None)) is None:
        return
    store.write(ALICE, [Add(record=a_note("m1"))])
    for mark in ("", "x", "1:2:3:4", "::", "another" + feed.mark(ALICE)):
        assert feed.since(ALICE, mark) is None, mark


def _since(feed: Feed, mark: str, owner: str = ALICE) -> Changed:
    changed = feed.since(owner, mark)
    assert changed is not None, mark
    return changed


feed = (every_change_is_told, only_changes_are_told_and_only_of_that_shelf, a_mark_of_another_store_is_none_of_ours)
