"""The spaces of other models, searched beside the question's own for the records that have no vector there.

Where several embedders stand side by side, that is the rule: an English question leads in the English model's space, and what is
in other languages is searched in the multilingual one's. After the embedder was changed, part of a memory has vectors of the old
model only, until `reembed` is through. Those records are searched in the old model's space, with the question embedded by that
model, if it can still be opened; and the answer says so, or says how many records can't be searched.

Vectors of different spaces are never compared: the rankings are merged by rank, and where the recipe trusts models as far as they
were measured, by what a rank of each is worth. A record is in one of them only; with two spaces of equal worth it comes out at
most twice as far down. Not here: the embedding anew (`upkeep`).

A few short words don't tell their language, but the memory they are asked of does: such a question leads in the space of the
first model that has vectors of most of it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from .embed import Embedding
from .errors import EmbedderFailed, RecollectError
from .ports import Found, Store
from .query import Query, Where
from .tokens import language_of

if TYPE_CHECKING:
    import numpy as np

Voice = tuple[Found, float]  # what a space found, and what its model is worth beside text search


def leading(embedding: Embedding, text: str, where: Where, store: Store) -> Embedding:
    """In whose space a question is asked first."""
    able = embedding.readers(text) if len(embedding.voices) > 1 else ()
    if len(able) < 2 or language_of(text, ""):
        return embedding.leading(text)
    counts = [sum(store.vector.coverage(where, one.space, "full")) for one in able]  # those that wait are there soon
    return next(one for one, count in zip(able, counts, strict=True) if 2 * count >= max(counts))


class Others:
    """The other spaces, for one question."""

    def __init__(self, query: Query, embedding: Embedding, store: Store) -> None:
        self.query, self.embedding, self.store = query, embedding, store
        self._lacking: dict[str, Mapping[str, int]] = {}
        self._asked: dict[str, Callable[[], np.ndarray] | RecollectError] = {}

    def lacking(self, view: str) -> Mapping[str, int]:
        """Spaces that alone have this view of some records, and of how many. Empty is the rule."""
        if view not in self._lacking:
            where, tenant = self.query.where, self.query.scope.tenant
            owners = (where.owner, tenant) if tenant != where.owner else (where.owner,)
            found = [
                self.store.vector.elsewhere(
                    where if owner == where.owner else dataclasses.replace(where, owner=owner), self.embedding.space, view
                )
                for owner in owners
            ]
            self._lacking[view] = found[0] if not any(found[1:]) else sum(map(Counter, found), Counter())
        return self._lacking[view]

    def ask(self, view: str) -> None:
        """Start embedding the question with the models of these spaces."""
        for space in self.lacking(view):
            if space not in self._asked:
                try:
                    self._asked[space] = self._started(space)
                except RecollectError as error:
                    self._asked[space] = error

    def search(self, where: Where, view: str, limit: int, threshold: float | None) -> tuple[list[Voice], list[str]]:
        """What each space finds of the records that the present one lacks, with its worth, and what is to be said about it."""
        found, notes = [], []
        beside = {one.space: one.profile.weight for one in self.embedding.voices}
        for space, count in self.lacking(view).items():
            try:
                vector = self._vector(space)
            except Exception as error:
                notes.append(f"{count:,} records have a vector of {space} only and are not searched: {error}"[:300])
                continue
            own = self.store.vector.nearest(where, space, view, vector, limit, threshold, beside=self.embedding.space)
            found.append((own, beside.get(space, self.embedding.profile.weight)))
            if space not in beside:
                notes.append(f"{count:,} records are searched by their vectors of {space}")
        return found, notes

    def _started(self, space: str) -> Callable[[], np.ndarray]:
        other = self.embedding.other(space)
        if not other.reads(self.query.text):
            raise EmbedderFailed(f"{other.profile.name} can't read this script.")
        return other.ask(self.query.text)

    def _vector(self, space: str) -> np.ndarray:
        asked = self._asked.get(space)
        if isinstance(asked, RecollectError):
            raise asked
        if asked is None:
            raise EmbedderFailed("the question was not embedded by it.")
        return asked()


def merged(voices: Sequence[Voice], limit: int, k: float | None = None) -> Found:
    """Rankings of different records as one, by rank: all the first ones, then all the second ones. A record counts once.

    With a `k`, by what a rank is worth: worth / (k + rank), so that the first of a lesser model comes behind some of a better.
    """
    places = sorted(
        (rank if k is None else (k + rank + 1) / max(worth, 1e-9), number, rank)
        for number, (found, worth) in enumerate(voices) for rank in range(len(found.keys))
    )  # fmt: skip
    best: dict[int, float] = {}
    for _, number, rank in places:
        found = voices[number][0]
        best.setdefault(found.keys[rank], found.scores[rank])
    return Found(list(best)[:limit], list(best.values())[:limit])
