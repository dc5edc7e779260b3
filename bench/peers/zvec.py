"""zvec: HNSW and its own full-text index, fused by its own RRF re-ranker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import zvec

from ..contestant import in_batches
from ..text import STOP_WORDS
from ..world import Record


class Peer:
    ef = 100
    name = f"zvec {zvec.__version__}"
    setup = (
        "HNSW m=16 ef_construction=200 ef=100 cosine; full text with stems, OR, stop words left out for it; "
        "inverted index on owner; its RRF 60"
    )

    def build(self, folder: Path, records: Iterable[Record]) -> None:
        zvec.init(log_level=zvec.LogLevel.ERROR, query_threads=1, optimize_threads=1)
        text = zvec.FtsIndexParam(filters=["lowercase", "stemmer"])
        fields = [
            zvec.FieldSchema("owner", zvec.DataType.STRING, index_param=zvec.InvertIndexParam()),
            zvec.FieldSchema("text", zvec.DataType.STRING, index_param=text),
        ]
        graph = zvec.HnswIndexParam(zvec.MetricType.COSINE, m=16, ef_construction=200)
        vector = zvec.VectorSchema("vector", zvec.DataType.VECTOR_FP32, 384, index_param=graph)
        self.table = zvec.create_and_open(str(folder / "zvec"), zvec.CollectionSchema("records", fields=fields, vectors=[vector]))
        for some in in_batches(records, 1000):
            self.table.insert(
                [zvec.Doc(r.id, vectors={"vector": r.vector}, fields={"owner": r.owner, "text": r.text}) for r in some]
            )
        self.table.optimize(zvec.OptimizeOption(concurrency=1))
        self.table.flush()
        self.rrf = zvec.RrfReRanker(rank_constant=60)

    def query(self, text: str, vector: np.ndarray, owner: str | None) -> Sequence[tuple[str, str]]:
        words = " ".join(word for word in text.split() if word not in STOP_WORDS)  # it has no such filter of its own
        both = [
            zvec.Query("vector", vector=vector, param=zvec.HnswQueryParam(ef=self.ef)),
            zvec.Query("text", fts=zvec.Fts(match_string=words)),
        ]
        only = f"owner = '{owner}'" if owner else None
        found = self.table.query(both, topk=10, filter=only, output_fields=["text"], reranker=self.rrf)
        return [(hit.id, hit.fields["text"]) for hit in found]

    def nearest(self, vector: np.ndarray) -> Sequence[str]:
        near = zvec.Query("vector", vector=vector, param=zvec.HnswQueryParam(ef=self.ef))
        return [hit.id for hit in self.table.query(near, topk=10, output_fields=[])]

    def close(self) -> None:
        self.table.close()
