"""Dates in Chinese and Japanese, which part no words: 去年夏天, 三天前, 上周五, 2023年5月8日, 先週の金曜日, 来月.

One pattern serves both: what one language writes, the other leaves alone. For `dates`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .date_count import Mark

_N = "[0-9０-９]{1,3}|[一二三四五六七八九十两兩几幾数數]{1,3}"
_DAYS = {
    "大前天": -3, "前天": -2, "一昨日": -2, "おととい": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "昨夜": -1, "きのう": -1,
    "今天": 0, "今日": 0, "きょう": 0, "今晚": 0, "今早": 0, "今朝": 0, "今夜": 0,
    "明天": 1, "明日": 1, "あした": 1, "后天": 2, "後天": 2, "明後日": 2, "あさって": 2, "大后天": 3, "大後天": 3,
}  # fmt: skip
_YEARS = {
    "去年": -1, "昨年": -1, "一昨年": -2, "おととし": -2, "前年": -2, "今年": 0, "本年": 0,
    "明年": 1, "来年": 1, "來年": 1, "后年": 2, "後年": 2,
}  # fmt: skip
_FEASTS = {
    **dict.fromkeys(("圣诞节", "聖誕節", "圣诞", "聖誕", "クリスマス"), (12, 25)),
    **dict.fromkeys(("平安夜", "クリスマスイブ", "クリスマス・イブ"), (12, 24)),
    **dict.fromkeys(("元旦", "お正月", "正月", "新年"), (1, 1)), **dict.fromkeys(("大晦日", "跨年夜"), (12, 31)),
    **dict.fromkeys(("情人节", "情人節", "バレンタインデー", "バレンタイン"), (2, 14)),
    **dict.fromkeys(("国庆节", "国庆"), (10, 1)),
}  # fmt: skip
_TURNS = {
    "上上": -2, "先々": -2, "上个": -1, "上個": -1, "上": -1, "先": -1, "这个": 0, "這個": 0, "这": 0, "這": 0, "本": 0, "今": 0,
    "下个": 1, "下個": 1, "下": 1, "来": 1, "來": 1,
}  # fmt: skip
_SEASONS = "春夏秋冬"
_ANY = re.compile(
    rf"""
      (?P<feasted>(?:(?:(?P<fy>[12][0-9]{{3}})年|(?P<fyear>{"|".join(sorted(_YEARS, key=len, reverse=True))}))[的の]?)?
        (?P<feast>{"|".join(sorted(_FEASTS, key=len, reverse=True))}))
    | (?P<full>(?P<y>[12][0-9]{{3}})[年/.-]の?(?:(?P<ym>{_N})月(?:の?(?P<yd>{_N})[日号號])?|(?P<ys>[{_SEASONS}])[天季]?)?)
    | (?P<yearly>(?P<year>{"|".join(sorted(_YEARS, key=len, reverse=True))})[的の]?
        (?:(?P<m>{_N})月(?:の?(?P<d>{_N})[日号號])?|(?P<s>[{_SEASONS}])[天季]?)?)
    | (?P<counted>(?P<n>{_N})(?P<u>天|日|[个個]?星期|週間|周间|周|週|[个個かヶカヵ]月|年)
        (?:之|以)?(?P<side>前|后|後)(?![一年天]))
    | (?P<half>半年)(?:之|以)?(?P<half_side>前|后|後)
    | (?P<day>{"|".join(sorted(_DAYS, key=len, reverse=True))})
    | (?P<weekly>(?P<wt>{"|".join(sorted(_TURNS, key=len, reverse=True))})(?:周|週|星期|礼拜|禮拜)
        の?(?P<wd>[一二三四五六日天末]|[月火水木金土日]曜日?)?)
    | (?P<monthly>(?P<mt>{"|".join(sorted(_TURNS, key=len, reverse=True))})の?月(?:の?(?P<md>{_N})[日号號])?)
    | (?P<seasonal>(?:这个|這個|この|今)(?P<st>[{_SEASONS}])[天季]?)
    | (?:星期|周|週|礼拜|禮拜)(?P<zhday>[一二三四五六日天])(?![年月周週])
    | (?P<jaday>[月火水木金土日])曜日?
    | (?P<md_m>(?<![0-9０-９个個])(?:{_N}))月(?![球光亮饼餅経费])(?:の?(?P<md_d>{_N})[日号號])?
    """,
    re.VERBOSE,
)
_RANGE = re.compile(r"\s*(?:到|至|から|[-–—~〜～]|和|与|與|と)\s*")
_BEFORE = re.compile(r"\s*(?:之前|以前|よりも?前|の前|まで)")
_AFTER = re.compile(r"\s*(?:之后|之後|以后|以後|以来|以來|の後|から|起)")
_UNITS: Mapping[str, str] = {"天": "d", "日": "d", "年": "y"}


def han_marks(text: str) -> Iterator[Mark]:
    """The dates of a text in their order; two that a range word joins are one."""
    before: Mark | None = None
    for found in _ANY.finditer(text):
        what, values = _meant(found)
        if not what:
            continue
        mark = Mark(found.start(), found.end(), what, values, _relation(text, found.end()))
        if before is not None and _RANGE.fullmatch(text[before.end : mark.start]):
            pair = (before.what, before.values), (what, values)
            before = Mark(
                before.start, mark.end, "range", pair, _relation(text, mark.end) if text[mark.end :][:2] != "まで" else ""
            )
            continue
        if before is not None:
            yield before
        before = mark
    if before is not None:
        yield before


def _relation(text: str, end: int) -> str:
    if _BEFORE.match(text, end):
        return "until" if text.startswith("まで", end) else "before"
    return "since" if _AFTER.match(text, end) else ""


def _meant(found: re.Match[str]) -> tuple[str, tuple]:
    kind = next(name for name in _KINDS if found[name])
    return _KINDS[kind](found)


def _feasted(found: re.Match[str]) -> tuple[str, tuple]:
    year = int(found["fy"]) if found["fy"] else ("turn", _YEARS[found["fyear"]]) if found["fyear"] else None
    return "date", (year, *_FEASTS[found["feast"]])


def _full(found: re.Match[str]) -> tuple[str, tuple]:
    return _within(int(found["y"]), found["ym"], found["yd"], found["ys"])


def _yearly(found: re.Match[str]) -> tuple[str, tuple]:
    return _within(("turn", _YEARS[found["year"]]), found["m"], found["d"], found["s"])


def _within(year: object, month: str | None, day: str | None, season: str | None) -> tuple[str, tuple]:
    if season:
        return "season", (year, _SEASONS.index(season) + 1)
    return "date", (year, *([_count(month)] if month else ()), *([_count(day)] if day else ()))


def _counted(found: re.Match[str]) -> tuple[str, tuple]:
    unit = found["u"]
    code = _UNITS.get(unit, "m" if "月" in unit else "w")
    sign = -1 if found["side"] == "前" else 1
    return "ago", (sign * _count(found["n"]), code)


def _weekly(found: re.Match[str]) -> tuple[str, tuple]:
    turn, day = _TURNS[found["wt"]], found["wd"]
    if not day:
        return "turn", (turn, "unit", "w", 1)
    return ("turn", (turn, "unit", "e", 1)) if day == "末" else ("turn", (turn, "week", _weekday(day), 1))


def _monthly(found: re.Match[str]) -> tuple[str, tuple]:
    return "turn", (_TURNS[found["mt"]], "unit", "m", 1)


def _weekday(day: str) -> int:
    """From 1 for Monday: 月曜日, 一; Sunday is 日 or 天."""
    return ("月火水木金土日" if "曜" in day else "一二三四五六日").index("日" if day == "天" else day[0]) + 1


def _count(text: str) -> int:
    """12, １２, 十二, 二十五; "some" is three."""
    if text.isdecimal():
        return int(text)
    digits = (
        {sign: number for number, sign in enumerate("一二三四五六七八九", 1)}
        | dict.fromkeys("两兩", 2)
        | dict.fromkeys("几幾数數", 3)
    )
    tens, ten, ones = text.partition("十")
    return (digits.get(tens, 1) * 10 if ten else 0) + (digits.get(ones, 0) if ten else digits.get(text, 0))


_KINDS = {
    "feasted": _feasted, "full": _full, "yearly": _yearly, "counted": _counted, "weekly": _weekly, "monthly": _monthly,
    "half": lambda found: ("ago", (-6 if found["half_side"] == "前" else 6, "m")),
    "day": lambda found: ("day", (_DAYS[found["day"]],)),
    "seasonal": lambda found: ("season", (("turn", 0), _SEASONS.index(found["st"]) + 1)),
    "zhday": lambda found: ("weekday", (_weekday(found["zhday"]),)),
    "jaday": lambda found: ("weekday", (_weekday(found["jaday"] + "曜"),)),
    "md_m": lambda found: ("date", (None, _count(found["md_m"]), *([_count(found["md_d"])] if found["md_d"] else ()))),
}  # fmt: skip
