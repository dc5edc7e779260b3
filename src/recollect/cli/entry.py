"""From the words typed to a command, and from what it raises to an exit status and one sentence."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from .line import parsed

if TYPE_CHECKING:
    from ..memory import Memory
    from ..settings import Settings
    from .terminal import Screen

FAILED, INTERRUPTED, CUT_OFF = 1, 130, 141  # the last two: what a shell reports for SIGINT and SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status. Wrong usage exits with 2 from within."""
    args = parsed(argv)
    from ..errors import RecollectError
    from ..settings import plain_terminal
    from .terminal import Screen

    screen = Screen(as_json=args.json, colour=not plain_terminal())
    try:
        status = _command(args.run)(args, screen)
        screen.out.flush()
        return status or 0
    except RecollectError as error:
        return _sorry(screen, str(error))
    except BrokenPipeError:
        _drop_output()
        return CUT_OFF
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        return _sorry(screen, f"{error.filename or 'The system'}: {error.strerror or error}.")


@contextmanager
def opened(args: Namespace, screen: Screen, *, makes: bool = False) -> Iterator[Memory]:
    """The memory a command works on. Only a command that writes makes a file; to the others a missing one is empty."""
    from ..memory import Memory
    from ..records import Scope

    settings, owner, url = configured(args)
    missing = not makes and not _is_there(url)
    with Memory.open("memory:" if missing else url, scope=Scope(owner=_named(owner)), settings=settings) as memory:
        yield memory
    if missing:
        screen.note(f"There is no file {url} yet: nothing is remembered.")


def configured(args: Namespace) -> tuple[Settings, str | None, str]:
    """The settings, the owner if one is named, and the memory's URL."""
    from ..settings import load

    settings = load()
    return settings, args.owner or settings.owner, args.db or settings.db


def _named(owner: str | None) -> str:
    from ..errors import ScopeRequired

    if not owner:
        raise ScopeRequired(
            "No owner was given.", hint="Name one: --owner alice, RECOLLECT_OWNER=alice, or owner in recollect.toml."
        )
    return owner


def _is_there(url: str) -> bool:
    from ..stores.files import path_of

    path = path_of(url)
    return path is None or os.path.exists(path)


def _command(run: str):
    from importlib import import_module

    module, _, function = run.partition(":")
    return getattr(import_module(f".{module}", __package__), function)


def _sorry(screen: Screen, sentence: str) -> int:
    sys.stdout.flush()
    screen.note(f"recollect: {sentence}", "red")
    return FAILED


def _drop_output() -> None:
    """Whoever read our output has gone: let Python's own last flush go nowhere."""
    with suppress(OSError, ValueError):  # standard output may be no real file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
