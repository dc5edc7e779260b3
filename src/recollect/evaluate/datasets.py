"""Evaluation data as values: records, questions with their graded answers, and when each record began to exist.

`read_all` takes what people have on disk: a folder with corpus.jsonl, queries.jsonl and qrels.tsv; a BEIR folder (the same with
`_id` and qrels/test.tsv); LoCoMo's or LongMemEval's own JSON (`chats`); or a folder of any of these. A line that can't be
used is an error that names its file and number: a question that silently lost its answer would count as a failure of whatever
is measured. Nothing here is ever copied or kept.

A scope is somebody whose memory is searched: a question is answered from records of its own scope only. A question's cut-off,
`max_seq` or else the time it was asked, hides every record that came later: those do not exist yet.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InvalidDataset, InvalidRecord
from ..records import EMPTY, micros

DAY = 86_400_000_000
# Days as data sets write them, with weekday and time or without: 2023/05/30 (Tue) 23:40, 2024年04月01日 周一 08:12.
_DATED = re.compile(r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?(?:\s+\(?[^\W\d]+\)?)?(?:\s+(\d{1,2}:\d\d))?")
CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"
QRELS = ("qrels.tsv", "qrels/test.tsv", "qrels/dev.tsv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One record to remember. `at` is microseconds; `seq` its place in the order of arrival, where the data has one."""

    id: str
    text: str
    scope: str = ""
    session: str | None = None
    turn: int | None = None
    speaker: str | None = None
    at: int | None = None
    seq: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question, and what it should find: id → grade, above 0. `text` is what is asked, preceding turns and all."""

    id: str
    text: str
    grades: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    scope: str = ""
    category: str = ""
    at: int | None = None
    max_seq: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A set: its records and its questions, in the order of the files. `digest` tells whether two runs saw the same data."""

    name: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]
    digest: str
    notes: tuple[str, ...] = ()

    def without(self, categories: Sequence[str]) -> Dataset:
        """The same without the questions of these categories."""
        kept = tuple(question for question in self.questions if question.category not in categories)
        gone = len(self.questions) - len(kept)
        notes = (*self.notes, f"{gone} questions of {', '.join(categories)} left out") if gone else self.notes
        return dataclasses.replace(self, questions=kept, notes=notes)


class Step(NamedTuple):
    """A question, and the records that came to exist since the question before it in the same world."""

    world: str
    question: Question
    arriving: Sequence[Item]


def read_all(paths: Sequence[str | Path], *, whole: bool = False) -> list[Dataset]:
    """Every set that these paths hold, in order; sets of one name are told apart by their folders. `whole`: see `chats`."""
    from .chats import read_chats

    homes = [home for path in paths for home in _homes(Path(path))]
    found = [read_chats(home, whole) if home.is_file() else read_folder(home) for home in homes]
    names = [one.name for one in found]
    return [
        one if names.count(one.name) == 1 else dataclasses.replace(one, name=f"{home.resolve().parent.name}/{one.name}")
        for one, home in zip(found, homes, strict=True)
    ]


def steps(dataset: Dataset) -> Iterator[Step]:
    """The questions in an order in which the world only ever grows. A world is a scope, seen by one kind of cut-off."""
    items: dict[str, list[Item]] = {}
    for item in dataset.items:
        items.setdefault(item.scope, []).append(item)
    worlds: dict[tuple[str, str], list[Question]] = {}
    for question in dataset.questions:
        worlds.setdefault((question.scope, _cut(question)), []).append(question)
    for (scope, cut), questions in worlds.items():
        yield from _grown(f"{scope}\n{cut}", items.get(scope, []), questions, cut)


def exists(item: Item, question: Question) -> bool:
    """Whether a record is there when the question is asked."""
    if question.max_seq is not None:
        return item.seq is None or item.seq <= question.max_seq
    return question.at is None or item.at is None or item.at <= question.at


def _cut(question: Question) -> str:
    return "seq" if question.max_seq is not None else "time" if question.at is not None else ""


