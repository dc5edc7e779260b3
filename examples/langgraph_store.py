"""LangGraph's long-term memory on a file: items found by what they mean, and kept from one user to the next.

Needs `pip install "recollect[langgraph]"`.
"""

import tempfile

from recollect import Memory
from recollect.adapters.langgraph import RecollectStore

with tempfile.TemporaryDirectory() as folder, Memory.open(f"{folder}/memory.db", owner="acme") as memory:
    store = RecollectStore(memory)  # graph = builder.compile(store=store)

    store.put(("users", "alice"), "food", {"text": "Alice likes walnuts in her cake.", "weight": 3})
    store.put(("users", "alice"), "home", {"text": "Alice moved from Lisbon to Goa.", "weight": 1})
    store.put(("users", "bob"), "food", {"text": "Bob can't have nuts in any cake."})
    store.put(("sessions",), "last", {"step": 7}, ttl=30)  # minutes

    for item in store.search(("users", "alice"), query="What goes into the cake?", limit=1):
        print("alice:", item.value["text"])
    for item in store.search(("users",), query="Who has what in a cake?", filter={"weight": {"$gte": 2}}):
        print("heavy:", item.namespace, item.value["text"])
    print("namespaces:", store.list_namespaces())
