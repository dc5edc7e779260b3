"""The presets with the models that are installed here: a question's whole way, its embedding and every stage included."""

from __future__ import annotations

from pathlib import Path

from .contestant import resident_mb, seconds, timed
from .world import World

PROMISED = {"fast": 2.0, "balanced": 15.0, "thorough": 150.0}  # ms of p50


def measured(world: World, folder: Path) -> dict[str, object]:
    """Each preset gets questions of its own: what was embedded or reread for one is remembered for the next."""
    from recollect import Memory
    from recollect.embedders import chosen
    from recollect.settings import load, models_folder

    embedder = chosen("auto", models_dir=models_folder(load()))
    with Memory.open(str(folder / "memory.db"), owner="alice", embedder=embedder) as memory:
        texts = [{"text": text, "at": world.at(number)} for number, text in enumerate(world.texts[: world.size])]

        def build() -> None:
            memory.remember_many(texts)
            memory.flush(24 * 3600)

        found: dict[str, object] = {"embedder": embedder, "records": world.size, "build_s": round(seconds(build), 1)}
        each = len(PROMISED)
        found["presets"] = {
            name: timed(lambda q, name=name: memory.recall(q.text, recipe=name), world.warm, world.questions[number::each])
            for number, name in enumerate(PROMISED)
        }
        return found | {"rss_mb": resident_mb()}
