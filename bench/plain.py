"""The plain SQL that memory servers publish: the two queries of the system whose recipe here is `sci`, as it prints them.

Its tables: memories with a generated tsvector under GIN, vectors beside them. Its queries: the 30 nearest by cosine, ordered by
the score it computes, and the 30 best by `ts_rank_cd` that have all words of the question; both at once, merged by rank with
k = 60 in the program. Only one of its three kinds of memory is kept here, so that it need ask a third of what it asks.

Where it leaves something open, what is quicker was chosen: an index for the profile, statements prepared, vectors written as
text beforehand, both queries sent by libpq itself without threads in between, and no HNSW index, which neither query could
use and every write would pay for. `NEAR` is what its author would change next, so that such an index serves; it is made when
all else is measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import psycopg

from .contestant import in_batches
from .world import Record

SCHEMA = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE episodic_memories (
  id text PRIMARY KEY,
  profile_id text NOT NULL,
  content text NOT NULL,
  created_at timestamptz NOT NULL,
  fts tsvector GENERATED ALWAYS AS (to_tsvector('english', content)) STORED
);
CREATE INDEX ON episodic_memories USING gin (fts);
CREATE INDEX ON episodic_memories (profile_id);
CREATE TABLE embeddings (
  memory_id text PRIMARY KEY REFERENCES episodic_memories ON DELETE CASCADE,
  embedding vector(384) NOT NULL
);
"""
DENSE = """
SELECT id, content, 1 - (emb.embedding <=> $1::vector) AS score
FROM episodic_memories e
JOIN embeddings emb ON emb.memory_id = e.id
WHERE e.profile_id = $2
ORDER BY score DESC LIMIT $3
"""
NEAR = DENSE.replace("ORDER BY score DESC", "ORDER BY emb.embedding <=> $1::vector")
INDEX = "CREATE INDEX ON embeddings USING hnsw (embedding vector_cosine_ops)"
SEARCH = ("SET hnsw.ef_search = 100", "SET hnsw.iterative_scan = strict_order")
WORDS = """
SELECT id, content, ts_rank_cd(fts, plainto_tsquery('english', $1)) AS rank
FROM episodic_memories
WHERE profile_id = $2 AND fts @@ plainto_tsquery('english', $1)
ORDER BY rank DESC LIMIT $3
"""
MEMORY = "INSERT INTO episodic_memories (id, profile_id, content, created_at) VALUES (%s, %s, %s, %s)"
VECTOR = "INSERT INTO embeddings (memory_id, embedding) VALUES (%s, %s)"
LIMIT, K, BATCH = 10, 60, 2_000


class Plain:
    """One client: two connections, as a pool would lend it. `near`: ask by the index."""

    def __init__(self, url: str, near: bool = False) -> None:
        self.connections = [psycopg.connect(url, autocommit=True) for _ in "12"]
        for setting in SEARCH if near else ():
            self.connections[0].execute(setting)
        self.dense, self.words = (connection.pgconn for connection in self.connections)
        for connection, query in ((self.dense, NEAR if near else DENSE), (self.words, WORDS)):
            connection.prepare(b"ask", query.encode())

    def query(self, text: str, vector: bytes, owner: str) -> list[tuple[str, str]]:
        """(id, text) of the best 10."""
        self.dense.send_query_prepared(b"ask", [vector, owner.encode(), b"%d" % (3 * LIMIT)])
        self.words.send_query_prepared(b"ask", [text.encode(), owner.encode(), b"%d" % (3 * LIMIT)])
        scores: dict[str, float] = {}
        contents: dict[str, str] = {}
        for rows in (_rows(self.dense), _rows(self.words)):
            for place, (id, content) in enumerate(rows):
                scores[id] = scores.get(id, 0.0) + 1 / (place + 1 + K)
                contents[id] = content
        return [(id, contents[id]) for id in sorted(scores, key=scores.__getitem__, reverse=True)[:LIMIT]]

    def nearest(self, vector: bytes, owner: str) -> list[str]:
        """Ids of the 10 nearest, searched as `query` searches them."""
        self.dense.send_query_prepared(b"ask", [vector, owner.encode(), b"%d" % (3 * LIMIT)])
        return [id for id, _ in _rows(self.dense)][:LIMIT]

    def close(self) -> None:
        for connection in self.connections:
            connection.close()


def _rows(connection: psycopg.pq.abc.PGconn) -> list[tuple[str, str]]:
    connection.flush()
    found: list[tuple[str, str]] = []
    while result := connection.get_result():
        if result.status != psycopg.pq.ExecStatus.TUPLES_OK:
            raise RuntimeError(result.error_message.decode())
        found += [(result.get_value(row, 0).decode(), result.get_value(row, 1).decode()) for row in range(result.ntuples)]
    return found


def literal(vector: np.ndarray) -> bytes:
    """A vector as pgvector reads it."""
    return ("[" + ",".join(f"{number:.8g}" for number in vector.tolist()) + "]").encode()


def make(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SCHEMA)


def remember(url: str, owner: str, records: Iterable[Record]) -> None:
    """Many, a transaction per 2,000 as ours, the statements of one sent together."""
    with psycopg.connect(url, autocommit=True) as connection:
        for some in in_batches(records, BATCH):
            with connection.transaction():
                _insert(connection, owner, some)


def remember_each(url: str, owner: str, records: Iterable[Record]) -> None:
    """One by one, each durable before the next."""
    with psycopg.connect(url, autocommit=True) as connection:
        for record in records:
            with connection.pipeline(), connection.transaction():
                _insert(connection, owner, [record])


def _insert(connection: psycopg.Connection, owner: str, records: Sequence[Record]) -> None:
    cursor = connection.cursor()
    cursor.executemany(MEMORY, [(record.id, owner, record.text, record.at) for record in records])
    cursor.executemany(VECTOR, [(record.id, literal(record.vector).decode()) for record in records])


def index(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(INDEX)


def settle(url: str) -> None:
    """What autovacuum would have done some time later."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
