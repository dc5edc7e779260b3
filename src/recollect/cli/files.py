"""import, export, backup, restore: the commands that read and write files."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ..errors import InvalidSetting, StoreUnavailable
from .entry import configured, opened
from .terminal import safe, sized

if TYPE_CHECKING:
    from .terminal import Bar, Screen

OFTEN = 200  # records between two looks at the progress bar


def take_in(args: Namespace, screen: Screen) -> None:
    from ..portable import read_lines

    with (
        _source(args.file) as (stream, size),
        opened(args, screen, makes=True) as memory,
        screen.progress("importing", size) as bar,
    ):
        counts = memory.take(read_lines(_watched(stream, bar), memory.scope, memory.now()))
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
    from ..portable import line_of

    with opened(args, screen) as memory, _sink(args.file, args.force) as stream, screen.progress("exporting") as bar:
        bar.total = memory.status()["records"]
        count, shown = 0, args.file == "-" and screen.tty
        for count, record in enumerate(memory.each(), 1):
            stream.write(line_of(record, ascii_only=shown).encode() + b"\n")
            if count % OFTEN == 0:
                bar.step(count)
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
    from ..stores.files import path_of
    from ..stores.files import restore as put_back

    _, _, url = configured(args)
    target = path_of(url)
    if target is None:
        raise InvalidSetting(f"{url} is not a file.", hint="Name a file with --db.")
    put_back(args.file, target, force=args.force)
    size = os.path.getsize(target)
    said = f"Restored {sized(size)} from {safe(args.file)} to {safe(target)}."
    screen.json({"file": args.file, "restored": target, "bytes": size}) if screen.as_json else screen.say(said)


def _watched(stream: IO[bytes], bar: Bar) -> Iterator[bytes]:
    """The lines of a file, with a look at how far it is read."""
    done = 0
    for number, line in enumerate(stream, 1):
        done += len(line)
        if number % OFTEN == 0:
            bar.step(done)
        yield line


@contextmanager
def _source(name: str) -> Iterator[tuple[IO[bytes], int]]:
    if name == "-":
        yield sys.stdin.buffer, 0
        return
    with open(name, "rb") as stream:
        yield stream, os.path.getsize(name)


@contextmanager
def _sink(name: str, force: bool) -> Iterator[IO[bytes]]:
    """Standard output, or a file that gets its name when it is whole."""
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    _refuse(name, force)
    part = f"{name}.part"
    try:
        with open(part, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, name)
    finally:
        Path(part).unlink(missing_ok=True)


def _clear(part: str) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        Path(part + end).unlink(missing_ok=True)


def _refuse(name: str, force: bool) -> None:
    if os.path.exists(name) and not force:
        raise StoreUnavailable(f"{name} is there already.", hint="Give --force to replace it.")
