"""IVF-Flat: the twin finds what an exact search finds, and the GPU's engine says the same things to cuVS as the twin is told."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from indexes import unit
from promises import PROMISES_OF_NEAREST

from recollect.errors import MissingExtra, UnknownIndex
from recollect.ports import Add, Amend, Forget
from recollect.query import Where
from recollect.records import Record, moment
from recollect.stores import following, ivf, open_store
from recollect.stores.flat_cuda import CudaFlat, bits
from recollect.stores.flat_numpy import NumpyFlat
from recollect.stores.ivf import IvfIndex, Lane

FULL = ("toy", "full")
NOW = 1_773_100_800_000_000


def crowd(count: int, size: int = 32, seed: int = 1) -> np.ndarray:
    """Vectors in clusters, as texts are."""
    pick = np.random.default_rng(seed)
    middles = pick.standard_normal((40, size))
    rows = middles[pick.integers(0, 40, count)] + 0.6 * pick.standard_normal((count, size))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


class FakeCuda:
    """cuVS and cupy as far as their documentation says what they take and give: arrays that only cupy opens, uint32 bitsets,
    int64 neighbours with the largest number where there are fewer, arguments by their names."""

    class Array:
        def __init__(self, inside: np.ndarray) -> None:
            self.inside = inside

    class Index(SimpleNamespace):
        def __len__(self) -> int:
            return len(self.lists.rows)

    def __init__(self) -> None:
        self.twin, self.searches = NumpyFlat(), 0
        self.cupy, self.neighbors = ModuleType("cupy"), ModuleType("cuvs.neighbors")
        self.cupy.asarray = lambda rows, dtype=None: FakeCuda.Array(np.asarray(rows, dtype))
        self.cupy.asnumpy = lambda array: array.inside
        flat, filters = ModuleType("ivf_flat"), ModuleType("filters")
        flat.IndexParams = lambda *, n_lists, metric, add_data_on_build: SimpleNamespace(lists=n_lists, metric=metric)
        flat.SearchParams = lambda *, n_probes: SimpleNamespace(probes=n_probes)
        flat.build, flat.search = self.build, self.search
        filters.from_bitset = lambda bitset: SimpleNamespace(bitset=bitset)
        self.neighbors.ivf_flat, self.neighbors.filters = flat, filters

    def build(self, params, dataset):
        assert params.metric == "inner_product" and dataset.inside.dtype == np.float32
        return FakeCuda.Index(lists=self.twin.build(dataset.inside, params.lists))

    def search(self, params, index, queries, k, *, filter=None):
        self.searches += 1
        allowed = None
        if filter is not None:
            words = filter.bitset.inside
            assert words.dtype == np.uint32 and len(words) == -(-len(index) // 32)
            allowed = np.array([words[row // 32] >> (row % 32) & 1 for row in range(len(index))], bool)
        scores, rows = self.twin.search(index.lists, queries.inside, k, params.probes, allowed)
        return FakeCuda.Array(scores), FakeCuda.Array(np.where(rows < 0, np.iinfo(np.int64).max, rows))


@pytest.fixture
def cuda(monkeypatch):
    fake = FakeCuda()
    for name, module in (("cupy", fake.cupy), ("cuvs", ModuleType("cuvs")), ("cuvs.neighbors", fake.neighbors)):
        monkeypatch.setitem(sys.modules, name, module)
    return fake


@pytest.mark.parametrize("promise", PROMISES_OF_NEAREST, ids=lambda promise: promise.__name__)
@pytest.mark.parametrize("url", ["ivf:", "cuvs:"])
def test_a_store_beside_lists_keeps(promise, url, open_store, cuda, monkeypatch):
    monkeypatch.setattr(ivf, "WHOLE", 1)  # lists from two vectors on
    promise(open_store("memory:", vector=url))


@pytest.mark.parametrize("probes", [1, 5, 31])
def test_the_gpu_is_told_what_the_twin_is_told(probes, cuda):
    rows, pick = crowd(1000), np.random.default_rng(3)
    one, other = NumpyFlat(), CudaFlat()
    lists, built = one.build(rows, 31), other.build(rows, 31)
    for allowed in (None, pick.random(1000) < 0.1, np.zeros(1000, bool)):
        expected = one.search(lists, rows[:5], 10, probes, allowed)
        found = other.search(built, rows[:5], 10, probes, allowed)
        assert [part.tolist() for part in found] == [part.tolist() for part in expected]


def test_a_gpu_that_lets_through_what_it_should_not_is_not_believed(cuda):
    rows = crowd(100)
    flat = CudaFlat()
    built = flat.build(rows, 4)
    allowed = np.zeros(100, bool)
    allowed[7] = True
    cuda.neighbors.filters.from_bitset = lambda bitset: None
    _, found = flat.search(built, rows[:1], 10, 4, allowed)
    assert set(found[0].tolist()) <= {-1, 7}


def test_a_mask_is_a_bitset():
    mask = np.zeros(70, bool)
    mask[[0, 31, 32, 69]] = True
    assert bits(mask).tolist() == [1 | 1 << 31, 1, 1 << 5] and bits(mask).dtype == np.uint32


def test_all_lists_are_an_exact_search():
    rows = crowd(2000)
    flat = NumpyFlat()
    lists = flat.build(rows, 45)
    _, found = flat.search(lists, rows[:20], 10, 45, None)
    for query, mine in zip(rows[:20], found, strict=True):
        assert set(mine.tolist()) == set(np.argsort(-(rows @ query), kind="stable")[:10].tolist())
    assert sorted(lists.order.tolist()) == list(range(2000)), "each row is in one list"


def test_enough_lists_are_looked_at_to_find_99_of_100():
    rows, lane = crowd(12_000), Lane(32)
    for slot, row in enumerate(rows):
        lane.add(slot, row)
    asked, pick = crowd(100, seed=1)[:100] + 0.0, np.random.default_rng(9)
    asked = [unit(*(row + 0.1 * pick.standard_normal(32))) for row in asked]
    met = 0
    for query in asked:
        mine, _ = lane.nearest(NumpyFlat(), query, 10, np.ones(lane.size, bool), None)
        met += len({*mine.tolist()} & {*np.argsort(-(rows @ query))[:10].tolist()})
    assert met >= 990 and lane.probes < round(np.sqrt(12_000)), "and not all of them"


def test_what_came_later_is_compared_whole_and_what_went_is_left_out(monkeypatch):
    monkeypatch.setattr(ivf, "WHOLE", 100)
    rows, lane, flat = crowd(240), Lane(32), NumpyFlat()
    every = lambda: np.ones(lane.size, bool)  # noqa: E731
    for slot, row in enumerate(rows[:200]):
        lane.add(slot, row)
    lane.nearest(flat, rows[0], 5, every(), 14)
    assert lane.built == 200
    for slot, row in enumerate(rows[200:], 200):
        lane.add(slot, row)
    lane.drop(3)
    for query in (rows[230], rows[3]):
        mine, scores = lane.nearest(flat, query, 5, every(), 15)
        exact = [row for row in np.argsort(-(rows @ query), kind="stable").tolist() if row != 3][:5]
        assert mine.tolist() == exact and lane.built == 200 and scores.tolist() == sorted(scores.tolist(), reverse=True)
    for slot, row in enumerate(crowd(60, seed=4), 240):
        lane.add(slot, row)
    lane.nearest(flat, rows[0], 5, every(), None)
    assert lane.built == 300, "grown by a quarter: built again"


@pytest.mark.parametrize("url", ["ivf:", "cuvs:"])
def test_with_filters_over_lists_the_answers_are_the_stores(url, open_store, cuda, monkeypatch):
    monkeypatch.setattr(ivf, "WHOLE", 200)
    monkeypatch.setattr(following, "INLINE", 30.0)
    store = open_store("memory:", vector=f"{url}?probes=99")
    for owner in ("acme/alice", "acme"):
        kinds = ["identity", "fact", "semantic"]
        records = [
            Record(id=f"m{n}", owner=owner, text="x", kind=kinds[n % 3], session=f"s{n % 4}", recorded_at=moment(NOW),
                   at=moment(NOW - n)) for n in range(400)
        ]  # fmt: skip
        rows = crowd(400, seed=len(owner))
        store.write(owner, [Add(record=one, vectors={FULL: row}) for one, row in zip(records, rows, strict=True)])
    store.write("acme/alice", [Forget(id=f"m{n}") for n in range(0, 400, 7)])
    store.write("acme/alice", [Amend(id=f"m{n}", fields={"superseded_by": "x"}) for n in range(1, 400, 7)])
    for fields in ({}, {"tenant": "acme"}, {"kinds": ("fact",)}, {"sessions": ("s1",), "tenant": "acme"}, {"since": NOW - 50},
                   {"exclude": frozenset({"m2"})}, {"as_of": NOW - 1}):  # fmt: skip
        asked = Where(owner="acme/alice", now=NOW, **fields), *FULL, crowd(1, seed=8)[0], 10, None
        assert store.vector.nearest(*asked) == store.inner.vector.nearest(*asked), fields
    assert cuda.searches > 0 or url == "ivf:"


def test_a_filter_costs_no_neighbours(monkeypatch):
    """One record in ten may be seen, and one in five hundred: as many are found as without a filter."""
    monkeypatch.setattr(ivf, "WHOLE", 100)
    rows, lane, flat = crowd(6000), Lane(32), NumpyFlat()
    for slot, row in enumerate(rows):
        lane.add(slot, row)
    for share in (10, 500):
        seen = np.arange(6000) % share == 3
        met = total = 0
        for query in crowd(30, seed=6):
            mine, _ = lane.nearest(flat, query, 10, seen, None)
            exact = [row for row in np.argsort(-(rows @ query), kind="stable").tolist() if seen[row]][:10]
            met, total = met + len({*mine.tolist()} & {*exact}), total + len(exact)
        assert met >= 0.99 * total


def test_nothing_is_imported_before_it_is_asked_for(monkeypatch):
    for name in ("cuvs", "cupy"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r'pip install "recollect\[cuvs\]"'):
        open_store("memory:", vector="cuvs:")
    with pytest.raises(UnknownIndex, match="probes='0'"):
        open_store("memory:", vector="ivf:?probes=0")


def test_an_index_in_memory_begins_anew_with_each_process():
    index = IvfIndex(NumpyFlat(), "ivf")
    assert index.mark("alice") == "" and index.keys("alice") == [] and index.count("alice", *FULL) == 0
    index.settle("alice", "a:1")
    assert index.mark("alice") == "a:1"
    index.close()
    index.close()
    assert index.mark("alice") == ""
