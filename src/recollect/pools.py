"""How many candidates a step of the read path looks at: a number, a multiple of the limit, or the larger of the two."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .errors import InvalidRecipe
from .recipe_fields import Whole, entry, settle_all

_POOL = re.compile(r"(?:(\d{1,6})x|max\(\s*(\d{1,6})x\s*,\s*(\d{1,6})\s*\)|(\d{1,6}))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """How many candidates: so many times the limit, but at least so many. Written `4x`, `20` or `max(8x, 64)`."""

    times: int = entry(Whole(0, 1000), 0, "times the limit")
    least: int = entry(Whole(0, 100_000), 0, "but at least this many")

    def __post_init__(self) -> None:
        settle_all(self, " of a pool")
        if not self.times and not self.least:
            raise InvalidRecipe("A pool of 0 candidates finds nothing.", hint="Write 4x, 20 or max(8x, 64).")

    def size(self, limit: int) -> int:
        return max(self.times * limit, self.least)

    def __str__(self) -> str:
        if self.times and self.least:
            return f"max({self.times}x, {self.least})"
        return f"{self.times}x" if self.times else str(self.least)


@dataclass(frozen=True, slots=True)
class PoolShape:
    """A pool, its text, or a plain number of candidates."""

    range: str = "a number of candidates such as 4x, 20 or max(8x, 64)"

    def take(self, value: Any) -> Pool:
        if isinstance(value, Pool):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return Pool(least=value)
        found = _POOL.fullmatch(value) if isinstance(value, str) else None
        if not found:
            raise ValueError
        return Pool(times=int(found[1] or found[2] or 0), least=int(found[3] or found[4] or 0))

    def plain(self, value: Pool) -> str | int:
        return str(value) if value.times else value.least
