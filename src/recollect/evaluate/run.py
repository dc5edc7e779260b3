"""Act a set out: its records are remembered as they come to exist, and each question is asked when its time has come.

Every scope is an owner of one memory in a file of its own, made for the run and thrown away. The memory's clock stands at the
moment of the question. Each recipe is asked twice: for ten, which is what nDCG@10 and recall@10 judge and whose milliseconds
count, and for fifty. Nothing is special about the memory: what is measured is what `Memory` does.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from ..embed import Embedding, beside
from ..errors import EmbedderFailed, NothingKnown
from ..extract import Rules
from ..memory import Memory
from ..ports import Store
from ..query import Where
from ..rankings import FAILED, RAN, TIMED_OUT, Answer
from ..recipes import Recipe, as_recipe
from ..records import Scope, moment
from ..rerank import Judges
from ..spaces import leading
from ..stores import open_store
from .baselines import BASELINES, Baseline
from .datasets import Dataset, Item, Question, Step, steps
from .kept import Kept
from .metrics import DEEP, NAMES, TOP, scores

Progress = Callable[[int, int, str], None]  # done, of all, at what
BATCH = 500
TODAY = 1_767_225_600_000_000  # 2026-01-01, for data without times
OUT_OF_TIME = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A recipe, asked with something besides, such as `timeless`."""

    recipe: Recipe
    how: Mapping[str, Any]


System = Recipe | Asked | str  # or the name of a baseline


