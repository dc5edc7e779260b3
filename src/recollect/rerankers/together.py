"""Several judges as one: what each thinks of a text, averaged. `late+cross-encoder`.

Judges err apart: one compares words, another reads sentences, and on long rambling questions the second knows no more than
the first. A text is judged by as many as can be opened and read the question; one whose word doesn't reach as far as the texts
are long counts less. Not for judges whose scores are no numbers from 0 to 1.

One that takes its time reads only the few that come first, in the order the texts came in or in that of the quicker judges; what
it has read it keeps. Of the others it is held to think what it thinks of the least of those: so a score depends on what stands
beside a text (`compares`), and is not to be kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import reduce
from threading import Lock

import numpy as np

from ..ports import JudgeProfile, Reranker
from ..reading import heard, reads, speaks

KEPT = 5_000  # judgements


class Together:
    """See the module. Made of one judge at least."""

    compares = True

    def __init__(self, judges: Sequence[Reranker]) -> None:
        self.judges = tuple(judges)
        self._held: OrderedDict[tuple[str, str, str], float] = OrderedDict()
        self._lock = Lock()
        profiles = [judge.profile for judge in self.judges]
        self.profile = JudgeProfile(
            name="+".join(one.name for one in profiles), model="+".join(one.model for one in profiles),
            scripts=_any([one.scripts for one in profiles]), languages=_any([one.languages for one in profiles]),
            inline=all(one.inline for one in profiles), max_chars=max(one.max_chars for one in profiles),
            licence=", ".join(dict.fromkeys(filter(None, (one.licence for one in profiles)))),
        )  # fmt: skip

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        able = [one for one in self.judges if _reads(one.profile, query)]
        quick = [one for one in able if not one.profile.few]
        slow = [one for one in able if one.profile.few]
        told = [one.scores(query, [text[: one.profile.max_chars] for text in texts]) for one in quick]
        so_far = _averaged(quick, told, query, texts)
        told += [self._of_few(one, query, texts, so_far if quick else None) for one in slow]
        return _averaged([*quick, *slow], told, query, texts)

    def _of_few(self, judge: Reranker, query: str, texts: Sequence[str], so_far: Sequence[float] | None) -> list[float]:
        """What a slow judge thinks of each; of those it is not asked about, as little as of any."""
        chosen = list(range(len(texts))) if so_far is None else _first(so_far, judge.profile.few)
        said = self._kept(judge, query, [texts[place][: judge.profile.max_chars] for place in chosen])
        known, least = dict(zip(chosen, said, strict=True)), min(said, default=0.0)
        return [known.get(place, least) for place in range(len(texts))]

    def _kept(self, judge: Reranker, query: str, texts: Sequence[str]) -> list[float]:
        name = judge.profile.name
        with self._lock:
            known = {text: self._held[name, query, text] for text in texts if (name, query, text) in self._held}
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        if fresh:
            known |= zip(fresh, judge.scores(query, fresh), strict=True)
            with self._lock:
                self._held.update({(name, query, text): known[text] for text in fresh})
                while len(self._held) > KEPT:
                    self._held.popitem(last=False)
        return [known[text] for text in texts]

    def heard(self, query: str, texts: Sequence[str]) -> float:
        """Their word counts as much as that of the one who counts most."""
        return max((heard(one.profile, query, texts) for one in self.judges if _reads(one.profile, query)), default=1.0)


def _first(so_far: Sequence[float], few: int) -> list[int]:
    """The places that either order puts first: the one they came in, and that of the scores so far."""
    order = sorted(range(len(so_far)), key=lambda place: -so_far[place])
    ranks = {place: rank for rank, place in enumerate(order)}
    return sorted(ranks, key=lambda place: (min(place, ranks[place]), ranks[place]))[:few]


def _averaged(judges: Sequence[Reranker], told: Sequence[Sequence[float]], query: str, texts: Sequence[str]) -> list[float]:
    if not (judges and texts):
        return [0.0] * len(texts)
    weights = [heard(one.profile, query, texts) for one in judges]
    return np.average(np.array(told, dtype=np.float64), axis=0, weights=weights).tolist()


def _reads(profile: JudgeProfile, text: str) -> bool:
    return reads(text, profile.scripts) and speaks(text, profile.languages)


def _any(sets: Sequence[frozenset[str]]) -> frozenset[str]:
    """What at least one of them reads; one that names nothing reads all."""
    return frozenset() if not all(sets) else reduce(frozenset.union, sets)
