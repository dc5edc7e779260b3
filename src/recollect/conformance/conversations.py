"""What every store promises of conversations: their last turns first, and texts that are searched in parts."""

from __future__ import annotations

from dataclasses import replace

from ..ports import Add, Amend, Store
from ..query import Where
from ..records import PARTS, Record, moment
from .toys import ALICE, NOW, ids_of, put, sight


def the_last_turns_of_a_session_come_first(store: Store) -> None:
    """`latest` is `turns` the other way round, exact ties too."""
    put(store, _turn("b", 2), _turn("a", 2), _turn("c", 9), _turn("d", None), _turn("e", 3), _turn("x", 99, session="s2"))
    where = replace(sight(), sessions=("s1",))
    assert _ids(store, where, 9) == ["c", "e", "b", "a", "d"] and _ids(store, where, 3) == ["c", "e", "b"]
    assert _ids(store, where, 0) == [] and _ids(store, replace(where, sessions=("s0",)), 3) == []
    put(store, replace(_turn("0", 2), recorded_at=moment(NOW + 1)))
    assert _ids(store, where, 3) == ["c", "e", "0"]
    assert _ids(store, sight(), 9)[:3] == ["x", "c", "e"]
    assert store.select(sight(), order="latest", limit=9) == store.select(sight(), order="turns", limit=9)[::-1]


def a_turn_is_found_by_its_place(store: Store) -> None:
    put(store, _turn("a", 0), _turn("b", 1), _turn("c", 0, session="s2"), replace(_turn("d", 5), role="note"))
    asked = [("s1", 0), ("s1", 1), ("s2", 0), ("s1", 5), ("s3", 0)]
    found = store.turns(sight(), asked)
    assert {place: ids_of(store, [key]) for place, key in found.items()} == dict(zip(asked, (["a"], ["b"], ["c"]), strict=False))
    put(store, _turn("0", 0))
    assert ids_of(store, [store.turns(sight(), asked)["s1", 0]]) == ["0"], "what was stored last"
    assert ids_of(store, [store.turns(sight(exclude=frozenset({"0"})), asked)["s1", 0]]) == ["a"]
    assert not store.turns(sight(), []) and not store.turns(sight(owner="nobody"), asked)


def what_is_searched_in_parts_has_no_words_of_its_own(store: Store) -> None:
    """Nor a vector of its text; its other views keep theirs. Its parts are records like any."""
    whole = replace(_turn("m", 1), text="We can do March.", metadata={PARTS: 1}, views={"user": "March?"})
    part = replace(_turn("m\x1f1", 1), text="We can do March.", role="part", source="record:m")
    places = [("toy", "full"), ("toy", "user")]
    store.write(ALICE, [Add(record=whole, pending=places), Add(record=part, pending=places[:1])])
    found = store.lexical.words(sight(), "march", 9, "any")
    assert found.keys == list(store.resolve(sight(), [part.id]).values())
    assert sorted((job.view, job.text) for job in store.outbox.claim(None, "toy", 9, NOW, 1)) == [
        ("full", "We can do March."), ("user", "March?"),
    ]  # fmt: skip
    store.write(ALICE, [Amend(id="m", fields={"metadata": {}, "text": "We could do March."}, pending=places)])
    assert len(store.lexical.words(sight(), "march", 9, "any").keys) == 2
    assert store.status(ALICE)["records"] == 1, "parts and logs are not counted"
    assert {"turn", "part"} <= store.roles(sight())


def _turn(id: str, turn: int | None, session: str = "s1") -> Record:
    now = moment(NOW)
    return Record(id=id, owner=ALICE, text=f"Turn {id}.", role="turn", session=session, turn=turn, recorded_at=now, at=now)


def _ids(store: Store, where: Where, limit: int) -> list[str]:
    return [record.id for record in store.records(store.select(where, order="latest", limit=limit))]


conversations = (
    the_last_turns_of_a_session_come_first,
    a_turn_is_found_by_its_place,
    what_is_searched_in_parts_has_no_words_of_its_own,
)
