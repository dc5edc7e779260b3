"""Which days a date means, counted from the day it was said. For `dates`; how text becomes a `Mark` is in `date_rules`.

Conventions: weeks start on Monday. Seasons are the northern, meteorological ones: spring is March to May, a winter belongs to the
year it starts in. "Two weeks ago" is the seven days around that day; months and years ago are the whole month, the whole year.
A month, weekday or season without a year is the latest one that has begun, unless its sentence speaks of the future; a day of a
month is then the nearest. "Next Friday" is the next one to come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import NamedTuple

FIRST, LAST = date(1, 1, 1), date(9999, 12, 31)
DAY = timedelta(1)
SIZES = {"d": 1, "w": 7, "f": 14, "e": 7}  # in days
MONTHS = {"m": 1, "q": 3, "y": 12, "t": 120}
Days = tuple[date, date]  # the first day, and the first day after
Year = int | tuple[str, int] | None  # 2023, or ("turn", -1): last year


class Mark(NamedTuple):
    """A date as it stands in a text: where, and what `resolved` is to make of it."""

    start: int
    end: int
    what: str
    values: tuple
    relation: str = ""  # since, until, before, after: a question's open span


def resolved(mark: Mark, anchor: date | None, future: bool | None) -> Days | None:
    """The first day and the first day after; None for a day that no calendar has, or one that needs to know anchor."""
    if anchor is None and not _absolute(mark.what, mark.values):
        return None
    try:
        return _RESOLVE[mark.what](anchor or FIRST, future, *mark.values)
    except (ValueError, OverflowError, StopIteration, IndexError):  # 30 February, ten thousand years ago, a range backwards
        return None


def _absolute(what: str, values: tuple) -> bool:
    if what == "range":
        return all(_absolute(*part) for part in values)
    if what == "week_of":
        return _absolute(*values[1:])
    return what in ("date", "season", "quarter") and isinstance(values[0], int)


def _day_from(anchor: date, future: bool | None, offset: int) -> Days:
    return _days(anchor + offset * DAY)


def _ago(anchor: date, future: bool | None, count: int, unit: str) -> Days:
    if unit == "d":
        return _days(anchor + count * DAY)
    if unit in ("w", "f"):
        middle = anchor + count * SIZES[unit] * DAY
        return middle - 3 * DAY, middle + 4 * DAY
    return _unit(anchor, unit, count)


def _ahead(anchor: date, future: bool | None, count: int, unit: str, by_in: bool) -> Days:
    if by_in and future is False:  # "done in two weeks" says how long it took
        raise ValueError
    return _ago(anchor, future, count, unit)


def _turn(anchor: date, future: bool | None, turn: int, kind: str, value: int | str, count: int) -> Days:
    if kind == "unit" and count > 1:
        far = _unit(anchor, str(value), turn * count) if value not in SIZES else _days(anchor + turn * count * SIZES[value] * DAY)
        return (far[0], anchor + DAY) if turn < 0 else (anchor, far[1])
    if kind == "unit":
        return _unit(anchor, str(value), turn)
    if kind == "week":
        return _days(_monday(anchor) + (7 * turn + int(value) - 1) * DAY)
    if kind == "weekday" and not turn:
        return _days(_monday(anchor) + (int(value) - 1) * DAY)
    every = {"weekday": _weekdays, "month": _months, "season": _seasons, "feast": _feasts}[kind](anchor, value)
    if not turn:
        return next(days for days in every if days[0].year == anchor.year)
    if turn < 0:
        return [days for days in every if days[1] <= anchor][-1]
    return next(days for days in every if days[0] > anchor)


def _date(anchor: date, future: bool | None, year: Year, month: int = 0, day: int = 0, last: int = 0) -> Days:
    if isinstance(year, tuple):
        year = anchor.year + year[1]
    if year is None and day:
        return _chosen(
            [(d[0], date(d[0].year, month, last) + DAY) if last else d for d in _feasts(anchor, (month, day))],
            anchor,
            future,
            near=True,
        )
    if year is None:
        return _chosen(_months(anchor, month), anchor, future)
    if not month:
        return date(year, 1, 1), date(year + 1, 1, 1)
    return (date(year, month, day), date(year, month, last or day) + DAY) if day else _month(year, month)


def _season_of(anchor: date, future: bool | None, year: Year, number: int) -> Days:
    if year is None:
        return _chosen(_seasons(anchor, number), anchor, future)
    return _season(anchor.year + year[1] if isinstance(year, tuple) else year, number)


def _weekday(anchor: date, future: bool | None, number: int) -> Days:
    return _chosen([days for days in _weekdays(anchor, number) if days[0] != anchor], anchor, future)


def _weekend(anchor: date, future: bool | None) -> Days:
    return _chosen([_unit(anchor, "e", week) for week in (-2, -1, 0, 1)], anchor, future)


def _recent(anchor: date, future: bool | None, days: int) -> Days:
    return anchor - days * DAY, anchor + DAY


def _near_days(anchor: date, future: bool | None, side: str, count: int, unit: int | str, what: str, values: tuple) -> Days:
    first, after = _RESOLVE[what](anchor, future, *values)
    sign = -1 if side == "before" else 1
    edge = first if sign < 0 else after
    if isinstance(unit, int):
        return _turn(edge if sign < 0 else edge - DAY, future, sign, "weekday", unit, 1)
    if unit == "e":
        return _unit(edge if sign < 0 else edge - DAY, "e", sign)
    if unit == "d":
        return _days(first + sign * count * DAY)
    far = edge + sign * count * SIZES[unit] * DAY if unit in SIZES else _shifted(edge, sign * count * MONTHS[unit])
    return (far, edge) if sign < 0 else (edge, far)


def _quarter(anchor: date, future: bool | None, year: int, number: int) -> Days:
    months = year * 12 + 3 * (number - 1)
    return _first_of(months), _first_of(months + 3)


def _week_of(anchor: date, future: bool | None, number: int, what: str, values: tuple) -> Days:
    """The first week of October is its first seven days."""
    first, after = _RESOLVE[what](anchor, future, *values)
    start = first + 7 * (number - 1) * DAY
    return start, min(start + 7 * DAY, after)


def _range(anchor: date, future: bool | None, one: tuple, other: tuple) -> Days:
    """From one to the other. A year that one of them has holds for both; without any, they follow each other."""
    (what, values), (what2, values2) = one, other
    open1, open2 = (kind in ("date", "season") and given[0] is None for kind, given in (one, other))
    if open1 and not open2:
        last = _RESOLVE[what2](anchor, future, *values2)
        first = next(
            days
            for year in (last[0].year, last[0].year - 1)
            if (days := _RESOLVE[what](anchor, future, year, *values[1:]))[0] < last[1]
        )
    else:
        first = _RESOLVE[what](anchor, future, *values)
        years = (first[0].year, first[0].year + 1) if open2 else (None,)
        ends = [_RESOLVE[what2](anchor, future, *([year, *values2[1:]] if open2 else values2)) for year in years]
        last = next(days for days in ends if days[1] > first[0])
    return first[0], last[1]


_RESOLVE: Mapping[str, Callable[..., Days]] = {
    "day": _day_from, "ago": _ago, "ahead": _ahead, "turn": _turn, "date": _date, "season": _season_of, "weekday": _weekday,
    "weekend": _weekend, "recent": _recent, "near": _near_days, "range": _range, "quarter": _quarter, "week_of": _week_of,
}  # fmt: skip


def _chosen(every: list[Days], anchor: date, future: bool | None, *, near: bool = False) -> Days:
    """Of the same day or month in several years: the one past or to come, by tense; without one the nearest, or the one past."""
    if future is None and near:
        return min(every, key=lambda days: abs(days[0] - anchor))
    if future:
        return next(days for days in every if days[1] > anchor)
    return [days for days in every if days[0] <= anchor][-1]


def _unit(anchor: date, unit: str, turn: int) -> Days:
    """The whole week, month, year … so many turns away from anchor's."""
    if unit == "d":
        return _days(anchor + turn * DAY)
    if unit in ("w", "f"):
        monday = _monday(anchor) + 7 * turn * DAY
        return monday, monday + SIZES[unit] * DAY
    if unit == "e":
        saturday = _monday(anchor) + (5 + 7 * turn) * DAY
        return saturday, saturday + 2 * DAY
    size = MONTHS[unit]
    months = (anchor.year * 12 + anchor.month - 1) // size * size + turn * size
    return _first_of(months), _first_of(months + size)


