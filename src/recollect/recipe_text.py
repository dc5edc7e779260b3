"""Recipes as people write them: one line of text, or a table of TOML or JSON.

    memsense(rrf_k=20, neighbours=2)@10
    annie(lookback=168h)
    nexus(weights={lexical: 0.5})
    recipe(routes=[lexical(weight=0.5, pool=4x), vector(user, threshold=0.5)], decay=half-life)@10

The head is a preset, or `recipe` for the plain defaults; then only what differs; then the limit. The text is the table
on one line, so both share their meaning and their checks, and `parse(str(recipe)) == recipe` whatever the recipe. A small
reader of its own: nothing is evaluated, nothing nests deeper than the grammar, and every error names its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import Field, fields
from typing import Any, NoReturn

from .errors import InvalidRecipe
from .recipe_fields import digits, known, settle
from .recipes import PRESETS, Recipe, RouteSpec, as_recipe, preset

LONGEST_TEXT = 20_000  # the longest recipe there can be prints in less
PLAIN = "recipe"  # the head of a recipe that starts from the defaults and not from a preset
_GAP = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WORD = re.compile(r"[A-Za-z0-9_.+-]+(?:\([^()\[\]{}=]*\))?")  # also max(8x, 64) and vector(semantic)
_NUMBER = re.compile(r"-?(?:\d{1,18}(?:\.\d{1,25})?|\.\d{1,25})(?:[eE][+-]?\d{1,3})?")
_IS = re.compile(r"\s*=")
_CONSTANTS = {"none": None, "true": True, "false": False}
_META: dict[type, dict[str, Mapping[str, Any]]] = {cls: {f.name: f.metadata for f in fields(cls)} for cls in (Recipe, RouteSpec)}


# Printing: value → table → text


def to_table(recipe: Recipe) -> dict[str, Any]:
    """What differs from the preset of the recipe's name; without one, from the defaults."""
    base = PRESETS.get(recipe.name)
    table: dict[str, Any] = {"base": recipe.name} if base else {}
    for one in fields(Recipe):
        value, usual = getattr(recipe, one.name), getattr(base, one.name) if base else one.default
        if value == usual:
            continue
        if one.name == "routes" and base and _unweighted(value) == _unweighted(usual):
            table["weights"] = {new.name: plain(_META[RouteSpec]["weight"], new.weight)
                                for new, old in zip(value, usual, strict=True) if new != old}  # fmt: skip
        else:
            table[one.name] = plain(one.metadata, value)
    return table


def plain(metadata: Mapping[str, Any], value: Any) -> Any:
    """The value of a field as a number, word, list or table."""
    return "none" if value is None else metadata["shape"].plain(value)


def print_recipe(recipe: Recipe) -> str:
    """One line, complete: `parse` gives the same recipe back."""
    table = to_table(recipe)
    head, limit = table.pop("base", PLAIN), table.pop("limit", None)
    if head == PLAIN:
        limit = recipe.limit
    arguments = ", ".join(f"{name}={_written(value)}" for name, value in table.items())
    return head + (f"({arguments})" if arguments else "") + ("" if limit is None else f"@{limit}")


def print_route(route: RouteSpec) -> str:
    """One route: its kind, the view it searches, and what differs from the defaults."""
    bare = RouteSpec(kind=route.kind, view=route.view)
    view = [route.view] if route.view != "full" else []
    given = [f"{f.name}={plain_text(f, getattr(route, f.name))}" for f in fields(RouteSpec)
             if getattr(route, f.name) != getattr(bare, f.name)]  # fmt: skip
    return route.kind + (f"({', '.join(view + given)})" if view or given else "")


def plain_text(one: Field[Any], value: Any) -> str:
    """A field's value as the text form writes it."""
    return _written(plain(one.metadata, value))


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return value if isinstance(value, str) else digits(value)


def _unweighted(routes: tuple[RouteSpec, ...]) -> list[RouteSpec]:
    return [route.replace(weight=1.0, name=route.name) for route in routes]


# Reading: text or table → value


def read_recipe(text: str) -> Recipe:
    """The recipe this text describes, or the error that says where and why not."""
    reader = Reader(text)
    head = reader.match(_NAME, "the name of a preset, or recipe")
    with reader.pointing(0):
        base = None if head == PLAIN else preset(head)
    given = _settings(reader, Recipe, "recipe", {}) if reader.skip("(") else {}
    if reader.skip("@"):
        if "limit" in given:
            reader.fail("the end: limit= was given already")
        given["limit"] = _setting(reader, Recipe, "limit", "limit")
    reader.end()
    weights = given.pop("weights", {})
    with reader.pointing(0):
        recipe = _build(base, given)
    with reader.pointing(reader.weights_at):
        return recipe.with_weights(weights)


def read_route(text: str) -> RouteSpec:
    """The route this text describes."""
    reader = Reader(text)
    route = _route(reader)
    reader.end()
    return route


def read_value(text: str) -> Any:
    """The value of one field as a recipe's text would write it: what a table or a live setting holds."""
    reader = Reader(text)
    value = _value(reader)
    reader.end()
    return value


def from_table(table: Mapping[str, Any]) -> Recipe:
    """The recipe of a table: `base` (a preset, or any recipe's text), fields, `weights`."""
    given = dict(table)
    base = given.pop("base", None)
    weights = given.pop("weights", {})
    known(Recipe, given, "recipe", "base", "weights")
    return _build(None if base is None or base == PLAIN else as_recipe(base), given).with_weights(weights)


