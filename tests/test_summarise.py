"""A summary is made of the words that were said: the same for the same words, within its size, in whatever language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ports import Spoken
from recollect.summarise import MOST, Sentences, summarised

CHAT = [
    Spoken("Nora", "Hi there! How are you doing?"),
    Spoken("Assistant", "Great, thanks! What can I do for you today?", aside=True),
    Spoken("Nora", "I am planning my sister's wedding in Goa for the 14th of March, with about eighty guests."),
    Spoken("Assistant", "Wonderful! A wedding in Goa needs a venue, a caterer and a permit for the beach.", aside=True),
    Spoken("Nora", "The venue is booked: the Taj at Aguada beach. The caterer for the wedding is still missing. Thanks!"),
    Spoken("Assistant", "```python\nguests = 80\n```\nShall I look for a caterer near Aguada beach?", aside=True),
    Spoken("Nora", "Yes. Remember that half of the wedding guests eat no meat."),
    Spoken("Assistant", "[called search(q=caterer goa)]", aside=True),
]
LANGUAGES = {
    "de": ["Ich plane die Hochzeit meiner Schwester in Lübeck im März.", "Hallo!", "Für die Hochzeit fehlt ein Koch in Lübeck."],
    "es": ["Estoy organizando la boda de mi hermana en Granada en marzo.", "¡Hola!", "Para la boda falta un cocinero."],
    "fr": ["J'organise le mariage de ma sœur à Lyon au mois de mars.", "Salut !", "Pour le mariage il manque un cuisinier."],
    "ru": ["Я готовлю свадьбу сестры в Казани в марте этого года.", "Привет!", "Для свадьбы в Казани ещё нужен хороший повар."],
    "zh": ["我正在为妹妹准备三月在果阿举行的婚礼。", "你好!", "婚礼还缺一位会做素食的厨师,要在果阿找。"],
    "ja": ["三月にゴアで開く妹の結婚式を準備しています。", "こんにちは!", "結婚式の料理人がまだ見つかりません。"],
}  # fmt: skip


def test_what_was_told_is_in_it_and_small_talk_is_not():
    told = summarised(CHAT)
    for words in ("sister's wedding in Goa", "Taj at Aguada beach", "caterer for the wedding is still missing", "eat no meat"):
        assert words in told
    for words in ("How are you", "Thanks!", "guests = 80", "[called"):
        assert words not in told
    assert told.startswith("Nora: I am planning") and told.index("Taj") < told.index("eat no meat"), "in the order of the talk"


def test_who_said_it_stays_with_it():
    said = [Spoken("Ann", "My flight to Lisbon leaves on Friday."), Spoken("Ben", "My train to Lisbon arrives on Saturday.")]
    assert summarised(said) == "Ann: My flight to Lisbon leaves on Friday.\nBen: My train to Lisbon arrives on Saturday."


def test_the_same_is_not_said_twice():
    told = summarised([Spoken("Ann", "The kiln in the shed is broken.")] * 9 + [Spoken("Ann", "A new kiln costs 900 euros.")])
    assert told == "Ann: The kiln in the shed is broken. A new kiln costs 900 euros."


def test_what_extraction_took_for_news_of_a_person_counts_more():
    fillers = [Spoken("Ann", f"The market on square number {n} sells fruit, bread and flowers every day.") for n in range(40)]
    news = "Oh, and Marek adopted us as godparents."
    assert news not in summarised([*fillers, Spoken("Ann", news)], 200)
    assert news in summarised([*fillers, Spoken("Ann", news, told=(news,))], 200)


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages(language):
    first, greeting, second = LANGUAGES[language]
    told = summarised([Spoken("A", first), Spoken("A", greeting), Spoken("A", second)])
    assert first.rstrip("。.") in told and second.rstrip("。.") in told and greeting not in told


TALK = st.tuples(st.sampled_from(["", "Ann", "本田"]), st.text(max_size=300), st.booleans())


@given(st.lists(TALK, max_size=8), st.integers(60, 400))
def test_any_talk_is_harmless_and_gives_the_same_twice(talk, most):
    said = [Spoken(speaker, text, aside) for speaker, text, aside in talk]
    told = summarised(said, most)
    assert told == summarised(said, most) == summarised(list(said), most)
    assert len(told) <= max(most, 260)


@pytest.mark.parametrize("text", ["", "   ", "[image]", "```\ncode\n```", "https://example.org/a", "!!!", "\x00"])
def test_what_says_nothing_has_no_summary(text):
    assert Sentences().summarise("", [Spoken("Ann", text)]) == "" and Sentences().summarise("", []) == ""


def test_a_sentence_without_end_is_cut_at_a_word():
    told = summarised([Spoken("Ann", "garden " * 5_000)])
    assert len(told) < 260 and told.endswith("garden…")


def test_its_size_is_bounded_however_long_the_talk():
    walk = (f"On day {n} we walked from village {n} to village {n + 1} and saw the lake {n % 7}." for n in range(3_000))
    said = [Spoken("Ann", text) for text in walk]
    assert MOST / 2 < len(summarised(said)) <= MOST
