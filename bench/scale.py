"""What a record costs, on disk and in memory, at growing sizes; and what that comes to beyond what fits here.

    scripts/bench --scale               # 10,000, 100,000 and 1,000,000 records; --sizes, --stores, --write-docs for docs/scale.md

One owner, texts of 15 to 40 words, one vector of 384 numbers each. What is computed follows from that in
proportion, and is shown apart from what was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import kept, server, weigh
from .contestant import ENVIRONMENT
from .machine import machine
from .report import table
from .world import held, prepare

HERE = Path(__file__).resolve().parent.parent
STORES = ("sqlite", "postgresql")
COMPUTED = (10_000_000, 100_000_000, 1_000_000_000)
ACTIVE = (0.01, 0.1)
HELD_WHOLE = 100_000  # records: beyond, a shelf keeps codes alone, and costs less each
NODE_BYTES, PROCESS_BYTES = 2e12, 4 << 30  # of disk for data on a server; of shelves in a process (stores/shelves.py)
MARKS = {name: (f"<!-- scale {name}: begin -->", f"<!-- scale {name}: end -->") for name in ("measured", "computed")}


def main() -> None:
    parser = argparse.ArgumentParser("scripts/bench --scale", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--sizes", default="10000,100000,1000000", help="records, comma-separated (default: %(default)s)")
    add("--stores", default=",".join(STORES), help="of sqlite and postgresql (default: both)")
    add("--write-docs", action="store_true", help="put the tables, with those of earlier runs, into docs/scale.md")
    add("--data", type=Path, default=HERE / "build" / "bench", help="where worlds and figures are kept (default: build/bench)")
    options = parser.parse_args()
    sizes = sorted(int(size) for size in options.sizes.split(","))
    options.data.mkdir(parents=True, exist_ok=True)
    os.environ.update(ENVIRONMENT)
    world = prepare(options.data, sizes[-1], "words", None)
    about = {"machine": machine(), "options": {"dimension": 384}}
    known = about
    for size in sorted({min(size, held(world)) for size in sizes}):
        for store in options.stores.split(","):
            found = {"scale": {size: {store: weighed(store, world, size, options.data / "weighed")}}}
            known = kept.merged(options.data / "scale.json", about | found)
            if options.write_docs:
                write_docs(HERE / "docs" / "scale.md", known)
    print(measured(known), computed(known), sep="\n")


def weighed(store: str, world: Path, size: int, runs: Path) -> dict[str, object]:
    print(f"{store}: {size:,} records …", file=sys.stderr, flush=True)
    with place(store, runs) as url:
        job = {"url": url, "world": str(world), "size": size}
        found = _apart(job | {"do": "write"}) | {"disk": weigh.on_disk(url)} | _apart(job | {"do": "ask"})
        if store == "postgresql":
            found["server"] = server.version(url)
    return found


@contextmanager
def place(store: str, runs: Path) -> Iterator[str]:
    """The URL of an empty memory."""
    if store == "postgresql":
        with server.running(runs) as url:
            yield url
    else:
        runs.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=runs) as folder:
            yield f"{folder}/memory.db"


def _apart(job: dict[str, object]) -> dict[str, object]:
    command = [sys.executable, "-m", "bench.weigh", json.dumps(job)]
    return json.loads(subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout)


def measured(known: dict) -> str:
    rows = []
    for size, stores in sorted((int(size), stores) for size, stores in known["scale"].items()):
        for store, one in stores.items():
            disk = one["disk"]["all"]
            each = f"{disk / size:,.0f}", f"{one['memory_mb'] * 1e6 / size:,.0f}"
            whole = f"{disk / 1e6:,.0f}", f"{one['memory_mb']:,.0f}"
            speed = f"{size / one['write_s']:,.0f}", f"{one['first_s']:.2f}", f"{one['p50_ms']:.2f}"
            rows.append((store, f"{size:,}", *each, *whole, *speed))
    heads = (
        "store", "records", "disk, bytes a record", "memory, bytes a record", "disk MB", "memory MB", "written a second",
        "first answer s", "p50 ms",
    )  # fmt: skip
    here, servers = known["machine"], {one.get("server") for stores in known["scale"].values() for one in stores.values()}
    versions = ", ".join(sorted(filter(None, servers)))
    return (
        f"{here['date']}: {here['cpu']}, {here['cores']} cores, {here['system']}; Python {here['python']}, SQLite "
        f"{here['sqlite']}{', ' * bool(versions)}{versions}; recollect {here['recollect']}.\n\n{table(heads, rows)}\n"
    )


def computed(known: dict) -> str:
    sizes = {int(size): some for size, some in known["scale"].items()}
    store = "postgresql" if any("postgresql" in some for some in sizes.values()) else "sqlite"
    there = sorted(size for size, some in sizes.items() if store in some)
    size = there[-1]  # for disk; for memory one where vectors are still held as they are
    held = max((some for some in there if some <= HELD_WHOLE), default=there[0])
    one = sizes[size][store]
    disk, memory = one["disk"]["all"] / size, sizes[held][store]["memory_mb"] * 1e6 / held
    rows = []
    for count in COMPUTED:
        active = [count * share * memory for share in ACTIVE]
        processes = [f"{bytes / 1e9:,.1f} GB in {max(1, -(-bytes // PROCESS_BYTES)):,.0f}" for bytes in active]
        nodes = max(1, -(-count * disk // NODE_BYTES))
        hours = count / size * one["write_s"] / 3600
        rows.append((f"{count:,}", f"{count * disk / 1e12:,.2f} TB", f"{nodes:,.0f}", *processes, f"{hours:,.1f}"))
    heads = (
        "records in all", "disk", f"nodes of {NODE_BYTES / 1e12:g} TB",
        *(f"memory for {share:.0%} of the records, and processes" for share in ACTIVE), "hours to write, one process",
    )  # fmt: skip
    name = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}[store]
    return (
        f"From {name}: {disk:,.0f} bytes a record on disk (at {size:,} records), {memory:,.0f} in memory (at {held:,})."
        f"\n\n{table(heads, rows)}\n"
    )


def write_docs(page: Path, known: dict) -> None:
    text = page.read_text(encoding="utf-8")
    for name, said in (("measured", measured(known)), ("computed", computed(known))):
        begin, end = MARKS[name]
        before, rest = text.split(begin)
        text = f"{before}{begin}\n\n{said}\n{end}{rest.split(end)[1]}"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