def _build(base: Recipe | None, given: dict[str, Any]) -> Recipe:
    if base is None and "routes" not in given:
        hint = f"Write {PLAIN}(routes=[lexical, vector]) or name a preset."
        raise InvalidRecipe("A recipe without a preset needs routes.", hint=hint)
    return base.replace(**given) if base else Recipe(**given)


class Reader:
    """A place in a text. Every method moves on past what it read, or fails with the place and what was expected."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise InvalidRecipe(f"A recipe is a text, a table or a Recipe, not {type(text).__name__}.", hint="Try memsense@10.")
        if len(text) > LONGEST_TEXT:
            raise InvalidRecipe(f"A recipe has at most {LONGEST_TEXT} characters, not {len(text)}.", hint="Start from a preset.")
        self.text = text
        self.at = 0
        self.weights_at = 0  # weights are checked last, against the routes

    def fail(self, expected: str) -> NoReturn:
        rest = self.text[self.at : self.at + 20]
        found = f"found {rest!r}" if rest else "found the end"
        raise InvalidRecipe(f"At character {self.at + 1} of the recipe: expected {expected}, {found}.")

    @contextmanager
    def pointing(self, place: int) -> Iterator[None]:
        """Give what goes wrong inside the place it belongs to."""
        try:
            yield
        except InvalidRecipe as wrong:
            raise InvalidRecipe(f"At character {place + 1} of the recipe: {wrong.message}", hint=wrong.hint) from None

    def gap(self) -> int:
        self.at = _GAP.match(self.text, self.at).end()
        return self.at

    def skip(self, mark: str) -> bool:
        """Whether the mark comes next; if so, past it."""
        self.gap()
        found = self.text.startswith(mark, self.at)
        self.at += len(mark) * found
        return found

    def expect(self, mark: str) -> None:
        if not self.skip(mark):
            self.fail(mark)

    def match(self, pattern: re.Pattern[str], expected: str) -> str:
        found = pattern.match(self.text, self.gap())
        if not found:
            self.fail(expected)
        self.at = found.end()
        return found[0]

    def end(self) -> None:
        if self.gap() < len(self.text):
            self.fail("the end")

    def items(self, closing: str, read: Callable[[], Any]) -> list[Any]:
        """Items with commas between them, up to the closing mark."""
        found: list[Any] = []
        while not self.skip(closing):
            if found and not self.skip(","):
                self.fail(f", or {closing}")
            if found and self.skip(closing):
                break
            found.append(read())
        return found


def _settings(reader: Reader, cls: type, what: str, given: dict[str, Any]) -> dict[str, Any]:
    """`name=value, …)`, each checked where it stands."""

    def one() -> None:
        place = reader.gap()
        name = reader.match(_NAME, "a field")
        with reader.pointing(place):
            known(cls, {name: None}, what, *(("weights",) if cls is Recipe else ()))
            if name in given:
                raise InvalidRecipe(f"{name} is given twice.")
        reader.expect("=")
        given[name] = _setting(reader, cls, name, name if cls is Recipe else f"{name} of a {what}")

    reader.items(")", one)
    return given


def _setting(reader: Reader, cls: type, name: str, label: str) -> Any:
    place = reader.gap()
    value = _routes(reader) if name == "routes" else _value(reader)
    if name == "weights":
        reader.weights_at = place
        return value
    with reader.pointing(place):
        return settle(_META[cls][name], label, value)


def _routes(reader: Reader) -> list[RouteSpec]:
    reader.expect("[")
    return reader.items("]", lambda: _route(reader))


def _route(reader: Reader) -> RouteSpec:
    """`lexical`, `lexical(weight=0.5)`, `vector(user)`, `vector(user, threshold=0.5)`."""
    place = reader.gap()
    kind = reader.match(_NAME, "a kind of route")
    with reader.pointing(place):
        given = {"kind": settle(_META[RouteSpec]["kind"], "the kind of a route", kind)}
    if reader.skip("("):
        _view(reader, given)
        _settings(reader, RouteSpec, f"{kind} route", given)
    with reader.pointing(place):
        return RouteSpec(**given)


def _view(reader: Reader, given: dict[str, Any]) -> None:
    """The view may stand first, without its name."""
    word = _NAME.match(reader.text, reader.gap())
    if not word or _IS.match(reader.text, word.end()):
        return
    given["view"] = _setting(reader, RouteSpec, "view", "the view of a route")
    if not reader.skip(",") and not reader.text.startswith(")", reader.gap()):
        reader.fail(", or )")


def _value(reader: Reader) -> Any:
    if reader.skip("["):
        return reader.items("]", lambda: _word(reader))
    return _table(reader) if reader.skip("{") else _word(reader)


def _table(reader: Reader) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def one() -> None:
        place = reader.gap()
        name = reader.match(_WORD, "a name")
        if name in found:
            reader.at = place
            reader.fail("a name that is not there yet")
        reader.expect(":")
        found[name] = _word(reader)

    reader.items("}", one)
    return found


def _word(reader: Reader) -> Any:
    """A number, none, true, false, or a word as it stands."""
    word = reader.match(_WORD, "a value")
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if not _NUMBER.fullmatch(word):
        return word
    return int(word) if word.removeprefix("-").isdigit() else float(word)
