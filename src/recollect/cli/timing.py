"""bench: how quick memory is on this machine, on made-up records or on one's own.

For a person who asks whether it is quick enough here, with this embedder and this recipe. Not the project's own measurements,
which are made with care: docs/performance.md, scripts/bench.
"""

from __future__ import annotations

import os
import random
from argparse import Namespace
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ..demo import story
from ..errors import InvalidSetting, UnknownRecord
from ..records import SHOWN
from .entry import configured, opened
from .terminal import sized

if TYPE_CHECKING:
    from ..memory import Memory
    from .terminal import Screen

WARM, BATCH = 20, 500
WORDS = (6, 10)  # of a question: as many, taken from one record


def bench(args: Namespace, screen: Screen) -> None:
    for name, most in (("records", 1_000_000), ("questions", 100_000)):
        if not 1 <= getattr(args, name) <= most:
            raise InvalidSetting(f"--{name} is from 1 to {most:,}.")
    found = _of_ones_own(args, screen) if args.own else _of_made_up(args, screen)
    if screen.as_json:
        screen.json(found)
        return
    screen.table([(label, said(found[name])) for name, label, said in ROWS if name in found], styles=("cyan",))


def _of_ones_own(args: Namespace, screen: Screen) -> dict[str, Any]:
    """Questions made of the memory's own records; nothing is changed."""
    with opened(args, screen) as memory:
        texts = [record.text for record in islice(memory.each(roles=SHOWN), args.records)]
        if not texts:
            raise UnknownRecord(f"{memory.scope.owner} has no records to ask for.", hint="Leave out --own.")
        return _state(memory, len(texts)) | {"question_ms": _asked(memory, texts, args, screen)}


def _of_made_up(args: Namespace, screen: Screen) -> dict[str, Any]:
    from ..memory import Memory

    texts, settings = made_up(args.records), configured(args)[0]
    with TemporaryDirectory(prefix="recollect-bench-") as folder:
        file = os.path.join(folder, "memory.db")
        with Memory.open(file, owner="bench", settings=settings) as memory:
            written = _timed(lambda: _remember(memory, texts, screen))
            embedded = _timed(lambda: _embed(memory, screen))
            single = _timed(lambda: [memory.remember(f"{text} Again.") for text in texts[:200]]) / len(texts[:200])
        start = perf_counter()
        with Memory.open(file, owner="bench", settings=settings) as memory:
            memory.recall(texts[0], recipe=args.recipe)
            first = perf_counter() - start
            asked = _asked(memory, texts, args, screen)
            found = _state(memory, args.records)
        size = sum(one.stat().st_size for one in Path(folder).iterdir())
    return found | {
        "written_per_s": round(len(texts) / written), "embedded_s": round(embedded, 2), "one_write_ms": round(single * 1e3, 2),
        "first_answer_ms": round(first * 1e3, 1), "question_ms": asked, "bytes": size,
    }  # fmt: skip


def _state(memory: Memory, records: int) -> dict[str, Any]:
    return {"records": records, "embedder": memory.status()["embedder"], "recipe": str(memory.recipe)}


def _remember(memory: Memory, texts: Sequence[str], screen: Screen) -> None:
    with screen.progress("remembering", len(texts)) as bar:
        for at in range(0, len(texts), BATCH):
            memory.remember_many(texts[at : at + BATCH])
            bar.step(at + BATCH)


def _embed(memory: Memory, screen: Screen) -> None:
    with screen.progress("embedding") as bar:
        memory.upkeep(progress=bar.step)


def _asked(memory: Memory, texts: Sequence[str], args: Namespace, screen: Screen) -> dict[str, float]:
    """Milliseconds of whole calls, embedding the question included."""
    taken = []
    with screen.progress("asking", args.questions) as bar:
        for number, question in enumerate(questions(texts, args.questions + WARM)):
            spent = _timed(lambda question=question: memory.recall(question, recipe=args.recipe, limit=args.limit))
            if number >= WARM:
                taken.append(spent * 1e3)
                bar.step(len(taken))
    cuts = quantiles(taken, n=100) if len(taken) > 1 else taken * 99
    return {f"p{share}": round(cuts[share - 1], 3) for share in (50, 95, 99)}


def made_up(count: int) -> list[str]:
    """Texts of the words of the demo's conversation, as frequent as there; the same on every machine."""
    chance = random.Random(7)
    words = [word for session in story() for turn in session.turns for word in turn["text"].split()]
    return [f"{' '.join(chance.choices(words, k=chance.randint(12, 28)))} {number}" for number in range(count)]


def questions(texts: Sequence[str], count: int) -> list[str]:
    chance, asked = random.Random(8), []
    for _ in range(count):
        words = chance.choice(texts).split() or ["what"]
        asked.append(" ".join(chance.choices(words, k=chance.randint(*WORDS))))
    return asked


def _timed(work: Any) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def _plain(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


ROWS = (
    ("records", "records", _plain),
    ("embedder", "embedder", _plain),
    ("recipe", "recipe", _plain),
    ("written_per_s", "remembered in batches", lambda value: f"{value:,} a second"),
    ("embedded_s", "their vectors", lambda value: f"{value:g} s"),
    ("one_write_ms", "remembered one by one", lambda value: f"{value:g} ms each"),
    ("first_answer_ms", "opening, to the first answer", lambda value: f"{value:g} ms"),
    ("question_ms", "a question", lambda value: ", ".join(f"{name} {ms:g} ms" for name, ms in value.items())),
    ("bytes", "the file", sized),
)
