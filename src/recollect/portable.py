"""A memory as lines of JSON, out and in again, to the last bit: for `export` and `import`, between machines, stores and owners.

    {"recollect": {"format": 1, "owner": "alice", "settings": {…}}}
    {"id": "m1", "text": "She moved to Goa.", …, "vectors": {space: {view: base64 of float32}}, "waiting": {space: [view]}}
    {"recollect": {"end": 1}}

One record a line, whole in itself: every field, versions and validity included, its vectors in every space, and what waits for
one. The first line and the last tell a whole file from a cut one; a line written by hand needs only `text`, and a file needs
neither of the two. Both directions hold little at a time. Not here: what records do to those that are there (`moving`).
"""

from __future__ import annotations

import binascii
import dataclasses
import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import IO, TYPE_CHECKING, Any

from . import __version__
from .errors import InvalidRecord, InvalidVector, NewerSchema, RecollectError
from .ingest import FIELDS, record_of
from .parts import SEPARATOR
from .ports import Holding
from .records import PART, VIEWS, Record, Scope, micros, moment
from .wire import record_json

if TYPE_CHECKING:
    import numpy as np

    from .memory import Memory

FORMAT = 1
OWN = frozenset(field.name for field in dataclasses.fields(Record))
CARRIED = frozenset({"vectors", "waiting"})
MARK = "recollect"  # the only field of the first line and the last: no record has it
A_LINE = 'A line is one record, such as {"text": "She moved to Goa."}.'
AGAIN = "Mend the line, or leave it out, and import the file again: what is there already is left alone."
OFTEN = 100  # lines between two words about how far it is
UNIT = 1e-3  # how far from length one a vector may be


def export(
    memory: Memory,
    stream: IO[bytes],
    *,
    vectors: bool = True,
    ascii_only: bool = False,
    done: Callable[[int], object] | None = None,
) -> int:
    """Write all of a memory's owner to a stream; returns how many records. `done` is told now and then how far it is."""
    count, held = 0, memory.settings()["set"]
    for line in lines_of(memory.holdings(), memory.scope.owner, held, vectors=vectors, ascii_only=ascii_only):
        stream.write(line.encode() + b"\n")
        count += 1
        if done is not None and count % OFTEN == 0:
            done(count)
    return count - 2  # the first line and the last are no records


def load(memory: Memory, lines: Iterable[str | bytes], *, vectors: bool = True, settings: bool = True) -> dict[str, int]:
    """Take in what an export holds, or lines written by hand; InvalidRecord if it turns out to have been longer once.

    Counts records `added`, `unchanged`, and `differing`: there with other content, and left as they are. The same holds for
    settings: those the owner has already stay.
    """
    reading = read_lines(lines, memory.scope, memory.now(), vectors=vectors)
    counts = memory.take(reading)
    held = memory.settings()["set"]
    if settings and (missing := {name: value for name, value in reading.settings.items() if name not in held}):
        memory.update_settings(**missing)
    if reading.lost:
        raise InvalidRecord(
            f"Something is missing: {reading.lost}. What it holds was remembered.",
            hint="Get the whole file and import it again: what is there already is left alone.",
        )
    return counts


def lines_of(
    holdings: Iterable[Holding], owner: str, settings: Mapping[str, Any], *, vectors: bool = True, ascii_only: bool = False
) -> Iterator[str]:
    """A whole export, line by line without the lines' ends. `ascii_only`: what a terminal may be shown."""
    head = {"format": FORMAT, "version": __version__, "owner": owner, "settings": dict(settings)}
    yield _packed({MARK: head}, ascii_only)
    count = 0
    for holding in holdings:
        count += 1
        yield line_of(holding, vectors=vectors, ascii_only=ascii_only)
    yield _packed({MARK: {"end": count}}, ascii_only)


def line_of(holding: Holding | Record, *, vectors: bool = True, ascii_only: bool = False) -> str:
    """A record as a line, with what belongs to it."""
    if isinstance(holding, Record):
        return _packed(record_json(holding), ascii_only)
    table, carried = record_json(holding.record), _nested(holding) if vectors else {}
    return _packed(table | {name: value for name, value in carried.items() if value}, ascii_only)


