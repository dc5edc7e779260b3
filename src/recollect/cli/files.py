"""import, export, backup, restore: the commands that read and write files."""

from __future__ import annotations

import gzip
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ..errors import InvalidRecord, InvalidSetting, StoreUnavailable
from .entry import configured, opened
from .terminal import safe, sized

if TYPE_CHECKING:
    from .terminal import Bar, Screen

OFTEN = 200  # records between two looks at the progress bar
GZIPPED = b"\x1f\x8b"
LONGEST_LINE = 256 << 20


def take_in(args: Namespace, screen: Screen) -> None:
    from ..portable import load

    with (
        _source(args.file) as (stream, size, read),
        opened(args, screen, makes=True) as memory,
        screen.progress("importing", size) as bar,
    ):
        counts = load(memory, _watched(stream, read, bar), vectors=not args.no_vectors, settings=not args.no_settings)
        counts = {"added": 0, "unchanged": 0, "differing": 0} | counts | {"waiting": memory.status()["waiting"]}
    if screen.as_json:
        screen.json(counts)
        return
    screen.say(f"Remembered {counts['added']:,}; {counts['unchanged']:,} were there already.")
    if counts["differing"]:
        screen.note(
            f"{counts['differing']:,} are there with other content and were left as they are: forget them first to replace them."
        )
    if counts["waiting"]:
        screen.note(f"{counts['waiting']:,} texts wait for a vector: recollect upkeep embeds them now.", "dim")


def hand_out(args: Namespace, screen: Screen) -> None:
    from ..portable import export

    with opened(args, screen) as memory, _sink(args.file, args.force) as stream, screen.progress("exporting") as bar:
        bar.total = memory.status()["records"]
        count = export(memory, stream, vectors=not args.no_vectors, ascii_only=args.file == "-" and screen.tty, done=bar.step)
    if args.file == "-":
        return
    screen.json({"exported": count, "file": args.file}) if screen.as_json else screen.say(
        f"Exported {count:,} to {safe(args.file)}."
    )


def backup(args: Namespace, screen: Screen) -> None:
    from ..stores.files import path_of, settle_copy

    _, _, url = configured(args)
    path = path_of(url)
    if path is not None and not os.path.exists(path):
        raise StoreUnavailable(f"There is no file {path}.", hint="Name the memory with --db.")
    if path is not None and os.path.exists(args.file) and os.path.samefile(args.file, path):
        raise StoreUnavailable(f"{args.file} is the memory itself.", hint="Name another file.")
    _refuse(args.file, args.force)
    part = f"{args.file}.part"
    _clear(part)
    try:
        with opened(args, screen) as memory:
            memory.backup(part)
        if path is not None:
            os.chmod(part, os.stat(path).st_mode & 0o777)
        settle_copy(part, args.file)
    finally:
        _clear(part)
    size = os.path.getsize(args.file)
    screen.json({"file": args.file, "bytes": size}) if screen.as_json else screen.say(
        f"Backed up {sized(size)} to {safe(args.file)}."
    )


def restore(args: Namespace, screen: Screen) -> None:
    from ..stores import without_secrets
    from ..stores.files import path_of
    from ..stores.files import restore as put_back

    _, _, url = configured(args)
    target = path_of(url)
    if target is None:
        raise InvalidSetting(f"{without_secrets(url)} is not a file.", hint="Name a file with --db.")
    put_back(args.file, target, force=args.force)
    size = os.path.getsize(target)
    said = f"Restored {sized(size)} from {safe(args.file)} to {safe(target)}."
    screen.json({"file": args.file, "restored": target, "bytes": size}) if screen.as_json else screen.say(said)


def _watched(stream: IO[bytes], read: Callable[[], int], bar: Bar) -> Iterator[bytes]:
    """The lines of a file, none too long for the memory of this machine, with a look at how far it is read."""
    number = 0
    while line := stream.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            raise InvalidRecord(
                f"Line {number} is longer than {sized(LONGEST_LINE)}.", hint="Import a file that recollect export wrote."
            )
        if number % OFTEN == 0:
            bar.step(read())
        yield line


@contextmanager
def _source(name: str) -> Iterator[tuple[IO[bytes], int, Callable[[], int]]]:
    """A stream of lines, unpacked if it is packed; how large the file is, and how much of it is read."""
    if name == "-":
        yield _unpacked(sys.stdin.buffer), 0, lambda: 0
        return
    with open(name, "rb") as file:
        yield _unpacked(file), os.path.getsize(name), file.tell


def _unpacked(file: IO[bytes]) -> IO[bytes]:
    """By its first bytes, not its name: a packed file may come through a pipe, or have lost its ending."""
    first = file.peek(2)[:2] if hasattr(file, "peek") else b""
    return gzip.open(file) if first == GZIPPED else file


@contextmanager
def _sink(name: str, force: bool) -> Iterator[IO[bytes]]:
    """Standard output, or a file that gets its name when it is whole; packed, if the name ends so."""
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    _refuse(name, force)
    part = f"{name}.part"
    try:
        with open(part, "wb") as file:
            with gzip.open(file, "wb", compresslevel=6) if name.endswith(".gz") else nullcontext(file) as stream:
                yield stream
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, name)
    finally:
        Path(part).unlink(missing_ok=True)


def _clear(part: str) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        Path(part + end).unlink(missing_ok=True)


def _refuse(name: str, force: bool) -> None:
    if os.path.exists(name) and not force:
        raise StoreUnavailable(f"{name} is there already.", hint="Give --force to replace it.")
