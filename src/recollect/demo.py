"""A made-up conversation of about a hundred lines over five months, for `recollect demo` and for trying things out.

The story is demo.txt, in the package. Its days are counted back from a fixed moment, so that ages, and what fades with them, are
the same whenever it is told. Not test data with expected answers: those are in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any, NamedTuple

NOW = datetime(2026, 3, 10, 18, 0, tzinfo=UTC)
FADING = "balanced(decay=half-life, half_life=90d, floor=0.3)@3"
EXPECTED = "going-south-1"  # the old plan, of which the first answer is asked why it isn't there


class Question(NamedTuple):
    """A question, how it is recalled, and what it shows."""

    text: str
    recipe: str
    shows: str
    as_of: str | None = None


QUESTIONS = (
    Question("Where are we going on holiday, and when?", FADING, "The plan has changed since; what is older fades."),
    Question("Where are Theo, Priya and I going?", FADING, "What was known on the first of February.", as_of="2026-02-01T12:00Z"),
    Question("Who has our spare key?", "balanced@3", "Words and meaning agree; age does not matter here."),
)
_SESSION = re.compile(r"== (\d+) (\d\d):(\d\d) (\S+)")


class Session(NamedTuple):
    """One conversation: its name, when it began, and its turns as `Memory.remember_many` takes them."""

    name: str
    at: datetime
    turns: list[Mapping[str, Any]]


class Clock:
    """A clock that says what it is set to."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def story(now: datetime = NOW) -> list[Session]:
    """The conversation, its last day shortly before `now`."""
    sessions: list[Session] = []
    for line in files(__package__).joinpath("demo.txt").read_text(encoding="utf-8").splitlines():
        if opening := _SESSION.fullmatch(line):
            days, hour, minute, name = opening.groups()
            day = (now - timedelta(days=int(days))).replace(hour=int(hour), minute=int(minute), second=0, microsecond=0)
            sessions.append(Session(name, day, []))
        elif line and not line.startswith("#"):
            speaker, _, text = line.partition(": ")
            sessions[-1].turns.append(_turn(sessions[-1], speaker, text))
    return sessions


def live_through(memory, clock: Clock, now: datetime = NOW) -> int:
    """Remember the conversation as it went, each session when it happened; how many lines. Again, it adds nothing."""
    sessions = story(now)
    for session in sessions:
        clock.now = session.at + timedelta(minutes=len(session.turns))
        memory.remember_many(session.turns)
    clock.now = now
    return sum(len(session.turns) for session in sessions)


def _turn(session: Session, speaker: str, text: str) -> Mapping[str, Any]:
    number = len(session.turns)
    return {
        "id": f"{session.name}-{number + 1}", "text": text, "speaker": speaker, "session": session.name, "turn": number,
        "role": "turn", "kind": "episodic", "at": session.at + timedelta(minutes=number),
    }  # fmt: skip
