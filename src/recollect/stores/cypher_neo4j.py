"""Neo4j through its own driver: statements in one transaction, tried again by the driver where the server says that helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from ..errors import MissingExtra

INDEXES = (
    "CREATE INDEX recollect_record IF NOT EXISTS FOR (r:RecollectRecord) ON (r.owner, r.key)",
    "CREATE INDEX recollect_name IF NOT EXISTS FOR (n:RecollectName) ON (n.owner, n.key)",
    "CREATE INDEX recollect_shelf IF NOT EXISTS FOR (s:RecollectShelf) ON (s.owner)",
    *(f"CREATE INDEX recollect_{cue} IF NOT EXISTS FOR (n:RecollectName) ON (n.owner, n.{cue})"
      for cue in ("first", "last", "start", "head", "tail")),
)  # fmt: skip


class Neo4j:
    """See the module and `cypher.Driver`. `uri` is as the driver takes it: neo4j://, neo4j+s://, bolt://, …"""

    remote = True

    def __init__(self, uri: str, auth: tuple[str, str] | None, database: str | None, *, timeout: float) -> None:
        try:
            import neo4j
        except ImportError:
            raise MissingExtra("Neo4j needs its driver.", hint='Install it: pip install "recollect[neo4j]".') from None
        self._neo4j = neo4j
        self._open = lambda: neo4j.GraphDatabase.driver(
            uri, auth=auth, connection_timeout=timeout, connection_acquisition_timeout=timeout,
            max_transaction_retry_time=timeout, notifications_min_severity=neo4j.NotificationMinimumSeverity.OFF,
            telemetry_disabled=True,
        )  # fmt: skip
        self._database, self._driver = database, None
        self._opening = Lock()

    def run(self, statements: Sequence[tuple[str, Mapping[str, Any]]]) -> list[list[Sequence[Any]]]:
        def work(transaction: Any) -> list[list[Sequence[Any]]]:
            return [[record.values() for record in transaction.run(text, dict(given))] for text, given in statements]

        with self._connected().session(database=self._database) as session:
            return session.execute_write(work)

    def close(self) -> None:
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def _connected(self) -> Any:
        with self._opening:
            if self._driver is None:
                driver = self._open()
                try:
                    with driver.session(database=self._database) as session:
                        for statement in INDEXES:
                            session.run(statement).consume()
                except Exception:
                    driver.close()
                    raise
                self._driver = driver
            return self._driver

