"""One embedder as the engine uses it: asked in time, never twice for the same text, and left alone while it is broken.

`Embedding` asks questions' vectors under a deadline, remembers the last ones, checks what comes back, and after some failures
in a row rests for a while. `Worker` turns waiting texts into vectors in the background: a thread that starts when there is
work and ends when there is none. A text that fails waits longer each time and is never dropped: it stays in the store's
outbox, where a crash can't reach it. Errors are raised to the read path, which answers without vectors and says so.

Several may stand side by side, an English one and a multilingual one, say: `beside` makes them know of each other. A text is
embedded by those that read its script and are at home in its language; a question is led by the first of them. Each has a
space of its own, a breaker of its own, and its own place in the outbox.
"""

from __future__ import annotations

import atexit
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakSet

from .errors import EmbedderFailed, EmbedderRefused, EmbedderResting, EmbedderTimeout, NothingKnown, RecollectError
from .ports import Embedder, Job, Profile, Store
from .reading import reads, speaks

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")
After = Callable[[Store, Profile, str, Sequence[tuple[Job, "np.ndarray | None"]]], None]  # done about vectors that are there now
REMEMBERED = 512  # questions whose vectors are kept
FAILURES, REST = 5, 30.0  # so many in a row, then so many seconds of rest
BATCH = 64
LEASE, LEASE_LEAST, LEASE_TIMES = 120.0, 30.0, 20  # seconds; once a batch is done: so many times as long as it took
CLOSING = 2.0  # seconds a worker has to finish its batch
ENDING = 30.0  # and when the interpreter ends
GRACE = 0.05  # what remember() gives a quick embedder, so that its vectors are there when it returns
ATTEMPTS = 3  # before a row of zeros is taken for an answer
LONGEST_WAIT = 3600.0


class Embedding:
    """See the module. `wall` is a clock in seconds that other processes share."""

    def __init__(
        self, embedder: Embedder, *, deadline: float, wall: Callable[[], float], opener: Callable[[str], Embedder] | None = None
    ) -> None:
        self.embedder = embedder
        self.profile: Profile = embedder.profile
        self.deadline = deadline
        self.wall = wall
        self._asked: OrderedDict[str, np.ndarray] = OrderedDict()
        self._failures, self._rests_until = 0, 0.0
        self._lock = threading.Lock()
        self.voices: tuple[Embedding, ...] = (self,)  # all that stand side by side, the first first
        self._opener = opener
        self._others: dict[str, Embedding | RecollectError] = {}

    @property
    def space(self) -> str:
        return self.profile.fingerprint

    @property
    def name(self) -> str:
        """What people call it: local, or local+multilingual."""
        return "+".join(one.profile.name for one in self.voices)

    def readers(self, text: str) -> Sequence[Embedding]:
        """Who embeds this text: those that can read it; of several, those at home in its language, if any is."""
        able = [one for one in self.voices if one.reads(text)]
        if len(able) < 2:
            return able
        return [one for one in able if speaks(text, one.profile.languages)] or able

    def leading(self, question: str) -> Embedding:
        """In whose space this question is asked first."""
        return self if len(self.voices) == 1 else next(iter(self.readers(question)), self)

    def other(self, space: str) -> Embedding:
        """The embedding whose vectors another space holds, opened once; or the error that says why it can't be."""
        for one in self.voices:
            if one.space == space:
                return one
        with self._lock:
            found = self._others.get(space)
            if found is None:
                found = self._others[space] = self._opened(space)
        if isinstance(found, RecollectError):
            raise type(found)(found.message, hint=found.hint)
        return found

    def reads(self, text: str) -> bool:
        """Can the model make sense of this text? An English one is not asked about Chinese."""
        return reads(text, self.profile.scripts)

    def ask(self, text: str) -> Callable[[], np.ndarray]:
        """Start embedding a question; call the result for the vector, or for the error."""
        with self._lock:
            known = self._asked.get(text)
            if known is not None:
                self._asked.move_to_end(text)
                return lambda: known
        if self.profile.inline:
            return cache(lambda: self._question(text))  # every view asks for it
        self._awake()
        late = EmbedderTimeout(f"The embedder did not answer within {self.deadline:g} s.")
        return started(lambda: self._question(text), self.deadline, late, self._failed)

    def documents(self, texts: Sequence[str]) -> list[np.ndarray | None]:
        """A unit vector for each text; None where the model knows none of its words."""
        self._awake()
        try:
            rows = self.embedder.embed_documents([text[: self.profile.max_chars] for text in texts])
            checked = [_unit(row, self.profile) for row in _rows(rows, len(texts))]
        except Exception as error:
            self._failed(error)
            raise
        self._failures = 0
        return checked

    def _opened(self, space: str) -> Embedding | RecollectError:
        try:
            if self._opener is None:
                raise EmbedderFailed("No model of that space can be opened here.")
            return Embedding(self._opener(space), deadline=self.deadline, wall=self.wall)
        except RecollectError as error:
            return error

    def _question(self, text: str) -> np.ndarray:
        try:
            rows = self.embedder.embed_queries([text[: self.profile.max_chars]])
            vector = _unit(_rows(rows, 1)[0], self.profile)
        except Exception as error:
            self._failed(error)
            raise
        if vector is None:
            raise NothingKnown(f"{self.profile.name} knows no word of this question.")
        self._failures = 0
        with self._lock:
            self._asked[text] = vector
            while len(self._asked) > REMEMBERED:
                self._asked.popitem(last=False)
        return vector

    def _awake(self) -> None:
        if self._failures >= FAILURES and self.wall() < self._rests_until:
            raise EmbedderResting(f"{self.profile.name} failed {self._failures} times in a row and rests for a while.")

    def _failed(self, error: Exception) -> None:
        if isinstance(error, EmbedderRefused):  # the text's fault: questions need not go without vectors for it
            return
        self._failures += 1
        self._rests_until = self.wall() + REST


