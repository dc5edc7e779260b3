"""What of a conversation is new: the log of the messages a session has had, compared with the messages that come in.

A caller may send the whole conversation each time, a window of it, or only what is new; the log tells which. It holds prints
of messages, never their texts, and outlives the records: what was forgotten is not remembered again because it is sent again.
Rules, in their order:

1. The messages begin like the log from its start: they are the whole conversation, new is what goes beyond it.
2. They are a run of the log (a single message: its last): all were there.
3. They begin with the end of the log: new is what follows.
4. At least two of them are in the log, around others: those changed (edits) or were left out before (late); else all are new.

Times tell equal messages apart only where both have one. The first three rules need the log's last block only. For the last one
the earlier blocks are needed, which never change and are kept at hand, so that appending costs the same however long the
conversation is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from hashlib import blake2b
from typing import NamedTuple

from .messages import Message

BLOCK = 64  # messages in a full block; the last one holds up to twice as many
DIFFED = 3_000  # messages on either side that rule 4 compares


class Entry(NamedTuple):
    """A message that was seen: its print, its mark, and the serial number of the turn it went into."""

    print: str
    mark: str
    turn: int

    @property
    def key(self) -> str:
        return self.mark if self.mark.startswith("i") else self.print


class Log(NamedTuple):
    """The last block of a session's log: `before` messages lie in earlier blocks, `digest` stands for their keys."""

    entries: tuple[Entry, ...] = ()
    before: int = 0
    digest: str = ""


class Archive(NamedTuple):
    """The earlier blocks, oldest first, and the keys in them."""

    entries: Sequence[Entry] = ()
    keys: frozenset[str] = frozenset()


class News(NamedTuple):
    """What is new. `edits`: (place in the log, message); `late`: (place in the log before which it belongs, message)."""

    fresh: Sequence[Message] = ()
    edits: Sequence[tuple[int, Message]] = ()
    late: Sequence[tuple[int, Message]] = ()


def news(log: Log, messages: Sequence[Message], archive: Callable[[], Archive]) -> News:
    """What of these messages the log has not got. `archive` is asked for the earlier blocks only where its end can't tell."""
    entries = log.entries
    if not (entries and messages):
        return News(fresh=messages)
    known = _from_start(log, messages)
    if known is None and _is_run(entries, messages):
        known = len(messages)
    if known is None:
        known = _overlap(entries, messages)
    if known:
        return News(messages[known:], [(i, m) for i, m in _same_id(log, entries, messages[:known])])
    earlier = archive() if log.before else Archive()
    keys = {entry.key for entry in entries}
    seen = [message for message in messages if message.key in keys or message.key in earlier.keys]
    if len(seen) < 2 and not any(message.mark.startswith("i") for message in seen):
        return News(fresh=messages)
    return _compared([*earlier.entries, *entries], messages)


def grown(log: Log, entries: Sequence[Entry]) -> tuple[Log, list[list[Entry]]]:
    """The log with more entries, and the full blocks that it no longer holds."""
    held, full = [*log.entries, *entries], []
    digest, before = log.digest, log.before
    while len(held) > 2 * BLOCK:
        full.append(held[:BLOCK])
        digest, before, held = chained(digest, [entry.key for entry in full[-1]]), before + BLOCK, held[BLOCK:]
    return Log(tuple(held), before, digest), full


def chained(digest: str, keys: Sequence[str]) -> str:
    """A digest that stands for all keys up to here."""
    return blake2b("\x1f".join([digest, *keys]).encode(), digest_size=16).hexdigest()


def _from_start(log: Log, messages: Sequence[Message]) -> int | None:
    """How many of the messages the log has when they begin where it begins; None when they don't."""
    keys = [message.key for message in messages[: log.before + len(log.entries)]]
    if len(keys) < log.before or (len(keys) == 1 and _clash(log.entries[0], messages[0])):
        return None
    digest = ""
    for start in range(0, log.before, BLOCK):
        digest = chained(digest, keys[start : start + BLOCK])
    here = keys[log.before :]
    if digest != log.digest or here != [entry.key for entry in log.entries[: len(here)]]:
        return None
    # A single message that is like the first of many is rather a new one.
    return len(keys) if len(keys) > 1 or len(log.entries) == 1 or len(messages) > 1 else None


