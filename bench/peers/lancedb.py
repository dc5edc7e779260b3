"""LanceDB: its native hybrid search, with the index its documentation recommends for the size, fused by its RRF."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import FTS, BTree, HnswSq
from lancedb.rerankers import RRFReranker

from ..contestant import in_batches
from ..world import Record

_COLUMNS = pa.schema(
    [("id", pa.string()), ("owner", pa.string()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), 384))]
)


class Peer:
    ef = 100
    name = f"lancedb {lancedb.__version__}"
    setup = "IVF_HNSW_SQ (1 partition, m=16, ef=100, refined ×2) cosine; FTS with stems, OR; B-tree on owner; RRF 60"

    def build(self, folder: Path, records: Iterable[Record]) -> None:
        self.table = lancedb.connect(folder / "lance").create_table("records", schema=_COLUMNS)
        for some in in_batches(records, 20_000):
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.concatenate([r.vector for r in some])), 384)
            columns = [pa.array([getattr(r, name) for r in some]) for name in ("id", "owner", "text")]
            self.table.add(pa.Table.from_arrays([*columns, vectors], schema=_COLUMNS))
        self.table.create_index("vector", config=HnswSq(distance_type="cosine", num_partitions=1, m=16, ef_construction=200))
        self.table.create_index("text", config=FTS(with_position=False, remove_stop_words=True))
        self.table.create_index("owner", config=BTree())
        self.table.optimize()
        self.rrf = RRFReranker(K=60)

    def query(self, text: str, vector: np.ndarray, owner: str | None) -> Sequence[tuple[str, str]]:
        search = self.table.search(query_type="hybrid").vector(vector).text(text)
        search = search.distance_type("cosine").ef(self.ef).refine_factor(2)
        if owner:
            search = search.where(f"owner = '{owner}'")
        found = search.select(["id", "text"]).rerank(self.rrf).limit(10).to_arrow()
        return list(zip(found["id"].to_pylist(), found["text"].to_pylist(), strict=True))

    def nearest(self, vector: np.ndarray) -> Sequence[str]:
        search = self.table.search(vector).distance_type("cosine").ef(self.ef).refine_factor(2)
        return search.select(["id"]).limit(10).to_arrow()["id"].to_pylist()

    def close(self) -> None:
        pass
