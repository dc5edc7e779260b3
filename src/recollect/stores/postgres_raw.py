"""A statement sent by libpq itself: for the one that is sent at every write, and has forty values.

psycopg looks at each value and each type anew, which takes a third as long as the server takes to write them. Waiting, errors
and connections stay psycopg's. Not for anything else: it knows texts, numbers, bytes and vectors, and one answer of one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .postgres_vectors import Floats, as_sent

if TYPE_CHECKING:
    import psycopg

TEXT, BINARY = 0, 1
MOST_PREPARED = 100  # on a connection, each of which the server keeps: of writes of many shapes, the rest is sent as it is
_PACK = {
    str: (str.encode, BINARY),  # as a text in C it would end at a NUL
    int: (b"%d".__mod__, TEXT), float: (lambda number: repr(number).encode(), TEXT), bytes: (bytes, BINARY),
    Floats: (as_sent, BINARY), type(None): (lambda nothing: None, TEXT),
}  # fmt: skip


def counted(
    psycopg: Any, connection: psycopg.Connection, names: dict[str, bytes] | None, query: str, given: Sequence[Any]
) -> int:  # fmt: skip
    """The number that a statement answers. `names`: what this connection has prepared; None: nothing is to be.

    A KeyError means that there is a value of another kind, and nothing was sent.
    """
    packers = [_PACK[type(value)] for value in given]
    values = [pack(value) for (pack, _), value in zip(packers, given, strict=True)]
    formats, pg = [format for _, format in packers], connection.pgconn
    if names is None or (query not in names and len(names) >= MOST_PREPARED):
        pg.send_query_params(query.encode(), values, None, formats, BINARY)
    else:
        if query not in names:
            name = b"recollect_%d" % len(names)
            pg.send_prepare(name, query.encode())
            _answer(psycopg, connection)
            names[query] = name
        pg.send_query_prepared(names[query], values, formats, BINARY)
    return int.from_bytes(_answer(psycopg, connection).get_value(0, 0), "big")


def _answer(psycopg: Any, connection: psycopg.Connection) -> Any:
    result, *_ = connection.wait(psycopg.generators.execute(connection.pgconn))
    if result.status == psycopg.pq.ExecStatus.FATAL_ERROR:
        raise psycopg.errors.error_from_result(result, encoding="utf-8")
    return result
