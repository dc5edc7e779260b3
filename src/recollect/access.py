"""Access tokens: made, shown once, checked, revoked. Each is bound to an owner path, and to reading or to writing as well.

For the doors that others come in by: HTTP and MCP. What is kept is a hash, in the memory's own store, so that every process that
has the store open knows a new token, and no longer knows a revoked one, with its next request. Not for people's passwords: a
token is 32 random bytes, for which one round of SHA-256 is as good as many.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from hmac import compare_digest
from typing import Any

from .errors import InvalidRecord, NotAuthenticated, NotFound, StoreUnavailable
from .ports import Notes, Store
from .records import check_owner, micros, moment

KIND, LONGEST = "token", 200
_TOKEN = re.compile(r"recollect_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_NEVER = "0" * 64
_CURE = "Make one: recollect token create --owner acme/alice. Send it: Authorization: Bearer recollect_…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a token allows. `id` is its name, no secret."""

    id: str
    owner: str
    write: bool = False
    label: str = ""
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None

    def reaches(self, owner: str) -> bool:
        """Whether it may act for this owner: its own path, and what lies below it."""
        return owner == self.owner or owner.startswith(self.owner + "/")


class Access:
    """The tokens of a store. `clock` says when a token expires."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        notes = getattr(store, "notes", None)
        if notes is None:
            raise StoreUnavailable("This store can't keep access tokens.", hint="Use a SQLite file or PostgreSQL.")
        self._notes: Notes = notes
        self._clock = clock

    def create(self, owner: str, *, write: bool = False, label: str = "", expires: Any = None) -> tuple[str, Grant]:
        """A new token, which nobody can be shown again, and what it allows."""
        if len(label) > LONGEST or not label.isprintable():
            raise InvalidRecord(f"label={label!r:.60} can't be used.", hint=f"At most {LONGEST} printable characters.")
        now, end = self._now(), micros(expires, "expires")
        if end is not None and end <= now:
            raise InvalidRecord(f"expires={expires!s:.60} is not to come.", hint="Name a later moment.")
        id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        said = {"owner": check_owner(owner), "write": bool(write), "label": label}
        said |= {"created": now, "expires": end, "revoked": None}
        self._notes.add(KIND, id, {**said, "hash": _hash(secret)}, now)
        return f"recollect_{id}_{secret}", _grant(id, said)

    def check(self, token: str) -> Grant:
        """What this token allows; `NotAuthenticated` if it is unknown, revoked or expired, and not a word which of these."""
        found = _TOKEN.fullmatch(token)
        id, secret = found.groups() if found else ("", "")
        kept = self._notes.get(KIND, id, now := self._now()) or {}
        right = compare_digest(_hash(secret), str(kept.get("hash", _NEVER)))
        if not right or kept["revoked"] is not None or (kept["expires"] is not None and kept["expires"] <= now):
            raise NotAuthenticated("The access token is not valid.", hint=_CURE)
        return _grant(id, kept)

    def revoke(self, id: str) -> Grant:
        """End a token now. Its row stays, so that a server that needed tokens goes on to need them."""
        kept = self._notes.get(KIND, id, now := self._now())
        if kept is None:
            raise NotFound(f"There is no token {id!r:.60}.", hint="See recollect token list.")
        ended = {**kept, "revoked": kept["revoked"] or now}
        self._notes.put(KIND, id, ended)
        return _grant(id, ended)

    def all(self) -> list[Grant]:
        """Every token there is or was, oldest first."""
        found = [_grant(id, kept) for id, kept in self._notes.all(KIND, self._now()).items()]
        return sorted(found, key=lambda grant: (grant.created, grant.id))

    def needed(self) -> bool:
        """Whether a token was ever made: from then on nobody gets in without."""
        return bool(self._notes.all(KIND, self._now()))

    def _now(self) -> int:
        return micros(self._clock(), "clock") or 0


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _grant(id: str, kept: Mapping[str, Any]) -> Grant:
    times = {name: moment(kept[name]) for name in ("created", "expires", "revoked")}
    return Grant(id=id, owner=kept["owner"], write=kept["write"], label=kept["label"], **times)
