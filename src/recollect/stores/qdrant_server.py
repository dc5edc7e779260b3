"""Qdrant through its own client: a server over the network, or the client's local mode, in memory or in a folder.

The local mode is the client's plain-Python twin of a server: every search looks at every point, in one process. It is for tests
and for trying out. What only a server has, payload indexes and graphs, is asked of a server only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from ..errors import MissingExtra
from .payload import MOMENTS, WORDS, Among, Between, Condition, Sight, Value

PAGE = 4096
OVERSAMPLED = {"int8": 2.0, "binary": 8.0}  # so many times as many codes are looked at, to be judged by the vectors


class QdrantServer:
    """See the module and `qdrant.Engine`. `where` is what the client is told: url and api_key, or path, or location."""

    lasting = True

    def __init__(self, where: Mapping[str, Any], *, quantise: str = "none", timeout: float = 30.0) -> None:
        try:
            import qdrant_client
        except ImportError:
            raise MissingExtra("Qdrant needs its client.", hint='Install it: pip install "recollect[qdrant]".') from None
        self.remote = "url" in where
        self.quantise = quantise
        self._client = None
        self._opening = Lock()
        more = {"timeout": max(1, round(timeout)), "check_compatibility": False} if self.remote else {}
        self._open = lambda: qdrant_client.QdrantClient(**where, **more)
        self._models = qdrant_client.models

    @property
    def client(self) -> Any:
        """Opened when it is first asked: a server that is away must not keep a memory from being opened."""
        with self._opening:
            if self._client is None:
                self._client = self._open()
            return self._client

    def collections(self) -> set[str]:
        return {one.name for one in self.client.get_collections().collections}

    def create(self, name: str, dimensions: Mapping[str, int]) -> None:
        if self.client.collection_exists(name):
            return
        m = self._models
        vectors = {view: m.VectorParams(size=size, distance=m.Distance.DOT) for view, size in dimensions.items()}
        # No graph across owners, one for each: every search names its owner.
        graph = m.HnswConfigDiff(m=0, payload_m=16)
        self.client.create_collection(name, vectors_config=vectors, hnsw_config=graph, quantization_config=self._quantised())
        for field, schema in self._schemas().items() if self.remote else ():
            self.client.create_payload_index(name, field, schema, wait=True)

    def upsert(self, name: str, points: Sequence[tuple[int | str, Mapping[str, list[float]], Mapping[str, Value]]]) -> None:
        structs = [self._models.PointStruct(id=id, vector=dict(vectors), payload=dict(load)) for id, vectors, load in points]
        self.client.upsert(name, structs, wait=True)

    def delete(self, name: str, ids: Sequence[int]) -> None:
        if ids:
            self.client.delete(name, self._models.PointIdsList(points=list(ids)), wait=True)

    def payload(self, name: str, id: str) -> Mapping[str, Value] | None:
        found = self.client.retrieve(name, [id], with_payload=True, with_vectors=False)
        return found[0].payload if found else None

    def search(
        self, name: str, view: str, vector: np.ndarray, sight: Sight, limit: int, threshold: float | None, ef: int
    ) -> list[tuple[int, float]]:
        found = self.client.query_points(
            name, query=vector.tolist(), using=view, query_filter=self._filter(sight), limit=limit, score_threshold=threshold,
            search_params=self._how(ef) if self.remote else None, with_payload=False, with_vectors=False,
        )  # fmt: skip
        return [(point.id, point.score) for point in found.points]

    def count(self, name: str, sight: Sight) -> int:
        return self.client.count(name, count_filter=self._filter(sight), exact=True).count

    def ids(self, name: str, sight: Sight) -> list[int]:
        found, offset = [], None
        while True:
            points, offset = self.client.scroll(
                name, scroll_filter=self._filter(sight), limit=PAGE, offset=offset, with_payload=False, with_vectors=False
            )
            found += [point.id for point in points]
            if offset is None:
                return found

    def flush(self) -> None:
        """Each write waits until the server has it in its log."""

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _how(self, ef: int) -> Any:
        m = self._models
        more = OVERSAMPLED.get(self.quantise)
        codes = m.QuantizationSearchParams(rescore=True, oversampling=more) if more else None
        return m.SearchParams(hnsw_ef=ef, quantization=codes)

    def _filter(self, sight: Sight) -> Any:
        m = self._models

        def among(field: str, values: Sequence[str]) -> Any:
            return m.FieldCondition(key=field, match=m.MatchAny(any=list(values)))

        def condition(one: Condition) -> Any:
            if isinstance(one, Between):
                return m.FieldCondition(key=one.field, range=m.Range(gte=one.least, lte=one.most))
            return among(one.field, one.values)

        whose = among("owner", (sight.owner,))
        if sight.tenant is not None:
            shared = m.Filter(must=[among("owner", (sight.tenant,)), among("kind", ("identity",))])
            whose = m.Filter(should=[whose, shared])
        must = [condition(one) for one in sight.conditions if isinstance(one, (Among, Between))]
        barred = [condition(one) for one in sight.conditions if not isinstance(one, (Among, Between))]
        return m.Filter(must=[whose, *must], must_not=barred or None)

    def _schemas(self) -> dict[str, Any]:
        m = self._models
        words = {name: m.KeywordIndexParams(type=m.KeywordIndexType.KEYWORD) for name in WORDS}
        words["owner"] = m.KeywordIndexParams(type=m.KeywordIndexType.KEYWORD, is_tenant=True)
        moments = m.IntegerIndexParams(type=m.IntegerIndexType.INTEGER, lookup=False, range=True)
        return words | dict.fromkeys(MOMENTS, moments)

    def _quantised(self) -> Any:
        m = self._models
        if self.quantise == "int8":
            return m.ScalarQuantization(scalar=m.ScalarQuantizationConfig(type=m.ScalarType.INT8, quantile=0.99, always_ram=True))
        if self.quantise == "binary":
            return m.BinaryQuantization(binary=m.BinaryQuantizationConfig(always_ram=True))
        return None
