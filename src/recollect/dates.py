"""Dates in text, resolved against the moment it was said: "last Friday", "in March", "vor zwei Wochen", 去年夏天.

For the write path (`dates_in`: what a record speaks of) and the temporal route (`asked`: the spans a question names). A date is a
span of days: its first, and the first after it, in UTC. Deterministic and quick; precision before recall, so "may", "march",
"second" and "sun" as ordinary words are no dates. Not for times of day, and not for what recurs ("every Monday").

What phrases make a date is in `date_rules`, which days it means in `date_count`, what they are called in `date_words`, Chinese
and Japanese in `dates_han`. dateparser was measured and left alone: see docs/why.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from .date_count import FIRST, LAST, Mark, resolved
from .date_rules import Item, match
from .date_words import COMING, LANGUAGES, PRESENT, phrases, triggers
from .dates_han import han_marks
from .records import Span
from .tokens import language_of

FIRST_MOMENT, LAST_MOMENT = (datetime.combine(day, time.min, UTC) for day in (FIRST, LAST))  # open ends
MOST, LONGEST = 32, 20_000  # dates of one text, and characters of it that are read
PADDING = 8  # empty items at the end, so that rules may look ahead
_WORD = re.compile(r"[^\W\d_]+")
_TOKEN = re.compile(
    r"(?P<iso>\d{4}[-/]\d{1,2}[-/]\d{1,2}(?!\d))|(?P<dotted>\d{1,2}\.\s?\d{1,2}\.\d{4}(?!\d))|(?P<number>(?<![\d.,:])\d+(?![\d]|[.,:]\d))"
    r"(?P<suffix>st\b|nd\b|rd\b|th\b|er\b|\.)?|(?P<word>[^\W\d_]+)"
)
_FIGURES = re.compile(
    r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|\b(?:19|20)\d\d\b|\d\d?(?:st|nd|rd|th)?[ .]+[A-Z][a-z]{2}|[A-Z][a-z]{2} \d"
)
_HAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_STOP = re.compile(r"[.!?…。！？\n]")
_LOOSE = re.compile(r"[\s,'’`\-–—]*")  # what may stand between the parts of a date
_DASH = re.compile(r"\s*[-–—~]\s*")


class Dated(NamedTuple):
    """A date of a text: the first day, the first day after it, the words that say so."""

    first: date
    after: date
    text: str
    start: int = 0
    end: int = 0

    def span(self) -> Span:
        return Span(start=_moment(self.first), end=_moment(self.after), text=self.text)


def dates_in(text: str, at: datetime | None) -> tuple[Span, ...]:
    """What a text said at this moment speaks of, in its order. Without a moment, only what needs none is resolved."""
    if not likely(text):
        return ()
    day = at.astimezone(UTC).date() if at is not None else None
    found = [dated.span() for dated in _read(text[:LONGEST], day, None)]
    return tuple(dict.fromkeys(found))[:MOST]


def asked(text: str, now: datetime) -> tuple[Span, ...]:
    """The spans a question names, open ones too: "since March" runs to the end of time, "before 8 May" from its beginning."""
    return _asked(text, now.astimezone(UTC).date())


@lru_cache(maxsize=256)
def _asked(text: str, anchor: date) -> tuple[Span, ...]:
    if not likely(text):
        return ()
    return tuple(dated.span() for dated in _read(text[:LONGEST], anchor, False, opened=True))[:MOST]


def likely(text: str) -> bool:
    """Whether it is worth reading closely: has the text words or figures that dates have?"""
    lower = text.lower()
    words, known = set(_WORD.findall(lower)), triggers()
    if not words.isdisjoint(known.alone):
        return True
    if any(not (words.isdisjoint(units) or words.isdisjoint(counts)) for units, counts in known.pairs):
        return True
    return _FIGURES.search(text) is not None or (not lower.isascii() and _HAN.search(text) is not None)


def _read(text: str, anchor: date | None, default: bool | None, *, opened: bool = False) -> Iterator[Dated]:
    """The dates of a text. `default`: whether a month without a year is to come, when the sentence does not say."""
    languages = _languages(text)
    items = _items(text, languages)
    marks = [*_marks(items), *(han_marks(text) if _HAN.search(text) else ())]
    for mark in sorted(marks, key=lambda mark: mark.start):
        days = resolved(mark, anchor, _tense(items, mark, default, opened))
        if days is None:
            continue
        relation = mark.relation if opened else ""
        first = FIRST if relation in ("before", "until") else days[1] if relation == "after" else days[0]
        after = days[0] if relation == "before" else LAST if relation in ("since", "after") else days[1]
        if first < after:
            yield Dated(first, after, text[mark.start : mark.end].rstrip(". "), mark.start, mark.end)


def _languages(text: str) -> tuple[str, ...]:
    """The language of the text first; of one that can't be told, or has no table, all of them."""
    language = language_of(text, "")
    return (language,) if language in LANGUAGES else LANGUAGES


def _items(text: str, languages: tuple[str, ...]) -> list[Item]:
    """The phrases and figures in order; an empty item where the text makes a break."""
    known = phrases(languages)
    tokens = list(_TOKEN.finditer(text))
    lower = [token[0].lower() if token.lastgroup == "word" else "" for token in tokens]
    items, place, end = [Item(0, 0)], 0, 0
    while place < len(tokens):
        token = tokens[place]
        gap = text[end : token.start()]
        if gap != " " and not _LOOSE.fullmatch(gap):
            items.append(Item(end, end))
        size, says = 1, {}
        for phrase in known.get(lower[place], ()):
            if tuple(lower[place : place + len(phrase.words)]) == phrase.words:
                size, says = len(phrase.words), phrase.says
                break
        end = tokens[place + size - 1].end()
        word = lower[place]
        figures, suffix = ((), "") if word else (_figures(token), token["suffix"] or "")
        dash = gap != " " and _DASH.fullmatch(gap) is not None
        items.append(Item(token.start(), end, says, word, token[0][0].isupper(), figures, suffix, dash, "," in gap))
        if suffix == "." and languages == ("en",):  # "there were 3. May I": the dot ends a sentence, but for Germans
            items.append(Item(end, end))
        place += size
    return items + [Item(end, end)] * PADDING


def _figures(token: re.Match[str]) -> tuple[int, ...]:
    """A number, or year, month and day."""
    if token["number"]:
        return (int(token["number"]),) if len(token["number"]) <= 4 else ()
    if token["iso"]:
        return tuple(map(int, re.split("[-/]", token["iso"])))
    return tuple(map(int, token["dotted"].split(".")))[::-1] if token["dotted"] else ()


def _marks(items: Sequence[Item]) -> Iterator[Mark]:
    place = 1
    while place < len(items) - PADDING:
        found = match(items, place) if items[place].says or items[place].figures or items[place].word == "q" else None
        if found is None:
            place += 1
        else:
            mark, place = found
            yield mark


def _tense(items: Sequence[Item], mark: Mark, default: bool | None, asks: bool) -> bool | None:
    """Whether the date's sentence speaks of the future: by the nearest word that tells before it, then behind it."""
    said: list[bool] = []
    for before, item in pairwise(items):
        if not item.says and not item.word and not item.figures:  # a break
            if item.start >= mark.end:
                break
            if item.end <= mark.start and item.end:
                said.clear()
        elif "future" in item.says or "past" in item.says:
            if item.start >= mark.end and said:
                break
            said.append("future" in item.says)
        elif item.word in COMING and before.word in PRESENT and not (item.start >= mark.end and said):
            said.append(True)
    if not said:
        return default
    return all(said) if asks else said[-1]


def _moment(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)