def _is_run(entries: Sequence[Entry], messages: Sequence[Message]) -> bool:
    """Whether the messages are a run of the block; a single one must be its last."""
    count = len(messages)
    starts = range(len(entries) - count + 1) if count > 1 else range(len(entries) - 1, len(entries))
    return any(_alike(entries[start : start + count], messages) for start in starts)


def _overlap(entries: Sequence[Entry], messages: Sequence[Message]) -> int:
    """How many of the first messages are the log's last ones."""
    most = min(len(entries), len(messages) - 1)
    return next((count for count in range(most, 0, -1) if _alike(entries[-count:], messages[:count])), 0)


def _alike(entries: Sequence[Entry], messages: Sequence[Message]) -> bool:
    return all(entry.key == message.key and not _clash(entry, message) for entry, message in zip(entries, messages, strict=False))


def _clash(entry: Entry, message: Message) -> bool:
    """Said at two different times."""
    return entry.mark[:1] == message.mark[:1] == "t" and entry.mark != message.mark


def _same_id(log: Log, entries: Sequence[Entry], messages: Sequence[Message]):
    """Messages whose own id is in the log, with another text: where they stand."""
    ids = {entry.key: place for place, entry in enumerate(entries, log.before) if entry.mark.startswith("i")}
    for message in messages if ids else ():
        place = ids.get(message.key)
        if place is not None and entries[place - log.before].print != message.print:
            yield place, message


def _compared(entries: list[Entry], messages: Sequence[Message]) -> News:
    """Rule 4: both lists aligned, after what they share at the start."""
    start = _shared(entries, messages)
    old, new = entries[start:], messages[start:]
    by_id = {entry.key: place for place, entry in enumerate(entries) if entry.mark.startswith("i")}
    if max(len(old), len(new)) > DIFFED:
        return News(fresh=[message for message in new if message.key not in by_id])
    blocks = SequenceMatcher(None, [entry.key for entry in old], [message.key for message in new]).get_opcodes()
    matched = start + sum(i2 - i1 for tag, i1, i2, _, _ in blocks if tag == "equal")
    if matched < 2 and not by_id:
        return News(fresh=messages)
    return _sorted_out(entries, messages, start, blocks, by_id)


def _sorted_out(entries: list[Entry], messages: Sequence[Message], start: int, blocks: Sequence, by_id: dict[str, int]) -> News:
    """What stands in place of something else is its new version if the same goes on after it, or was the same all before it."""
    fresh, edits, late = [], [], []
    for number, (tag, i1, i2, j1, j2) in enumerate(blocks):
        coming = messages[start + j1 : start + j2]
        if tag == "equal":
            pairs = zip(range(start + i1, start + i2), coming, strict=True)
            edits += [(place, message) for place, message in pairs if entries[place].print != message.print]
            continue
        followed = any(tag == "equal" for tag, *_ in blocks[number + 1 :])
        if tag == "replace" and (i2 - i1 == j2 - j1 if followed else number == 0 and start >= 2):
            edits += zip(range(start + i1, start + i2), coming, strict=False)
            coming = coming[i2 - i1 :]
        unknown = [message for message in coming if message.key not in by_id]
        if followed:
            late += [(start + i2, message) for message in unknown]
        else:
            fresh += unknown
    return News(fresh, edits, late)


def _shared(entries: Sequence[Entry], messages: Sequence[Message]) -> int:
    """How many messages both begin with."""
    pairs = zip(entries, messages, strict=False)
    return next((n for n, (entry, message) in enumerate(pairs) if entry.key != message.key), min(len(entries), len(messages)))
