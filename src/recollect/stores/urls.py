"""URLs of stores and indexes as people may see them: without what is secret."""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"(://[^:/?#]*):.*@", re.DOTALL)  # up to the last @: one that should have been %40 is part of it
_OPTION = re.compile(r"([?&](?:password|sslpassword|api_key)=)[^&]*", re.IGNORECASE)


def without_secrets(url: str) -> str:
    """The URL with … in place of passwords and keys."""
    return _OPTION.sub(r"\1…", _PASSWORD.sub(r"\1:…@", url))
