"""Conversations on their way in: messages become turns, and whatever is kept of a session is kept up with them.

    read (`messages`) → what is new (`threads`) → turns → links to the next (`links`) → session chunks → one write with the log

A turn is what the user said and what was answered: one record of role `turn` with the views `user` and `assistant`. Its text is
the words alone while one side has spoken, and `Name: …` on two lines or more once both have. The session's log (`rooms`) is
written in the same transaction, and only if nobody else wrote it meanwhile; whoever loses looks again. So two processes may
append to one session, nothing is lost or doubled, and an append costs the same however long the session is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from .errors import DuplicateRecord, InvalidRecord, RecordChanged, UnknownRecord
from .links import NEXT, relinked, with_next
from .messages import ASSISTANT, SYSTEM, TOOL, USER, Message
from .parts import sides
from .ports import Change, Forget, Store
from .query import Where
from .records import SUMMARY, THREAD, Record, Scope, moment
from .rooms import Room, State, archive_of, chunk_changes, logged, next_state, state_of
from .threads import Entry, Log, News, grown, news

SLICE = 1_000  # messages in one transaction
TRIES = 200  # until somebody else's appending is given way to no longer
LONGEST_SIDE = 20_000  # characters after which what the assistant says goes into a turn of its own
NAMES = {USER: "User", ASSISTANT: "Assistant", SYSTEM: "System"}
FIELDS = frozenset({"kind", "project", "agent", "tags", "quality", "confidence", "source", "metadata", "valid_from", "valid_to"})


class Writing(NamedTuple):
    """One transaction: texts to remember with what is said about them, and changes that go with them."""

    drafts: Sequence[tuple[str, Mapping[str, Any]]]
    changes: Sequence[Change]
    amended: Sequence[str]  # ids of turns that go on


@dataclass(slots=True, kw_only=True)
class Turn:
    """The workbench of one turn: it never leaves this module."""

    serial: int
    number: int
    at: int | None = None
    sides: dict[str, list[str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    old: Record | None = None  # the record that goes on, or that this is a new version of

    def hear(self, message: Message) -> None:
        side = ASSISTANT if message.role == TOOL else message.role
        self.sides.setdefault(side, []).append(message.text)
        if message.speaker and message.role != TOOL:
            self.names.setdefault(side, message.speaker)
        self.at = message.at if self.at is None else self.at

    def said(self) -> dict[str, str]:
        return {side: "\n\n".join(texts) for side, texts in self.sides.items()}

    def text(self) -> tuple[str, str | None]:
        """The text and its speaker: nobody, when both sides speak."""
        said = self.said()
        named = {side: self.names.get(side) or NAMES[side] for side in said}
        if len(said) == 1:
            side = next(iter(said))
            return said[side], named[side]
        return "\n".join(f"{named[side]}: {said[side]}" for side in (USER, ASSISTANT) if side in said), None

    def views(self) -> dict[str, str]:
        return {side: text for side, text in self.said().items() if side in (USER, ASSISTANT)}


def remember(room: Room, messages: Sequence[Message], write: Callable[[Writing], list[Record]]) -> list[Record]:
    """Remember what is new in these messages; the turns that came or changed, in order."""
    _check(room)
    made: dict[str, Record] = {}
    for _ in range(TRIES):
        head = room.find([room.name(THREAD)]).get(room.name(THREAD))
        try:
            for writing in _writings(room, head, messages):
                made |= {record.id: record for record in write(writing) if record.role == "turn"}
                made |= room.find(writing.amended)
            return list(made.values())
        except (DuplicateRecord, RecordChanged, UnknownRecord) as error:
            lost = error  # somebody else appended, or forgot a turn: look again what is new
    raise lost


def _check(room: Room) -> None:
    if not isinstance(room.session, str) or not room.session.strip():
        raise InvalidRecord("A conversation needs the name of its session.", hint='remember_messages(messages, session="s1")')
    for name in room.about:
        if name not in FIELDS:
            raise InvalidRecord(
                f"{name!r:.60} can't be said of all messages of a conversation.", hint=f"Those can: {', '.join(sorted(FIELDS))}."
            )


def _writings(room: Room, head: Record | None, messages: Sequence[Message]) -> Iterator[Writing]:
    """The transactions that take in what is new. Each goes on from what the one before has left in the log."""
    state = state_of(room, head)
    found = news(state.log, messages, lambda: archive_of(room, state))
    if found.edits or found.late:
        yield _revision(room, state, found)
    for start in range(0, len(found.fresh), SLICE):
        if start or found.edits or found.late:
            state = next_state(room, state)
        yield _continuation(room, state, found.fresh[start : start + SLICE])


# --- what follows from changes to single turns


class Links:
    """Turns that are remembered one by one get their `next_user`, and give theirs to the turn before."""

    def __init__(self, store: Store, scope: Scope, now: int) -> None:
        self.store, self.where = store, Where(owner=scope.owner, now=now)
        self.amended: list[tuple[Record, Mapping[str, str]]] = []  # turns that are there, and their views from now on

    def settle(self, records: list[Record]) -> list[Record]:
        """The records as they come to stand; what is there already and changes is left in `amended`."""
        turns = [record for record in records if record.role == "turn" and record.session is not None]
        if not turns:
            return records
        gone = [str(name) for turn in turns if (name := turn.metadata.get("supersedes"))]
        linked = relinked(self.store, self.where, turns, gone)
        own = {record.id for record in records}
        there = {name: record for name, record in linked.items() if name not in own}
        olds = self.store.records(list(self.store.resolve(self.where, list(there)).values()))
        self.amended = [(old, there[old.id].views) for old in olds]
        return [linked.get(record.id, record) for record in records]


def following(room: Room, old: Record, new: Record | None) -> list[Change]:
    """What else changes when a turn does, or goes: the links around it, the chunks of its session, the summaries made of it.

    A note of a session has no links; but the summary may be made of notes.
    """
    if old.role not in ("turn", "note") or old.session is None or (new is not None and _tells_the_same(old, new)):
        return []
    summary = [Forget(id=name) for name in room.find([room.name(SUMMARY)])]  # it may hold these words; another is made in time
    if old.role == "note":
        return summary
    linked = relinked(room.store, room.where, [old], [old.id]) if new is None or new.session != old.session else {}
    linked |= relinked(room.store, room.where, [new]) if new is not None else {}
    olds = room.find(list(linked))
    changes = [c for name, record in linked.items() for c in room.amending(olds[name], {"views": record.views})]
    changes += summary
    state = state_of(room, room.find([room.name(THREAD)]).get(room.name(THREAD)))
    if state.head is not None and state.chunk[2]:
        changed = {} if new is None or new.session != old.session else {new.id: new}
        settled, chunks = chunk_changes(room, state._replace(chunk=(0, 0, state.chunk[2])), changed, {old.id} - changed.keys())
        changes += [*chunks, *logged(room, state, state._replace(chunk=settled), ())]
    return changes


def _tells_the_same(old: Record, new: Record) -> bool:
    names = ("text", "views", "turn", "session", "source", "speaker", "role")
    return all(getattr(old, name) == getattr(new, name) for name in names)


# --- turns


def _continuation(room: Room, state: State, messages: Sequence[Message]) -> Writing:
    """Messages at the end of the conversation."""
    turns, entries = [], []
    last, serial, number = None, state.serial, state.number
    for message in messages:
        if last is None and room.pair and message.role in (ASSISTANT, TOOL):
            last = _reopened(room, state)
            turns += [last] if last else []
        if not (room.pair and last and _joins(message, last)):
            serial, number = serial + 1, number + 1
            last = Turn(serial=serial, number=number)
            turns.append(last)
        last.hear(message)
        entries.append(Entry(message.print, message.mark, last.serial))
    log, full = grown(state.log, entries)
    after = state._replace(log=log, blocks=state.blocks + len(full), serial=serial, number=number, open=last.serial)
    return _written(room, state, after, turns, full)


def _joins(message: Message, turn: Turn) -> bool:
    """Whether the message belongs to the turn: an answer, and not the thousandth step of one."""
    if message.role not in (ASSISTANT, TOOL) or SYSTEM in turn.sides:
        return False
    return sum(map(len, turn.sides.get(ASSISTANT, ()))) + len(message.text) <= LONGEST_SIDE


def _reopened(room: Room, state: State) -> Turn | None:
    """The last turn, to go on with; None when there is none, or it was forgotten or replaced meanwhile."""
    name = room.name("turn", state.open)
    old = room.find([name]).get(name) if state.open else None
    if old is None or old.superseded_by or not (old.views.keys() & {USER, ASSISTANT}):
        return None
    return _turn_of(old, state.open)


def _turn_of(old: Record, serial: int) -> Turn:
    spoken = {side: old.views[side] for side in (USER, ASSISTANT) if side in old.views}
    labels = [label.removesuffix(": ") for label, _ in sides(old)]
    names = dict(zip(spoken, labels if len(spoken) > 1 else [old.speaker or ""], strict=False))
    return Turn(
        serial=serial, number=old.turn or 0, old=old, sides={side: [text] for side, text in spoken.items()},
        names={side: name for side, name in names.items() if name},
    )  # fmt: skip


def _written(room: Room, state: State, after: State, turns: Sequence[Turn], full: Sequence[Sequence[Entry]]) -> Writing:
    """Turns, their links, the session's chunks and the log as one transaction."""
    stamp = moment(room.now)
    fresh = {room.name("turn", turn.serial): turn for turn in turns if turn.old is None or turn.serial > state.serial}
    gone = [turn.old.id for name, turn in fresh.items() if turn.old]
    records = {name: _sketch(room, name, turn, stamp) for name, turn in fresh.items()}
    goes_on = {turn.old.id: _gone_on(turn) for turn in turns if turn.old and turn.serial <= state.serial}
    linked = relinked(room.store, room.where, records.values(), gone)
    for name, record in linked.items():
        if name in goes_on:
            goes_on[name] = replace(goes_on[name], views=with_next(goes_on[name], record.views.get(NEXT)))
        elif name in records:
            records[name] = record
        else:
            goes_on[name] = record
    olds = {turn.old.id: turn.old for turn in turns if turn.old} | room.find([name for name in goes_on if name in linked])
    changes = [change for name, new in goes_on.items() for change in room.amending(olds[name], _fields(olds[name], new))]
    if room.chunks:
        settled, chunks = chunk_changes(room, after, {**goes_on, **records}, set(gone))
        after, changes = after._replace(chunk=settled), changes + chunks
    drafts = [(record.text, _draft(room, record, fresh[name])) for name, record in records.items()]
    going_on = [turn.old.id for turn in turns if turn.old and turn.old.id not in gone]
    return Writing(drafts, [*changes, *logged(room, state, after, full)], going_on)


