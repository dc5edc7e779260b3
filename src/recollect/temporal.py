"""The temporal route: the spans of time a question names, and the records whose event time falls into them.

"What did we plan last spring?" names its span itself; of one within another ("last year in autumn") the inner one counts. "What
did I buy before the wedding?" names an event, whose date a record may know: the best match for its words that speaks of a date,
for fewer of the words where no record has them all. Either is found before any record is looked for by time; a question
with neither asks nothing of the store. Within the spans, what the question's other words find comes first: the score is the share
of the record's time that lies in the span, halved, and as much again for the record that fits the words best.

Times of day are not looked at, and a span is resolved against the moment the question is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import cache, lru_cache
from typing import NamedTuple

from .date_words import LANGUAGES
from .dates import FIRST_MOMENT, LAST_MOMENT, asked
from .ports import Found, Store
from .query import Where
from .records import Record, Span, micros, moment
from .stopwords import stop_words
from .tokens import words

IN_SPAN, BY_WORDS = 2_000, 200  # records looked at: newest in a span, best by words
MOST_NAMES = 6  # ways to say an event that are tried
_HAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_NAMES = r"\s+(?P<{0}>[^\W\d_]+(?:['’ -]+[^\W\d_]+){{0,5}})"
_DE_OWN = "(?:der|dem|den|die|das|meiner|meinem|meine|unserer|unserem|seiner|ihrer)"
_EVENTS = (
    r"\b(?P<{0}_side>before|after|since|during)(?=\s+(?:the|my|our|his|her|their|your|[^\W\d_]+['’]s)\b)" + _NAMES,
    r"\b(?P<{0}_side>before|after|since)\s+(?:i|we|he|she|they)(?:\s+(?:had|have|has))?\b" + _NAMES,
    rf"\b(?P<{{0}}_side>vor|nach|seit|während)(?=\s+{_DE_OWN}\b)" + _NAMES,
    r"\b(?P<{0}_side>antes|después|desde|durante)(?=\s+(?:del?|el|la|mi|nuestra|nuestro)\b)" + _NAMES,
    r"\b(?P<{0}_side>avant|après|depuis|pendant)(?=\s+(?:le|la|les|mon|ma|notre|l['’]))" + _NAMES,
    r"\b(?P<{0}_side>до|перед|после|во время)" + _NAMES,
    r"(?P<{0}>[\u4e00-\u9fff]{{2,8}}?)(?P<{0}_side>之前|以前|之后|之後|以后|以後|前(?!天|年|面|往)|后(?!天|年|面|来)|後(?!天|年|面|來|日))",
    r"(?P<{0}>[\u3040-\u30ff\u4e00-\u9fff]{{2,10}}?)の(?P<{0}_side>前|後)",
)
_EVENT = re.compile("|".join(pattern.format(f"e{number}") for number, pattern in enumerate(_EVENTS)), re.IGNORECASE)
_SIDES = {
    **dict.fromkeys(("before", "vor", "antes", "avant", "до", "перед", "之前", "以前", "前"), "before"),
    **dict.fromkeys(("after", "nach", "después", "après", "после", "之后", "之後", "以后", "以後", "後", "后"), "after"),
    **dict.fromkeys(("since", "seit", "desde", "depuis"), "since"),
}  # fmt: skip
_WHOSE = (
    "my our his her their your meiner meinem meine unserer unserem seiner ihrer mi nuestra nuestro mon ma notre мой моей нашей "
    "我们 我們 你们 他们 她们 大家 咱们"
)
# A clause that follows the event: its name ends there.
_CLAUSE = re.compile(
    r"\b(?:did|do|does|was|were|is|are|had|has|have|what|who|where|when|which|and|or|in|on|at|with|i|we|he|she|they|you|habe|hat|"
    r"war|was|wer|wo|und|que|qué|y|et|qu|что|кто|где|и)\b.*", re.IGNORECASE,
)  # fmt: skip


@cache
def _empty_words() -> frozenset[str]:
    """Words that name nothing."""
    return frozenset().union(*map(stop_words, LANGUAGES), _WHOSE.split())


class Event(NamedTuple):
    """An event that a question names, and which side of it is asked about: before, after, since, during."""

    name: str
    side: str


def found_in_time(text: str, where: Where, limit: int, store: Store) -> Found | str:
    """Records of the spans that a text names; or, in words, why there is nothing to look for."""
    now = where.as_of if where.as_of is not None else where.now
    spans: Sequence[Span] = _inner(asked(text, moment(now)))
    told = ""
    if not spans:
        event = event_of(text)
        if event is None:
            return "the question names no span of time"
        known = _dated(event, where, store)
        if known is None:
            return f"nothing remembered says when {event.name!r:.80} was"
        spans, told = known
    found = _ranked(spans, _without(text, spans), where, limit, store)
    return found._replace(note="; ".join([*map(described, spans), *([told] if told else [])]))


@lru_cache(maxsize=256)
def event_of(text: str) -> Event | None:
    """The event that a question is about the time before, after or during; None when it names none."""
    found = _EVENT.search(text)
    if found is None:
        return None
    number = next(number for number in range(len(_EVENTS)) if found[f"e{number}"])
    name = _CLAUSE.sub("", found[f"e{number}"]).strip(" -'’")
    return Event(name, _SIDES.get(found[f"e{number}_side"].lower(), "during")) if name else None


def described(span: Span) -> str:
    """A span as the explanation shows it: its days, the last one included, and the words that named it."""
    first, last = span.start.date(), (span.end - timedelta(days=1)).date()
    if span.start <= FIRST_MOMENT:
        days = f"until {last}"
    elif span.end >= LAST_MOMENT:
        days = f"from {first}"
    else:
        days = str(first) if first == last else f"{first} to {last}"
    return f"{days} ({span.text})" if span.text else days


def _inner(spans: Sequence[Span]) -> list[Span]:
    """Without those that another one lies within."""
    return [
        span for span in spans
        if not any(other != span and span.start <= other.start and other.end <= span.end for other in spans)
    ]  # fmt: skip


def _names(name: str) -> Iterator[str]:
    """The words of an event, then fewer of them: it may be a verb that ends them, or a pronoun that runs into them."""
    if _HAN.match(name):
        rest = [name[start:] for start in range(len(name) - 1)]
    else:
        parts = [part for part in name.split() if part.lower() not in _empty_words()]
        rest = [" ".join(parts[:end]) for end in range(len(parts), 0, -1)]
    yield from [one for one in rest if not _empty_words().issuperset(words(one))][:MOST_NAMES]


def _dated(event: Event, where: Where, store: Store) -> tuple[tuple[Span], str] | None:
    """The span an event stands for, by the first record that has its words and speaks of a date, or is the event itself."""
    found = (store.lexical.words(where, name, 8, "all").keys for name in _names(event.name))
    for record in (record for keys in found for record in store.records(keys)):
        when = _date_of(record)
        if when is not None:
            start = FIRST_MOMENT if event.side == "before" else when.end if event.side == "after" else when.start
            end = when.start if event.side == "before" else when.end if event.side == "during" else LAST_MOMENT
            if start < end:
                span = Span(start=start, end=end, text=f"{event.side} {event.name}")
                return (span,), f"{event.name}: {described(when)}, says record {record.id}"
    return None


def _date_of(record: Record) -> Span | None:
    if record.dates:
        return record.dates[0]
    if record.kind == "event" and record.at is not None:
        start = record.at.replace(hour=0, minute=0, second=0, microsecond=0)
        return Span(start=start, end=start + timedelta(days=1))
    return None


def _ranked(spans: Sequence[Span], rest: str, where: Where, limit: int, store: Store) -> Found:
    shares: dict[int, float] = {}
    for span in spans:
        found = store.temporal.within(where, micros(span.start), micros(span.end), max(limit, IN_SPAN))
        for key, share in zip(found.keys, found.scores, strict=True):
            shares[key] = max(share, shares.get(key, 0.0))
    said = store.lexical.words(where, rest, max(limit, BY_WORDS), "any") if shares else Found([], [])
    most = max(said.scores, default=0.0) or 1.0
    fits = dict(zip(said.keys, said.scores, strict=True))
    scored = {key: round(share * (1 + fits.get(key, 0.0) / most) / 2, 9) for key, share in shares.items()}
    facts = store.facts(list(scored))
    order = sorted(facts, key=lambda key: (-scored[key], -facts[key].at, facts[key].id))[: max(0, limit)]
    return Found(order, [scored[key] for key in order])


def _without(text: str, spans: Sequence[Span]) -> str:
    """The question without the words that named its spans: they would find records that name other dates so."""
    for span in spans:
        text = text.replace(span.text, " ") if span.text else text
    return text
