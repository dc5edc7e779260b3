"""Read the best candidates again, each together with the question, and let whoever reads them have a word in the order.

    by rank     final = (1 − weight) × score + weight / (k + rank among those read)
    by score    final = (1 − weight) × score / best score + weight × relevance (from 0 to 1)

A route compares a text with a question without having seen both at once; a reranker has (Nogueira and Cho 2019,
https://arxiv.org/abs/1901.04085), at milliseconds a text, so only the first `rerank_top` are read. What it can't read, because of
the script or the language, keeps its place: its own rank, or its own share of the best score, stands in. What was not read
comes behind, in the order it had. A judge that is good at short texts or questions only says how far it reaches: of longer ones
its word counts less, by the square of how much longer they are; and by score it fades with age, and pays for every part of a long
record, as the score does. A turn is read with the one before it (`rerank_before`): "Yes, last Friday!" answers what was asked
there. Weight 0 or no name: nothing is opened, imported or asked.

`Judge` is one reranker as the engine uses it: asked in time, never twice about the same texts, left alone while it is broken. A
judge that fails, is late or is not there leaves the order as it is, and the answer says so.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import fsum, isfinite
from time import perf_counter
from typing import NamedTuple

from .embed import FAILURES, REST, started
from .errors import RecollectError, RerankerFailed, RerankerResting, RerankerTimeout, UnknownReranker
from .ports import JudgeProfile, Reranker
from .query import Query
from .rankings import FAILED, RAN, SKIPPED, TIMED_OUT, Candidate, Reranked
from .reading import heard, reads, speaks
from .recipes import Recipe

LATE = "late"
REMEMBERED = 20_000  # judgements that are kept


class Said(NamedTuple):
    """What is read of a candidate: its text, and of a turn the one before it, for what answers is often short."""

    text: str
    before: str = ""

    def read(self, most: int, chars: int) -> str:
        """Both, where the turn before is no longer than `most`, cut to so many characters."""
        return (f"{self.before}\n{self.text}" if self.before and len(self.before) <= most else self.text)[:chars]


Texts = Callable[[Sequence[Candidate]], Sequence[Said]]


class Judge:
    """See the module. `wall` is a clock in seconds."""

    def __init__(self, reranker: Reranker, *, deadline: float, wall: Callable[[], float]) -> None:
        self.reranker, self.deadline, self.wall = reranker, deadline, wall
        self.profile: JudgeProfile = reranker.profile
        self._held: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._lock = threading.Lock()
        self._failures, self._rests_until = 0, 0.0

    def reads(self, text: str) -> bool:
        """Can it make sense of this text?"""
        return reads(text, self.profile.scripts) and speaks(text, self.profile.languages)

    def heard(self, query: str, texts: Sequence[str]) -> float:
        """How much its word counts here; several in one say it themselves."""
        own = getattr(self.reranker, "heard", None)
        return own(query, texts) if own else heard(self.profile, query, texts)

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One number a text, in time, or the error."""
        if getattr(self.reranker, "compares", False):  # the same text may get another number beside others
            return self._asked(query, texts)
        with self._lock:
            known = {text: self._held[query, text] for text in texts if (query, text) in self._held}
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        if fresh:
            known |= zip(fresh, self._asked(query, fresh), strict=True)
            self._keep(query, known)
        return [known[text] for text in texts]

    def _asked(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        if self._failures >= FAILURES and self.wall() < self._rests_until:
            raise RerankerResting(f"{self.profile.name} failed {self._failures} times in a row and rests for a while.")
        try:
            if self.profile.inline:
                found = self._judged(query, texts)
            else:
                work = partial(self._judged, query, texts)
                late = RerankerTimeout(f"{self.profile.name} did not answer within {self.deadline:g} s.")
                found = started(work, self.deadline, late)()
        except Exception:
            self._failures += 1
            self._rests_until = self.wall() + REST
            raise
        self._failures = 0
        return found

    def _judged(self, query: str, texts: Sequence[str]) -> list[float]:
        return _checked(self.reranker.scores(query, texts), len(texts))

    def _keep(self, query: str, known: Mapping[str, float]) -> None:
        with self._lock:
            self._held.update({(query, text): score for text, score in known.items()})
            while len(self._held) > REMEMBERED:
                self._held.popitem(last=False)


class Judges:
    """Every reranker that was asked for by name, opened once. `own`: what the memory was opened with, which is also `auto`."""

    def __init__(
        self, own: Reranker | str, opener: Callable[[Reranker | str], Reranker], *, deadline: float, wall: Callable[[], float]
    ) -> None:
        self._own, self._opener, self._deadline, self._wall = own, opener, deadline, wall
        self._open: dict[str, Judge | RecollectError] = {}
        self._lock = threading.Lock()

    def of(self, name: str) -> Judge:
        """The judge a recipe names, or the error that says why there is none; then it is looked for anew the next time."""
        with self._lock:
            found = self._open.get(name)
            if found is None:
                found = self._open[name] = Judge(self._opened(name), deadline=self._deadline, wall=self._wall)
            return found

    def _opened(self, name: str) -> Reranker:
        called = self._own.partition(":")[0] if isinstance(self._own, str) else self._own.profile.name
        return self._opener(self._own if name in ("auto", called) else name)


def rerank(
    found: list[Candidate], query: Query, recipe: Recipe, judges: Judges | None, texts: Texts, *, embeds: bool = True
) -> tuple[list[Candidate], Reranked | None]:
    """The candidates in their new order, and what became of the reading; None where the recipe wants none."""
    if recipe.rerank is None or not recipe.rerank_weight:
        return found, None
    if declined(recipe, embeds):
        return found, Reranked(recipe.rerank, SKIPPED, "there is no embedder", idle=True)
    started_at = perf_counter()
    top = found[: recipe.rerank_top.size(query.limit)]
    name, count, idle = recipe.rerank, 0, False
    try:
        if judges is None:
            raise UnknownReranker("No reranker can be opened here.")
        judge = judges.of(recipe.rerank)
        name = judge.profile.name
        count = _read(judge, top, query, recipe, texts)
        status, reason = RAN, ""
        for candidate in found[len(top) :]:
            _settle(candidate, recipe, top[0].judged["best"], top[0].judged["weight"])
        found = [*sorted(top, key=lambda candidate: -candidate.final), *found[len(top) :]]
    except Unread as why:
        status, reason, idle = SKIPPED, str(why), True
    except Exception as error:
        status, reason = _told(error)
    return found, Reranked(name, status, reason[:300], count, (perf_counter() - started_at) * 1000, idle)


def declined(recipe: Recipe, embeds: bool) -> bool:
    """Is nobody to be asked? `late` is made of the vectors of `static`: without any embedder a memory goes without it, too."""
    return recipe.rerank is None or not recipe.rerank_weight or (recipe.rerank == LATE and not embeds)


class Unread(Exception):
    """There is nothing the judge could read."""


def _read(judge: Judge, top: list[Candidate], query: Query, recipe: Recipe, texts: Texts) -> int:
    """Have the top read, and settle what each of them is worth; how many were read."""
    if not judge.reads(query.text):
        raise Unread(f"{judge.profile.name} can't read this question")
    said = texts(top)
    places = [place for place, (text, _) in enumerate(said) if text and judge.reads(text)]
    if not places:
        raise Unread(f"{judge.profile.name} can read none of the candidates" if top else "there is nothing to read")
    scores = judge.scores(query.text, [said[place].read(recipe.rerank_before, judge.profile.max_chars) for place in places])
    best = top[0].final if top[0].final > 0 else 1.0
    weight = recipe.rerank_weight * judge.heard(query.text, [said[place].text[: judge.profile.max_chars] for place in places])
    order = sorted(zip(places, scores, strict=True), key=lambda one: (-one[1], one[0]))
    for free, (place, relevance) in zip(places, order, strict=True):  # the others keep their places
        _settle(top[place], recipe, best, weight, free + 1, relevance)
    for place in set(range(len(top))) - set(places):
        _settle(top[place], recipe, best, weight, place + 1)
    return len(places)


def _settle(
    candidate: Candidate, recipe: Recipe, best: float, weight: float, rank: int | None = None, relevance: float | None = None
) -> None:  # fmt: skip
    """The new score. Without a rank it was beyond the top; with a rank but no relevance it could not be read."""
    before = candidate.final
    score = before if recipe.rerank_by == "rank" else before / best
    parts = [(1 - weight) * score]
    if rank is not None:
        voice = score if relevance is None else relevance * candidate.toll * candidate.decay
        parts.append(weight / (recipe.rrf_k + rank) if recipe.rerank_by == "rank" else weight * voice)
    candidate.final = fsum(parts)
    candidate.judged = {"before": before, "best": best, "rank": rank, "relevance": relevance, "weight": weight}


def _checked(scores: object, count: int) -> list[float]:
    try:
        found = [float(score) for score in scores]
    except (TypeError, ValueError):
        raise RerankerFailed(f"The reranker answered with {scores!r:.60} instead of {count} numbers.") from None
    if len(found) != count or not all(map(isfinite, found)):
        raise RerankerFailed(f"The reranker answered with {len(found)} numbers to {count} texts, or with one that is not finite.")
    return found


def _told(error: Exception) -> tuple[str, str]:
    """What is not there is skipped; what is late or broken degrades the answer."""
    if isinstance(error, RerankerTimeout):
        return TIMED_OUT, str(error)
    status = SKIPPED if isinstance(error, (ImportError, FileNotFoundError, UnknownReranker)) else FAILED
    return status, str(error) if isinstance(error, RecollectError) else f"{type(error).__name__}: {error}"
