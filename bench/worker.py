"""One measurement in a process of its own, so that nobody's memory, threads or caches are another's."""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from . import exact, models, ours
from .contestant import resident_mb, seconds, size_mb, timed
from .world import World

SURE, MOST = 0.99, 3200  # of the exact nearest, which is what recollect promises; and the effort at which we give up


def run(job: dict) -> dict[str, object]:
    world = World(Path(job["world"]), job["size"], job["owners"])
    folder = Path(job["folder"])
    if job["what"] == "first":
        return ours.first_answer(world, folder / "memory.db", job["owner"], job["recipe"])
    if job["what"] == "writes":
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            return ours.writes(world, Path(scratch))
    folder.mkdir(parents=True)
    if job["what"] == "models":
        return models.measured(world, folder)
    if job["what"] == "peer":
        return peer(world, folder, job["peer"])
    return {"one": ours.one_owner, "many": ours.many_owners}[job["what"]](world, folder, job["recipe"])


def peer(world: World, folder: Path, name: str) -> dict[str, object]:
    engine = importlib.import_module(f"bench.peers.{name}").Peer()
    found: dict[str, object] = {"name": engine.name, "setup": engine.setup}
    found["build_s"] = round(seconds(lambda: engine.build(folder, world.records())), 1)
    found |= asked(engine, world)
    found["rss_mb"] = resident_mb()
    while recall(engine, world) < SURE and engine.ef < MOST:
        engine.ef *= 2
    if engine.ef > found["ef"]:
        found["sure"] = asked(engine, world)
    engine.close()
    return found | {"disk_mb": size_mb(folder), "records": world.size, "small": len(world.of_owner("o7"))}


def asked(engine: Any, world: World) -> dict[str, object]:
    """With the effort it is set to."""
    return {
        "ef": engine.ef,
        "all": timed(lambda q: engine.query(q.text, q.vector, None), world.warm, world.questions),
        "owner": timed(lambda q: engine.query(q.text, q.vector, "o7"), world.warm, world.questions),
        "vector_recall": recall(engine, world),
    }


def recall(engine: Any, world: World) -> float:
    near = [[int(id[1:]) for id in engine.nearest(q.vector)] for q in world.questions[: ours.EXACT_QUESTIONS]]
    return round(exact.vector_overlap(world, near), 4)


if __name__ == "__main__":
    print("RESULT " + json.dumps(run(json.loads(sys.argv[1]))))
