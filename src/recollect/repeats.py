"""Told again: what becomes of a note that says what is remembered already. Three rules, each of which can be off.

    exact   the same words and the same fields, within some minutes: nothing new is stored, what is there counts a confirmation
    near    nearly the same words in the same place: the new telling supersedes the old one, which stays in its history
    alike   the same meaning, by the vectors of a model: both stay, and the older one counts a confirmation

`Dedup` says which hold: `Dedup.parse("exact near=0.9")`, and `str` prints what `parse` reads. Pure. Never for turns of a
conversation, nor for what has an id of its own: who names a record says that it is that one. `pen` asks the first two in the
write; `alike` is asked when a vector is there, by the worker. Not here: tidying up afterwards (`consolidate`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from hashlib import blake2b
from operator import attrgetter
from typing import Any

from .errors import InvalidSetting
from .records import CARRIED, EMPTY, Record
from .tokens import fold, words

LASTING = (
    "semantic", "procedural", "identity", "fact", "person", "place", "organisation", "project", "relationship", "preference",
)  # fmt: skip
WINDOW, NEAR, ALIKE = 600.0, 0.85, 0.88  # what each rule holds by unless a number is given
LONGEST_WINDOW = 86_400.0
_PLAIN = {field.name: field.default if field.default is not MISSING else EMPTY for field in fields(Record)}
_PLACE = attrgetter("owner", "kind", "role", "agent", "project", "session", "speaker", "valid_from", "valid_to")
_DEFAULTS: Mapping[str, float] = {"exact": WINDOW, "near": NEAR, "alike": ALIKE}
_DENIALS = frozenset({
    "no", "not", "never", "none", "nobody", "nothing", "nor", "without", "neither", "cannot", "t",
    "nicht", "kein", "keine", "keinen", "nie", "niemals", "ohne", "ne", "pas",
    "jamais", "sans", "nunca", "jamás", "sin", "ni", "не", "нет", "ни", "никогда", "без",
})  # fmt: skip
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dedup:
    """Which rules hold. `exact`: seconds, `near`: the least share of words in common, `alike`: the least cosine; 0 is off."""

    exact: float = WINDOW
    near: float = 0.0
    alike: float = 0.0

    def __post_init__(self) -> None:
        for name, most in (("exact", LONGEST_WINDOW), ("near", 1.0), ("alike", 1.0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
                raise InvalidSetting(f"dedup: {name}={value!r:.40} is out of range.", hint=f"It is from 0 to {most:g}; 0 is off.")

    def __str__(self) -> str:
        on = [(name, getattr(self, name)) for name in _DEFAULTS]
        return " ".join(name if value == _DEFAULTS[name] else f"{name}={value:g}" for name, value in on if value) or "off"

    @classmethod
    def parse(cls, text: str) -> Dedup:
        """`off`, or rules by name: `exact`, `exact=60 near`, `exact near=0.9 alike`. What is not named is off."""
        said = {} if text.strip() == "off" else dict(_rule(word) for word in text.split())
        if not said and text.strip() != "off":
            raise InvalidSetting("dedup is empty.", hint='Write dedup="off", or rules such as "exact near".')
        return cls(**{name: said.get(name, 0.0) for name in _DEFAULTS})

    @classmethod
    def of(cls, given: Dedup | str) -> Dedup:
        """What it says, or the value itself."""
        if not isinstance(given, (Dedup, str)):
            raise InvalidSetting(f"dedup={given!r:.40} can't be read.", hint='Write dedup="exact", "off", or a Dedup.')
        return cls.parse(given) if isinstance(given, str) else given


OFF = Dedup(exact=0.0)


def _rule(word: str) -> tuple[str, float]:
    name, equals, value = word.partition("=")
    try:
        return name, float(value) if equals else _DEFAULTS[name]
    except (KeyError, ValueError):
        raise InvalidSetting(f"dedup={word!r:.40} can't be read.", hint="Rules are exact, near and alike: exact=600.") from None


def comparable(record: Record, given: Mapping[str, Any]) -> bool:
    """Whether a new record may be one that is there: a note without an id of its own, and not a program's."""
    return "id" not in given and record.role == "note" and not given.get("vectors") and record.metadata.keys().isdisjoint(CARRIED)


def same(record: Record, given: Mapping[str, Any]) -> bytes:
    """What two tellings share that are one: the words, but for case and spaces, and everything else that was said."""
    scope = record.owner, record.agent, record.project, record.session
    names = (name for name in sorted(given) if given[name] is not None)
    said = [(name, value) for name in names if (value := getattr(record, name, EMPTY)) != _PLAIN.get(name, EMPTY)]
    told = " ".join(fold(record.text).split()), scope, said, record.metadata.get("supersedes")
    return blake2b(repr(told).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def nearly(record: Record, others: Iterable[Record], least: float) -> Record | None:
    """Of some older records the one that says nearly the same in the same place; the one most like it, then the newest."""
    own = frozenset(words(record.text))
    alike = [(share, old.recorded_at, old) for old in others if (share := _shared(own, old)) >= least and _place(old, record)]
    return max(alike, key=lambda one: one[:2])[2] if alike else None


def means(new: Record, old: Record) -> bool:
    """Whether an older record whose vector is near enough may be taken for the same, told in another session or by another."""
    if old.id == new.id or (old.recorded_at, old.id) >= (new.recorded_at, new.id) or old.superseded_by is not None:
        return False
    held = (new.agent, new.project, new.valid_from, new.valid_to) == (old.agent, old.project, old.valid_from, old.valid_to)
    return held and not _differ(frozenset(words(new.text)) ^ frozenset(words(old.text)))


def _differ(words_: Iterable[str]) -> bool:
    """Whether a number or a denial is among the words that one of two has."""
    return any(word in _DENIALS or _DIGIT.search(word) for word in words_)


def _place(one: Record, other: Record) -> bool:
    return _PLACE(one) == _PLACE(other) and one.superseded_by is None and one.id != other.id


def _shared(own: frozenset[str], old: Record) -> float:
    """Jaccard's share; nothing where what differs are numbers or a denial: 5 o'clock is not nearly 6 o'clock."""
    others = frozenset(words(old.text))
    if _differ(own ^ others):
        return 0.0
    return len(own & others) / len(own | others) if own and others else 0.0
