"""Find a better recipe for somebody's own questions, and say honestly how much better it is.

The search climbs: from the recipe at hand, every change of one knob is tried on all questions, the best is kept, until nothing
helps. What it finds on the questions it looked at flatters itself, so it is done again, once a fold, without the questions of
that fold, and each question is scored with the recipe that was chosen without it. The difference to the recipe at hand over these
held-out scores is the gain that is reported, with its interval. Folds are whole scopes where a set has three or more, since
questions about one conversation help each other; else questions.

The evidence is too thin, and nothing is recommended, with fewer than 40 questions, or when a paired randomisation test does not
show the held-out gain at the 5 % level, or when the recipe found on everything is the one at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidDataset
from ..recipes import Recipe
from .chance import Compared, paired
from .datasets import Question
from .metrics import scores

LEAST, FOLDS, ROUNDS = 40, 5, 6
STEP = 5e-4  # a change that gains less than this on the questions it was chosen on is noise, and more to explain
Ask = Callable[[Recipe], Sequence[str]]
Progress = Callable[[int, int, str], None]


class Asking(NamedTuple):
    """A question whose time has come, and how to ask it with a recipe."""

    set: str
    question: Question
    ask: Ask


Turn = Mapping[str, Any]  # fields of a recipe and `weights.NAME`, with new values
Stage = Callable[[], Iterator[Asking]]  # acts everything out from the start


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """What came of it. `advice` is None when the evidence is too thin; `why` says so in words."""

    base: Recipe
    found: Recipe
    advice: Recipe | None
    why: str
    metric: str
    questions: int
    folds: int
    tried: int
    before: float
    held_out: Compared  # the gain on questions that the choice had not seen
    seen: float  # the gain on those it had: always flattering
    chosen: tuple[str, ...]  # what each fold chose


def turns(recipe: Recipe) -> list[Turn]:
    """What is tried unless somebody says otherwise: the weights of the routes, and what fuses, fades and orders."""
    weights = [{f"weights.{route.name}": weight} for route in recipe.routes for weight in (0.0, 0.25, 0.5, 1.0, 1.5, 2.5)]
    fading = [{"decay": "half-life", "half_life": days} for days in (30.0, 180.0, 720.0)]
    varied = {"rrf_k": (1, 2, 5, 10, 20, 40, 60), "trust": (True, False), "mmr": (None, 0.9, 0.7), "decay": (None,)}
    return [*weights, *fading, *({name: value} for name, values in varied.items() for value in values)]


def tune(stage: Stage, base: Recipe, turned: Sequence[Turn], metric: str, progress: Progress | None = None) -> Tuned:
    """Climb on everything and on every fold at once, so that each recipe is tried once."""
    board = Board(stage, metric, progress)
    board.try_all([base])
    if not board.places:
        raise InvalidDataset(
            "There is no question to learn from.", hint='Say what should be recalled: recollect feedback "…" ID.'
        )
    fold_of, groups = folds(board.places)
    everything = np.ones(len(fold_of), bool)
    climbers = [everything, *(fold_of != fold for fold in range(groups))]
    best = climb(board, base, turned, climbers)
    held = np.zeros(len(fold_of))
    for fold, recipe in enumerate(best[1:]):
        held[fold_of == fold] = board.scores[recipe][fold_of == fold]
    return _judged(board, base, best, held, groups)


def climb(board: Board, base: Recipe, turned: Sequence[Turn], climbers: Sequence[np.ndarray]) -> list[Recipe]:
    """The best recipe each climber reaches, seeing only its own questions."""
    at, moving = [base] * len(climbers), list(range(len(climbers)))
    for _ in range(ROUNDS):
        board.try_all([one for number in moving for one in around(at[number], turned)])
        still = []
        for number in moving:
            mine = board.mean(at[number], climbers[number])
            next_best = max(around(at[number], turned), key=lambda one: board.mean(one, climbers[number]), default=at[number])
            if board.mean(next_best, climbers[number]) > mine + STEP:
                at[number] = next_best
                still.append(number)
        moving = still
        if not moving:
            break
    return at


def around(recipe: Recipe, turned: Sequence[Turn]) -> list[Recipe]:
    """The recipe after each turn, without those that leave it as it is or leave no route."""
    others = (with_turn(recipe, turn) for turn in turned)
    return [other for other in others if other != recipe and any(route.weight for route in other.routes)]


def with_turn(recipe: Recipe, turn: Turn) -> Recipe:
    """Some fields, or `weights.` of routes, changed."""
    weights = {name.removeprefix("weights."): value for name, value in turn.items() if name.startswith("weights.")}
    return recipe.replace(**{name: turn[name] for name in turn if not name.startswith("weights.")}).with_weights(weights)


class Board:
    """Every recipe's score on every question, each tried once."""

    def __init__(self, stage: Stage, metric: str, progress: Progress | None) -> None:
        self.stage, self.metric, self.progress = stage, metric, progress
        self.scores: dict[Recipe, np.ndarray] = {}
        self.places: list[tuple[str, Question]] = []
        self._shares = np.empty(0)

    def try_all(self, recipes: Sequence[Recipe]) -> None:
        """Act everything out once and ask each question with every recipe that is new."""
        fresh = [recipe for recipe in dict.fromkeys(recipes) if recipe not in self.scores]
        if not fresh:
            return
        rows: list[list[float]] = [[] for _ in fresh]
        places = []
        for asking in self.stage():
            places.append((asking.set, asking.question))
            for row, recipe in zip(rows, fresh, strict=True):
                top = asking.ask(recipe)
                row.append(scores(top, top, asking.question.grades)[self.metric])
            if self.progress is not None:
                self.progress(len(places), len(self.places), f"trying {len(fresh)} recipes")
        self.places = places
        self.scores |= {recipe: np.asarray(row) for recipe, row in zip(fresh, rows, strict=True)}
        sizes = {name: sum(one == name for one, _ in places) for name in {name for name, _ in places}}
        self._shares = np.array([1 / sizes[name] for name, _ in places])

    def mean(self, recipe: Recipe, seen: np.ndarray) -> float:
        """The mean over the questions seen; each set counts alike."""
        weights = self._shares * seen
        return float((self.scores[recipe] * weights).sum() / weights.sum()) if weights.any() else 0.0

    def by_set(self, values: np.ndarray) -> list[np.ndarray]:
        names = [name for name, _ in self.places]
        return [values[[one == name for one in names]] for name in dict.fromkeys(names)]


