"""How phrases make a date. For `dates`, which cuts the text into them; which days a date means is counted in `date_count`.

A rule reads the phrases from a place on and says where it stopped, what it read, and its values. The first that fits is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .date_count import Mark, Year, feast
from .date_words import UNSURE, phrases
from .records import EMPTY
from .stopwords import stop_words

RELATIONS = ("since", "until", "before", "after")
ANCHORS = frozenset({"at", "from", *RELATIONS})
TIGHT = frozenset({"to", "until", "till", "through", "bis", "bis zum", "hasta", "по"})  # these join a range without a "from"


class Item(NamedTuple):
    """A phrase or figure of the text, and what it may say; nothing at all where the text makes a break."""

    start: int
    end: int
    says: Mapping[str, int | str] = EMPTY
    word: str = ""
    capital: bool = False
    figures: tuple[int, ...] = ()
    suffix: str = ""
    dash: bool = False  # a dash stands before it
    comma: bool = False

    @property
    def day(self) -> int:
        return self.figures[0] if len(self.figures) == 1 and 1 <= self.figures[0] <= 31 else 0

    @property
    def year(self) -> int:
        return self.figures[0] if len(self.figures) == 1 and 1900 <= self.figures[0] <= 2100 and self.suffix in ("", ".") else 0


Read = tuple[int, str, tuple] | None  # where to read on, what it is, its values


def match(items: Sequence[Item], place: int) -> tuple[Mark, int] | None:
    """The date that begins at a place, with where to read on."""
    found = _one(items, place)
    if found is None:
        return None
    after, what, values = _ranged(items, place, found) or found
    before = _skip(items, place - 1, -1)
    relation = next((name for name in RELATIONS if name in items[before].says), "")
    start = items[place - 1].start if "at" in items[place - 1].says else items[place].start
    return Mark(start, items[after - 1].end, what, values, relation), after


def _one(items: Sequence[Item], i: int) -> Read:
    for rule in _RULES:
        found = rule(items, i)
        if found is not None:
            return found
    return None


def _ranged(items: Sequence[Item], i: int, found: tuple[int, str, tuple]) -> Read:
    """From A to B. What A leaves open, B says: "between May and July 2023"."""
    j, what, values = found
    joiner = items[j]
    if not (joiner.dash or "joins" in joiner.says):
        return None
    if not (joiner.dash or "from" in items[_skip(items, i - 1, -1)].says or _phrase(joiner) in TIGHT):
        return None
    k = j if joiner.dash else _skip(items, j + 1, 1, also="at")
    other = _one(items, k)
    return None if other is None else (other[0], "range", ((what, values), other[1:]))


def _phrase(item: Item) -> str:
    return item.word


def _skip(items: Sequence[Item], i: int, step: int, also: str = "of") -> int:
    """Past an article or a preposition."""
    return i + step if 0 < i < len(items) - 1 and ("of" in items[i].says or also in items[i].says) and not _tells(items[i]) else i


def _tells(item: Item) -> bool:
    return not item.says.keys().isdisjoint(RELATIONS)


def _year(items: Sequence[Item], i: int) -> tuple[int, Year]:
    """A year, or "last year", with where to read on; None when there is none."""
    for j in (i, _skip(items, i, 1)):
        if items[j].year:
            return j + 1, items[j].year
        turned = _turned_unit(items, j)
        if turned and turned[1] == "y":
            return turned[0], ("turn", turned[2])
    return i, None


def _turned_unit(items: Sequence[Item], i: int) -> tuple[int, str, int] | None:
    """A unit with its turn, in either order: "last year", "del año pasado"."""
    one, other = items[i].says, items[i + 1].says
    if "turn" in one and "unit" in other:
        return i + 2, str(other["unit"]), int(one["turn"])
    if "unit" in one and "turn" in other and items[i + 1].word not in phrases(("en",)):
        return i + 2, str(one["unit"]), int(other["turn"])
    return None


def _number(items: Sequence[Item], i: int) -> int:
    item = items[i]
    if len(item.figures) == 1 and item.figures[0] < 1000 and not item.suffix:
        return item.figures[0]
    return int(item.says.get("number", 0))


def _whole(items: Sequence[Item], i: int) -> Read:
    """2023-05-08, 8.5.2023."""
    return (i + 1, "date", items[i].figures) if len(items[i].figures) == 3 else None


def _near(items: Sequence[Item], i: int) -> Read:
    """The week before 3 August, two days after Christmas."""
    j = i + 1 if "turn" in items[i].says else i
    count = _number(items, j)
    j += bool(count)
    unit = items[j].says.get("unit") or ("weekday" in items[j].says and items[j].says["weekday"])
    side = next((side for side in ("before", "after") if side in items[j + 1].says), "")
    if not unit or not side or not (j > i or "of" in items[i - 1].says):
        return None
    inner = _one(items, _skip(items, j + 2, 1, also="at"))
    return None if inner is None else (inner[0], "near", (side, count or 1, unit, inner[1], inner[2]))


def _named_day(items: Sequence[Item], i: int) -> Read:
    """Yesterday. Not "por la mañana", "am Morgen", "guten Morgen"."""
    item = items[i]
    if "day" not in item.says:
        return None
    if item.word in ("mañana", "morgen") and (
        (not items[i - 1].word and item.capital and items[i - 1].end != 0) or items[i - 1].word in _NOT_TOMORROW
        or (item.word == "morgen" and item.capital and items[i - 1].word)
    ):  # fmt: skip
        return None
    return i + 1, "day", (item.says["day"],)


def _counted(items: Sequence[Item], i: int) -> Read:
    """Two weeks ago, vor zwei Wochen, неделю назад, in three days."""
    led, ahead = "led" in items[i].says, "in" in items[i].says
    count = _number(items, i + 1) if led or ahead else _number(items, i)
    j = i + 1 + (led or ahead) if count else i
    unit = items[j].says.get("unit")
    if not unit:
        return None
    if count and (led or ("ago" in items[j + 1].says and not ahead)):
        return j + (1 if led else 2), "ago", (-count, unit)
    if count and (ahead or "ahead" in items[j + 1].says):
        return j + (1 if ahead else 2), "ahead", (count, unit, ahead)
    if not count and "ago" in items[j + 1].says and not items[j].word.isascii():
        return j + 2, "ago", (-1, unit)
    return None


def _turned(items: Sequence[Item], i: int) -> Read:
    """Last week, el verano pasado, next Friday, the past three days."""
    one, other = items[i], items[i + 1]
    if "turn" in one.says:
        turn, count = int(one.says["turn"]), _number(items, i + 1)
        if count and turn and "unit" in items[i + 2].says:
            return i + 3, "turn", (turn, "unit", items[i + 2].says["unit"], count)
        thing = _thing(other)
        return None if thing is None else _weekday_of(items, i + 2, turn, thing)
    if "turn" in other.says and other.word not in phrases(("en",)) and not items[i].comma:
        thing = _thing(one)
        return None if thing is None else _weekday_of(items, i + 2, int(other.says["turn"]), thing)
    return None


def _weekday_of(items: Sequence[Item], i: int, turn: int, thing: tuple[str, int | str]) -> Read:
    """Last week, or its Tuesday: "last week on Tuesday", "letzte Woche am Dienstag"."""
    day = items[_skip(items, i, 1, also="at")]
    if thing == ("unit", "w") and "weekday" in day.says:
        return _skip(items, i, 1, also="at") + 1, "turn", (turn, "week", day.says["weekday"], 1)
    return i, "turn", (turn, *thing, 1)


def _part(items: Sequence[Item], i: int) -> Read:
    """The first week of October, Q1 2025."""
    if items[i].word == "q" and 1 <= items[i + 1].day <= 4 and items[i + 2].year:
        return i + 3, "quarter", (items[i + 2].year, items[i + 1].day)
    if "first" in items[i].says and items[i + 1].says.get("unit") == "w" and "of" in items[i + 2].says:
        inner = _one(items, _skip(items, i + 2, 1))
        if inner is None and "month" in items[_skip(items, i + 2, 1)].says:
            inner = (k := _skip(items, i + 2, 1)) + 1, "date", (None, items[k].says["month"])
        return None if inner is None else (inner[0], "week_of", (int(items[i].says["first"]), *inner[1:]))
    return None


def _thing(item: Item) -> tuple[str, int | str] | None:
    for kind in ("unit", "weekday", "month", "season", "feast"):
        if kind in item.says and item.says[kind] != "d":
            return kind, item.says[kind]
    return ("season", item.says["during"]) if "during" in item.says else None


def _day_and_month(items: Sequence[Item], i: int) -> Read:
    """8 May 2023, 8 de mayo, the first of May, 5–8 May."""
    first = items[i].day or (int(items[i].says["first"]) if "of" in items[i + 1].says and "first" in items[i].says else 0)
    j, last = i + 1, 0
    if first and items[j].dash and items[j].day:
        last, j = items[j].day, j + 1
    elif first and "joins" in items[j].says and items[_skip(items, j + 1, 1)].day:
        j = _skip(items, j + 1, 1)
        last, j = items[j].day, j + 1
    k = _skip(items, j, 1)
    month = items[k].says.get("month") or (items[k].capital and items[k].says.get("short"))
    if not first or not month:
        return None
    after, year = _year(items, k + 1)
    if year is None and items[k].word in ("may", "march") and not (items[k].capital or items[i].suffix or k > j):
        return None
    return after, "date", (year, month, first, *((last,) if last else ()))


def _month_and_day(items: Sequence[Item], i: int) -> Read:
    """May 8, 2023; Sep 8th. Not "In May 2 people came"."""
    month = items[i].says.get("month") or (items[i].capital and items[i].says.get("short"))
    day = items[i + 1]
    if not month or not day.day or day.comma or items[i].word not in _ENGLISH or not (items[i].capital or day.suffix):
        return None
    last, j = (items[i + 2].day, i + 3) if items[i + 2].dash and items[i + 2].day else (0, i + 2)
    after, year = _year(items, j)
    behind = items[j]
    counts = behind.word and not behind.says and not behind.capital and behind.word not in stop_words("en") and not behind.comma
    if counts and not day.suffix and year is None:
        return None
    return after, "date", (year, month, day.day, *((last,) if last else ()))


def _month_or_season_of_year(items: Sequence[Item], i: int) -> Read:
    """May 2023, in May last year, summer of 2022, летом 2022 года, Christmas 2022."""
    says = items[i].says
    kind = next((kind for kind in ("month", "short", "season", "during", "feast") if kind in says), "")
    if not kind or (kind == "short" and not items[i].capital):
        return None
    after, year = _year(items, i + 1)
    if year is None:
        return None
    after = after + 1 if items[after].word == "года" else after
    if kind == "feast":
        return after, "date", (year, *feast(says[kind]))
    return (after, "season", (year, says[kind])) if kind in ("season", "during") else (after, "date", (year, says[kind]))


def _bare(items: Sequence[Item], i: int) -> Read:
    """In March, on Friday, since 2016, at Christmas, летом, over the weekend: as much context as the word needs."""
    item, before = items[i], items[i - 1]
    anchored = not ANCHORS.isdisjoint(before.says) and not item.comma
    joined = "joins" in before.says
    ranged = joined and not ANCHORS.isdisjoint(items[i - 3].says)  # the second of "between May and July"
    says = item.says
    if "month" in says and (anchored or ranged or (item.capital and item.word not in UNSURE)):
        return i + 1, "date", (None, says["month"])
    if "season" in says and anchored:
        return i + 1, "season", (None, says["season"])
    if "during" in says:
        return i + 1, "season", (None, says["during"])
    if item.year and (anchored or joined):
        after = i + 2 if items[i + 1].word in ("года", "году") else i + 1
        return None if "unit" in items[i + 1].says and after == i + 1 else (after, "date", (item.year,))
    if "feast" in says:
        return i + 1, "date", (None, *feast(says["feast"]))
    if says.get("unit") == "e" and anchored:
        return i + 1, "weekend", ()
    if "recent" in says:
        return i + 1, "recent", (says["recent"],)
    if "weekday" in says and not before.says.keys() & {"every", "number"}:  # "every Monday", "a Monday"
        turned = _turned_unit(items, _skip(items, i + 1, 1))
        if turned and turned[1] == "w":
            return turned[0], "turn", (turned[2], "week", says["weekday"], 1)
        return i + 1, "weekday", (says["weekday"],)
    return None


_RULES = (
    _whole, _part, _near, _named_day, _counted, _day_and_month, _month_and_day, _month_or_season_of_year, _turned, _bare,
)  # fmt: skip
_ENGLISH = phrases(("en",))
_NOT_TOMORROW = frozenset({"la", "por", "cada", "buenos", "am", "guten", "jeden", "eines", "diesen", "una", "toda"})
