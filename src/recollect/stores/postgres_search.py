"""Text search of the postgres store: over shelves like everywhere, and PostgreSQL's own ranking for those who ask for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidQuery
from ..ports import Found
from ..query import Where
from ..tokens import query_terms
from .postgres_words import quoted
from .searches import NOTHING, ShelfLexical, look_at

if TYPE_CHECKING:
    from .postgres_server import Server
    from .shelf import Shelf
    from .shelves import Shelves


class PostgresLexical:
    """See `ports.Lexical`; `native` is only ours."""

    def __init__(self, shelves: Shelves, server: Server, queries: SimpleNamespace) -> None:
        self._shelves, self._server, self._q = shelves, server, queries
        same = ShelfLexical(shelves)
        self.words, self.tokens, self.substring, self.shares = same.words, same.tokens, same.substring, same.shares

    def native(self, where: Where, text: str, limit: int, match: str) -> Found:
        """PostgreSQL's cover density ranking (`ts_rank_cd`) of the same terms. match: any, all, or relax."""
        if match not in ("any", "all", "relax"):
            raise InvalidQuery(f"match={match!r:.40} is unknown.", hint="Use any, all or relax.")
        found = self._ranked(where, text, limit, every=match != "any")
        if match == "relax" and not found.keys:
            found = self._ranked(where, text, limit, every=False)
            return found._replace(relaxed=bool(found.keys), note="no record has all the words: any word counts")
        return found

    def _ranked(self, where: Where, text: str, limit: int, *, every: bool) -> Found:
        def look(shelf: Shelf, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
            wanted = tsquery(text, shelf.languages, every=every)
            if not wanted:
                return NOTHING
            # What is not to be seen must not take a place: then all that match are asked for.
            most = limit if mask is None else shelf.size
            rows = self._server.all(self._q.rank_words, (self._shelves.reads.path_of(shelf.owner), wanted, most))
            slots = np.array([slot for slot, _ in rows], np.int64)
            ranks = np.array([rank for _, rank in rows], np.float64).round(6)
            keep = slots < shelf.size if mask is None else (slots < shelf.size) & mask[np.minimum(slots, shelf.size - 1)]
            return slots[keep], ranks[keep]

        return look_at(self._shelves, where, limit, look)


def tsquery(text: str, languages: Iterable[str], *, every: bool) -> str:
    """The terms of a question as PostgreSQL asks for them: all of one language's, or any of them."""
    ways: Sequence[Sequence[str]] = [query_terms(text, [language]) for language in languages]
    joined = [(" & " if every else " | ").join(map(quoted, terms)) for terms in ways if terms]
    return " | ".join(f"({way})" for way in dict.fromkeys(joined))
