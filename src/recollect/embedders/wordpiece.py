"""WordPiece as BERT-uncased does it: text into the numbers of the 30,522 pieces that its models were trained on.

For the embedders that run BERT-uncased models, which must see exactly the pieces they saw in training. Not the
tokenisation of text search: that is `tokens.py`. After Wu et al. 2016 (https://arxiv.org/abs/1609.08144) and the rules
published with BERT: drop control characters, give ideographs and punctuation room, strip accents, lower-case, then take the
longest piece that fits, again and again; a word that can't be spelled is one [UNK].

Our differences: "[CLS]" written in a text is four ordinary pieces, not a control token, so no remembered text can pose as
one; and what lies between two spaces is remembered, since most words of most texts were seen before.
"""

from __future__ import annotations

import unicodedata
import zlib
from functools import cache, lru_cache
from pathlib import Path

UNKNOWN, CLS, SEP = 100, 101, 102
LONGEST_WORD = 100  # a longer word is [UNK], by definition
_REMEMBERED = 32  # characters; longer stretches rarely come back
_VOCABULARY = Path(__file__).parent / "static" / "bert-uncased.vocab.z"
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # 256 short of the block, as the reference implementation has it
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """Pieces of a vocabulary. Safe to share between threads."""

    def __init__(self, vocabulary: list[str]) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self._unknown = self._numbers.get("[UNK]", UNKNOWN)
        self._longest = max(map(len, vocabulary))
        self._remembered = lru_cache(maxsize=32_768)(self._stretch)

    def encode(self, text: str, limit: int) -> list[int]:
        """The numbers of at most `limit` pieces, without [CLS] and [SEP]."""
        numbers: list[int] = []
        for stretch in text.split(" "):
            numbers.extend(self._remembered(stretch) if len(stretch) <= _REMEMBERED else self._stretch(stretch))
            if len(numbers) >= limit:
                break
        return numbers[:limit]

    def _stretch(self, text: str) -> tuple[int, ...]:
        words = unicodedata.normalize("NFD", text).translate(_CHARACTERS).split(" ")
        return tuple(number for word in words if word for number in self._spelled(word))

    def _spelled(self, word: str) -> list[int]:
        if len(word) > LONGEST_WORD:
            return [self._unknown]
        numbers, start = [], 0
        while start < len(word):
            number, start = self._longest_piece(word, start)
            if number is None:
                return [self._unknown]
            numbers.append(number)
        return numbers

    def _longest_piece(self, word: str, start: int) -> tuple[int | None, int]:
        prefix = "##" if start else ""
        for end in range(min(len(word), start + self._longest), start, -1):
            number = self._numbers.get(prefix + word[start:end])
            if number is not None:
                return number, end
        return None, start


@cache
def bert_uncased() -> WordPiece:
    """The vocabulary that every BERT-uncased model shares, read once."""
    return WordPiece(zlib.decompress(_VOCABULARY.read_bytes()).decode("utf-8").splitlines())


class _Characters(dict):
    """A table for `str.translate` that works out a character when it first meets it."""

    def __missing__(self, code: int) -> str:
        self[code] = rendered = _rendered(chr(code))
        return rendered


def _rendered(character: str) -> str:
    category = unicodedata.category(character)
    if character in "\t\n\r" or category in ("Zs", "Zl", "Zp"):
        return " "
    if character == "\ufffd" or category in ("Cc", "Cf", "Co", "Cs", "Mn"):
        return ""
    if category.startswith("P") or _is_ideograph(character) or (character.isascii() and not character.isalnum()):
        return f" {character} "
    return character.lower()


def _is_ideograph(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _IDEOGRAPHS)


_CHARACTERS = _Characters()
