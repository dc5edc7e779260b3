"""normalize: text becomes storable, and stays itself."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidRecord
from recollect.normalize import MAX_CHARACTERS, clean_text, fold

ANYTHING = st.text(st.characters(), max_size=60)  # surrogates, controls, unassigned: all of it


@pytest.mark.parametrize(
    ("given_text", "stored"),
    [
        ("a\r\nb\rc\n\td", "a\nb\nc\n\td"),
        ("nul\x00 bell\x07 escape\x1b[31m", "nul bell escape[31m"),
        ("page one\x0cpage two", "page one\npage two"),
        ("half \ud800 here", "half \ufffd here"),
        ("pair \ud83d\ude00", "pair 😀"),
        ("m² ﬁne ™ Ａ", "m² ﬁne ™ Ａ"),
        ("\u202eright to left\u202c and \U000e0041 a tag", "\u202eright to left\u202c and \U000e0041 a tag"),
        ("  kept  ", "  kept  "),
    ],
)
def test_what_is_stored(given_text, stored):
    assert clean_text(given_text) == stored


@pytest.mark.parametrize("wrong", [None, 3, b"bytes", ["text"]])
def test_only_text(wrong):
    with pytest.raises(InvalidRecord, match=type(wrong).__name__):
        clean_text(wrong)


@pytest.mark.parametrize("empty", ["", "   ", "\n\t", "\x00\x07", "\u3000"])
def test_nothing_to_remember(empty):
    with pytest.raises(InvalidRecord, match="visible character"):
        clean_text(empty)


def test_long_text():
    assert len(clean_text("a word\x00 " * 150_000)) == 7 * 150_000
    assert len(clean_text("x" * MAX_CHARACTERS)) == MAX_CHARACTERS
    with pytest.raises(InvalidRecord, match="4,000,001"):
        clean_text("x" * (MAX_CHARACTERS + 1))


@settings(max_examples=300, deadline=None)
@given(ANYTHING)
def test_clean_is_storable_and_final(text):
    try:
        stored = clean_text(text)
    except InvalidRecord:
        return
    assert clean_text(stored) == stored
    stored.encode("utf-8")
    assert not any(unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t" for c in stored)


@given(st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1).filter(lambda text: not text.isspace()))
def test_ordinary_text_is_untouched(text):
    assert clean_text(text) == text


def test_fold_compares():
    assert fold("ＦＵＬＬ Straße ﬁ") == fold("full STRASSE FI")
    assert fold("Café") == fold("CAFE\u0301") != fold("cafe")


@settings(max_examples=300, deadline=None)
@given(ANYTHING)
def test_fold_is_final(text):
    assert fold(fold(text)) == fold(text)
