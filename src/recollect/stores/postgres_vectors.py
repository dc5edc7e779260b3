"""pgvector's type in psycopg: bytes as we keep them, float32 in the machine's order, there and back, never as text."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import psycopg

_HEAD = struct.Struct(">HH")  # dimension, unused


class Floats(bytes):
    """A vector on its way to the server: float32, little-endian."""


def as_sent(vector: bytes) -> bytes:
    """A vector as the server takes it in."""
    numbers = np.frombuffer(vector, "<f4")
    return _HEAD.pack(len(numbers), 0) + numbers.astype(">f4").tobytes()


def block_of(sent: bytes, count: int) -> bytes:
    """So many vectors of one length, as the server sends them one after the other."""
    numbers = np.frombuffer(sent, np.uint8).reshape(count, -1)[:, _HEAD.size :]
    return np.ascontiguousarray(numbers).view(">f4").astype("<f4").tobytes()


class VectorType:
    """The type of one database: its number differs from one to the next."""

    def __init__(self, oid: int) -> None:
        from psycopg.adapt import Buffer, Dumper, Loader
        from psycopg.pq import Format

        class Dump(Dumper):
            format = Format.BINARY

            def dump(self, obj: Any) -> bytes:
                return as_sent(obj)

        class Load(Loader):
            format = Format.BINARY

            def load(self, data: Buffer) -> bytes:
                return np.frombuffer(data, ">f4", offset=_HEAD.size).astype("<f4").tobytes()

        Dump.oid = oid
        self.oid, self._dump, self._load = oid, Dump, Load

    def register(self, connection: psycopg.Connection) -> None:
        """Teach it to a connection."""
        from psycopg.types import TypeInfo

        connection.adapters.register_dumper(Floats, self._dump)
        connection.adapters.register_loader(self.oid, self._load)
        connection.adapters.types.add(TypeInfo("vector", self.oid, 0))
