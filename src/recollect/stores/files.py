"""A sqlite memory as a file: where it is, whether it is ours and sound, and a backup put in its place.

For `backup` and `restore`. Nothing here changes a file that it only looks at: an ordinary opening would bring its schema up
to date.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import quote

from ..errors import NotADatabase, StoreBusy, StoreUnavailable
from .sqlite_file import APPLICATION_ID

LOGS = ("-wal", "-shm", "-journal")


def path_of(url: str) -> str | None:
    """The file of a store's URL, or None for a store without one."""
    if url in ("memory:", ":memory:") or ("://" in url and not url.startswith("sqlite:")):
        return None
    return url.removeprefix("sqlite:///")


def verify(path: str) -> None:
    """Say what is wrong with a copy that nobody has open; nothing if it is ours and whole."""
    if not os.path.isfile(path):
        raise StoreUnavailable(f"There is no file {path}.", hint="Name a file that recollect backup wrote.")
    try:
        _look(path)
    except sqlite3.DatabaseError as error:
        raise NotADatabase(f"{path} is not a sound recollect database ({error}).", hint="Name another backup.") from None


def restore(backup: str, target: str, *, force: bool = False) -> None:
    """Put a checked copy of the backup in the target's place, all at once."""
    verify(backup)
    there = any(os.path.exists(target + end) for end in ("", *LOGS))
    if there and not force:
        raise StoreUnavailable(f"{target} is there already.", hint="Give --force to replace it, or another file with --db.")
    if there and os.path.samefile(backup, target):
        raise StoreUnavailable(f"{backup} is the memory itself.", hint="Name a backup.")
    with _copied(backup, target) as copy:
        verify(copy)
        if there:
            _let_go(target)
        os.replace(copy, target)
    _settle(target)


def settle_copy(part: str, target: str) -> None:
    """Give a copy that proves sound its name."""
    verify(part)
    os.replace(part, target)
    _settle(target)


class _copied:
    """A durable copy beside its place; gone again unless it was given the place."""

    def __init__(self, source: str, target: str) -> None:
        folder = Path(target).absolute().parent
        if not folder.is_dir():
            raise StoreUnavailable(f"There is no folder {folder}.", hint=f"Make it first: mkdir -p {folder}")
        with open(source, "rb") as reading, NamedTemporaryFile(dir=folder, prefix=".restore-", delete=False) as writing:
            self.path = writing.name
            shutil.copyfileobj(reading, writing, 1 << 20)
            writing.flush()
            os.fsync(writing.fileno())
        shutil.copymode(source, self.path)

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *error: object) -> None:
        Path(self.path).unlink(missing_ok=True)


def _look(path: str) -> None:
    """`immutable`: sqlite makes no files beside it. So the log must be in the file already, as a backup's is."""
    connection = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro&immutable=1", uri=True)
    try:
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise sqlite3.DatabaseError("it is another program's")
        wrong = [row[0] for row in connection.execute("PRAGMA integrity_check(3)") if row[0] != "ok"]
        if wrong:
            raise sqlite3.DatabaseError("; ".join(wrong))
    finally:
        connection.close()


def _let_go(target: str) -> None:
    """Make sure that nobody has the old file open: leaving WAL needs it alone. A broken file needs no such care."""
    if os.path.exists(target):
        connection = sqlite3.connect(target, timeout=1.0, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.DatabaseError as error:
            if "locked" in str(error):
                raise StoreBusy(
                    f"Another process has {target} open.", hint="End it first: what it writes later would be lost."
                ) from None
        finally:
            connection.close()
    for end in LOGS:
        Path(target + end).unlink(missing_ok=True)


def _settle(path: str) -> None:
    """Make the new name durable, where the system can."""
    try:
        folder = os.open(Path(path).absolute().parent, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(folder)
    except OSError:
        pass  # some file systems can't
    finally:
        os.close(folder)
