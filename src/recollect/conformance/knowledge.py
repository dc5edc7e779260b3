"""What every store promises of knowledge: what records speak of, and what was derived from them."""

from __future__ import annotations

import math
from dataclasses import replace

from ..ports import Add, Amend, Forget, Learn, Store
from ..records import Entity, Link, Record, Span
from .toys import ALICE, FULL, NOW, a_note, ids_of, on, put, row, sight


def what_a_record_speaks_of_comes_back(store: Store) -> None:
    spoken = {
        "entities": (Entity(name="Priya S.", type="person", aliases=("Mom", "Priya")), Entity(name="東京", type="place")),
        "links": (
            Link(subject="Rajesh", predicate="planning", object="vacation to Goa", weight=0.5, record="m9"),
            Link(subject="Rajesh", predicate="knows", object="Priya S.", valid_from=on(-9), valid_to=on(9)),
        ),
        "dates": (Span(start=on(-3), end=on(-2), text="last Friday"),),
    }  # fmt: skip
    whole = replace(a_note("m1"), **spoken)
    put(store, whole, a_note("m2"), replace(a_note("m3"), dates=spoken["dates"]))
    assert _records(store) == {"m1": whole, "m2": a_note("m2"), "m3": replace(a_note("m3"), dates=spoken["dates"])}
    store.write(ALICE, [Amend(id="m1", fields={"entities": (), "links": ()}), Amend(id="m2", fields=spoken)])
    assert _records(store)["m1"] == replace(whole, entities=(), links=()) and _records(store)["m2"] == replace(whole, id="m2")
    store.write(ALICE, [Amend(id="m1", fields={"dates": ()}), Forget(id="m2")])
    put(store, a_note("m2"))
    assert _records(store) == {"m1": a_note("m1"), "m2": a_note("m2"), "m3": replace(a_note("m3"), dates=spoken["dates"])}


def what_was_derived_has_no_words_and_no_vectors(store: Store) -> None:
    """Nor does it count where records are counted: BM25 stays what it was."""
    put(store, a_note("m1", "We can do March."), a_note("m2", "Trams."))
    before = store.lexical.words(sight(), "march", 9, "any")
    fact = _fact("f1", "m1", text="March, march, march.")
    store.write(ALICE, [Add(record=fact, vectors={FULL: row(1, 0)}, pending=[("other", "full")])])
    assert store.lexical.words(sight(), "march", 9, "any") == before
    assert store.lexical.tokens(sight(), "march", 9, 0.3, None).keys == before.keys
    assert store.lexical.substring(sight(), "march", 9).keys == before.keys
    assert not store.vector.nearest(sight(), *FULL, row(1, 0), 9, None).keys and store.outbox.waiting(None) == 0
    assert _records(store)["f1"] == fact
    store.write(ALICE, [Amend(id="f1", fields={"role": "note"}, pending=[FULL])])
    assert len(store.lexical.words(sight(), "march", 9, "any").keys) == 2 and store.outbox.waiting(None) == 1
    store.write(ALICE, [Amend(id="f1", fields={"role": "derived"})])
    assert store.lexical.words(sight(), "march", 9, "any") == before and store.outbox.waiting(None) == 0


def forgetting_takes_what_was_derived_along(store: Store) -> None:
    put(store, a_note("m1"), a_note("m2"), _fact("f1", "m1"), _fact("f2", "f1"), _fact("f3", "m2"))
    put(store, replace(_fact("n1", "m1"), role="note"))
    status = store.status(ALICE)
    assert (status["records"], status["by_kind"], status["derived"]) == (3, {"relationship": 1, "semantic": 2}, 3)
    assert dict(store.write(ALICE, [Forget(id="m1")]).removed) == {"records": 1, "derived": 2, "vectors": 0, "jobs": 0}
    assert set(_records(store)) == {"m2", "f3", "n1"}


def what_is_learned_replaces_what_was_learned_before(store: Store) -> None:
    note = a_note("m1")
    store.write(
        ALICE, [Add(record=note, pending=[("extract:x", "full")]), Add(record=a_note("m2")), Add(record=_fact("f1", "m1"))]
    )
    job = store.outbox.claim(ALICE, "extract:x", 9, 0, 1)[0]
    spoken = (Entity(name="Goa", type="place"),)
    learn = Learn(
        id="m1", text=note.text, fields={"entities": spoken}, facts=[_fact("f2", "m1"), _fact("f3", "m1")],
        amends=[Amend(id="m2", fields={"superseded_by": "f2", "superseded_at": on(0)}), Amend(id="gone", fields={})],
        job=job.number,
    )  # fmt: skip
    receipt = store.write(ALICE, [learn])
    assert (receipt.added, receipt.amended, receipt.removed["derived"]) == (2, 2, 1)
    assert set(_records(store)) == {"m1", "m2", "f2", "f3"} and _records(store)["m1"].entities == spoken
    assert store.outbox.waiting(None) == 0 and _records(store)["m2"].superseded_by == "f2"
    store.write(ALICE, [Amend(id="f2", fields={"superseded_by": "f9"})])
    store.write(ALICE, [learn])
    assert _records(store)["f2"].superseded_by == "f9", "what is there already is left as it is"


