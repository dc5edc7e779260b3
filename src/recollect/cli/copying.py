"""copy: memories from one store to another, checked record by record at the end."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import StoreUnavailable, UnknownRecord
from ..moving import Copied
from ..moving import copy as copied
from ..stores import without_secrets
from .entry import FAILED, configured
from .terminal import safe

if TYPE_CHECKING:
    from ..ports import Store
    from .terminal import Bar, Screen


def copy(args: Namespace, screen: Screen) -> int:
    _refuse(args.source, args.target)
    with (
        _opened(args.source, args) as source,
        _opened(args.target, args) as target,
        screen.progress("copying") as bar,
    ):
        found = [
            copied(source, target, owner, update=args.update, progress=_labelled(bar, owner))
            for owner in _owners(args.owner, source, args.source)
        ]
    source_url, target_url = without_secrets(args.source), without_secrets(args.target)
    if screen.as_json:
        screen.json({
            "source": source_url, "target": target_url, "verified": all(one.verified for one in found),
            "owners": [one._asdict() | {"verified": one.verified} for one in found],
        })  # fmt: skip
    else:
        rows = [(one.owner, f"{one.records:,}", f"{one.added:,}", f"{one.updated:,}", _state(one)) for one in found]
        screen.table(rows, ("owner", "records", "added", "updated", "compared"), ("cyan",))
    return _complaint(found, target_url, screen)


def _owners(owner: str | None, source: Store, url: str) -> list[str]:
    owners = source.owners()
    if owner is None or owner in owners:
        return owners if owner is None else [owner]
    there = ", ".join(owners[:10]) or "nobody"
    raise UnknownRecord(f"{without_secrets(url)} holds nothing of {owner}.", hint=f"It holds memories of {there}.")


def _state(one: Copied) -> str:
    more = f"; {one.more:,} more at the target" if one.more else ""
    return ("equal" if one.verified else f"{len(one.missing)} missing, {len(one.unlike)} different") + more


def _complaint(found: Sequence[Copied], target: str, screen: Screen) -> int:
    wrong = [one for one in found if not one.verified]
    for one in wrong:
        if one.missing:
            screen.note(f"{safe(target)} lacks {', '.join(one.missing)} of {one.owner}: run it again.", "red")
        if one.unlike:
            said = f"{safe(target)} has other content for {', '.join(one.unlike)} of {one.owner}"
            screen.note(f"{said}: --update makes it as it is at the source.", "red")
    return FAILED if wrong else 0


def _labelled(bar: Bar, owner: str):
    return lambda done, total: bar.step(done, total, f"copying {owner}")


def _refuse(source: str, target: str) -> None:
    from ..stores.files import path_of

    here, there = path_of(source), path_of(target)
    if here is not None and not os.path.exists(here):
        raise StoreUnavailable(f"There is no file {here}.", hint="Name the store to copy from first, then the one to copy to.")
    if source == target or (here and there and os.path.exists(there) and os.path.samefile(here, there)):
        raise StoreUnavailable(f"{without_secrets(source)} can't be copied onto itself.", hint="Name another target.")


@contextmanager
def _opened(url: str, args: Namespace) -> Iterator[Store]:
    from ..stores import open_store

    store = open_store(url, busy_seconds=configured(args)[0].busy)
    try:
        yield store
    finally:
        store.close()
