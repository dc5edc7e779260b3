"""What every store promises of what is told again: it says what was told a moment ago, and lets nobody tell it twice."""

from __future__ import annotations

from ..errors import RecordChanged
from ..ports import Add, Amend, Forget, Store, Told
from .toys import ALICE, NOW, a_note, in_sight, key_of, refused

GOA, LISBON = b"g" * 16, b"l" * 16
UNTIL = NOW + 600


def told(name: str, digest: bytes = GOA, now: int = NOW, until: int = UNTIL, **fields: object) -> Add:
    return Add(record=a_note(name, **fields), told=Told(digest, now, until))


def what_was_told_is_known_until_its_time_is_over(store: Store) -> None:
    assert store.told(ALICE, [GOA], NOW) == {}
    store.write(ALICE, [told("m1"), told("m2", LISBON, until=NOW + 10), Add(record=a_note("m3"))])
    assert store.told(ALICE, [GOA, LISBON, b"x" * 16], NOW) == {GOA: key_of(store, "m1"), LISBON: key_of(store, "m2")}
    assert store.told(ALICE, [GOA, LISBON], NOW + 10) == {GOA: key_of(store, "m1")} and store.told(ALICE, [], NOW) == {}
    assert store.told(ALICE, [GOA], UNTIL) == {} and store.told("acme/bob", [GOA], NOW) == {}


def the_same_is_not_told_twice(store: Store) -> None:
    store.write(ALICE, [told("m1")])
    with refused(RecordChanged):
        store.write(ALICE, [Add(record=a_note("m0")), told("m2")])
    with refused(RecordChanged):
        store.write(ALICE, [told("m3", LISBON), told("m4", LISBON)])
    assert in_sight(store) == ["m1"]
    store.write("acme/bob", [Add(record=a_note("m1", owner="acme/bob"), told=Told(GOA, NOW, UNTIL))])
    store.write(ALICE, [told("m2", now=UNTIL, until=UNTIL + 600)])
    assert store.told(ALICE, [GOA], UNTIL) == {GOA: key_of(store, "m2")}


def what_says_something_else_now_may_be_told_again(store: Store) -> None:
    changes = [{"text": "We can't."}, {"superseded_by": "m9"}, {"valid_to": None}, {"tags": ("x",)}]
    for number, fields in enumerate(changes):
        store.write(ALICE, [told(f"m{number}")])
        store.write(ALICE, [Amend(id=f"m{number}", fields={"reinforced": 1, "quality": 0.9})])
        assert store.told(ALICE, [GOA], NOW) == {GOA: key_of(store, f"m{number}")}
        store.write(ALICE, [Amend(id=f"m{number}", fields=fields)])
        assert store.told(ALICE, [GOA], NOW) == {}
    store.write(ALICE, [told("last")])
    store.write(ALICE, [Forget(id="last")])
    assert store.told(ALICE, [GOA], NOW) == {}


tellings = (
    what_was_told_is_known_until_its_time_is_over,
    the_same_is_not_told_twice,
    what_says_something_else_now_may_be_told_again,
)
