"""Rows of vectors: what every embedder hands back is checked here, so that a wrong vector is an error and never a record.

For results that come from outside (a remote answer, somebody's own embedder). Not for the vectors of a user's query: the
store checks those.
"""

from __future__ import annotations

import numpy as np

from ..errors import EmbedderFailed


def unit_rows(matrix: np.ndarray) -> np.ndarray:
    """Each row to length 1 as float32; a zero row stays zero: it says "nothing known", and callers skip it."""
    matrix = np.asarray(matrix, dtype=np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))  # float64: no square overflows or vanishes
    lengths[lengths == 0] = 1
    return (matrix / lengths[:, None]).astype(np.float32)


def checked_rows(values: object, *, count: int, dimension: int, who: str) -> np.ndarray:
    """`values` as `count` finite rows of `dimension` float32 numbers, or `EmbedderFailed` saying what was seen."""
    try:
        with np.errstate(over="ignore"):  # a number too large becomes infinite, and is reported as that
            seen = np.asarray(values)
            matrix = seen.astype(np.float32) if seen.dtype.kind in "fiu" else None
    except (TypeError, ValueError, OverflowError):
        matrix = None
    if matrix is None:
        raise EmbedderFailed(f"{who} answered with something that is not {count} rows of numbers.")
    if count == 0 and matrix.size == 0:
        return empty(dimension)
    if matrix.ndim != 2 or matrix.shape[0] != count:
        raise EmbedderFailed(f"{who} answered with shape {matrix.shape} to {count} texts; {count} rows were due.")
    if matrix.shape[1] != dimension:
        raise EmbedderFailed(
            f"{who} answered with vectors of {matrix.shape[1]} numbers; {dimension} were due.",
            hint="Has the model behind it changed? Name its dimension, or embed again with a new model.",
        )
    if not np.isfinite(matrix).all():
        raise EmbedderFailed(f"{who} answered with numbers that are not finite (NaN or infinity).")
    return matrix


def empty(dimension: int) -> np.ndarray:
    """The answer to no texts."""
    return np.zeros((0, dimension), dtype=np.float32)
