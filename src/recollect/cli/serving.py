"""serve, token: the commands that let others in."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from ..errors import InvalidSetting, MissingExtra, ScopeRequired
from ..memory import Memory
from ..records import Scope
from ..wire import grant_json
from .entry import configured
from .memories import day
from .terminal import safe

if TYPE_CHECKING:
    from ..access import Grant
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
        settings=settings, url=url, owner=owner, host=args.host, port=args.port, workers=args.workers, limits=limits,
        log=args.log,
    )
    run(serving, screen.note)


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
