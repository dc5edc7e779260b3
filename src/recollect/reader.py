"""What waits to be read, read in the background: by the extractor whose name its place in the outbox bears.

    a large batch, or a slow extractor → records with a place in the outbox → claimed here → read → facts, and the job done

A thread that starts when there is work and ends when there is none, as of `embed.Worker`. Quick readers wait for a moment in
which nobody writes: a long import is not slowed down by being read at the same time. What is learned of a record and the end of
its job are one transaction, and only if the record is still what was read; so a crash costs an answer at most, and a job that
two were at is learned from once. What can't be read waits longer each time and is given up after `ATTEMPTS`: then it is a dead
letter (`dead_letters`), and the extractor's `stand_in` reads it, if it has one. The record is there all the time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from time import monotonic
from typing import NamedTuple

from .dead_letters import give_up
from .embed import CLOSING, LEASE
from .errors import BudgetSpent, ChatResting, DuplicateRecord, RecordChanged, UnknownRecord
from .learning import READ, says, space_of
from .ports import Change, Extraction, Extractor, Job, Store
from .records import Record

BATCH, SLOW_BATCH = 128, 8  # jobs in one go
SLOW_LEASE = 600.0  # seconds: longer than so many questions take at worst
QUIET, NOISE = 0.25, 10.0  # seconds without a write before reading begins; after so many it begins anyway
ATTEMPTS = 6
FIRST_PAUSE, LONGEST_PAUSE = 10.0, 3600.0  # seconds; four times as long each time
SHELVES = 64
OTHERS = (BudgetSpent, ChatResting)  # nothing that the text could help
Learned = Callable[[str, Sequence[tuple[Record, Extraction, int]]], Sequence[Change]]


class Read(NamedTuple):
    """A job, the record as it was read, and what came of it."""

    job: Job
    record: Record
    found: Extraction | Exception


class Turns:
    """Whoever looks at an owner's facts to write others takes turns with those who do the same in this process."""

    def __init__(self) -> None:
        self._locks = [threading.RLock() for _ in range(SHELVES)]

    def of(self, owner: str) -> AbstractContextManager:
        return self._locks[hash(owner) % SHELVES]


