"""The vectors of an open store, in memory, searched exactly and fast.

A lane is one owner's view in one space (an embedder's fingerprint): one contiguous block, so no search needs a filter to
stay within its owner. Small lanes are scanned as they are. From `CODED` records on, codes of a few bits (TurboQuant, Zandieh
et al. 2025, by way of the turbovec package) nominate candidates and the float32 vectors decide; how many candidates are
nominated follows from the error seen in this very query. Without turbovec every lane is scanned exactly: slower, same answers.

What it is not: the truth. It is loaded from the store's rows and can be thrown away at any time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ..errors import InvalidVector

CODED = 4096  # vectors from which scanning codes beats scanning float32 (scripts/bench prints where)
PATIENCE = 2  # searches a lane is scanned as it is: making codes takes longer than a few scans, and may never be paid back
HELD_BYTES = 256 << 20  # float32 kept in memory for a coded lane; beyond it finalists are read from the file
STAGED = 32_768  # vectors from which turbovec's own first pass is coarser. Below, three bits take half the time of four
# Kept between an estimate and a cosine, in standard errors; nominated beyond the number asked for; nominated at least, since what
# the coarser pass leaves out no margin brings back. Measured on random vectors, the hard case.
MARGINS = {3: (3.0, 34, 0), 4: (4.0, 8, 0), "staged": (8.0, 8, 64)}
MOST_NOMINATED = 4096
Fetch = Callable[[Sequence[int]], Mapping[int, np.ndarray]]


class Lane:
    """One block of unit vectors, in order of arrival; `slots[i]` says whose row i is, `rows[slot]` is the way back.

    `wide`: so many times as many nominees as are compared are asked for, of a lane that is `STAGED`.
    """

    def __init__(self, number: int, space: str, view: str, dimension: int, fetch: Fetch, wide: int = 1) -> None:
        self.number, self.space, self.view, self.dimension = number, space, view, dimension
        self.fetch, self.wide = fetch, wide
        self.count = 0
        self.slots = np.zeros(0, np.int32)
        self.rows = np.full(0, -1, np.int32)
        self.dead = np.zeros(0, bool)
        self.gone = 0
        self.block: np.ndarray | None = np.zeros((0, dimension), np.float32)
        self.codes = None
        self._asked = 0

    def __len__(self) -> int:
        return self.count - self.gone

    def reserve(self, count: int, slots: int) -> None:
        """Make room for about so many vectors, of so many slots: growing with them copies them again and again."""
        self._grow(min(count, HELD_BYTES // (4 * self.dimension)), slots)

    def put(self, slots: Sequence[int], block: np.ndarray) -> None:
        """Add or replace vectors."""
        slots = np.asarray(slots, np.int64)
        first, count = self.count, self.count + len(slots)
        self._grow(count, int(slots.max()) + 1)
        for slot in slots[self.rows[slots] >= 0].tolist():
            self.drop(slot)
        self.slots[first:count] = slots
        self.rows[slots] = np.arange(first, count)
        self.count = count
        if self.block is not None:
            self.block[first:count] = block
        if self.codes is not None and self.codes.bit_width == 3 and count >= STAGED:
            self.codes = None  # made anew, with four bits, when it is next searched
        elif self.codes is not None:
            self.codes.add(_padded(block))

    def drop(self, slot: int) -> None:
        """Forget a vector; its row stays empty until the lane is loaded anew."""
        if slot < len(self.rows) and self.rows[slot] >= 0:
            self.dead[self.rows[slot]] = True
            self.rows[slot] = -1
            self.gone += 1

    def nearest(
        self, query: np.ndarray, k: int, threshold: float | None, mask: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Slots whose cosine reaches the k-th best (ties included) and the threshold, with the cosines; in no order."""
        self._asked += 1
        if self.codes is None and self.count >= CODED and self._asked > PATIENCE:
            self._encode()
            self._let_go()
        allowed = self._allowed(mask)
        if allowed is not None and not allowed.any():
            return np.empty(0, np.int64), np.empty(0)
        rows, cosines = (self._scan if self.codes is None else self._nominate)(query, k, allowed)
        return best(self.slots[rows].astype(np.int64), cosines, k, threshold)

    def vectors(self, slots: Iterable[int]) -> dict[int, np.ndarray]:
        """The unit vectors of some slots."""
        there = [slot for slot in slots if slot < len(self.rows) and self.rows[slot] >= 0]
        if self.block is None:
            return dict(self.fetch(there))
        return {slot: self.block[self.rows[slot]] for slot in there}

    def lacking(self, size: int) -> np.ndarray:
        """Which of the first so many slots have no vector here."""
        free = np.ones(size, bool)
        known = self.rows[:size]
        free[: len(known)] = known < 0
        return free

    def nbytes(self) -> int:
        held = 0 if self.block is None else self.block.nbytes
        return held + self.count * (9 + (self.dimension // 2 if self.codes is not None else 0))

    def _allowed(self, mask: np.ndarray | None) -> np.ndarray | None:
        if mask is None and not self.gone:
            return None
        alive = ~self.dead[: self.count]
        return alive if mask is None else alive & mask[self.slots[: self.count]]

    def _scan(self, query: np.ndarray, k: int, allowed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        cosines = self.block[: self.count] @ query
        if allowed is not None:
            cosines[~allowed] = -9.0
            k = min(k, int(np.count_nonzero(allowed)))
        floor = -9.0 if len(cosines) <= k else max(_kth(cosines, k) - 2e-6, -8.0)  # float32 noise must not decide a tie
        rows = np.flatnonzero(cosines >= floor)
        return rows, self._exact(rows, query)

    def _nominate(self, query: np.ndarray, k: int, allowed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        room = self.count if allowed is None else int(np.count_nonzero(allowed))
        staged = self.count >= STAGED
        sigmas, more, least = MARGINS["staged" if staged else self.codes.bit_width]
        wanted, wide = min(room, max(k + max(more, k // 4), least)), self.wide if staged else 1
        asked = _padded(query[None, :])
        while True:
            estimates, rows = self.codes.search(asked, k=min(room, wide * wanted), mask=allowed)
            estimates, rows = estimates[0][:wanted], rows[0][:wanted]
            cosines = self._exact(rows, query)
            if wanted >= room:
                return rows, cosines
            if wanted >= MOST_NOMINATED:  # a crowd of equals, say: then look at everything, if we hold it
                return (rows, cosines) if self.block is None else self._scan(query, k, allowed)
            error = cosines - estimates
            if _kth(cosines, min(k, 10)) - estimates[-1] >= sigmas * math.sqrt(error @ error / wanted):
                return rows, cosines
            wanted = min(room, wanted * 4)

    def _exact(self, rows: np.ndarray, query: np.ndarray) -> np.ndarray:
        if self.block is not None:
            block = self.block[rows]
        else:
            slots = self.slots[rows]
            found = self.fetch(slots.tolist())
            nothing = np.zeros(self.dimension, np.float32)  # forgotten by somebody since we last looked
            block = np.array([found.get(int(slot), nothing) for slot in slots], np.float32)
        return (block.astype(np.float64) @ query.astype(np.float64)).round(6)

    def _encode(self) -> None:
        """Make codes of what is there, when the package that makes them is."""
        try:
            from turbovec import TurboQuantIndex
        except ImportError:
            return
        coarse = self.count < STAGED and STAGED * self.dimension * 4 <= HELD_BYTES
        codes = TurboQuantIndex(-(-self.dimension // 8) * 8, 3 if coarse else 4)
        codes.add(_padded(self.block[: self.count]))
        codes.prepare()
        self.codes = codes

    def _let_go(self) -> None:
        """Of the float32, when they are many and codes stand in for them."""
        if self.codes is not None and self.block is not None and self.block.nbytes > HELD_BYTES:
            self.block = None

    def _grow(self, count: int, slots: int) -> None:
        if slots > len(self.rows):
            more = max(slots, len(self.rows) * 5 // 4, 16) - len(self.rows)
            self.rows = np.concatenate([self.rows, np.full(more, -1, np.int32)])
        if count <= len(self.slots):
            return
        room = max(count, len(self.slots) * 5 // 4, 16)
        self.slots = np.concatenate([self.slots, np.zeros(room - len(self.slots), np.int32)])
        self.dead = np.concatenate([self.dead, np.zeros(room - len(self.dead), bool)])
        if self.block is None:
            return
        if room * self.dimension * 4 > HELD_BYTES and self.codes is None and self.count:
            self._encode()
        if self.codes is not None and room * self.dimension * 4 > HELD_BYTES:
            self.block = None
            return
        block = np.empty((room, self.dimension), np.float32)
        block[: self.count] = self.block[: self.count]
        self.block = block


def best(slots: np.ndarray, cosines: np.ndarray, k: int, threshold: float | None) -> tuple[np.ndarray, np.ndarray]:
    """What reaches the threshold and the k-th best, ties included."""
    if threshold is not None:
        keep = cosines >= threshold
        slots, cosines = slots[keep], cosines[keep]
    if len(cosines) > k:
        keep = cosines >= _kth(cosines, k)
        slots, cosines = slots[keep], cosines[keep]
    return slots, cosines


def _kth(values: np.ndarray, k: int) -> float:
    """The k-th largest of at least so many."""
    values = values.copy()
    values.partition(len(values) - k)
    return values.item(len(values) - k)


def usable(vector: object) -> np.ndarray:
    """A vector as float32, little-endian; refuses what no search could use."""
    vector = np.asarray(vector, "<f4")
    if vector.ndim != 1 or not len(vector) or not 0.0 < float(vector @ vector) < float("inf"):
        raise InvalidVector(
            "A vector must be a row of finite numbers, not all zero.", hint="Look for NaN or infinity in what the model returned."
        )
    return vector


def _padded(block: np.ndarray) -> np.ndarray:
    """turbovec wants a width that is a multiple of eight; zeros change no inner product."""
    extra = -block.shape[1] % 8
    block = np.ascontiguousarray(block, np.float32)
    return np.pad(block, ((0, 0), (0, extra))) if extra else block
