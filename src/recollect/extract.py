"""What a text speaks of, by rules: entities, links, dates, facets. No model, no I/O, the same every time.

`Rules` is the default `Extractor`. Facets are views of the sentences that tell them (`personal_info`, `preferences`, `events`),
taken from what the user said, never from what an assistant answered. "I" and "my" are the speaker, and where nobody is named,
"user". Names are merged within a record only, and only where the text says that they are one: "my mom Priya", "Priya Sharma
(Pri)". What links there can be is in `PREDICATES`; docs/extraction.md has them all.

How statements are read is in `statements`, names in `entities`, dates in `dates`. An extractor of your own is any object with
`fingerprint`, `inline` and `extract`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from .dates import dates_in
from .entities import NAME, Named, is_name, is_place, names_in, type_of
from .name_words import FIRST_NAMES
from .parts import sides
from .ports import Extraction
from .records import EMPTY, Entity, Link, Record, Span
from .statements import EVENT, PERSONAL, PREFERENCE, Sentence, Statement, sentences_in
from .tokens import language_of

LONGEST = 20_000  # characters of a text that are read
MOST_LINKS = 50
NOBODY = "user"  # whose facts they are when nobody is named
FACETS = (PERSONAL, PREFERENCE, EVENT)
ASSISTANTS = frozenset({"assistant", "ai", "bot", "model", "system", "tool", "agent"})
_UNREAD = frozenset({"session", "summary", "derived", "part", "thread"})  # they say again what their turns said

# What a link can say, as a sentence of it reads: while it holds, and when it is over. `favorite_…` ends in what is meant.
PREDICATES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "lives_in": ("lives in", "used to live in"), "from": ("is from", "was from"), "born_in": ("was born in", "was born in"),
        "born_on": ("was born on", "was born on"), "birthday": ("has birthday on", "had birthday on"),
        "works_at": ("works at", "used to work at"), "works_as": ("works as", "used to work as"),
        "works_with": ("works with", "used to work with"), "studies_at": ("studies at", "used to study at"),
        "graduated_from": ("graduated from", "graduated from"), "married_to": ("is married to", "was married to"),
        "partner_of": ("is the partner of", "was the partner of"), "parent_of": ("is a parent of", "was a parent of"),
        "sibling_of": ("is a sibling of", "was a sibling of"), "relative_of": ("is a relative of", "was a relative of"),
        "friend_of": ("is a friend of", "was a friend of"), "has_pet": ("has the pet", "had the pet"),
        "owns": ("owns", "owned"), "likes": ("likes", "used to like"), "dislikes": ("dislikes", "used to dislike"),
        "prefers": ("prefers", "used to prefer"), "diet": ("is", "was"), "allergic_to": ("is allergic to", "was allergic to"),
        "speaks": ("speaks", "used to speak"), "plans": ("plans to", "planned to"), "visited": ("visited", "visited"),
        "name": ("is called", "was called"), "age": ("has the age", "had the age"), "email": ("has the email", "had the email"),
        "phone": ("has the phone number", "had the phone number"),
    }
)  # fmt: skip
_CODE = re.compile(r"```.*?(?:```|$)|`[^`\n]*`|https?://\S+", re.DOTALL)
_ARROW = re.compile(
    r"^\s*(?:[-*]\s+)?(?P<a>[^\n>:→]{1,80}?)\s*(?:->|→)\s*(?P<b>[^\n>:]{1,80}?):\s*(?P<said>\S[^\n]{0,180})$", re.MULTILINE
)
_ALSO = re.compile(
    rf"(?P<a>{NAME}) \((?:aka |nickname |or )?[\"“]?(?P<b>{NAME})[\"”]?\)"
    rf"|(?P<c>{NAME}),? (?:also known as|aka|nicknamed|who goes by) [\"“]?(?P<d>{NAME})"
)
_ALSO_WORDS = ("(", "known as", "aka", "nicknamed", "goes by")
_MINE = frozenset({"i", "we", "my", "our"})
_FELT = frozenset(["prefer", "favorite", "favourite", "love", "like", "enjoy", "hate", "dislike", "stand", "fan", "adore"])
_DID = frozenset(
    [
        "went",
        "visited",
        "attended",
        "joined",
        "started",
        "finished",
        "graduated",
        "bought",
        "moved",
        "met",
        "celebrated",
        "won",
        "lost",
        "ran",
        "adopted",
        "signed",
        "got",
        "married",
        "engaged",
        "promoted",
        "hired",
        "fired",
    ]
)


class Rules:
    """See the module. One object serves every thread: it holds nothing."""

    fingerprint = "extract:rules-1"
    inline = True

    def extract(self, records: Sequence[Record]) -> list[Extraction]:
        """One extraction a record. Speakers of any of them are people in all of them."""
        people = {record.speaker for record in records if record.speaker and not is_assistant(record)}
        return [extracted(record, people) for record in records]


def is_assistant(record: Record) -> bool:
    """Whether an assistant said it all: then it tells nothing of anybody."""
    return (record.speaker or "").strip().lower() in ASSISTANTS


def worth_reading(record: Record) -> bool:
    """Whether anything is to be extracted: not from what was derived, nor from what tells again what its turns told."""
    return record.role not in _UNREAD


def extracted(record: Record, people: Iterable[str] = ()) -> Extraction:
    """What one record speaks of."""
    if not worth_reading(record):
        return Extraction()
    text = _CODE.sub(" ", record.text[:LONGEST])
    dates = dates_in(text, record.at)
    if is_assistant(record):
        return Extraction(entities=_merged(_sure(names_in(text, people)), {}), dates=dates)
    me, said = heard(record)
    said = text if said is record.text else _CODE.sub(" ", said)
    links, statements, views = _told(said, me, record.at or record.recorded_at, dates)
    arrows = _arrows(text)
    named = _people_of(arrows) + _named_by(statements, me) + names_in(text, people)
    entities = _merged(named, _also(text) | _calls(statements, me))
    return Extraction(entities=entities, links=(*links, *arrows)[:MOST_LINKS], dates=dates, views=views)


def fact_text(link: Link, over: bool = False) -> str:
    """A link as a sentence: "Rajesh lives in Goa"."""
    if link.predicate.startswith("favorite_"):
        thing = link.predicate.removeprefix("favorite_").replace("_", " ")
        return f"{_upper(link.subject)}'s favorite {thing} {'was' if over else 'is'} {link.object}"
    says = PREDICATES.get(link.predicate)
    said = says[over] if says else link.predicate.replace("_", " ")
    if not says and " " in link.predicate:
        return f"{link.subject} -> {link.object}: {link.predicate}"
    if says and link.subject.endswith(("parents", "children", "kids")):
        said = _plural(said)
    return f"{_upper(link.subject)} {said} {link.object}"


def speaker_of(record: Record) -> str:
    """Whom "I" means in a record: its speaker, or whom a turn of two sides names for the user's."""
    name = (record.speaker or "").strip()
    if not name and "user" in record.views and len(both := sides(record)) == 2:
        name = both[0][0].removesuffix(": ").strip()
    return NOBODY if not name or name.lower() in ("human", "me", "i", NOBODY) else name


