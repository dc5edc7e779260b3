"""A store in plain Python: slow, obviously right, gone when the process ends.

It is two things. It is the oracle: every other store must give its answers, to the last digit and tie. And it
is for tests of code that uses recollect, where a file would be in the way. It is not for real memories: every search
looks at every record, every write copies every table. What a store promises is written out in docs/stores.md; who may
see what is in tables.py, the searches are in scans.py.
"""

from __future__ import annotations

import copy
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from ..changes import QUIET, told_meanwhile
from ..errors import DuplicateRecord, InvalidQuery, InvalidRecord, ScopeRequired, UnknownRecord
from ..ports import Add, Amend, Change, Changed, Facts, Holding, Job, Learn, Receipt, Told, meets
from ..records import DERIVED, SHOWN, Record, check_owner, micros
from .scans import Graph, Lexical, Temporal, Vector
from .tables import Box, Row, Tables, Waiting, canonical, checked, own_copy, row_of, through_json, when

if TYPE_CHECKING:
    import numpy as np

    from ..query import Where

_AMENDABLE = frozenset(f.name for f in fields(Record)) - {"id", "owner"}


class InMemoryStore:
    """Every port of `recollect.ports`, in dictionaries. Threads may share one; processes can't."""

    def __init__(self) -> None:
        self._box = Box()
        self.lexical = Lexical(self._box)
        self.vector = Vector(self._box)
        self.temporal = Temporal(self._box)
        self.graph = Graph(self._box)
        self.outbox = _Outbox(self._box)
        self.notes = _Notes(self._box)
        self.feed = _Feed(self._box)

    def write(self, owner: str, changes: Iterable[Change]) -> Receipt:
        """All changes or none, in order. A repeated Add of the same content does nothing at all."""
        check_owner(owner)
        done: Counter[str] = Counter()
        with self._box.change() as tables:
            for change in changes:
                done.update(_apply(tables, owner, change))
        gone = done["records"] + done["derived"]
        removed = {name: done[name] for name in ("records", "vectors", "jobs")} if gone else {}
        removed |= {"derived": done["derived"]} if done["derived"] else {}
        return Receipt(done["added"], done["amended"], removed, done["unchanged"])

    def told(self, owner: str, digests: Sequence[bytes], now: int) -> dict[bytes, int]:
        """Keys of the records that were told so and may still be repeated."""
        told = {digest: self._box.read().told.get((owner, digest), (0, now)) for digest in digests}
        return {digest: key for digest, (key, until) in told.items() if until > now}

    def resolve(self, where: Where, ids: Sequence[str]) -> dict[str, int]:
        """Keys of the ids that `where` lets through; an id that is also the tenant's means the owner's own."""
        wanted = set(ids)
        rows = [row for row in self._box.read().seen(where) if row.record.id in wanted]
        return {row.record.id: row.key for row in sorted(rows, key=lambda row: row.record.owner == where.owner)}

    def select(self, where: Where, *, order: str, limit: int, after: int | None = None) -> list[int]:
        """Keys in `newest`, `oldest`, `turns` or `latest` order, those behind `after` only; it must be among them still."""
        if order not in _ORDERS:
            raise InvalidQuery(f"order={order!r:.40} is unknown.", hint=f"Use {', '.join(_ORDERS)}.")

        def place(row: Row) -> tuple:
            return (*_ORDERS[order](row.record), row.record.id, row.record.owner != where.owner)

        keys = [row.key for row in sorted(self._box.read().seen(where), key=place, reverse=order == "latest")]
        if after is not None and after not in keys:
            raise UnknownRecord("The record to go on after has gone.", hint="Start from the beginning.")
        start = 0 if after is None else keys.index(after) + 1
        return keys[start : start + max(0, limit)]

    def turns(self, where: Where, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Keys of the owner's turns with these sessions and numbers, in sight; of several in one place, the one stored last."""
        rows = [row for row in self._box.read().seen(where) if row.record.owner == where.owner and row.record.role == "turn"]
        found = {(row.record.session, row.record.turn): row.key for row in sorted(rows, key=lambda row: row.key)}
        return {place: found[place] for place in places if place in found}

    def roles(self, where: Where) -> frozenset[str]:
        """The roles that records in sight may have."""
        return frozenset(row.record.role for shelf in self._box.read().shelves(where) for row in shelf)

    def facts(self, keys: Sequence[int]) -> dict[int, Facts]:
        """What scoring needs of each key; a key that is not there, or has gone meanwhile, is absent."""
        rows = self._box.read().rows
        return {key: _facts(rows[key].record) for key in keys if key in rows}

    def records(self, keys: Sequence[int]) -> list[Record]:
        """In the order of the keys; a key that has gone meanwhile is left out. What you get is yours to change."""
        rows = self._box.read().rows
        return [own_copy(rows[key].record) for key in keys if key in rows]

    def holdings(self, owner: str, ids: Sequence[str] | None = None) -> Iterator[Holding]:
        """The owner's own records with their vectors and what waits for one, in the order they were added."""
        tables, wanted = self._box.read(), None if ids is None else set(ids)
        vectors, waiting = _by_record(tables)
        for row in sorted(tables.shelf(owner), key=lambda row: row.key):
            if wanted is None or row.record.id in wanted:
                yield Holding(own_copy(row.record), vectors[row.key], tuple(sorted(waiting[row.key])))

    def owners(self) -> list[str]:
        """Everybody who has a record or a setting here, in order."""
        tables = self._box.read()
        holders = {row.record.owner for row in tables.rows.values()}
        return sorted(holders | {owner for owner, held in tables.settings.items() if held})

    def settings(self, owner: str, change: Mapping[str, object | None] | None = None) -> dict[str, object]:
        """The owner's settings, after the change if one is given (None removes a key)."""
        check_owner(owner)
        if change is None:
            return copy.deepcopy(self._box.read().settings.get(owner, {}))
        with self._box.change() as tables:
            after = {**tables.settings.get(owner, {}), **change}
            tables.settings[owner] = through_json({k: v for k, v in after.items() if v is not None}, "settings")
        return self.settings(owner)

    def status(self, owner: str) -> dict[str, object]:
        """Counts of the owner's own records, vectors and waiting jobs."""
        tables = self._box.read()
        mine = {row.key: row for row in tables.shelf(owner)}
        shown = [row.record for row in mine.values() if row.record.role in SHOWN]
        counts = Counter((space, view) for key, space, view in tables.vectors if key in mine)
        return {
            "records": len(shown),
            "by_kind": dict(sorted(Counter(record.kind for record in shown).items())),
            "derived": sum(row.record.role == DERIVED for row in mine.values()),
            "vectors": [{"space": space, "view": view, "count": n} for (space, view), n in sorted(counts.items())],
            "waiting": self.outbox.waiting(owner),
        }

    def close(self) -> None:
        """Forget everything. Closing twice is fine; anything else afterwards is StoreClosed."""
        self._box.close()


_ORDERS = {
    "newest": lambda record: (-when(record),),
    "oldest": lambda record: (when(record),),
    "turns": lambda record: (record.session or "", record.turn or 0, micros(record.recorded_at)),
    "latest": lambda record: (record.session or "", record.turn or 0, micros(record.recorded_at)),
}


def _facts(record: Record) -> Facts:
    return Facts(
        when(record), record.kind, record.role, record.session, record.turn, record.quality, record.reinforced, record.id
    )  # fmt: skip


def _apply(tables: Tables, owner: str, change: Change) -> dict[str, int]:
    if isinstance(change, Add):
        return _add(tables, owner, change)
    row = tables.find(owner, change.id)
    if isinstance(change, Learn):
        return _learn(tables, owner, row, change)
    if row is None:
        raise UnknownRecord(f"{owner!r} has no record {change.id!r:.80}.", hint="Ids belong to one owner; list what is there.")
    meets(change, row.record)
    return _amend(tables, row, change) if isinstance(change, Amend) else _forget(tables, row)


def _learn(tables: Tables, owner: str, row: Row | None, change: Learn) -> Counter[str]:
    """Fields, facts and amendments, unless the text is no longer what it was learned from; the job goes in any case."""
    tables.jobs.pop(change.job, None)
    if row is None or row.record.text != change.text:
        return Counter()
    done = Counter(_amend(tables, row, Amend(id=change.id, fields=change.fields, pending=change.pending)))
    ids = {fact.id for fact in change.facts}
    for old in tables.derived(owner, change.id):
        if old.key in tables.rows and old.record.id not in ids and old.record.kind == "relationship":
            done.update(_forget(tables, old))
    for fact in change.facts:
        if tables.find(owner, fact.id) is None:
            done.update(_add(tables, owner, Add(record=fact)))
    for amend in change.amends:
        if older := tables.find(owner, amend.id):
            done.update(_amend(tables, older, amend))
    return done


def _add(tables: Tables, owner: str, change: Add) -> dict[str, int]:
    record = canonical(change.record)
    _check_shelf(owner, record)
    there = tables.find(record.owner, record.id)
    if there is not None and replace(there.record, recorded_at=record.recorded_at) == record:
        return {"unchanged": 1}
    if there is not None:
        raise DuplicateRecord(f"{record.id!r:.80} is there already and differs.", hint="Amend it, or choose another id.")
    tables.last_key += 1
    if change.told is not None:
        _tell(tables, record.owner, change.told)
    tables.keys[record.owner, record.id] = tables.last_key
    row = tables.rows[tables.last_key] = row_of(tables.last_key, record)
    tables.tell(row)
    for (space, view), vector in (change.vectors or {}).items() if record.role != DERIVED else ():
        _put_vector(tables, row, space, view, vector)
    _queue(tables, row, [place for place in change.pending if place not in (change.vectors or {})])
    return {"added": 1}


def _tell(tables: Tables, owner: str, told: Told) -> None:
    """Note that the newest record was told so; what may no longer be repeated goes."""
    _drop(tables.told, [place for place, (_, until) in tables.told.items() if until <= told.now])
    if (owner, told.digest) in tables.told:
        raise told_meanwhile()
    tables.told[owner, told.digest] = tables.last_key, told.until


def _untell(tables: Tables, key: int) -> None:
    _drop(tables.told, [place for place, (of, _) in tables.told.items() if of == key])


def _amend(tables: Tables, row: Row, change: Amend) -> dict[str, int]:
    wrong = sorted(set(change.fields) - _AMENDABLE)
    if wrong:
        raise InvalidRecord(f"{wrong[0]!r} can't be amended.", hint="Any field of a record can, but id and owner.")
    after = tables.rows[row.key] = row_of(row.key, canonical(replace(row.record, **change.fields)))
    if not change.fields.keys() <= QUIET:
        _untell(tables, row.key)
    tables.tell(after)

    def stale(view: str, space: str) -> bool:
        return after.record.role == DERIVED or row.record.embedded(view, space) != after.record.embedded(view, space)

    _drop(tables.vectors, [place for place in tables.vectors if place[0] == row.key and stale(place[2], place[1])])
    _drop(tables.jobs, [n for n, w in tables.jobs.items() if w.job.key == row.key and stale(w.job.view, w.space)])
    given = (change.vectors or {}) if after.record.role != DERIVED else {}
    for (space, view), vector in given.items():
        _put_vector(tables, after, space, view, vector)
    _drop(tables.jobs, [n for n, w in tables.jobs.items() if w.job.key == row.key and (w.space, w.job.view) in given])
    _queue(tables, after, [place for place in change.pending if place not in given])
    return {"amended": 1}


def _forget(tables: Tables, row: Row) -> Counter[str]:
    """The record, and everything derived from it."""
    done, going = Counter(_remove(tables, row)), [row]
    while going:
        gone = going.pop().record
        derived = tables.derived(gone.owner, gone.id)
        for row in derived:
            done.update(_remove(tables, row))
        going += derived
    return done


def _remove(tables: Tables, row: Row) -> dict[str, int]:
    del tables.rows[row.key], tables.keys[row.record.owner, row.record.id]
    tables.tell(row)
    _untell(tables, row.key)
    vectors = _drop(tables.vectors, [place for place in tables.vectors if place[0] == row.key])
    jobs = _drop(tables.jobs, [number for number, w in tables.jobs.items() if w.job.key == row.key])
    return {"derived" if row.record.role == DERIVED else "records": 1, "vectors": vectors, "jobs": jobs}


def _drop(table: dict, keys: list) -> int:
    for key in keys:
        del table[key]
    return len(keys)


def _queue(tables: Tables, row: Row, places: Sequence[tuple[str, str]]) -> None:
    """A job for each (space, view) that has a text; one that was put back starts afresh, one that is leased goes on."""
    waiting = {(w.space, w.job.view): number for number, w in tables.jobs.items() if w.job.key == row.key} if places else {}
    for space, view in dict.fromkeys(places):
        text = row.record.embedded(view, space)
        number = waiting.get((space, view), tables.last_job + 1)
        if text and not (number in tables.jobs and tables.jobs[number].leased):
            tables.last_job = max(tables.last_job, number)
            tables.jobs[number] = Waiting(job=Job(number, row.key, view, text, 0), space=space)


def _by_record(tables: Tables) -> tuple[dict[int, dict], dict[int, list]]:
    """By key: the vectors of a record, and the places that wait for one."""
    vectors, waiting = defaultdict(dict), defaultdict(list)
    for (key, space, view), vector in tables.vectors.items():
        vectors[key][space, view] = vector.copy()
    for one in tables.jobs.values():
        waiting[one.job.key].append((one.space, one.job.view))
    return vectors, waiting


def _put_vector(tables: Tables, row: Row, space: str, view: str, vector: np.ndarray) -> None:
    tables.vectors[row.key, space, view] = checked(vector, tables.dimension(space))
    tables.tell(row)


def _check_shelf(owner: str, record: Record) -> None:
    """A user may add to the shelf of the tenant, but only what the whole tenant shares."""
    shared = record.owner == owner.split("/", 1)[0] and record.kind == "identity"
    if record.owner != owner and not shared:
        raise ScopeRequired(
            f"{owner!r} can't write a {record.kind} record of {record.owner!r:.80}.",
            hint="Write as that owner; only identity records of the tenant, the path's first name, are shared.",
        )


class _Notes:
    def __init__(self, box: Box) -> None:
        self._box = box

    def get(self, kind: str, name: str, now: int) -> dict[str, Any] | None:
        return self.all(kind, now).get(name)

    def all(self, kind: str, now: int) -> dict[str, dict[str, Any]]:
        notes = sorted(self._box.read().notes.items())
        return {name: json.loads(text) for (of, name), (text, until) in notes if of == kind and (until is None or until > now)}

    def add(self, kind: str, name: str, value: Mapping[str, Any], now: int, until: int | None = None) -> bool:
        with self._box.change() as tables:
            _drop(tables.notes, [key for key, (_, end) in tables.notes.items() if end is not None and end <= now])
            there = (kind, name) in tables.notes
            tables.notes.setdefault((kind, name), (json.dumps(value), until))
        return not there

    def put(self, kind: str, name: str, value: Mapping[str, Any], until: int | None = None) -> None:
        with self._box.change() as tables:
            tables.notes[kind, name] = json.dumps(value), until

    def drop(self, kind: str, name: str) -> None:
        with self._box.change() as tables:
            tables.notes.pop((kind, name), None)


class _Feed:
    def __init__(self, box: Box) -> None:
        self._box = box

    def mark(self, owner: str) -> str:
        return f"{self._box.id}:{self._box.read().log.get(owner, (0, ()))[0]}"

    def since(self, owner: str, mark: str) -> Changed | None:
        count, keys = self._box.read().log.get(owner, (0, ()))
        id, _, seen = mark.partition(":")
        news = count - int(seen) if id == self._box.id else -1
        return Changed(list(dict.fromkeys(keys[len(keys) - news :])), f"{id}:{count}") if 0 <= news <= len(keys) else None


class _Outbox:
    def __init__(self, box: Box) -> None:
        self._box = box

    def claim(self, owner: str | None, space: str, limit: int, now: int, lease: int) -> list[Job]:
        """Due jobs in the order they were queued, with which attempt this is; until the lease ends nobody else gets them."""
        with self._box.change() as tables:
            due = [n for n, w in sorted(tables.jobs.items()) if w.space == space and w.due <= now and _of(tables, w, owner)]
            jobs = [_one_more_attempt(tables.jobs[number].job) for number in due[: max(0, limit)]]
            tables.jobs |= {job.number: Waiting(job=job, space=space, due=now + lease, leased=True) for job in jobs}
        return jobs

    def settle(self, space: str, done: Sequence[tuple[Job, np.ndarray | None]]) -> int:
        """Store the vectors of jobs that still wait (a changed or forgotten text has none) and drop the jobs."""
        stored = 0
        with self._box.change() as tables:
            for job, vector in done:
                waiting = tables.jobs.get(job.number)
                if waiting is not None and (waiting.space, waiting.job.text) == (space, job.text):
                    if vector is not None:
                        _put_vector(tables, tables.rows[job.key], space, job.view, vector)
                    del tables.jobs[job.number]
                    stored += 1
        return stored

    def postpone(self, jobs: Sequence[Job], due: int, error: str) -> None:
        """Put jobs back, not before `due`; those that are done or gone stay so."""
        with self._box.change() as tables:
            for number in [job.number for job in jobs if job.number in tables.jobs]:
                tables.jobs[number] = replace(tables.jobs[number], due=due, error=error, leased=False)

    def waiting(self, owner: str | None, space: str | None = None) -> int:
        """How many jobs are not done, leased ones included."""
        tables = self._box.read()
        return sum((space is None or w.space == space) and _of(tables, w, owner) for w in tables.jobs.values())

    def known(self, space: str, texts: Sequence[str]) -> Mapping[str, np.ndarray]:
        """Vectors held for exactly these texts, whichever record or view they belong to."""
        tables = self._box.read()
        mine = {(key, view): vector for (key, of, view), vector in tables.vectors.items() if of == space}
        held = {tables.rows[key].record.embedded(view, space): vector for (key, view), vector in mine.items()}
        return {text: held[text].copy() for text in texts if text in held}


def _one_more_attempt(job: Job) -> Job:
    return job._replace(attempts=job.attempts + 1)


def _of(tables: Tables, waiting: Waiting, owner: str | None) -> bool:
    return owner is None or tables.rows[waiting.job.key].record.owner == owner
