"""A server that speaks Bolt 5.4, Neo4j's protocol, as far as its driver needs: handshake, authentication, transactions, results.

The shapes are those a Neo4j 5 server sends (protocol documentation, and the driver's own expectations); what statements mean is
left to a `cypher_twin.Twin`. `log` holds the messages that came.
"""

from __future__ import annotations

import io
import socket
import socketserver
import struct
import threading
from typing import Any

VERSION = b"\x00\x00\x04\x05"
HELLO, GOODBYE, RESET, RUN, BEGIN, COMMIT, ROLLBACK, DISCARD, PULL = 0x01, 0x02, 0x0F, 0x10, 0x11, 0x12, 0x13, 0x2F, 0x3F
TELEMETRY, ROUTE, LOGON, LOGOFF = 0x54, 0x66, 0x6A, 0x6B
SUCCESS, RECORD, IGNORED, FAILURE = b"\x70", b"\x71", b"\x7e", b"\x7f"


class FakeBolt(socketserver.ThreadingTCPServer):
    """Serves a twin on a free port of this machine until it is closed. `password`: what LOGON must bring."""

    allow_reuse_address = daemon_threads = True

    def __init__(self, twin: Any, *, password: str = "", port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Conversation)
        self.twin, self.password = twin, password
        self.log: list[tuple[int, list]] = []
        self.schema: list[str] = []
        self.lock = threading.Lock()
        self._open: set[socket.socket] = set()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def port(self) -> int:
        return self.server_address[1]

    def hang_up(self) -> None:
        """As a server that is killed."""
        for one in list(self._open):
            one.close()

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self.hang_up()


class _Conversation(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.server._open.add(self.request)
        try:
            assert self._read(4) == b"\x60\x60\xb0\x17", "not Bolt"
            self._read(16)
            self.request.sendall(VERSION)
            self._converse()
        except (ConnectionError, OSError, struct.error):
            pass
        finally:
            self.server._open.discard(self.request)

    def _converse(self) -> None:
        rows: list[list[Any]] = []
        broken = False
        while True:
            tag, fields = self._message()
            self.server.log.append((tag, fields))
            if tag == GOODBYE:
                return
            if broken and tag != RESET:
                self._send(IGNORED)
                continue
            broken = False
            if tag == LOGON and self.server.password and fields[0].get("credentials") != self.server.password:
                self._send(FAILURE, {"code": "Neo.ClientError.Security.Unauthorized", "message": "The client is unauthorized."})
                broken = True
            elif tag == RUN:
                rows, broken = self._run(*fields[:2])
            elif tag in (PULL, DISCARD):
                for row in rows if tag == PULL else ():
                    self._send(RECORD, row)
                self._send(SUCCESS, {"type": "rw", "t_last": 0, "db": "neo4j"})
            else:
                self._send(SUCCESS, self._answer(tag))

    def _answer(self, tag: int) -> dict[str, Any]:
        if tag == HELLO:
            return {"server": "Neo4j/5.26.0", "connection_id": "bolt-1", "hints": {"connection.recv_timeout_seconds": 120}}
        if tag == ROUTE:
            place = [f"127.0.0.1:{self.server.port}"]
            servers = [{"addresses": place, "role": role} for role in ("ROUTE", "READ", "WRITE")]
            return {"rt": {"ttl": 300, "db": "neo4j", "servers": servers}}
        return {"bookmark": "neo4j:1"} if tag == COMMIT else {}

    def _run(self, text: str, given: dict[str, Any]) -> tuple[list[list[Any]], bool]:
        if text.startswith("CREATE INDEX"):
            self.server.schema.append(text)
            rows: list[list[Any]] = []
        else:
            try:
                with self.server.lock:
                    rows = self.server.twin.one(text, given)
            except Exception as error:
                self._send(FAILURE, {"code": "Neo.DatabaseError.General.UnknownError", "message": str(error)})
                return [], True
        width = len(rows[0]) if rows else 0
        self._send(SUCCESS, {"fields": [f"f{number}" for number in range(width)], "t_first": 0, "qid": 0})
        return rows, False

    def _message(self) -> tuple[int, list]:
        body = b""
        while True:
            (size,) = struct.unpack(">H", self._read(2))
            if size:
                body += self._read(size)
            elif body:
                break
        count, tag = body[0] & 0x0F, body[1]
        rest = io.BytesIO(body[2:])
        return tag, [unpacked(rest) for _ in range(count)]

    def _send(self, tag: bytes, *fields: Any) -> None:
        data = bytes([0xB0 | len(fields)]) + tag + b"".join(map(packed, fields))
        pieces = [data[start : start + 0xFFFF] for start in range(0, len(data), 0xFFFF)]
        self.request.sendall(b"".join(struct.pack(">H", len(piece)) + piece for piece in pieces) + b"\x00\x00")

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.request.recv(size - len(data))
            if not more:
                raise ConnectionError("hung up")
            data += more
        return data


def packed(value: Any) -> bytes:
    """PackStream, in its longest forms, which are always right."""
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        return b"\xcb" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"\xc1" + struct.pack(">d", value)
    if isinstance(value, str):
        return b"\xd2" + struct.pack(">I", len(data := value.encode())) + data
    if isinstance(value, list):
        return b"\xd6" + struct.pack(">I", len(value)) + b"".join(map(packed, value))
    return b"\xda" + struct.pack(">I", len(value)) + b"".join(packed(key) + packed(one) for key, one in value.items())


SIZED = {0xD0: ("s", ">B"), 0xD1: ("s", ">H"), 0xD2: ("s", ">I"), 0xD4: ("l", ">B"), 0xD5: ("l", ">H"), 0xD6: ("l", ">I"),
         0xD8: ("m", ">B"), 0xD9: ("m", ">H"), 0xDA: ("m", ">I")}  # fmt: skip
NUMBERS = {0xC8: ">b", 0xC9: ">h", 0xCA: ">i", 0xCB: ">q", 0xC1: ">d"}


def unpacked(stream: io.BytesIO) -> Any:
    """A value off the stream."""
    mark = stream.read(1)[0]
    if mark in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[mark]
    if mark in NUMBERS:
        return struct.unpack(form := NUMBERS[mark], stream.read(struct.calcsize(form)))[0]
    if mark < 0x80 or mark >= 0xF0:
        return mark if mark < 0x80 else mark - 0x100
    if mark in SIZED:
        kind, form = SIZED[mark]
        size = struct.unpack(form, stream.read(struct.calcsize(form)))[0]
    else:
        kind, size = {0x80: "s", 0x90: "l", 0xA0: "m"}[mark & 0xF0], mark & 0x0F
    if kind == "s":
        return stream.read(size).decode()
    return [unpacked(stream) for _ in range(size)] if kind == "l" else {unpacked(stream): unpacked(stream) for _ in range(size)}
