"""Facts that change: a newer one supersedes an older, and the past can still be asked. Run: python examples/changing_facts.py"""

from datetime import UTC, datetime

from recollect import Memory

clock = [datetime(2026, 1, 10, tzinfo=UTC)]

with Memory.open(":memory:", owner="alice", clock=lambda: clock[0]) as memory:
    old = memory.remember("Alice works at the bakery in Delft.", kind="fact")
    clock[0] = datetime(2026, 3, 1, tzinfo=UTC)
    memory.remember("Alice works at the observatory in Leiden.", kind="fact", supersedes=old.id)

    print("now:      ", memory.recall("Where does Alice work?")[0].text)
    print("February: ", memory.recall("Where does Alice work?", as_of="2026-02-01")[0].text)
    print("versions: ", [record.text for record in memory.history(old.id)])
    print(memory.explain("Where does Alice work?", expect=old.id))