def _sketch(room: Room, name: str, turn: Turn, stamp: datetime) -> Record:
    """A turn as its record will be, as far as links and chunks look at it."""
    text, speaker = turn.text()
    return Record(
        id=name, owner=room.scope.owner, text=text, role="turn", session=room.session, turn=turn.number, speaker=speaker,
        views=turn.views(), source=room.about.get("source"), recorded_at=stamp, at=stamp if turn.at is None else moment(turn.at),
    )  # fmt: skip


def _gone_on(turn: Turn) -> Record:
    text, speaker = turn.text()
    return replace(turn.old, text=text, speaker=speaker, views={**turn.old.views, **turn.views()})


def _fields(old: Record, new: Record) -> dict[str, Any]:
    return {name: getattr(new, name) for name in ("text", "speaker", "views") if getattr(new, name) != getattr(old, name)}


def _draft(room: Room, record: Record, turn: Turn) -> dict[str, Any]:
    draft = {"kind": "episodic", **room.about, "id": record.id, "role": "turn", "session": room.session, "turn": record.turn}
    draft |= {"speaker": record.speaker, "views": dict(record.views), "at": record.at}
    return draft | ({"supersedes": turn.old.id} if turn.old else {})


# --- what was changed, or comes late


def _revision(room: Room, state: State, found: News) -> Writing:
    """Edited messages as new versions of their turns; late ones at their place, with the number of the turn before them."""
    whole = [*(archive_of(room, state).entries if state.blocks else ()), *state.log.entries]
    serials = {whole[spot].turn for spot, _ in found.edits}
    ids = {serial: room.name("turn", serial) for serial in serials | {entry.turn for entry in whole}}
    there = room.find(list(ids.values()))
    numbers = {serial: there[name].turn or 0 for serial, name in ids.items() if name in there}
    serial, turns = state.serial, []
    for old_serial in sorted(serials):
        mine = {spot: message for spot, message in found.edits if whole[spot].turn == old_serial}
        serial += 1
        old = there.get(ids[old_serial])
        if old is not None and not old.superseded_by:
            turns.append(_new_version(old, old_serial, serial, mine, whole))
        for spot, message in mine.items():
            whole[spot] = Entry(message.print, message.mark, serial)
        whole = [entry._replace(turn=serial) if entry.turn == old_serial else entry for entry in whole]
    for spot, message in reversed(found.late):
        serial += 1
        before = [numbers[entry.turn] for entry in whole[:spot] if entry.turn in numbers]
        turn = Turn(serial=serial, number=before[-1] if before else 0)
        turn.hear(message)
        turns.append(turn)
        whole.insert(spot, Entry(message.print, message.mark, serial))
    log, full = grown(Log(), whole)
    after = state._replace(log=log, blocks=len(full), serial=serial, open=0, chunk=(0, 0, state.chunk[2]))
    writing = _written(room, state, after, turns, full)
    old_blocks = [Forget(id=room.name(THREAD, number)) for number in range(1, state.blocks + 1)]
    return writing._replace(changes=[*old_blocks, *writing.changes])


def _new_version(old: Record, old_serial: int, serial: int, edits: Mapping[int, Message], whole: Sequence[Entry]) -> Turn:
    """A turn with one side said anew; what else stood on that side has gone with it."""
    turn = _turn_of(old, serial)
    for side in {ASSISTANT if message.role == TOOL else message.role for message in edits.values()}:
        turn.sides[side] = []
    for _, message in sorted(edits.items(), key=lambda edit: edit[0]):
        turn.hear(message)
    return turn
