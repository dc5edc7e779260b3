"""Pages of a list, while what is listed changes."""

from __future__ import annotations

import pytest

from recollect.errors import UnknownRecord
from recollect.paging import Cursor
from recollect.testing import FixedClock
from recollect.wire import page_json

ORDERS = ("newest", "oldest", "turns", "latest")


@pytest.fixture
def memory(open_memory):
    memory = open_memory(clock=FixedClock(), owner="acme/alice")
    memory.for_owner("acme/bob").remember("not hers", id="bob's")
    for n in range(9):
        about = {} if n % 3 else {"session": f"s{n // 5}", "turn": n, "role": "turn"}
        memory.remember(f"note {n}", id=f"m{n}", at="ageless" if n == 4 else f"2026-01-0{1 + n // 2}", **about)
    return memory


def pages(memory, order, meanwhile=lambda page: None, limit=2):
    """The ids of all pages; `meanwhile` is done between them."""
    seen, after = [], None
    while True:
        page = page_json(memory.list(limit=limit, order=order, after=after), limit, order)
        seen += [record["id"] for record in page["records"]]
        if (after := page["next"]) is None:
            return seen
        meanwhile(page["records"])


@pytest.mark.parametrize("order", ORDERS)
def test_every_record_once(memory, order):
    assert pages(memory, order) == [record.id for record in memory.list(order=order)]


@pytest.mark.parametrize("order", ORDERS)
def test_all_can_be_forgotten_page_by_page(memory, order):
    every = [record.id for record in memory.list(order=order)]
    assert pages(memory, order, lambda page: [memory.forget(one["id"]) for one in page]) == every
    assert len(memory.list()) == 1


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_superseded_or_moved_does_not_end_the_list(memory, order):
    every = [record.id for record in memory.list(order=order)]

    def meanwhile(page):
        last = page[-1]["id"]
        if last == every[1]:
            memory.remember("instead", id="new", supersedes=last, at="1999-01-01", session="a")
        elif last == every[3]:
            memory.amend(last, at="1998-01-01", session="b", turn=99)

    seen = pages(memory, order, meanwhile)
    assert [id for id in dict.fromkeys(seen) if id != "new"] == every


def test_a_record_itself_is_a_place(memory):
    first, second, *_ = memory.list()
    memory.forget(first)
    assert memory.list(limit=1, after=first) == [second] == memory.list(limit=1, after=str(Cursor.of(first, "newest")))


def test_what_is_no_cursor(memory):
    whole = str(Cursor.of(memory.list()[0], "newest"))
    assert Cursor.read(whole).order == "newest" and memory.list(after=whole)
    other = str(Cursor.of(memory.list()[0], "oldest"))
    texts = ("nobody", "bob's", whole[:-3], "after:", "after:AAAA", "after:W10=", "after:bnVsbA==", whole + "é", other)
    for after in (*texts, 7, [], {}):
        with pytest.raises(UnknownRecord) as raised:
            memory.list(after=after)
        assert "next" in raised.value.hint
