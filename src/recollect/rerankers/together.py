"""Several judges as one: what each thinks of a text, averaged. `late+cross-encoder`.

Judges err apart: one compares words, another reads sentences, and on long rambling questions the second knows no more than
the first. A text is judged by as many as can be opened and read the question; one whose word doesn't reach as far as the texts
are long counts less. Not for judges whose scores are no numbers from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from ..ports import JudgeProfile, Reranker
from ..reading import heard, reads, speaks


class Together:
    """See the module. Made of one judge at least."""

    def __init__(self, judges: Sequence[Reranker]) -> None:
        self.judges = tuple(judges)
        profiles = [judge.profile for judge in self.judges]
        self.profile = JudgeProfile(
            name="+".join(one.name for one in profiles), model="+".join(one.model for one in profiles),
            scripts=_any([one.scripts for one in profiles]), languages=_any([one.languages for one in profiles]),
            inline=all(one.inline for one in profiles), max_chars=max(one.max_chars for one in profiles),
            licence=", ".join(dict.fromkeys(filter(None, (one.licence for one in profiles)))),
        )  # fmt: skip

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        able = [one for one in self.judges if _reads(one.profile, query)]
        told = [one.scores(query, [text[: one.profile.max_chars] for text in texts]) for one in able]
        weights = [heard(one.profile, query, texts) for one in able]
        return np.average(np.array(told, dtype=np.float64), axis=0, weights=weights).tolist() if able else [0.0] * len(texts)

    def heard(self, query: str, texts: Sequence[str]) -> float:
        """Their word counts as much as that of the one who counts most."""
        return max((heard(one.profile, query, texts) for one in self.judges if _reads(one.profile, query)), default=1.0)


def _reads(profile: JudgeProfile, text: str) -> bool:
    return reads(text, profile.scripts) and speaks(text, profile.languages)


def _any(sets: Sequence[frozenset[str]]) -> frozenset[str]:
    """What at least one of them reads; one that names nothing reads all."""
    return frozenset() if not all(sets) else reduce(frozenset.union, sets)
