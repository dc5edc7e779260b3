"""What a sentence states of somebody: who, what, of whom, and whether it still holds. For `extract`.

A rule is a pattern for one kind of statement. It runs only on sentences that hold one of its words, and only where a clause
begins, so that "the city that Priya lives in" says nothing. A question, a condition and a denial state nothing: the patterns want
the verb right behind its subject, and sentences that ask or suppose are left out. What has ended ("used to live", "no longer
works") is told as over at the moment it is told.

English in some breadth; German, Spanish, French and Chinese for the plainest first-person facts; other languages nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from .entities import NAME, is_name, is_place
from .name_words import OCCUPATIONS, PLACES, RELATIONS
from .statement_rules import OWN, ROWS, compiled
from .stopwords import stop_words

PERSONAL, PREFERENCE, EVENT = "personal_info", "preferences", "events"
SENTENCE = re.compile(r"[^.!?…\n。！？]*(?:\.(?=\w)[^.!?…\n。！？]*)*(?:[.!?…。！？]+|\n|$)")
_WORDS = re.compile(r"[^\W\d_]+")
MOST, LONGEST = 200, 400  # sentences of a text, and characters of one, that are looked at


class Statement(NamedTuple):
    """Somebody's something. `subject` "" is the speaker; `over`: it holds no longer; `starts`: it began with the telling."""

    subject: str
    predicate: str
    object: str
    facet: str
    over: bool = False
    starts: bool = False
    kind: str = "thing"  # what the object names, "" when it is no name
    alias: str = ""  # what the speaker calls the subject or object: "Mom"


Maker = Callable[[re.Match[str]], Statement | None]


class Rule(NamedTuple):
    """A pattern of the table, and what makes a statement of what it matches."""

    pattern: str
    make: Maker


# A sentence with one of these supposes, wishes or denies. "d" is what is left of "I'd"; "should" and "will" are plans.
_SUPPOSING = frozenset((
    "if", "unless", "would", "could", "might", "wish", "imagine", "suppose", "supposing", "pretend", "hypothetically",
    "maybe", "perhaps", "dream", "dreamed", "dreamt", "dreams", "rumour", "rumor", "allegedly", "never", "d", "wouldn",
    "couldn",
))  # fmt: skip
_ASKS = re.compile(
    r"^\W*(?:do|does|did|is|are|was|were|have|has|had|can|could|will|would|should|who|what|where|when|why|how|which|whose|"
    r"¿|wo|wer|wann|warum|wie|est-ce)\b", re.IGNORECASE,
)  # fmt: skip
_ENDING = re.compile(
    r"\s+(?:and|but|because|since|so|when|while|which|who|that|if|although|though|as|for|with|at|in|on|from|after|before|until|"
    r"these|this|right|now|currently|lately|recently|today|yesterday|tomorrow|tonight|last|next|two|a few|anymore|too|also|very|"
    r"a lot|so much|more than|over|than|to|every|during|especially|like|by)\b.*$",
    re.IGNORECASE,
)
_PLACE_END = re.compile(
    r"\s+(?:and|but|because|since|when|where|with|for|now|for|until|about|right|last|next|this|in)\b.*$", re.IGNORECASE
)

# "I live in Goa and work at Acme": the second verb has the first one's subject.
_ELIDED = re.compile(
    rf"(?P<said>(?:^|[,;] )(?P<s>I|[Ww]e|{NAME})(?: |['’]m )(?!and\b)[^,;]*?) (?:and|but) "
    r"(?=(?:lives?|works?|loves?|likes?|hates?|owns?|prefers?|enjoys?|speaks?|moved|am|have) )"
)


class Sentence(NamedTuple):
    """A sentence, its words in lower case, what it states, and whether it states at all rather than asks or supposes."""

    text: str
    words: frozenset[str]
    statements: Sequence[Statement] = ()
    asserts: bool = True


def sentences_in(text: str, *, language: str) -> Iterator[Sentence]:
    """The sentences of a text, each with what it states. `language` "" is one that can't be told."""
    for found in islice(SENTENCE.finditer(text), MOST):
        sentence = found[0].strip()
        if sentence:
            words = frozenset(_WORDS.findall(sentence.lower()))
            asserts = len(sentence) <= LONGEST and not asks_or_supposes(sentence, words)
            yield Sentence(sentence, words, _stated(sentence, words, language) if asserts else (), asserts)


def asks_or_supposes(sentence: str, words: frozenset[str]) -> bool:
    """Whether a sentence asks, or tells of what may be."""
    return sentence.endswith(("?", "？")) or not words.isdisjoint(_SUPPOSING) or _ASKS.match(sentence) is not None


