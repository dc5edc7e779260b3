"""eval and tune: the commands that measure how well memories are found."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .entry import configured

if TYPE_CHECKING:
    from ..evaluate.kept import Kept
    from ..evaluate.run import System
    from .terminal import Screen


def evaluate(args: Namespace, screen: Screen) -> int:
    from ..evaluate.datasets import read_all
    from ..evaluate.report import markdown, result, tables
    from ..evaluate.run import run

    systems = _systems(args.recipe)
    sets = [one.without(args.without or ("adversarial",)) for one in read_all(args.folder)]
    runs = []
    with _embedder(args) as kept, screen.progress("measuring") as bar:
        for one in sets:
            if kept is not None:
                kept.told = lambda done, name=one.name: bar.step(done, 0, f"{name}: embedding")
            runs.append(run(one, systems, kept, lambda done, total, name: bar.step(done, total, name)))
        found = result(runs, {"name": kept.profile.name, "space": kept.space} if kept is not None else {"name": "none"})
    if screen.as_json:
        screen.json(found)
    elif args.markdown:
        screen.say(markdown(tables(found)))
    else:
        for table in tables(found):
            screen.heading(table.title)
            screen.table(table.rows, table.head, ("cyan",))
            screen.say()
    return 0


def _systems(asked: list[str] | None) -> dict[str, System]:
    """Recipes and baselines by what they are called; all there are when none is named."""
    from ..evaluate.baselines import BASELINES
    from ..recipes import PRESETS, as_recipe

    words = asked or [*PRESETS, *BASELINES]
    return {word if word in BASELINES else str(as_recipe(word)): word if word in BASELINES else as_recipe(word) for word in words}


@contextmanager
def _embedder(args: Namespace) -> Iterator[Kept | None]:
    """The embedder that was named or is configured, its vectors kept in a file."""
    from ..embedders import open_embedder
    from ..evaluate.kept import Kept
    from ..settings import cache_folder, models_folder

    settings, _, _ = configured(args)
    inner = open_embedder(
        args.embedder or settings.embedder, models_dir=models_folder(settings), api_key=settings.openai_api_key or None,
        base_url=settings.openai_base_url or None,
    )  # fmt: skip
    folder = Path(args.cache) if args.cache else cache_folder() / "eval"
    kept = None if inner is None else Kept(inner, folder / "vectors.db")
    try:
        yield kept
    finally:
        if kept is not None:
            kept.close()
