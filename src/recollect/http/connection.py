"""A connection that doesn't wait for ever: uvicorn's, with an end to everything a client may draw out.

uvicorn waits without end for a request line, for headers, and for a client that does not read its answer. Here each has a
deadline, and headers a length. The body's deadline and length are the gate's.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

HEAD_SECONDS, READ_SECONDS = 10.0, 20.0
HEAD_BYTES = 64 << 10  # the gate is stricter; this ends what never comes so far
CONNECTIONS = 1024


class Connection(HttpToolsProtocol):
    """See the module."""

    _waiting: asyncio.TimerHandle | None = None  # for the end of the headers
    _stuck: asyncio.TimerHandle | None = None  # for the client to read
    _head: int | None = 0  # bytes of the headers so far; None behind them

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            transport.abort()
            return
        _at_once(transport.get_extra_info("socket"))
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._waiting, self._stuck = _ended(self._waiting), _ended(self._stuck)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._head is not None and not self.transport.is_closing():
            self._head += len(data)
            if self._head > HEAD_BYTES:
                self.transport.write(STATUS_LINE[431] + b"content-length: 0\r\nconnection: close\r\n\r\n")
                self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._waiting is None:  # a further request on this connection
            self._expect_head()

    def on_headers_complete(self) -> None:
        self._waiting, self._head = _ended(self._waiting), None
        super().on_headers_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stuck = self._stuck or self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stuck = _ended(self._stuck)

    def _expect_head(self) -> None:
        self._head = 0
        self._waiting = self.loop.call_later(HEAD_SECONDS, self.transport.abort)


def _at_once(wire: Any) -> None:
    """Send what is written without waiting for more.

    asyncio sees to it only for sockets that it made itself: on ours a second write would wait for the client's delayed
    acknowledgement of the first, which is 40 ms on Linux.
    """
    with suppress(OSError, AttributeError):
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _ended(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
