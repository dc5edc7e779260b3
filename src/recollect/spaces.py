"""The spaces of other models, searched beside the present one's while records lack a vector of it.

After the embedder was changed, part of a memory has vectors of the old model only, until `reembed` is through. Those records are
searched in the old model's space, with the question embedded by that model, if it can still be opened; and the answer says so, or
says how many records can't be searched. Vectors of different spaces are never compared: the rankings are merged by rank. A record
is in one of them only; with two spaces it comes out at most twice as far down. Not here: the embedding anew (`upkeep`).
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

if TYPE_CHECKING:
    import numpy as np


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

    def search(self, where: Where, view: str, limit: int, threshold: float | None) -> tuple[list[Found], list[str]]:
        """What each space finds of the records that the present one lacks, and what is to be said about it."""
        found, notes = [], []
        for space, count in self.lacking(view).items():
            try:
                vector = self._vector(space)
            except Exception as error:
                notes.append(f"{count:,} records have a vector of {space} only and are not searched: {error}"[:300])
                continue
            found.append(self.store.vector.nearest(where, space, view, vector, limit, threshold, beside=self.embedding.space))
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


def merged(rankings: Sequence[Found], limit: int) -> Found:
    """Rankings of different records as one, by rank: all the first ones, then all the second ones. A record counts once."""
    places = sorted((rank, number) for number, found in enumerate(rankings) for rank in range(len(found.keys)))
    best: dict[int, float] = {}
    for rank, number in places:
        best.setdefault(rankings[number].keys[rank], rankings[number].scores[rank])
    return Found(list(best)[:limit], list(best.values())[:limit])
