"""recollect, measured through its public API only."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from .contestant import in_batches, resident_mb, seconds, size_mb, timed
from .exact import text_overlap, vector_overlap
from .world import Question, Record, World

TWO_ROUTES = "recipe(routes=[lexical(pool=max(3x, 30)), vector(pool=max(3x, 30))], rrf_k=5)"
TEXT_ONLY = "recipe(routes=[lexical(pool=50)], pool=50)"
VECTOR_ONLY = "recipe(routes=[vector(pool=50)], pool=50)"
PRESETS = ("fast", "balanced")
CHUNK = 10_000
EXACT_QUESTIONS = 100


def open_memory(path: Path | str, owner: str, extractor: str | None = None):
    from recollect import Memory

    return Memory.open(str(path), owner=owner, embedder="none", extractor=extractor)


def as_dict(record: Record, vectors: bool = True) -> dict[str, object]:
    plain = {"text": record.text, "id": record.id, "at": record.at, "kind": "semantic"}
    return plain | {"vectors": {"full": record.vector}} if vectors else plain


def remember(memory, records: Iterable[Record], vectors: bool = True, chunk: int = CHUNK) -> None:
    """With the transactions that `remember_many` makes: one per 2,000, or one a chunk if that is smaller."""
    for some in in_batches(records, chunk):
        memory.remember_many([as_dict(record, vectors) for record in some])


def one_owner(world: World, folder: Path, recipe: str) -> dict[str, object]:
    """An owner of all the world's records, and beside it one who has as many as one of its labels: o7's, again."""
    memory = open_memory(folder / "memory.db", "alice")
    found: dict[str, object] = {"build_s": round(seconds(lambda: remember(memory, world.records())), 1)}
    small = memory.for_owner("bob")
    remember(small, (record for record in world.records() if record.owner == "o7"))
    found |= {"disk_mb": size_mb(folder), "records": world.size, "small": len(world.of_owner("o7"))}
    memory.close()
    memory = open_memory(folder / "memory.db", "alice")
    small = memory.for_owner("bob")
    found["all"] = timed(lambda q: ask(memory, q, recipe), world.warm, world.questions)
    found["rss_mb"] = resident_mb()
    found["owner"] = timed(lambda q: ask(small, q, recipe), world.warm, world.questions)
    found["text_only"] = timed(lambda q: ask(memory, q, TEXT_ONLY), world.warm, world.questions)
    found["vector_only"] = timed(lambda q: ask(memory, q, VECTOR_ONLY), world.warm, world.questions)
    found["presets"] = {name: timed(lambda q, name=name: ask(memory, q, name), world.warm, world.questions) for name in PRESETS}
    found["stages"] = stages(memory, world.questions, recipe)
    found |= exactness(memory, world)
    memory.close()
    return found


def ask(memory, question: Question, recipe: str, limit: int = 10) -> Sequence[tuple[str, str]]:
    answer = memory.recall(question.text, vectors={"full": question.vector}, recipe=recipe, limit=limit)
    return [(hit.id, hit.text) for hit in answer]


def stages(memory, questions: Sequence[Question], recipe: str) -> dict[str, float]:
    """Median ms of each route by the answers' own diagnostics, and of what is left of the whole call."""
    taken = defaultdict(list)
    for question in questions:
        start = time.perf_counter()
        answer = memory.recall(question.text, vectors={"full": question.vector}, recipe=recipe, limit=10)
        whole = (time.perf_counter() - start) * 1e3
        ran = [ranking for ranking in answer.diagnostics.routes if ranking.status == "ran"]
        for ranking in ran:
            taken[ranking.route.name].append(ranking.ms)
        taken["fuse, score, fetch, answer"].append(whole - sum(ranking.ms for ranking in ran))
        taken["whole call"].append(whole)
    return {name: round(float(np.median(ms)), 4) for name, ms in taken.items()}


def exactness(memory, world: World) -> dict[str, float]:
    asked = world.questions[:EXACT_QUESTIONS]

    def numbers(recipe: str, limit: int) -> list[list[int]]:
        return [[int(id[1:]) for id, _ in ask(memory, question, recipe, limit)] for question in asked]

    text, vector = numbers(TEXT_ONLY, 50), numbers(VECTOR_ONLY, 10)
    return {"text_overlap": round(text_overlap(world, text), 4), "vector_recall": round(vector_overlap(world, vector), 4)}


def many_owners(world: World, folder: Path, recipe: str) -> dict[str, object]:
    """As many owners as the world has labels in one file, written in two rounds; questions to twenty of them in turn."""
    memory = open_memory(folder / "memory.db", "nobody")
    owners = [f"o{n}" for n in range(world.owners)]

    def write() -> None:
        for half in (0, 1):
            for owner in owners:
                numbers = world.of_owner(owner)[half::2]
                some = (Record(f"r{n}", owner, world.texts[n], world.at(n), world.vectors[n]) for n in numbers)
                remember(memory.for_owner(owner), some)

    found: dict[str, object] = {"build_s": round(seconds(write), 1), "disk_mb": size_mb(folder), "owners": len(owners)}
    memory.close()
    memory = open_memory(folder / "memory.db", "nobody")
    asked = [memory.for_owner(owner) for owner in owners[:: max(1, len(owners) // 20)][:20]]
    for one in asked:
        ask(one, world.warm[0], recipe)
    turns = iter(range(1 << 30))
    found["owner"] = timed(lambda q: ask(asked[next(turns) % len(asked)], q, recipe), world.warm, world.questions)
    found["rss_mb"] = resident_mb()
    memory.close()
    return found


def first_answer(world: World, path: Path, owner: str, recipe: str) -> dict[str, float]:
    """In a fresh process: opening and one question, with the imports that are still missing, and again once they are there."""
    question = world.questions[0]

    def once() -> None:
        memory = open_memory(path, owner)
        ask(memory, question, recipe)
        memory.close()

    return {"first_ms": round(seconds(once) * 1e3, 1), "again_ms": round(seconds(once) * 1e3, 1)}


def writes(world: World, folder: Path, batch: int = 20_000, single: int = 1_000) -> dict[str, float]:
    """Records a second: in batches without vectors, with them, one by one, each durable before the next, and those unread."""
    memory = open_memory(folder / "memory.db", "warm")
    remember(memory, islice(world.records(), 500))
    plain, whole = memory.for_owner("plain"), memory.for_owner("whole")
    batch = min(batch, world.size)
    texts, vectors = ([as_dict(record, with_them) for record in islice(world.records(), batch)] for with_them in (False, True))
    bare = seconds(lambda: plain.remember_many(texts))
    full = seconds(lambda: whole.remember_many(vectors))
    one = memory.for_owner("single")
    alone = seconds(lambda: [one.remember(text) for text in world.texts[:single]])
    memory.close()
    with open_memory(folder / "memory.db", "unread", "none") as unread:
        unread_s = seconds(lambda: [unread.remember(text) for text in world.texts[:single]])
    took = {"batch": batch / bare, "batch_vectors": batch / full, "single": single / alone, "unread": single / unread_s}
    return {f"{name}_per_s": round(rate) for name, rate in took.items()}
