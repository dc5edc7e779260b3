"""An embedder that remembers what it embedded, between runs: a file of vectors beside the sets it was needed for.

Tuning asks for the same vectors a hundred times, and a model on a CPU takes minutes for what a file gives in a second. A vector
is filed under the embedder's fingerprint, whether the text was a question, and the SHA-256 of the text, so nothing stale can ever
be found: another model, another text, another key. The milliseconds each vector took when it was made are filed with it: they
are the embedder's part of a question's latency. Many processes may share the file.

What is handed on says it is `inline`: vectors are there when a write returns, and no thread is needed. Models that are inline
themselves are kept in memory only: they are as quick as a file.
"""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from time import perf_counter

import numpy as np

from ..ports import Embedder

MOST = 2_000_000  # vectors in a file, some 3 GB of 384 numbers each; the oldest go first
BATCH = 32
QUESTION, DOCUMENT = "question", "document"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
  number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL, ms REAL NOT NULL
) STRICT
"""


class Kept:
    """See the module. `file` None: in memory only. `told(done)` hears of every text embedded anew."""

    def __init__(self, inner: Embedder, file: Path | None, told: Callable[[int], None] | None = None) -> None:
        self.inner, self.told = inner, told
        self.space = inner.profile.fingerprint
        self.profile = dataclasses.replace(inner.profile, inline=True)
        self.voices: tuple[Kept, ...] = (self,)  # all that stand side by side, as of an Embedding
        self.made = 0
        self._ms: dict[str, float] = {}
        self._held: dict[bytes, tuple[bytes, float]] = {}
        self._file = None if file is None or inner.profile.inline else _opened(file)

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        found = self._rows(QUESTION, texts, self.inner.embed_queries, 1)  # one by one, as they are asked
        self._ms.update({text: ms for text, (_, ms) in zip(texts, found, strict=True)})
        return _matrix(found)

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return _matrix(self._rows(DOCUMENT, texts, self.inner.embed_documents, BATCH))

    def took(self, text: str) -> float:
        """Milliseconds this question's vector took when it was made; 0 for one that was not embedded."""
        return self._ms.get(text, 0.0)

    @property
    def name(self) -> str:
        return "+".join(one.profile.name for one in self.voices)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _rows(
        self, use: str, texts: Sequence[str], embed: Callable[[Sequence[str]], np.ndarray], size: int
    ) -> list[tuple[bytes, float]]:
        keys = [self._key(use, text) for text in texts]
        for key in keys:
            if key not in self._held and self._file is not None:
                row = self._file.execute("SELECT vector, ms FROM vectors WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    self._held[key] = row
        fresh = list({key: text for key, text in zip(keys, texts, strict=True) if key not in self._held}.items())
        for start in range(0, len(fresh), size):
            self._make(fresh[start : start + size], embed)
        return [self._held[key] for key in keys]

    def _make(self, fresh: Sequence[tuple[bytes, str]], embed: Callable[[Sequence[str]], np.ndarray]) -> None:
        started = perf_counter()
        rows = np.asarray(embed([text for _, text in fresh]), np.float32)
        ms = (perf_counter() - started) * 1000 / len(fresh)
        made = {key: (row.tobytes(), ms) for (key, _), row in zip(fresh, rows, strict=True)}
        self._held |= made
        if self._file is not None:
            with self._file:
                self._file.executemany("INSERT OR IGNORE INTO vectors (key, vector, ms) VALUES (?, ?, ?)",
                                       [(key, *row) for key, row in made.items()])  # fmt: skip
        self.made += len(fresh)
        if self.told is not None:
            self.told(self.made)

    def _key(self, use: str, text: str) -> bytes:
        return sha256("\0".join((self.space, use, text)).encode("utf-8", "surrogatepass")).digest()


def _matrix(rows: Sequence[tuple[bytes, float]]) -> np.ndarray:
    return np.array([np.frombuffer(row, np.float32) for row, _ in rows])


def _opened(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = sqlite3.connect(path, timeout=60, check_same_thread=False)
    file.execute("PRAGMA journal_mode = WAL")
    file.execute("PRAGMA synchronous = NORMAL")  # what a power cut takes can be made again
    file.execute(_SCHEMA)
    with file:
        file.execute("DELETE FROM vectors WHERE number <= (SELECT max(number) FROM vectors) - ?", (MOST,))
    return file