def beside(*embeddings: Embedding) -> Embedding | None:
    """The first of several, which stand side by side from now on; None of none."""
    for one in embeddings:
        one.voices = embeddings
    return embeddings[0] if embeddings else None


_AT_WORK: WeakSet[Worker] = WeakSet()


def _let_go() -> None:
    """The interpreter ends: a thread cut off inside a native library would take the process down with it."""
    for worker in (working := list(_AT_WORK)):
        worker.stop(0.0)
    for worker in working:
        worker.stop(ENDING)


class Worker:
    """Embeds what waits in a store's outbox. One per open store; its thread lives only while there is work."""

    def __init__(self, store: Store, embedding: Embedding, after: After | None = None) -> None:
        self.store, self.embedding, self.after = store, embedding, after
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = self._again = self._slow = False
        self._lease = LEASE
        self._idle = threading.Event()
        self._idle.set()
        self.last_error = ""

    def kick(self, *, grace: float = 0.0) -> None:
        """There is work. With a grace, wait that long for it to be done, unless the last one was in vain."""
        with self._lock:
            if self._stopped:
                return
            self._again = True
            if self._thread is None:
                self._idle.clear()
                if not _AT_WORK:
                    atexit.unregister(_let_go)
                    atexit.register(_let_go)
                _AT_WORK.add(self)
                self._thread = threading.Thread(target=self._run, name="recollect-embedder", daemon=True)
                self._thread.start()
        if grace and not self._slow:
            self._slow = not self._idle.wait(grace)

    def wait(self, timeout: float) -> bool:
        """Until the thread has nothing left to do."""
        return self._idle.wait(timeout)

    def stop(self, timeout: float = CLOSING) -> None:
        """No more after the batch at hand; what is left stays in the outbox."""
        self._stopped = True
        self._idle.wait(timeout)

    def _run(self) -> None:
        while True:
            try:
                busy = self._batch()
            except Exception as error:  # whatever it is: a thread that dies here would never be started again
                self.last_error, busy = str(error), False
            with self._lock:
                if self._stopped or not (busy or self._again):
                    self._thread, self._slow = None, False
                    _AT_WORK.discard(self)
                    self._idle.set()
                    return
                self._again = self._again and busy

    def _batch(self) -> bool:
        """One batch of each embedder; False when nothing is due or all are down."""
        busy = [self._batch_of(one) for one in self.embedding.voices]  # each has its turn, whatever became of the others
        return any(busy)

    def _batch_of(self, embedding: Embedding) -> bool:
        space, now = embedding.space, int(embedding.wall() * 1_000_000)
        started = monotonic()
        jobs = self.store.outbox.claim(None, space, BATCH, now, int(self._lease * 1_000_000))
        if not jobs or self._stopped:
            self._put_back(jobs, now, "closing")
            return False
        known = self.store.outbox.known(space, [job.text for job in jobs])
        done = [(job, known[job.text]) for job in jobs if job.text in known]
        fresh = [job for job in jobs if job.text not in known]
        embedded = self._embed(fresh, now, embedding)
        self.store.outbox.settle(space, [*done, *embedded])
        if self.after is not None:
            self.after(self.store, embedding.profile, space, [*done, *embedded])
        self._lease = min(LEASE, max(LEASE_LEAST, LEASE_TIMES * (monotonic() - started)))
        return len(done) + len(embedded) > 0

    def _embed(self, jobs: list[Job], now: int, embedding: Embedding) -> list[tuple[Job, np.ndarray | None]]:
        texts = list(dict.fromkeys(job.text for job in jobs))
        try:
            rows = embedding.documents(texts) if texts else []
            vectors: Mapping[str, np.ndarray | None] = dict(zip(texts, rows, strict=True))
        except Exception as error:
            if len(jobs) > 1 and jobs[0].attempts > 1 and not isinstance(error, EmbedderResting):
                return [pair for job in jobs for pair in self._embed([job], now, embedding)]  # one bad text must not stop others
            self._put_back(jobs, now, str(error))
            return []
        blank = [job for job in jobs if vectors[job.text] is None and job.attempts < ATTEMPTS]
        self._put_back(blank, now, "the model knows no word of this text")  # or has a bad moment: after some tries we believe it
        return [(job, vectors[job.text]) for job in jobs if job not in blank]

    def _put_back(self, jobs: Sequence[Job], now: int, error: str) -> None:
        if jobs:
            self.last_error = error
            pause = 0.0 if error == "closing" else min(LONGEST_WAIT, 2.0 ** min(jobs[0].attempts, 12))
            self.store.outbox.postpone(jobs, now + int(pause * 1_000_000), error)


