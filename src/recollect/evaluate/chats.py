"""LoCoMo and LongMemEval in the JSON their makers publish, as a set.

- LoCoMo (Maharana and others, ACL 2024): two people's chats. Every turn is a record, the caption of a shared photo after its
  text; a conversation is a scope; what a question should find are its evidence turns. Its five categories are numbered in the
  file and named here.
- LongMemEval (Wu and others, ICLR 2025): every question has its own haystack of sessions, which is its scope. What should be
  found are the turns marked `has_answer`; a question about what was never said (`…_abs`) has no answer to find and is left out.

`whole`: whole sessions are the records, as LongMemEval's paper measures first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import InvalidDataset
from .datasets import Dataset, Item, Question, digest_of, made, moment_of

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):0*(\d+)")  # "D8:6; D9:17", "D:11:26" and "D30:05" are all there
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SAID = re.compile(r"(\d{1,2}):(\d\d)\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})", re.IGNORECASE)  # 1:56 pm on 8 May, 2023
Found = tuple[list[Item], list[Question], dict[str, dict[str, float]]]


def read_chats(path: Path, whole: bool = False) -> Dataset:
    """The set in one JSON file."""
    try:
        samples = json.loads(path.read_bytes())
    except ValueError as error:
        raise InvalidDataset(f"{path}: this is no JSON: {error}.") from None
    samples = samples if isinstance(samples, list) else [samples]
    first = samples[0] if samples and isinstance(samples[0], dict) else {}
    read = _locomo if "conversation" in first else _longmemeval if "haystack_sessions" in first else None
    if read is None:
        raise InvalidDataset(
            f"{path} is neither LoCoMo's nor LongMemEval's JSON.",
            hint="Those are lists of tables with `conversation` and `qa`, or with `question` and `haystack_sessions`.",
        )
    found: Found = ([], [], {})
    for number, sample in enumerate(samples):
        try:
            read(sample, number, found)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            if isinstance(error, InvalidDataset):
                raise
            raise InvalidDataset(f"{path}: sample {number}: {type(error).__name__}: {error}.") from None
    items, questions, grades = _by_session(found) if whole else found
    return made(path.stem, items, questions, grades, digest_of(path))


def _locomo(sample: Mapping[str, Any], number: int, found: Found) -> None:
    items, questions, grades = found
    scope, chat = str(sample.get("sample_id", number)), sample["conversation"]
    there: dict[str, Item] = {}
    for session, turns in _sessions(chat):
        at = moment_said(chat.get(f"{session}_date_time"))
        for turn, said in enumerate(turns):
            caption = said.get("blip_caption")
            text = " ".join(filter(None, [said.get("text", ""), f"[shares a photo: {caption}]" if caption else ""]))
            if text.strip():
                item = Item(id=f"{scope}:{said['dia_id']}", text=text, scope=scope, session=f"{scope}:{session}", turn=turn,
                            speaker=said.get("speaker"), at=at)  # fmt: skip
                there[item.id] = item
    items += there.values()
    latest = max((item.at for item in there.values() if item.at is not None), default=None)
    for place, asked in enumerate(sample["qa"]):
        question = Question(id=f"{scope}:q{place}", text=str(asked["question"]), scope=scope, at=latest,
                            category=CATEGORIES.get(asked.get("category"), str(asked.get("category", ""))))  # fmt: skip
        questions.append(question)
        evidence = " ".join(map(str, asked.get("evidence") or ()))
        named = [f"{scope}:D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(evidence)]
        grades[question.id] = {id: 1.0 for id in named if id in there}


def _sessions(chat: Mapping[str, Any]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    names = [name for name in chat if _SESSION.fullmatch(name) and isinstance(chat[name], list)]
    for name in sorted(names, key=lambda name: int(name[8:])):
        yield name, chat[name]


def _longmemeval(sample: Mapping[str, Any], number: int, found: Found) -> None:
    items, questions, grades = found
    scope = str(sample["question_id"])
    sessions, dates = sample["haystack_sessions"], sample.get("haystack_dates") or []
    names = sample.get("haystack_session_ids") or [f"session-{place}" for place in range(len(sessions))]
    marked, answering = {}, set(map(str, sample.get("answer_session_ids") or ()))
    in_answering = {}
    for place, (name, turns) in enumerate(zip(names, sessions, strict=True)):
        at = moment_said(dates[place] if place < len(dates) else None)
        for turn, said in enumerate(turns):
            if not str(said.get("content") or "").strip():
                continue
            item = Item(id=f"{scope}:{place}:{turn}", text=said["content"], scope=scope, session=f"{scope}:{place}:{name}",
                        turn=turn, speaker=said.get("role"), at=at)  # fmt: skip
            items.append(item)
            if said.get("has_answer"):
                marked[item.id] = 1.0
            if str(name) in answering:
                in_answering[item.id] = 1.0
    question = Question(id=scope, text=str(sample["question"]), scope=scope, category=str(sample.get("question_type", "")),
                        at=moment_said(sample.get("question_date"), last=True))  # fmt: skip
    questions.append(question)
    grades[scope] = {} if scope.endswith("_abs") else marked or in_answering


def _by_session(found: Found) -> Found:
    """Whole sessions instead of turns; one is relevant if one of its turns is."""
    items, questions, grades = found
    turns: dict[str, list[Item]] = {}
    for item in items:
        turns.setdefault(item.session or item.id, []).append(item)
    home = {item.id: session for session, inside in turns.items() for item in inside}
    whole = [
        Item(id=session, text="\n".join(f"{item.speaker}: {item.text}" if item.speaker else item.text for item in inside),
             scope=inside[0].scope, session=session, at=inside[0].at)
        for session, inside in turns.items()
    ]  # fmt: skip
    raised: dict[str, dict[str, float]] = {}
    for question, graded in grades.items():
        for id, grade in graded.items():
            best = raised.setdefault(question, {})
            best[home[id]] = max(grade, best.get(home[id], 0.0))
    return whole, questions, raised


def moment_said(text: Any, *, last: bool = False) -> int | None:
    """A time as LoCoMo writes it, or as any set does."""
    said = _SAID.search(str(text or ""))
    if said:
        hour, minute, half, day, month, year = said.groups()
        clock = int(hour) % 12 + 12 * (half.lower() == "p")
        when = datetime(int(year), _MONTHS.index(month[:3].lower()) + 1, int(day), clock, int(minute), tzinfo=UTC)
        return moment_of("date_time", when)
    return moment_of("date", text, last=last)
