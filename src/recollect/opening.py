"""What a memory is opened with: the store, the models, the language model and the clock, as the settings name them.

The one place that knows what time it is: everything else is handed a clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from os import PathLike
from typing import TYPE_CHECKING, Any

from . import summaries
from .embed import Embedding, beside
from .errors import InvalidSetting
from .extract import Rules
from .ports import Embedder, Extractor, Reranker
from .rerank import Judges
from .settings import Settings, models_folder
from .stores import open_store
from .summarise_chat import ByChat

if TYPE_CHECKING:
    from .chat import Chat
    from .ports import Store, Summariser


Clock = Callable[[], datetime]


def now() -> datetime:
    """The clock on the wall."""
    return datetime.now(UTC)


def seconds() -> float:
    """The same clock in seconds, which other processes share."""
    return time.time()


def open_beside(url: str | PathLike[str] | None, settings: Settings, vector: str | None, graph: str | None) -> Store:
    """The store, with the indexes beside it. None: as the settings say; an empty text: none."""
    indexes = {"vector": settings.vector if vector is None else vector, "graph": settings.graph if graph is None else graph}
    return open_store(url if url is not None else settings.db, busy_seconds=settings.busy, **indexes, wall=time.time)


def open_judges(spec: Reranker | str, settings: Settings) -> Judges:
    """Rerankers by name, opened when a recipe asks for one, with the deadline, keys and folders of the settings."""

    def opened(name: Reranker | str) -> Reranker:
        from .rerankers import open_reranker

        return open_reranker(name, models_dir=models_folder(settings), **settings.of(str(name)))

    own = spec if isinstance(spec, str) else opened(spec)
    return Judges(own, opened, deadline=settings.deadline, wall=time.time)


def open_embedding(spec: Embedder | str, settings: Settings) -> Embedding | None:
    """The embedder of a name or an object, or those of a name such as local+multilingual, with what the settings say of them."""
    from .embedders import apart, embedder_of, open_embedder

    def options(name: str) -> dict[str, Any]:
        return {"models_dir": models_folder(settings), **settings.of(name)}

    def opener(space: str) -> Embedder:
        return embedder_of(space, **options(space))

    names = apart(spec, models_dir=models_folder(settings), api_key=settings.openai_api_key or None)
    embedders = [found for name in names if (found := open_embedder(name, **options(str(name)))) is not None]
    return beside(*(Embedding(one, deadline=settings.deadline, wall=time.time, opener=opener) for one in embedders))


def open_summariser(spec: Summariser | str, settings: Settings, store: Store) -> Summariser:
    """The summariser of a name, `rules` or `llm`, or the object itself."""
    if not isinstance(spec, str):
        return spec
    if spec not in ("rules", "llm"):
        raise InvalidSetting(f"There is no summariser {spec!r:.60}.", hint='It is "rules", "llm", or an object of your own.')
    chat = open_chat(settings, store) if spec == "llm" else None
    if spec == "llm" and chat is None:
        raise InvalidSetting("The summariser llm needs a language model.", hint="Set chat_model; see docs/settings.md.")
    return ByChat(chat) if chat is not None else summaries.RULES


def open_extractor(spec: Extractor | str, settings: Settings, store: Store) -> Extractor | None:
    """The extractor of a name, `rules`, `llm` or `none`, or the object itself."""
    if not isinstance(spec, str):
        return spec
    if spec not in ("rules", "llm", "none"):
        raise InvalidSetting(
            f"There is no extractor {spec!r:.60}.", hint='It is "rules", "llm", "none", or an object of your own.'
        )
    if spec != "llm":
        return Rules() if spec == "rules" else None
    chat = open_chat(settings, store)
    if chat is None:
        raise InvalidSetting("The extractor llm needs a language model.", hint="Set chat_model; see docs/settings.md.")
    from .extract_chat import ByModel

    return ByModel(chat)


def open_chat(settings: Settings, store: Store) -> Chat | None:
    """The language model of the settings, its budget kept in the store; None when none is named."""
    if not settings.chat_model:
        return None
    from .chat import Budget, Chat  # and with it the HTTP client, which no import of a memory should pay for

    # A key goes to the server it was meant for.
    key = settings.chat_api_key or ("" if settings.chat_base_url else settings.openai_api_key)
    budget = Budget(settings.chat_budget, time.time, getattr(store, "notes", None))
    base_url = settings.chat_base_url or settings.openai_base_url or None
    return Chat(settings.chat_model, base_url=base_url, api_key=key or None, budget=budget)
