"""Who works behind the writes of an open store: the worker, which embeds, and the reader, which extracts; and whose turn it is.

One crew serves all owners of a store. It is there from the beginning and does nothing until something waits: threads start with
work and end with it. Not here: the work itself (`embed`, `reader`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from .embed import GRACE, Embedding, Worker
from .opening import seconds
from .ports import Change, Extractor, Forget, Store
from .rankings import Answer
from .reader import Learned, Reader, Turns
from .repeats import Dedup
from .tellings import confirming


class Crew:
    """See the module. `learn`: the changes that an owner's records, once read, call for."""

    def __init__(
        self, store: Store, embedding: Embedding | None, extractor: Extractor | None, dedup: Dedup, learn: Learned
    ) -> None:
        self._store, self._embedding, self._turns = store, embedding, Turns()
        self.worker = None if embedding is None else Worker(store, embedding, confirming(dedup.alike))
        self.reader = None
        if extractor is not None:
            self.reader = Reader(store, extractor, wall=seconds, learn=learn, wrote=self.written, turns=self._turns)

    def turn(self, owner: str) -> AbstractContextManager:
        """While one looks at an owner's records to write others, who does the same in this process waits."""
        return self._turns.of(owner)

    def written(self, changes: Sequence[Change]) -> None:
        """Have done what waits since these changes."""
        spaces = {space for change in changes if not isinstance(change, Forget) for space, _ in change.pending}
        if self.reader is not None:
            self.reader.written()
            if self.reader.space in spaces:
                spaces.discard(self.reader.space)
                self.reader.kick(quiet=True)
        if spaces and self.worker is not None:
            self.worker.kick(grace=GRACE)

    def recalled(self, answer: Answer) -> None:
        """An answer that had to do without some vectors shows that there is work."""
        if self.worker is not None and any("wait" in ranking.reason for ranking in answer.diagnostics.routes):
            self.worker.kick()

    def resume(self) -> None:
        """Go on with what others left unread."""
        if self.reader is not None and self.reader.waiting():
            self.reader.kick(quiet=True)

    def finish(self, timeout: float) -> None:
        """Read and embed what waits, as far as the time reaches."""
        timeout = timeout if self.reader is None else self.reader.finish(timeout)
        if self.worker is not None and self.unembedded(None):
            self.worker.kick()
            self.worker.wait(timeout)

    def unembedded(self, owner: str | None) -> int:
        """How many texts wait for a vector of the present models."""
        voices = () if self._embedding is None else self._embedding.voices
        return sum(self._store.outbox.waiting(owner, one.space) for one in voices)

    def unread(self, owner: str | None) -> int:
        """How many texts wait to be read."""
        return 0 if self.reader is None else self.reader.waiting(owner)

    def status(self, owner: str) -> dict[str, Any]:
        """What went wrong last, and what is left to read."""
        return {
            "embedder_error": self.worker.last_error if self.worker else "",
            "extractor_error": self.reader.last_error if self.reader else "", "to_read": self.unread(owner),
        }  # fmt: skip

    def stop(self) -> None:
        """Finish the batch at hand."""
        for one in (self.reader, self.worker):
            if one is not None:
                one.stop()

