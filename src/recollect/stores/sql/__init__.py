"""SQL is SQL: it lives in .sql files beside this one. This reads them.

`blocks("sqlite/queries.sql")` gives the named statements of a file: each starts with a line `-- name: …`, then a
comment sentence saying what it is for, then the statement.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from types import SimpleNamespace

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def text(path: str) -> str:
    """A whole .sql file."""
    return resources.files(__package__).joinpath(*path.split("/")).read_text(encoding="utf-8")


@cache
def blocks(path: str) -> SimpleNamespace:
    """The named statements of a file, as attributes."""
    parts = _NAME.split(text(path))
    return SimpleNamespace(**{name: _bare(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)})


def migrations(path: str) -> list[tuple[int, str, str]]:
    """(number, name, script) of every numbered migration in a folder, in order."""
    folder = resources.files(__package__).joinpath(*path.split("/"))
    entries = folder.iterdir() if folder.is_dir() else ()  # no folder, while there is no migration: git keeps no empty one
    names = sorted(entry.name for entry in entries if re.fullmatch(r"\d{4}_\w+\.sql", entry.name))
    return [(int(name[:4]), name[5:-4], folder.joinpath(name).read_text(encoding="utf-8")) for name in names]


def _bare(body: str) -> str:
    lines = (line for line in body.strip().splitlines() if not line.startswith("--"))
    return "\n".join(lines).strip().rstrip(";")
