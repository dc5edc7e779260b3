"""What people said of recalled memories: for this question, this one should have come back, or should not have.

Kept as a record of the owner who said it, derived from the one it is about: so it goes when that one is forgotten, travels with
exports and backups, and no route ever finds it. The last word on a question and a record counts. `recollect tune` learns from
it; nothing else reads it, and no ranking changes by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from types import MappingProxyType
from typing import NamedTuple

from .ports import Add, Amend, Change
from .records import DERIVED, Record, micros, moment

MARK = "feedback"  # the key of its metadata, and how its id begins


class Label(NamedTuple):
    """One thing that was said: about which question and record, whether it was welcome, when (microseconds)."""

    query: str
    id: str
    good: bool
    at: int


def said(query: str, about: Record, owner: str, good: bool, now: int, there: bool) -> Change:
    """The change that notes it; `there`: something was said of this question and record before."""
    id, metadata, at = name_of(query, about), MappingProxyType({MARK: "good" if good else "bad"}), moment(now)
    if there:
        return Amend(id=id, fields={"metadata": metadata, "at": at})
    return Add(
        record=Record(
            id=id, owner=owner, agent=about.agent, project=about.project, text=query, kind="episodic", role=DERIVED,
            source=f"record:{about.id}", at=at, recorded_at=at, metadata=metadata,
        )
    )  # fmt: skip


def name_of(query: str, about: Record) -> str:
    """One id for one question and record."""
    words = "\0".join((about.id, query)).encode("utf-8", "replace")
    return f"{MARK}:{blake2b(words, digest_size=12).hexdigest()}"


def labels(records: Iterable[Record]) -> Iterator[Label]:
    """What was said, among these records."""
    for record in records:
        verdict = record.metadata.get(MARK)
        if record.role == DERIVED and verdict in ("good", "bad") and (record.source or "").startswith("record:"):
            yield Label(record.text, record.source.removeprefix("record:"), verdict == "good", _micros(record))


def _micros(record: Record) -> int:
    return micros(record.at if record.at is not None else record.recorded_at)
