"""What a caller may ask for, as the values the engine takes; or the error that names the field and the cure.

Only what narrows a question is read here. Whose records may be seen at all follows from the scope, never from what is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .errors import InvalidQuery
from .ingest import unit
from .ports import Store
from .query import Query, Where
from .rankings import Hit
from .recipes import Recipe
from .records import KINDS, ROLES, Record, Scope, micros

LONGEST_QUESTION = 20_000
Named = str | Record | Hit  # what stands for a record: its id, itself, or where it was found


def question_of(text: Any) -> str:
    """A question as text the engine can work with: cut, and without half surrogate pairs."""
    if not isinstance(text, str):
        raise InvalidQuery(f"A question is text, not {type(text).__name__}.", hint='recall("Where do they live?")')
    return text[:LONGEST_QUESTION].encode("utf-8", "replace").decode()


def vectors_of(vectors: Any, views: Iterable[str]) -> dict[str, Any]:
    """Vectors given with a question: by view, or one for all views that are searched."""
    given = {} if vectors is None else vectors if isinstance(vectors, Mapping) else dict.fromkeys(views, vectors)
    return {view: unit(numbers) for view, numbers in given.items()}


def sight(scope: Scope, now: int, /, *, shared: bool = False, **narrower: Any) -> Where:
    """What may be seen, and no other: whose it is follows from the scope alone. `shared`: also what the tenant shares."""
    own = {"agent": scope.agent, "projects": (scope.project,) if scope.project else ()}
    tenant = scope.tenant if shared else None
    return Where(owner=scope.owner, tenant=tenant, now=now, **{**own, **where_fields(narrower)})


def query_of(
    text: Any, recipe: Recipe, scope: Scope, store: Store, now: int, /, *, limit: int | None = None, first_turn: bool = False,
    session: str | None = None, vectors: Any = None, **narrower: Any,
) -> Query:  # fmt: skip
    """A question as a value: what is asked, by whom, what may be seen."""
    text = question_of(text)
    session = name_of("session", session) or scope.session
    if recipe.scope == "project" and session and not narrower.get("sessions") and not narrower.get("projects"):
        narrower |= _project_of(store, scope, now, session)
    views = {route.view for route in recipe.routes if route.kind == "vector"}
    return Query(
        text=text, scope=scope, where=sight(scope, now, **narrower), limit=limit_of(recipe.limit if limit is None else limit),
        first_turn=first_turn, vectors=vectors_of(vectors, views),
    )  # fmt: skip


def _project_of(store: Store, scope: Scope, now: int, session: str) -> dict[str, Any]:
    """All sessions of the project when the session belongs to one, else the session alone."""
    keys = store.select(sight(scope, now, sessions=(session,), timeless=True), order="newest", limit=1)
    projects = {record.project for record in store.records(keys)} - {None}
    return {"projects": tuple(projects)} if projects else {"sessions": (session,)}


def where_fields(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Filters as a `Where` takes them, or the error that names the field."""
    ready: dict[str, Any] = {}
    for name, value in asked.items():
        if name in ("kinds", "roles", "sessions", "projects"):
            ready[name] = _words(name, value)
        elif name == "exclude":
            ready[name] = frozenset(
                _words(name, [id_of(item) for item in _sequence(name, value)])
            )
        elif name in ("as_of", "since"):
            ready[name] = _instant(name, value)
        elif name == "agent":
            ready[name] = name_of(name, value)
        elif name == "timeless" and isinstance(value, bool):
            ready[name] = value
        else:
            raise InvalidQuery(
                f"There is no filter {name}={value!r:.60}.", hint="See the documentation of recall for those there are."
            )
    return ready


def _words(name: str, value: Any) -> tuple[str, ...]:
    words = tuple(_sequence(name, value))
    if not all(isinstance(word, str) for word in words):
        raise InvalidQuery(f"{name}={value!r:.60} is not a list of names.", hint=f'Write {name}=["a", "b"].')
    known = {"kinds": KINDS, "roles": ROLES}.get(name, words)
    unknown = [word for word in words if word not in known]
    if unknown:
        raise InvalidQuery(f"There is no {name[:-1]} {unknown[0]!r:.60}.", hint=f"The {name} are {', '.join(known)}.")
    return words


def _sequence(name: str, value: Any) -> Iterable[Any]:
    if value is None:
        return ()
    if isinstance(value, (str, Record, Hit)):
        return (value,)
    if not isinstance(value, Iterable):
        raise InvalidQuery(f"{name}={value!r:.60} is not a list of names.", hint=f'Write {name}=["a", "b"].')
    return value


def id_of(named: Any) -> Any:
    """The id of a record or a hit; anything else as it is."""
    return named.id if isinstance(named, (Record, Hit)) else named


def name_of(name: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InvalidQuery(f"{name}={value!r:.60} is not a name.", hint=f'Write {name}="a".')
    return value


def _instant(name: str, value: Any) -> int | None:
    try:
        return micros(value, name)
    except ValueError as error:
        raise InvalidQuery(str(error)) from None


def limit_of(limit: Any, most: int = 1000) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= most:
        raise InvalidQuery(f"limit={limit!r:.40} can't be used.", hint=f"It is a whole number from 1 to {most:,}.")
    return limit


def days_of(name: str, days: Any) -> float | None:
    if days is not None and (isinstance(days, bool) or not isinstance(days, (int, float)) or not 0 <= days <= 366_000):
        raise InvalidQuery(f"{name}={days!r:.40} can't be used.", hint="It is a number of days from 0.")
    return days


def hops_of(hops: Any) -> int:
    if isinstance(hops, bool) or not isinstance(hops, int) or not 1 <= hops <= 5:
        raise InvalidQuery(f"hops={hops!r:.40} can't be used.", hint="It is a whole number from 1 to 5.")
    return hops
