"""One answer for each Idempotency-Key: who sends a write again, because no answer came, gets the first one's, for a day.

The key is kept in the memory's own store, so it holds in every process and over a restart. It is claimed before the work
begins, and given up when the work is refused, so that a corrected request may use it again. A process that dies in between
leaves a claim that others take over when its lease ends; what it had remembered by then is found again, because the ids of new
memories come from the key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidRequest, KeyInUse, KeyReused, StoreUnavailable
from ..ports import Notes, Store

KIND = "answer"
LEASE, KEPT = 120_000_000, 86_400_000_000  # microseconds
LONGEST = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A request that is to be done once: the name of its note, and what else a request with this key must be."""

    name: str
    request: str

    @classmethod
    def of(cls, key: str, owner: str, *request: bytes) -> Key:
        if not 1 <= len(key) <= LONGEST or not key.isascii() or not key.isprintable():
            raise InvalidRequest(f"An Idempotency-Key has 1 to {LONGEST} printable ASCII characters.", hint="Use a UUID.")
        return cls(name=_hash(owner.encode(), key.encode()), request=_hash(*request))

    def id(self, number: int) -> str:
        """The id of the memory with this number in the request."""
        return f"{self.name[:24]}{number:04x}"


def once(key: Key, store: Store, now: int, work: Callable[[], Mapping[str, Any]]) -> tuple[Mapping[str, Any], bool]:
    """What the work made of the request, now or the first time; and whether it was now."""
    notes: Notes | None = getattr(store, "notes", None)
    if notes is None:
        raise StoreUnavailable("This store can't keep answers for an Idempotency-Key.", hint="Leave it out.")
    claim = {"request": key.request, "answer": None}
    if not notes.add(KIND, key.name, claim, now, now + LEASE):
        return _first(key, notes.get(KIND, key.name, now)), False
    try:
        answer = work()
    except BaseException:
        notes.drop(KIND, key.name)
        raise
    notes.put(KIND, key.name, {"request": key.request, "answer": answer}, now + KEPT)
    return answer, True


def _first(key: Key, kept: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if kept is not None and kept["request"] != key.request:
        raise KeyReused("This Idempotency-Key came with another request.", hint="Use a new key for a new request.")
    if kept is None or kept["answer"] is None:
        raise KeyInUse(hint="Try again in a moment.")
    return kept["answer"]


def _hash(*parts: bytes) -> str:
    whole = hashlib.blake2b(digest_size=20)
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()
