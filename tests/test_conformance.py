"""Every promise of a store, kept by every store."""

from __future__ import annotations

import pytest

from recollect.conformance import conformance
from recollect.stores.inmemory import InMemoryStore


@pytest.mark.parametrize("promise", conformance, ids=lambda promise: promise.__name__)
def test_store_keeps(promise, store):
    promise(store)


@pytest.mark.parametrize("promise", conformance, ids=lambda promise: promise.__name__)
def test_oracle_keeps(promise):
    """Once more without any opener: what users do in their own tests."""
    promise(InMemoryStore())
