"""Qdrant Edge: the engine of Qdrant in the process. HNSW and a BM25 text index, fused by its RRF over two prefetches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import qdrant_edge as qe

from ..contestant import in_batches
from ..world import Record


class Peer:
    ef = 100
    name = f"qdrant-edge-py {version('qdrant-edge-py')}"
    setup = "HNSW m=16 ef_construct=100 ef=100 cosine; sparse BM25 with idf; keyword index on owner; RRF 60 of 50 and 50"

    def build(self, folder: Path, records: Iterable[Record]) -> None:
        graph = qe.HnswIndexConfig(m=16, ef_construct=100, full_scan_threshold=10_000, max_indexing_threads=1)
        config = qe.EdgeConfig(
            vectors={"vector": qe.EdgeVectorParams(384, qe.Distance.Cosine, hnsw_config=graph)},
            sparse_vectors={"text": qe.EdgeSparseVectorParams(modifier=qe.Modifier.Idf)},
            hnsw_config=graph, max_search_threads=1,
        )  # fmt: skip
        folder.joinpath("qdrant").mkdir()
        self.shard = qe.EdgeShard.create(str(folder / "qdrant"), config)
        self.words = qe.Bm25(qe.Bm25Config(language="english", avg_len=18))
        self.shard.update(qe.UpdateOperation.create_field_index("owner", qe.KeywordIndexParams(is_tenant=True)))
        for some in in_batches(records, 1000):
            self.shard.update(qe.UpdateOperation.upsert_points([self._point(record) for record in some]))
        self.shard.optimize()
        self.shard.flush()

    def _point(self, record: Record) -> qe.Point:
        vectors = {"vector": record.vector.tolist(), "text": self.words.embed_document(record.text)}
        return qe.Point(int(record.id[1:]), vectors, {"owner": record.owner, "text": record.text})

    def query(self, text: str, vector: np.ndarray, owner: str | None) -> Sequence[tuple[str, str]]:
        only = qe.Filter(must=[qe.FieldCondition("owner", match=qe.MatchValue(owner))]) if owner else None
        near = qe.Query.Nearest(vector.tolist(), using="vector")
        words = qe.Query.Nearest(self.words.embed_query(text), using="text")
        both = [
            qe.Prefetch(50, query=near, filter=only, params=qe.SearchParams(hnsw_ef=self.ef)),
            qe.Prefetch(50, query=words, filter=only),
        ]
        found = self.shard.query(qe.QueryRequest(10, query=qe.Fusion.Rrf(60), prefetches=both, with_payload=["text"]))
        return [(f"r{hit.id}", hit.payload["text"]) for hit in found]

    def nearest(self, vector: np.ndarray) -> Sequence[str]:
        near = qe.Query.Nearest(vector.tolist(), using="vector")
        found = self.shard.query(qe.QueryRequest(10, query=near, params=qe.SearchParams(hnsw_ef=self.ef)))
        return [f"r{hit.id}" for hit in found]

    def close(self) -> None:
        self.shard.close()
