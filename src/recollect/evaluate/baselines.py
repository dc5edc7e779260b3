"""What a recipe has to beat: four ways to search that share nothing with the engine but the embedder.

- `grep`: how many of the question's words, as they are, a record contains; newest first among equals. What an
  agent with a shell does.
- `bm25`: Robertson and Zaragoza, 2009, as Lucene computes it: k1 1.2, b 0.75, idf log(1 + (N − n + .5)/(n + .5)); Snowball stems,
  its 33 English stop words, pairs of characters for Chinese, Japanese and Korean, the speaker's name before the text.
- `dense`: exact cosine of the embedder's vectors.
- `rrf`: the first hundred of `bm25` and of `dense`, equally weighted, k 60 (Cormack, Clarke and Büttcher, 2009).

Written to be obviously right, in plain loops: a yardstick, not a search engine. Each is an object for one world: records
`arrive`, then it is `ask`ed; equal scores keep the order of arrival.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Protocol

import numpy as np

from ..embed import Embedding
from ..errors import NothingKnown
from ..records import SPOKEN
from ..stopwords import stop_words
from ..tokens import LANGUAGES, fold, language_of, words
from .datasets import Item

K1, B = 1.2, 0.75
RRF_K, RRF_POOL = 60, 100
STOPS = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of", "on", "or",
    "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
))  # fmt: skip
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]+|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]+")


class Baseline(Protocol):
    """One way to search one world."""

    def arrive(self, items: Sequence[Item]) -> None: ...

    def ask(self, text: str, limit: int) -> list[str]: ...


def spoken(item: Item) -> str:
    """A record's text as it was said: the speaker's name before it."""
    return f"{item.speaker}: {item.text}" if item.speaker else item.text


class Grep:
    """See the module."""

    def __init__(self, embedding: Embedding | None) -> None:
        self.lines: list[tuple[str, str]] = []

    def arrive(self, items: Sequence[Item]) -> None:
        self.lines += [(item.id, fold(spoken(item))) for item in items]

    def ask(self, text: str, limit: int) -> list[str]:
        stops = stop_words(language_of(text))
        wanted = {word for word in words(text) if word not in stops} or set(words(text))
        counts = [(-sum(word in line for word in wanted), -place, id) for place, (id, line) in enumerate(self.lines)]
        return [id for count, _, id in sorted(counts)[:limit] if count]


class Bm25:
    """See the module."""

    def __init__(self, embedding: Embedding | None) -> None:
        self.ids: list[str] = []
        self.lengths: list[int] = []
        self.postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self.language = ""

    def arrive(self, items: Sequence[Item]) -> None:
        if items and not self.language:
            self.language = Counter(language_of(item.text) for item in items).most_common(1)[0][0]
        for item in items:
            counted = Counter(analysed(spoken(item), self.language))
            for term, count in counted.items():
                self.postings[term].append((len(self.ids), count))
            self.ids.append(item.id)
            self.lengths.append(counted.total())

    def ask(self, text: str, limit: int) -> list[str]:
        average = sum(self.lengths) / max(1, len(self.ids)) or 1.0
        scores: dict[int, float] = defaultdict(float)
        for term in analysed(text, self.language):  # a word that is asked twice counts twice
            found = self.postings.get(term, ())
            rarity = math.log(1 + (len(self.ids) - len(found) + 0.5) / (len(found) + 0.5))
            for place, count in found:
                scores[place] += rarity * count / (count + K1 * (1 - B + B * self.lengths[place] / average))
        best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]
        return [self.ids[place] for place, _ in best]


def analysed(text: str, language: str) -> list[str]:
    """Terms as Lucene's analysers cut them: lower-cased words without its stop words, stemmed; pairs of Chinese and Japanese."""
    stem = _stemmer(language)
    found = []
    for word in _WORD.findall(text.lower()):
        if word[0] >= "\u3040":
            found += [word[i : i + 2] for i in range(len(word) - 1)] or [word]
        elif word not in STOPS:
            found.append(stem(word))
    return found


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    from Stemmer import Stemmer

    return Stemmer(LANGUAGES[language]).stemWord if language in LANGUAGES else str


class Dense:
    """See the module. Without an embedder it finds nothing."""

    def __init__(self, embedding: Embedding | None) -> None:
        self.embedding = embedding
        self.ids: list[str] = []
        self.blocks: list[np.ndarray] = []

    def arrive(self, items: Sequence[Item]) -> None:
        if self.embedding is None:
            return
        named = self.embedding.space.endswith(SPOKEN)
        rows = self.embedding.documents([spoken(item) if named else item.text for item in items])
        known = [(item.id, row) for item, row in zip(items, rows, strict=True) if row is not None]
        self.ids += [id for id, _ in known]
        self.blocks += [np.array([row for _, row in known])] if known else []

    def ask(self, text: str, limit: int) -> list[str]:
        if self.embedding is None or not self.ids:
            return []
        self.blocks = [np.concatenate(self.blocks)]
        try:
            cosines = np.round(self.blocks[0] @ self.embedding.ask(text)(), 6)
        except NothingKnown:
            return []
        return [self.ids[place] for place in np.argsort(-cosines, kind="stable")[:limit]]


class Fused:
    """See the module."""

    def __init__(self, embedding: Embedding | None) -> None:
        self.arms = (Bm25(embedding), Dense(embedding))

    def arrive(self, items: Sequence[Item]) -> None:
        for arm in self.arms:
            arm.arrive(items)

    def ask(self, text: str, limit: int) -> list[str]:
        scores: dict[str, float] = defaultdict(float)
        for arm in self.arms:
            for rank, id in enumerate(arm.ask(text, RRF_POOL), 1):
                scores[id] += 1 / (RRF_K + rank)
        return sorted(scores, key=lambda id: -scores[id])[:limit]


BASELINES: Mapping[str, Callable[[Embedding | None], Baseline]] = {"grep": Grep, "bm25": Bm25, "dense": Dense, "rrf": Fused}
