"""Texts in pieces: long ones into parts that are searched, conversations into chunks; both cut where the text itself pauses.

A long text is found poorly as a whole: BM25 thins it out, and a model reads its first lines only. So a text of more than LONG
characters is searched in parts of at most PART, and found as one (`gather`). On two-sided conversations with long answers
that raised nDCG@10 of word search by a quarter and changed nothing elsewhere; an overlap of the parts added nothing
(docs/conversations.md). Sessions are cut like the system "Memsense" does: on paragraph borders, at 4,000 characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

LONG, PART, MOST_PARTS = 1_500, 1_000, 512
CHUNK = 4_000

_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|\n")
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")


class Chunk(NamedTuple):
    """A piece of a conversation, and the number of the turn it begins with, or goes on with."""

    text: str
    first: int


def parts(text: str) -> list[str]:
    """The parts a long text is searched in; nothing for one that is searched whole."""
    if len(text) <= LONG:
        return []
    size = max(PART, -(-len(text) // (MOST_PARTS // 2)))  # packing leaves every piece at least half full, or joins it to the next
    return packed(_fine(paragraphs(text), size), size)


def paragraphs(text: str) -> list[str]:
    """What stands between empty lines."""
    return [part for part in map(str.strip, _PARAGRAPH.split(text)) if part]


def sentences(text: str) -> list[str]:
    """What ends in a full stop, a line's end, or their like in other scripts."""
    return [part for part in map(str.strip, _SENTENCE.split(text)) if part]


def packed(pieces: Iterable[str], size: int, between: str = "\n\n") -> list[str]:
    """Neighbouring pieces joined as long as they fit into `size`."""
    found: list[str] = []
    for piece in pieces:
        if found and len(found[-1]) + len(between) + len(piece) <= size:
            found[-1] += between + piece
        else:
            found.append(piece)
    return found


def chunked(turns: Iterable[str], size: int = CHUNK) -> list[Chunk]:
    """Turns as chunks of at most `size`. One that does not fit begins a new chunk, so what grows changes the last run only."""
    found: list[Chunk] = []
    for number, turn in enumerate(turns):
        if found and len(found[-1].text) + 2 + len(turn) <= size:
            found[-1] = found[-1]._replace(text=f"{found[-1].text}\n\n{turn}")
        else:
            found += [Chunk(part, number) for part in _fine([turn], size)]
    return found


def _fine(pieces: Iterable[str], size: int) -> Iterator[str]:
    """Pieces no longer than `size`: paragraphs, else sentences, else words, else as many characters as fit."""
    for piece in pieces:
        if len(piece) <= size:
            yield piece
        elif len(inner := paragraphs(piece)) > 1:
            yield from packed(_fine(inner, size), size)
        elif len(inner := sentences(piece)) > 1 or len(inner := piece.split()) > 1:
            yield from packed(_fine(inner, size), size, " ")
        else:
            yield from (piece[start : start + size] for start in range(0, len(piece), size))
