"""Which texts a model can make sense of, by what its profile says of scripts and languages. For embedders and rerankers alike.

The script is a hard border: an English model is not asked about Chinese. The language is a soft one: it decides between models
where several could read a text, and it is only known where function words give it away.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from statistics import median
from typing import TYPE_CHECKING

from .tokens import language_of, scripts

if TYPE_CHECKING:
    from .ports import JudgeProfile

SAMPLE = 2_000  # characters that tell what a mixed text is mostly written in


def reads(text: str, known: Set[str]) -> bool:
    """Is most of a text in these scripts? Nobody's list of scripts means all; a text without letters is read by everybody."""
    if not known:
        return True
    used = scripts(text)
    if not used or used <= known:
        return True
    if not used & known:
        return False
    letters = [letter for letter in text[:SAMPLE] if letter.isalpha()]  # mixed: most of them must be readable
    return 2 * sum(scripts(letter) <= known for letter in letters) > len(letters)


def speaks(text: str, languages: Set[str]) -> bool:
    """Is a text in one of these languages, as far as can be told? Nobody's list of languages means all."""
    return not languages or language_of(text, "") in {"", *languages}


def heard(profile: JudgeProfile, query: str, texts: Sequence[str]) -> float:
    """How much a judge's word counts about a question and texts of this length."""
    return _within(profile.question, len(query)) * _within(profile.reach, median(map(len, texts)) if texts else 0)


def _within(reach: int, length: float) -> float:
    """All of it up to the reach, of twice that a quarter. 0: it reaches everything."""
    return min(1.0, reach / max(1.0, length)) ** 2 if reach else 1.0
