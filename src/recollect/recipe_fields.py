"""What one field of a recipe may hold: its range in words, the check, and its form in plain data.

A shape is said once, beside the field, and serves the constructor, the text form, TOML and JSON, the help page and the
error message. `take` accepts what people write (a value, or its plain form) and returns the value; `plain` is its
inverse, made of numbers, words, lists and tables only. Not for whole recipes: those are in `recipes`.
"""

from __future__ import annotations

import difflib
import math
import re
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, Protocol

from .errors import InvalidRecipe

RESERVED = ("none", "true", "false")
LONGEST = 36_500.0  # days: a hundred years, far inside what a microsecond count can hold
_DURATION = re.compile(r"(\d{1,18}(?:\.\d{1,25})?(?:e[+-]?\d{1,3})?)(d|h)", re.IGNORECASE)


class Shape(Protocol):
    """What a field may hold. `take` raises ValueError, with a reason where the range alone doesn't explain it."""

    range: str

    def take(self, value: Any) -> Any: ...

    def plain(self, value: Any) -> Any: ...


def nearest(word: object, known: Iterable[str]) -> str:
    """The question to ask about a misspelt word, or nothing."""
    found = difflib.get_close_matches(word[:80], list(known), n=1, cutoff=0.6) if isinstance(word, str) else []
    return f"Did you mean {found[0]}?" if found else ""


def digits(value: float) -> str:
    """A number as people write it: 60, not 60.0, and every digit that matters."""
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number between two others, both included; `above` excludes the lower."""

    low: float
    high: float
    above: bool = False

    @property
    def range(self) -> str:
        if self.above:
            return f"above {digits(self.low)} and at most {digits(self.high)}"
        return f"{digits(self.low)} to {digits(self.high)}"

    def take(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, Real) or not self.low <= value <= self.high:
            raise ValueError
        if self.above and value == self.low:
            raise ValueError
        return float(value) + 0.0  # so that -0.0 prints as 0

    def plain(self, value: float) -> float | int:
        return int(value) if value == math.floor(value) else value


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number between two others, both included."""

    low: int
    high: int

    @property
    def range(self) -> str:
        return f"{self.low} to {self.high}"

    def take(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, Integral) or not self.low <= value <= self.high:
            raise ValueError
        return int(value)

    def plain(self, value: int) -> int:
        return value


@dataclass(frozen=True, slots=True)
class Days:
    """A stretch of time, held in days, written `30d`, `168h`, or as a number of days."""

    above: bool = False
    hours: bool = False  # whole hours are printed as hours even where they are whole days

    @property
    def range(self) -> str:
        return f"{'above 0' if self.above else '0'} to {digits(LONGEST)} days, such as {'168h' if self.hours else '30d'}"

    def take(self, value: Any) -> float:
        if isinstance(value, str):
            found = _DURATION.fullmatch(value)
            if not found:
                raise ValueError
            value = float(found[1]) / (24 if found[2] in "hH" else 1)
        return Number(0, LONGEST, self.above).take(value)

    def plain(self, value: float) -> str:
        hours = value * 24
        if hours == math.floor(hours) and hours / 24 == value and (self.hours or value != math.floor(value)):
            return f"{digits(hours)}h"
        return f"{digits(value)}d"