def heard(record: Record) -> tuple[str, str]:
    """Whom "I" means in a record, and what statements are looked for in: of a turn, what the user said."""
    return speaker_of(record), record.views.get("user", record.text)[:LONGEST]


# --- statements --------------------------------------------------------------------------------------------------------


def _told(
    said: str, me: str, at: datetime, dates: Sequence[Span]
) -> tuple[list[Link], list[Statement], Mapping[str, str]]:
    """The links of a text, the statements behind them, and the sentences that tell of the person, tastes and events."""
    links: dict[tuple[str, str, str], Link] = {}
    every: list[Statement] = []
    facets: dict[str, list[str]] = {PERSONAL: [], PREFERENCE: [], EVENT: []}
    language = language_of(said, "") if not re.search("[\u4e00-\u9fff]", said) else "zh"
    for sentence in sentences_in(said, language=language):
        for facet in _facets(sentence, dates):
            facets[facet].append(sentence.text)
        every += sentence.statements
        for statement in sentence.statements:
            link = _link(statement, me, at)
            links.setdefault((link.subject, link.predicate, link.object), link)
    views = {facet: " ".join(dict.fromkeys(sentences)) for facet, sentences in facets.items() if sentences}
    return list(links.values()), every, MappingProxyType(views) if views else EMPTY


def _facets(sentence: Sentence, dates: Sequence[Span]) -> set[str]:
    """What a sentence tells of: by what it states, and by what one's own sentences are about."""
    told = {statement.facet for statement in sentence.statements}
    if sentence.asserts and not sentence.words.isdisjoint(_MINE):
        if not sentence.words.isdisjoint(_FELT):
            told.add(PREFERENCE)
        if not sentence.words.isdisjoint(_DID):
            told.add(EVENT)
    if sentence.asserts and any(date.text and date.text in sentence.text for date in dates):
        told.add(EVENT)
    return told


