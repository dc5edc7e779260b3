"""Texts that wait for their vectors, in the database: they survive a crash, and no two workers take the same (SKIP LOCKED)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..ports import Job
from .rows import record_of
from .writing import Writing, text_hash

if TYPE_CHECKING:
    from .postgres import PostgresStore

Done = Sequence[tuple[Job, "np.ndarray | None"]]


class PostgresOutbox:
    """The outbox of a postgres store."""

    def __init__(self, store: PostgresStore) -> None:
        self._store, self._server, self._q = store, store.server, store.q

    def claim(self, owner: str | None, space: str, limit: int, now: int, lease: int) -> list[Job]:
        """Take up to `limit` due jobs; nobody else gets them for `lease` microseconds."""
        if limit < 1:
            return []
        if owner is not None:
            return self._jobs(owner, space, self._server.all(self._q.claim_jobs, (owner, space, now, limit, now + lease)))
        due = self._server.all(self._store.across.due_jobs, (space, now, limit))
        jobs = []
        for path in dict.fromkeys(path for path, _ in due):
            numbers = [number for of, number in due if of == path]
            jobs += self._jobs(path, space, self._server.all(self._q.claim_these, (path, numbers, now, now + lease)))
        return sorted(jobs)

    def settle(self, space: str, done: Done) -> int:
        """Store vectors (or None: there is none to be had) and drop the jobs; skips what changed or went meanwhile."""
        if not done:
            return 0
        with self._server.writing() as connection:
            writing = self._store.in_transaction(connection)
            stored = sum(self._settle(writing, path, space, mine) for path, mine in sorted(self._by_owner(done).items()))
            writing.finish()
            writing.puts.flush(commit=True)
        self._store.committed(writing)
        return stored

    def postpone(self, jobs: Sequence[Job], due: int, error: str) -> None:
        """Put jobs back, not before `due`."""
        for path, mine in self._by_owner([(job, None) for job in jobs]).items():
            self._server.run(self._q.postpone_jobs, (path, [job.number for job, _ in mine], due, error[:500].replace("\0", "")))

    def waiting(self, owner: str | None, space: str | None = None) -> int:
        """How many jobs are not done."""
        across = self._store.across.count_jobs
        row = self._server.one(across, (space,)) if owner is None else self._server.one(self._q.count_jobs, (owner, space))
        return row[0]

    def known(self, space: str, texts: Sequence[str]) -> Mapping[str, np.ndarray]:
        """Vectors that this store already holds for exactly these texts."""
        hashes = {text_hash(text): text for text in texts}
        rows = self._server.all(self._store.across.vectors_by_hash, (list(hashes), space)) if hashes else ()
        return {hashes[hash]: np.frombuffer(blob, "<f4") for hash, blob in rows}

    def _jobs(self, owner: str, space: str, rows: Sequence[tuple]) -> list[Job]:
        """Claimed rows with their texts; what has no text to be embedded any more is dropped."""
        if not rows:
            return []
        texts = self._texts(owner, space, [(slot, view) for _, slot, view, _ in rows])
        base = self._store.number_of(owner) << 32
        jobs = [Job(n, base | slot, view, texts[slot, view], attempts) for n, slot, view, attempts in sorted(rows)]
        empty = [job.number for job in jobs if not job.text]
        if empty:
            self._server.run(self._q.remove_these_jobs, (owner, empty))
        return [job for job in jobs if job.text]

    def _texts(self, owner: str, space: str, places: Sequence[tuple[int, str]]) -> dict[tuple[int, str], str]:
        slots = list({slot for slot, _ in places})
        rows = self._server.all(self._q.records_by_slots, (owner, slots))
        records = {row[0]: record_of(row, owner) for row in rows}
        return {
            (slot, view): (records[slot].embedded(view, space) or "") if slot in records else "" for slot, view in places
        }  # fmt: skip

    def _settle(self, writing: Writing, path: str, space: str, done: Done) -> int:
        mark = writing.mark(path)  # from here on nobody else changes a text of this owner
        connection, numbers = writing.puts.connection, [job.number for job, _ in done]
        there = {number for (number,) in connection.execute(self._q.jobs_there, (path, numbers)).fetchall()}
        slots = list({job.key & 0xFFFFFFFF for job, _ in done})
        rows = connection.execute(self._q.records_by_slots, (path, slots), binary=True).fetchall()
        records = {row[0]: record_of(row, path) for row in rows}
        stored = 0
        for job, vector in done:
            record = records.get(job.key & 0xFFFFFFFF)
            if job.number in there and record is not None and record.embedded(job.view, space) == job.text:
                if vector is not None:
                    writing.put_vector(mark, job.key & 0xFFFFFFFF, space, job.view, job.text, vector)
                writing.puts.remove_job(mark.no, job.number)
                there.discard(job.number)
                stored += 1
        return stored

    def _by_owner(self, done: Done) -> dict[str, list[tuple[Job, np.ndarray | None]]]:
        grouped: dict[str, list] = {}
        for job, vector in done:
            path = self._store.path_of(job.key)
            if path:
                grouped.setdefault(path, []).append((job, vector))
        return grouped