@dataclass(frozen=True, slots=True)
class Switch:
    """Yes or no."""

    range: str = "true or false"

    def take(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError
        return value

    def plain(self, value: bool) -> bool:
        return value


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words; `called` names them where the list would be too long to read again and again."""

    words: tuple[str, ...]
    called: str = ""

    @property
    def range(self) -> str:
        return self.called or _either(self.words)

    def take(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise ValueError(nearest(value, self.words) or (self.called and f"There are {_either(self.words, 'and')}."))
        return self.words[self.words.index(value)]  # plain text even where an enumeration was given

    def plain(self, value: str) -> str:
        return value


@dataclass(frozen=True, slots=True)
class Name:
    """A name that can stand in the text form without quotes."""

    pattern: str
    range: str

    def take(self, value: Any) -> str:
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value) or value in RESERVED:
            raise ValueError
        return str(value)

    def plain(self, value: str) -> str:
        return value


@dataclass(frozen=True, slots=True)
class Several:
    """A list of words, none of them twice, in the order given."""

    word: Choice

    @property
    def range(self) -> str:
        return f"a list of {self.word.range}"

    def take(self, value: Any) -> tuple[str, ...]:
        if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
            raise ValueError("Write a list.")
        return _distinct([self.word.take(item) for item in value])

    def plain(self, value: tuple[str, ...]) -> list[str]:
        return list(value)


@dataclass(frozen=True, slots=True)
class Pairs:
    """A small table, held as pairs: each word at most once, in the order given."""

    word: Choice
    value: Shape
    least: int = 0

    @property
    def range(self) -> str:
        return f"a table of {self.word.range}, each with {self.value.range}"

    def take(self, value: Any) -> tuple[tuple[str, Any], ...]:
        pairs = list(value.items() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else [value])
        if any(not isinstance(pair, (list, tuple)) or len(pair) != 2 for pair in pairs):
            raise ValueError("Write a table or pairs.")
        if len(pairs) < self.least:
            raise ValueError("Name at least one.")
        _distinct([self.word.take(word) for word, _ in pairs])
        return tuple((str(word), self.value.take(item)) for word, item in pairs)

    def plain(self, value: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
        return {word: self.value.plain(item) for word, item in value}


@dataclass(frozen=True, slots=True)
class Row:
    """A fixed row of values, each with its own shape."""

    shapes: tuple[Shape, ...]
    range: str

    def take(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)) or len(value) != len(self.shapes):
            raise ValueError
        return tuple(shape.take(item) for shape, item in zip(self.shapes, value, strict=True))

    def plain(self, value: tuple[Any, ...]) -> list[Any]:
        return [shape.plain(item) for shape, item in zip(self.shapes, value, strict=True)]


def entry(shape: Shape, default: Any, meaning: str, *, none: bool = False) -> Any:
    """A dataclass field that knows its shape and what it means."""
    return field(default=default, metadata={"shape": shape, "meaning": meaning, "none": none})


def reach(metadata: Mapping[str, Any]) -> str:
    """The range of a field in words."""
    return f"{metadata['shape'].range}, or none" if metadata["none"] else metadata["shape"].range


def settle(metadata: Mapping[str, Any], label: str, value: Any) -> Any:
    """The value a field will hold, or the error that names the field, its range and what was given."""
    if metadata["none"] and (value is None or value == "none"):
        return None
    try:
        return metadata["shape"].take(value)
    except InvalidRecipe as wrong:  # from a value within this one, which has said what is wrong already
        raise InvalidRecipe(f"{label}: {wrong.message}", hint=wrong.hint) from None
    except ValueError as wrong:
        raise InvalidRecipe(f"{label} must be {reach(metadata)}, not {_shown(value)}.", hint=str(wrong)) from None


def settle_all(target: Any, place: str = "") -> None:
    """Check every field of a frozen value while it is being made."""
    for one in fields(target):
        given = getattr(target, one.name)
        taken = settle(one.metadata, one.name + place, given)
        if taken is not given:
            object.__setattr__(target, one.name, taken)


def known(cls: type, changes: Mapping[str, Any], what: str, *more: str) -> None:
    """The error for a field that isn't there, with the ones that are."""
    names = [*(one.name for one in fields(cls)), *more]
    for name in changes:
        if name not in names:
            hint = f"{nearest(name, names)} The fields are {', '.join(names)}.".strip()
            raise InvalidRecipe(f"A {what} has no field {_shown(name)}.", hint=hint)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return digits(value)
    text = value if isinstance(value, str) and value.isprintable() and value.strip() else reprlib.repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _either(words: tuple[str, ...], last: str = "or") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def _distinct(words: list[str]) -> tuple[str, ...]:
    if len(set(words)) != len(words):
        raise ValueError(f"{next(word for word in words if words.count(word) > 1)} is named twice.")
    return tuple(words)
