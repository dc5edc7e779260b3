"""PostgreSQL: recollect's store and the plain SQL of `bench/plain.py`, in one server, the same records and questions, in turn.

Two owners: one has 1 % of the records, the other all the rest. One client, then eight, each a process of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from . import plain, server, text, vectors
from .clients import alone, side_by_side
from .contestant import seconds
from .ours import TWO_ROUTES, open_memory, remember
from .world import Record, World

ENGINES = {
    "recollect": ({"engine": "ours", "recipe": TWO_ROUTES}, (1, 8)),
    "recollect, recipe `sci`": ({"engine": "ours", "recipe": "sci"}, (1,)),
    "plain SQL": ({"engine": "plain"}, (1, 8)),
}
INDEXED = {"plain SQL, by an HNSW index": ({"engine": "plain", "near": True}, (1, 8))}
QUESTIONS, JUDGED, EACH = 2_000, 200, 500


def measured(world: World, runs: Path, for_seconds: float) -> Iterator[dict[str, object]]:
    """What is known so far: after writing, and after each of the measurements that follow."""
    small = world.size // 100
    owners = {"small": range(small), "big": range(small, world.size)}
    asked = questions(world, owners, runs)
    with server.running(runs) as url:
        found: dict[str, object] = {"server": server.version(url), "settings": server.SETTINGS, "seconds": for_seconds}
        found |= {"ingest": ingest(world, owners, url), "cells": []}
        yield found
        for engines in (ENGINES, INDEXED):
            if engines is INDEXED:
                note("making an HNSW index")
                found["index_s"] = round(seconds(lambda: plain.index(url)))
            for owner, numbers in owners.items():
                job = {"url": url, "owner": owner, "asked": str(runs / "asked" / owner), "seconds": for_seconds}
                right = exactly(world, numbers, runs / "asked" / owner, asked[owner][:JUDGED])
                for row in rows(engines, job, right):
                    found["cells"].append({"records": len(numbers), **row})
                    yield found


def questions(world: World, owners: dict[str, range], runs: Path) -> dict[str, list[int]]:
    """Texts and vectors of each owner's questions, in a folder of his name; and which record each was made of."""
    words, made = vectors.Words(world.texts), {}
    for seed, (owner, numbers) in enumerate(owners.items(), 71):
        texts = [world.texts[number] for number in numbers]
        pairs = [(asked, numbers[own]) for asked, own in text.questions(texts, QUESTIONS, seed)]
        folder = runs / "asked" / owner
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "texts.json").write_text(json.dumps([asked for asked, _ in pairs]), encoding="utf-8")
        chance = np.random.default_rng(seed)
        np.save(folder / "vectors.npy", vectors.of_questions(words, pairs, world.vectors, chance))
        made[owner] = [own for _, own in pairs]
    return made


def ingest(world: World, owners: dict[str, range], url: str) -> dict[str, dict[str, int]]:
    """Records a second with their vectors: many together, then one by one."""
    plain.make(url)
    many = dict.fromkeys(("recollect", "plain SQL"), 0.0)
    for owner, numbers in owners.items():
        note(f"remembering {len(numbers):,} records, twice")
        with open_memory(url, owner) as memory:
            many["recollect"] += seconds(lambda memory=memory, numbers=numbers: remember(memory, some(world, numbers)))
        many["plain SQL"] += seconds(lambda owner=owner, numbers=numbers: plain.remember(url, owner, some(world, numbers)))
    few = list(islice(some(world, owners["big"]), EACH))
    again = [Record(f"again-{one.id}", one.owner, one.text, one.at, one.vector) for one in few]
    with open_memory(url, "single") as memory:
        one_ours = seconds(lambda: [remember(memory, [one]) for one in again])
    with open_memory(url, "unread", "none") as memory:
        one_unread = seconds(lambda: [remember(memory, [one]) for one in again])
    one_plain = seconds(lambda: plain.remember_each(url, "single", again))
    plain.settle(url)
    found = {name: {"many_per_s": round(world.size / many[name])} for name in many}
    each = {"recollect": one_ours, "recollect, nothing extracted": one_unread, "plain SQL": one_plain}
    return {name: {**found.get(name, {}), "single_per_s": round(len(few) / took)} for name, took in each.items()}


def rows(
    engines: dict[str, tuple[dict, tuple[int, ...]]], job: dict[str, object], right: list[dict[str, object]]
) -> Iterator[dict[str, object]]:
    """What each engine finds of what is right, and what its clients see."""
    for name, (how, counts) in engines.items():
        mine = job | how
        found = alone(mine | {"right": right})
        for clients in counts:
            note(f"{name}, owner {job['owner']}, {clients} client{'s' * (clients > 1)}")
            yield {"name": name, **found, **side_by_side(mine, clients)}


def exactly(world: World, numbers: range, folder: Path, made: list[int]) -> list[dict[str, object]]:
    """The exact 10 nearest of an owner's records to each of the first questions, and all that tie with the last of them; and the
    record that each question was made of."""
    cosines = np.load(folder / "vectors.npy")[: len(made)] @ world.vectors[numbers.start : numbers.stop].T
    tenth = np.partition(cosines, -10)[:, -10:-9]
    near = [(np.flatnonzero(row) + numbers.start).tolist() for row in cosines >= tenth - 1e-6]
    return [{"near": [f"r{one}" for one in some], "own": f"r{own}"} for some, own in zip(near, made, strict=True)]


def some(world: World, numbers: range) -> Iterator[Record]:
    for number in numbers:
        yield Record(f"r{number}", world.owner(number), world.texts[number], world.at(number), world.vectors[number])


def note(said: str) -> None:
    print(f"{said} …", file=sys.stderr, flush=True)