def learning_leaves_alone_what_is_no_fact(store: Store) -> None:
    note, verdict = a_note("m1"), replace(_fact("v1", "m1"), kind="episodic", links=())
    put(store, note, verdict, _fact("f1", "m1"))
    store.write(ALICE, [Learn(id="m1", text=note.text, fields={})])
    assert set(_records(store)) == {"m1", "v1"}


def nothing_is_learned_from_a_text_that_changed(store: Store) -> None:
    store.write(ALICE, [Add(record=a_note("m1"), pending=[("extract:x", "full")]), Add(record=a_note("m2"))])
    job = store.outbox.claim(ALICE, "extract:x", 9, 0, 1)[0]
    for name, text in (("m1", "another text"), ("gone", "We can do March.")):
        fields = {"entities": (Entity(name="Goa"),)}
        receipt = store.write(ALICE, [Learn(id=name, text=text, fields=fields, facts=[_fact("f1", name)], job=job.number)])
        assert (receipt.added, receipt.amended) == (0, 0)
    assert _records(store) == {"m1": a_note("m1"), "m2": a_note("m2")} and store.outbox.waiting(None) == 0


def a_question_reaches_what_mentions_whom_it_names(store: Store) -> None:
    """The way it came about, link by link, and the score to the last digit."""
    goa, rajesh = _fact("f1", "m1", text="x"), replace(a_note("m3"), entities=(_person("Rajesh"),), at=on(-1))
    put(store, replace(a_note("m1"), entities=(_person("Priya S.", "Mom"),)), a_note("m2"), rajesh)
    put(store, replace(goa, confidence=0.5, links=(Link(subject="Rajesh", predicate="planning", object="Priya S."),)))
    own, half = 1 / (1 + math.log(2)), 1 / (1 + math.log(2)) * 0.5
    # "mom": of 2 records; the link's words are none of the question's; Rajesh is one link away, of a record half sure
    mom = [("m1", round(own, 9)), ("f1", round(half, 9)), ("m3", round(half * 0.5, 9))]
    assert _walk(store, "Mom?") == _walk(store, "Mom?", hops=1) == mom and _walk(store, "Mom?", limit=1) == mom[:1]
    # one word of a person's name, at 0.8; two of the question's three words are the link's
    lifted = [("m1", round(own * 0.8, 9)), ("f1", round(half * 0.8 * (1 + 2 / 2), 9)), ("m3", round(half * 0.8 * 0.5, 9))]
    assert _walk(store, "what is Priya planning") == sorted(lifted, key=lambda one: (-one[1], one[0]))
    found = store.graph.walk(sight(), "Mom?", 9, 2)
    assert [found.reasons[key] for key in found.keys] == [
        "Priya S.",
        "Rajesh → planning → Priya S.",
        "Priya S. ← planning ← Rajesh",
    ]
    assert _walk(store, "Mom?", facts=False) == [mom[0], mom[2]]
    assert _walk(store, "nobody") == [] and store.graph.walk(sight(), "nobody", 9, 2).note


def names_are_found_however_they_are_written(store: Store) -> None:
    spoken = ("Łukasz Gębala", "Rajesh", "王小明", "Маша", "O'Brien")
    put(store, *(replace(a_note(f"m{n}"), entities=(_person(name),)) for n, name in enumerate(spoken)))
    for text, name in (
        ("lukasz gebala's trip", "m0"), ("RAJESH!", "m1"), ("what does rajehs do", "m1"), ("王小明喜欢什么", "m2"),
        ("Что сказала Маше?", "m3"), ("o’brien", "m4"), ("ask Gebala", "m0"),
    ):  # fmt: skip
        assert [one for one, _ in _walk(store, text)] == [name], text
    for text in ("rajput", "王", "luka", "brie and o", "", "ra jesh"):
        assert _walk(store, text) == [], text


def names_that_are_words_do_no_harm(store: Store) -> None:
    for number, name in enumerate(("and", "May", "The", "I")):
        put(store, replace(a_note(f"m{number}"), entities=(_person(name),)))
    for text in ("May I go and swim?", "salt and pepper", "What may happen", "MAY I?", "the end", "I do"):
        assert _walk(store, text) == [], text
    assert [one for one, _ in _walk(store, "When did May call?")] == [one for one, _ in _walk(store, "may's cat")] == ["m1"]


def aliases_are_believed_when_one_alone_has_them(store: Store) -> None:
    put(store, replace(a_note("m1"), entities=(_person("Priya", "Mom"),)), replace(a_note("m2"), entities=(_person("Mom"),)))
    assert [node[:3] for node in store.graph.entities(sight(), 9)] == [("Priya", "person", ("Mom",))]
    put(store, replace(a_note("m3"), entities=(_person("Lakshmi", "mom"),)))  # whose mom?
    assert [(node.name, node.mentions) for node in store.graph.entities(sight(), 9)] == [
        ("Lakshmi", 1),
        ("Mom", 1),
        ("Priya", 1),
    ]
    assert _walk(store, "Mom") == [("m2", 1.0), ("m1", 0.8), ("m3", 0.8)]
    store.write(ALICE, [Forget(id="m3")])
    assert [node.name for node in store.graph.neighborhood(sight(), "mom", 1, 9).nodes] == ["Priya"]
    put(store, replace(a_note("m4"), entities=(Entity(name="Mom", aliases=("Priya",)),)))  # in a circle: the first by code point
    assert [(node.name, node.aliases, node.mentions) for node in store.graph.entities(sight(), 9)] == [("Mom", ("Priya",), 3)]


