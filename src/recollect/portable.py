"""Records as lines of JSON, out and in again: one record a line, with every field; times as ISO 8601.

For `export` and `import`, between memories, machines and owners. A line says all that a record holds, versions and validity
included. Vectors are not carried: they belong to a model, and the texts are embedded again. A line written by hand needs
only `text`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any

from .errors import InvalidRecord, RecollectError
from .ingest import FIELDS, record_of
from .records import Record, Scope, micros, moment
from .wire import record_json

OWN = frozenset(field.name for field in dataclasses.fields(Record))


def line_of(record: Record, *, ascii_only: bool = False) -> str:
    """A record as a line, without the line's end. `ascii_only`: what a terminal may be shown."""
    return json.dumps(record_json(record), ensure_ascii=ascii_only, separators=(",", ":"))


def read_lines(lines: Iterable[str | bytes], scope: Scope, now: datetime) -> Iterator[Record]:
    """The records of these lines, which become the scope's; InvalidRecord names the line that is none."""
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8") if isinstance(line, bytes) else line
            if text.strip():
                yield record_of_line(text, scope, now)
        except UnicodeDecodeError:
            raise InvalidRecord(f"Line {number} is not UTF-8 text.", hint="Import a file that recollect export wrote.") from None
        except RecollectError as error:
            raise InvalidRecord(f"Line {number}: {error.message}", hint=error.hint) from None


def record_of_line(line: str, scope: Scope, now: datetime) -> Record:
    """One record from a line, checked like anything that is remembered."""
    table = _table(line)
    unknown = sorted(set(table) - OWN - FIELDS)
    if unknown or "vectors" in table:
        raise InvalidRecord(
            f"A record has no field {(unknown or ['vectors'])[0]!r:.60}.", hint=f"It has {', '.join(sorted(OWN))}."
        )
    draft = {name: value for name, value in table.items() if name in FIELDS and name != "text"}
    draft["id"] = draft.get("id") or blake2b(line.strip().encode("utf-8", "replace"), digest_size=14).hexdigest()
    if "at" in table and table["at"] is None:
        draft["at"] = "ageless"
    record = record_of(table.get("text"), scope, now, micros(now), str, draft)
    return dataclasses.replace(record, **_stamps(table, now))


def _table(line: str) -> Mapping[str, Any]:
    try:
        table = json.loads(line)
    except (ValueError, RecursionError):
        raise InvalidRecord("this is not JSON.", hint='A line is one record, such as {"text": "She moved to Goa."}.') from None
    if not isinstance(table, dict):
        raise InvalidRecord("this is not a record.", hint='A line is one record, such as {"text": "She moved to Goa."}.')
    return table


def _stamps(table: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    newer = table.get("superseded_by")
    if newer is not None and (not isinstance(newer, str) or len(newer) > 200):
        raise InvalidRecord(
            f"superseded_by={newer!r:.60} is not an id.", hint="Leave it out, or give the id of the newer record."
        )
    return {
        "recorded_at": moment(micros(table.get("recorded_at"), "recorded_at")) or now, "superseded_by": newer,
        "superseded_at": moment(micros(table.get("superseded_at"), "superseded_at")),
    }  # fmt: skip
