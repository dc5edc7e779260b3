"""Names in text: people, places, organisations, projects, events and things, by capitals, by their neighbours and by short lists.

For `extract`. Precision before recall: the first word of a sentence is a name only when something beside its capital says so.
Scripts without capitals give what is marked (《書名》, 「名」, @handle, #tag) and people known from elsewhere. Not here: who
"she" is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from .name_words import EVENTS, FIRST_NAMES, NO_NAMES, ORGANISATIONS, PLACES

MOST = 40  # names of one text
LONGEST = 60  # characters of a name
_CLITICS = frozenset({"ve", "ll", "re", "d", "m", "t"})
_CAPITAL = r"[A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĘĚĢĪĶĻŁŃŅŇŌŐŘŚŞŠŢŤŪŮŰŹŻŽА-ЯЁΑ-Ω]"
_WORD = rf"{_CAPITAL}[\w'’&-]*(?:\.(?=\w)[\w'’&-]*)?"  # matches in one way only: in two, a list of names takes for ever
# A run of capitalised words, small words that names have in their middle allowed between them.
NAME = rf"{_WORD}(?: (?:(?:of|de|da|del|di|la|van|von|der|den|and the|for|&|the) )?{_WORD})*"
# The capital first, then what may not stand before it: so only capitals are looked at.
_NAMES = re.compile(rf"{_CAPITAL}(?<![\w@#./].){NAME.removeprefix(_CAPITAL)}")
_MARKED = re.compile(
    r"《([^《》\n]{1,40})》|「([^「」\n]{1,12})」|『([^『』\n]{1,40})』|(?<![\w@])(@\w{2,30})(?![\w(.])|(?<![\w&#/])(#[^\W\d_][\w-]{1,40})"
)
_OPENING = re.compile(r"(?:^|[.!?…:;\n\"“”(\[*•>—–-]|\d[.)])\s*[\"“'‘(\[*]*$")
_CALLED = re.compile(
    r"\b(?:hey|hi|hello|thanks|thank you|bye|dear|congrats|congratulations|sorry|yes|wow|great|right|okay)[,!]?\s+$",
    re.IGNORECASE,
)
_AT_PLACE = re.compile(
    r"\b(?:in|from|near|around|across|visit|visited|visiting|explored?|leaving|left|reached|"
    r"(?:went|go|going|gone|moved|moving|travel\w*|trip|flew|fly|drove|been|back) to)\s+$",
    re.IGNORECASE,
)
_AT_WORK = re.compile(
    r"\b(?:work(?:s|ed|ing)? (?:at|for|with)|job (?:at|with)|join(?:s|ed|ing)?|employed (?:at|by)|intern(?:ed|ing|ship)? at|"
    r"hired by|(?:ceo|cto|founder|head|director|employee) (?:of|at)|study(?:ing)? at|graduated from|company)\s+$",
    re.IGNORECASE,
)
_AT_PROJECT = re.compile(r"\b(?:project|working on|app called|tool called|repo|repository|codebase|codename)\s+$", re.IGNORECASE)
_ACTS = re.compile(
    r",? (?:said|says|told|asked|loves|likes|hates|thinks|wants|works|lives|lived|moved|called|texted|emailed|prefers|and I\b|"
    r"is (?:my|our|from|married|allergic)\b|was (?:my|born)\b|went\b)"
)


class Named(NamedTuple):
    """A name and what it names."""

    name: str
    type: str


def names_in(text: str, people: Iterable[str] = ()) -> list[Named]:
    """The names of a text in their order, each once; `people` are known to be some."""
    known = {person.casefold(): person for person in people}
    found: dict[str, Named] = {}
    for named in (*_capitalised(text, known), *_marked(text), *_mentioned(text, known)):
        key = named.name.casefold()
        if key not in found or found[key].type == "thing" != named.type:
            found[key] = named
        if len(found) >= MOST:
            break
    return list(found.values())


def is_name(text: str) -> bool:
    """Whether it can be somebody's or something's name at all."""
    lower = text.casefold()
    if not text or len(text) > LONGEST or lower in NO_NAMES or not any(map(str.isalpha, text)):
        return False
    return not lower.endswith(("ly", "ing")) or " " in text or lower in FIRST_NAMES  # "Thankfully", "Dancing"


def is_place(name: str) -> bool:
    """Whether its first part is a place that we know: "Goa", "Berlin, Germany"."""
    return name.split(",")[0].strip().casefold() in PLACES


def type_of(name: str, before: str = "", after: str = "", known: Mapping[str, str] | None = None) -> str:
    """What a name names, by lists first, then by its neighbours."""
    lower, words = name.casefold(), name.casefold().split()
    if known and lower in known:
        return "person"
    if lower in PLACES:
        return "place"
    if (words[-1] in ORGANISATIONS and len(words) > 1) or words[0] in ("university", "bank", "ministry"):
        return "organisation"
    if words[-1] in EVENTS and len(words) > 1:
        return "event"
    if (
        (words[0] == "project" and len(words) > 1)
        or after.startswith((" project", " app ", " repo"))
        or _AT_PROJECT.search(before)
    ):
        return "project"
    if _AT_WORK.search(before) and not (words[0] in FIRST_NAMES and before.rstrip().endswith("with")):
        return "organisation"
    if words[0] in FIRST_NAMES and len(words) <= 3:
        return "person"
    if _AT_PLACE.search(before) and not name.isupper():
        return "place" if not _ACTS.match(after) else "thing"
    return "person" if len(words) <= 2 and not name.isupper() and (_CALLED.search(before) or _ACTS.match(after)) else "thing"


def _capitalised(text: str, known: Mapping[str, str]) -> Iterator[Named]:
    if text.isupper():  # ALL CAPS says nothing of names
        return
    for run in _NAMES.finditer(text):
        words = run[0].split(" ")
        start, opens = run.start(), _OPENING.search(text, max(0, run.start() - 8), run.start()) is not None
        while words and (_plain(words[0]) in NO_NAMES or (opens and not _begins_name(words, text[run.end() :], known))):
            start += len(words.pop(0)) + 1
            opens = False
        while words and (_plain(words[-1]) in NO_NAMES or words[-1][:1].islower()):
            words.pop()
        name = _bare(" ".join(words))
        if is_name(name) and len(name) > 1:
            yield Named(
                name, type_of(name, text[max(0, start - 30) : start], text[start + len(name) : start + len(name) + 20], known)
            )


def _begins_name(words: list[str], after: str, known: Mapping[str, str]) -> bool:
    """Whether a sentence begins with a name rather than with a word."""
    first = _bare(words[0]).casefold()
    if first in FIRST_NAMES or first in known or _bare(" ".join(words)).casefold() in PLACES or not words[0][1:].islower():
        return True
    return (len(words) > 1 and words[1][:1].isupper()) or _ACTS.match(after if len(words) == 1 else "") is not None


def _marked(text: str) -> Iterator[Named]:
    for found in _MARKED.finditer(text):
        name = next(group for group in found.groups() if group)
        yield Named(name.strip(), "person" if name[0] == "@" else "thing")


def _mentioned(text: str, known: Mapping[str, str]) -> Iterator[Named]:
    """People known from elsewhere, in scripts that have no capitals: there a name is part of a run of characters."""
    for person in known.values():
        if not person.isascii() and len(person) > 1 and person in text:
            yield Named(person, "person")


def _plain(word: str) -> str:
    word = word.casefold().replace("’", "'").rstrip("'-&.,")
    stem, apostrophe, rest = word.partition("'")
    return stem if apostrophe and rest in _CLITICS else word


def _bare(name: str) -> str:
    """Without a possessive or what hangs on."""
    return re.sub(r"['’]s?$", "", name).strip(" '’&-.")