class Reader:
    """See the module. `wall`: a clock in seconds that other processes share; `learn`: changes for what an owner's records say;
    `wrote`: what to do when that was written."""

    def __init__(
        self, store: Store, extractor: Extractor, *, wall: Callable[[], float], learn: Learned,
        wrote: Callable[[Sequence[Change]], None], turns: Turns,
    ) -> None:  # fmt: skip
        self.store, self.extractor, self.space = store, extractor, space_of(extractor)
        self._wall, self._learn, self._wrote, self._turns = wall, learn, wrote, turns
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._timer: threading.Timer | None = None
        self._stopped = self._again = self._hurry = False
        self._heard = 0.0  # when somebody last wrote
        self._wake, self._idle = threading.Event(), threading.Event()
        self._idle.set()
        self._pause = 0.0
        self.last_error = ""

    def kick(self, *, quiet: bool = False) -> None:
        """There is work; `quiet`: it has time until nobody writes."""
        with self._lock:
            if self._stopped:
                return
            self._again, self._heard, self._hurry = True, monotonic(), self._hurry or not quiet
            if self._hurry:
                self._wake.set()
            if self._thread is None:
                self._idle.clear()
                self._thread = threading.Thread(target=self._run, name="recollect-reader", daemon=True)
                self._thread.start()

    def written(self) -> None:
        """Somebody writes: what can wait does."""
        self._heard = monotonic()

    def wait(self, timeout: float) -> bool:
        """Until the thread has nothing left to do."""
        return self._idle.wait(timeout)

    def finish(self, timeout: float) -> float:
        """Read all that waits, now; how many seconds are left of so many."""
        until = monotonic() + timeout
        if self.waiting():
            self.kick()
            self.wait(timeout)
        return max(0.0, until - monotonic())

    def waiting(self, owner: str | None = None) -> int:
        """How many texts wait to be read."""
        return self.store.outbox.waiting(owner, self.space)

    def stop(self, timeout: float = CLOSING) -> None:
        """No more after the batch at hand; what is left stays in the outbox."""
        with self._lock:
            self._stopped = True
            if self._timer is not None:
                self._timer.cancel()
        self._wake.set()
        self._idle.wait(timeout)
        close = getattr(self.extractor, "close", None)
        if close is not None:
            close()

    def _run(self) -> None:
        while True:
            try:
                self._until_quiet()
                busy = not self._stopped and self._batch()
            except Exception as error:  # whatever it is: a thread that dies here would never be started again
                self.last_error, busy = str(error), False
            left = 0 if busy or self._stopped else self._left()
            with self._lock:
                if self._stopped or not (busy or self._again):
                    self._thread, self._hurry = None, False
                    self._wake.clear()
                    self._later(left)
                    self._idle.set()
                    return
                self._again = self._again and busy

    def _until_quiet(self) -> None:
        since = monotonic()
        while self.extractor.inline and not self._wake.is_set():
            now = monotonic()
            if now - self._heard >= QUIET or now - since >= NOISE:
                return
            self._wake.wait(max(0.01, QUIET - (now - self._heard)))

    def _left(self) -> int:
        try:
            return self.waiting()
        except Exception as error:
            self.last_error = str(error)
            return 0

    def _later(self, left: int) -> None:
        """Look again when what was put back is due, or what somebody else has on lease."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if left and not self._stopped:
            self._timer = threading.Timer(self._pause or LEASE, self.kick)
            self._timer.daemon = True
            self._timer.start()

    def _batch(self) -> bool:
        """One batch; False when nothing is due or nobody can read."""
        self._pause = 0.0
        now, inline = int(self._wall() * 1_000_000), self.extractor.inline
        many, lease = (BATCH, LEASE) if inline else (SLOW_BATCH, SLOW_LEASE)
        jobs = self.store.outbox.claim(None, self.space, many, now, int(lease * 1_000_000))
        if not jobs or self._stopped:
            self.store.outbox.postpone(jobs, now, "closing") if jobs else None
            return False
        by_owner: dict[str, list[tuple[Job, Record]]] = {}
        for job, record in self._records(jobs):
            by_owner.setdefault(record.owner, []).append((job, record))
        done = 0
        for owner, mine in by_owner.items():
            read = self._read(mine)
            done += self._keep(owner, [one for one in read if isinstance(one.found, Extraction)])
            done += self._put_back([one for one in read if not isinstance(one.found, Extraction)], now)
        return done > 0

    def _records(self, jobs: Sequence[Job]) -> list[tuple[Job, Record]]:
        """The jobs whose record is there, with it."""
        records = self.store.records([job.key for job in jobs])
        if len(records) == len(jobs):
            return list(zip(jobs, records, strict=True))
        return [(job, record) for job in jobs for record in self.store.records([job.key])]

    def _read(self, jobs: Sequence[tuple[Job, Record]]) -> list[Read]:
        """What comes of each; a quick extractor reads them together, and one by one when it stumbles."""
        if self.extractor.inline:
            try:
                found = self.extractor.extract([record for _, record in jobs])
                return [Read(*about, one) for about, one in zip(jobs, found, strict=True)]
            except Exception:
                return [Read(*about, self._one(about[1])) for about in jobs]
        return [Read(*about, self._one(about[1])) for about in jobs]  # no pool: Python would wait for its threads at exit

    def _one(self, record: Record) -> Extraction | Exception:
        try:
            (found,) = self.extractor.extract([record])
            return found
        except Exception as error:
            return error

    def _keep(self, owner: str, read: Sequence[Read]) -> int:
        """Write what was learned; how many jobs that ended. What changed while it was read stays in line."""
        if not read:
            return 0
        try:
            with self._turns.of(owner):
                there = dict(self._records([one.job for one in read]))
                same = [one for one in read if one.job in there and _same(there[one.job], one.record)]
                changes = self._learn(owner, [(there[one.job], one.found, one.job.number) for one in same])
                if changes:
                    self.store.write(owner, changes)
        except (RecordChanged, UnknownRecord, DuplicateRecord):
            return sum(self._keep(owner, [one]) for one in read) if len(read) > 1 else 0  # its lease ends, and it is read again
        silent = [(one.job, None) for one in same if not says(one.found)]
        self.store.outbox.settle(self.space, silent) if silent else None
        self._wrote(changes)
        return len(same)

    def _put_back(self, failed: Sequence[Read], now: int) -> int:
        """What could not be read waits; what was tried often enough is given up. How many that were."""
        given_up = 0
        for job, record, error in failed:
            self.last_error = str(error)
            if job.attempts >= ATTEMPTS and not isinstance(error, OTHERS):
                self._give_up(job, record, error, now)
                given_up += 1
                continue
            pause = LONGEST_PAUSE if isinstance(error, BudgetSpent) else FIRST_PAUSE * 4.0 ** (min(job.attempts, ATTEMPTS) - 1)
            pause = min(LONGEST_PAUSE, pause)
            self._pause = min(self._pause or pause, pause)
            self.store.outbox.postpone([job], now + int(pause * 1_000_000), str(error))
        return given_up

    def _give_up(self, job: Job, record: Record, error: object, now: int) -> None:
        give_up(self.store, record, self.space, error, job.attempts, now)
        stand_in = getattr(self.extractor, "stand_in", None)
        found = stand_in.extract([record])[0] if stand_in is not None else Extraction()
        if not self._keep(record.owner, [Read(job, record, found)]):
            self.store.outbox.settle(self.space, [(job, None)])


def _same(now: Record, then: Record) -> bool:
    """Whether a record still says what was read."""
    return all(getattr(now, name) == getattr(then, name) for name in READ)
