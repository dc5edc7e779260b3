"""FalkorDB through its own client: a graph in Redis. Each statement is a transaction by itself; all of them can be repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from ..errors import MissingExtra

INDEXES = (
    "CREATE INDEX FOR (r:RecollectRecord) ON (r.owner, r.key)",
    "CREATE INDEX FOR (n:RecollectName) ON (n.owner, n.key, n.first, n.last, n.start, n.head, n.tail)",
    "CREATE INDEX FOR (s:RecollectShelf) ON (s.owner)",
)


class Falkor:
    """See the module and `cypher.Driver`. `where`: host, port, username, password."""

    remote = True

    def __init__(self, where: Mapping[str, Any], graph: str, *, timeout: float) -> None:
        try:
            import falkordb
        except ImportError:
            raise MissingExtra("FalkorDB needs its client.", hint='Install it: pip install "recollect[falkor]".') from None
        self._open = lambda: falkordb.FalkorDB(**where, socket_timeout=timeout, socket_connect_timeout=timeout)
        self._name, self._client, self._graph = graph, None, None
        self._opening = Lock()

    def run(self, statements: Sequence[tuple[str, Mapping[str, Any]]]) -> list[list[Sequence[Any]]]:
        graph = self._connected()
        return [graph.query(text, params=dict(given)).result_set for text, given in statements]

    def close(self) -> None:
        if self._client is not None:
            self._client.connection.close()
            self._client = self._graph = None

    def _connected(self) -> Any:
        with self._opening:
            if self._graph is None:
                client = self._open()
                self._graph = _indexed(client.select_graph(self._name))
                self._client = client
            return self._graph


def _indexed(graph: Any) -> Any:
    for statement in INDEXES:
        try:
            graph.query(statement)
        except Exception as error:  # its way of saying that there is one
            if "already indexed" not in str(error):
                raise
    return graph
