"""A store that searches once: for asking one question in a hundred ways.

Recipes that differ in weights, fusion or order ask for the same rankings. Within one question every search is remembered with
its best length, since the ten best are the first ten of the thirty best: what changes between two recipes is arithmetic. The read
path runs as it is, over this store instead of another; nothing is computed differently, so nothing can come out differently.
Writing forgets it all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from ..ports import Facts, Found, Store
from ..records import Record

AHEAD = 150  # what a first search asks for at least: pools differ between recipes


class Replay:
    """See the module. What it does not know it passes on."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self._found: dict[tuple[Any, ...], tuple[int, Found]] = {}
        self._facts: dict[int, Facts] = {}
        self._records: dict[int, Record] = {}
        self._said: dict[tuple[Any, ...], Any] = {}
        for name in ("lexical", "vector", "graph", "temporal"):
            port = getattr(inner, name, None)
            if port is not None:
                setattr(self, name, Searched(port, self))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def forget(self) -> None:
        """A new question, or the store has changed."""
        for memo in (self._found, self._facts, self._records, self._said):
            memo.clear()

    def write(self, *given: Any, **named: Any) -> Any:
        self.forget()
        return self.inner.write(*given, **named)

    def facts(self, keys: Sequence[int]) -> Mapping[int, Facts]:
        missing = [key for key in keys if key not in self._facts]
        self._facts |= self.inner.facts(missing) if missing else {}
        return {key: self._facts[key] for key in keys if key in self._facts}

    def records(self, keys: Sequence[int]) -> list[Record]:
        missing = [key for key in keys if key not in self._records]
        if missing:
            facts, found = self.inner.facts(missing), {record.id: record for record in self.inner.records(missing)}
            self._records |= {key: found[facts[key].id] for key in missing if key in facts and facts[key].id in found}
        return [self._records[key] for key in keys if key in self._records]

    def select(self, where: Any, *, order: str, limit: int, after: int | None = None) -> list[int]:
        def ask() -> list[int]:
            return self.inner.select(where, order=order, limit=limit, after=after)

        return self.once(("select", where, order, limit, after), ask)

    def once(self, key: tuple[Any, ...], ask: Callable[[], Any]) -> Any:
        if key not in self._said:
            self._said[key] = ask()
        return self._said[key]

    def ranked(self, key: tuple[Any, ...], limit: int, ask: Callable[[int], Found]) -> Found:
        """The first so many of a search, which is asked again only for more than it ever was."""
        asked, found = self._found.get(key, (0, None))
        if found is None or (limit > asked and len(found.keys) >= asked):
            asked = max(limit, AHEAD)
            found = ask(asked)
            self._found[key] = asked, found
        return found._replace(keys=found.keys[:limit], scores=found.scores[:limit])


class Searched:
    """A port whose answers are remembered. What gives a `Found`, by its signature, is a search: long answers hold short ones."""

    def __init__(self, port: Any, replay: Replay) -> None:
        self._port, self._replay = port, replay
        self._wrapped: dict[str, Callable[..., Any]] = {}

    def __getattr__(self, name: str) -> Any:
        if name not in self._wrapped:
            self._wrapped[name] = self._remembering(name, getattr(self._port, name))
        return self._wrapped[name]

    def _remembering(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        takes = signature(method)
        ranks = takes.return_annotation in ("Found", Found) and "limit" in takes.parameters

        def asked(*given: Any, **named: Any) -> Any:
            arguments = takes.bind(*given, **named).arguments
            limit = arguments.pop("limit") if ranks else None
            key = (type(self._port), name, *((word, _hashable(value)) for word, value in arguments.items()))
            if limit is None:
                return self._replay.once(key, lambda: method(**arguments))
            return self._replay.ranked(key, limit, lambda longest: method(**arguments, limit=longest))

        return asked


def _hashable(value: Any) -> Any:
    """A value that can be part of a key: arrays by their bytes, lists as tuples."""
    if hasattr(value, "tobytes"):
        return value.tobytes()
    return tuple(value) if isinstance(value, list) else value