class Reading:
    """Lines as holdings, which become the scope's; the errors name the line. What else a file says is here when it is read."""

    def __init__(self, lines: Iterable[str | bytes], scope: Scope, now: datetime, *, vectors: bool = True) -> None:
        self.lines, self.scope, self.now, self.vectors = lines, scope, now, vectors
        self.settings: dict[str, Any] = {}
        self.lost = ""  # what shows that there once was more, if anything does
        self._open, self._seen = False, 0

    def __iter__(self) -> Iterator[Holding]:
        for number, line in _numbered(self.lines):
            try:
                holding = self._read(_decoded(line, number)) if line.strip() else None
            except RecollectError as error:
                raise type(error)(f"Line {number}: {error.message}", hint=error.hint) from None
            if holding is not None:
                yield holding
        if self._open:
            self.lost = f"the file ends after {self._seen:,} records, without the line that says it is whole"

    def _read(self, line: str) -> Holding | None:
        table = _table(line)
        if MARK in table:
            self._marked(table[MARK])
            return None
        self._seen += 1
        return holding_of(table, line, self.scope, self.now, vectors=self.vectors)

    def _marked(self, said: Any) -> None:
        if not isinstance(said, dict) or not ("end" in said or isinstance(said.get("format"), int)):
            raise InvalidRecord("this is neither the first line of an export nor its last.", hint=AGAIN)
        if "end" in said:
            if said["end"] != self._seen:
                self.lost = f"the file holds {self._seen:,} records and was written with {said['end']!r:.20}"
            self._open, self._seen = False, 0
            return
        if said["format"] > FORMAT:
            raise NewerSchema(
                f"The file has format {said['format']}; this recollect reads formats up to {FORMAT}.", hint="Upgrade recollect."
            )
        if self._open:
            self.lost = "one export ends, without the line that says it is whole, where another begins"
        self._open, self._seen = True, 0
        self.settings |= said["settings"] if isinstance(said.get("settings"), dict) else {}


def read_lines(lines: Iterable[str | bytes], scope: Scope, now: datetime, *, vectors: bool = True) -> Reading:
    """What these lines hold, one after the other."""
    return Reading(lines, scope, now, vectors=vectors)


def record_of_line(line: str, scope: Scope, now: datetime) -> Record:
    """The record of a line, checked like anything that is remembered."""
    return holding_of(_table(line), line, scope, now).record


def holding_of(table: Mapping[str, Any], line: str, scope: Scope, now: datetime, *, vectors: bool = True) -> Holding:
    """A line's table as a holding, every field checked."""
    unknown = sorted(set(table) - OWN - FIELDS - CARRIED)
    if unknown:
        raise InvalidRecord(f"A record has no field {unknown[0]!r:.60}.", hint=f"It has {', '.join(sorted(OWN | CARRIED))}.")
    stamps = _stamps(table, now)
    draft = {name: value for name, value in table.items() if name in FIELDS - CARRIED and name != "text" and name not in stamps}
    draft["id"] = draft.get("id") or _name_of(line)
    stamps |= _parts_names(draft)
    if "at" in table and table["at"] is None:
        draft["at"] = "ageless"
    record = record_of(table.get("text"), scope, now, micros(now), str, draft)
    record = dataclasses.replace(record, **stamps)
    return Holding(record, _vectors(table), _waiting(table)) if vectors else Holding(record, {}, ())


def _nested(holding: Holding) -> dict[str, dict[str, Any]]:
    """Vectors and waiting texts, by space and view."""
    vectors: dict[str, dict[str, str]] = {}
    waiting: dict[str, list[str]] = {}
    for (space, view), vector in sorted(holding.vectors.items()):
        vectors.setdefault(space, {})[view] = b64encode(vector.astype("<f4").tobytes()).decode()
    for space, view in holding.waiting:
        waiting.setdefault(space, []).append(view)
    return {"vectors": vectors, "waiting": waiting}


def _vectors(table: Mapping[str, Any]) -> dict[tuple[str, str], np.ndarray]:
    return {
        (space, view): _vector(packed)
        for space, views in _spaces(table, "vectors", dict) for view, packed in _views(views).items()
    }  # fmt: skip


def _waiting(table: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (space, view) for space, views in _spaces(table, "waiting", list) for view in _views(dict.fromkeys(map(str, views)))
    )


