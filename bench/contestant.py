"""What a contestant is, and how each is measured: alike, by this code."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from .world import Question, Record

# Set for each process before it starts: one thread of computing for everyone, whatever a library computes with; and no
# log of LanceDB, which else writes a deprecation warning, and waits for it, at every question.
ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1"),
    "LANCEDB_LOG": "error",
}


class Contestant(Protocol):
    """One engine, set up for hybrid search as its own documentation says."""

    name: str
    setup: str  # what was chosen, in one line

    def build(self, folder: Path, records: Iterable[Record]) -> None:
        """Store and index everything, durably, ready to be asked."""

    def query(self, text: str, vector: np.ndarray, owner: str | None) -> Sequence[tuple[str, str]]:
        """(id, text) of the best 10 by text and vector, fused by rank; of one owner, or of everyone."""

    def nearest(self, vector: np.ndarray) -> Sequence[str]:
        """Ids of the 10 nearest by vector alone, searched as `query` searches them."""

    def close(self) -> None:
        """Let go of everything."""


def timed(ask: Callable[[Question], object], warm: Sequence[Question], questions: Sequence[Question]) -> dict[str, float]:
    """p50 and p95 in ms of one call a question, after warming up on others."""
    for question in warm:
        ask(question)
    taken = []
    for question in questions:
        start = time.perf_counter_ns()
        ask(question)
        taken.append((time.perf_counter_ns() - start) / 1e6)
    return {"p50": round(float(np.percentile(taken, 50)), 4), "p95": round(float(np.percentile(taken, 95)), 4)}


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def resident_mb() -> float:
    """Memory this process holds now."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)
    except OSError:
        import resource  # not everywhere; then the most it ever held has to do

        return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3), 1)


def size_mb(folder: Path) -> float:
    return round(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6, 1)


def in_batches(records: Iterable[Record], size: int) -> Iterable[list[Record]]:
    batch: list[Record] = []
    for record in records:
        batch.append(record)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