def _stated(sentence: str, words: frozenset[str], language: str) -> list[Statement]:
    known = rules(language)
    tried = [rule for word in ("", *sorted(words & known.keys())) for rule in known.get(word, ())]
    if tried and (" and " in sentence or " but " in sentence):
        sentence = _ELIDED.sub(r"\g<said> and \g<s> ", sentence)
    found: dict[tuple[str, str, str], Statement] = {}
    for rule in dict.fromkeys(tried):
        for match in compiled(rule.pattern).finditer(sentence):
            statement = rule.make(match)
            if statement is not None:
                found.setdefault((statement.subject, statement.predicate, statement.object), statement)
    return list(found.values())


# --- making ---------------------------------------------------------------------------------------------------------


def _who(said: str) -> tuple[str, str] | None:
    """The subject, "" for the speaker, with what the speaker calls it; None for what is no subject."""
    said = said.strip(" ,")
    if said in ("I", "i", "We", "we"):
        return "", ""
    own = re.fullmatch(rf"{OWN}(?:,? (?P<name>{NAME}))?", said)
    if own:
        relation = (said.split(",")[0] if not own["name"] else said[: own.start("name")].strip(" ,")).split(" ", 1)[1]
        return (own["name"], relation) if own["name"] else (f"my {relation}", relation)
    if said.endswith(("'s", "’s")) or not is_name(said) or not is_name(said.split()[0]):
        return None
    return said, ""


def _place(said: str) -> str:
    """A place as it is called; "" for what is none: lower-case words are places when we know them."""
    said = _PLACE_END.sub("", said).strip(" ,")
    said = said.removeprefix("the ")
    if said[:1].islower():
        for size in (2, 1):
            name = " ".join(said.split()[:size])
            if name in PLACES and name not in ("us", "nice"):
                return name.title() if len(name) > 3 or name == "goa" else name.upper()
        return ""
    first, comma, rest = said.partition(", ")
    said = said if comma and is_place(rest) else first
    return said if is_name(said) else ""


def _thing(said: str) -> str:
    """What is liked, had or done: without what hangs on behind; "" for a pronoun or nothing."""
    said = _ENDING.sub("", said).strip(" -–—'\"“”*")
    said = re.sub(r"^(?:the idea of|my|the|a|an|some|to|eating|drinking)\s+", "", said, flags=re.IGNORECASE).strip()
    words = said.lower().split()
    if not words or len(words) > 7 or len(said) > 60 or words[0] in _PRONOUNS or all(word in stop_words("en") for word in words):
        return ""
    return said


_PRONOUNS = frozenset((
    "just", "everywhere", "somewhere", "anywhere", "it", "its", "it's", "that", "that's", "this", "these", "those", "you",
    "your", "him", "her", "them", "us", "me", "one", "what", "how", "when", "where", "who", "your", "their", "his", "hers",
    "everyone", "everything", "everybody", "anyone", "anything", "all", "both", "nothing", "something", "someone", "being",
    "seeing", "hearing", "the", "you're", "there", "here", "not", "doing",
))  # fmt: skip


def _about(
    predicate: str,
    facet: str,
    to: Callable[[str], str],
    kind: str = "",
    **told: bool,
) -> Maker:
    """A maker: the pattern's subject, this predicate, and its object read by `to`."""

    def make(match: re.Match[str]) -> Statement | None:
        groups = match.groupdict()
        who, of = _who(groups["s"]) if groups.get("s") else ("", ""), to(match["o"])
        if who is None or not of or (who[0] and not _agrees(match)):
            return None
        return Statement(who[0], predicate, of, facet, kind=kind, alias=who[1], **told)

    return make


def _agrees(match: re.Match[str]) -> bool:
    """Whether the verb is one of a third person: "Priya likes", not "Sounds like"."""
    if re.search(r"(?:parents|children|kids|family)$", match["s"]):
        return True
    return _FIRST_PERSON.match(match.string, match.end("s")) is None


_FIRST_PERSON = re.compile(
    r"\s+(?:\w+\s+)?(?:live|reside|work|study|love|like|enjoy|adore|hate|dislike|detest|prefer|own|speak|plan|am|have|do)\b"
)


def _occupation(said: str) -> str:
    """A trade with its adjectives: "senior software engineer"; "" when its last word is none that we know."""
    words = _ENDING.sub("", said).strip().split()
    for end in range(len(words), 0, -1):
        if words[end - 1].lower() in OCCUPATIONS and end <= 4:
            return " ".join(words[:end])
    return ""


def _named(said: str) -> str:
    said = re.sub(r"['’]s?$", "", said.strip())
    return said if is_name(said) and is_name(said.split()[0]) else ""


