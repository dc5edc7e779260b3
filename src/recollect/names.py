"""Names: when two of them are the same, and which of them a question names.

For the graph, in every store, and for facts, which are kept by whom they are about. Two spellings are one name when their words
are: case, accents, punctuation and possessives don't count. Not for finding names in texts nobody has named anything in, and
never a guess that two names mean one person: that has to be said, as an alias.

A name is found in a question when all its words stand there in order; where scripts have no spaces, when its characters do. One
word of a person's name is enough, and one typing error in a long word, each at a discount. Function words are no names, and
words such as "may" only where they are written like one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from .stopwords import known_words, ordinary_names
from .tokens import language_of, scripts, terms, words

PART, TYPO, SHARED = 0.8, 0.6, 0.8  # what a match is worth: a word of a person's name, a typing error, an alias of several
LONG = 6  # letters from which a typing error is forgiven
MOST = 16  # names of one question that count, the first ones

_RUNS = frozenset({"han", "kana", "hangul", "thai"})


class Named(NamedTuple):
    """A name that a question names, and how sure that is: 1 as it stands, less for a part or with a typing error."""

    key: str
    strength: float


def key_of(name: str) -> str:
    """What all spellings of a name have in common; empty when it has no word in it."""
    return " ".join(bare_words(name))


def bare_words(text: str) -> list[str]:
    """The words of a text without case, accents and possessives; other alphabets than ours by their stems. A run of an unspaced
    script is one word."""
    return [_bare(word) for word in words(text)]


@lru_cache(maxsize=65_536)
def _bare(word: str) -> str:
    found = terms(word, "none" if scripts(word) <= {"latin"} else "en")
    return found[0] if len(found) == 1 else word


@lru_cache(maxsize=65_536)
def is_run(word: str) -> bool:
    return not word.isascii() and bool(scripts(word) & _RUNS or len(terms(word, "none")) > 1)


class Index:
    """Names by what a question may have of them. Only grows: who asks says which of them count."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self.keys: set[str] = set()
        self.starting: dict[str, list[tuple[str, ...]]] = {}  # by first word
        self.runs: dict[str, list[str]] = {}  # by the first two characters
        self.holding: dict[str, list[str]] = {}  # names of several words, by their first and last
        self.edges: dict[str, list[str]] = {}  # long words by their first and by their last three letters
        for key in keys:
            self.add(key)

    def add(self, key: str) -> None:
        """One more name."""
        if not key or key in self.keys:
            return
        self.keys.add(key)
        parts = tuple(key.split(" "))
        self.starting.setdefault(parts[0], []).append(parts)
        if len(parts) > 1:
            for word in {parts[0], parts[-1]}:
                self.holding.setdefault(word, []).append(key)
        elif is_run(key):
            self.runs.setdefault(key[:2], []).append(key)
        elif len(key) >= LONG:
            self.edges.setdefault(key[:3], []).append(key)
            self.edges.setdefault("-" + key[-3:], []).append(key)


def named(text: str, index: Index, there: Callable[[str], bool], person: Callable[[str], bool]) -> list[Named]:
    """The names in a question, in their order, each once. `there`: whether a name counts; `person`: whether it is a person's."""
    asked = bare_words(text)
    plain = known_words("en") | known_words(language_of(text))
    at: dict[int, list[Named]] = {}
    taken = [0] * len(asked)  # how long a name a word is part of
    for start, parts in sorted(_whole(asked, index, there, plain), key=lambda found: (-len(found[1]), found[0])):
        span = range(start, start + len(parts))
        if not any(taken[i] > len(parts) or (taken[i] and len(parts) > 1) for i in span) and (
            len(parts) > 1 or parts[0] not in ordinary_names() or _written_as_name(parts[0], text)
        ):
            at.setdefault(start, []).append(Named(" ".join(parts), 1.0))
            for i in span:
                taken[i] = len(parts)
    for i, word in enumerate(asked):
        found = at.setdefault(i, [])
        if is_run(word):
            found += [Named(key, 1.0) for key in _within(word, index, there) if key != word]
        elif taken[i] < 2 and word not in plain:
            found += _parts(word, text, index, there, person) if len(word) > 2 else []
            found += _misspelt(word, index, there) if not found and len(word) >= LONG else []
    return _once(one for i in sorted(at) for one in at[i])


def _whole(
    asked: list[str], index: Index, there: Callable[[str], bool], plain: frozenset[str]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Where a name stands word for word. What consists of function words, or of one letter, is none."""
    for start, word in enumerate(asked):
        for parts in index.starting.get(word, ()):
            if tuple(asked[start : start + len(parts)]) != parts or plain.issuperset(parts):
                continue
            if (len(parts) > 1 or len(word) > 1 or is_run(word)) and there(" ".join(parts)):
                yield start, parts


def _within(run: str, index: Index, there: Callable[[str], bool]) -> Iterator[str]:
    """Names inside a run of characters, the longest first at each place, none inside another."""
    start = 0
    while start < len(run) - 1:
        fitting = [key for key in index.runs.get(run[start : start + 2], ()) if run.startswith(key, start) and there(key)]
        longest = max(fitting, key=len, default=None)
        if longest is not None:
            yield longest
        start += len(longest or "x")


def _parts(
    word: str, text: str, index: Index, there: Callable[[str], bool], person: Callable[[str], bool]
) -> list[Named]:  # fmt: skip
    """Persons of whose name the word is the first or the last."""
    keys = [key for key in index.holding.get(word, ()) if there(key) and person(key)]
    return [Named(key, PART) for key in sorted(keys)] if word not in ordinary_names() or _written_as_name(word, text) else []


def _misspelt(word: str, index: Index, there: Callable[[str], bool]) -> list[Named]:
    """Names of one long word that begin alike and are one typing error away."""
    near = {*index.edges.get(word[:3], ()), *index.edges.get("-" + word[-3:], ())}
    return [Named(key, TYPO) for key in sorted(near) if key[0] == word[0] and _one_apart(key, word) and there(key)]


def _one_apart(one: str, other: str) -> bool:
    """One letter too many, missing, wrong, or two exchanged."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    a, b = one[start:], other[start:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


def _written_as_name(word: str, text: str) -> bool:
    """Capitalised where a sentence goes on, or said to own something."""
    for found in re.finditer(rf"\b{re.escape(word)}\b(['\u2019]s\b)?", text, re.IGNORECASE):
        before = text[max(0, found.start() - 8) : found.start()]
        goes_on = re.search(r"\w", before) and not re.search(r"[.?!:]\W*$", before)
        if found[1] or (found[0][0].isupper() and goes_on and not text.isupper()):
            return True
    return False


def _once(found: Iterable[Named]) -> list[Named]:
    best: dict[str, float] = {}
    for key, strength in found:
        best[key] = max(strength, best.get(key, 0.0))
    return [Named(key, strength) for key, strength in list(best.items())[:MOST]]


def canonical(claims: Mapping[str, set[str]]) -> dict[str, str]:
    """Which name an alias stands for: the one that claims it, if one alone does. `claims`: alias to the names it was given to.

    Where names claim each other in a circle, all of them stand for the first of them by code point.
    """
    return {alias: _root(alias, claims) for alias in claims if _root(alias, claims) != alias}


def _root(key: str, claims: Mapping[str, set[str]]) -> str:
    path = [key]
    while len(claimants := claims.get(path[-1], ())) == 1:
        (name,) = claimants
        if name in path:
            return min(path[path.index(name) :])
        path.append(name)
    return path[-1]
