"""The records and questions of one run, made once, kept on disk, the same for every contestant."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from . import text, vectors

QUESTIONS, WARM = 300, 60
ASKED = 10_000  # questions are made of words of the first so many records
_START = datetime(2024, 1, 1, tzinfo=UTC)
_SPAN = timedelta(days=700)


class Record(NamedTuple):
    """What every contestant is given."""

    id: str
    owner: str
    text: str
    at: str
    vector: np.ndarray


class Question(NamedTuple):
    text: str
    vector: np.ndarray


class World:
    """The first `size` records of a prepared folder, each labelled with one of so many owners in turn, and the questions."""

    def __init__(self, folder: Path, size: int, owners: int) -> None:
        self.folder = folder
        self.vectors = np.load(folder / "vectors.npy", mmap_mode="r")[:size]
        self.size, self.owners = size, owners
        asked = json.loads(folder.joinpath("questions.json").read_text(encoding="utf-8"))
        every = [Question(words, vector) for words, vector in zip(asked, np.load(folder / "questions.npy"), strict=True)]
        self.warm, self.questions = every[:WARM], every[WARM:]

    @cached_property
    def texts(self) -> list[str]:
        lines = self.folder.joinpath("texts.jsonl").read_text(encoding="utf-8").split("\n", self.size)
        return [json.loads(line) for line in lines[: self.size]]

    def records(self) -> Iterator[Record]:
        for number, words in enumerate(self.texts):
            yield Record(f"r{number}", self.owner(number), words, self.at(number), self.vectors[number])

    def owner(self, number: int) -> str:
        return f"o{number % self.owners}"

    def at(self, number: int) -> str:
        """Event times: spread over two years, without order, to whole seconds."""
        return (_START + timedelta(seconds=(number * 7_919_993) % int(_SPAN.total_seconds()))).isoformat()

    def of_owner(self, owner: str) -> range:
        """The numbers of this owner's records."""
        return range(int(owner[1:]), self.size, self.owners)


def prepare(root: Path, size: int, kind: str, own: Path | None) -> Path:
    """The folder of a world at least this large, made if there is none: the first n records are the same in all of them."""
    key = hashlib.sha256(f"{kind}-{QUESTIONS + WARM}-{platform.python_version()}-{own or ''}-{_code()}".encode()).hexdigest()[:12]
    there = [int(done.parent.name.rpartition("-")[2]) for done in root.glob(f"{key}-*/done")]
    fit = [count for count in there if count == size or count > size >= ASKED]
    folder = root / f"{key}-{min(fit, default=size)}"
    if not fit:
        print(f"making {size:,} records …", file=sys.stderr, flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        _make(folder, size, kind, own)
        folder.joinpath("done").touch()
    return folder


def held(folder: Path) -> int:
    """How many records a prepared folder has: fewer than asked for, when one's own text has no more."""
    return len(np.load(folder / "vectors.npy", mmap_mode="r"))


def _make(folder: Path, size: int, kind: str, own: Path | None) -> None:
    if own:
        texts, asked = text.folder(own)
        texts, asked = texts[:size], [asked[n % len(asked)] for n in range(QUESTIONS + WARM)]
    else:
        texts = list(text.records(size))
        asked = text.questions(texts[:ASKED], QUESTIONS + WARM)
    folder.joinpath("texts.jsonl").write_text("\n".join(map(json.dumps, texts)), encoding="utf-8")
    folder.joinpath("questions.json").write_text(json.dumps([words for words, _ in asked]), encoding="utf-8")
    vectors.write(folder, texts, asked, kind)


def _code() -> str:
    """Other code makes other worlds."""
    sources = (Path(module.__file__).read_bytes() for module in (text, vectors))
    return hashlib.sha256(b"".join(sources)).hexdigest()[:12]
