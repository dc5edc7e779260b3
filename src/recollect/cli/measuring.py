"""eval: the command that measures how well memories are found."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .entry import FAILED, configured

if TYPE_CHECKING:
    from ..evaluate.datasets import Dataset
    from ..evaluate.kept import Kept
    from ..evaluate.report import Table
    from ..evaluate.run import System
    from ..rerank import Judges
    from .terminal import Screen

NO_ANSWER = ("adversarial",)  # LoCoMo's questions about what never happened


def evaluate(args: Namespace, screen: Screen) -> int:
    from ..evaluate.against import as_table, changes, earlier
    from ..evaluate.page import page
    from ..evaluate.report import tables

    then = earlier(Path(args.against)) if args.against else None
    found = _measured(args, screen)
    moved = changes(found, then) if then is not None else []
    made = tables(found) + ([as_table(moved)] if moved else [])
    for file, text in ((args.save, json.dumps(found)), (args.html, page(found) if args.html else "")):
        if file:
            Path(file).write_text(text, encoding="utf-8")
    if screen.as_json:
        screen.json(found)
    else:
        _show(made, args.markdown, screen)
    for one in found["sets"]:
        for system in one["systems"]:
            for trouble, count in system["troubles"].items():
                screen.note(f"{one['name']}, {system['name']}: {count:,} questions: {trouble}")
    worse = [change for change in moved if change.worse]
    for change in worse:
        screen.note(f"Worse: {change.system} on {change.set}, {change.metric} {change.now.difference.mean:+.3f}.", "red")
    return FAILED if worse else 0


def _measured(args: Namespace, screen: Screen) -> dict[str, Any]:
    from ..evaluate.ablation import ablation, parts
    from ..evaluate.report import only, result
    from ..evaluate.run import run
    from ..recipes import Recipe

    systems, sets = _systems(args.recipe), sets_of(args)
    first, whole = next(iter(systems.items()))
    varied = parts(whole) if args.ablate and isinstance(whole, Recipe) else {}
    with embedder(args) as kept, screen.progress("measuring") as bar:
        runs, readers = [], judges(args)
        for one in sets:
            for voice in kept.voices if kept is not None else ():
                voice.told = lambda done, name=one.name: bar.step(done, 0, f"{name}: embedding")
            runs.append(run(one, {**systems, **varied}, kept, bar.step, judges=readers))
        about = {"name": "none"} if kept is None else {"name": kept.name, "space": " + ".join(v.space for v in kept.voices)}
    found = result(only(runs, list(systems)), about)
    return found | ({"ablation": ablation(runs, first, list(varied))} if varied else {})


def _show(made: Sequence[Table], as_markdown: bool, screen: Screen) -> None:
    from ..evaluate.report import markdown

    if as_markdown:
        screen.say(markdown(made))
        return
    for table in made:
        screen.heading(table.title)
        if table.note:
            screen.say(screen.paint(table.note, "dim"))
        screen.table(table.rows, table.head, ("cyan",))
        screen.say()


def sets_of(args: Namespace) -> list[Dataset]:
    """The sets that were named, without the questions that have no answer."""
    from ..evaluate.datasets import read_all

    return [one.without(args.without or NO_ANSWER) for one in read_all(args.folder, whole=args.whole_sessions)]


def _systems(asked: list[str] | None) -> dict[str, System]:
    """Recipes and baselines by what they are called; all there are when none is named."""
    from ..evaluate.baselines import BASELINES
    from ..recipes import PRESETS, as_recipe

    words = asked or [*PRESETS, *BASELINES]
    return {word if word in BASELINES else str(as_recipe(word)): word if word in BASELINES else as_recipe(word) for word in words}


def judges(args: Namespace) -> Judges:
    """The rerankers that recipes may name, with all the time they need."""
    from ..evaluate.run import OUT_OF_TIME
    from ..opening import open_judges

    settings, _, _ = configured(args)
    return open_judges(settings.reranker, replace(settings, deadline=OUT_OF_TIME))


@contextmanager
def embedder(args: Namespace) -> Iterator[Kept | None]:
    """The embedder that was named or is configured, its vectors kept in a file."""
    from ..embedders import apart, open_embedder
    from ..evaluate.kept import Kept
    from ..settings import cache_folder, models_folder

    settings, _, _ = configured(args)
    models, folder = models_folder(settings), Path(args.cache) if args.cache else cache_folder() / "eval"
    names = apart(args.embedder or settings.embedder, models_dir=models, api_key=settings.openai_api_key or None)
    opened = [one for name in names if (one := open_embedder(name, models_dir=models, **settings.of(name))) is not None]
    voices = tuple(Kept(one, folder / "vectors.db") for one in opened)
    for one in voices:
        one.voices = voices
    try:
        yield voices[0] if voices else None
    finally:
        for one in voices:
            one.close()
