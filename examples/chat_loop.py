"""A chat that remembers: before each reply the model gets the memory block, afterwards both turns are remembered.

The model here is a stand-in that repeats what it was given; put a call to yours in its place. Run: python examples/chat_loop.py
"""

from recollect import Memory

SAID = ["Hi, I'm Nora. I'm allergic to walnuts.", "I'd love a cake recipe for Sunday.", "What am I allergic to again?"]


def model(system: str, message: str) -> str:
    """A stand-in for a language model."""
    known = [line for line in system.splitlines() if line.startswith("- ")]
    return f"(I was given {len(known)} memories) You said: {message}"


with Memory.open(":memory:", owner="nora") as memory:
    for number, message in enumerate(SAID):
        block = memory.context(message, max_chars=1200)
        reply = model(f"You are a helpful assistant.\n{block}", message)
        about = {"session": "today", "role": "turn", "kind": "episodic"}
        memory.remember(message, speaker="Nora", turn=2 * number, **about)
        memory.remember(reply, speaker="Assistant", turn=2 * number + 1, **about)
        print(f"Nora: {message}\nAssistant: {reply}\n{block}\n")
