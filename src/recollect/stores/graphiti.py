"""Graphiti as a graph index beside a store, over FalkorDB or Neo4j: what records say, as its episodes, entities and facts.

A record becomes an episode without its text, a name an entity, a link (and an alias) a fact between two, in a group an owner.
They are written by Graphiti's own bulk writer, and found by its own search: BM25 over names and facts, and breadth-first from
there. No language model and no embedder is asked, and its telemetry is never started, because the class that starts it is not
used. Graphiti nominates names and records; what they are worth is decided by the store (walking.py). Its search is its own: names
it does not find by words, misspelt ones for instance, are not nominated.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from ..errors import MissingExtra
from ..names import bare_words
from ..ports import Holding
from ..records import moment
from .cypher import named_in
from .payload import Sight, code_of, moments_of, word
from .web import Entry, entry_of

FOUND = 100  # entities and facts of one search
ALIAS = "IS_ALSO_CALLED"
NOTHING = [0.0]  # in place of an embedding: nothing here compares any
MARK = "MATCH (s:RecollectShelf {owner: $owner}) RETURN s.mark AS mark"
SETTLE = "MERGE (s:RecollectShelf {owner: $owner}) SET s.mark = $mark"
KEYS = "MATCH (e:Episodic {group_id: $group}) RETURN e.name AS name"
DROP_FACTS = "MATCH (:Entity)-[f:RELATES_TO {group_id: $group}]->(:Entity) WHERE f.recollect_record IN $keys DELETE f"
DROP_EPISODES = "MATCH (e:Episodic {group_id: $group}) WHERE e.name IN $names DETACH DELETE e"
SWEEP = "MATCH (n:Entity {group_id: $group}) WHERE NOT (:Episodic)-[:MENTIONS]->(n) DETACH DELETE n"
SAYING = (
    "MATCH (e:Episodic)-[:MENTIONS]->(n:Entity) WHERE n.group_id IN $groups AND e.group_id = n.group_id "
    "AND n.recollect_key IN $names WITH n, e ORDER BY e.recollect_order DESC "
    "RETURN n.recollect_key AS name, collect(e.name)[0..$most] AS records"
)
ORDER = "MATCH (e:Episodic {group_id: $group}) WHERE e.name IN $names SET e.recollect_order = toInteger(e.name)"


class GraphitiIndex:
    """See the module and `ports.GraphIndex`. `make` opens Graphiti's driver, on the thread of its own event loop."""

    remote = True

    def __init__(self, make: Callable[[Any], Any], name: str, *, timeout: float) -> None:
        try:
            import graphiti_core.nodes
            import httpx  # noqa: F401  (which graphiti-core needs and does not ask for)
        except ImportError:
            raise MissingExtra("Graphiti is not installed.", hint='Install it: pip install "recollect[graphiti]".') from None
        self.name, self._make, self._timeout = name, make, timeout
        self._core = graphiti_core
        self._loop: asyncio.AbstractEventLoop | None = None
        self._driver: Any = None
        self._opening = threading.Lock()

    def mark(self, owner: str) -> str:
        rows = self._query(MARK, owner=word(owner))
        return str(rows[0]["mark"]) if rows else ""

    def put(self, owner: str, held: Mapping[int, Holding], gone: Sequence[int]) -> None:
        group, keys = _group(owner), [*held, *gone]
        said = {key: (one, entry) for key, one in held.items() if (entry := entry_of(one.record)).mentions or entry.ties}
        names = [str(key) for key in keys]
        self._query(DROP_FACTS, group=group, keys=keys)
        self._query(DROP_EPISODES, group=group, names=names)
        if said:
            self._run(lambda driver: self._write(driver, group, said))
            self._query(ORDER, group=group, names=names)
        self._query(SWEEP, group=group)

    def settle(self, owner: str, mark: str) -> None:
        self._query(SETTLE, owner=word(owner), mark=mark)

    def candidates(self, sight: Sight, text: str) -> list[str]:
        """Names of the entities and facts that Graphiti's hybrid search finds."""
        asked = " ".join([text, *bare_words(text)])  # as written, and as keys of names are, which the summaries hold
        return self._names(self._run(lambda driver: self._search(driver, asked, _groups(sight), None, 1)))

    def around(self, sight: Sight, names: Sequence[str], hops: int, most: int) -> list[str]:
        """Names that Graphiti's breadth-first search reaches from these."""
        origins = [_uuid(group, name) for group in _groups(sight) for name in names]
        return self._names(self._run(lambda driver: self._search(driver, ".", _groups(sight), origins, hops)))[:most]

    def saying(self, sight: Sight, names: Sequence[str], most: int) -> dict[str, list[int]]:
        """By name, the records that mention it, those added last first."""
        found: dict[str, list[int]] = {}
        for row in self._query(SAYING, groups=_groups(sight), names=list(map(word, names)), most=4 * most):
            found.setdefault(str(row["name"]), []).extend(map(int, row["records"]))
        return found

    def keys(self, owner: str) -> list[int]:
        return [int(row["name"]) for row in self._query(KEYS, group=_group(owner))]

    def close(self) -> None:
        with self._opening:
            if self._loop is not None:
                asyncio.run_coroutine_threadsafe(_closed(self._driver), self._loop).result(self._timeout)
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._loop = self._driver = None

    async def _write(self, driver: Any, group: str, said: Mapping[int, tuple[Holding, Entry]]) -> None:
        from graphiti_core.utils.bulk_utils import add_nodes_and_edges_bulk

        made = _Made(self._core, group)
        for key, (one, entry) in said.items():
            made.add(key, one, entry)
        await add_nodes_and_edges_bulk(driver, made.episodes, made.mentions, list(made.entities.values()), made.facts, None)

    async def _search(self, driver: Any, text: str, groups: list[str], origins: list[str] | None, hops: int) -> Any:
        from graphiti_core.search import search_config as c
        from graphiti_core.search.search import search
        from graphiti_core.search.search_filters import SearchFilters

        edges = c.EdgeSearchConfig(search_methods=[c.EdgeSearchMethod.bm25, c.EdgeSearchMethod.bfs], bfs_max_depth=hops)
        nodes = c.NodeSearchConfig(search_methods=[c.NodeSearchMethod.bm25, c.NodeSearchMethod.bfs], bfs_max_depth=hops)
        config = c.SearchConfig(edge_config=edges, node_config=nodes, limit=FOUND)
        clients = SimpleNamespace(driver=driver, embedder=None, cross_encoder=None, tracer=None, max_coroutines=None)
        return await search(clients, text, groups, config, SearchFilters(), bfs_origin_node_uuids=origins)

    def _names(self, found: Any) -> list[str]:
        names = [node.attributes.get("recollect_key", "") for node in found.nodes]
        names += [edge.attributes.get(end, "") for edge in found.edges for end in ("recollect_from", "recollect_to")]
        return list(dict.fromkeys(filter(None, names)))

    def _query(self, text: str, **given: Any) -> list[Mapping[str, Any]]:
        async def query(driver: Any) -> list[Mapping[str, Any]]:
            result = await driver.execute_query(text, **given)
            return [dict(row) for row in result[0]] if result else []

        return self._run(query)

    def _run(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        """On the loop's thread, in time."""
        with self._opening:
            if self._loop is None:
                self._open()
        return asyncio.run_coroutine_threadsafe(_awaited(work, self._driver), self._loop).result(self._timeout)

    def _open(self) -> None:
        loop = asyncio.new_event_loop()
        threading.Thread(target=_looping, args=(loop,), name="recollect-graphiti", daemon=True).start()

        async def opened() -> Any:
            driver = self._make(self._core)
            if getattr(driver, "_init_task", None) is not None:
                await driver._init_task  # its indexes: a search before they are there fails
            return driver

        try:
            self._driver = asyncio.run_coroutine_threadsafe(opened(), loop).result(self._timeout)
        except BaseException:
            loop.call_soon_threadsafe(loop.stop)
            raise
        self._loop = loop


class _Made:
    """Graphiti's nodes and edges for some records of one owner."""

    def __init__(self, core: Any, group: str) -> None:
        from graphiti_core import edges, nodes

        self.nodes, self.edges, self.group = nodes, edges, group
        self.episodes: list[Any] = []
        self.entities: dict[str, Any] = {}
        self.mentions: list[Any] = []
        self.facts: list[Any] = []

    def add(self, key: int, held: Holding, entry: Entry) -> None:
        """A record: its episode, the names it says, its links and aliases."""
        record, group = held.record, self.group
        when = moment(moments_of(record)["recorded"])
        episode = _uuid(group, f"record {key}")
        self.episodes.append(
            self.nodes.EpisodicNode(
                uuid=episode, name=str(key), group_id=group, source=self.nodes.EpisodeType.text, source_description="recollect",
                content="", created_at=when, valid_at=record.at or when,
            )
        )  # fmt: skip
        for name, spelled in named_in(entry).items():
            attributes = {"recollect_key": word(name)}
            self.entities[name] = self.nodes.EntityNode(
                uuid=_uuid(group, name), name=word(spelled), group_id=group, created_at=when, name_embedding=NOTHING,
                summary=word(name), attributes=attributes,
            )  # fmt: skip
            ends = {"source_node_uuid": episode, "target_node_uuid": _uuid(group, name)}
            self.mentions.append(
                self.edges.EpisodicEdge(uuid=_uuid(group, f"says {key} {name}"), group_id=group, created_at=when, **ends)
            )
        for number, tie in enumerate(entry.ties):
            said = f"{tie.link.subject} {tie.link.predicate} {tie.link.object}"
            times = {"valid_at": tie.link.valid_from, "invalid_at": tie.link.valid_to}
            self._fact(f"link {key} {number}", tie.link.predicate, said, tie.subject, tie.object, key, episode, when, times)
        for one in entry.mentions:
            for alias, spelled in one.aliases:
                if alias and alias != one.key:
                    said = f"{one.entity.name} {ALIAS} {spelled}"
                    self._fact(f"alias {key} {one.key} {alias}", ALIAS, said, one.key, alias, key, episode, when, {})

    def _fact(self, id: str, name: str, said: str, subject: str, object: str, key: int, episode: str, when, times) -> None:
        self.facts.append(
            self.edges.EntityEdge(
                uuid=_uuid(self.group, id), group_id=self.group, created_at=when, name=word(name), fact=word(said),
                fact_embedding=NOTHING, episodes=[episode], source_node_uuid=_uuid(self.group, subject),
                target_node_uuid=_uuid(self.group, object), **times,
                attributes={"recollect_record": key, "recollect_from": word(subject), "recollect_to": word(object)},
            )
        )  # fmt: skip


async def _awaited(work: Callable[[Any], Awaitable[Any]], driver: Any) -> Any:
    return await work(driver)


async def _closed(driver: Any) -> None:
    await driver.close()


def _looping(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


def _group(owner: str) -> str:
    """Graphiti takes letters, digits, dashes and underscores."""
    return code_of(owner)


def _groups(sight: Sight) -> list[str]:
    return [_group(sight.owner), *([_group(sight.tenant)] if sight.tenant is not None else [])]


def _uuid(group: str, name: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"recollect:{group}:{word(name)}"))
