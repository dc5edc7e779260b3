"""Schema for the new, migrations for the old: numbered .sql files, one transaction each, recorded.

A new file gets the whole schema at once; an old one gets the migrations it lacks. A test holds that both end equal. Works on
anything with `execute`, so that every SQL store can use it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import NewerSchema

Migration = tuple[int, str, str]


def latest(migrations: Sequence[Migration]) -> int:
    """The schema version this code writes: 1 for the first schema, then the last migration's number."""
    return max((number for number, _, _ in migrations), default=1)


def bring_up(
    version: int, migrations: Sequence[Migration], run: Callable[[str], None], record: Callable[[int, str], None], where: str
) -> int:
    """Run the migrations above `version`; `run` executes a script and `record` notes it, both in the caller's transaction."""
    newest = latest(migrations)
    if version > newest:
        raise NewerSchema(
            f"{where} has schema version {version}; this recollect knows versions up to {newest}.",
            hint="Upgrade recollect, or export the memory with the newer version and import it here.",
        )
    for number, name, script in migrations:
        if number > version:
            run(script)
            record(number, name)
    return newest


def statements(script: str) -> list[str]:
    """The statements of a script; semicolons inside strings or comments do not occur in ours."""
    lines = (line for line in script.splitlines() if not line.lstrip().startswith("--"))
    return [part.strip() for part in "\n".join(lines).split(";") if part.strip()]
