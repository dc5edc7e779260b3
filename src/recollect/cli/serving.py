"""serve, mcp, token: the commands that let others in."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from ..errors import InvalidSetting, MissingExtra, ScopeRequired
from ..memory import Memory
from ..records import Scope
from ..wire import grant_json
from .entry import configured, opened
from .memories import day
from .terminal import safe

if TYPE_CHECKING:
    from ..access import Grant
    from ..http.server import Serving
    from .terminal import Screen


def serve(args: Namespace, screen: Screen) -> None:
    with _needed("server"):
        from ..http.server import serve as run
    run(_serving(args), screen.note)


def mcp(args: Namespace, screen: Screen) -> None:
    sets = list(dict.fromkeys(args.tools or ["memory"]))
    with _needed("mcp"):
        pass  # without the server: is the SDK there?
    if args.http:
        with _needed("server"):
            from ..http.server import serve as run
            from ..mcp.remote import application
        run(_serving(args), screen.note, partial(application, sets, args.read_only))
        return
    from ..mcp.stdio import serve_stdio

    with opened(args, screen, makes=not args.read_only) as memory:
        asyncio.run(serve_stdio(memory, sets, read_only=args.read_only))


@contextmanager
def _needed(extra: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise MissingExtra(f"{error.name} is not installed.", hint=f'Run: pip install "recollect[{extra}]"') from None


def _serving(args: Namespace) -> Serving:
    from ..http.server import Serving
    from ..http.service import Limits

    _checked(args)
    settings, owner, url = configured(args)
    if args.workers > 1 and url == "memory:":
        raise InvalidSetting("memory: is one process's own.", hint="Name a file with --db, or leave --workers at 1.")
    return Serving(
        settings=settings, url=url, owner=owner, host=args.host, port=args.port, workers=args.workers, log=args.log,
        limits=Limits(body=args.max_body, seconds=args.timeout, rate=args.rate),
    )  # fmt: skip


def token(args: Namespace, screen: Screen) -> None:
    from ..access import Access

    if (args.action == "revoke") != (args.id is not None):
        raise InvalidSetting("Only revoke takes the id of a token.", hint="recollect token revoke ID, recollect token list.")
    settings, owner, url = configured(args)
    if args.action == "create" and not owner:
        raise ScopeRequired("A token is made for an owner.", hint="Name one: --owner acme/alice.")
    with Memory.open(url, scope=Scope(owner=owner or "recollect"), settings=settings, embedder="none") as memory:
        access = Access(memory.store, memory.now)
        if args.action == "create":
            _made(*access.create(memory.scope.owner, write=args.write, label=args.label, expires=args.expires), screen)
        elif args.action == "revoke":
            grant = access.revoke(args.id)
            screen.json(grant_json(grant)) if screen.as_json else screen.say(f"Revoked {grant.id}, of {safe(grant.owner)}.")
        else:
            _listed(access.all(), screen)


def _made(token: str, grant: Grant, screen: Screen) -> None:
    if screen.as_json:
        screen.json(grant_json(grant) | {"token": token})
        return
    screen.say(token)
    screen.note(f"It is for {grant.owner}, may {_may(grant)}, and can't be shown again.")


def _listed(grants: list[Grant], screen: Screen) -> None:
    if screen.as_json:
        screen.json({"tokens": [grant_json(grant) for grant in grants]})
        return
    rows = [(one.id, one.owner, _may(one), day(one.created), day(one.expires), day(one.revoked), one.label) for one in grants]
    screen.table(rows, ("id", "owner", "may", "made", "expires", "revoked", "label"), ("cyan",))


def _may(grant: Grant) -> str:
    return "read and write" if grant.write else "read"


def _checked(args: Namespace) -> None:
    ranges = {"port": (0, 65_535), "workers": (1, 256), "timeout": (0.1, 3600), "max_body": (1024, 1 << 30), "rate": (0, 1e6)}
    for name, (low, high) in ranges.items():
        if not low <= getattr(args, name) <= high:
            raise InvalidSetting(f"--{name.replace('_', '-')} is from {low:g} to {high:g}.")
