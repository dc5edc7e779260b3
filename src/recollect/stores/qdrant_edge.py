"""Qdrant's engine in this process (qdrant-edge-py): the real storage, filters and graphs, in a folder, without a server.

One shard a collection. A folder belongs to one process at a time. What it can't do, and a server can: several processes,
replicas, and building graphs on the side; they are built here when enough has come, while questions fall back on the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import IndexFailed, MissingExtra
from .payload import MOMENTS, WORDS, Among, Between, Condition, Sight, Value

PAGE = 4096
OVERSAMPLED = {"int8": 2.0, "binary": 8.0}  # so many times as many codes are looked at, to be judged by the vectors
INDEXED = 1_000  # points from which payload indexes are worth the second or two that making them takes
GRAPHED = 10_000  # points put since the graphs were last built, to build them anew


class QdrantEdge:
    """See the module and `qdrant.Engine`."""

    remote = False
    lasting = False

    def __init__(self, folder: str, *, quantise: str = "none") -> None:
        try:
            import qdrant_edge
        except ImportError:
            raise MissingExtra("Embedded Qdrant needs its engine.", hint='Install it: pip install "recollect[edge]".') from None
        self._qe, self.folder, self.quantise = qdrant_edge, Path(folder), quantise
        self._shards: dict[str, Any] = {}
        self._put: dict[str, int] = {}
        self._indexed: set[str] = set()

    def collections(self) -> set[str]:
        return {path.name for path in self.folder.iterdir() if path.is_dir()} if self.folder.is_dir() else set()

    def create(self, name: str, dimensions: Mapping[str, int]) -> None:
        if name in self.collections():
            return
        qe = self._qe
        vectors = {view: qe.EdgeVectorParams(size, qe.Distance.Dot) for view, size in dimensions.items()}
        graph = qe.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000, payload_m=16)
        path = self.folder / name
        path.mkdir(parents=True)
        shard = qe.EdgeShard.create(
            str(path), qe.EdgeConfig(vectors=vectors, hnsw_config=graph, quantization_config=self._quantised())
        )
        self._shards[name] = shard

    def upsert(self, name: str, points: Sequence[tuple[int | str, Mapping[str, list[float]], Mapping[str, Value]]]) -> None:
        made = [self._qe.Point(id, dict(vectors), dict(load)) for id, vectors, load in points]
        self._shard(name).update(self._qe.UpdateOperation.upsert_points(made))
        self._put[name] = self._put.get(name, 0) + len(made)

    def delete(self, name: str, ids: Sequence[int]) -> None:
        if ids:
            self._shard(name).update(self._qe.UpdateOperation.delete_points(list(ids)))

    def payload(self, name: str, id: str) -> Mapping[str, Value] | None:
        found = self._shard(name).retrieve([id], with_payload=True, with_vector=False)
        return found[0].payload if found else None

    def search(
        self, name: str, view: str, vector: np.ndarray, sight: Sight, limit: int, threshold: float | None, ef: int
    ) -> list[tuple[int, float]]:
        qe = self._qe
        more = OVERSAMPLED.get(self.quantise)
        codes = qe.QuantizationSearchParams(rescore=True, oversampling=more) if more else None
        found = self._shard(name).query(
            qe.QueryRequest(
                limit, query=qe.Query.Nearest(vector.tolist(), using=view), filter=self._filter(sight), score_threshold=threshold,
                params=qe.SearchParams(hnsw_ef=ef, quantization=codes), with_payload=False, with_vector=False,
            )
        )  # fmt: skip
        return [(point.id, point.score) for point in found]

    def count(self, name: str, sight: Sight) -> int:
        return self._shard(name).count(self._qe.CountRequest(exact=True, filter=self._filter(sight)))

    def ids(self, name: str, sight: Sight) -> list[int]:
        found, offset = [], None
        while True:
            request = self._qe.ScrollRequest(
                offset=offset, limit=PAGE, filter=self._filter(sight), with_payload=False, with_vector=False
            )
            points, offset = self._shard(name).scroll(request)
            found += [point.id for point in points]
            if offset is None:
                return found

    def flush(self) -> None:
        for name, shard in self._shards.items():
            if name not in self._indexed and shard.count(self._qe.CountRequest(exact=False)) >= INDEXED:
                for field, schema in self._schemas().items():
                    shard.update(self._qe.UpdateOperation.create_field_index(field, schema))
                self._indexed.add(name)
            if self._put.get(name, 0) >= GRAPHED:
                shard.optimize()
                self._put[name] = 0
            shard.flush()

    def close(self) -> None:
        for shard in self._shards.values():
            shard.close()
        self._shards.clear()

    def _shard(self, name: str) -> Any:
        if name not in self._shards:
            try:
                self._shards[name] = self._qe.EdgeShard.load(str(self.folder / name))
            except Exception as error:
                raise IndexFailed(f"{self.folder / name} can't be opened: {error}") from None
        return self._shards[name]

    def _filter(self, sight: Sight) -> Any:
        qe = self._qe

        def among(field: str, values: Sequence[str]) -> Any:
            return qe.FieldCondition(field, match=qe.MatchAny(list(values)))

        def condition(one: Condition) -> Any:
            if isinstance(one, Between):
                return qe.FieldCondition(one.field, range=qe.RangeFloat(gte=one.least, lte=one.most))
            return among(one.field, one.values)

        whose = among("owner", (sight.owner,))
        if sight.tenant is not None:
            shared = qe.Filter(must=[among("owner", (sight.tenant,)), among("kind", ("identity",))])
            whose = qe.Filter(should=[whose, shared])
        must = [condition(one) for one in sight.conditions if isinstance(one, (Among, Between))]
        barred = [condition(one) for one in sight.conditions if not isinstance(one, (Among, Between))]
        return qe.Filter(must=[whose, *must], must_not=barred or None)

    def _schemas(self) -> dict[str, Any]:
        qe = self._qe
        words = {name: qe.KeywordIndexParams(is_tenant=name == "owner") for name in WORDS}
        return words | {name: qe.IntegerIndexParams(lookup=False, range=True) for name in MOMENTS}

    def _quantised(self) -> Any:
        qe = self._qe
        if self.quantise == "int8":
            return qe.ScalarQuantizationConfig(qe.ScalarType.Int8, quantile=0.99, always_ram=True)
        return qe.BinaryQuantizationConfig(always_ram=True) if self.quantise == "binary" else None
