"""What was measured, as one table of plain data, and as tables for people. Made from scores alone: it runs nothing.

`result` is what `--json` prints and `--against` reads again: it holds every question's scores, so that two runs can be compared
question by question later. `tables` says it for a terminal or a page.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .. import __version__
from .chance import LEVEL, Compared, holm, interval, paired
from .metrics import NAMES, SHOWN
from .run import Measured, Run

FORM = 1  # of the JSON; raised when an older reader would misread it
KEPT = ("nDCG@10", "recall@10", "recall@50", "MRR@10")  # question by question
LEADING = "nDCG@10"
FURTHER = (*SHOWN[1:], "any@10", "all@10")  # the columns after the leading one


class Table(NamedTuple):
    """A heading, what to know about the table, its columns and rows."""

    title: str
    note: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def result(runs: Sequence[Run], embedder: Mapping[str, Any]) -> dict[str, Any]:
    """Everything, as numbers, words, lists and tables."""
    systems = _systems(runs)
    sets = [_set(run) for run in runs]
    found = {"form": FORM, "recollect": __version__, "embedder": dict(embedder), "systems": systems, "sets": sets}
    return found | {"means": _means(runs, systems), "comparisons": comparisons(runs)}


def only(runs: Sequence[Run], systems: Sequence[str]) -> list[Run]:
    """The runs with some of their systems."""
    return [dataclasses.replace(run, measured=tuple(_of(run, system) for system in systems)) for run in runs]


def comparisons(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The first system against each other one, over all sets; p-values adjusted for there being several."""
    first, *others = _systems(runs)
    pairs = [(other, compared(runs, first, other)) for other in others]
    adjusted = holm([one.p for _, one in pairs])
    return [
        {"first": first, "second": other, "metric": LEADING, "difference": one.difference._asdict(), "p": p, "exact": one.exact}
        for (other, one), p in zip(pairs, adjusted, strict=True)
    ]


def compared(runs: Sequence[Run], first: str, second: str, metric: str = LEADING) -> Compared:
    """One system against another, question by question, each set counting alike."""
    return paired(*([_of(run, system).scores[metric] for run in runs] for system in (first, second)))


def tables(found: Mapping[str, Any]) -> list[Table]:
    """The same for people: an overview where there are several sets, then each set."""
    made = [_overview(found)] if len(found["sets"]) > 1 else []
    made += [_scores(one) for one in found["sets"]]
    made += [_categories(one) for one in found["sets"] if len(one["categories"]) > 1]
    made += [_stages(one) for one in found["sets"]]
    made += [_compared(found)] if found["comparisons"] else []
    return made + ([ablated(found["ablation"])] if "ablation" in found else [])


def _systems(runs: Sequence[Run]) -> list[str]:
    return [one.system for one in runs[0].measured]


def _of(run: Run, system: str) -> Measured:
    return next(one for one in run.measured if one.system == system)


def _set(run: Run) -> dict[str, Any]:
    counts: dict[str, int] = {}
    for question in run.questions:
        counts[question.category] = counts.get(question.category, 0) + 1
    data = run.dataset
    return {
        "name": data.name, "digest": data.digest, "records": len(data.items), "notes": list(data.notes),
        "questions": [question.id for question in run.questions], "categories": dict(sorted(counts.items())),
        "systems": [_system(one, run) for one in run.measured],
    }  # fmt: skip


def _system(one: Measured, run: Run) -> dict[str, Any]:
    by_category: dict[str, list[float]] = {}
    for question, score in zip(run.questions, one.scores[LEADING], strict=True):
        by_category.setdefault(question.category, []).append(score)
    return {
        "name": one.system,
        "metrics": {name: interval([one.scores[name]])._asdict() for name in NAMES},
        "categories": {name: interval([values])._asdict() for name, values in sorted(by_category.items())},
        "ms": {stage: {"p50": percentile(values, 50), "p95": percentile(values, 95)} for stage, values in one.ms.items()},
        "tokens": statistics.fmean(one.tokens) if one.tokens else None,
        "troubles": one.troubles,
        "scores": {name: [round(value, 6) for value in one.scores[name]] for name in KEPT},
    }


