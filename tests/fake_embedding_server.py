"""An embedding server on this machine that answers well, or as badly as it is told to.

It speaks OpenAI's and Voyage's `/embeddings`, Ollama's `/api/embed` and Cohere's `/embed`. `script` holds what to do with the
next requests, one each; when it is empty, the server behaves. A behaviour is a function of the request's handler and body.
"""

from __future__ import annotations

import json
import socket
import ssl
import tempfile
import zlib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import numpy as np

Behaviour = Callable[["Handler", dict], None]


def certified(tls: ssl.SSLContext) -> ssl.SSLContext:
    """Give a server's context the certificate below; the ssl module reads it only from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "server.pem")
        path.write_text(CERTIFICATE)
        tls.load_cert_chain(path)
    return tls


def vector(text: str, size: int) -> list[float]:
    """The vector of a text: the same whenever it is asked for, of length 1."""
    row = np.random.default_rng(zlib.crc32(text.encode())).normal(size=size)
    return (row / np.linalg.norm(row)).tolist()


class FakeServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, size: int = 8, tls=None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.size = size
        self.script: list[Behaviour] = []
        self.requests: list[tuple[str, dict, dict]] = []
        self.connections = 0
        self.released = Event()
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.server_port}"
        self._thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.released.set()
        self.shutdown()
        self._thread.join()
        self.server_close()

    def process_request(self, request, client_address):
        self.connections += 1
        super().process_request(request, client_address)

    def handle_error(self, request, client_address):
        """A client that hangs up is what these tests are about."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        behave = self.server.script.pop(0) if self.server.script else well
        behave(self, body)

    def answer(self, data: bytes, status: int = 200, headers: dict | None = None, length: int | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        self.wfile.write(data)

    def vectors(self, body: dict) -> list[list[float]]:
        size = body.get("dimensions") or body.get("output_dimension") or self.server.size
        texts = body["input"] if "input" in body else body["texts"]
        return [vector(text, self.server.size)[:size] for text in texts]

    def log_message(self, *_):
        """Say nothing."""


def shaped(handler: Handler, rows: list) -> bytes:
    """The rows as the asked API words them."""
    if handler.path.endswith("/api/embed"):
        return json.dumps({"model": "m", "embeddings": rows}).encode()
    if handler.path.endswith("/embed"):
        return json.dumps({"id": "1", "embeddings": {"float": rows}}).encode()
    return json.dumps({"data": [{"index": place, "embedding": row} for place, row in enumerate(rows)]}).encode()


def well(handler: Handler, body: dict) -> None:
    handler.answer(shaped(handler, handler.vectors(body)))


def rows(change: Callable[[list], list]) -> Behaviour:
    """Answer with other vectors than the right ones."""
    return lambda handler, body: handler.answer(shaped(handler, change(handler.vectors(body))))


def items(change: Callable[[list], object]) -> Behaviour:
    """OpenAI only: answer with other `data`."""

    def behave(handler, body):
        data = json.loads(shaped(handler, handler.vectors(body)))["data"]
        handler.answer(json.dumps({"data": change(data)}).encode())

    return behave


def text(said: bytes, status: int = 200, **headers: str) -> Behaviour:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, body: handler.answer(said, status, names)


def stall(handler: Handler, body: dict) -> None:
    """Take the request and say nothing until the test is over."""
    handler.server.released.wait(30)


def drip(handler: Handler, body: dict) -> None:
    """A byte every few milliseconds, for ever: no single wait is long."""
    handler.answer(b"", length=10_000_000)
    while not handler.server.released.wait(0.01):
        handler.wfile.write(b" ")


def drip_headers(handler: Handler, body: dict) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    while not handler.server.released.wait(0.01):
        handler.wfile.write(b"x")


def close_mid_body(handler: Handler, body: dict) -> None:
    data = shaped(handler, handler.vectors(body))
    handler.answer(data[: len(data) // 2], length=len(data))
    hang_up(handler, body)


def hang_up(handler: Handler, body: dict) -> None:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def well_then_hang_up(handler: Handler, body: dict) -> None:
    """A server that closes a kept connection without having said so."""
    well(handler, body)
    hang_up(handler, body)


def well_chunked(handler: Handler, body: dict) -> None:
    data = shaped(handler, handler.vectors(body))
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for part in (data[:10], data[10:]):
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
    handler.wfile.write(b"0\r\n\r\n")


def well_and_goodbye(handler: Handler, body: dict) -> None:
    """Connection: close, without a length."""
    handler.close_connection = True
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.write(shaped(handler, handler.vectors(body)))


# A certificate of 127.0.0.1 that nobody trusts, with its key: for these tests, and worth nothing elsewhere.
CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgr8uwioznLevorOn7
t3FTJuXHb2QCXmUc7KVHRQGMFpehRANCAAQMyuX92lN8C3VQRarqQGkGrzgSu27F
jNGn2IPtCWNNAmS0i6DnLzNV0bjbBY11cxZiNNh7QAaZIi4wyCm0fPnI
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBmjCCAT+gAwIBAgIBATAKBggqhkjOPQQDAjAaMRgwFgYDVQQDDA9yZWNvbGxl
Y3QgdGVzdHMwIBcNMDAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBoxGDAW
BgNVBAMMD3JlY29sbGVjdCB0ZXN0czBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA
BAzK5f3aU3wLdVBFqupAaQavOBK7bsWM0afYg+0JY00CZLSLoOcvM1XRuNsFjXVz
FmI02HtABpkiLjDIKbR8+cijdDByMA8GA1UdEwEB/wQFMAMBAf8wHQYDVR0OBBYE
FABS5ufi9EKO0tCff0AkGB+swT++MB8GA1UdIwQYMBaAFABS5ufi9EKO0tCff0Ak
GB+swT++MA4GA1UdDwEB/wQEAwIBhjAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49
BAMCA0kAMEYCIQCpuoE7TkE0oBD4BXbsiBj4eAs0dXl+ZvfZlROpvxk+5wIhAJez
P3ZM2QwZmA6ubMOZznouNJCLvo5a3u1rmjCf/NK9
-----END CERTIFICATE-----
"""
