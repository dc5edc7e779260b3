"""mem0's users, agents and runs as owners, agents and sessions of ours, and ids that say whose they are.

For `mem0` alone. A user is an owner of its own; a memory's id is a UUID, as mem0's are, whose first half stands for the user.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from secrets import token_bytes
from typing import Any
from uuid import UUID

from ..errors import InvalidRequest
from .carried import name_of, plain

IDS = ("user_id", "agent_id", "run_id")
_OWNER_NAME = re.compile(r"\w[\w.@+:=-]{0,99}")


def scope_of(given: Mapping[str, Any]) -> dict[str, str]:
    """The ids that are given, as mem0 takes them: text without white space."""
    scope = {name: str(given[name]).strip() for name in IDS if given.get(name) is not None}
    for name, value in scope.items():
        if not value or any(char.isspace() for char in value) or isinstance(given[name], (Mapping, list, tuple, set)):
            raise InvalidRequest(f"Invalid {name}: {given[name]!r:.60}.", hint="It is text without white space.")
    if not scope:
        raise InvalidRequest(
            f"At least one of {', '.join(IDS)} must be given.", hint='user_id="alice", or filters={"user_id": "alice"}'
        )
    return scope


def narrowing(scope: Mapping[str, str]) -> dict[str, Any]:
    """What recall and list are asked, so that they see what is mem0's, of this agent and run."""
    agent, session = part_of(scope, "agent_id"), part_of(scope, "run_id")
    found = {"projects": ["mem0"], "roles": ("note",)} | ({} if agent is None else {"agent": agent})
    return found | ({} if session is None else {"sessions": [session]})


def part_of(scope: Mapping[str, str], name: str) -> str | None:
    return plain(name, scope[name]) if name in scope else None


def owner_of(tenant: str, user: str) -> str:
    """A user as an owner: readable where it can be, and never another's, nor anybody's above."""
    return f"{tenant}/{user if _OWNER_NAME.fullmatch(user) and not user.startswith('user-') else name_of('user', user)}"


def digest_of(user: str | None) -> bytes:
    return blake2b(repr(user).encode("utf-8", "backslashreplace"), digest_size=8).digest()


def user_record(user: str) -> str:
    return f"mem0-user-{digest_of(user).hex()}"


def new_id(scope: Mapping[str, str], text: str | None) -> str:
    """An id as mem0's, whose first half says whose it is; the second is made from what is said, or from nothing."""
    said = repr([scope.get("agent_id"), scope.get("run_id"), text]).encode("utf-8", "backslashreplace")
    own = token_bytes(8) if text is None else blake2b(said, digest_size=8).digest()
    return str(UUID(bytes=digest_of(scope.get("user_id")) + own))


def history_of(memory_id: str) -> str:
    return f"mem0:history:{memory_id}"
