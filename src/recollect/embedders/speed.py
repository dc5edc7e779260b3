"""How quick an embedder or a reranker is on this machine, on made-up texts; kept beside the models, for `recollect models`.

Questions are embedded one by one, as they are asked; texts of some sixty words all at once, as a large import has them. A
reranker reads twenty sentences, as a recipe has it do. What a model does depends on the processor more than on anything its
maker says, so nothing else is shown. Not a benchmark of the engine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

from ..ports import Embedder, JudgeProfile, Reranker

FILE = "speeds.json"
QUESTIONS, TEXTS, JUDGED = 20, 24, 3
_THINGS = ("the heron", "a leaking roof", "two train tickets", "the landlord", "grandmother's recipe", "a broken bicycle")
_PLACES = (
    "behind the mill",
    "in the upper kitchen",
    "at the ferry",
    "near Lisbon",
    "on the balcony",
    "in the old archive",
    "by the canal",
)


class Speed(NamedTuple):
    """Seconds until the first vector, then milliseconds a question (the median) and texts a second."""

    load: float
    question: float
    texts: float

    def __str__(self) -> str:
        return self.of("a question")

    def of(self, what: str) -> str:
        """In words: what of it takes the milliseconds."""
        return f"{self.question:.2f} ms {what}, {self.texts:,.0f} texts/s, {self.load:.2f} s to load"


def measure(embedder: Embedder) -> Speed:
    """Some seconds at most; the texts are the same on every machine."""
    started = perf_counter()
    embedder.embed_queries(["Where does the canal end?"])
    load = perf_counter() - started
    asked = []
    for number in range(QUESTIONS):
        before = perf_counter()
        embedder.embed_queries([f"What did we say about {_about(number)}?"])
        asked.append(perf_counter() - before)
    texts = [
        " ".join(f"On day {number + line} we talked about {_about(number * 5 + line)}." for line in range(6))
        for number in range(TEXTS)
    ]
    before = perf_counter()
    embedder.embed_documents(texts)
    return Speed(load, median(asked) * 1000, TEXTS / (perf_counter() - before))


def measure_judge(reranker: Reranker) -> Speed:
    """For twenty sentences in place of a question, and in texts a second."""
    started = perf_counter()
    reranker.scores("Where does the canal end?", ["It ends at the old archive."])
    load = perf_counter() - started
    asked = []
    for number in range(JUDGED):
        sentences = [f"On day {number + line} we talked about {_about(number * 5 + line)}." for line in range(QUESTIONS)]
        before = perf_counter()
        reranker.scores(f"What did we say about {_about(number)}?", sentences)
        asked.append(perf_counter() - before)
    return Speed(load, median(asked) * 1000, QUESTIONS / median(asked))


def judge_mark(profile: JudgeProfile) -> str:
    """What a reranker's speed is filed under."""
    return f"rerank:{profile.name}:{profile.model}"


def keep(folder: Path, fingerprint: str, speed: Speed) -> None:
    """Note it for this model; what was noted of others stays."""
    held = {name: list(one) for name, one in kept(folder).items()} | {fingerprint: [round(number, 4) for number in speed]}
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{FILE}.{os.getpid()}"
    part.write_text(json.dumps(held, indent=1), encoding="utf-8")
    os.replace(part, folder / FILE)


def kept(folder: Path) -> Mapping[str, Speed]:
    """What was measured here, by fingerprint. A file that can't be read is one that says nothing: it is measured again."""
    try:
        held = json.loads((folder / FILE).read_bytes())
        return {name: Speed(*map(float, numbers)) for name, numbers in held.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _about(number: int) -> str:
    return f"{_THINGS[number % len(_THINGS)]} {_PLACES[number % len(_PLACES)]}"
