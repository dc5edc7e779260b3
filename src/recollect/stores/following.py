"""Keeping an index up with the store: what changed is read off the store's feed and put into the index, then the mark is noted.

The mark lies in the index, behind what it stands for, so that a crash or an outage between a commit and the index costs
nothing: the next time everything since the mark is read from the store and put again. An index that lost its mark, or is too
far behind for the feed, is read the whole shelf. Writes never wait for an index across a network, and never fail because of one.

Two processes at one index would overwrite newer by older; so whoever writes holds a lease, kept in the store's notes. Not here:
searching (beside.py), and asking in time (guard.py).
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..errors import IndexFailed, RecollectError, StoreReadOnly
from ..query import Where
from .guard import Guard

if TYPE_CHECKING:
    from ..ports import Holding, Store

BATCH = 256  # records put at once
INLINE = 0.25  # seconds a caller may be held up for an index in this process; what is left follows in the background
LAG = 2000  # changes that are compared from the rows; an index further behind is not asked
LOOK = 5.0  # seconds for which the mark of an index across a network is taken to stand
AUDIT = 60.0  # seconds between counts of what it holds
PUTTING = 30.0  # seconds a batch may take
LEASE, PATIENCE = 120.0, 0.05


class Follower:
    """One index and the store it follows. `wall`: seconds that other processes share; without it there is no lease."""

    def __init__(self, store: Store, index: Any, guard: Guard, wall: Callable[[], float] | None = None) -> None:
        self.store, self.index, self.guard, self.wall = store, index, guard, wall
        self._marks: dict[str, tuple[str, float]] = {}
        self._counted: dict[tuple[str, str, str], float] = {}
        self._writing = threading.Lock()
        self._lock = threading.Lock()
        self._paths: dict[str, None] = {}
        self._thread: threading.Thread | None = None
        self._idle = threading.Event()
        self._idle.set()
        self._closed = False

    @property
    def name(self) -> str:
        return self.index.name

    def news(self, path: str) -> list[int] | None:
        """Keys of a shelf that the index may not hold as they are now; None: it can't tell which."""
        mark = self._mark(path)
        if mark == self.store.feed.mark(path):
            return []
        changed = self.store.feed.since(path, mark)
        return None if changed is None else list(changed.keys)

    def unseen(self, path: str) -> list[int]:
        """What a question has to compare from the rows, because the index has not seen it; IndexFailed when that is too much."""
        news, why = self.news(path), ""
        if news != [] and not self.index.remote:
            why = self.told([path]).get(path, "")
            news = self.news(path)
        if news != []:
            self.kick(path)
        if news is None or len(news) > LAG:
            behind = f", {len(news):,} changes behind" if news else ""
            raise IndexFailed(f"{self.name} is being brought up{behind}" + (f": {why}" if why else "."))
        return news

    def told(self, paths: Sequence[str], *, wait: bool = False) -> dict[str, str]:
        """Something changed on these shelves. `wait`: try to have it there before going on. Says, by shelf, what is not."""
        late = {}
        for path in paths:
            if wait or not self.index.remote:
                late |= self._tried(path, self.guard.deadline if wait else INLINE)
            else:
                self.kick(path)
        return late

    def catch_up(self, path: str, seconds: float | None = None) -> bool:
        """Bring the index up to the store. False: the time was up, or another process is at it. Raises what the index raises."""
        until = None if seconds is None else monotonic() + seconds
        if not self._writing.acquire(timeout=-1 if seconds is None else seconds):
            return False
        try:
            with self._leased(path) as renew:
                return renew is not None and self._follow(path, until, renew)
        finally:
            self._writing.release()

    def rebuild(self, path: str) -> int:
        """Read the whole shelf again, and put it; returns how many vectors or names of it the index then knows of."""
        self.guard.call(lambda: self.index.settle(path, ""), deadline=PUTTING)
        self._marks.pop(path, None)
        while not self.catch_up(path):
            self._idle.wait(PATIENCE)
        return len(self.guard.call(lambda: self.index.keys(path), deadline=PUTTING))

    def kick(self, path: str) -> None:
        """Have it caught up in the background."""
        with self._lock:
            if self._closed:
                return
            self._paths[path] = None
            if self._thread is None:
                self._idle.clear()
                self._thread = threading.Thread(target=self._run, name=f"recollect-follow-{self.name}", daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Until the background has nothing left to do."""
        return self._idle.wait(seconds)

    def audit(self, where: Where, space: str, view: str) -> None:
        """Count, now and then, what the index holds, and don't believe its mark when that is not what the store holds."""
        lane = where.owner, space, view
        if monotonic() - self._counted.get(lane, -AUDIT) < AUDIT:
            return
        before = self.store.feed.mark(where.owner)
        held = self.guard.call(lambda: self.index.count(*lane))
        there = self.store.vector.coverage(where, space, view)[0]
        if held == there or before != self.store.feed.mark(where.owner):
            self._counted[lane] = monotonic()
            return
        self.guard.call(lambda: self.index.settle(where.owner, ""))
        self._marks.pop(where.owner, None)
        raise IndexFailed(f"{self.name} holds {held:,} vectors where the store has {there:,}: it is read everything again.")

    def doubt(self) -> None:
        """It failed: what was known of it is looked at again."""
        self._counted.clear()
        self._marks.clear()

    def status(self, path: str) -> dict[str, Any]:
        """For people: whether it answers, and how far behind it is (None: it is to be read everything)."""
        try:
            news = self.news(path)
            return {"name": self.name, "ok": True, "behind": None if news is None else len(news), "error": self.guard.error}
        except RecollectError as error:
            return {"name": self.name, "ok": False, "behind": None, "error": str(error)}

    def close(self, seconds: float) -> None:
        """No more after the batch at hand; what is left is caught up by whoever opens the store next."""
        with self._lock:
            self._closed = True
            self._paths.clear()
        self._idle.wait(seconds)
        self.index.close()

    def _mark(self, path: str) -> str:
        mark, seen = self._marks.get(path, ("", -LOOK))
        if path not in self._marks or (self.index.remote and monotonic() - seen > LOOK):
            mark = self.guard.call(lambda: self.index.mark(path))
            self._marks[path] = mark, monotonic()
        return mark

    def _follow(self, path: str, until: float | None, renew: Callable[[], None]) -> bool:
        feed = self.store.feed
        mark = self.guard.call(lambda: self.index.mark(path))
        while mark != feed.mark(path):
            changed = feed.since(path, mark)
            now = feed.mark(path) if changed is None else changed.mark
            for held, gone in self._anew(path) if changed is None else self._changes(path, changed.keys):
                if self._closed or (until is not None and monotonic() > until):
                    return False
                renew()
                self._put(path, held, gone)
            mark = now
            self.guard.call(lambda now=now: self.index.settle(path, now), deadline=PUTTING)
            self._marks[path] = mark, monotonic()
        self._marks[path] = mark, monotonic()
        return True

    def _put(self, path: str, held: Mapping[int, Holding], gone: Sequence[int]) -> None:
        self.guard.call(lambda: self.index.put(path, held, gone), deadline=PUTTING)

    def _changes(self, path: str, keys: Sequence[int]) -> Iterator[tuple[dict[int, Holding], list[int]]]:
        """Records as they are now, by key; and the keys of those that went."""
        for start in range(0, len(keys), BATCH):
            some = keys[start : start + BATCH]
            ids = {facts.id: key for key, facts in self.store.facts(some).items()}
            held = {ids[one.record.id]: one for one in self.store.holdings(path, list(ids))} if ids else {}
            yield held, [key for key in some if key not in held]

    def _anew(self, path: str) -> Iterator[tuple[dict[int, Holding], list[int]]]:
        """The whole shelf; in the end what the index holds besides."""
        strays = set(self.guard.call(lambda: self.index.keys(path), deadline=PUTTING))
        everything = self.store.holdings(path)
        while some := {one.record.id: one for one in islice(everything, BATCH)}:
            keys = self.store.resolve(Where(owner=path, now=0, timeless=True), list(some))
            strays.difference_update(keys.values())
            yield {keys[id]: one for id, one in some.items() if id in keys}, []
        rest = sorted(strays)
        for start in range(0, len(rest), BATCH):
            yield {}, rest[start : start + BATCH]

    @contextmanager
    def _leased(self, path: str) -> Iterator[Callable[[], None] | None]:
        """A way to renew the lease; or None, when another process has it."""
        notes = getattr(self.store, "notes", None)
        if not self.index.remote or self.wall is None or notes is None:
            yield lambda: None
            return
        place, mine = ("index", f"{self.name} {path}"), {"by": secrets.token_hex(8)}

        def moment() -> int:
            return int(self.wall() * 1_000_000)

        def renew() -> None:
            if notes.get(*place, moment()) != mine:
                raise IndexFailed(f"Another process took over keeping {self.name} up.")
            notes.put(*place, mine, moment() + int(LEASE * 1_000_000))

        if not notes.add(*place, mine, moment(), moment() + int(LEASE * 1_000_000)):
            yield None
            return
        try:
            yield renew
        finally:
            if notes.get(*place, moment()) == mine:
                notes.drop(*place)

    def _tried(self, path: str, seconds: float) -> dict[str, str]:
        """Nothing, when the index is up to date; else why it is not. What is left follows."""
        try:
            if self.catch_up(path, seconds):
                return {}
            self.kick(path)
            return {path: "others are at it, or it takes longer: it follows"}
        except StoreReadOnly:
            return {path: "the store can only be read here: a process that writes brings the index up"}
        except RecollectError as error:
            return {path: str(error)}

    def _run(self) -> None:
        while True:
            with self._lock:
                path = next(iter(self._paths), None)
                if path is None or self._closed:
                    self._thread = None
                    self._idle.set()
                    return
                del self._paths[path]
            self._patiently(path)

    def _patiently(self, path: str) -> None:
        """Until it is caught up; an index that fails is left to the next write or question."""
        try:
            waited = 0.0
            while not self._closed and not self.catch_up(path) and waited < LEASE:
                threading.Event().wait(PATIENCE)
                waited += PATIENCE
        except Exception as error:  # the store may have been closed, the index may say anything: the thread must end well
            self.guard.error = self.guard.error or str(error)
