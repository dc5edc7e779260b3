"""What happens to text before it is remembered: it is made safe to store, and nothing of its meaning is changed.

For `ingest` (`clean_text`) and for comparing texts (`fold`). Not for display: what can mislead a reader, direction marks and
invisible tags, is kept here as it was said and made visible by `render`. No compatibility folding of stored text: "²" stays "²".
"""

from __future__ import annotations

import re

from .errors import InvalidRecord
from .tokens import fold as fold  # the terms of a text are made from it, so it lives there

MAX_CHARACTERS = 4_000_000

_BREAKS = re.compile("\r\n?|[\x0b\x0c\x85]")  # removing a form feed would glue two words together
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]+")
_SURROGATES = re.compile("[\ud800-\udfff]")
_TOUCHED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text as it is stored: newline as "\\n", no other control character but the tab, no half characters."""
    if not isinstance(text, str):
        raise InvalidRecord(f"Only text can be remembered, and this is {type(text).__name__}.", hint="Pass a str.")
    if len(text) > MAX_CHARACTERS:
        raise InvalidRecord(
            f"The text has {len(text):,} characters; a record holds at most {MAX_CHARACTERS:,}.",
            hint="Remember it in parts, as records of one session.",
        )
    if _TOUCHED.search(text):
        text = _CONTROLS.sub("", _BREAKS.sub("\n", _whole(text)))
    if not text or text.isspace():
        hint = "Pass a text with at least one visible character."
        raise InvalidRecord("There is nothing to remember: the text is empty.", hint=hint)
    return text


def _whole(text: str) -> str:
    """Surrogate pairs joined to the characters they mean; a lone half becomes U+FFFD."""
    if not _SURROGATES.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