def _spaces(table: Mapping[str, Any], name: str, kind: type) -> Iterator[tuple[str, Any]]:
    given = {} if table.get(name) is None else table[name]
    if not isinstance(given, dict):
        raise InvalidRecord(f"{name} is no table of spaces.", hint="Leave it out, or write what recollect export writes.")
    for space, views in given.items():
        if not (0 < len(space) <= 400 and space.isprintable() and isinstance(views, kind)):
            raise InvalidRecord(f"{name} of {space!r:.60} can't be read.", hint="Leave it out: the text is embedded again.")
        yield space, views


def _views(views: Mapping[str, Any]) -> Mapping[str, Any]:
    if wrong := sorted(set(views) - set(VIEWS)):
        raise InvalidRecord(f"There is no view {wrong[0]!r:.60}.", hint=f"The views are {', '.join(VIEWS)}.")
    return views


def _vector(packed: Any) -> np.ndarray:
    """A vector as it was: float32, little-endian, length one."""
    import numpy as np

    try:
        vector = np.frombuffer(b64decode(packed, validate=True), "<f4")
    except (TypeError, ValueError, binascii.Error):
        raise InvalidVector("a vector is not what it was: it can't be read.", hint=AGAIN) from None
    with np.errstate(all="ignore"):
        norm = float(np.sqrt(vector.astype(np.float64) @ vector.astype(np.float64)))
    if not abs(norm - 1.0) <= UNIT:
        raise InvalidVector(f"a vector is not what it was: its length is {norm:.6g}, not 1.", hint=AGAIN)
    return vector


def _numbered(lines: Iterable[str | bytes]) -> Iterator[tuple[int, str | bytes]]:
    number = 0
    try:
        for number, line in enumerate(lines, 1):
            yield number, line
    except (EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk's trouble, not the file's
            raise
        raise InvalidRecord(
            f"Line {number + 1}: the compressed file is damaged or cut short there ({error}).",
            hint="Get the whole file and import it again: what is there already is left alone.",
        ) from None


def _decoded(line: str | bytes, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8") if isinstance(line, bytes) else line
    except UnicodeDecodeError:
        raise InvalidRecord("this is not UTF-8 text.", hint="Import a file that recollect export wrote.") from None


def _table(line: str) -> Mapping[str, Any]:
    try:
        table = json.loads(line)
    except (ValueError, RecursionError):
        cut = "" if line.endswith(("\n", "}")) else " Perhaps the file was cut off here."
        raise InvalidRecord(f"this is not JSON.{cut}", hint=A_LINE) from None
    if not isinstance(table, dict):
        raise InvalidRecord("this is not a record.", hint=A_LINE)
    return table


def _stamps(table: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """What only a record that was kept can have. An old version may have held for no time at all, so its end is not compared."""
    newer = table.get("superseded_by")
    if newer is not None and (not isinstance(newer, str) or len(newer) > 200):
        raise InvalidRecord(
            f"superseded_by={newer!r:.60} is not an id.", hint="Leave it out, or give the id of the newer record."
        )
    kept = table.get("recorded_at") is not None
    names = ("recorded_at", "superseded_at", "valid_to") if kept else ("recorded_at", "superseded_at")
    times = {name: moment(micros(table.get(name), name)) for name in names}
    return times | {"recorded_at": times["recorded_at"] or now, "superseded_by": newer}


def _parts_names(draft: dict[str, Any]) -> dict[str, str]:
    """The id of a part, taken out of the draft: only what this package cut has a separator in it, no id that is given may."""
    whole, separator, number = str(draft["id"]).rpartition(SEPARATOR)
    if not separator or draft.get("role") != PART or not (number.isdecimal() and number.isascii() and len(number) < 10):
        return {}
    name, draft["id"] = draft["id"], whole  # the rest of it is checked like any
    return {"id": name}


def _name_of(line: str) -> str:
    """The id of a line that has none: the same line, the same id."""
    return blake2b(line.strip().encode("utf-8", "replace"), digest_size=14).hexdigest()


def _packed(table: Mapping[str, Any], ascii_only: bool) -> str:
    return json.dumps(table, ensure_ascii=ascii_only, separators=(",", ":"))
