"""What a memory of so many records weighs, in one store: on disk, and in the process that asks it. A process for each step.

    python -m bench.weigh '{"do": "write" | "ask", "url": …, "world": FOLDER, "size": 10000}'
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from .contestant import resident_mb, seconds
from .ours import TWO_ROUTES, ask, open_memory, remember
from .world import World

ASKED = 50
TABLES = """
SELECT coalesce(parent.relname, one.relname), sum(pg_total_relation_size(one.oid))
FROM pg_class AS one LEFT JOIN pg_inherits ON inhrelid = one.oid LEFT JOIN pg_class AS parent ON parent.oid = inhparent
WHERE one.relnamespace = 'recollect'::regnamespace AND one.relkind = 'r' GROUP BY 1
"""


def write(world: World, url: str) -> dict[str, object]:
    with open_memory(url, "alice") as memory:
        return {"write_s": round(seconds(lambda: remember(memory, world.records())), 2)}


def first_and_then(world: World, url: str) -> dict[str, object]:
    """Opening and the first answer, what the process holds more than with nothing to search, and what the next answers take."""
    with open_memory(url, "nobody") as empty:  # the modules' weight is not the memory's
        ask(empty, world.warm[0], TWO_ROUTES)
    before = resident_mb()
    memory = open_memory(url, "alice")
    first = seconds(lambda: ask(memory, world.warm[0], TWO_ROUTES))
    taken = [seconds(lambda question=question: ask(memory, question, TWO_ROUTES)) for question in world.questions[:ASKED]]
    held = resident_mb() - before
    memory.close()
    return {"first_s": round(first, 2), "p50_ms": round(statistics.median(taken) * 1e3, 3), "memory_mb": round(held, 1)}


def on_disk(url: str) -> dict[str, int]:
    """Bytes: of the file, or of the server's tables with their indexes, after both have tidied up."""
    if not url.startswith("postgresql:"):
        return {"all": sum(path.stat().st_size for path in Path(url).parent.glob("memory.db*"))}
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        tables = {name: int(size) for name, size in connection.execute(TABLES)}
    return {"all": sum(tables.values()), "records": tables["records"], "vectors": tables["vectors"]}


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    made = World(Path(job["world"]), job["size"], 1)
    print(json.dumps({"write": write, "ask": first_and_then}[job["do"]](made, job["url"])))