def folds(places: Sequence[tuple[str, Question]]) -> tuple[np.ndarray, int]:
    """Which fold each question is in, and how many there are. Decided by names, so the same on every machine."""
    scopes: dict[str, set[str]] = {}
    for name, question in places:
        scopes.setdefault(name, set()).add(question.scope)
    units = [f"{name}\n{question.scope}" if len(scopes[name]) >= 3 else f"{name}\n{question.id}" for name, question in places]
    order = sorted(set(units), key=lambda unit: sha256(unit.encode()).digest())
    numbers: dict[str, int] = {}
    for unit in order:  # dealt out set by set, so that every fold has some of each
        name = unit.partition("\n")[0]
        numbers[unit] = sum(one.partition("\n")[0] == name for one in numbers) % FOLDS
    groups = min(FOLDS, max(numbers.values(), default=0) + 1)
    return np.array([numbers[unit] for unit in units]), groups


def _judged(board: Board, base: Recipe, best: Sequence[Recipe], held: np.ndarray, groups: int) -> Tuned:
    before = board.scores[base]
    gain = paired(board.by_set(held), board.by_set(before))
    found, count, everything = best[0], len(before), np.ones(len(before), bool)
    why = _thin(count, gain, found == base)
    return Tuned(
        base=base, found=found, advice=None if why else found, why=why, metric=board.metric, questions=count, folds=groups,
        tried=len(board.scores), before=board.mean(base, everything), held_out=gain,
        seen=board.mean(found, everything) - board.mean(base, everything), chosen=tuple(map(str, best[1:])),
    )  # fmt: skip


def _thin(count: int, gain: Compared, same: bool) -> str:
    if count < LEAST:
        return f"{count} questions are too few to choose by: at least {LEAST} are needed."
    if same:
        return "Nothing that was tried is better than the recipe at hand."
    if not gain.significant or gain.difference.mean <= 0:
        low, high = gain.difference.low, gain.difference.high
        seen = f"{gain.difference.mean:+.3f} [{low:+.3f}, {high:+.3f}], p {gain.p:.3f}"
        return f"On questions it had not seen the gain is {seen}: chance may explain it."
    return ""
