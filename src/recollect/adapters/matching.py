"""Whether a table of values is what a filter asks for. For adapters whose frameworks filter by what a record carries.

Numbers compare as numbers, also where one is written as text; what can't be compared does not match.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..errors import InvalidQuery

Compare = Callable[[Any, Any], bool]


def _ordered(compare: Compare) -> Compare:
    def compared(value: Any, wanted: Any) -> bool:
        try:
            return compare(float(value), float(wanted))
        except (TypeError, ValueError):
            return compare(value, wanted)

    return compared


COMPARE: Mapping[str, Compare] = {
    "eq": lambda value, wanted: equal(value, wanted), "ne": lambda value, wanted: not equal(value, wanted),
    **{name: _ordered(getattr(operator, short)) for name, short in (("gt", "gt"), ("gte", "ge"), ("lt", "lt"), ("lte", "le"))},
    "in": lambda value, wanted: value in wanted, "nin": lambda value, wanted: value not in wanted,
    "contains": lambda value, wanted: wanted in value,
    "icontains": lambda value, wanted: str(wanted).casefold() in str(value).casefold(),
}  # fmt: skip


def compared(name: str, value: Any, wanted: Any) -> bool:
    """One comparison by its name; InvalidQuery for one there is not."""
    if name not in COMPARE:
        raise InvalidQuery(f"A filter has no operator {name!r:.60}.", hint=f"Those are {', '.join(COMPARE)}.")
    try:
        return bool(COMPARE[name](value, wanted))
    except TypeError:
        return False


def equal(value: Any, wanted: Any) -> bool:
    """The same, in JSON's sense: a list is a list, and true is not 1."""
    if isinstance(value, (list, tuple)) and isinstance(wanted, (list, tuple)):
        return len(value) == len(wanted) and all(equal(one, other) for one, other in zip(value, wanted, strict=True))
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def matches(payload: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a table meets conditions in mem0's writing: values, operators by their names, `*`, AND, OR and NOT."""
    return all(_meets(payload, name, condition) for name, condition in wanted.items())


def _meets(payload: Mapping[str, Any], name: str, wanted: Any) -> bool:
    if name in ("AND", "OR", "NOT"):
        found = [matches(payload, one) for one in _conditions(name, wanted)]
        return all(found) if name == "AND" else any(found) if name == "OR" else not any(found)
    if isinstance(wanted, str) and wanted == "*":
        return payload.get(name) is not None
    if isinstance(wanted, Mapping):
        return all(compared(operator, payload.get(name), other) for operator, other in wanted.items())
    return equal(payload.get(name), wanted)


def _conditions(name: str, wanted: Any) -> Iterable[Mapping[str, Any]]:
    if not isinstance(wanted, (list, tuple)) or not wanted or not all(isinstance(one, Mapping) for one in wanted):
        raise InvalidQuery(f"{name} takes a list of conditions, not {wanted!r:.60}.", hint=f'{{"{name}": [{{"key": "value"}}]}}')
    return wanted
