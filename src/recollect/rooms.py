"""A session and what is kept of it besides its turns: the log of its messages, and the chunks of its whole text.

The log (`threads`) is a record of role `thread` that nobody is shown: its last block, how far things have come, and where the
session's chunks go on; full blocks are records beside it. Chunks are records of role `session` for recipes that look at sessions:
turns joined up to 4,000 characters, of which only the last run is written anew when the session grows. Not here: what a turn is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple

from .chunks import chunked
from .errors import RecordChanged
from .links import ALL, place
from .ports import Add, Amend, Change, Forget, Store
from .query import Where
from .records import EMPTY, THREAD, Record, Scope, moment
from .threads import Archive, Entry, Log

AT_HAND = 16  # archives of logs
BATCH = 500
SLACK = 64  # turns that came late and share a number
Chunked = tuple[tuple[int, int, int], list[Change]]  # as in State, and what to write
Amending = Callable[[Record, Mapping[str, Any]], list[Change]]


class Room(NamedTuple):
    """A session of one owner, and how to look into it. `now`: microseconds."""

    store: Store
    scope: Scope
    session: str
    now: int
    amending: Amending
    adding: Callable[[Sequence[Record]], list[Change]]
    chunks: bool = False  # whether session chunks are kept up
    pair: bool = True
    about: Mapping[str, Any] = EMPTY
    archives: dict[str, Archive] | None = None  # of logs, at hand

    @property
    def where(self) -> Where:
        return Where(owner=self.scope.owner, sessions=(self.session,), now=self.now)

    def name(self, of: str, number: int | str = "") -> str:
        """The id of something of this session."""
        return f"{of}-{room_digest(self.about.get('agent') or self.scope.agent, self.session)}" + (
            f"-{number}" if number != "" else ""
        )

    def find(self, ids: Sequence[str]) -> dict[str, Record]:
        """Records by id, whether they hold or not."""
        keys = self.store.resolve(Where(owner=self.scope.owner, now=self.now, timeless=True), ids)
        return {record.id: record for record in self.store.records(list(keys.values()))}


def room_digest(agent: str | None, session: str) -> str:
    """What stands for a session of an agent in the ids of what is kept of it."""
    return blake2b(f"{agent or ''}\x1f{session}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class State(NamedTuple):
    """What the log's record holds. `serial`: how many turns were ever made; `open`: of these, one that may go on."""

    head: Record | None
    log: Log = Log()
    blocks: int = 0
    serial: int = 0
    number: int = 0
    open: int = 0
    chunk: tuple[int, int, int] = (0, 0, 0)  # settled chunks; the first turn of the others; how many there are


def state_of(room: Room, head: Record | None) -> State:
    """The state of a session's log; of one without a log, behind the turns it has."""
    if head is None:
        there = room.store.select(replace(room.where, roles=("turn",), timeless=True), order="latest", limit=ALL)
        last = room.store.records(there[:1])
        return State(None, serial=len(there), number=(last[0].turn or 0) if last else 0)
    held = head.metadata
    log = Log(tuple(Entry(*entry) for entry in held["log"]), held["before"], held["digest"])
    return State(head, log, held["blocks"], held["serial"], held["number"], held["open"], tuple(held["chunk"]))


def next_state(room: Room, state: State) -> State:
    """What we have just written, if nobody has written since."""
    after = state_of(room, room.find([room.name(THREAD)]).get(room.name(THREAD)))
    wrote = state.head is None or (after.head is not None and after.head.metadata["writes"] == state.head.metadata["writes"] + 1)
    if not wrote:
        raise RecordChanged
    return after


def archive_of(room: Room, state: State) -> Archive:
    """The earlier blocks. Their digest tells whether those at hand are still they."""
    at_hand = room.archives if room.archives is not None else {}
    held = at_hand.get(state.log.digest)
    if held is None:
        names = [room.name(THREAD, number) for number in range(1, state.blocks + 1)]
        found = room.find(names)
        entries = [Entry(*entry) for name in names if name in found for entry in found[name].metadata["log"]]
        for digest in list(at_hand)[: max(0, len(at_hand) - AT_HAND)]:
            at_hand.pop(digest, None)
        held = at_hand[state.log.digest] = Archive(entries, frozenset(entry.key for entry in entries))
    return held


