"""Texts that wait for their vectors, in the file itself: they survive a crash and are leased, never handed out twice at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..ports import Job
from .rows import indexed, record_of
from .sqlite_rows import SqlitePuts
from .writing import Mark, Writing, text_hash

if TYPE_CHECKING:
    from .sqlite import SqliteStore

EVERYTHING = (0, (1 << 63) - 1)


class SqliteOutbox:
    """The outbox of a sqlite store."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def claim(self, owner: str | None, space: str, limit: int, now: int, lease: int) -> list[Job]:
        """Take up to `limit` due jobs; nobody else gets them for `lease` microseconds."""
        q = self._store.q
        with self._store.file.reading() as connection:
            if connection.execute(q.due_jobs, (space, now, *self._span(owner), 1)).fetchone() is None:
                return []
        with self._store.file.writing() as connection:
            rows = connection.execute(q.due_jobs, (space, now, *self._span(owner, connection), limit)).fetchall()
            connection.executemany(q.lease_job, [(now + lease, number) for number, *_ in rows])
            jobs = [
                Job(number, key, view, self._text(connection, key, view, space), attempts + 1)
                for number, key, view, attempts in rows
            ]
            connection.executemany(q.remove_job, [(job.number,) for job in jobs if not job.text])
        return [job for job in jobs if job.text]

    def settle(self, space: str, done: Sequence[tuple[Job, np.ndarray | None]]) -> int:
        """Store vectors (or None: there is none to be had) and drop the jobs; skips what changed or went meanwhile."""
        q, stored = self._store.q, 0
        with self._store.file.writing(len(done) * 4000) as connection:
            writing = Writing(SqlitePuts(connection, q), indexed)
            for job, vector in done:
                there = connection.execute(q.job, (job.number,)).fetchone()
                if there and self._text(connection, job.key, job.view, space) == job.text:
                    if vector is not None:
                        mark = self._mark(connection, writing, job.key >> 32)
                        writing.put_vector(mark, job.key & 0xFFFFFFFF, space, job.view, job.text, vector)
                    connection.execute(q.remove_job, (job.number,))
                    stored += 1
            writing.finish()
        return stored

    def postpone(self, jobs: Sequence[Job], due: int, error: str) -> None:
        """Put jobs back, not before `due`."""
        with self._store.file.writing() as connection:
            connection.executemany(self._store.q.postpone_job, [(due, error[:500], job.number) for job in jobs])

    def waiting(self, owner: str | None, space: str | None = None) -> int:
        """How many jobs are not done."""
        with self._store.file.reading() as connection:
            return connection.execute(self._store.q.count_jobs, (*self._span(owner), space)).fetchone()[0]

    def known(self, space: str, texts: Sequence[str]) -> Mapping[str, np.ndarray]:
        """Vectors that this store already holds for exactly these texts."""
        found = {}
        with self._store.file.reading() as connection:
            for text in texts:
                for of, blob in connection.execute(self._store.q.vector_by_hash, (text_hash(text),)):
                    if of == space:
                        found[text] = np.frombuffer(blob, "<f4")
                        break
        return found

    def _span(self, owner: str | None, connection=None) -> tuple[int, int]:
        if owner is None:
            return EVERYTHING
        with self._store.file.reading() as reader:
            row = (connection or reader).execute(self._store.q.owner, (owner,)).fetchone()
        return (row[0] << 32, (row[0] + 1) << 32) if row else (0, 0)

    def _mark(self, connection, writing: Writing, number: int) -> Mark:
        path = connection.execute(self._store.q.path_of, (number,)).fetchone()[0]
        return writing.mark(path)

    def _text(self, connection, key: int, view: str, space: str) -> str:
        row = connection.execute(self._store.q.record_by_key, (key,)).fetchone()
        return (record_of(row, "").embedded(view, space) or "") if row else ""