def _link(statement: Statement, me: str, told: datetime) -> Link:
    subject = _whose(statement.subject, me)
    return Link(
        subject=subject, predicate=statement.predicate, object=_whose(statement.object, me) if statement.object else me,
        valid_from=told if statement.starts else None, valid_to=told if statement.over else None,
    )  # fmt: skip


def _whose(name: str, me: str) -> str:
    """ "" is the speaker; "my mom" is the speaker's mom."""
    if not name:
        return me
    return f"{me}'s {name[3:]}" if name.startswith("my ") else name


def _arrows(text: str) -> list[Link]:
    """Lines such as "Rajesh -> Priya: planning vacation to Goa in March": what stands between two is what links them."""
    found = []
    for match in _ARROW.finditer(text) if "->" in text or "→" in text else ():
        subject, other, said = (" ".join(match[name].split()) for name in ("a", "b", "said"))
        if is_name(subject) and is_name(other):
            found.append(Link(subject=subject, predicate=said, object=other))
    return found[:MOST_LINKS]


# --- entities ----------------------------------------------------------------------------------------------------------


def _people_of(arrows: Sequence[Link]) -> list[Named]:
    ends = dict.fromkeys(name for link in arrows for name in (link.subject, link.object))
    return [Named(name, of if (of := type_of(name)) != "thing" or " " in name else "person") for name in ends]


def _named_by(statements: Sequence[Statement], me: str) -> list[Named]:
    """Whom statements are about, and what they name."""
    found = []
    for statement in statements:
        found.append(Named(_whose(statement.subject, me), "person"))
        if statement.kind and statement.object:
            found.append(Named(statement.object, statement.kind))
    return found


def _also(text: str) -> dict[str, list[str]]:
    """Other names that a text gives a name: "Priya Sharma (Pri)"."""
    found: dict[str, list[str]] = {}
    for match in _ALSO.finditer(text) if any(word in text for word in _ALSO_WORDS) else ():
        name, other = (match["a"], match["b"]) if match["a"] else (match["c"], match["d"])
        if is_name(name) and is_name(other):
            found.setdefault(name, []).append(other)
    return found


def _calls(statements: Sequence[Statement], me: str) -> dict[str, list[str]]:
    """What speakers call their people: "my mom Priya" makes Mom another name of Priya, "call me Bob" Bob one of the speaker."""
    found: dict[str, list[str]] = {}
    for one in statements:
        if one.predicate == "name" and not one.subject:
            found.setdefault(me, []).append(one.object)
        elif one.alias and one.predicate != "has_pet":
            name = one.subject if one.predicate == "parent_of" and one.subject else one.object if not one.subject else one.subject
            if name and not name.startswith("my ") and one.alias != name:
                called = one.alias.split()[-1].capitalize() if me == NOBODY else f"{me}'s {one.alias}"
                found.setdefault(name, []).append(called)
    return found


def _sure(named: Iterable[Named]) -> list[Named]:
    """Of what an assistant's lists and headings capitalise, what is a name beyond doubt."""
    return [
        one for one in named if (one.type == "person" and one.name.split()[0].casefold() in FIRST_NAMES) or is_place(one.name)
    ]


def _merged(named: Iterable[Named], also: Mapping[str, Sequence[str]]) -> tuple[Entity, ...]:
    """Each name once, with its other names. A first name alone is the one full name that begins with it."""
    types: dict[str, str] = {}
    for name, of in named:
        types[name] = of if types.get(name, "thing") == "thing" else types[name]
    for name in also:
        types.setdefault(name, type_of(name))
    aliases = {name: list(dict.fromkeys(also.get(name, ()))) for name in types}
    for short in [name for name in types if " " not in name]:
        full = [name for name in types if name.startswith(f"{short} ") and types[name] == "person"]
        if len(full) == 1 and types[short] in ("person", "thing"):
            aliases[full[0]] += [short, *aliases.pop(short)]
            del types[short]
    taken = {alias.casefold() for several in aliases.values() for alias in several}
    return tuple(
        Entity(name=name, type=of, aliases=tuple(dict.fromkeys(alias for alias in aliases[name] if alias != name)))
        for name, of in types.items()
        if name.casefold() not in taken or aliases[name]
    )


def _upper(name: str) -> str:
    return name[:1].upper() + name[1:]


def _plural(said: str) -> str:
    first, _, rest = said.partition(" ")
    verb = {"is": "are", "was": "were", "has": "have"}.get(first, first.removesuffix("s") if first.endswith("s") else first)
    return f"{verb} {rest}".strip()
