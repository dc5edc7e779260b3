"""Dates in text: what is one, what is none, and which days it means, language by language."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.dates import asked, dates_in, likely

THURSDAY = datetime(2023, 6, 15, 12, tzinfo=UTC)

# A text said on Thursday, 15 June 2023 and the days it speaks of: one, or the first and the last.
SAID = """
en | We met on 8 May 2023 in Goa | 2023-05-08
en | May 8, 2023 was a Monday for us | 2023-05-08
en | The review is due 2023-07-01. | 2023-07-01
en | the first of May | 2023-05-01
en | She was born on March 3rd, 1990 | 1990-03-03
en | On May 8 I went home | 2023-05-08
en | I saw her two weeks ago | 2023-05-29 2023-06-04
en | a couple of days ago we talked | 2023-06-13
en | He came last Friday | 2023-06-09
en | see you next Friday | 2023-06-16
en | I will see her on Friday | 2023-06-16
en | I saw her on Friday | 2023-06-09
en | on Wednesday next week | 2023-06-21
en | We went in March | 2023-03-01 2023-03-31
en | We will go in March | 2024-03-01 2024-03-31
en | We're flying to Rome in March | 2024-03-01 2024-03-31
en | I was visiting Rome in March | 2023-03-01 2023-03-31
en | last week on Tuesday | 2023-06-06
de | letzte Woche am Dienstag war es kalt und es regnete | 2023-06-06
es | la semana pasada el martes fuimos a la playa | 2023-06-06
en | in the first week of October 2022 | 2022-10-01 2022-10-07
en | What did we sell in Q3 2022? | 2022-07-01 2022-09-30
zh | 半年前我住在这里 | 2022-12-01 2022-12-31
en | in May last year | 2022-05-01 2022-05-31
en | last summer | 2022-06-01 2022-08-31
en | What did we plan last spring? | 2023-03-01 2023-05-31
en | the winter of 2021 | 2021-12-01 2022-02-28
en | yesterday | 2023-06-14
en | the day before yesterday | 2023-06-13
en | last night was amazing | 2023-06-14
en | We moved here in 2016. | 2016-01-01 2016-12-31
en | Last month was hard | 2023-05-01 2023-05-31
en | the weekend before June 9, 2023 | 2023-06-03 2023-06-04
en | the week before 9 June 2023 | 2023-06-02 2023-06-08
en | two days after Christmas 2022 | 2022-12-27
en | at Christmas last year | 2022-12-25
en | from 5 to 8 May | 2023-05-05 2023-05-08
en | 5-8 May 2023 | 2023-05-05 2023-05-08
en | between May and July 2023 | 2023-05-01 2023-07-31
en | from November 2022 to February 2023 | 2022-11-01 2023-02-28
en | this weekend | 2023-06-17 2023-06-18
en | the past three days | 2023-06-12 2023-06-15
en | a year ago | 2022-01-01 2022-12-31
de | Wir waren letzten Sommer in Goa | 2022-06-01 2022-08-31
de | Ich habe sie vorgestern gesehen | 2023-06-13
de | Am 8. Mai 2023 haben wir geheiratet | 2023-05-08
de | Das war vor drei Tagen | 2023-06-12
de | vor zwei Wochen | 2023-05-29 2023-06-04
de | Wir fahren nächste Woche nach Berlin | 2023-06-19 2023-06-25
de | Im März waren wir in Wien | 2023-03-01 2023-03-31
de | morgen fahren wir nach Hause | 2023-06-16
de | zwischen Mai und Juli 2023 | 2023-05-01 2023-07-31
de | am letzten Freitag | 2023-06-09
de | im Sommer 2021 | 2021-06-01 2021-08-31
es | El verano pasado fuimos a la playa | 2022-06-01 2022-08-31
es | Nos vimos ayer por la tarde | 2023-06-14
es | Nos casamos el 8 de mayo de 2023 | 2023-05-08
es | hace dos semanas | 2023-05-29 2023-06-04
es | La semana que viene voy a Madrid | 2023-06-19 2023-06-25
es | entre mayo y julio de 2023 | 2023-05-01 2023-07-31
es | mañana iremos al cine | 2023-06-16
es | el año pasado | 2022-01-01 2022-12-31
es | Estuvimos allí en marzo | 2023-03-01 2023-03-31
fr | L'été dernier nous étions à la mer | 2022-06-01 2022-08-31
fr | Hier nous avons mangé ensemble | 2023-06-14
fr | Avant-hier j'ai vu Marie | 2023-06-13
fr | il y a deux semaines | 2023-05-29 2023-06-04
fr | Le mariage était le 8 mai 2023 | 2023-05-08
fr | la semaine dernière | 2023-06-05 2023-06-11
fr | entre mai et juillet 2023 | 2023-05-01 2023-07-31
fr | Nous y étions en mars | 2023-03-01 2023-03-31
ru | Прошлым летом мы были на море | 2022-06-01 2022-08-31
ru | Мы виделись позавчера | 2023-06-13
ru | две недели назад | 2023-05-29 2023-06-04
ru | неделю назад | 2023-06-05 2023-06-11
ru | Свадьба была 8 мая 2023 года | 2023-05-08
ru | в прошлую пятницу | 2023-06-09
ru | летом 2022 года | 2022-06-01 2022-08-31
ru | между маем и июлем 2023 | 2023-05-01 2023-07-31
zh | 去年夏天我们去了北京 | 2022-06-01 2022-08-31
zh | 我昨天见了她 | 2023-06-14
zh | 三天前 | 2023-06-12
zh | 两个月前搬的家 | 2023-04-01 2023-04-30
zh | 上周五开会 | 2023-06-09
zh | 2023年5月8日 | 2023-05-08
zh | 从五月到七月 | 2023-05-01 2023-07-31
zh | 下个月去上海 | 2023-07-01 2023-07-31
ja | 去年の夏は京都に行きました | 2022-06-01 2022-08-31
ja | 先週の金曜日に会いました | 2023-06-09
ja | 3日前 | 2023-06-12
ja | 来月引っ越します | 2023-07-01 2023-07-31
ja | 昨日は雨でした | 2023-06-14
ja | 5月から7月まで | 2023-05-01 2023-07-31
"""

NO_DATES = """
I may go, and I may not.
The sun is up; may we march?
She sat on the sofa for a second coffee
the second march of the penguins
April said hi to June and May
My version 3.10 runs 5 tests on 12 cores
We were 3. May I ask why?
I fall asleep in the sun
every Monday I swim
It takes two weeks
one day I will, I swear
the last time I saw Paris
a second ago it was fine
I have 2 cats and 31 books
Guten Morgen, wie geht es dir hier
Ich bin hier und das ist so schön
Por la mañana tomo café
Tengo un mar de dudas
La mer est belle, on y va un jour
J'ai un an de plus que lui
Мне это нравится
月亮很圆
日本の本が好きです
30 February 2023
on 0000-00-00 and 99999-01-01
in the year 99999, 99999 years ago
room 2023b, order 12.05.20231
http://example.com/2023x/05
"""


def rows(table: str) -> list[str]:
    return table.strip().splitlines()


def days(spans) -> list[str]:
    """First and last day of each span, one of them if they are the same."""
    told = []
    for span in spans:
        first, last = span.start.date(), (span.end - timedelta(days=1)).date()
        told.append(str(first) if first == last else f"{first} {last}")
    return told


@pytest.mark.parametrize("row", rows(SAID))
def test_a_date_means_these_days(row):
    _, text, meant = (part.strip() for part in row.split("|"))
    assert days(dates_in(text, THURSDAY)) == [meant]


@pytest.mark.parametrize("text", rows(NO_DATES))
def test_what_is_no_date(text):
    assert dates_in(text, THURSDAY) == ()


def test_a_span_says_what_it_was_called():
    assert [span.text for span in dates_in("We met in March and again on 8 May 2023.", THURSDAY)] == ["in March", "8 May 2023"]


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("What has happened since March?", "2023-03-01 9999-12-30"),
        ("What did I say before 8 May 2023?", "0001-01-01 2023-05-07"),
        ("What did I say after June 2022?", "2022-07-01 9999-12-30"),
        ("until last Friday", "0001-01-01 2023-06-09"),
        ("Was habe ich seit März gelernt?", "2023-03-01 9999-12-30"),
        ("去年5月以来", "2022-05-01 9999-12-30"),
        ("What will I do on Friday?", "2023-06-16"),
        ("What did we plan for Friday?", "2023-06-09"),
        ("Where are we going in March?", "2024-03-01 2024-03-31"),
    ],
)
def test_a_question_may_leave_a_span_open(question, meant):
    assert days(asked(question, THURSDAY)) == [meant]


@pytest.mark.parametrize(
    "question",
    [
        "What may I eat?",
        "Where do Priya's parents live?",
        "When is the wedding?",
        "Who is May?",
        "How long is a week?",
        "我喜欢什么？",
    ],
)
def test_a_question_without_a_span(question):
    assert asked(question, THURSDAY) == ()


def test_without_a_moment_only_what_needs_none_is_resolved():
    assert days(dates_in("Yesterday, last week, in March, and on 8 May 2023 or in summer of 2021", None)) == [
        "2023-05-08", "2021-06-01 2021-08-31",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "at", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC), datetime(2024, 2, 29, tzinfo=UTC)]
)
def test_the_ends_of_the_calendar_are_harmless(at):
    for row in rows(SAID):
        text = row.split("|")[1]
        assert all(span.start < span.end for span in (*dates_in(text, at), *asked(text, at)))


def test_a_leap_day_is_one():
    assert days(dates_in("on 29 February", THURSDAY)) == ["2024-02-29"]
    assert dates_in("on 29 February 2023", THURSDAY) == ()


WORDS = st.sampled_from([word for row in rows(SAID) for word in row.split("|")[1].split()] + rows(NO_DATES))


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=12).map(" ".join)), st.datetimes(timezones=st.just(UTC)))
def test_any_text_is_harmless_and_read_the_same_twice(text, at):
    found = dates_in(text, at)
    assert found == dates_in(text, at)
    assert all(span.start < span.end and span.text in text and likely(text) for span in found)
    assert all(span.start < span.end for span in asked(text, at))


def test_a_long_text_has_so_many_dates_and_no_more():
    assert len(dates_in("yesterday " * 50 + "".join(f"on {day} May 2023. " for day in range(1, 32)) * 90, THURSDAY)) == 32
