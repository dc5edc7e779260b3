"""Spans of OpenTelemetry for what a memory does, named by the conventions for GenAI memory. Needs the extra `recollect[otel]`.

    RECOLLECT_TRACES=spans              # what was done, how long it took, how many records; never a word of them
    RECOLLECT_TRACES=content            # the question and the texts as well: for one's own machine

`Memory.open` then opens a `TracedMemory`. It is a Memory whose operations are wrapped, so that one that is not traced pays
nothing and imports nothing. Where spans go is the program's to say: it sets up OpenTelemetry, or is started by
`opentelemetry-instrument`.

The conventions (open-telemetry/semantic-conventions-genai, in development): the operations are search_memory, create_memory,
upsert_memory, update_memory and delete_memory; `gen_ai.memory.store.id` is the owner. What they have no name for is said under
`recollect.`. An error is told by its code alone: its sentence may quote what was asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from . import __version__
from .errors import MissingExtra, RecollectError
from .memory import Memory
from .rankings import Answer
from .records import Record

NAMES = "gen_ai.memory"


class TracedMemory(Memory):
    """See the module."""

    content = False

    def recall(self, query: str, **asked: Any) -> Answer:
        with self._span("search_memory", query=query) as span:
            answer = super().recall(query, **asked)
            _found(span, answer, self.content)
            return answer

    def inspect(self, query: str, **asked: Any) -> Any:
        with self._span("search_memory", query=query) as span:
            inspection = super().inspect(query, **asked)
            _found(span, inspection.answer, self.content)
            return inspection

    def explain(self, query: str, **asked: Any) -> Any:
        with self._span("search_memory", query=query):
            return super().explain(query, **asked)

    def remember_many(self, items: Iterable[Mapping[str, Any] | str], **rules: Any) -> list[Record]:
        with self._span("create_memory") as span:
            return _written(span, super().remember_many(items, **rules), self.content)

    def remember_messages(self, messages: Iterable[Any], **about: Any) -> list[Record]:
        with self._span("upsert_memory") as span:
            return _written(span, super().remember_messages(messages, **about), self.content)

    def amend(self, id: str | Record, **fields: Any) -> Record:
        with self._span("update_memory", id=id) as span:
            return _written(span, [super().amend(id, **fields)], self.content)[0]

    def forget(self, id: str | Record, **expected: Any) -> dict[str, Any]:
        with self._span("delete_memory", id=id) as span:
            receipt = super().forget(id, **expected)
            span.set_attribute(f"{NAMES}.record.count", 1)
            return receipt

    @contextmanager
    def _span(self, operation: str, *, query: object = None, id: object = None) -> Iterator[Any]:
        said: dict[str, Any] = {"gen_ai.operation.name": operation, f"{NAMES}.store.id": self.scope.owner}
        if isinstance(id, (str, Record)):
            said[f"{NAMES}.record.id"] = id if isinstance(id, str) else id.id
        if self.content and isinstance(query, str):
            said[f"{NAMES}.query.text"] = _sendable(query)
        with _tracer().start_as_current_span(
            operation, attributes=said, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except Exception as error:
                span.set_attribute("error.type", error.code if isinstance(error, RecollectError) else type(error).__name__)
                span.set_status(_failed())
                raise


class FullyTracedMemory(TracedMemory):
    """With the questions and the texts."""

    content = True


KINDS: Mapping[str, type[Memory]] = {"spans": TracedMemory, "content": FullyTracedMemory}


def traced(kind: str) -> type[Memory]:
    """The class of a memory that is traced so; MissingExtra if OpenTelemetry is not there."""
    _tracer()
    return KINDS[kind]


def within(headers: Mapping[str, str]) -> Any:
    """A context manager: spans in it belong to the trace that a request's headers name."""

    @contextmanager
    def attached() -> Iterator[None]:
        from opentelemetry import context, propagate

        token = context.attach(propagate.extract(headers))
        try:
            yield
        finally:
            context.detach(token)

    return attached()


def _tracer() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        raise MissingExtra(
            "Tracing needs OpenTelemetry, which is not installed.",
            hint='Run: pip install "recollect[otel]", or set RECOLLECT_TRACES=off.',
        ) from None
    return trace.get_tracer("recollect", __version__)


def _failed() -> Any:
    from opentelemetry.trace import Status, StatusCode

    return Status(StatusCode.ERROR)


def _recording(note: Callable[..., None]) -> Callable[..., None]:
    """Say nothing to a span that nobody keeps."""

    @wraps(note)
    def noted(span: Any, *given: Any) -> None:
        if span.is_recording():
            note(span, *given)

    return noted


@_recording
def _found(span: Any, answer: Answer, content: bool) -> None:
    found = answer.diagnostics
    span.set_attributes({
        f"{NAMES}.record.count": len(answer), "recollect.recipe": str(answer.recipe), "recollect.degraded": found.degraded,
        "recollect.retrieval_path": found.retrieval_path,
    })  # fmt: skip
    for ranking in found.routes:
        said = {"name": ranking.route.name, "status": ranking.status, "candidates": len(ranking.keys), "ms": ranking.ms}
        span.add_event("recollect.route", said)
    if content:
        _texts(span, [{"id": hit.id, "content": hit.text, "score": hit.score} for hit in answer])


def _written(span: Any, records: list[Record], content: bool) -> list[Record]:
    if span.is_recording():
        span.set_attribute(f"{NAMES}.record.count", len(records))
        if len(records) == 1:
            span.set_attribute(f"{NAMES}.record.id", records[0].id)
        if content:
            _texts(span, [{"id": record.id, "content": record.text} for record in records])
    return records


def _texts(span: Any, records: Sequence[Mapping[str, Any]]) -> None:
    span.set_attribute(f"{NAMES}.records", json.dumps(records))


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