def _shifted(day: date, months: int) -> date:
    """The same day so many months on, or the first of the next month where it has none."""
    first = _first_of(day.year * 12 + day.month - 1 + months)
    return min(first + (day.day - 1) * DAY, _first_of(first.year * 12 + first.month))


def _first_of(months: int) -> date:
    return date(months // 12, months % 12 + 1, 1)


def _monday(day: date) -> date:
    return day - day.weekday() * DAY


def _days(day: date) -> Days:
    return day, day + DAY


def _month(year: int, month: int) -> Days:
    return date(year, month, 1), _first_of(year * 12 + month)


def _season(year: int, number: int) -> Days:
    return date(year, 3 * number, 1), _first_of(year * 12 + 3 * number + 2)


def _weekdays(anchor: date, number: int | str) -> list[Days]:
    monday = _monday(anchor)
    return [_days(monday + (7 * week + int(number) - 1) * DAY) for week in (-2, -1, 0, 1, 2)]


def _months(anchor: date, number: int | str) -> list[Days]:
    return [_month(year, int(number)) for year in _years(anchor)]


def _seasons(anchor: date, number: int | str) -> list[Days]:
    return [_season(year, int(number)) for year in _years(anchor)]


def _feasts(anchor: date, day: int | str | tuple[int, int]) -> list[Days]:
    """The same day in several years; 29 February in those that have it."""
    month, number = day if isinstance(day, tuple) else feast(day)
    wide = 8 if (month, number) == (2, 29) else 2
    return [_days(date(year, month, number)) for year in _years(anchor, wide) if (month, number) != (2, 29) or _leap(year)]


def feast(value: int | str) -> tuple[int, int]:
    """ "1225" is 25 December."""
    return int(str(value)[:2]), int(str(value)[2:])


def _years(anchor: date, wide: int = 2) -> range:
    return range(max(1, anchor.year - wide), min(9998, anchor.year + wide) + 1)


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
