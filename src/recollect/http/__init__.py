"""The HTTP door: `recollect serve`, or `create(memory)` for an ASGI server of your own. Needs the extra `recollect[server]`."""

from __future__ import annotations

__all__ = ["Limits", "create"]


def __getattr__(name: str):
    if name == "create":
        from .app import create

        return create
    if name == "Limits":
        from .service import Limits

        return Limits
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
