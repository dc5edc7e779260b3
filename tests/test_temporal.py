"""The temporal route, end to end: spans and events that a question names, in its own language, and no call without one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Memory
from recollect.settings import Settings
from recollect.temporal import event_of
from recollect.testing import FixedClock

ALONE = "recipe(routes=[temporal])"
BOTH = "recipe(routes=[lexical, temporal])"
TODAY = "2026-03-10T12:00Z"


def route(answer, name="temporal"):
    return next(one for one in answer.diagnostics.routes if one.route.name == name)


def texts(answer):
    return [hit.text for hit in answer]


# --- spans


SPRING = [
    "What did we plan last spring?", "Was haben wir letzten Frühling geplant?", "¿Qué planeamos la primavera pasada?",
    "Qu'avons-nous prévu au printemps dernier ?", "去年春天我们计划了什么？", "昨年の春に何を計画しましたか？",
    "Что мы планировали прошлой весной?",
]  # fmt: skip
SUMMER = [
    "What did we do last summer?", "Was war letzten Sommer?", "¿Qué hicimos el verano pasado?", "Qu'a-t-on fait l'été dernier ?",
    "去年夏天我们做了什么？", "去年の夏に何をしましたか？", "Что мы делали прошлым летом?",
]  # fmt: skip
EIGHTH_OF_MAY = [
    "Where was I on 8 May?", "Wo war ich am 8. Mai?", "¿Dónde estaba el 8 de mayo?", "Où étais-je le 8 mai ?", "5月8日我在哪里？",
    "5月8日はどこにいましたか？", "Где я был 8 мая?",
]  # fmt: skip
SINCE_CHRISTMAS = [
    "What have we decided since Christmas?", "Was haben wir seit Weihnachten beschlossen?", "¿Qué decidimos desde Navidad?",
    "Qu'a-t-on décidé depuis Noël ?", "圣诞节以来我们决定了什么？", "クリスマス以来何を決めましたか？",
    "Что мы решили с Рождества?",
]  # fmt: skip


@pytest.fixture
def year(open_memory):
    """A note a time of the year, and one of no time."""
    memory = open_memory(clock=FixedClock(TODAY))
    for day, text in (
        ("2025-04-20", "the garden"), ("2025-05-08", "the lake"), ("2025-07-11", "the mountains"), ("2025-11-02", "the library"),
        ("2026-02-01", "the kitchen"), ("ageless", "nowhere"),
    ):  # fmt: skip
        memory.remember(text, at=day)
    return memory


@pytest.mark.parametrize(("questions", "found"), [
    (SPRING, {"the garden", "the lake"}), (SUMMER, {"the mountains"}), (EIGHTH_OF_MAY, {"the lake"}),
    (SINCE_CHRISTMAS, {"the kitchen"}),
], ids=["spring", "summer", "eighth of May", "since Christmas"])  # fmt: skip
def test_seven_languages_name_the_same_span(questions, found, year):
    for question in questions:
        answer = year.recall(question, recipe=ALONE)
        assert set(texts(answer)) == found, question


@pytest.mark.parametrize(("question", "found"), [
    ("What was it last year in autumn?", ["the library"]), ("what happened between April and July 2025", None),
    ("What did we do in 2025, in July?", ["the mountains"]),
])  # fmt: skip
def test_of_a_span_within_another_the_inner_one_counts(question, found, year):
    answer = year.recall(question, recipe=ALONE)
    assert texts(answer) == found if found else {"the garden", "the lake", "the mountains"} == set(texts(answer))


def test_the_weekend_is_the_last_one_or_the_next(open_memory):
    memory = open_memory(clock=FixedClock(TODAY))  # a Tuesday
    for day in ("2026-02-28", "2026-03-07", "2026-03-14"):
        memory.remember(day, at=day)
    assert texts(memory.recall("What did we do over the weekend?", recipe=ALONE)) == ["2026-03-07"]
    assert texts(memory.recall("Was war am Wochenende?", recipe=ALONE)) == ["2026-03-07"]
    assert texts(memory.recall("What will we do over the weekend?", recipe=ALONE)) == ["2026-03-14"]


def test_as_of_moves_what_last_means(year):
    assert texts(year.recall("last spring", recipe=ALONE, as_of="2025-03-01")) == []
    assert set(texts(year.recall("this spring", recipe=ALONE))) == set()


def test_what_the_words_find_comes_first_within_the_span(open_memory):
    memory = open_memory(clock=FixedClock(TODAY))
    for number in range(5):
        memory.remember(f"A walk by the lake, number {number}.", at=f"2025-04-0{number + 1}")
    memory.remember("We plan the wedding in Goa.", at="2025-03-02")
    memory.remember("We plan the wedding in Rome.", at="2024-03-02")
    answer = memory.recall("Which wedding did we plan last spring?", recipe=ALONE)
    assert answer[0].text == "We plan the wedding in Goa." and len(answer) == 6
    assert route(answer).scores[0] == 1.0 and set(route(answer).scores[1:]) == {0.5}
    assert "2025-03-01 to 2025-05-31 (last spring)" in route(answer).reason


# --- event time


def test_event_time_goes_before_the_time_it_was_told(open_memory):
    memory = open_memory(clock=FixedClock(TODAY))
    memory.remember("The trip to Rome, told later.", at="2025-11-05", dates=[("2025-04-10", "2025-04-17")])
    memory.remember("Told in spring of something else.", at="2025-04-12", dates=[("2023-01-01", "2023-01-02")])
    answer = memory.recall("What did we do last spring?", recipe=ALONE)
    assert [hit.text[:8] for hit in answer] == ["The trip", "Told in "] and route(answer).scores == [0.5, 0.25]


def test_dates_in_messages_are_event_time(open_memory):
    """Given by the caller, or read from the text: what a turn speaks of is found by when that was."""
    memory = open_memory(clock=FixedClock(TODAY))
    memory.remember_messages([{"role": "user", "content": "Told of in November.", "at": "2025-11-05"}], session="s1")
    turn = memory.list(roles=["turn"])[0]
    memory.amend(turn, dates=[("2025-04-10", "2025-04-11")])
    assert [hit.id for hit in memory.recall("last spring", recipe=ALONE)] == [turn.id]


# --- events


WEDDING = [
    ("What did I buy before the wedding?", "The wedding is on 5 June 2025."),
    ("What did I buy before my wedding with Ana?", "The wedding is on 5 June 2025."),
    ("Was habe ich vor der Hochzeit gekauft?", "Die Hochzeit ist am 5. Juni 2025."),
    ("¿Qué compré antes de la boda?", "La boda es el 5 de junio de 2025."),
    ("Qu'ai-je acheté avant le mariage ?", "Le mariage est le 5 juin 2025."), ("婚礼之前我买了什么？", "婚礼是2025年6月5日。"),
    ("我在婚礼前买了什么？", "婚礼是2025年6月5日。"), ("結婚式の前に何を買いましたか？", "結婚式は2025年6月5日です。"),
    ("Что я купил до свадьбы?", "Свадьба 5 июня 2025 года."),
]  # fmt: skip


@pytest.mark.parametrize(("question", "told"), WEDDING)
def test_an_event_is_dated_by_what_is_remembered(question, told, open_memory):
    memory = open_memory(clock=FixedClock(TODAY))
    memory.remember(told, at="2025-01-01", id="told", dates=[("2025-06-05", "2025-06-06")])
    memory.remember("a ring", at="2025-05-20")
    memory.remember("a flat", at="2025-08-20")
    memory.remember("a note that speaks of the day after", at="2025-08-20", dates=[("2025-06-07", "2025-06-08")])
    answer = memory.recall(question, recipe=ALONE)
    assert "a ring" in texts(answer) and "a flat" not in texts(answer)
    assert "says record told" in route(answer).reason


def test_what_somebody_did_is_an_event_too(open_memory):
    memory = open_memory(clock=FixedClock(TODAY))
    memory.remember("I moved to Goa in June.", at="2025-06-30", dates=[("2025-06-01", "2025-07-01")])
    memory.remember("a bicycle", at="2025-09-01")
    memory.remember("a tent", at="2025-02-01")
    assert "a bicycle" in texts(memory.recall("What did I buy after I moved to Goa?", recipe=ALONE))
    assert texts(memory.recall("What did I buy before I moved to Goa?", recipe=ALONE)) == ["a tent"]


def test_a_record_that_is_the_event_dates_it(open_memory):
    memory = open_memory(clock=FixedClock(TODAY))
    memory.remember("Priya's birthday party", kind="event", at="2025-09-09T18:00Z")
    memory.remember("cake", at="2025-09-09T20:00Z")
    memory.remember("bread", at="2025-09-10T08:00Z")
    assert "cake" in texts(memory.recall("What did we eat during Priya's birthday party?", recipe=ALONE))
    assert texts(memory.recall("What did we eat after Priya's birthday party?", recipe=ALONE)) == ["bread"]


def test_an_event_nobody_has_dated_says_so(open_memory):
    memory = open_memory(clock=FixedClock(TODAY))
    memory.remember("The wedding was lovely.")
    answer = memory.recall("What did I buy before the wedding?", recipe=BOTH)
    assert route(answer).status == "skipped" and route(answer).reason == "nothing remembered says when 'the wedding' was"
    assert texts(answer) == ["The wedding was lovely."], "the other routes answer"


@pytest.mark.parametrize(("question", "event"), [
    ("What did I do before the party that Priya gave?", "the party"), ("我们以前住在哪里？", "我们"),
    ("Where do I go after?", None),
    ("Ask me before you buy.", None), ("What did I eat?", None), ("以前", None),
])  # fmt: skip
def test_names_of_events(question, event, open_memory):
    found = event_of(question)
    assert (found.name.startswith(event) if found else None) == (True if event else None)


def test_words_that_name_nothing_date_nothing(open_memory):
    memory = open_memory(clock=FixedClock(TODAY))
    memory.remember("我们去年结婚了。", dates=[("2025-01-01", "2026-01-01")])
    memory.remember("My exam is in May, after the trip.", dates=[("2026-05-01", "2026-06-01")])
    for question in ("我们以前住在哪里？", "What did I do after my qualification?"):
        assert "nothing remembered says when" in route(memory.recall(question, recipe=ALONE)).reason


# --- no span, no call


NO_SPAN = [
    "Where do Priya's parents live?", "Wo wohnen Priyas Eltern?", "¿Dónde viven los padres de Priya?",
    "Où habitent ses parents ?", "普里亚的父母住在哪里？", "プリヤの両親はどこに住んでいますか？", "Где живут её родители?",
    "What may I eat?", "Who is April?", "",
]  # fmt: skip


@pytest.mark.parametrize("question", NO_SPAN)
def test_a_question_with_no_span_never_runs_it(question, open_memory, monkeypatch):
    memory = open_memory(clock=FixedClock(TODAY))
    memory.remember("Priya's parents live in Goa.")
    asked = []
    monkeypatch.setattr(memory.store.temporal, "within", lambda *given: asked.append(given))
    monkeypatch.setattr(memory.store.lexical, "words", lambda *given: asked.append(given))
    answer = memory.recall(question, recipe=ALONE)
    assert route(answer).status == "skipped" and route(answer).reason == "the question names no span of time"
    assert not asked, "nothing is asked of the store"


def test_with_and_without_the_route_a_question_without_a_span_is_answered_the_same(open_memory):
    memory = open_memory(clock=FixedClock(TODAY))
    memory.remember_many([f"Priya's parents live in house number {number}." for number in range(20)])
    for question in NO_SPAN[:1]:
        with_it, without = (memory.recall(question, recipe=recipe) for recipe in (BOTH, "recipe(routes=[lexical])"))
        assert [(hit.id, hit.score) for hit in with_it] == [(hit.id, hit.score) for hit in without]


# --- both stores


DAYS = st.sampled_from(["2025-03-01", "2025-04-15", "2025-06-05", "2025-12-25", "2026-03-09", None])
NOTES = st.lists(st.tuples(st.sampled_from(["the wedding", "a ring", "a walk", "планы", "婚礼"]), DAYS, DAYS), max_size=12)
QUESTIONS = st.sampled_from([
    *SPRING, *SINCE_CHRISTMAS, "What did I buy before the wedding?", "婚礼之前", "yesterday", "a walk after the wedding",
])  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(NOTES, QUESTIONS)
def test_both_stores_answer_alike(notes, question):
    told = []
    for url in ("memory:", "sqlite:///:memory:"):
        with Memory.open(url, owner="alice", embedder="none", clock=FixedClock(TODAY), settings=Settings()) as memory:
            for number, (text, at, day) in enumerate(notes):
                dates = [(day, f"{day[:8]}28")] if day and day[8:] < "28" else []
                memory.remember(text, id=f"n{number}", at=at or "ageless", dates=dates)
            answer = memory.recall(question, recipe=BOTH)
            told.append(([(hit.id, hit.score) for hit in answer], route(answer).status, route(answer).reason))
    assert told[0] == told[1]
