"""One client of a server, in a process of its own: it warms up, says READY, waits for a line, and asks for so many seconds.

    python -m bench.clients '{"engine": "ours", "url": …, "owner": …, "asked": FOLDER, "recipe": …, "seconds": 10, "turn": 0}'

`asked` holds texts.json and vectors.npy. With "right", what is to be found for each of the first questions, it counts how much
of that it finds, and no clock runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from .contestant import resident_mb

WARM, LONGEST_WARM = 100, 10.0  # questions, and seconds after which they are enough
LEAST = 10  # questions to each client, however long they take
ROOT = Path(__file__).resolve().parent.parent
NEAREST = "recipe(routes=[vector(pool=3x)])"
Ask = Callable[[int], Sequence[tuple[str, str]]]


def side_by_side(job: dict[str, object], clients: int) -> dict[str, float]:
    """What so many clients see who ask all at once, one question after the other each."""
    every = [_start(job | {"turn": number}) for number in range(clients)]
    for client in every:
        if client.stdout.readline() != "READY\n":
            raise RuntimeError("a client did not get ready; its own message is further up.")
    for client in every:
        client.stdin.write("go\n")
        client.stdin.flush()
    found = [json.loads(client.communicate()[0]) for client in every]
    taken = [ms for one in found for ms in one["taken"]]
    p50, p99 = (round(float(np.percentile(taken, q)), 3) for q in (50, 99))
    return {
        "clients": clients, "p50": p50, "p99": p99, "per_s": round(sum(len(one["taken"]) / one["seconds"] for one in found), 1),
        "first_ms": round(float(np.median([one["first_ms"] for one in found])), 1), "rss_mb": max(one["rss_mb"] for one in found),
    }  # fmt: skip


def alone(job: dict[str, object]) -> dict[str, float]:
    """What one client finds of what is right."""
    client = _start(job)
    return json.loads(client.communicate()[0])


def _start(job: dict[str, object]) -> subprocess.Popen:
    command = [sys.executable, "-m", "bench.clients", json.dumps(job)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run(job: dict) -> dict[str, object]:
    texts = json.loads((Path(job["asked"]) / "texts.json").read_text(encoding="utf-8"))
    vectors = np.load(Path(job["asked"]) / "vectors.npy")
    start = time.perf_counter()
    ask, nearest, close = {"ours": ours, "plain": plain}[job["engine"]](job, texts, vectors)
    ask(len(texts) - 1)
    first = (time.perf_counter() - start) * 1e3
    if "right" in job:
        found = correct(job["right"], ask, nearest)
    else:
        found = against_the_clock(ask, len(texts), job["turn"], job["seconds"]) | {"first_ms": first, "rss_mb": resident_mb()}
    close()
    return found


def against_the_clock(ask: Ask, questions: int, turn: int, seconds: float) -> dict[str, object]:
    """Each client begins elsewhere in the list, and the last questions only warm up."""
    until = time.perf_counter() + LONGEST_WARM
    for number in range(questions - WARM, questions):
        if time.perf_counter() < until:
            ask(number)
    print("READY", flush=True)
    sys.stdin.readline()
    there = questions - WARM
    order = islice(cycle(range(there)), turn * there // 8, None)
    taken, begin = [], time.perf_counter()
    while (start := time.perf_counter()) < begin + seconds or len(taken) < LEAST:
        ask(next(order))
        taken.append((time.perf_counter() - start) * 1e3)
    return {"taken": [round(ms, 4) for ms in taken], "seconds": time.perf_counter() - begin}


def correct(right: Sequence[dict], ask: Ask, nearest: Callable[[int], Sequence[str]]) -> dict[str, float]:
    """Shares found: of the exact 10 nearest by the vector query alone, and of the records that the questions were made of."""
    near = [len(set(nearest(number)) & set(one["near"])) / 10 for number, one in enumerate(right)]
    own = [any(id == one["own"] for id, _ in ask(number)) for number, one in enumerate(right)]
    return {"vector_recall": round(float(np.mean(near)), 4), "own": round(float(np.mean(own)), 4)}


def ours(job: dict, texts: Sequence[str], vectors: np.ndarray) -> tuple[Ask, Callable[[int], Sequence[str]], Callable]:
    from recollect import Memory

    memory = Memory.open(job["url"], owner=job["owner"], embedder="none")

    def ask(number: int, recipe: str = job["recipe"]) -> Sequence[tuple[str, str]]:
        answer = memory.recall(texts[number], vectors={"full": vectors[number]}, recipe=recipe, limit=10)
        return [(hit.id, hit.text) for hit in answer]

    return ask, lambda number: [id for id, _ in ask(number, NEAREST)], memory.close


def plain(job: dict, texts: Sequence[str], vectors: np.ndarray) -> tuple[Ask, Callable[[int], Sequence[str]], Callable]:
    from .plain import Plain, literal

    client, written = Plain(job["url"], job.get("near", False)), [literal(vector) for vector in vectors]
    owner = job["owner"]
    return (
        lambda number: client.query(texts[number], written[number], owner),
        lambda number: client.nearest(written[number], owner),
        client.close,
    )


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
