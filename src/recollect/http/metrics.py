"""What the server counts, in Prometheus' text form: requests by address and status, how long they took, what the routes did.

Every worker process counts in a file of its own, mapped into memory, in a folder they share; whoever is asked adds all of
them up. So one scrape tells of all workers, and of those that have gone. What is counted is named in advance: no client can
add a name.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
STATUSES = (200, 201, 304, 401, 403, 404, 405, 409, 412, 413, 422, 429, 500, 503, 0)  # 0: any other, and none
ROUTE_KINDS = ("lexical", "tokens", "substring", "vector", "graph", "temporal", "rerank")
ROUTE_STATUSES = ("ran", "skipped", "failed", "timed_out")
OTHER = "other"


class Counts:
    """The counters of one process, beside those of its siblings in `folder` (None: there are none)."""

    def __init__(self, paths: Iterable[str], folder: Path | None = None) -> None:
        self._paths = [*sorted(set(paths) - {OTHER}), OTHER]
        self._width = len(STATUSES) + len(BUCKETS) + 2  # then how many, and how long in all
        self._row = {path: number * self._width for number, path in enumerate(self._paths)}
        self._routes_at = len(self._paths) * self._width
        self._size = self._routes_at + len(ROUTE_KINDS) * len(ROUTE_STATUSES)
        self._folder = folder
        self._own = self._mapped() if folder is not None else memoryview(bytearray(8 * self._size)).cast("d")

    def request(self, path: str, status: int, seconds: float) -> None:
        """One answered request."""
        at = self._row.get(path, self._row[OTHER])
        self._own[at + STATUSES.index(status if status in STATUSES else 0)] += 1
        bucket = at + len(STATUSES) + bisect_left(BUCKETS, seconds)
        self._own[bucket] += 1  # behind the last bucket lies the count of what was slower
        self._own[at + self._width - 1] += seconds

    def route(self, kind: str, status: str) -> None:
        """What became of one route of a question."""
        if kind in ROUTE_KINDS and status in ROUTE_STATUSES:
            at = ROUTE_KINDS.index(kind) * len(ROUTE_STATUSES) + ROUTE_STATUSES.index(status)
            self._own[self._routes_at + at] += 1

    def text(self, gauges: Iterable[tuple[str, str, float]]) -> str:
        """All counters of all processes, and the gauges: name, help, value."""
        return "\n".join([*self._lines(self._sums()), *(line for one in gauges for line in _gauge(*one))]) + "\n"

    def _lines(self, sums: Sequence[float]) -> Iterator[str]:
        yield from _head("recollect_requests_total", "counter", "Answered requests.")
        for path, at in self._row.items():
            for number, status in enumerate(STATUSES):
                if sums[at + number]:
                    yield f'recollect_requests_total{{path="{path}",status="{status or OTHER}"}} {sums[at + number]:.0f}'
        yield from _head("recollect_request_seconds", "histogram", "How long requests took.")
        for path, at in self._row.items():
            yield from self._histogram(path, sums[at + len(STATUSES) : at + self._width])
        yield from _head("recollect_routes_total", "counter", "What became of the routes of questions.")
        for number, count in enumerate(sums[self._routes_at :]):
            kind, status = ROUTE_KINDS[number // len(ROUTE_STATUSES)], ROUTE_STATUSES[number % len(ROUTE_STATUSES)]
            if count:
                yield f'recollect_routes_total{{route="{kind}",status="{status}"}} {count:.0f}'

    def _histogram(self, path: str, numbers: Sequence[float]) -> Iterator[str]:
        *counts, total = numbers
        if not any(counts):
            return
        below = 0.0
        for edge, count in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
            below += count
            yield f'recollect_request_seconds_bucket{{path="{path}",le="{edge}"}} {below:.0f}'
        yield f'recollect_request_seconds_count{{path="{path}"}} {below:.0f}'
        yield f'recollect_request_seconds_sum{{path="{path}"}} {total:.6f}'

    def _sums(self) -> list[float]:
        if self._folder is None:
            return list(self._own)
        files = [memoryview(file.read_bytes()).cast("d") for file in sorted(self._folder.glob("*.counts"))]
        return [sum(column) for column in zip(*(file for file in files if len(file) == self._size), strict=True)]

    def _mapped(self) -> memoryview:
        with open(self._folder / f"{os.getpid()}.counts", "a+b") as file:
            file.truncate(8 * self._size)
            return memoryview(mmap.mmap(file.fileno(), 8 * self._size)).cast("d")


def _gauge(name: str, about: str, value: float) -> Iterator[str]:
    yield from _head(name, "gauge", about)
    yield f"{name} {value:g}"


def _head(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"
