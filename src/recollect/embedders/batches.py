"""Texts on their way to an embedder that is not ours: cut, made encodable, and sent in batches; blank ones stay at home.

For the remote embedders. Most servers refuse an empty text, and with it the whole batch it is in; here its row is zeros,
which is no vector: the caller keeps none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..errors import EmbedderFailed

TEXTS = 256
CHARS = 100_000  # of a batch: three tokens a character at worst, and OpenAI takes 300,000 tokens a request


def sendable(text: str, longest: int) -> str:
    """At most `longest` characters; a lone surrogate, half a character that no encoding has, becomes a question mark."""
    return text[:longest].encode("utf-8", "replace").decode("utf-8")


def in_batches(
    texts: Sequence[str], dimension: int, ask: Callable[[list[str]], np.ndarray], *, longest: int, prefix: str = "",
    most: int = TEXTS,
) -> np.ndarray:  # fmt: skip
    """A row a text, asked for in batches. The prefix is not cut and does not make a blank text a said one."""
    rows = np.zeros((len(texts), dimension), dtype=np.float32)
    said = [(number, prefix + sendable(text, longest)) for number, text in enumerate(texts) if text.strip()]
    for batch in _batches(said, most):
        numbers, sent = zip(*batch, strict=True)
        answer = ask(list(sent))
        if not answer.any(axis=1).all():
            raise EmbedderFailed("The embedder answered with a vector of zeros, which has no direction.")
        rows[list(numbers)] = answer
    return rows


def _batches(said: list[tuple[int, str]], most: int) -> Iterator[list[tuple[int, str]]]:
    batch: list[tuple[int, str]] = []
    size = 0
    for item in said:
        if batch and (len(batch) == most or size + len(item[1]) > CHARS):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += len(item[1])
    if batch:
        yield batch
