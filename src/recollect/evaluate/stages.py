"""Where tuning asks its questions: sets acted out in a memory made for it, or a memory's own past, by what people said of it.

Both yield each question when its time has come, with a way to ask it. Searches are replayed (`replay`), so that asking with a
hundred recipes costs little more than with one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence

from ..embed import Embedding
from ..feedback import Label, labels
from ..memory import Memory
from ..ports import Store
from ..recipes import Recipe, as_recipe
from ..records import Scope, moment
from ..rerank import Judges
from .datasets import Dataset, Question, steps
from .kept import Kept
from .metrics import TOP
from .replay import Replay
from .run import Theatre
from .tune import Asking, Stage


def acted_out(sets: Sequence[Dataset], embedder: Kept | None, judges: Judges | None = None) -> Stage:
    """Every set from its beginning."""

    def stage() -> Iterator[Asking]:
        for one in sets:
            place = tempfile.TemporaryDirectory(prefix="recollect-tune-")
            with place as folder, Theatre(folder, embedder, Replay, judges) as theatre:
                for step in steps(one):
                    theatre.set_for(step, {})
                    theatre.store.forget()
                    yield Asking(one.name, step.question, _asker(theatre.owner, step.question.text))

    return stage


def remembered(store: Store, scope: Scope, embedding: Embedding | None, judges: Judges | None = None) -> Stage:
    """The questions somebody said something about, asked of the memory as it stood then."""
    replay, now = Replay(store), 0
    own = {"embedding": embedding, "recipe": as_recipe("balanced"), "judges": judges}
    memory = Memory(replay, scope, clock=lambda: moment(now), **own)

    def stage() -> Iterator[Asking]:
        nonlocal now
        now = 1 << 56  # far in the future: everything said so far
        asked = questions(labels(list(memory.each())), lambda id: _there(memory, id))
        for question in asked:
            now = question.at
            replay.forget()
            yield Asking(scope.owner, question, _asker(memory, question.text, as_of=moment(now)))

    return stage


def questions(said: Iterator[Label], there: Callable[[str], bool]) -> list[Question]:
    """Labels as questions: those that have at least one record that should have come back and is still there."""
    wanted: dict[str, dict[str, float]] = {}
    latest: dict[str, int] = {}
    for label in said:
        if label.good and there(label.id):
            wanted.setdefault(label.query, {})[label.id] = 1.0
        latest[label.query] = max(label.at, latest.get(label.query, label.at))
    return [Question(id=query, text=query, grades=grades, at=latest[query]) for query, grades in sorted(wanted.items())]


def _there(memory: Memory, id: str) -> bool:
    from ..errors import UnknownRecord

    try:
        return memory.get(id) is not None
    except UnknownRecord:
        return False


def _asker(memory: Memory, text: str, **asked: object) -> Callable[[Recipe], list[str]]:
    return lambda recipe: [hit.id for hit in memory.recall(text, recipe=recipe, limit=TOP, **asked)]