def the_graph_sees_what_may_be_seen(store: Store) -> None:
    """Answers pass the whole filter; links are followed in all that holds, of whatever kind, in scope."""
    friend = {"links": (Link(subject="Priya", predicate="knows", object="Rajesh"),)}
    put(
        store,
        replace(a_note("m1"), kind="relationship", **friend),
        replace(a_note("m2"), kind="fact", entities=(_person("Rajesh"),)),
    )
    assert [one for one, _ in _walk(store, "Priya", kinds=("fact",))] == ["m2"]
    assert _walk(store, "Priya", kinds=("fact",), sessions=("s",)) == [] == _walk(store, "Priya", owner="acme/bob")
    assert [one for one, _ in _walk(store, "Priya", exclude=frozenset({"m1"}))] == ["m2"]
    store.write(ALICE, [Amend(id="m1", fields={"valid_to": on(-1)})])
    assert _walk(store, "Priya") == [] and _walk(store, "Priya", as_of=NOW) == []
    gone = replace(friend["links"][0], valid_to=on(-1))
    store.write(ALICE, [Amend(id="m1", fields={"valid_to": None, "links": (gone,)})])
    assert _walk(store, "Priya") == [] and [one for one, _ in _walk(store, "Priya", timeless=True)] == ["m1", "m2"]
    derived = replace(_fact("f1", "m2"), links=friend["links"])
    put(store, derived)
    assert [one for one, _ in _walk(store, "Priya", facts=False)] == ["m2"]
    assert _walk(store, "Priya", exclude=frozenset({"m2"}), facts=False) == [] == _walk(store, "Priya", exclude=frozenset({"m2"}))


def neighbourhoods_have_rings_and_edges(store: Store) -> None:
    links = [("Priya", "knows", "Rajesh"), ("Rajesh", "lives_in", "Goa"), ("Goa", "in", "India"), ("Priya", "is", "Priya")]
    for n, (s, p, o) in enumerate(links):
        put(store, replace(a_note(f"m{n}"), links=(Link(subject=s, predicate=p, object=o, weight=1 - n / 10),)))
    near = store.graph.neighborhood(sight(), "PRIYA", 2, 9)
    assert [(node.name, node.mentions) for node in near.nodes] == [("Priya", 2), ("Rajesh", 2), ("Goa", 2)]
    assert [edge[:5] for edge in near.edges] == [
        ("Priya", "knows", "Rajesh", "m0", 1.0), ("Rajesh", "lives_in", "Goa", "m1", 0.9), ("Priya", "is", "Priya", "m3", 0.7),
    ]  # fmt: skip
    assert [node.name for node in store.graph.neighborhood(sight(), "Goa", 1, 2).nodes] == ["Goa", "Rajesh"]
    assert store.graph.neighborhood(sight(), "nobody", 2, 9).nodes == store.graph.neighborhood(sight(), "Goa", 1, 0).nodes == ()
    assert ids_of(store, store.graph.about(sight(), "rajesh", "Lives in")) == ["m1"]
    assert store.graph.about(sight(), "Goa", "lives_in") == []


knowledge = (
    what_a_record_speaks_of_comes_back,
    what_was_derived_has_no_words_and_no_vectors,
    forgetting_takes_what_was_derived_along,
    what_is_learned_replaces_what_was_learned_before,
    learning_leaves_alone_what_is_no_fact,
    nothing_is_learned_from_a_text_that_changed,
    a_question_reaches_what_mentions_whom_it_names,
    names_are_found_however_they_are_written,
    names_that_are_words_do_no_harm,
    aliases_are_believed_when_one_alone_has_them,
    the_graph_sees_what_may_be_seen,
    neighbourhoods_have_rings_and_edges,
)


def _person(name: str, *aliases: str) -> Entity:
    return Entity(name=name, type="person", aliases=aliases)


def _walk(store: Store, text: str, limit: int = 9, hops: int = 2, facts: bool = True, **where: object) -> list[tuple[str, float]]:
    found = store.graph.walk(sight(**where), text, limit, hops, facts=facts)
    return [(name, score) for name, score in zip(ids_of(store, found.keys), found.scores, strict=True)]


def _fact(name: str, of: str, text: str = "Rajesh plans.") -> Record:
    links = (Link(subject="Rajesh", predicate="plans", object="vacation"),)
    return replace(a_note(name, text), kind="relationship", role="derived", source=f"record:{of}", links=links)


def _records(store: Store) -> dict[str, Record]:
    where = sight(timeless=True)
    return {record.id: record for record in store.records(store.select(where, order="newest", limit=99))}
