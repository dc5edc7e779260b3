"""IVF-Flat on a GPU, by NVIDIA's cuVS. Imported only when it is asked for, and not yet run on a GPU: see docs/indexes.md."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import MissingExtra


class CudaFlat:
    """See the module and `ivf.Flat`. Vectors lie in the GPU's memory; what is allowed goes there as a bitset with each search."""

    def __init__(self) -> None:
        try:
            import cupy
            from cuvs.neighbors import filters, ivf_flat
        except ImportError:
            raise MissingExtra("A GPU is searched by cuVS.", hint='Install it: pip install "recollect[cuvs]".') from None
        self._cupy, self._flat, self._filters = cupy, ivf_flat, filters

    def build(self, rows: np.ndarray, lists: int) -> Any:
        """cuVS's own balanced k-means; the distance is the inner product."""
        params = self._flat.IndexParams(n_lists=lists, metric="inner_product", add_data_on_build=True)
        return self._flat.build(params, self._cupy.asarray(rows, dtype="float32"))

    def search(
        self, built: Any, queries: np.ndarray, k: int, probes: int, allowed: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The k best rows of the nearest lists; cuVS gives rows it has none of the largest number there is."""
        more = {} if allowed is None else {"filter": self._filters.from_bitset(self._cupy.asarray(bits(allowed)))}
        params = self._flat.SearchParams(n_probes=probes)
        scores, rows = self._flat.search(params, built, self._cupy.asarray(queries, dtype="float32"), k, **more)
        scores, rows = self._cupy.asnumpy(scores), self._cupy.asnumpy(rows).astype(np.int64)
        there = (rows >= 0) & (rows < len(built)) & np.isfinite(scores)
        there &= True if allowed is None else allowed[np.clip(rows, 0, len(allowed) - 1)]
        return scores, np.where(there, rows, -1)


def bits(allowed: np.ndarray) -> np.ndarray:
    """A mask as cuVS takes it: 32 rows in a word, the first in the lowest bit."""
    packed = np.packbits(allowed, bitorder="little")
    return np.pad(packed, (0, -len(packed) % 4)).view("<u4")
