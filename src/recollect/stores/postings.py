"""The words of one owner's records, in memory: BM25's exact best, fast.

What it is for: the text routes of a store that keeps packed terms in its rows. It is built from those rows when an
owner is first asked, follows appends and amendments, and can be thrown away at any time. Not for: deciding who may see what;
the caller hands in a mask.

Postings are sorted runs of (term hash, slot, frequency): few large ones, each at most a quarter as long as the one before it,
and a small dictionary for what came last (the log-structured merge of O'Neil et al. 1996, in memory). A query visits its terms
from the rarest; once no unseen record can reach the best k any more (Turtle & Flood's MaxScore, 1995), the frequent terms are
only looked up for records already seen. That is exact: nothing is approximated, sampled or cut.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

K1, B = 1.2, 0.75
SUMMED = 65_536  # postings up to which one pass over all of them is about the quickest
DENSE = 16  # so many times as many slots as postings make a pass over the slots slower than one over the postings
FEWER = 24  # so many times fewer records are looked up in a list one by one
SLACK = 1e-9  # more than the order of additions can move a score
TOUCHED = 1e-12  # less than any word is worth
TAIL = 512  # records kept in the dictionary before they become a run
Posted = tuple[np.ndarray, np.ndarray]  # slots, and how often each holds the term
_NOTHING = (np.empty(0, np.int32), np.empty(0, np.uint8))
Held = tuple[np.ndarray, np.ndarray, float]  # a term's slots, its frequencies there, its idf


class Run:
    """Immutable postings, sorted by term and slot."""

    __slots__ = ("frequencies", "hashes", "slots", "starts")

    def __init__(self, hashes: np.ndarray, slots: np.ndarray, frequencies: np.ndarray) -> None:
        """From parallel arrays that are sorted by (hash, slot)."""
        first = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1]]) if len(hashes) else np.empty(0, np.int64)
        self.hashes = hashes[first]
        self.starts = np.r_[first, len(hashes)]
        self.slots = slots
        self.frequencies = frequencies

    def __len__(self) -> int:
        return len(self.slots)

    def find(self, terms: np.ndarray) -> list[tuple[int, int]]:
        """Where the postings of each term begin and end."""
        if not len(self.hashes):
            return [(0, 0)] * len(terms)
        at = self.hashes.searchsorted(terms)
        there = (self.hashes.take(at, mode="clip") == terms).astype(np.int64)
        begin = self.starts.take(at)
        return list(zip(begin.tolist(), (begin + there * (self.starts.take(at + 1, mode="clip") - begin)).tolist(), strict=True))

    def spread(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The parallel arrays again."""
        return np.repeat(self.hashes, np.diff(self.starts)), self.slots, self.frequencies


