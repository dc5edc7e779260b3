"""Indexes by URL: `qdrant://host:6333/memories`, `qdrant-edge:///folder`, … The module that serves one is imported only now.

Every URL may carry `deadline` (seconds a question waits), `fallback` (`no`: the route fails instead of the store answering in the
index's place), and what the engine adds. docs/indexes.md has them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from ..errors import UnknownIndex

DEADLINE = 2.0
EVERYWHERE = {"deadline", "fallback"}


class Opened(NamedTuple):
    """An index with how it is asked. `search` makes the graph port of it, where it is one."""

    index: Any
    deadline: float = DEADLINE
    fallback: bool = True
    search: Callable[..., Any] | None = None


def open_vector_index(url: str) -> Opened:
    """The vector index behind a URL."""
    return _opened(url, VECTOR, "vector")


def open_graph_index(url: str) -> Opened:
    """The graph index behind a URL."""
    return _opened(url, GRAPH, "graph")


def _opened(url: str, kinds: Mapping[str, tuple[Callable, set[str]]], what: str) -> Opened:
    parts = _split(url)
    if parts.scheme not in kinds:
        raise UnknownIndex(f"No {what} index speaks {parts.scheme or url!r:.60}.", hint=f"There are {', '.join(kinds)}.")
    open_it, own = kinds[parts.scheme]
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    known = sorted(own | EVERYWHERE)
    for name in given:
        if name not in known:
            raise UnknownIndex(f"{parts.scheme} has no option {name!r:.60}.", hint=f"It has {', '.join(known)}.")
    deadline, fallback = _number(given, "deadline", DEADLINE), _choice(given, "fallback", ("yes", "no"))
    return open_it(parts, given)._replace(deadline=deadline, fallback=fallback == "yes")


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  (raises when it is no number)
    except ValueError as error:
        raise UnknownIndex(f"{url!r:.200} is no URL: {error}.", hint="See docs/indexes.md.") from None
    return parts


def _number(given: Mapping[str, str], name: str, otherwise: float) -> float:
    try:
        number = float(given.get(name, otherwise))
    except ValueError:
        number = 0.0
    if not 0 < number <= 3600:
        raise UnknownIndex(f"{name}={given[name]!r:.60} is out of range.", hint="It is a number above 0, at most 3600.")
    return number


def _choice(given: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    value = given.get(name, choices[0])
    if value not in choices:
        raise UnknownIndex(f"{name}={value!r:.60} is unknown.", hint=f"It is one of {', '.join(choices)}.")
    return value


def _qdrant(parts: SplitResult, given: Mapping[str, str]) -> Opened:
    from .qdrant import QdrantIndex
    from .qdrant_server import QdrantServer

    quantise, tls = _choice(given, "quantise", QUANTISED), _choice(given, "tls", ("no", "yes")) == "yes"
    if parts.hostname:
        scheme, port = ("https" if tls else "http"), parts.port or 6333
        where = {"url": f"{scheme}://{parts.hostname}:{port}", "api_key": unquote(parts.password) if parts.password else None}
        timeout = 4 * _number(given, "deadline", DEADLINE)
        return Opened(QdrantIndex(QdrantServer(where, quantise=quantise, timeout=timeout), parts.path.strip("/") or "recollect"))
    where = {"location": ":memory:"} if parts.path in ("memory", "") else {"path": _folder(parts)}
    return Opened(QdrantIndex(QdrantServer(where, quantise=quantise), "recollect"))


def _edge(parts: SplitResult, given: Mapping[str, str]) -> Opened:
    from .qdrant import QdrantIndex
    from .qdrant_edge import QdrantEdge

    engine = QdrantEdge(_folder(parts), quantise=_choice(given, "quantise", QUANTISED))
    return Opened(QdrantIndex(engine, "recollect", name="qdrant-edge"))


def _ivf(parts: SplitResult, given: Mapping[str, str]) -> Opened:
    from .flat_numpy import NumpyFlat
    from .ivf import IvfIndex

    return Opened(IvfIndex(NumpyFlat(), "ivf", probes=_probes(given)))


def _cuvs(parts: SplitResult, given: Mapping[str, str]) -> Opened:
    from .flat_cuda import CudaFlat
    from .ivf import IvfIndex

    return Opened(IvfIndex(CudaFlat(), "cuvs", probes=_probes(given)))


def _probes(given: Mapping[str, str]) -> int | None:
    text = given.get("probes", "")
    if text and not (text.isascii() and text.isdecimal() and int(text)):
        hint = "It is a whole number from 1; left out, it is found by trying."
        raise UnknownIndex(f"probes={text!r:.60} is out of range.", hint=hint)
    return int(text) if text else None


def _folder(parts: SplitResult) -> str:
    """`scheme:///relative/folder`, `scheme:////absolute/folder`, like sqlite's."""
    folder = unquote(parts.path).removeprefix("/")
    if parts.netloc or not folder:
        raise UnknownIndex(f"{parts.geturl()!r:.200} names no folder.", hint=f"Write {parts.scheme}:///folder, or :////var/lib/x.")
    return folder