def _relative(match: re.Match[str]) -> Statement | None:
    """My sister Anna, my wife's name is Priya, Priya is my wife."""
    name, relation = _named(match["n"]), match["r"].lower()
    if not name or _is_past_relation(match):
        return None
    predicate = RELATIONS[relation.split()[-1]]
    if predicate == "parent_of":
        return Statement(name, "parent_of", "", PERSONAL, kind="person", alias=match["r"])
    if predicate == "child_of":
        return Statement("", "parent_of", name, PERSONAL, kind="person", alias=match["r"])
    return Statement("", predicate, name, PERSONAL, kind="person", alias=match["r"])


def _is_past_relation(match: re.Match[str]) -> bool:
    return re.search(r"\bex-?\s*$|\b(?:late|ex)\b", match.string[: match.start("r")][-6:]) is not None


def _pet(match: re.Match[str]) -> Statement | None:
    name = _named(match["n"])
    return Statement("", "has_pet", name, PERSONAL, kind="thing", alias=match["r"]) if name else None


def _favourite(match: re.Match[str]) -> Statement | None:
    of, what = _thing(match["o"]), match["what"].strip().lower()
    if not of or len(what.split()) > 3:
        return None
    return Statement("", f"favorite_{'_'.join(what.split())}", of, PREFERENCE, kind="")


def _organisation(said: str) -> str:
    said = said.strip()
    return (
        said
        if said.startswith("a ") or (is_name(said.removeprefix("the ")) and is_name(said.removeprefix("the ").split()[0]))
        else ""
    )


def _known_place(said: str) -> str:
    place = _place(said)
    return place if is_place(place) or (" " in place and place[:1].isupper()) else ""


def _age(said: str) -> str:
    return said if 0 < int(said) < 125 else ""


def _date(said: str) -> str:
    return " ".join(said.split())


def _plan(said: str) -> str:
    said = re.split(r"\s+(?:because|but|so that|which|if|when|while|and (?:I|we))\b", said.strip())[0].strip(" -")
    return said if 1 < len(said.split()) <= 12 else ""


def _birthday(match: re.Match[str]) -> Statement | None:
    if not re.search(r"\d|January|February|March|April|May|June|July|August|September|October|November|December", match["o"]):
        return None
    who = "" if match["s"].lower() == "my" else match["s"][:-2]
    return Statement(who, "birthday", match["o"].strip(), PERSONAL, kind="")


def _short(said: str) -> str:
    said = re.split(r"[,;]| (?:und|aber|weil|y|pero|porque|et|mais|car|parce)\b", said.strip())[0].strip()
    return said if 0 < len(said) <= 40 and len(said.split()) <= 5 else ""


# --- the rules ------------------------------------------------------------------------------------------------------

# How the object of a predicate is read, which facet tells it, and what it names; `SPECIAL` are made in their own way.
_READ: Mapping[str, tuple[Callable[[str], str], str, str]] = {
    **dict.fromkeys(("lives_in", "from", "born_in"), (_place, PERSONAL, "place")),
    **dict.fromkeys(("works_at", "studies_at", "graduated_from"), (_organisation, PERSONAL, "organisation")),
    **dict.fromkeys(("likes", "dislikes", "prefers"), (_thing, PREFERENCE, "")),
    "visited": (_known_place, EVENT, "place"), "married_to": (_named, PERSONAL, "person"), "name": (_named, PERSONAL, "person"),
    "born_on": (_date, PERSONAL, ""), "works_as": (_occupation, PERSONAL, ""), "email": (str.strip, PERSONAL, ""),
    "phone": (str.strip, PERSONAL, ""), "age": (_age, PERSONAL, ""), "allergic_to": (_thing, PERSONAL, ""),
    "partner_of": (_named, PERSONAL, "person"), "diet": (str.lower, PREFERENCE, ""), "speaks": (_named, PERSONAL, ""),
    "owns": (_thing, PERSONAL, ""), "plans": (_plan, EVENT, ""),
}  # fmt: skip
_SPECIAL = {"kin": _relative, "has_pet": _pet, "favorite": _favourite, "birthday": _birthday}


@cache
def rules(language: str) -> Mapping[str, Sequence[Rule]]:
    """The rules of a language by the words that call for them, "" for those always tried; none for a language without."""
    found: dict[str, list[Rule]] = {}
    for code in (language,) if language else ("en", "de", "es", "fr"):  # a text too short to tell: the patterns tell
        for predicate, when, words, pattern in ROWS.get(code, ()):
            rule = Rule(pattern, _SPECIAL.get(predicate) or _maker(predicate, when, code))
            for word in words.split(" "):
                found.setdefault(word, []).append(rule)
    return found


def _maker(predicate: str, when: str, language: str) -> Maker:
    read, facet, kind = _READ[predicate]
    if language != "en" and predicate not in ("age", "name", "married_to"):
        read = _short if facet == PREFERENCE or predicate == "allergic_to" else _named
    return _about(predicate, facet, read, kind, over=when == "past", starts=when == "new")
