"""A record's words on their way to PostgreSQL: packed terms for the process that asks, lexemes for the server's own search."""

from __future__ import annotations

from collections.abc import Sequence

from ..records import Record
from ..tokens import language_of, pack, terms
from .rows import NO_WORDS, index_text

MOST_PLACES, LAST_PLACE = 255, 16_383  # of a word in a tsvector
LONGEST_LEXEMES = 500_000  # characters: a tsvector holds a megabyte
Index = tuple[int, str, bytes, str]


def indexed(record: Record) -> Index:
    """A record's length in terms, its language, its packed terms, and its lexemes."""
    if record.wordless:
        return *NO_WORDS, ""
    text = index_text(record)
    language = language_of(text)
    found = terms(text, language)
    blob, length = pack(found)
    return length, language, blob, lexemes(found)


def lexemes(found: Sequence[str]) -> str:
    """Terms and their places, as PostgreSQL reads a tsvector. It has bounds: of a very long text the end has no places."""
    if len(found) > MOST_PLACES:
        return _bounded(found)
    places: dict[str, str] = {}
    for place, term in enumerate(found, 1):
        places[term] = f"{places[term]},{place}" if term in places else f"{quoted(term)}:{place}"
    return " ".join(places.values())


def _bounded(found: Sequence[str]) -> str:
    places: dict[str, list[str]] = {}
    for place, term in enumerate(found, 1):
        mine = places.setdefault(term, [])
        if place <= LAST_PLACE and len(mine) < MOST_PLACES:
            mine.append(str(place))
    parts, size = [], 0
    for term, mine in places.items():
        part = quoted(term) + (":" + ",".join(mine) if mine else "")
        size += len(part.encode("utf-8", "surrogatepass")) + 1
        if size > LONGEST_LEXEMES:
            break
        parts.append(part)
    return " ".join(parts)


def quoted(term: str) -> str:
    """A term as a tsvector or a tsquery writes it: data, whatever is in it."""
    if "'" in term or "\\" in term:
        term = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{term}'"
