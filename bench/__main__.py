"""Measure in parts, one process a measurement, and print the tables. `scripts/bench --help`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from . import kept, report
from .contestant import ENVIRONMENT
from .machine import machine
from .ours import TWO_ROUTES
from .peers import NAMES
from .world import QUESTIONS, WARM, World, held, prepare

HERE = Path(__file__).resolve().parent.parent
MILLION = 1_000_000
SERVER_RECORDS, MODELS_RECORDS = 100_000, 10_000
PARTS = ("import", "writes", "one", "many", "models", "peers", "postgres")
USUAL = "import,writes,one,many"


class JobFailed(RuntimeError):
    """A measurement ended without a result."""


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/bench", description=__doc__)
    add = parser.add_argument
    add("--only", default=USUAL, help=f"parts, comma-separated, of {', '.join(PARTS)} (default: %(default)s)")
    add("--sizes", default="10000,100000,1000000", help="records of the one owner, comma-separated (default: %(default)s)")
    add("--quick", action="store_true", help="10,000 records only, under a minute")
    add("--tenants", type=int, help="owners of 1,000 records each in one file (default: 1000 if sizes reach 1,000,000, else 0)")
    add("--peers", nargs="?", const=",".join(NAMES), default="", help=f"measure these too: {', '.join(NAMES)} (default: all)")
    add("--peers-million", action="store_true", help="measure the peers at 1,000,000 as well: up to an hour each to build")
    add("--postgres", action="store_true", help="measure PostgreSQL too, at 100,000 records")
    add("--seconds", type=float, default=10.0, help="of each measurement with clients of a server (default: %(default)s)")
    add("--vectors", choices=("words", "random"), default="words", help="random: no neighbourhoods, hard for quantised search")
    add("--text", type=Path, help="a folder with your own corpus.jsonl and queries.jsonl (lines with id and text)")
    add("--recipe", default=TWO_ROUTES, help="the recipe asked with (default: one text and one vector route, fused by rank)")
    add("--json", type=Path, help="write the figures here as well")
    add("--write-docs", action="store_true", help="put the tables, with those of earlier runs, into docs/performance.md")
    add("--data", type=Path, default=HERE / "build" / "bench", help="where worlds and figures are kept (default: build/bench)")
    options = parser.parse_args(given)
    options.parts = [*options.only.split(","), *(["peers"] if options.peers else []), *(["postgres"] if options.postgres else [])]
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    options.sizes = [10_000] if options.quick else sorted(int(size) for size in options.sizes.split(","))
    options.peers = (options.peers or ",".join(NAMES)).split(",")
    if options.tenants is None:
        options.tenants = 1000 if options.sizes[-1] >= MILLION else 0
    return options


def main() -> None:
    options = arguments()
    runs = options.data / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    about = {"machine": machine(), "options": settings(options)}
    every, failed = dict(about), 0
    for part in dict.fromkeys(options.parts):
        try:
            for found in MEASURE[part](runs, options):
                every = _with(every, found)
                known = kept.merged(options.data / "found.json", about | found)
                if options.write_docs:
                    report.into(HERE / "docs" / "performance.md", report.tables(known))
        except JobFailed as error:
            failed += 1
            print(f"bench: {part}: {error}", file=sys.stderr)
        finally:
            shutil.rmtree(runs, ignore_errors=True)
    print(report.tables(every))
    if options.json:
        options.json.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if failed else 0)


def _with(every: dict, found: dict) -> dict:
    """Figures of this run so far, and some more."""
    for part, one in found.items():
        before = every.get(part, {})
        deeper = {size: {**before.get(size, {}), **more} for size, more in one.items()} if part in kept.NESTED else one
        every[part] = {**before, **deeper}
    return every


def stamp() -> str:
    """When a figure was measured."""
    return datetime.now().strftime("%Y-%m-%d %H:%M")


def job(options: argparse.Namespace, size: int) -> dict[str, object]:
    """What every measurement of so many records is told; with one's own text there may be fewer."""
    options.data.mkdir(parents=True, exist_ok=True)
    world = prepare(options.data, size, options.vectors, options.text)
    return {"world": str(world), "recipe": options.recipe, "owners": 100, "size": min(size, held(world))}


def jobs(options: argparse.Namespace, sizes: list[int]) -> Iterator[dict[str, object]]:
    """The same for several sizes, out of one world."""
    if sizes:
        largest = job(options, sizes[-1])
        yield from (largest | {"size": size} for size in sorted({min(size, largest["size"]) for size in sizes}))


def measure_import(runs: Path, options: argparse.Namespace) -> Iterator[dict]:
    yield {"import": imports(5 if options.quick else 15)}


def measure_writes(runs: Path, options: argparse.Namespace) -> Iterator[dict]:
    yield {"writes": work(job(options, options.sizes[0]) | {"what": "writes", "folder": str(runs / "writes")}, runs)}


