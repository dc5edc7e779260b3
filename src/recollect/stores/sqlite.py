"""The embedded default: one sqlite file that several processes may write and read at once.

The rows are the truth. What searches need is held in memory per owner (`shelf.py`), loaded when an owner is first asked
and kept up with the file by its change log, so a reader sees what any process has committed. Every read starts from an
owner's shelf: there is no query that could reach another owner's records.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from ..errors import InvalidQuery, UnknownRecord
from ..ports import Add, Change, Facts, Holding, Receipt
from ..query import Where
from ..records import ROLES, Record, check_owner
from ..tokens import tokens_version
from . import sql
from .rows import indexed, record_of
from .shelf import Shelf
from .sqlite_carry import Carrying
from .sqlite_feed import SqliteFeed
from .sqlite_file import BUSY_SECONDS, SqliteFile
from .sqlite_graph import SqliteGraph
from .sqlite_notes import SqliteNotes
from .sqlite_outbox import SqliteOutbox
from .sqlite_search import SqliteLexical, SqliteVector
from .sqlite_write import Writing
from .times import SqliteTemporal
from .vectors import Lane, keys_json

SHELVES_BYTES = 4 << 30
AT_HAND = 4096  # records kept at hand, none of them longer than this
LOADED_AT_ONCE = 4096  # vectors: a lane is read in pieces, so that it is never in memory twice
LOW = 0xFFFFFFFF
ORDERS = ("newest", "oldest", "turns", "latest")


class SqliteStore:
    """See the module. `path` is a file or `:memory:`."""

    def __init__(self, path: str, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.q = sql.blocks("sqlite/queries.sql")
        self.file = SqliteFile(path, busy_seconds=busy_seconds)
        self._shelves: OrderedDict[str, Shelf] = OrderedDict()
        self._paths: dict[int, str] = {}
        self._at_hand: dict[int, Record] = {}  # records fetched lately, oldest first
        self.lexical = SqliteLexical(self)
        self.vector = SqliteVector(self)
        self.temporal = SqliteTemporal(self)
        self.graph = SqliteGraph(self)
        self.outbox = SqliteOutbox(self)
        self.notes = SqliteNotes(self)
        self.feed = SqliteFeed(self)
        self._keep_terms_current()

    def write(self, owner: str, changes: Iterable[Change]) -> Receipt:
        """All changes or none. Durable when it returns."""
        check_owner(owner)
        changes = list(changes)
        indexes = {id(change): indexed(change.record) for change in changes if isinstance(change, Add)}
        size = sum(len(change.record.text) + 800 for change in changes if isinstance(change, Add))
        with self.file.writing(size) as connection:
            return Writing(connection, self.q).apply(owner, changes, indexes)

    def resolve(self, where: Where, ids: Sequence[str]) -> dict[str, int]:
        """Keys of the ids that `where` lets through."""
        found: dict[str, int] = {}
        with self.file.reading() as connection:
            for shelf, mask in self.sight(where):
                for name, key in connection.execute(self.q.keys_by_ids, (shelf.owner, json.dumps(list(ids)))):
                    slot = key & LOW
                    if slot < shelf.size and (mask is None or mask[slot]):
                        found.setdefault(name, key)
        return found

    def select(self, where: Where, *, order: str, limit: int, after: int | None = None) -> list[int]:
        """Keys in an order: `newest`, `oldest`, `turns` or `latest`."""
        if order not in ORDERS:
            raise InvalidQuery(f"order={order!r:.40} is unknown.", hint=f"Use {', '.join(ORDERS)}.")
        with self.file.reading():
            first = limit if order == "latest" and after is None and len(where.sessions) == 1 else None
            entries = [
                (*place, own, key)
                for own, (shelf, mask) in enumerate(self.sight(where))
                for *place, key in self._entries(shelf, mask, order, first)
            ]
        entries.sort()
        keys = [entry[-1] for entry in entries]
        if after is not None and after not in keys:
            raise UnknownRecord("The record to go on after has gone.", hint="Start from the beginning.")
        start = 0 if after is None else keys.index(after) + 1
        return keys[start : start + max(0, limit)]

    def facts(self, keys: Sequence[int]) -> dict[int, Facts]:
        """What scoring needs of each key; a key that is not there, or has gone meanwhile, is absent."""
        found: dict[int, Facts] = {}
        with self.file.reading():
            for number in {key >> 32 for key in keys}:
                shelf = self.shelf_of(number)
                if shelf is not None:
                    mine = [key for key in keys if key >> 32 == number and shelf.has(key & LOW)]
                    found.update(zip(mine, shelf.facts([key & LOW for key in mine]), strict=True))
        return found

    def roles(self, where: Where) -> frozenset[str]:
        """The roles that records in sight may have; rather one too many than one too few."""
        with self.file.reading():
            shelves = [self.shelf(path) for path in {where.owner, where.tenant or where.owner}]
            return frozenset(role for shelf in shelves if shelf is not None for role in ROLES if role in shelf.names.codes)

    def records(self, keys: Sequence[int]) -> list[Record]:
        """In the order of the keys; a key that has gone meanwhile is left out."""
        with self.file.reading() as connection:
            for number in {key >> 32 for key in keys}:
                self.shelf_of(number)  # drops what has changed from the records at hand
            hand = self._at_hand
            missing = [key for key in keys if key not in hand]
            while missing and len(hand) > AT_HAND:
                del hand[next(iter(hand))]
            fetched = {}
            for row in connection.execute(self.q.records_by_keys, (keys_json(missing),)).fetchall() if missing else ():
                record = fetched[row[0]] = record_of(row, self.path_of(row[0] >> 32))
                if not record.metadata and len(record.text) < AT_HAND:  # metadata may hold what its reader can change
                    hand[row[0]] = record
            return [record for key in keys if (record := hand.get(key) or fetched.get(key)) is not None]

    def holdings(self, owner: str, ids: Sequence[str] | None = None) -> Iterator[Holding]:
        """The owner's own records with their vectors and what waits for one, in the order they were added."""
        with self.file.apart() as connection:
            yield from Carrying(connection, self.q).holdings(owner, ids)

    def owners(self) -> list[str]:
        """Everybody who has a record or a setting here, in order."""
        with self.file.reading() as connection:
            return [path for (path,) in connection.execute(self.q.owners)]

    def settings(self, owner: str, change: Mapping[str, object | None] | None = None) -> dict[str, object]:
        """The owner's settings, after the change if one is given (None removes a key)."""
        check_owner(owner)
        if change:
            with self.file.writing() as connection:
                writing = Writing(connection, self.q)
                no = writing.mark(owner).no
                for name, value in change.items():
                    drop = value is None
                    connection.execute(
                        self.q.remove_setting if drop else self.q.put_setting,
                        (no, name) if drop else (no, name, json.dumps(value)),
                    )
        with self.file.reading() as connection:
            row = connection.execute(self.q.owner, (owner,)).fetchone()
            return {name: json.loads(value) for name, value in connection.execute(self.q.settings, row[:1])} if row else {}

    def status(self, owner: str) -> dict[str, object]:
        """Counts and facts for people."""
        with self.file.snapshot() as connection:
            row = connection.execute(self.q.owner, (owner,)).fetchone()
            low, high = span(row[0]) if row else (0, 0)
            kinds = dict(connection.execute(self.q.count_by_kind, (low, high)).fetchall())
            lanes = connection.execute(self.q.lanes_of, row[:1]).fetchall() if row else []
            counted = [(*lane, connection.execute(self.q.count_vectors, span(no)).fetchone()[0]) for no, *lane, _ in lanes]
            vectors = [{"space": space, "view": view, "count": count} for space, view, count in counted if count]
            return {
                "records": sum(kinds.values()), "by_kind": kinds, "vectors": vectors,
                "waiting": connection.execute(self.q.count_jobs, (low, high, None)).fetchone()[0],
                "schema": connection.execute("PRAGMA user_version").fetchone()[0], "bytes": self.file.size(),
            }  # fmt: skip

    def backup(self, target: str) -> None:
        """A consistent copy, while others go on writing."""
        self.file.backup(target)

    def check(self) -> list[str]:
        """What sqlite itself finds wrong with the file; empty when all is well."""
        with self.file.reading() as connection:
            return [row[0] for row in connection.execute("PRAGMA integrity_check").fetchall() if row[0] != "ok"]

    def close(self) -> None:
        """Release everything. Closing twice is fine."""
        self.file.close()
        self._shelves.clear()
        self._at_hand.clear()

    # What the searches beside this store use. Call while reading.

    def sight(self, where: Where) -> list[tuple[Shelf, np.ndarray | None]]:
        """The shelves that may be looked at, each with the mask of what may be seen (None: all of it)."""
        shelves = [(self.shelf(where.owner), False)]
        if where.tenant is not None and where.tenant != where.owner:
            shelves.append((self.shelf(where.tenant), True))
        return [(shelf, self._mask(shelf, where, tenant)) for shelf, tenant in shelves if shelf is not None and shelf.size]

    def shelf(self, path: str) -> Shelf | None:
        """An owner's shelf, caught up with the file."""
        pulse = self.file.pulse()
        shelf = self._shelves.get(path)
        if shelf is not None and shelf.pulse == pulse:
            return shelf
        with self.file.snapshot() as connection:
            row = connection.execute(self.q.owner, (path,)).fetchone()
            if row is None:
                return None
            if shelf is None or not self._follow(shelf, *row[1:]):
                shelf = self._shelves[path] = Shelf(row[0])
                self._at_hand.clear()
                self._make_room(path)
                self._paths[row[0]] = path
                self._extend(shelf, row[1])
            shelf.change, shelf.pulse = row[2], pulse
        return shelf

    def lane(self, shelf: Shelf, space: str, view: str) -> Lane | None:
        """A lane of a shelf, loaded when it is first asked for."""
        lane = shelf.lanes.get((space, view))
        if lane is None:
            with self.file.snapshot() as connection:
                row = connection.execute(self.q.lane, (shelf.owner, space, view)).fetchone()
                if row is None:
                    return None
                lane = Lane(row[0], space, view, row[1], self._fetch)
                # No further than the shelf has come: what was committed since will be told by the change log.
                rows = connection.execute(self.q.lane_vectors, (row[0] << 32, row[0] << 32 | shelf.size))
                while some := rows.fetchmany(LOADED_AT_ONCE):
                    _put(lane, some)
            shelf.lanes[space, view] = lane
        return lane

    def _keep_terms_current(self) -> None:
        """Make all terms anew when they were made by another tokenisation, or another version of its stemmers."""
        with self.file.reading() as connection:
            made_by = connection.execute(self.q.fact, ("tokens",)).fetchone()
        version = tokens_version()
        if made_by == (version,):
            return
        with self.file.writing() as connection:
            key = -1
            while made_by and (rows := connection.execute(self.q.some_texts, (key,)).fetchall()):
                key = rows[-1][0]
                connection.executemany(self.q.put_terms, [(*indexed(record_of(row, "")), row[0]) for row in rows])
            connection.execute(self.q.disturb_owners)
            connection.execute(self.q.put_fact, ("tokens", version))

    def _mask(self, shelf: Shelf, where: Where, tenant: bool) -> np.ndarray | None:
        mask = shelf.mask(where, tenant=tenant)
        if where.exclude:
            with self.file.reading() as connection:
                rows = connection.execute(self.q.keys_by_ids, (shelf.owner, json.dumps(sorted(where.exclude)))).fetchall()
            mask = np.ones(shelf.size, bool) if mask is None else mask.copy()
            mask[[key & LOW for _, key in rows if key & LOW < shelf.size]] = False
        return mask

    def _entries(self, shelf: Shelf, mask: np.ndarray | None, order: str, first: int | None) -> list[tuple]:
        slots = np.arange(shelf.size) if mask is None else np.flatnonzero(mask)
        slots = slots if first is None else shelf.last_turns(slots, first)
        facts = shelf.facts(slots.tolist())
        keys = (shelf.base + slots).tolist()
        if order in ("turns", "latest"):
            recorded, sign = shelf.columns["recorded"][slots].tolist(), 1 if order == "turns" else -1
            return [
                (f.session or "", sign * (f.turn or 0), sign * r, f.id, k) for f, r, k in zip(facts, recorded, keys, strict=True)
            ]
        sign = -1 if order == "newest" else 1
        return [(sign * f.at, f.id, k) for f, k in zip(facts, keys, strict=True)]

    def _extend(self, shelf: Shelf, next_slot: int) -> None:
        if next_slot > shelf.size:
            with self.file.reading() as connection:
                rows = connection.execute(self.q.columns, (shelf.base + shelf.size, shelf.base + next_slot)).fetchall()
            shelf.extend(rows)

    def _follow(self, shelf: Shelf, next_slot: int, change: int) -> bool:
        """Catch up. False when the log no longer reaches back to where the shelf stands."""
        old = shelf.size
        self._extend(shelf, next_slot)
        if change == shelf.change:
            return True
        with self.file.reading() as connection:
            entries = connection.execute(self.q.changes_since, (shelf.owner, shelf.change)).fetchall()
            if len(entries) != change - shelf.change:
                return False
            for _, what, lane, slots in entries:
                touched = np.frombuffer(slots, "<u4").tolist()
                self._replay(connection, shelf, what, lane, [slot for slot in touched if what == "vectors" or slot < old])
        return True

    def _replay(self, connection, shelf: Shelf, what: str, number: int, slots: Sequence[int]) -> None:
        if shelf.times is not None and what != "vectors":
            shelf.times.stale.update(slots)
        lanes = [lane for lane in shelf.lanes.values() if what == "words" or lane.number == number]
        if what != "vectors":
            self.graph.follow(shelf, slots)
        if what == "mentions":
            for slot in slots:
                self._at_hand.pop(shelf.base + slot, None)
            return
        if what != "vectors":
            rows = {}
            for slot in slots:
                rows.update(
                    {row[0]: row for row in connection.execute(self.q.columns, (shelf.base + slot, shelf.base + slot + 1))}
                )
            for slot in slots:
                self._at_hand.pop(shelf.base + slot, None)
                shelf.amend(slot, rows.get(shelf.base + slot), words=what == "words")
        for lane in lanes if what != "columns" else ():
            for slot in slots:
                lane.drop(slot)
            keys = keys_json(lane.number << 32 | slot for slot in slots)
            _put(lane, connection.execute(self.q.vectors_by_keys, (keys,)).fetchall())
            if lane.gone > LOADED_AT_ONCE and lane.gone > len(lane):  # mostly gaps: load it anew when it is next asked for
                del shelf.lanes[lane.space, lane.view]

    def _fetch(self, keys: Sequence[int]) -> dict[int, np.ndarray]:
        with self.file.reading() as connection:
            rows = connection.execute(self.q.vectors_by_keys, (keys_json(keys),)).fetchall()
        return {key & LOW: np.frombuffer(blob, "<f4") for key, blob in rows}

    def shelf_of(self, number: int) -> Shelf | None:
        """The shelf of an owner's number, as the last search left it or as we have changed it since.

        Keys come from a search, which has asked whether other processes committed; asking again for every step of one answer
        would cost more than the steps.
        """
        path = self.path_of(number)
        shelf = self._shelves.get(path)
        return shelf if shelf is not None and shelf.pulse[1] == self.file.writes else self.shelf(path)

    def path_of(self, number: int) -> str:
        """The owner of a number."""
        path = self._paths.get(number)
        if path is None:
            with self.file.reading() as connection:
                row = connection.execute(self.q.path_of, (number,)).fetchone()
            path = self._paths[number] = row[0] if row else ""
        return path

    def _make_room(self, path: str) -> None:
        """Keep the shelves used last, within a bound."""
        self._shelves.move_to_end(path)
        while len(self._shelves) > 2 and sum(shelf.nbytes() for shelf in self._shelves.values()) > SHELVES_BYTES:
            self._shelves.popitem(last=False)


def span(number: int) -> tuple[int, int]:
    """The keys of an owner or a lane."""
    return number << 32, (number + 1) << 32


def _put(lane: Lane, rows: Sequence[tuple[int, bytes]]) -> None:
    if rows:
        block = np.frombuffer(b"".join([blob for _, blob in rows]), "<f4").reshape(len(rows), -1)
        lane.put([key & LOW for key, _ in rows], block)
