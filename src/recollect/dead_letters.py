"""What an extractor could not read after all its tries: listed, tried again, or dropped. The records themselves are there.

    memory.dead_letters.list() → retry(…) or drop(…)

Kept in the store's notes, by owner: the id, the error and how often it was tried, and no word of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from .errors import UnknownRecord
from .query import Where
from .records import Record, moment

if TYPE_CHECKING:
    from .ports import Store

KIND = "extract:dead"
LONGEST = 300  # characters of an error


class DeadLetter(NamedTuple):
    """A record that could not be read: by which extractor, after how many tries, why, and when that was given up."""

    id: str
    extractor: str
    attempts: int
    error: str
    at: datetime


class DeadLetters:
    """Those of one owner. `where`: all the owner has; `again`: queue a record to be read anew, False if it has gone."""

    def __init__(self, store: Store, where: Where, again: Callable[[str], bool]) -> None:
        self._notes, self._store, self._where, self._again = getattr(store, "notes", None), store, where, again

    def list(self) -> list[DeadLetter]:
        """All whose record is there, the last one first."""
        return dead_letters(self._store, self._where.owner, self._where.now)

    def retry(self, *ids: str) -> int:
        """Have these read again, or all; how many that are. What has been forgotten meanwhile is dropped."""
        chosen = self._chosen(ids)
        queued = sum([self._again(letter.id) for letter in chosen])
        self._let_go(chosen)
        return queued

    def drop(self, *ids: str) -> int:
        """Let go of these, or of all: they stay as they are. How many those were."""
        chosen = self._chosen(ids)
        self._let_go(chosen)
        return len(chosen)

    def __len__(self) -> int:
        return len(self.list())

    def _chosen(self, ids: Sequence[str]) -> Sequence[DeadLetter]:
        letters = {letter.id: letter for letter in self.list()}
        if unknown := [name for name in ids if name not in letters]:
            raise UnknownRecord(f"There is no dead letter of {unknown[0]!r:.80}.", hint="dead_letters.list() has them all.")
        return [letters[name] for name in dict.fromkeys(ids or letters)]

    def _let_go(self, letters: Sequence[DeadLetter]) -> None:
        for letter in letters:
            self._notes.drop(KIND, name_of(self._where.owner, letter.id))


def dead_letters(store: Store, owner: str, now: int = 0) -> list[DeadLetter]:
    """All of an owner whose record is there, the last one first."""
    notes = getattr(store, "notes", None)
    mine = [note for note in (notes.all(KIND, now) if notes is not None else {}).values() if note["owner"] == owner]
    ids = [str(note["id"]) for note in mine]
    there = store.resolve(Where(owner=owner, now=now, timeless=True), ids) if mine else {}
    letters = [
        DeadLetter(str(one["id"]), str(one["extractor"]), int(str(one["attempts"])), str(one["error"]), moment(one["at"]))
        for one in mine if one["id"] in there
    ]  # fmt: skip
    return sorted(letters, key=lambda letter: (letter.at, letter.id), reverse=True)


def give_up(store: Store, record: Record, space: str, error: object, attempts: int, now: int) -> None:
    """Note that a record can't be read."""
    notes = getattr(store, "notes", None)
    if notes is not None:
        said = " ".join(str(error).split())[:LONGEST]
        about = {"owner": record.owner, "id": record.id, "extractor": space, "attempts": attempts, "error": said, "at": now}
        notes.put(KIND, name_of(record.owner, record.id), about)


def name_of(owner: str, id: str) -> str:
    return f"{owner} {id}"