def measure_one(runs: Path, options: argparse.Namespace) -> Iterator[dict]:
    for here in jobs(options, options.sizes):
        size = here["size"]
        here |= {"folder": str(runs / f"one-{size}"), "owner": "alice", "owners": labels(size)}
        yield {"one": {size: work(here | {"what": "one"}, runs) | {"open": firsts(here, runs), "when": stamp()}}}
        shutil.rmtree(here["folder"])


def measure_many(runs: Path, options: argparse.Namespace) -> Iterator[dict]:
    if not options.tenants:
        return
    here = job(options, options.tenants * 1000)
    owners = max(1, here["size"] // 1000)
    here |= {"owners": owners, "folder": str(runs / "many"), "owner": f"o{owners // 2}"}
    yield {"many": work(here | {"what": "many"}, runs) | {"open": firsts(here, runs)}}


def measure_models(runs: Path, options: argparse.Namespace) -> Iterator[dict]:
    here = job(options, min(options.sizes[0], MODELS_RECORDS))
    yield {"models": work(here | {"what": "models", "folder": str(runs / "models")}, runs) | {"when": stamp()}}


def measure_peers(runs: Path, options: argparse.Namespace) -> Iterator[dict]:
    """One that fails is missing from the table, and says why on stderr: the others are still worth knowing."""
    for here in jobs(options, [size for size in options.sizes if size < MILLION or options.peers_million]):
        size = here["size"]
        for name in options.peers:
            folder = runs / f"{name}-{size}"
            try:
                found = work(here | {"what": "peer", "peer": name, "owners": labels(size), "folder": str(folder)}, runs)
                yield {"peers": {size: {name: found | {"when": stamp()}}}}
            except JobFailed as failed:
                print(f"bench: {failed}", file=sys.stderr)
            shutil.rmtree(folder, ignore_errors=True)


def measure_postgres(runs: Path, options: argparse.Namespace) -> Iterator[dict]:
    from . import postgres  # which needs psycopg and a PostgreSQL

    os.environ.update(ENVIRONMENT)
    size = SERVER_RECORDS if options.sizes[-1] >= SERVER_RECORDS else options.sizes[-1]
    here = job(options, size)
    runs.mkdir(parents=True, exist_ok=True)
    world = World(Path(here["world"]), here["size"], 100)
    for found in postgres.measured(world, runs, options.seconds):
        yield {"postgres": found | {"when": stamp()}}


MEASURE: dict[str, Callable[[Path, argparse.Namespace], Iterator[dict]]] = {
    "import": measure_import, "writes": measure_writes, "one": measure_one, "many": measure_many,
    "models": measure_models, "peers": measure_peers, "postgres": measure_postgres,
}  # fmt: skip


def labels(size: int) -> int:
    """The small owner has 1 % of the records, but of a million a thousandth."""
    return 1000 if size >= MILLION else 100


def work(job: dict[str, object], runs: Path) -> dict[str, object]:
    """The result of one job in a fresh process."""
    print(" ".join(str(job[key]) for key in ("what", "peer", "size") if key in job), "…", file=sys.stderr, flush=True)
    runs.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "bench.worker", json.dumps(job)]
    done = subprocess.run(command, cwd=HERE, env=os.environ | ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if done.returncode or not lines:
        raise JobFailed(f"{job['what']} {job.get('peer', '')} failed (exit {done.returncode}); its own message is further up.")
    return json.loads(lines[-1].removeprefix("RESULT "))


def firsts(job: dict[str, object], runs: Path, times: int = 5) -> dict[str, float]:
    """Medians over fresh processes of the first answer after opening; the file itself is in the page cache."""
    every = [work(job | {"what": "first"}, runs) for _ in range(times)]
    return {key: statistics.median(one[key] for one in every) for key in every[0]}


_IMPORT = """
import time
start = time.perf_counter()
import {0}
print((time.perf_counter() - start) * 1e3, "numpy" in __import__("sys").modules)
"""


def imports(times: int) -> dict[str, object]:
    """Medians in ms over fresh processes, and whether recollect brings numpy along."""
    found: dict[str, object] = {}
    for name in ("recollect", "numpy"):
        command = [sys.executable, "-c", _IMPORT.format(name)]
        said = [
            subprocess.run(command, env=os.environ | ENVIRONMENT, capture_output=True, text=True, check=True)
            for _ in range(times)
        ]
        found[f"{name}_ms"] = round(statistics.median(float(one.stdout.split()[0]) for one in said), 1)
        found[f"{name}_has_numpy"] = said[0].stdout.split()[1] == "True"
    return found


def settings(options: argparse.Namespace) -> dict[str, object]:
    return {
        "questions": QUESTIONS, "warm": WARM, "vectors": options.vectors, "recipe": options.recipe,
        "text": options.text.name if options.text else "Python's own documentation, recombined",
    }  # fmt: skip


if __name__ == "__main__":
    main()
