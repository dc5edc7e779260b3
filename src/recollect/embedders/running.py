"""ONNX models on onnxruntime, as a guest in somebody's process runs them: one thread, which does not spin; no words of its own.

For `local`, for a model in a folder, and for the cross-encoder. Not for choosing or checking models: whoever opens one does that.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import EmbedderFailed, ModelDamaged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxruntime import InferenceSession


def session(path: Path, cure: str) -> InferenceSession:
    """The model of a file, or `ModelDamaged` with this cure."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has its own family of exceptions and publishes no base of it
        raise ModelDamaged(f"onnxruntime can't read {path}: {str(error)[:200]}", hint=cure) from error


def fed(first: Sequence[int], second: Sequence[int] = ()) -> dict[str, np.ndarray]:
    """What a BERT is given: the numbers of one text, or of two, which it tells apart by their type."""
    numbers = np.array([[*first, *second]], dtype=np.int64)
    types = np.zeros_like(numbers)
    types[0, len(first) :] = 1
    return {"input_ids": numbers, "attention_mask": np.ones_like(numbers), "token_type_ids": types}


def run(held: InferenceSession, output: str | None, given: dict[str, np.ndarray], who: str) -> np.ndarray:
    """One output, the first if it has no name; `EmbedderFailed` for whatever goes wrong."""
    try:
        return held.run(None if output is None else [output], given)[0]
    except Exception as error:  # as above
        raise EmbedderFailed(f"onnxruntime could not run {who}: {str(error)[:200]}") from error
