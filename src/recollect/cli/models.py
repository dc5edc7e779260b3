"""models: the command that lists, fetches, checks, measures and removes the models that run on this machine."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..embedders import models as offered
from ..embedders.speed import Speed, keep, kept, measure
from ..errors import MissingExtra, ModelDamaged, ModelNotInstalled, UnknownEmbedder
from .entry import configured
from .terminal import safe, sized

if TYPE_CHECKING:
    from ..ports import Embedder
    from .terminal import Screen


def models(args: Namespace, screen: Screen) -> None:
    from ..settings import models_folder

    folder = models_folder(configured(args)[0])
    if args.action in ("install", "verify", "remove") and args.name is None:
        names = ", ".join(offered.CATALOGUE)
        raise UnknownEmbedder(f"models {args.action} needs the name of a model.", hint=f"One of: {names}.")
    _ACTIONS[args.action](args.name, folder, screen)


def _list(name: str | None, folder: Path, screen: Screen) -> None:
    speeds = kept(folder)
    found = [_installable(one, speeds) for one in offered.listing(folder)] + [_packaged(one, speeds) for one in offered.PACKAGED]
    if screen.as_json:
        screen.json({"folder": str(folder), "models": found})
        return
    rows = [
        (one["name"], _state(one), sized(one["bytes"]) if one["bytes"] else "", one["dimension"] or "", one["languages"],
         one["licence"], one["speed"]["said"] if one["speed"] else "", one["about"])
        for one in found
    ]  # fmt: skip
    screen.table(rows, ("model", "state", "size", "numbers", "reads", "licence", "measured here", "what it is"), ("cyan",))


def _install(name: str, folder: Path, screen: Screen) -> None:
    with screen.progress("fetching") as bar:
        found = offered.install(name, folder, progress=lambda what, done, total: bar.step(done, total, what[:60]))
    speed = _measured(found.model.embedder, folder) if found.model.embedder else None
    if screen.as_json:
        screen.json(_installable(found, kept(folder)))
        return
    screen.say(
        f"{found.model.name} is at {safe(str(found.path))}; licence {found.model.licence}, beside it. Now: recollect reembed."
    )
    if speed is not None:
        screen.say(f"On this machine: {speed}.")


def _verify(name: str, folder: Path, screen: Screen) -> None:
    path = offered.verify(name, folder)
    screen.json({"model": name, "path": str(path), "ok": True}) if screen.as_json else screen.say(
        f"{safe(str(path))} is what it should be."
    )


def _remove(name: str, folder: Path, screen: Screen) -> None:
    gone = offered.remove(name, folder)
    said = f"Removed {name}." if gone else f"{name} was not installed."
    screen.json({"model": name, "removed": gone}) if screen.as_json else screen.say(said)


def _bench(name: str | None, folder: Path, screen: Screen) -> None:
    """Measure one model, or all that are there."""
    there = {one.name: one.embedder for one in (*offered.CATALOGUE.values(), *offered.PACKAGED) if one.embedder}
    if name is not None and name not in there:
        raise UnknownEmbedder(f"No model named {name!r:.60} makes vectors.", hint=f"One of: {', '.join(there)}.")
    found = {}
    with screen.progress("measuring", len(there)) as bar:
        for number, one in enumerate([name] if name else there):
            speed = _measured(there[one], folder, must=name is not None)
            found |= {one: speed} if speed is not None else {}
            bar.step(number + 1)
    if screen.as_json:
        screen.json({"models": [{"name": one, **_speed(speed)} for one, speed in found.items()]})
    else:
        screen.table([(one, str(speed)) for one, speed in found.items()], (), ("cyan",))


_ACTIONS: Mapping[str, Callable[[Any, Path, Any], None]] = {
    "list": _list, "install": _install, "verify": _verify, "remove": _remove, "bench": _bench,
}  # fmt: skip
ACTIONS = tuple(_ACTIONS)


def _measured(embedder: str, folder: Path, *, must: bool = False) -> Speed | None:
    """How quick it is, noted beside the models; None where it can't run here, unless it `must`."""
    from ..embedders import open_embedder

    try:
        opened: Embedder = open_embedder(embedder, models_dir=folder)
    except (MissingExtra, ModelNotInstalled, ModelDamaged):
        if must:
            raise
        return None
    speed = measure(opened)
    keep(folder, opened.profile.fingerprint, speed)
    return speed


def _installable(one: offered.Status, speeds: Mapping[str, Speed]) -> dict[str, Any]:
    model = one.model
    return {
        "name": model.name, "about": model.about, "embedder": model.embedder, "installed": one.installed, "path": str(one.path),
        "bytes": model.size, "dimension": model.dimension, "languages": model.languages, "licence": model.licence,
        "home": model.home, "speed": _speed_of(model.embedder, model.sha256[:8], speeds),
        "get": f"recollect models install {model.name}",
    }  # fmt: skip


def _packaged(one: offered.Packaged, speeds: Mapping[str, Speed]) -> dict[str, Any]:
    return {
        "name": one.name, "about": one.about, "embedder": one.embedder, "installed": find_spec(one.module) is not None,
        "path": None, "bytes": None, "dimension": one.dimension, "languages": one.languages, "licence": one.licence,
        "home": one.home,
        "speed": _speed_of(one.embedder, one.name, speeds), "get": f'pip install "recollect[{one.extra}]"' if one.extra else None,
    }  # fmt: skip


def _speed_of(embedder: str, mark: str, speeds: Mapping[str, Speed]) -> dict[str, Any] | None:
    """What was measured for a fingerprint that begins with the embedder's name and holds the model's mark."""
    found = next((speed for name, speed in speeds.items() if name.startswith(f"{embedder}:") and mark in name), None)
    return None if found is None else _speed(found)


def _speed(speed: Speed) -> dict[str, Any]:
    return {"ms_a_question": speed.question, "texts_a_second": speed.texts, "load_s": speed.load, "said": str(speed)}


def _state(one: Mapping[str, Any]) -> str:
    if one["path"] is None and one["installed"]:
        return "there"
    return "installed" if one["installed"] else "not installed" if one["path"] else str(one["get"])
