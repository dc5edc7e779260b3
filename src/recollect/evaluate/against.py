"""Is it worse than it was? Two results of `recollect eval` compared question by question: the regression gate.

Sets are matched by name and must hold the same data; systems are matched by name, so `balanced` is compared with what
`balanced` was. Every match is tested on nDCG@10 and recall@10, and over all sets together; p-values are adjusted for their number
(Holm), so that a gate of fifty tests does not shut by chance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InvalidDataset
from .chance import LEVEL, Compared, holm, paired
from .report import FORM, Table, chance

GATED = ("nDCG@10", "recall@10")
ALL = "all sets"


class Change(NamedTuple):
    """One system on one set, now and then."""

    system: str
    set: str
    metric: str
    now: Compared
    p: float

    @property
    def worse(self) -> bool:
        return self.p < LEVEL and self.now.difference.mean < 0


def earlier(path: Path) -> dict[str, Any]:
    """The result in a file that `--json` or `--save` wrote."""
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise InvalidDataset(f"{path}: this is no JSON: {error}.", hint="It is what recollect eval --json prints.") from None
    if not isinstance(found, dict) or found.get("form") != FORM or not isinstance(found.get("sets"), list):
        raise InvalidDataset(f"{path} is no result that this recollect reads.", hint="Measure it anew: recollect eval --save.")
    return found


def changes(now: Mapping[str, Any], then: Mapping[str, Any]) -> list[Change]:
    """Every system and set that both results have."""
    sets = [(one, other) for one in now["sets"] for other in then["sets"] if one["name"] == other["name"]]
    for one, other in sets:
        if one["digest"] != other["digest"] or one["questions"] != other["questions"]:
            raise InvalidDataset(f"{one['name']} is not the data it was.", hint="Measure both on the same files and categories.")
    systems = [name for name in now["systems"] if name in then["systems"]]
    if not sets or not systems:
        have = f"then: {', '.join(then['systems'])} on {', '.join(one['name'] for one in then['sets'])}"
        raise InvalidDataset(f"The two results have nothing in common; {have}.", hint="Give the same folders and recipes.")
    found = [change for system in systems for metric in GATED for change in _of(system, metric, sets)]
    adjusted = holm([change.p for change in found])
    return [change._replace(p=p) for change, p in zip(found, adjusted, strict=True)]


def as_table(found: Sequence[Change]) -> Table:
    """What changed, for people; what did not is counted."""
    moved = [change for change in found if change.now.difference.mean]
    rows = [
        [change.system, change.set, change.metric, "{:+.3f} [{:+.3f}, {:+.3f}]".format(*change.now.difference), chance(change.p),
         "worse" if change.worse else "better" if change.p < LEVEL else "no different"]
        for change in moved
    ]  # fmt: skip
    note = f"{len(found) - len(moved)} of {len(found)} comparisons are the same to the last digit."
    return Table("Against the earlier result", note, ["system", "set", "metric", "difference", "p", "so it is"], rows)


def _of(system: str, metric: str, sets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> list[Change]:
    scores = [(_scores(one, system, metric), _scores(other, system, metric)) for one, other in sets]
    tests = [(one["name"], paired([now], [then])) for (one, _), (now, then) in zip(sets, scores, strict=True)]
    if len(sets) > 1:
        tests.append((ALL, paired([now for now, _ in scores], [then for _, then in scores])))
    return [Change(system, name, metric, test, test.p) for name, test in tests]


def _scores(one: Mapping[str, Any], system: str, metric: str) -> Sequence[float]:
    return next(each for each in one["systems"] if each["name"] == system)["scores"][metric]
