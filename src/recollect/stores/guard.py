"""Asking an index that may be slow, down or gone: each call has a deadline, and after some failures in a row it is left alone.

What lies across a network is asked on a thread of its own, which is waited for until the deadline and no longer. What lives in
this process is asked directly, one call at a time. Errors of the engine come out as `IndexFailed`, with what the engine said.
Not here: what to do then; that is for who asks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from ..errors import IndexFailed, IndexResting, IndexTimeout, MissingExtra

FAILURES, REST = 3, 10.0  # so many in a row, then so many seconds of rest; then one call finds out
T = TypeVar("T")


class Guard:
    """See the module. `rest` is in seconds."""

    def __init__(self, name: str, *, deadline: float, remote: bool, rest: float = REST) -> None:
        self.name, self.deadline, self.remote, self.rest = name, deadline, remote, rest
        self.error = ""  # what it said last, while it fails
        self._failures, self._until = 0, 0.0
        self._alone = threading.Lock()

    def call(self, work: Callable[[], T], *, deadline: float | None = None) -> T:
        """What the work returns; or IndexFailed, IndexTimeout, IndexResting."""
        if self._failures >= FAILURES and monotonic() < self._until:
            raise IndexResting(f"{self.name} failed {self._failures} times in a row and is left alone for a while: {self.error}")
        try:
            seconds = self.deadline if deadline is None else deadline
            result = self._apart(work, seconds) if self.remote else self._here(work, seconds)
        except Exception as error:
            raise self._failed(error) from error
        self._failures, self.error = 0, ""
        return result

    def _failed(self, error: Exception) -> Exception:
        self._failures += 1
        self._until = monotonic() + self.rest
        kind = "" if isinstance(error, IndexFailed) else f"{type(error).__name__}: "
        self.error = f"{kind}{str(error).strip() or 'no reason given'}"[:300]
        return error if isinstance(error, (IndexFailed, MissingExtra)) else IndexFailed(f"{self.name} failed: {self.error}")

    def _here(self, work: Callable[[], T], seconds: float) -> T:
        if not self._alone.acquire(timeout=seconds):
            raise IndexTimeout(f"{self.name} was busy for {seconds:g} s.")
        try:
            return work()
        finally:
            self._alone.release()

    def _apart(self, work: Callable[[], T], seconds: float) -> T:
        outcome: list = []
        done = threading.Event()

        def run() -> None:
            try:
                outcome.append((work(), None))
            except BaseException as error:
                outcome.append((None, error))
            done.set()

        threading.Thread(target=run, name=f"recollect-{self.name}", daemon=True).start()
        if not done.wait(seconds):
            raise IndexTimeout(f"{self.name} did not answer within {seconds:g} s.")
        result, error = outcome[0]
        if error is not None:
            raise error
        return result