def _grown(world: str, items: list[Item], questions: list[Question], cut: str) -> Iterator[Step]:
    until = {"seq": lambda q: q.max_seq, "time": lambda q: q.at, "": lambda q: 0}[cut]
    waiting = items
    for question in sorted(questions, key=until):
        arriving = [item for item in waiting if exists(item, question)]
        if arriving:
            waiting = [item for item in waiting if not exists(item, question)]
        yield Step(world, question, arriving)


# Reading


def _homes(path: Path) -> list[Path]:
    """The sets a path holds: itself, or those of a folder of sets."""
    if not path.exists():
        raise InvalidDataset(f"There is no {path}.", hint="Name a folder with corpus.jsonl, queries.jsonl and qrels.tsv.")
    if path.is_file() or (path / CORPUS).exists():
        return [path]
    inside = sorted(one for one in path.iterdir() if (one / CORPUS).exists() or (one.is_file() and one.suffix == ".json"))
    if not inside:
        raise InvalidDataset(
            f"{path} has no {CORPUS}, and no folder in it has one.",
            hint="A set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv, BEIR's, or LoCoMo's or LongMemEval's JSON.",
        )
    return inside


def read_folder(folder: Path) -> Dataset:
    """corpus.jsonl, queries.jsonl and qrels.tsv, as plain folders and BEIR's have them."""
    grades_file = next((folder / name for name in QRELS if (folder / name).exists()), None)
    if grades_file is None or not (folder / QUERIES).exists():
        missing = QUERIES if grades_file is not None else "qrels.tsv"
        raise InvalidDataset(f"{folder} has no {missing}.", hint="BEIR folders have qrels/test.tsv instead of qrels.tsv.")
    items = [_item(where, line) for where, line in _lines(folder / CORPUS)]
    asked = [_question(where, line) for where, line in _lines(folder / QUERIES)]
    _distinct(folder / CORPUS, [item.id for item in items])
    _distinct(folder / QUERIES, [question.id for question in asked])
    grades = _grades(grades_file, {item.id: item for item in items}, {question.id: question for question in asked})
    return made(folder.resolve().name, items, asked, grades, _digest(folder / CORPUS, folder / QUERIES, grades_file))


def made(
    name: str, items: Sequence[Item], questions: Sequence[Question], grades: Mapping[str, Mapping[str, float]], digest: str
) -> Dataset:
    """A set of the questions that have an answer, and of the records that have a text.

    A question without an answer says nothing. A record without a text can't be remembered, and where it is an answer (some public
    sets have such) it is one that nobody finds.
    """
    answered = tuple(
        dataclasses.replace(question, grades=dict(grades[question.id])) for question in questions if grades.get(question.id)
    )
    if not answered:
        raise InvalidDataset(f"{name}: no question has a graded answer.", hint="See qrels: question id, record id, grade.")
    scopes = {item.scope for item in items}
    lost = next((question for question in answered if question.scope not in scopes), None)
    if lost is not None:
        raise InvalidDataset(f"{name}: question {lost.id!r:.80} asks scope {lost.scope!r:.80}, which has no record.")
    said = tuple(item for item in items if item.text.strip())
    left = {"questions without an answer": len(questions) - len(answered), "records without a text": len(items) - len(said)}
    notes = tuple(f"{count:,} {what} left out" for what, count in left.items() if count)
    return Dataset(name=name, items=said, questions=answered, digest=digest, notes=notes)


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where a line stands, and the table it holds."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                table = json.loads(line)
            except ValueError as error:
                raise InvalidDataset(f"{path}:{number}: this is no JSON: {error}.") from None
            if not isinstance(table, dict):
                raise InvalidDataset(f"{path}:{number}: this is no table but {type(table).__name__}.")
            yield f"{path}:{number}", table


def _item(where: str, line: Mapping[str, Any]) -> Item:
    title, text = line.get("title") or "", _text(where, line, "text", empty="text" in line)
    return Item(
        id=_id(where, line), text=f"{title}\n{text}".strip() if title and title != text else text,
        scope=str(line.get("scope") or ""), session=_word(line, "session_id"), turn=_number(where, line, "turn"),
        speaker=_word(line, "speaker"), at=moment_of(where, line.get("timestamp")), seq=_number(where, line, "seq"),
    )  # fmt: skip