def started(
    work: Callable[[], T], deadline: float, late: Exception, failed: Callable[[Exception], None] | None = None
) -> Callable[[], T]:
    """Run on a daemon thread; the returned call waits for the rest of the deadline and no longer: then it is `late`."""
    outcome: list[T | Exception] = []
    done, until = threading.Event(), monotonic() + deadline

    def run() -> None:
        try:
            outcome.append(work())
        except Exception as error:
            outcome.append(error)
        done.set()

    threading.Thread(target=run, name="recollect-question", daemon=True).start()

    def result() -> T:
        if not done.wait(max(0.0, until - monotonic())):
            if failed is not None:
                failed(late)
            raise late
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return outcome[0]

    return result


def _rows(rows: object, count: int) -> Sequence:
    if not hasattr(rows, "__len__") or len(rows) != count:
        raise EmbedderFailed(f"The embedder returned {len(rows) if hasattr(rows, '__len__') else 'no'} rows for {count} texts.")
    return rows


def _unit(row: object, profile: Profile) -> np.ndarray | None:
    """A row at unit length; None for zeros, by which a table of words says that it knows none of them."""
    import numpy as np

    row = np.asarray(row, np.float32)
    if row.shape != (profile.dimension,):
        raise EmbedderFailed(f"{profile.name} returned a vector of shape {row.shape} instead of {profile.dimension} numbers.")
    norm = float(np.linalg.norm(row.astype(np.float64)))
    if not np.isfinite(norm):
        raise EmbedderFailed(f"{profile.name} returned a vector that is not finite.")
    return (row / norm).astype(np.float32) if norm else None