def run_of(slots: Sequence[int], blobs: Sequence[bytes]) -> Run:
    """A run from packed terms: n hashes of eight bytes, then n frequencies of one."""
    sizes = [len(blob) // 9 for blob in blobs]
    hashes = np.frombuffer(b"".join([blob[: 8 * n] for blob, n in zip(blobs, sizes, strict=True)]), "<u8")
    frequencies = np.frombuffer(b"".join([blob[8 * n :] for blob, n in zip(blobs, sizes, strict=True)]), np.uint8)
    return _sorted_run(hashes, np.repeat(np.asarray(slots, np.int32), sizes), frequencies)


def _sorted_run(hashes: np.ndarray, slots: np.ndarray, frequencies: np.ndarray) -> Run:
    # Two quick sorts of whole words beat one indirect stable sort: the term's rank, slot and frequency fit 64 bits.
    order = np.argsort(hashes)
    hashes = hashes[order]
    rank = np.cumsum(np.r_[False, hashes[1:] != hashes[:-1]]) if len(hashes) else np.empty(0, np.int64)
    if len(hashes) and (rank[-1] >= 1 << 24 or slots.max() >= 1 << 31):
        order = np.lexsort((slots[order], hashes))
        return Run(hashes[order], slots[order], frequencies[order])
    packed = (rank.astype(np.uint64) << 40) | (slots[order].astype(np.uint64) << 8) | frequencies[order]
    packed.sort()
    return Run(hashes, ((packed >> 8) & 0xFFFFFFFF).astype(np.int32), (packed & 0xFF).astype(np.uint8))


class Postings:
    """All runs of one owner, the tail, and what BM25 needs to know of lengths."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.tail: dict[int, dict[int, int]] = {}  # term → slot → frequency
        self.tail_slots: dict[int, bytes] = {}
        self.stale = np.zeros(0, bool)  # slots whose postings in runs no longer count
        self.any_stale = False
        self.lengths = np.zeros(0, np.int32)
        self.records = 0
        self.total = 0
        self._shortest, self._longest = 1 << 30, 0  # so long was a record, ever
        self._scores, self._among = np.zeros(0), np.zeros(0, bool)
        self._norm: np.ndarray | None = None  # BM25's length norm, by length
        self._once = np.zeros(0)  # what a term is worth that a record has once, by length, but for the term's rarity
        self._last: tuple[Sequence[int], Sequence[Held]] = ((), ())  # whose shares are asked for next, as a rule

    def load(self, slots: Sequence[int], blobs: Sequence[bytes], lengths: Sequence[int]) -> None:
        """Append many records at once; their slots are new."""
        if not slots:
            return
        self._grow(slots[-1] + 1)
        self.lengths[np.asarray(slots)] = lengths
        self.records += len(slots)
        self.total += sum(lengths)
        self._measure(min(lengths), max(lengths))
        if len(slots) + len(self.tail_slots) <= TAIL:
            for slot, blob in zip(slots, blobs, strict=True):
                self._to_tail(slot, blob)
            return
        if self.any_stale and self.stale[list(self.tail_slots)].any():
            self._purge()
        self._push(run_of([*self.tail_slots, *slots], [*self.tail_slots.values(), *blobs]))
        self.tail, self.tail_slots = {}, {}

    def drop(self, slot: int) -> None:
        """Forget a record's words."""
        for term in self._terms_of_tail(slot):
            self.tail[term].pop(slot)
        self.tail_slots.pop(slot, None)
        self.stale[slot] = self.any_stale = True
        self.records -= 1
        self.total -= int(self.lengths[slot])
        self._norm, self._last = None, ((), ())

    def add(self, slot: int, blob: bytes, length: int) -> None:
        """One record's words; its slot is new, or was dropped."""
        self._grow(slot + 1)
        self.lengths[slot] = length
        self._measure(length, length)
        self.records += 1
        self.total += length
        self._to_tail(slot, blob)

    def find(self, terms: Sequence[int]) -> list[Posted]:
        """For each term the slots that hold it, each once and in order, and how often they do."""
        wanted = np.array(terms, np.uint64)
        parts: list[list[Posted]] = [[] for _ in terms]
        for run in self.runs:
            for own, (low, high) in zip(parts, run.find(wanted), strict=True):
                if low < high:
                    own.append((run.slots[low:high], run.frequencies[low:high]))
        if self.any_stale:
            parts = [[(slots[keep], tfs[keep]) for slots, tfs in own for keep in (~self.stale[slots],)] for own in parts]
        for term, own in zip(terms, parts, strict=True) if self.tail else ():
            if last := self.tail.get(term):
                slots = sorted(last)
                own.append((np.array(slots, np.int32), np.array([last[slot] for slot in slots], np.uint8)))
        return [own[0] if len(own) == 1 else _joined(own) for own in parts]

    def best(self, terms: Sequence[int], k: int, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Slots whose BM25 score reaches the k-th best (ties included), and the scores; in no order."""
        found = self._held(terms)
        if not found:
            return np.empty(0, np.int32), np.empty(0)
        if sum([len(slots) for slots, _, _ in found]) <= SUMMED:
            return self._summed(found, k, mask)
        return self._pruned(found, k, mask)

    def _summed(self, found: Sequence[Held], k: int, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """All postings at once, in a handful of calls."""
        lists = [slots for slots, _, _ in found]
        touched = np.concatenate(lists)
        worth = self._worth(touched, np.concatenate([tfs for _, tfs, _ in found]))
        worth *= np.repeat([idf for _, _, idf in found], [len(slots) for slots in lists])
        scores = self._scores
        # Where the lists touch much of the shelf, looking at all of it in order is quicker than at each place they name.
        few = len(touched) * DENSE < len(scores)
        try:
            np.add.at(scores, touched, worth)
            floor = self._floor(lists, k, mask)
            slots = _distinct(touched[scores[touched] >= floor]) if few else np.flatnonzero(scores >= floor)
            reached = scores[slots]
        finally:  # whatever interrupts us must not be in the next question's scores
            scores[touched if few else slice(None)] = 0.0
        if mask is not None:
            keep = mask[slots]
            slots, reached = slots[keep], reached[keep]
        keep = reached >= _kth(reached, k) - SLACK
        return slots[keep], reached[keep]

    def _pruned(self, found: Sequence[Held], k: int, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """From the rarest term on; the frequent ones only for records seen before, once no other can win."""
        scores = self._scores
        bounds = [self._bound(tfs, idf) for _, tfs, idf in found]
        seen: list[np.ndarray] = []
        candidates: np.ndarray | None = None
        try:
            for number, (slots, tfs, idf) in enumerate(found):
                rest = math.fsum(bounds[number:])
                if candidates is None and math.fsum(bounds[:number]) > rest:
                    candidates = self._settled(seen, k, rest)
                if candidates is not None:
                    candidates = self._look_up(candidates, slots, tfs, idf, k, rest)
                    continue
                if mask is not None:
                    keep = mask[slots]
                    slots, tfs = slots[keep], tfs[keep]
                seen.append(slots)
                np.add.at(scores, slots, idf * self._worth(slots, tfs))
            if candidates is None:
                touched = np.concatenate(seen)
                candidates = _distinct(touched[scores[touched] >= self._floor(seen, k, None)])
            reached = scores[candidates]
            keep = reached >= _kth(reached, k) - SLACK
            return candidates[keep], reached[keep]
        finally:
            for slots in seen:
                scores[slots] = 0.0

    def _worth(self, slots: np.ndarray, tfs: np.ndarray) -> np.ndarray:
        """What a term adds to the scores of these records, but for its rarity. Most have it once, and that is a table."""
        norm, lengths = self._norms(), self.lengths.take(slots, mode="clip")
        worth = self._once.take(lengths, mode="clip")
        more = np.flatnonzero(tfs > 1)
        if len(more):
            often = tfs[more].astype(np.float64)
            worth[more] = often * (K1 + 1) / (often + norm[lengths[more]])
        return worth

    def shares(self, terms: Sequence[int], slots: np.ndarray) -> np.ndarray:
        """Of the idf of those terms that any record holds, the share that is in each of these."""
        asked, found = self._last
        found = found if asked == terms else self._held(terms)
        held = np.zeros(len(slots))
        for holders, _, idf in found:
            held += idf * (holders.take(holders.searchsorted(slots), mode="clip") == slots)
        return held / math.fsum([idf for _, _, idf in found]) if found else held

    def _held(self, terms: Sequence[int]) -> list[Held]:
        """What there is of these terms, the rarest first."""
        found = [(slots, tfs, self._idf(len(slots))) for slots, tfs in self.find(terms) if len(slots)]
        found.sort(key=lambda entry: len(entry[0]))
        self._last = terms, found
        return found

    def _floor(self, lists: Sequence[np.ndarray], k: int, mask: np.ndarray | None) -> float:
        """A score that the k-th best reaches at least: that of the k-th best in the first list that has so many."""
        for slots in lists:
            if len(slots) >= k:
                slots = slots if mask is None else slots[mask[slots]]
                if len(slots) >= k:
                    return _kth(self._scores[slots], k) - SLACK
        return TOUCHED

    def _norms(self) -> np.ndarray:
        if self._norm is None:
            mean = self.total / self.records if self.records else 1.0
            self._norm = K1 * (1 - B + B * np.arange(self._longest + 1) / (mean or 1.0))
            self._once = (K1 + 1) / (1 + self._norm)
        return self._norm

    def _measure(self, shortest: int, longest: int) -> None:
        self._shortest, self._longest = min(shortest, self._shortest), max(longest, self._longest)
        self._norm, self._last = None, ((), ())

    def nbytes(self) -> int:
        return sum(len(run) * 5 + len(run.hashes) * 16 for run in self.runs) + self.lengths.nbytes * 6

    def _idf(self, holders: int) -> float:
        return math.log(1 + (self.records - holders + 0.5) / (holders + 0.5))

    def _bound(self, tfs: np.ndarray, idf: float) -> float:
        """No record gets more than this from a term."""
        most = float(tfs.max())
        return idf * (most * (K1 + 1)) / (most + float(self._norms()[self._shortest]))

    def _settled(self, seen: Sequence[np.ndarray], k: int, rest: float) -> np.ndarray | None:
        """The records that can still win, sorted, if no unseen one can: else None."""
        floor = self._floor(seen, k, None)
        if floor <= rest:
            return None
        touched = np.concatenate(seen)
        return _distinct(touched[self._scores[touched] + rest >= floor])

    def _look_up(self, candidates: np.ndarray, slots: np.ndarray, tfs: np.ndarray, idf: float, k: int, rest: float) -> np.ndarray:
        if len(candidates) * FEWER < len(slots):
            at = slots.searchsorted(candidates)
            at[at == len(slots)] = 0
            there = slots[at] == candidates
            hits, tf = candidates[there], tfs[at[there]]
        else:  # many to look up: the list goes by them
            among = self._among
            try:
                among[candidates] = True
                there = np.flatnonzero(among.take(slots, mode="clip"))
            finally:
                among[candidates] = False
            hits, tf = slots[there], tfs[there]
        self._scores[hits] += idf * self._worth(hits, tf)
        reached = self._scores[candidates]
        return candidates[reached + rest >= _kth(reached, k) - SLACK]

    def _to_tail(self, slot: int, blob: bytes) -> None:
        self.tail_slots[slot] = blob
        for term, tf in zip(self._terms_of_tail(slot), blob[8 * (len(blob) // 9) :], strict=True):
            self.tail.setdefault(term, {})[slot] = tf

    def _terms_of_tail(self, slot: int) -> Sequence[int]:
        blob = self.tail_slots.get(slot)
        return memoryview(blob[: 8 * (len(blob) // 9)]).cast("Q") if blob else ()

    def _push(self, run: Run) -> None:
        self.runs.append(run)
        while len(self.runs) > 1 and len(self.runs[-1]) * 4 > len(self.runs[-2]):
            newer, older = self.runs.pop().spread(), self.runs.pop().spread()
            self.runs.append(_sorted_run(*(np.concatenate(pair) for pair in zip(older, newer, strict=True))))

    def _purge(self) -> None:
        """Take stale postings out of the runs, so that their slots may count again."""
        self.runs = [Run(*(part[~self.stale[run.slots]] for part in run.spread())) for run in self.runs]
        self.stale[:] = self.any_stale = False

    def _grow(self, size: int) -> None:
        if size > len(self.lengths):
            room = max(size, len(self.lengths) * 5 // 4)
            self.lengths = np.concatenate([self.lengths, np.zeros(room - len(self.lengths), np.int32)])
            self.stale = np.concatenate([self.stale, np.zeros(room - len(self.stale), bool)])
            self._scores, self._among = np.zeros(room), np.zeros(room, bool)


def _joined(parts: Sequence[Posted]) -> Posted:
    if not parts:
        return _NOTHING
    slots = np.concatenate([slots for slots, _ in parts])
    order = np.argsort(slots, kind="stable")
    return slots[order], np.concatenate([tfs for _, tfs in parts])[order]


def _distinct(slots: np.ndarray) -> np.ndarray:
    """Sorted, each once."""
    slots = np.sort(slots)
    first = np.ones(len(slots), bool)
    np.not_equal(slots[1:], slots[:-1], out=first[1:])
    return slots[first]


def _kth(values: np.ndarray, k: int) -> float:
    """The k-th largest value; less than all when there are fewer."""
    if len(values) < k:
        return -math.inf
    values = values.copy()
    values.partition(len(values) - k)
    return float(values[len(values) - k])