def _question(where: str, line: Mapping[str, Any]) -> Question:
    text, context = _text(where, line, "text"), line.get("context") or ""
    return Question(
        id=_id(where, line), text=with_context(text, context), scope=str(line.get("scope") or ""),
        category=str(line.get("category") or ""), at=moment_of(where, line.get("timestamp"), last=True),
        max_seq=_number(where, line, "max_seq"),
    )  # fmt: skip


def with_context(text: str, context: str | Sequence[str]) -> str:
    """What is asked: the preceding turns, where the data gives them, then the question."""
    before = context if isinstance(context, str) else "\n".join(map(str, context))
    return f"{before}\n{text}" if before else text


def _grades(path: Path, items: Mapping[str, Item], questions: Mapping[str, Question]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        where, cells = f"{path}:{number}", line.split("\t") if "\t" in line else line.split()
        if number == 1 and cells[-1].strip().lower() in ("score", "grade", "relevance"):
            continue
        if len(cells) == 4:  # TREC's form: question, iteration, record, grade
            cells = [cells[0], cells[2], cells[3]]
        if len(cells) != 3:
            raise InvalidDataset(f"{where}: {len(cells)} cells.", hint="A line is: question id, tab, record id, tab, grade.")
        question, item, grade = cells[0], cells[1], _grade(where, cells[2])
        if question not in questions:
            raise InvalidDataset(f"{where}: there is no question {question!r:.80}.")
        if item not in items:
            raise InvalidDataset(f"{where}: there is no record {item!r:.80}.")
        if items[item].scope != questions[question].scope:
            raise InvalidDataset(f"{where}: record {item!r:.80} is of another scope than question {question!r:.80}.")
        if grade > 0:
            found.setdefault(question, {})[item] = grade
    return found


def _grade(where: str, cell: str) -> float:
    try:
        grade = float(cell)
    except ValueError:
        grade = float("nan")
    if not abs(grade) < 1e6:
        raise InvalidDataset(f"{where}: {cell!r:.40} is not a grade.", hint="Write 0 for irrelevant, 1 and more for relevant.")
    return grade


def _id(where: str, line: Mapping[str, Any]) -> str:
    name = line.get("id", line.get("_id"))
    if not isinstance(name, (str, int)) or name == "":
        raise InvalidDataset(f"{where}: there is no id.", hint='Write {"id": "…", "text": "…"}.')
    return str(name)


def _text(where: str, line: Mapping[str, Any], name: str, empty: bool = False) -> str:
    text = line.get(name, "")
    if not isinstance(text, str) or not (text.strip() or empty):
        raise InvalidDataset(f"{where}: {name} is {'empty' if text == '' else f'{text!r:.40}'}.", hint="It must be text.")
    return text


def _word(line: Mapping[str, Any], name: str) -> str | None:
    value = line.get(name)
    return None if value is None or value == "" else str(value)


def _number(where: str, line: Mapping[str, Any], name: str) -> Any:
    value = line.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise InvalidDataset(f"{where}: {name} is {value!r:.40}.", hint="It must be a number.")
    return value


def moment_of(where: str, value: Any, *, last: bool = False) -> int | None:
    """A time as microseconds. A day alone is its first moment, or its `last`: who asks on a day knows what was said on it."""
    if value is None or value == "":
        return None
    dated = _DATED.fullmatch(value.strip()) if isinstance(value, str) else None
    if dated:
        year, month, day, clock = dated.groups()
        value = f"{year}-{int(month):02}-{int(day):02}" + (f"T{clock:0>5}" if clock else "")
    try:
        count = micros(value, "timestamp")
    except InvalidRecord as error:
        raise InvalidDataset(f"{where}: {error}") from None
    return count + DAY - 1 if last and dated and not dated[4] else count


def _distinct(path: Path, ids: list[str]) -> None:
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            raise InvalidDataset(f"{path}: two lines have the id {name!r:.80}.")
        seen.add(name)


def _digest(*paths: Path) -> str:
    total = sha256()
    for path in paths:
        total.update(sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]


def digest_of(path: Path) -> str:
    return _digest(path)