def _neo4j(parts: SplitResult, given: Mapping[str, str]) -> Opened:
    from .cypher import CypherIndex
    from .cypher_neo4j import Neo4j
    from .walking import BesideGraph

    uri = f"{parts.scheme}://{parts.hostname or 'localhost'}:{parts.port or 7687}"
    driver = Neo4j(uri, _user(parts), parts.path.strip("/") or None, timeout=4 * _number(given, "deadline", DEADLINE))
    return Opened(CypherIndex(driver, "neo4j"), search=BesideGraph)


def _falkor(parts: SplitResult, given: Mapping[str, str]) -> Opened:
    from .cypher import CypherIndex
    from .cypher_falkor import Falkor
    from .walking import BesideGraph

    name, password = _user(parts) or (None, None)
    where = {"host": parts.hostname or "localhost", "port": parts.port or 6379, "username": name or None, "password": password}
    driver = Falkor(where, parts.path.strip("/") or "recollect", timeout=4 * _number(given, "deadline", DEADLINE))
    return Opened(CypherIndex(driver, "falkor"), search=BesideGraph)


def _graphiti(parts: SplitResult, given: Mapping[str, str]) -> Opened:
    from .graphiti import GraphitiIndex
    from .walking import BesideGraph

    scheme, (user, password) = parts.scheme.removeprefix("graphiti+"), _user(parts) or (None, None)
    database = parts.path.strip("/")

    def make(core: Any) -> Any:
        if scheme == "falkor":
            from graphiti_core.driver.falkordb_driver import FalkorDriver

            place = {"host": parts.hostname or "localhost", "port": parts.port or 6379}
            return FalkorDriver(**place, username=user or None, password=password, database=database or "recollect")
        from graphiti_core.driver.neo4j_driver import Neo4jDriver

        uri = f"{scheme}://{parts.hostname or 'localhost'}:{parts.port or 7687}"
        return Neo4jDriver(uri, user, password, database or "neo4j")

    return Opened(GraphitiIndex(make, "graphiti", timeout=4 * _number(given, "deadline", DEADLINE)), search=BesideGraph)


def _user(parts: SplitResult) -> tuple[str, str] | None:
    return None if parts.password is None else (unquote(parts.username or ""), unquote(parts.password))


QUANTISED = ("none", "int8", "binary")
VECTOR: dict[str, tuple[Callable[..., Opened], set[str]]] = {
    "qdrant": (_qdrant, {"quantise", "tls"}),
    "qdrant-edge": (_edge, {"quantise"}),
    "ivf": (_ivf, {"probes"}),
    "cuvs": (_cuvs, {"probes"}),
}
NEO4J = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")
GRAPH: dict[str, tuple[Callable[..., Opened], set[str]]] = {
    **{scheme: (_neo4j, set()) for scheme in NEO4J},
    "falkor": (_falkor, set()),
    **{f"graphiti+{scheme}": (_graphiti, set()) for scheme in (*NEO4J, "falkor")},
}
