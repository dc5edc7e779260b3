"""demo: a made-up conversation is remembered, asked three questions, and says why it answers so."""

from __future__ import annotations

import dataclasses
import os
import shlex
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ..demo import EXPECTED, QUESTIONS, Clock, Question, live_through
from ..explain import Explanation, explain_answer
from ..wire import answer_json
from .memories import hits
from .terminal import safe_lines

if TYPE_CHECKING:
    from ..memory import Memory
    from ..rankings import Answer
    from .terminal import Screen

OWNER = "nora"
PATIENCE = 60.0


def demo(args: Namespace, screen: Screen) -> None:
    clock, started = Clock(), perf_counter()
    with _somewhere(args, clock) as memory:
        lines = live_through(memory, clock)
        memory.flush(PATIENCE)
        took = perf_counter() - started
        answers = [
            (question, memory.recall(question.text, recipe=question.recipe, as_of=question.as_of)) for question in QUESTIONS
        ]
        why_not = memory.explain(QUESTIONS[0].text, recipe=QUESTIONS[0].recipe, expect=EXPECTED)
        old, block = memory.get(EXPECTED).text, memory.render(answers[0][1]).text
        name = memory.status()["embedder"]
    if screen.as_json:
        screen.json(_as_json(lines, answers, why_not, block))
        return
    screen.heading(f"Remembered {lines} lines of seven conversations over five months in {took:.1f} s, with the embedder {name}.")
    for question, answer in answers:
        _show(question, answer, screen)
    screen.say()
    screen.heading(f"Why not “{old}”?")
    screen.drawn(str(why_not))
    screen.say()
    screen.heading("The block a prompt would get:")
    screen.say(safe_lines(block))
    screen.say()
    screen.say(screen.paint(_seen(args), "dim"))
    screen.say(screen.paint('Your own: recollect --owner you remember "…", then recollect --owner you recall "…"', "dim"))


def _seen(args: Namespace) -> str:
    """How to look at all of it in a browser, where one can see why."""
    file = args.db or "demo.db"
    kept = "" if args.db else f"recollect --db {file} demo, then "
    file = "…" if "://" in file else shlex.quote(file)  # a URL may hold a password
    return f"See why, in a browser: {kept}recollect --db {file} --owner {shlex.quote(args.owner or OWNER)} serve"


@contextmanager
def _somewhere(args: Namespace, clock: Clock) -> Iterator[Memory]:
    """A memory for the demo, in a file that goes away unless one was named. Never with a remote embedder."""
    from ..embedders.opening import chosen
    from ..memory import Memory
    from ..settings import Settings, load, models_folder

    models = models_folder(load())
    settings = Settings(models=str(models), embedder=chosen("auto", models_dir=models))
    with TemporaryDirectory(prefix="recollect-demo-") as folder:
        url = args.db or os.path.join(folder, "demo.db")
        with Memory.open(url, owner=args.owner or OWNER, clock=clock, settings=settings) as memory:
            yield memory


def _show(question: Question, answer: Answer, screen: Screen) -> None:
    screen.say()
    screen.heading(question.text)
    screen.say(screen.paint(question.shows, "dim"))
    hits(answer, screen)
    screen.drawn("\n".join(str(_first(explain_answer(answer))).splitlines()[1 + len(answer.diagnostics.routes) :]))


def _first(explanation: Explanation) -> Explanation:
    """The same with the tree of the best hit only."""
    return dataclasses.replace(explanation, trees=explanation.trees[:1])


def _as_json(lines: int, answers: list[tuple[Question, Answer]], why_not: Explanation, block: str) -> dict[str, Any]:
    return {
        "remembered": lines,
        "answers": [answer_json(answer) | {"explanation": explain_answer(answer).to_dict()} for _, answer in answers],
        "why_not": why_not.to_dict(), "memory": block,
    }  # fmt: skip
