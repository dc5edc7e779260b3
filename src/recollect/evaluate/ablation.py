"""What each part of a recipe is worth: the recipe without it, on the same questions.

The parts are listed from the recipe itself, so a new field or route is in the table the day it exists. A route that runs is
turned off, one that doesn't is turned on; a field that is not at its default is put back to it; and superseded records are let in
again. The difference to the whole recipe is tested question by question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any

from ..recipe_text import plain_text
from ..recipes import Recipe
from .chance import Compared, paired
from .report import LEADING
from .run import Asked, Run, System

# Names, scope and size are no parts: without them it would be another question, not a poorer answer.
WHOLE = frozenset(
    {"name", "routes", "limit", "kinds", "kind_limits", "scope", "profile", "catch_up", "neighbours", "neighbours_when"}
)
ON = 1.0  # the weight of a route that is turned on


def parts(recipe: Recipe) -> dict[str, System]:
    """Every variation, by what it is called."""
    running = [route for route in recipe.routes if route.weight]
    found: dict[str, System] = {}
    for route in recipe.routes:
        if route.weight and len(running) > 1:
            found[f"without {route.name}"] = recipe.with_weights({route.name: 0.0})
        elif not route.weight:
            found[f"with {route.name}"] = recipe.with_weights({route.name: ON})
    for one in fields(Recipe):
        if one.name not in WHOLE and one.default is not MISSING and getattr(recipe, one.name) != one.default:
            found[f"{one.name}={plain_text(one, one.default)}"] = recipe.replace(**{one.name: one.default})
    return found | {"with superseded": Asked(recipe=recipe, how={"timeless": True})}


def ablation(runs: Sequence[Run], whole: str, labels: Sequence[str]) -> dict[str, Any]:
    """Each part's difference to the whole: over all sets, on each set, in each category."""
    places = {run.dataset.name: [run] for run in runs}
    rows = [{"on": "all sets", **_row(runs, whole, labels)}] if len(runs) > 1 else []
    for name, one in places.items():
        rows.append({"on": name, **_row(one, whole, labels)})
        categories = sorted({question.category for question in one[0].questions} - {""})
        if len(categories) > 1:
            rows += [{"on": f"{name}: {each}", **_row(one, whole, labels, each)} for each in categories]
    return {"of": whole, "metric": LEADING, "parts": list(labels), "rows": rows}


def _row(runs: Sequence[Run], whole: str, labels: Sequence[str], category: str | None = None) -> dict[str, Any]:
    full = [_scores(run, whole, category) for run in runs]
    tests = {label: paired([_scores(run, label, category) for run in runs], full) for label in labels}
    mean = sum(sum(scores) / len(scores) for scores in full) / len(full)
    return {"questions": sum(map(len, full)), "whole": mean, "parts": {label: _plain(test) for label, test in tests.items()}}


def _scores(run: Run, system: str, category: str | None) -> list[float]:
    scores = next(one for one in run.measured if one.system == system).scores[LEADING]
    return [
        score for score, question in zip(scores, run.questions, strict=True) if category is None or question.category == category
    ]


def _plain(test: Compared) -> dict[str, Any]:
    return {**test.difference._asdict(), "p": test.p}
