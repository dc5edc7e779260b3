"""For tests of code that uses recollect: a clock that stands still, small readable worlds, and the promises of a store.

- `FixedClock()` is the time until you move it: `Memory.open("memory:", owner="alice", clock=FixedClock("2026-03-10"))`.
- `conformance` is the list of promises every store keeps, each a plain function that takes an empty store:

      @pytest.mark.parametrize("promise", conformance, ids=lambda promise: promise.__name__)
      def test_my_store(promise, my_empty_store):
          promise(my_empty_store)

- A world is a story on one page: what was remembered, a question, and between two `----` the table that must come back.

      # Goa comes first
      recipe: annie@5
      now: 2026-03-10T00:00Z
      remember id=m1 at=2026-03-07 speaker=Rajesh: I told Priya we can do March for vacation
      vector m1 full: 1 0 0
      ask limit=5: What did I tell Priya about vacation?
      vector ask full: 1 0 0
      ----
      m1  0.0303  lexical#2 vector(full)#1
      ----

  `read_world(path)` makes it a value and `play(world, memory)` acts it out. Nothing here needs pytest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from .conformance import conformance
from .records import micros, moment

__all__ = ["Ask", "FixedClock", "Line", "Played", "Remember", "World", "conformance", "parse_world", "play", "read_world"]


class FixedClock:
    """Always the same moment until told otherwise."""

    def __init__(self, now: datetime | str = "2026-03-10T00:00Z") -> None:
        self.now = moment(micros(now, "now"))

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> datetime:
        """Move on: `advance(days=3)`. Anything a timedelta takes."""
        self.now += timedelta(**by)
        return self.now


# Worlds ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember:
    """A remembered line; `fields` are the arguments of `Memory.remember` that the world names."""

    text: str
    fields: Mapping[str, object] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)
    vectors: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """A line that is taken back."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One expected hit. What it leaves open (score `-`, no places) is not checked."""

    id: str
    score: str = "-"
    places: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "  ".join(filter(None, [self.id, self.score, " ".join(self.places)]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A question, the arguments of `Memory.recall` that the world names, and what must come back."""

    text: str
    fields: Mapping[str, object] = field(default_factory=dict)
    vectors: dict[str, list[float]] = field(default_factory=dict)
    expected: tuple[Line, ...] = ()
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A story: what is set before it starts, then its steps in order."""

    title: str = ""
    recipe: str | None = None
    owner: str = "alice"
    now: str = "2026-03-10T00:00Z"
    steps: tuple[Remember | Forget | Ask, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A question that was asked: `expected` and `actual` are the same text when the world holds."""

    question: str
    expected: str
    actual: str
    answer: object


def read_world(path: str | Path) -> World:
    """The world in a file. A mistake is a ValueError that names the file and the line."""
    return parse_world(Path(path).read_text(encoding="utf-8"), str(path))


def parse_world(text: str, name: str = "world") -> World:
    """The world in a text."""
    head: dict[str, str] = {}
    steps: list[Remember | Forget | Ask] = []
    table: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        try:
            if line == "----":
                table = _turn_page(steps, table)
            elif line.startswith("#") or not line:
                if line and not head and not steps:
                    head["title"] = line.lstrip("# ")
            elif table is not None:
                table.append(line)
            else:
                _read_line(line, head, steps)
        except ValueError as error:
            raise ValueError(f"{name}:{number}: {error}: {line}") from None
    if table is not None:
        raise ValueError(f"{name}: the last table is not closed by ----")
    return World(**head, steps=tuple(steps))


def play(world: World, memory) -> Iterator[Played]:
    """Act the world out on a memory that was opened with its recipe, owner and time; one Played a question.

    for played in play(world, Memory.open("memory:", owner=world.owner, recipe=world.recipe, clock=FixedClock(world.now))):
        assert played.actual == played.expected
    """
    for step in world.steps:
        if isinstance(step, Forget):
            memory.forget(step.id)
        elif isinstance(step, Remember):
            memory.remember(step.text, **step.fields, **_given(views=step.views, vectors=step.vectors))
        else:
            answer = memory.recall(step.text, **step.fields, **_given(vectors=step.vectors))
            expected = [*step.expected, *([Line(id="path:", score=step.path)] if step.path else [])]
            yield Played(question=step.text, expected=_page(expected), actual=_page(_seen(step, answer)), answer=answer)


_HEAD = re.compile(r"(recipe|owner|now):\s*(\S.*)")
_SAY = re.compile(r"""(remember|ask)((?:\s+\w+=(?:"[^"]*"|[^\s"]+?))*)\s*:(?:\s+(.*))?$""")
_FIELD = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')
_ABOUT = re.compile(r"(vector|view)\s+(\S+?)(?:\s+([\w]+))?:\s+(.*)")
_TYPES = {
    "turn": int, "limit": int, "quality": float, "confidence": float, "first_turn": lambda text: text == "yes",
    **dict.fromkeys(("tags", "kinds", "roles", "sessions", "projects", "exclude"), lambda text: tuple(text.split(","))),
}  # fmt: skip


def _read_line(line: str, head: dict[str, str], steps: list) -> None:
    if found := _SAY.match(line):
        steps.append(_say(*found.groups()))
    elif found := _ABOUT.match(line):
        _attach(steps, *found.groups())
    elif found := re.fullmatch(r"forget (\S+)", line):
        steps.append(Forget(id=found[1]))
    elif (found := _HEAD.fullmatch(line)) and not steps:
        head[found[1]] = found[2]
    else:
        raise ValueError("not a line of a world")


def _say(verb: str, fields: str, text: str | None) -> Remember | Ask:
    given = {name: _TYPES.get(name, str)(quoted or bare) for name, quoted, bare in _FIELD.findall(fields)}
    return (Remember if verb == "remember" else Ask)(text=(text or "").replace("\\n", "\n"), fields=given)


def _attach(steps: list, what: str, name: str, view: str | None, value: str) -> None:
    """A vector or view belongs to the last question (`ask`) or to the remembered line of that id."""
    wanted = Ask if name == "ask" else Remember
    found = next((s for s in reversed(steps) if isinstance(s, wanted) and name in ("ask", s.fields.get("id"))), None)
    if found is None or (what == "view" and wanted is Ask):
        raise ValueError(f"no line {name!r} above it")
    if what == "view":
        found.views[view or "full"] = value
    else:
        found.vectors[view or "full"] = [float(number) for number in value.split()]


def _turn_page(steps: list, table: list[str] | None) -> list[str] | None:
    """The first ---- after a question opens its table, the second closes it."""
    if not steps or not isinstance(steps[-1], Ask):
        raise ValueError("a table needs a question above it")
    if table is None:
        return []
    path = next((row.split(None, 1)[1] for row in table if row.startswith("path:")), None)
    rows = [row.split() for row in table if not row.startswith("path:")]
    lines = tuple(Line(id=row[0], score=row[1] if row[1:] else "-", places=tuple(row[2:])) for row in rows)
    ask = steps[-1]
    steps[-1] = Ask(text=ask.text, fields=ask.fields, vectors=ask.vectors, expected=lines, path=path)
    return None


def _given(**arguments: object) -> dict[str, object]:
    return {name: value for name, value in arguments.items() if value}


def _page(lines: list[Line]) -> str:
    return "\n".join(map(str, lines))


def _seen(ask: Ask, answer) -> list[Line]:
    """The hits as lines, each told only as much as the expected line in its place tells."""
    lines = []
    for number, hit in enumerate(answer):
        expected = ask.expected[number] if number < len(ask.expected) else Line(id="", score="0.0000", places=("all",))
        places = tuple(f"{route}#{place.rank}" for route, place in hit.routes.items()) if expected.places else ()
        lines.append(Line(id=hit.id, score=_as_precise(hit.score, expected.score), places=places))
    if ask.path:
        lines.append(Line(id="path:", score=answer.diagnostics.retrieval_path))
    return lines


def _as_precise(score: float, like: str) -> str:
    """The score with as many decimals as the world gives it."""
    return "-" if like == "-" else f"{score:.{len(like.partition('.')[2])}f}"
