"""What the HTTP door costs: the same questions asked of the library and through `recollect serve`, by 1, 8 and 64 clients.

    scripts/bench --http                # 100,000 records; --records N, --seconds S a row, --write-docs for docs/http.md

The server, the library and the clients are processes of their own. A client keeps one connection, sends a question, reads the
whole answer, and sends the next. Questions are text alone: the table of words in the package (`static`) turns them into vectors,
in the library and in the server alike.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

from .__main__ import HERE
from .contestant import in_batches
from .machine import machine
from .report import table
from .world import World, prepare

CLIENTS = (1, 8, 64)
WARM = 100
PROMISED_MS = 1.5
BEGIN, END = "<!-- bench http: begin -->", "<!-- bench http: end -->"


def main() -> None:
    parser = argparse.ArgumentParser("scripts/bench --http", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--records", type=int, default=100_000, help="records of the owner (default: %(default)s)")
    add("--seconds", type=float, default=10.0, help="how long each row is measured (default: %(default)s)")
    add("--workers", type=int, default=2, help="worker processes of the last rows (default: %(default)s)")
    add("--write-docs", action="store_true", help="put the table into docs/http.md")
    add("--json", type=Path, help="write the figures here as well")
    add("--data", type=Path, default=HERE / "build" / "bench", help="where worlds are kept (default: build/bench)")
    add("--library", nargs=2, metavar=("FILE", "QUESTIONS"), help=argparse.SUPPRESS)  # this process is the library's
    options = parser.parse_args()
    if options.library:
        print(json.dumps(library(*options.library, options.seconds)))
        return
    options.data.mkdir(parents=True, exist_ok=True)
    world = World(prepare(options.data, options.records, "words", None), options.records, 1)
    with tempfile.TemporaryDirectory(dir=options.data) as folder:
        found = measured(world, Path(folder), options)
    said = told(found)
    print(said)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if options.write_docs:
        into(HERE / "docs" / "http.md", said)


def measured(world: World, folder: Path, options: argparse.Namespace) -> dict:
    file, asked = folder / "memory.db", folder / "questions.json"
    note(f"remembering {world.size:,} records")
    remember(world, file)
    asked.write_text(json.dumps([question.text for question in (*world.warm, *world.questions)]))
    note("asking the library")
    command = [sys.executable, "-m", "bench.http", "--library", str(file), str(asked), "--seconds", str(options.seconds)]
    own = json.loads(subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout)
    bodies = [json.dumps({"query": text, "limit": 10}).encode() for text in json.loads(asked.read_text())]
    rows = []
    for workers in (1, options.workers) if options.workers > 1 else (1,):
        with serving(file, folder, workers) as (port, pid):
            asyncio.run(load(port, bodies, 8, 2.0))  # every worker has the owner's shelf by now
            for clients in CLIENTS:
                note(f"{clients} clients, {workers} worker{'s' * (workers > 1)}")
                rows.append(asyncio.run(load(port, bodies, clients, options.seconds)) | {"workers": workers, "mb": resident(pid)})
    return {"machine": machine(), "records": world.size, "library": own, "http": rows}


def remember(world: World, file: Path) -> None:
    from recollect import Memory

    with Memory.open(str(file), owner="alice", embedder="static") as memory:
        for some in in_batches(world.records(), 10_000):
            memory.remember_many([{"text": one.text, "id": one.id, "at": one.at} for one in some])
        memory.flush(3600)


def library(file: str, questions: str, seconds: float) -> dict[str, float]:
    """The same questions, asked of `Memory.recall` in this process."""
    from recollect import Memory

    asked = cycle(json.loads(Path(questions).read_text()))
    with Memory.open(file, owner="alice", embedder="static") as memory:
        for text in islice(asked, WARM):
            memory.recall(text, limit=10)
        taken, end = [], time.perf_counter() + seconds
        while (start := time.perf_counter()) < end:
            memory.recall(next(asked), limit=10)
            taken.append(time.perf_counter() - start)
    return times(taken)


@contextmanager
def serving(file: Path, folder: Path, workers: int) -> Iterator[tuple[int, int]]:
    """`recollect serve` on a free port: the port, and the server's process id."""
    words = ["--db", str(file), "--owner", "alice", "serve", "--port", "0", "--workers", str(workers), "--log", "error"]
    said = folder / f"serve-{workers}.log"
    with said.open("wb") as log:
        environment = {**os.environ, "RECOLLECT_EMBEDDER": "static", "HOME": str(folder)}
        server = subprocess.Popen([sys.executable, "-m", "recollect", *words], stderr=log, cwd=HERE, env=environment)
    try:
        while not (found := re.search(r"http://\S+:(\d+)", said.read_text())):
            if server.poll() is not None:
                sys.exit(f"bench: the server ended: {said.read_text()}")
            time.sleep(0.05)
        yield int(found[1]), server.pid
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


async def load(port: int, bodies: list[bytes], clients: int, seconds: float) -> dict[str, float]:
    """What so many clients see who ask one question after the other, all at once."""
    taken: list[float] = []
    start = time.perf_counter()
    await asyncio.gather(*(client(port, islice(cycle(bodies), n, None), start + seconds, taken) for n in range(clients)))
    return {"clients": clients, **times(taken), "per_s": round(len(taken) / (time.perf_counter() - start))}


async def client(port: int, bodies: Iterator[bytes], end: float, taken: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = "POST /v1/recall HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
    while (start := time.perf_counter()) < end:
        body = next(bodies)
        writer.write(head.format(len(body)).encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        if not answer.startswith(b"HTTP/1.1 200 "):
            sys.exit(f"bench: the server answered {answer[:80]!r}")
        await reader.readexactly(int(re.search(rb"content-length: (\d+)", answer.lower())[1]))
        taken.append(time.perf_counter() - start)
    writer.close()


def times(taken: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(taken, n=100)
    return {"p50": round(cuts[49] * 1e3, 3), "p99": round(cuts[98] * 1e3, 3), "count": len(taken)}


def resident(pid: int) -> int:
    """What the server and its workers hold, in MB; 0 where /proc tells nothing."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        every = [Path(f"/proc/{one}/status").read_text() for one in (pid, *children)]
        return round(sum(int(re.search(r"VmRSS:\s+(\d+)", said)[1]) for said in every) / 1024)
    except OSError:
        return 0


def told(found: dict) -> str:
    here, own, rows = found["machine"], found["library"], []
    for row in found["http"]:
        taken = f"{row['p50']:.2f}", f"{row['p99']:.2f}"
        rows.append((row["clients"], row["workers"], *taken, f"{row['per_s']:,}", f"{row['mb']:,}"))
    rows.insert(0, ("the library itself", "", f"{own['p50']:.2f}", f"{own['p99']:.2f}", "", ""))
    over = found["http"][0]["p50"] - own["p50"]
    return (
        f"{here['date']}: {here['cpu']}, {here['cores']} cores for server and clients together, {here['system']}, Python "
        f"{here['python']}. {found['records']:,} records of one owner, ten hits, the question embedded by `static`.\n\n"
        f"{table(('clients', 'workers', 'p50 ms', 'p99 ms', 'answers/s', 'memory MB'), rows)}\n\n"
        f"The door costs {over:.2f} ms (promised: at most {PROMISED_MS:g}): p50 with one client, less the library's.\n"
    )


def into(page: Path, text: str) -> None:
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def note(said: str) -> None:
    print(f"{said} …", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
