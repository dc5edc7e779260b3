"""What was said, in short: the sentences of a conversation that stand best for the rest, word for word, each with who said it.

The default `Summariser`. No model, no I/O, and the same words always give the same summary, in every language the tokens know.
Sentences are chosen one by one, by what the conversation keeps coming back to (the words a sentence shares with others), by what
they tell (a fact, a taste or an event that extraction found; a number), by their place (the first says what it is about), and by
what they add to those chosen before. Questions and what an assistant says count less than what a person tells. After SumBasic
(Nenkova and Vanderwende, 2005) and maximal marginal relevance (Carbonell and Goldstein, 1998); the weights were set by hand.

Not here: which sessions need a summary, and where it is kept (`summaries`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import log1p
from typing import NamedTuple

from .chunks import sentences
from .ports import Spoken
from .tokens import language_of, query_terms

MOST = 700  # characters of a summary
LONGEST = 240  # of a sentence in it; the rest is cut at a word
LEAST = 24  # what is left of the budget below this is left
AT_ONCE = 60  # sentences of one utterance that are looked at: nobody's list of a hundred items is what it was about
ASIDE, ASKED, CRIED, TOLD, OPENING, NUMBER = 0.6, 0.5, 0.8, 0.35, 0.2, 0.1
FEW = 9  # content words below which a sentence counts proportionally less: "Wow, that is so cool!" tells nothing
FAINT = 0.2  # of the best: what adds less than this is not worth its place

_CODE = re.compile(r"```.*?(?:```|$)|https?://\S+", re.DOTALL)
_BULLET = re.compile(r"^(?:[#>*•–-]+|\d+[.)])\s+")
_MARKS = re.compile(r"\*\*|__|`")
_PLACEHOLDER = re.compile(r"^\[[^\]]*\]$")
_ASKS = re.compile(r"[?？؟]\W*$")


class _Sentence(NamedTuple):
    place: int  # its number in the conversation
    speaker: str
    text: str
    words: frozenset[str]
    worth: float = 0.0


class Sentences:
    """See the module. One object serves every thread: it holds nothing."""

    fingerprint = "summary:sentences-1"
    rolling = False

    def summarise(self, before: str, said: Sequence[Spoken]) -> str:
        """A summary of all that was said; empty when it said nothing. `before` is not looked at."""
        return summarised(said)


def summarised(said: Sequence[Spoken], most: int = MOST) -> str:
    """The sentences that stand for the rest, in their order, as lines of `Speaker: …`."""
    found = list(_weighed(said))
    return _told(sorted(_chosen(found, most)))


def _weighed(said: Sequence[Spoken]) -> Iterator[_Sentence]:
    """Every sentence that says anything, with what it is worth by itself."""
    read = [(spoken, list(_sentences(spoken))) for spoken in said]
    counts: Counter[str] = Counter()
    for spoken, own in read:
        for _, words in own:
            counts.update(dict.fromkeys(words, ASIDE if spoken.aside else 1.0))
    central = [[_central(words, counts, ASIDE if spoken.aside else 1.0) for _, words in own] for spoken, own in read]
    top = max((one for several in central for one in several), default=0.0) or 1.0
    place, opened = 0, False
    for (spoken, own), several in zip(read, central, strict=True):
        for (text, words), one in zip(own, several, strict=True):
            worth = 0.1 + one / top + NUMBER * any(map(str.isdigit, text))
            if not opened and not spoken.aside and len(words) >= 2:
                opened, worth = True, worth + OPENING
            yield _Sentence(place, spoken.speaker, text, words, worth * _weight(spoken, text, words) + _news(spoken, text))
            place += 1


def _weight(spoken: Spoken, text: str, words: frozenset[str]) -> float:
    """What its kind is worth: short, cried, asked, or said by an assistant, it tells less."""
    kind = ASKED if _ASKS.search(text) else CRIED if text.endswith(("!", "！")) else 1.0
    return kind * min(1.0, len(words) / FEW) * (ASIDE if spoken.aside else 1.0)


def _news(spoken: Spoken, text: str) -> float:
    return TOLD if any(text in told for told in spoken.told) else 0.0


def _sentences(spoken: Spoken) -> Iterator[tuple[str, frozenset[str]]]:
    language = language_of(spoken.text)
    for sentence in sentences(_CODE.sub(" ", spoken.text))[:AT_ONCE]:
        text = " ".join(_MARKS.sub("", _BULLET.sub("", sentence)).split())
        words = frozenset(query_terms(text, [language])) if not _PLACEHOLDER.match(text) else frozenset()
        if words:
            yield text, words


def _central(words: frozenset[str], counts: Counter[str], own: float) -> float:
    """How much of a sentence others say, too. The constant keeps two frequent words from being the best sentence of all."""
    return sum(log1p(max(0.0, counts[word] - own)) for word in words) / (len(words) + 4)


def _chosen(found: list[_Sentence], most: int) -> list[_Sentence]:
    """One sentence after the other: the one that is worth most beside those that are there already."""
    news = [1.0] * len(found)
    chosen: list[_Sentence] = []
    left, best = most, 0.0
    while left > LEAST and len(chosen) < len(found):
        number = max(range(len(found)), key=lambda one: (found[one].worth * news[one], -one))
        gain = found[number].worth * news[number]
        best = best or gain
        if gain <= FAINT * best:
            break
        taken = found[number]
        news[number] = 0.0
        cost = min(len(taken.text), LONGEST) + len(taken.speaker) + 3
        if cost > left and chosen:
            continue
        chosen.append(taken)
        left -= cost
        for other, one in enumerate(found):
            if news[other]:
                news[other] = min(news[other], 1.0 - len(one.words & taken.words) / min(len(one.words), len(taken.words)))
    return chosen


def _told(chosen: Iterable[_Sentence]) -> str:
    """Lines, one each time somebody else speaks."""
    lines: list[str] = []
    speaker = None
    for one in chosen:
        text = _cut(one.text)
        if lines and one.speaker == speaker:
            lines[-1] += f"{'.' if lines[-1][-1].isalnum() and lines[-1][-1].isascii() else ''} {text}"
        else:
            lines.append(f"{one.speaker}: {text}" if one.speaker else text)
        speaker = one.speaker
    return "\n".join(lines)


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    kept = text[: LONGEST - 1]
    return (kept.rpartition(" ")[0] if " " in kept[LONGEST // 2 :] else kept) + "…"
