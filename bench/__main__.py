"""Measure everything, one process a measurement, and print the tables. `scripts/bench --help`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sqlite3
import statistics
import subprocess
import sys
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from . import report
from .contestant import ENVIRONMENT
from .ours import TWO_ROUTES
from .peers import NAMES
from .world import QUESTIONS, WARM, held, prepare

HERE = Path(__file__).resolve().parent.parent
MILLION = 1_000_000


class JobFailed(RuntimeError):
    """A measurement ended without a result."""


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/bench", description=__doc__)
    add = parser.add_argument
    add("--sizes", default="10000,100000,1000000", help="records of the one owner, comma-separated (default: %(default)s)")
    add("--quick", action="store_true", help="10,000 records only, under a minute")
    add("--tenants", type=int, help="owners of 1,000 records each in one file (default: 1000 if sizes reach 1,000,000, else 0)")
    add("--peers", nargs="?", const=",".join(NAMES), default="", help=f"measure these too: {', '.join(NAMES)} (default: all)")
    add("--peers-million", action="store_true", help="measure the peers at 1,000,000 as well: up to an hour each to build")
    add("--vectors", choices=("words", "random"), default="words", help="random: no neighbourhoods, hard for quantised search")
    add("--text", type=Path, help="a folder with your own corpus.jsonl and queries.jsonl (lines with id and text)")
    add("--recipe", default=TWO_ROUTES, help="the recipe asked with (default: one text and one vector route, fused by rank)")
    add("--json", type=Path, help="write the figures here as well")
    add("--write-docs", action="store_true", help="put the tables into docs/performance.md")
    add("--data", type=Path, default=HERE / "build" / "bench", help="where worlds and files are kept (default: build/bench)")
    add("--only-peers", action="store_true", help="leave recollect itself out")
    return parser.parse_args(given)


def main() -> None:
    options = arguments()
    sizes = [10_000] if options.quick else sorted(int(size) for size in options.sizes.split(","))
    tenants = options.tenants if options.tenants is not None else (1000 if sizes[-1] >= MILLION else 0)
    options.data.mkdir(parents=True, exist_ok=True)
    world = prepare(options.data, max(sizes[-1], tenants * 1000), options.vectors, options.text)
    there = held(world)
    sizes, tenants = sorted({min(size, there) for size in sizes}), min(tenants, there // 1000)
    found: dict[str, object] = {"machine": machine(), "options": settings(options, sizes)}
    runs = options.data / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    try:
        if not options.only_peers:
            found |= recollect(world, runs, sizes, tenants, options)
        found["peers"] = peers(world, runs, sizes, options)
    except JobFailed as failed:
        sys.exit(f"bench: {failed}")
    finally:
        shutil.rmtree(runs, ignore_errors=True)
    give(found, options)


def recollect(world: Path, runs: Path, sizes: list[int], tenants: int, options: argparse.Namespace) -> dict[str, object]:
    found: dict[str, object] = {"import": imports(5 if options.quick else 15)}
    job = {"world": str(world), "recipe": options.recipe, "owners": 100}
    found["writes"] = work(job | {"what": "writes", "size": sizes[0], "folder": str(runs / "writes")}, runs)
    found["one"] = {}
    for size in sizes:
        here = job | {"size": size, "folder": str(runs / f"one-{size}"), "owner": "alice", "owners": labels(size)}
        found["one"][size] = work(here | {"what": "one"}, runs) | {"open": firsts(here, runs)}
        shutil.rmtree(here["folder"])
    if tenants:
        here = job | {"size": tenants * 1000, "owners": tenants, "folder": str(runs / "many"), "owner": "o7"}
        found["many"] = work(here | {"what": "many"}, runs) | {"open": firsts(here, runs)}
        shutil.rmtree(here["folder"])
    return found


def peers(world: Path, runs: Path, sizes: list[int], options: argparse.Namespace) -> dict[int, list[dict[str, object]]]:
    """One that fails is missing from the table, and says why on stderr: the others are still worth knowing."""
    found: dict[int, list[dict[str, object]]] = {}
    for size in sizes if options.peers else ():
        if size >= MILLION and not options.peers_million:
            continue
        for name in options.peers.split(","):
            folder = runs / f"{name}-{size}"
            job = {"what": "peer", "peer": name, "world": str(world), "size": size, "owners": labels(size), "folder": str(folder)}
            try:
                found.setdefault(size, []).append(work(job, runs))
            except JobFailed as failed:
                print(f"bench: {failed}", file=sys.stderr)
            shutil.rmtree(folder, ignore_errors=True)
    return found


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


def machine() -> dict[str, object]:
    return {
        "date": date.today().isoformat(), "cpu": cpu(), "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(), "sqlite": sqlite3.sqlite_version,
        **{name: installed(name) for name in ("recollect", "numpy", "turbovec", "PyStemmer")},
    }  # fmt: skip


def cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def settings(options: argparse.Namespace, sizes: list[int]) -> dict[str, object]:
    return {
        "sizes": sizes, "questions": QUESTIONS, "warm": WARM, "vectors": options.vectors, "recipe": options.recipe,
        "text": options.text.name if options.text else "Python's own documentation, recombined",
    }  # fmt: skip


def give(found: dict[str, object], options: argparse.Namespace) -> None:
    tables = report.tables(found)
    print(tables)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if options.write_docs:
        report.into(HERE / "docs" / "performance.md", tables)


if __name__ == "__main__":
    main()
