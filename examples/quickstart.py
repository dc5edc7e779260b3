"""Remember a few things, ask, and see why: python examples/quickstart.py"""

from recollect import Memory

with Memory.open(":memory:", owner="alice") as memory:
    memory.remember("Priya's parents live in Goa.", kind="person", tags=["family"])
    memory.remember("I told Priya we can do March for vacation.", speaker="Alice", at="2026-02-20T10:00Z")
    memory.remember("Alice prefers trains to planes.", kind="preference")

    answer = memory.recall("What did I tell Priya about vacation?", limit=2)
    for hit in answer:
        print(f"{hit.rank}. {hit.score:.4f} {hit.text}")
    print(answer.explain())
