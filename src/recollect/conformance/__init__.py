"""What every store promises, as plain functions that take an empty store and fail with an AssertionError.

`conformance` lists them. They are for whoever writes a store, and run over ours in the tests; docs/stores.md says the same in
prose. Not here: durability, several processes, speed, and random operations against the oracle.
"""

from .conversations import conversations
from .feed import feed
from .knowledge import knowledge
from .records import records
from .tellings import tellings
from .temporal import temporal
from .vectors import vectors
from .words import words

conformance = records + words + vectors + knowledge + temporal + conversations + feed + tellings