@dataclass(slots=True)
class Measured:
    """What one system scored on one set, a number a question in the order of `questions`."""

    system: str
    scores: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in NAMES})
    ms: dict[str, list[float]] = field(default_factory=dict)
    tokens: list[int] = field(default_factory=list)
    found: dict[str, list[str]] = field(default_factory=dict)  # question → the ten it got
    troubles: dict[str, int] = field(default_factory=dict)  # what a route said when it failed → how often


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One set, acted out once."""

    dataset: Dataset
    questions: tuple[Question, ...]  # as asked
    measured: tuple[Measured, ...]


def named(system: System) -> str:
    return system if isinstance(system, str) else str(system)


def run(
    dataset: Dataset, systems: Sequence[System] | Mapping[str, System], embedder: Kept | None,
    progress: Progress | None = None, *, judges: Judges | None = None,
) -> Run:  # fmt: skip
    """Every system on every question of a set."""
    labelled = systems if isinstance(systems, Mapping) else {named(system): system for system in systems}
    measured = {label: Measured(label) for label in labelled}
    asked = []
    with tempfile.TemporaryDirectory(prefix="recollect-eval-") as folder, Theatre(folder, embedder, judges=judges) as theatre:
        for number, step in enumerate(steps(dataset)):
            theatre.set_for(step, labelled)
            for label, system in labelled.items():
                theatre.ask(step.question, system, measured[label])
            asked.append(step.question)
            if progress is not None:
                progress(number + 1, len(dataset.questions), dataset.name)
    return Run(dataset=dataset, questions=tuple(asked), measured=tuple(measured.values()))


class Theatre:
    """The memory a set is acted out in, and the clock on its wall."""

    def __init__(
        self, folder: str, embedder: Kept | None, wrap: Callable[[Store], Store] = lambda store: store,
        judges: Judges | None = None,
    ) -> None:  # fmt: skip
        self.embedder = embedder
        self.now = TODAY
        voices = () if embedder is None else embedder.voices
        self.embedding = beside(*(Embedding(one, deadline=OUT_OF_TIME, wall=lambda: self.now / 1e6) for one in voices))
        self.store = wrap(open_store(str(Path(folder) / "memory.db")))
        self.memory = Memory(
            self.store, Scope(owner="nobody"), embedding=self.embedding,
            recipe=as_recipe("balanced"), clock=lambda: moment(self.now), judges=judges,
            extractor=Rules(),
        )  # fmt: skip
        self.world: str | None = None
        self.owner = self.memory
        self.baselines: dict[str, Baseline] = {}
        self.worlds = 0
        self.latest = 0

    def __enter__(self) -> Theatre:
        return self

    def __exit__(self, *error: object) -> None:
        self.memory.close()

    def set_for(self, step: Step, systems: Mapping[str, System]) -> None:
        """Everything is as it was when the question was asked."""
        if step.world != self.world:
            self.world, self.worlds, self.latest = step.world, self.worlds + 1, 0
            self.owner = self.memory.for_owner(f"world-{self.worlds}")
            self.baselines = {system: BASELINES[system](self.embedding) for system in systems.values() if isinstance(system, str)}
        self.latest = max([self.latest, *(item.at for item in step.arriving if item.at is not None)])
        self.now = step.question.at or self.latest or TODAY
        self._remember(step.arriving)
        for baseline in self.baselines.values():
            baseline.arrive(step.arriving)
        first = None if self.embedding is None else self._leading(step.question.text)
        if first is not None and first.reads(step.question.text):
            with suppress(NothingKnown):
                first.ask(step.question.text)()  # so that no system pays for the others

    def _remember(self, items: Sequence[Item]) -> None:
        for start in range(0, len(items), BATCH):
            self.owner.remember_many([_draft(item) for item in items[start : start + BATCH]])
        if items and self.owner.flush(OUT_OF_TIME) and self.embedder is not None:
            raise EmbedderFailed(f"{self.embedder.name} left texts without a vector.", hint="Run it again.")

    def ask(self, question: Question, system: System, into: Measured) -> None:
        """Put a question to a system and note what came back."""
        if isinstance(system, str):
            started = perf_counter()
            deep = self.baselines[system].ask(question.text, DEEP)
            top, stages = deep[:TOP], {"recall": (perf_counter() - started) * 1000}
            embeds = system in ("dense", "rrf")
        else:
            asked = system if isinstance(system, Asked) else Asked(recipe=system, how={})
            top, stages, embeds = self._recalled(question, asked, into)
            deep = [hit.id for hit in self.owner.recall(question.text, recipe=asked.recipe, limit=DEEP, **asked.how)]
        for name, value in scores(top, deep, question.grades).items():
            into.scores[name].append(value)
        into.found[question.id] = top
        embed = self._embedded(question.text) if embeds and self.embedder else 0.0
        for stage, ms in {"total": embed + stages["recall"], "embed": embed, **stages}.items():
            into.ms.setdefault(stage, []).append(ms)

    def _embedded(self, text: str) -> float:
        """Milliseconds for the question's vector in the space that led; what another was asked besides is part of recall."""
        first = self._leading(text)
        return first.embedder.took(text[: first.profile.max_chars])

    def _leading(self, text: str) -> Embedding:
        return leading(self.embedding, text, Where(owner=self.owner.scope.owner, now=self.now), self.store)

    def _recalled(self, question: Question, asked: Asked, into: Measured) -> tuple[list[str], dict[str, float], bool]:
        started = perf_counter()
        answer = self.owner.recall(question.text, recipe=asked.recipe, limit=TOP, **asked.how)
        took = (perf_counter() - started) * 1000
        into.tokens.append(self.owner.render(answer).tokens)
        for trouble in _troubles(answer):
            into.troubles[trouble] = into.troubles.get(trouble, 0) + 1
        ran = [ranking for ranking in answer.diagnostics.routes if ranking.status == RAN]
        stages = {"recall": took, **{ranking.route.name: ranking.ms for ranking in ran}}
        if answer.diagnostics.rerank is not None:
            stages["rerank"] = answer.diagnostics.rerank.ms  # what another system had read already is not read again
        return [hit.id for hit in answer], stages, any(ranking.route.kind == "vector" for ranking in ran)


def _draft(item: Item) -> dict[str, object]:
    given = {
        "text": item.text, "id": item.id, "session": item.session, "turn": item.turn, "speaker": item.speaker,
        "at": moment(item.at) if item.at is not None else "ageless", "role": "note" if item.turn is None else "turn",
    }  # fmt: skip
    return {name: value for name, value in given.items() if value is not None}


def _troubles(answer: Answer) -> list[str]:
    read = answer.diagnostics.rerank
    unread = [f"rerank {read.status}: {read.reason}"] if read is not None and read.status != RAN and not read.idle else []
    failed = [r for r in answer.diagnostics.routes if r.status in (FAILED, TIMED_OUT)]
    return [*(f"{r.route.name} {r.status}: {r.reason}" for r in failed), *unread]
