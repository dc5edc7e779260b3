"""serve: the command that answers over HTTP."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from ..errors import InvalidSetting, MissingExtra
from .entry import configured

if TYPE_CHECKING:
    from .terminal import Screen


def serve(args: Namespace, screen: Screen) -> None:
    try:
        from ..http.server import Serving
        from ..http.server import serve as run
        from ..http.service import Limits
    except ImportError as error:
        raise MissingExtra(f"{error.name} is not installed.", hint='Run: pip install "recollect[server]"') from None
    _checked(args)
    settings, owner, url = configured(args)
    if args.workers > 1 and url == "memory:":
        raise InvalidSetting("memory: is one process's own.", hint="Name a file with --db, or leave --workers at 1.")
    limits = Limits(body=args.max_body, seconds=args.timeout, rate=args.rate)
    serving = Serving(
        settings=settings, url=url, owner=owner, host=args.host, port=args.port, workers=args.workers, limits=limits
    )
    run(serving, screen.note)


def _checked(args: Namespace) -> None:
    ranges = {"port": (0, 65_535), "workers": (1, 256), "timeout": (0.1, 3600), "max_body": (1024, 1 << 30), "rate": (0, 1e6)}
    for name, (low, high) in ranges.items():
        if not low <= getattr(args, name) <= high:
            raise InvalidSetting(f"--{name.replace('_', '-')} is from {low:g} to {high:g}.")
