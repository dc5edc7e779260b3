"""Log lines as JSON on standard error: what became of which request. No text of a memory or of a question is in them."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class Lines(logging.Formatter):
    """A record as a line. Of an exception its kind and place are told, not what it says: that may quote a memory."""

    def format(self, record: logging.LogRecord) -> str:
        made = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        said: dict[str, Any] = {
            "time": made, "level": record.levelname.lower(), "logger": record.name, "message": record.getMessage(),
        }  # fmt: skip
        said |= getattr(record, "said", {})
        if record.exc_info and record.exc_info[1] is not None:
            said["error"] = place(record.exc_info[1])
        return json.dumps(said)


def start(level: str = "info") -> None:
    """Send what this process logs to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    root = logging.getLogger()
    root.handlers, root.level = [handler], LEVELS[level]


def place(error: BaseException) -> str:
    """Where something went wrong and what it was, without what it says."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace is not None else ""
    return type(error).__name__ + where