def _means(runs: Sequence[Run], systems: Sequence[str]) -> dict[str, dict[str, Any]]:
    def mean(system: str, name: str) -> dict[str, float]:
        return interval([_of(run, system).scores[name] for run in runs])._asdict()

    return {system: {name: mean(system, name) for name in SHOWN} for system in systems}


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least so many per cent do not exceed."""
    ranked = sorted(values)
    return ranked[max(0, -(-len(ranked) * share // 100).__int__() - 1)]


def _overview(found: Mapping[str, Any]) -> Table:
    names = [one["name"] for one in found["sets"]]
    rows = []
    for number, system in enumerate(found["systems"]):
        means = [_three(one["systems"][number]["metrics"][LEADING]["mean"]) for one in found["sets"]]
        rows.append([system, *means, _spread(found["means"][system][LEADING])])
    return Table(f"{LEADING}, every set", "Each set counts alike in the mean.", ["system", *names, "mean"], rows)


def _scores(one: Mapping[str, Any]) -> Table:
    rows = []
    for system in one["systems"]:
        total, metrics = system["ms"]["total"], system["metrics"]
        rows.append([
            system["name"], _spread(metrics[LEADING]), *(_three(metrics[name]["mean"]) for name in FURTHER),
            f"{total['p50']:.2f}", f"{total['p95']:.2f}", "–" if system["tokens"] is None else f"{system['tokens']:.0f}",
        ])  # fmt: skip
    said = f"{one['records']:,} records, {len(one['questions']):,} questions. {'. '.join(one['notes'])}".strip()
    return Table(one["name"], said, ["system", LEADING, *FURTHER, "ms p50", "ms p95", "tokens"], rows)


def _categories(one: Mapping[str, Any]) -> Table:
    head = [f"{name or '(none)'} ({count})" for name, count in one["categories"].items()]
    rows = [[system["name"], *(_spread(cell) for cell in system["categories"].values())] for system in one["systems"]]
    return Table(f"{one['name']}: {LEADING} by category", "", ["system", *head], rows)


def _stages(one: Mapping[str, Any]) -> Table:
    rows = [
        [system["name"], ", ".join(f"{stage} {ms['p50']:.2f} / {ms['p95']:.2f}" for stage, ms in system["ms"].items())]
        for system in one["systems"]
    ]
    return Table(f"{one['name']}: milliseconds a stage", "p50 / p95.", ["system", "stages"], rows)


def _compared(found: Mapping[str, Any]) -> Table:
    rows = [
        [one["second"], _signed(one["difference"]), chance(one["p"]) + (" (exact)" if one["exact"] else ""), _verdict(one)]
        for one in found["comparisons"]
    ]
    first = found["comparisons"][0]["first"]
    note = "Paired randomisation test, two-sided, p adjusted after Holm; the interval is a paired bootstrap's."
    return Table(f"{first} against the others: {LEADING}", note, ["against", "difference", "p", "so it is"], rows)


def _verdict(one: Mapping[str, Any]) -> str:
    if one["p"] >= 0.05:
        return "no different, as far as these questions tell"
    return "better" if one["difference"]["mean"] > 0 else "worse"


def chance(p: float) -> str:
    """A p-value as people write it."""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def _three(value: float) -> str:
    return f"{value:.3f}"


def _spread(cell: Mapping[str, float]) -> str:
    return f"{cell['mean']:.3f} [{cell['low']:.3f}, {cell['high']:.3f}]"


def _signed(cell: Mapping[str, float]) -> str:
    return f"{cell['mean']:+.3f} [{cell['low']:+.3f}, {cell['high']:+.3f}]"


def ablated(found: Mapping[str, Any]) -> Table:
    """What each part is worth: a row a set or category, a column a part."""
    rows = [
        [row["on"], str(row["questions"]), f"{row['whole']:.3f}", *(_part(row["parts"][part]) for part in found["parts"])]
        for row in found["rows"]
    ]
    note = (
        f"The change of {found['metric']} when one part of {found['of']} is taken away, or another added; * where a paired "
        "randomisation test finds it at the 5 % level (not adjusted for the number of cells)."
    )
    return Table(f"What each part of {found['of']} is worth", note, ["on", "questions", found["of"], *found["parts"]], rows)


def _part(part: Mapping[str, float]) -> str:
    if part["mean"] == part["low"] == part["high"] == 0:
        return "="
    return f"{part['mean']:+.3f}" + ("*" if part["p"] < LEVEL else "")


def markdown(made: Sequence[Table]) -> str:
    """Tables as Markdown."""
    parts = []
    for table in made:
        lines = [f"### {table.title}", ""] + ([table.note, ""] if table.note else [])
        rows = [table.head, ["---"] * len(table.head), *table.rows]
        parts.append("\n".join(lines + ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]))
    return "\n\n".join(parts) + "\n"
