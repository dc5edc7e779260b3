"""Summaries of sessions: which session needs one, what it is made of, and how it is kept.

A session has one summary, a record of role `summary` that is written anew when the session has grown, so that there are never
more of them than sessions. It remembers what it was made of: a session that is as it was is not summarised twice, and another
summariser makes it anew. A turn that is changed or forgotten takes the summary along at once (`conversations`), since it may
hold its words.

They are made in upkeep, and when the first turn of a session catches up with the one before: never while something is being
remembered. Made of turns; of notes, where a session has no turns. Not here: what a good summary is (`summarise`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple

from .extract import ASSISTANTS
from .normalize import clean_text
from .parts import sides
from .ports import Change, Spoken, Store, Summariser
from .query import Where
from .records import SUMMARY, Record, moment
from .rooms import room_digest
from .summarise import MOST, Sentences
from .upkeep import Hands, Step, Task, carried_out, each

MADE = "recollect:summary"  # in the metadata of a summary: by whom and of what it was made
ROLES = ("turn", "note")
NEWEST = 200  # records looked at for the session before this one
RULES = Sentences()
_FACETS = ("personal_info", "preferences", "events")
_FIELDS = ("text", "project", "at", "recorded_at", "metadata")


class Session(NamedTuple):
    """A session whose summary is missing or old: its records in order, and the summary that is there."""

    records: Sequence[Record]
    old: Record | None = None

    @property
    def name(self) -> str:
        first = self.records[0]
        return f"{SUMMARY}-{room_digest(first.agent, first.session)}"


def told(hands: Hands, summariser: Summariser, gone: Collection[str] = ()) -> Step:
    """Summarise every session that has grown. A summariser that fails is stood in for by the rules, and asked again next time.

    `gone`: ids that no longer count, although a dry run has left them there.
    """
    troubles: list[str] = []
    sessions = due(hands.store, hands.where, summariser.fingerprint, gone)
    tasks = (_task(hands, session, summariser, troubles) for session in sessions)
    step = carried_out(hands, "summarise", "{} sessions have grown since they were summarised", tasks, "{} summarised")
    return step._replace(did=f"{step.did}; by rules, since {troubles[0]}", ok=False) if troubles else step


def caught_up(hands: Hands, session: str | None) -> None:
    """See to it that the session before this one has its summary. One that is up to date stays, whoever made it."""
    before = latest(hands.store, hands.where, session)
    if before is not None:
        sessions = due(hands.store, replace(hands.where, sessions=(before,)), None)
        carried_out(hands, "summarise", "", (_task(hands, one, RULES, []) for one in sessions), "")


def due(store: Store, where: Where, by: str | None, gone: Collection[str] = ()) -> Iterator[Session]:
    """Sessions that have something to tell and no summary of it by this summariser; `by` None: by any."""
    there = {one.id: one for one in each(store, replace(where, roles=(SUMMARY,)), "oldest") if MADE in one.metadata}
    spoken = (record for record in each(store, replace(where, roles=ROLES), "turns") if record.id not in gone)
    for session, several in groupby(spoken, key=lambda record: record.session):
        for records in _by_agent(several) if session is not None else ():
            one = Session(records)
            one = one._replace(old=there.get(one.name))
            if not _current(one, by):
                yield one


def orphans(store: Store, where: Where) -> Iterator[Record]:
    """Our summaries of sessions of which nothing is left that holds."""
    for one in each(store, replace(where, roles=(SUMMARY,)), "oldest"):
        if MADE in one.metadata and one.session is not None:
            left = replace(where, roles=ROLES, sessions=(one.session,), agent=one.agent or where.agent)
            if not store.select(left, order="latest", limit=1):
                yield one


def latest(store: Store, where: Where, but: str | None) -> str | None:
    """The session that was spoken in last, this one aside."""
    keys = store.select(replace(where, roles=ROLES, sessions=()), order="newest", limit=NEWEST)
    return next((record.session for record in store.records(keys) if record.session not in (None, but)), None)


def made(session: Session, summariser: Summariser, where: Where) -> Record | None:
    """The summary of a session as it is from now on; None when there is nothing to tell."""
    records, old = session.records, session.old
    since = _settled(session, summariser.fingerprint) if summariser.rolling else 0
    said = [one for record in records[since:] for one in spoken(record)]
    text = summariser.summarise(old.text if old and since else "", said)
    if isinstance(text, str) and not text.strip():
        return None
    text = clean_text(text).strip()
    last = records[-1]
    about = {"by": summariser.fingerprint, "of": _digest(records), "settled": _digest(records[:-1]), "count": len(records)}
    return Record(
        id=session.name, owner=where.owner, text=text, kind="episodic", role=SUMMARY, session=last.session, agent=last.agent,
        project=last.project, at=max((record.at for record in records if record.at is not None), default=None),
        recorded_at=moment(where.now), metadata=MappingProxyType({MADE: about}),
    )  # fmt: skip


def spoken(record: Record) -> list[Spoken]:
    """A turn as what either side said; anything else as what its speaker said."""
    facets = [record.views[facet] for facet in _FACETS if facet in record.views]
    both = sides(record)
    if len(both) == 2:
        return [Spoken(label.removesuffix(": "), text, number == 1, facets) for number, (label, text) in enumerate(both)]
    speaker = record.speaker or ""
    aside = speaker.strip().lower() in ASSISTANTS or ("assistant" in record.views and "user" not in record.views)
    return [Spoken(speaker, record.text, aside, facets)]


def _task(hands: Hands, session: Session, summariser: Summariser, troubles: list[str]) -> Task:
    def changes() -> Sequence[Change]:
        new = _made_somehow(session, summariser, hands.where, troubles)
        if new is None:
            return ()
        if session.old is None:
            return hands.adding([new])
        fields = {name: getattr(new, name) for name in _FIELDS if getattr(new, name) != getattr(session.old, name)}
        return hands.amending(session.old, fields, session.old)

    grown = f", {_about(session.old).get('count', 0):,} of them before" if session.old is not None else ""
    return Task(f"{session.records[0].session}: {len(session.records):,} records{grown}", changes)


def _made_somehow(session: Session, summariser: Summariser, where: Where, troubles: list[str]) -> Record | None:
    """By the summariser; by the rules once it has failed, so that one that is down is not asked for every session."""
    if not troubles:
        try:
            return made(session, summariser, where)
        except Exception as error:  # a summariser is somebody's own code, or a network away
            troubles.append(str(error) or type(error).__name__)
    return made(session, RULES, where)


def _by_agent(records: Iterable[Record]) -> Iterator[list[Record]]:
    """What each agent's session is made of: its turns, or its notes where it has none. A short note alone needs no summary."""
    own: dict[str | None, list[Record]] = {}
    for record in records:
        own.setdefault(record.agent, []).append(record)
    for several in own.values():
        turns = [record for record in several if record.role == "turn"]
        if turns or len(several) > 1 or len(several[0].text) > MOST:
            yield turns or several


def _current(session: Session, by: str | None) -> bool:
    held = _about(session.old)
    return held.get("of") == _digest(session.records) and by in (None, held.get("by"))


def _settled(session: Session, by: str) -> int:
    """How many of the records this summariser's summary so far tells, if they are still what they were."""
    held = _about(session.old)
    if held.get("by") != by:
        return 0
    count = held.get("count", 0) - 1  # the last one may have gone on
    return count if count > 0 and held.get("settled") == _digest(session.records[:count]) else 0


def _about(old: Record | None) -> Mapping[str, Any]:
    held = old.metadata.get(MADE) if old is not None else None
    return held if isinstance(held, Mapping) else {}


def _digest(records: Sequence[Record]) -> str:
    """What stands for these records and their words."""
    digest = blake2b(digest_size=12)
    for record in records:
        digest.update(f"{record.id}\x1f{record.speaker or ''}\x1f{record.text}\x1e".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
