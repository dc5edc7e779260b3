"""tune and feedback: the commands that learn from what should have been found."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import chain
from shlex import quote
from typing import TYPE_CHECKING, Any

from ..errors import InvalidDataset, InvalidSetting
from .entry import FAILED, configured, opened
from .measuring import embedder, judges, sets_of

if TYPE_CHECKING:
    from ..evaluate.tune import Stage, Tuned
    from ..recipes import Recipe
    from .terminal import Screen


def tune(args: Namespace, screen: Screen) -> int:
    from ..evaluate.tune import tune as climb
    from ..evaluate.tune import turns

    if not args.folder and not args.feedback:
        raise InvalidDataset("There is nothing to learn from.", hint="Name a folder of evaluation data, or give --feedback.")
    with _stage(args, screen) as (stage, base), screen.progress("trying") as bar:
        turned = [turn for words in args.vary for turn in _varied(words)] if args.vary else turns(base)
        found = climb(stage, base, turned, args.metric, lambda done, total, name: bar.step(done, total, name))
    if screen.as_json:
        screen.json(_as_json(found))
    else:
        _say(found, screen)
    return 0 if found.advice is not None else FAILED


def feedback(args: Namespace, screen: Screen) -> None:
    with opened(args, screen) as memory:
        record = memory.feedback(args.query, args.id, good=not args.bad)
    if screen.as_json:
        screen.json({"id": record.id, "query": args.query, "about": args.id, "good": not args.bad})
    else:
        screen.say(f"Noted as {record.id}: {args.id} should {'not ' if args.bad else ''}be recalled for this.")


@contextmanager
def _stage(args: Namespace, screen: Screen) -> Iterator[tuple[Stage, Recipe]]:
    """Where the questions are asked, and the recipe that is to be beaten: the named one, or the one in force."""
    from ..recipes import as_recipe

    settings, _, _ = configured(args)
    base, stages = as_recipe(args.recipe or settings.recipe), []
    with ExitStack() as held:
        if args.folder:
            from ..evaluate.stages import acted_out

            stages.append(acted_out(sets_of(args), held.enter_context(embedder(args)), judges(args)))
        if args.feedback:
            memory = held.enter_context(opened(args, screen))
            base = base if args.recipe else memory.recipe
            stages.append(_past(args, memory.scope, held))
        yield lambda: chain.from_iterable(stage() for stage in stages), base


def _past(args: Namespace, scope: Any, held: ExitStack) -> Stage:
    """The memory's own past, by what people said of it."""
    from ..evaluate.stages import remembered
    from ..opening import open_embedding
    from ..stores import open_store

    settings, _, url = configured(args)
    embedding = open_embedding(args.embedder or settings.embedder, settings)
    return remembered(held.enter_context(closing(open_store(url))), scope, embedding, judges(args))


def _varied(words: str) -> list[dict[str, Any]]:
    """FIELD=VALUE,VALUE as one turn a value."""
    from ..recipe_text import read_value

    name, equals, values = words.partition("=")
    if not (name and equals and values):
        raise InvalidSetting(
            f"{words!r:.60} is not FIELD=VALUE,VALUE.", hint="Write --vary rrf_k=5,20,60 or weights.lexical=0.5,1."
        )
    return [{name.strip(): "none" if (value := read_value(one)) is None else value} for one in values.split(",")]


def _as_json(found: Tuned) -> dict[str, Any]:
    gain = found.held_out
    return {
        "base": str(found.base), "found": str(found.found), "recommended": None if found.advice is None else str(found.advice),
        "why": found.why, "metric": found.metric, "questions": found.questions, "folds": found.folds, "tried": found.tried,
        "before": found.before, "gain": gain.difference._asdict(), "p": gain.p, "exact": gain.exact, "seen_gain": found.seen,
        "chosen": list(found.chosen),
    }  # fmt: skip


def _say(found: Tuned, screen: Screen) -> None:
    gain = found.held_out.difference
    rows = [
        ("recipe at hand", f"{found.base}: {found.metric} {found.before:.3f} on {found.questions:,} questions"),
        ("found", f"{found.found}, of {found.tried:,} recipes tried"),
        ("held-out gain", f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}], p {found.held_out.p:.4f}, {found.folds} folds"),
        ("seen gain", f"{found.seen:+.3f}, on the questions it was chosen by: flattering"),
        *((f"fold {number}", recipe) for number, recipe in enumerate(found.chosen, 1)),
    ]
    screen.table(rows, (), ("cyan",))
    if found.advice is None:
        screen.note(f"No recipe is recommended. {found.why}")
    else:
        screen.say(f"To use it: recollect settings {quote(f'recipe={found.advice}')}")
