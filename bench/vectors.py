"""Vectors to measure with: neighbours that mean something, or none at all.

`words`: every word has a fixed random direction, with the falling spectrum that embeddings of text have; a text is the sum
of its words, rarer ones heavier, plus a little noise. Texts that share words are neighbours, as with a real model, and no model
is needed. `random`: independent directions, without any neighbourhood: the hard case for quantised search.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

DIMENSION = 384
_WORD = re.compile(r"\w+")
_NOISE, _QUESTION_NOISE, _LEAN = 0.35, 0.25, 0.5  # shares of a vector's length; how far a question leans to its record
_STEP = 2_000
_SAMPLE = 10_000  # texts that say how rare a word is


class Words:
    """The directions and weights of words. Neither depends on how many texts there are, so the first n have the same vectors."""

    def __init__(self, texts: Sequence[str], seed: int = 384) -> None:
        counts = Counter(word for text in texts[:_SAMPLE] for word in set(_WORD.findall(text.lower())))
        words = {word for text in texts for word in _WORD.findall(text.lower())}
        self.row = {word: number for number, word in enumerate(words)}
        often = np.array([counts.get(word, 1) for word in words], np.float32)
        weight = np.log(1 + min(len(texts), _SAMPLE) / often)
        spectrum = (1 + np.arange(DIMENSION, dtype=np.float32) / 24) ** -0.5
        self.directions = np.zeros((len(words) + 1, DIMENSION), np.float32)
        for number, word in enumerate(words):
            direction = np.random.default_rng([seed, zlib.crc32(word.encode())]).standard_normal(DIMENSION, np.float32) * spectrum
            self.directions[number] = direction * (weight[number] / np.linalg.norm(direction))

    def of(self, texts: Sequence[str]) -> np.ndarray:
        """The sums of the texts' words, as unit vectors."""
        rows = [[self.row.get(word, -1) for word in _WORD.findall(text.lower())] or [-1] for text in texts]
        starts = np.cumsum([0, *map(len, rows[:-1])])
        return unit(np.add.reduceat(self.directions[np.concatenate(rows)], starts))


def write(path: Path, texts: Sequence[str], asked: Sequence[tuple[str, int]], kind: str, seed: int = 11) -> None:
    """vectors.npy and questions.npy in this folder."""
    chance = np.random.default_rng(seed)
    shape = (len(texts), DIMENSION)
    out = np.lib.format.open_memmap(path / "vectors.npy", mode="w+", dtype=np.float32, shape=shape)
    words = Words(texts) if kind == "words" else None
    for at in range(0, len(texts), _STEP):
        some = texts[at : at + _STEP]
        plain = words.of(some) if words else np.zeros((len(some), DIMENSION), np.float32)
        out[at : at + _STEP] = unit(plain + _noise(chance, len(some), _NOISE))
    np.save(path / "questions.npy", of_questions(words, asked, out, chance))


def of_questions(
    words: Words | None, asked: Sequence[tuple[str, int]], records: np.ndarray, chance: np.random.Generator
) -> np.ndarray:
    """Each leans to the record it was made of, if it was made of one."""
    plain = words.of([text for text, _ in asked]) if words else np.zeros((len(asked), DIMENSION), np.float32)
    if words:
        plain += [_LEAN * records[number] if number >= 0 else np.zeros(DIMENSION) for _, number in asked]
    return unit(plain + _noise(chance, len(asked), _QUESTION_NOISE))


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows of length one; a row of zeros stays."""
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)).astype(np.float32, copy=False)


def _noise(chance: np.random.Generator, count: int, length: float) -> np.ndarray:
    return chance.standard_normal((count, DIMENSION), np.float32) * np.float32(length / DIMENSION**0.5)
