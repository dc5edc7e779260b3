"""Claude's memory tool in a loop of your own: what it writes as files, every other door of the memory recalls.

The requests are made up here, so that nothing is called; `TOOL` is what a real request lists among its tools.
"""

from recollect import Memory
from recollect.adapters.anthropic_tool import tool_result

REQUESTS = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/family.md", "file_text": "Priya's parents live in Goa.\nAna is my sister.\n"},
    {"command": "str_replace", "path": "/memories/family.md", "old_str": "Goa", "new_str": "Pune"},
    {"command": "view", "path": "/memories/../secrets"},
]

with Memory.open("memory:", owner="alice") as memory:
    for number, request in enumerate(REQUESTS):
        result = tool_result(memory, {"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": request})
        print("refused:" if result.get("is_error") else "answered:", result["content"])
    print(memory.context("Where do Priya's parents live?"))