def logged(room: Room, state: State, after: State, full: Sequence[Sequence[Entry]]) -> list[Change]:
    """The log's record with a new state, and the blocks that are full now."""
    metadata = {
        "log": [list(entry) for entry in after.log.entries], "before": after.log.before, "digest": after.log.digest,
        "blocks": after.blocks, "serial": after.serial, "number": after.number, "open": after.open, "chunk": list(after.chunk),
        "writes": (state.head.metadata["writes"] if state.head else 0) + 1,
    }  # fmt: skip
    first = after.blocks - len(full) + 1
    blocks = [
        Add(record=bookkept(room, room.name(THREAD, first + number), {"log": [list(entry) for entry in block]}))
        for number, block in enumerate(full)
    ]
    if state.head is None:
        return [Add(record=bookkept(room, room.name(THREAD), metadata)), *blocks]
    return [Amend(id=state.head.id, fields={"metadata": metadata}, expected=state.head), *blocks]


def bookkept(room: Room, name: str, metadata: Mapping[str, Any]) -> Record:
    return Record(
        id=name, owner=room.scope.owner, text="·", kind="episodic", role=THREAD, session=room.session, metadata=metadata,
        project=room.about.get("project") or room.scope.project, agent=room.about.get("agent") or room.scope.agent,
        recorded_at=moment(room.now),
    )  # fmt: skip


def chunk_changes(room: Room, after: State, changed: Mapping[str, Record], gone: set[str]) -> Chunked:
    """The chunks from the last run on, made anew of its turns; what is settled is not looked at."""
    settled, first, there = after.chunk
    many = ALL if not settled else after.number - first + 1 + SLACK
    held = room.store.records(room.store.select(replace(room.where, roles=("turn",)), order="latest", limit=many))
    turns = {turn.id: turn for turn in held if (turn.turn or 0) >= first and turn.id not in gone} | {
        name: turn for name, turn in changed.items() if (turn.turn or 0) >= first
    }
    run = sorted(turns.values(), key=place)
    chunks = chunked(map(shown, run))
    names = [room.name("session", settled + number) for number in range(1, max(len(chunks), there - settled) + 1)]
    old, stamp, changes = room.find(names), moment(room.now), []
    for name, chunk in zip(names, chunks, strict=False):
        start = run[chunk.first]
        new = replace(bookkept(room, name, {}), role="session", text=chunk.text, turn=start.turn, at=start.at, recorded_at=stamp)
        if name not in old:
            changes += room.adding([new])
        else:
            fields = {field: getattr(new, field) for field in ("text", "turn", "at")}
            fields = {field: value for field, value in fields.items() if value != getattr(old[name], field)}
            changes += room.amending(old[name], fields) if fields else []
    changes += [Forget(id=name) for name in names[len(chunks) :] if name in old]
    if not chunks:
        return (0, 0, 0), changes
    start = next(number for number, chunk in enumerate(chunks) if chunk.first == chunks[-1].first)
    return (settled + start, run[chunks[-1].first].turn or 0, settled + len(chunks)), changes


def unchunked(store: Store, where: Where) -> Iterator[Record]:
    """The logs of sessions that have turns and no chunks: they were remembered when no recipe looked at sessions."""
    keys = store.select(replace(where, roles=(THREAD,)), order="turns", limit=ALL)
    for start in range(0, len(keys), BATCH):
        for head in store.records(keys[start : start + BATCH]):
            if "chunk" in head.metadata and not tuple(head.metadata["chunk"])[2]:
                turns = replace(where, roles=("turn",), sessions=(head.session or "",), agent=head.agent or where.agent)
                if store.select(turns, order="latest", limit=1):
                    yield head


def all_chunks(room: Room, head: Record) -> list[Change]:
    """A session's chunks, all of them, and the log that knows of them."""
    state = state_of(room, head)
    settled, changes = chunk_changes(room, state, {}, set())
    return [*changes, *logged(room, state, state._replace(chunk=settled), ())]


def shown(turn: Record) -> str:
    """A turn as a line of its session."""
    return f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
