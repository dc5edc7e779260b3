"""What every store promises of a search for words: BM25 to the last digit, token shares, substrings; never a syntax."""

from __future__ import annotations

from dataclasses import replace

from ..ports import Add, Store
from .toys import a_note, all_text, ids_of, on, put, shown, sight


def bm25_is_computed_to_the_last_digit(store: Store) -> None:
    put(store, a_note("m1", "goa beach"), a_note("m2", "goa goa airport hotel"))
    assert shown(store, store.lexical.words(sight(), "goa", 9, "any")) == [("m2", 0.229204243), ("m1", 0.211109171)]
    found = store.lexical.words(sight(), "airport goa", 9, "any")
    assert shown(store, found) == [("m2", 0.839173762), ("m1", 0.211109171)]


def a_filter_never_changes_a_score(store: Store) -> None:
    put(store, a_note("m1", "goa beach"), a_note("m2", "goa goa airport hotel", kind="fact", valid_to=on(-1)))
    assert shown(store, store.lexical.words(sight(), "goa", 9, "any")) == [("m1", 0.211109171)]
    shared = replace(a_note("t1", "goa beach"), owner="acme", kind="identity")
    store.write("acme", [Add(record=shared), Add(record=replace(a_note("t2", "goa goa airport hotel"), owner="acme"))])
    found = store.lexical.words(sight(tenant="acme"), "goa", 9, "any")
    assert shown(store, found) == [("m1", 0.211109171), ("t1", 0.211109171)]  # each shelf with its own statistics


def words_are_any_all_or_relaxed(store: Store) -> None:
    put(store, a_note("m1", "goa beach"), a_note("m2", "goa airport"))
    put(store, a_note("m3", "lisbon tram", speaker="Priya", tags=("rail",)))
    ask = {match: store.lexical.words(sight(), "goa airport", 9, match) for match in ("any", "all", "relax")}
    assert [ids_of(store, found.keys) for found in ask.values()] == [["m2", "m1"], ["m2"], ["m2"]]
    assert [found.relaxed for found in ask.values()] == [False] * 3
    assert store.lexical.words(sight(), "goa priya", 9, "all").keys == []
    assert store.lexical.words(sight(), "nothing", 9, "relax")[:3] == ([], [], False)
    relaxed = store.lexical.words(sight(), "goa priya", 9, "relax")
    assert sorted(ids_of(store, relaxed.keys)) == ["m1", "m2", "m3"] and relaxed.relaxed
    assert ids_of(store, store.lexical.words(sight(), "priya rail lisbon", 9, "all").keys) == ["m3"]


def what_is_held_of_a_question_is_counted_by_rarity(store: Store) -> None:
    put(store, a_note("m1", "goa beach"), a_note("m2", "goa goa airport hotel"))
    keys = store.lexical.words(sight(), "goa airport zebra", 9, "any").keys
    assert ids_of(store, keys) == ["m2", "m1"]
    shares = store.lexical.shares("goa airport zebra", keys)  # nobody holds a zebra, so nobody lacks one
    assert [shares[key] for key in keys] == [1.0, 0.208255931]
    assert not any(store.lexical.shares("zebra", keys).values()) and not store.lexical.shares("goa", [])


def what_people_type_is_never_syntax(store: Store) -> None:
    put(store, a_note("m1", 'goa "beach" (NEAR) 100% C:\\x _y'))
    for text in ["goa*", '"goa', "NEAR(", "a AND OR NOT", "-goa", "text:goa", *"\"'*%_\\\x00^ ", ""]:
        for found in all_text(store, sight(), text):
            assert set(ids_of(store, found.keys)) <= {"m1"}
    hits = {text: store.lexical.substring(sight(), text, 9).scores for text in ("100% c:", "0%_", "_Y", "\\X")}
    assert hits == {"100% c:": [1.0], "0%_": [], "_Y": [1.0], "\\X": [1.0]}


def a_share_of_the_querys_tokens_is_enough(store: Store) -> None:
    long = "goa " + " ".join(f"filler{n}" for n in range(20))
    put(store, a_note("m1", long), a_note("m2", "goa airport lisbon tram"), a_note("m3", "hotel"))

    def ask(text: str, second: tuple[int, float] | None = None) -> list[tuple[str, float]]:
        return shown(store, store.lexical.tokens(sight(), text, 9, 0.33, second))

    assert ask("goa beach rail") == [("m1", 0.333333333), ("m2", 0.333333333)]
    assert ask("goa beach rail bus") == []  # one of four
    assert ask("goa airport beach rail bus ship walk") == []
    assert ask("goa airport beach rail bus ship walk", (2, 0.40)) == [("m2", 0.285714286)]  # two of its four
    assert ask("goa airport beach rail bus ship walk", (3, 0.40)) == ask("") == ask("the") == []


def substrings_are_folded_and_whole(store: Store) -> None:
    put(store, a_note("m1", "The GOA Trip", at=on(-2)), a_note("m2", "a goa trip", at=on(-1)), a_note("m3", "trip to goa"))
    assert shown(store, store.lexical.substring(sight(), " Goa TRIP ", 9)) == [("m2", 1.0), ("m1", 1.0)]
    assert store.lexical.substring(sight(), "  ", 9).keys == []


words = (
    bm25_is_computed_to_the_last_digit,
    a_filter_never_changes_a_score,
    words_are_any_all_or_relaxed,
    what_is_held_of_a_question_is_counted_by_rarity,
    what_people_type_is_never_syntax,
    a_share_of_the_querys_tokens_is_enough,
    substrings_are_folded_and_whole,
)
