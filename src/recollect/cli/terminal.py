"""What a command writes to: a terminal, with colour, tables and a progress bar; or a pipe, with plain text or JSON.

Nothing remembered reaches the terminal as it is: control characters, direction marks and hidden characters are written as
escapes, so that a memory can neither move the cursor nor make a line read backwards. In a pipe a table is one row a line,
its cells separated by tabs, without a heading: `cut` and `awk` can read it. Whether there is to be colour is decided by the
caller, who knows the environment.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size
from time import monotonic
from typing import Any, TextIO

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36"}
SHOWN_AFTER, REDRAWN_AFTER = 0.4, 0.1
BAR_WIDTH = 24
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_BREAK = re.compile(r" *[\n\r]\s*")


class Screen:
    """Where a command writes. `tty`: a person is looking at the output."""

    def __init__(
        self, *, as_json: bool = False, colour: bool = True, out: TextIO | None = None, err: TextIO | None = None
    ) -> None:
        self.out, self.err = out or sys.stdout, err or sys.stderr
        self.as_json = as_json
        self.tty = self.out.isatty()
        self.colour = colour and self.tty
        self._colour_err = colour and self.err.isatty()
        self.width = max(40, get_terminal_size((100, 24)).columns) if self.tty else 100_000

    def say(self, text: str = "") -> None:
        """A line, or several, that are safe already."""
        self.out.write(_encodable(text, self.out) + "\n")

    def json(self, value: Any) -> None:
        """The value as JSON: indented for a person, on one line for a program."""
        import json

        plain = not (self.out.encoding or "").lower().startswith("utf")
        text = json.dumps(value, ensure_ascii=plain, indent=2 if self.tty else None, default=str)
        self.out.write(_UNSAFE.sub(_json_escape, text) + "\n")

    def note(self, text: str, style: str = "yellow") -> None:
        """A remark beside the output, for a person."""
        line = safe(text)
        self.err.write(_encodable(f"\x1b[{STYLES[style]}m{line}\x1b[0m" if self._colour_err else line, self.err) + "\n")

    def paint(self, text: str, *styles: str) -> str:
        """The text in a style, where there is colour."""
        if not self.colour or not styles or not text:
            return text
        return f"\x1b[{';'.join(STYLES[style] for style in styles)}m{text}\x1b[0m"

    def heading(self, text: str) -> None:
        self.say(self.paint(safe(text), "bold"))

    def table(self, rows: Sequence[Sequence[object]], head: Sequence[str] = (), styles: Sequence[str] = ()) -> None:
        """Rows with aligned columns, the last one cut where the line ends; in a pipe, cells separated by tabs."""
        cells = [[safe("" if cell is None else str(cell)) for cell in row] for row in rows]
        if not self.tty:
            for row in cells:
                self.say("\t".join(row))
            return
        shown = [list(head), *cells] if head and cells else cells
        widths = [max(map(width, column)) for column in zip(*shown, strict=True)]
        for number, row in enumerate(shown):
            painted = ("dim",) * len(row) if head and number == 0 else (*styles, *[""] * len(row))
            self.say(self._row(row, widths, painted))

    def wrapped(self, text: str, *, lead: str, indent: str, lines: int = 4) -> None:
        """A text of at most so many lines: a lead, then as wide an indent before the others; in a pipe, one line."""
        from textwrap import wrap

        clean = safe(text)
        room = self.width - len(indent) - 1
        parts = wrap(clean, room, max_lines=lines, placeholder=" …") if self.tty else [clean]
        self.say(lead + f"\n{indent}".join(parts))

    def drawn(self, text: str) -> None:
        """An explanation: its heads bold, its rules dim."""
        for line in text.splitlines():
            clean = safe(line)
            found = re.match(r"[ │├└]*", clean)
            rules, rest = clean[: found.end()], clean[found.end() :]
            self.say(self.paint(rules, "dim") + (rest if rules else self.paint(rest, "bold")))

    @contextmanager
    def progress(self, label: str, total: int = 0) -> Iterator[Bar]:
        """A progress bar beside the output, if a person is there to see it."""
        bar = Bar(self.err, label, total)
        try:
            yield bar
        finally:
            bar.wipe()

    def _row(self, row: Sequence[str], widths: Sequence[int], styles: Sequence[str]) -> str:
        padded, used = [], 0
        for number, cell in enumerate(row):
            last = number == len(row) - 1
            cell = cut(cell, max(12, self.width - used - 1)) if last else cell + " " * (widths[number] - width(cell))
            used += width(cell) + 2
            padded.append(self.paint(cell, *filter(None, [styles[number]])))
        return "  ".join(padded).rstrip()


class Bar:
    """`step(done)` draws; nothing is drawn where nobody looks, nor for what is over at once."""

    def __init__(self, err: TextIO, label: str, total: int = 0) -> None:
        self.err, self.label, self.total = err, label, total
        self._live = err.isatty()
        self._started = self._drawn = monotonic()
        self._shown = False

    def step(self, done: int, total: int | None = None, label: str | None = None) -> None:
        """So much is done."""
        self.total, self.label = self.total if total is None else total, label or self.label
        now = monotonic()
        if not self._live or now - self._started < SHOWN_AFTER or (self._shown and now - self._drawn < REDRAWN_AFTER):
            return
        self._drawn, self._shown = now, True
        room = max(20, get_terminal_size((80, 24)).columns - 1)
        self.err.write("\r\x1b[2K" + cut(safe(self._line(done, now)), room))
        self.err.flush()

    def wipe(self) -> None:
        """Leave no trace."""
        if self._shown:
            self.err.write("\r\x1b[2K")
            self.err.flush()

    def _line(self, done: int, now: float) -> str:
        if not self.total:
            return f"{self.label} {done:,}"
        share = min(1.0, done / self.total)
        full = round(share * BAR_WIDTH)
        left = (now - self._started) * (1 - share) / share if share else 0.0
        return (
            f"{self.label} {'█' * full}{'░' * (BAR_WIDTH - full)} {share:4.0%}  {done:,} of {self.total:,}  {_seconds(left)} left"
        )


def safe(text: str) -> str:
    """One line that a terminal can't take for a command: what it must not see is written as an escape."""
    return _UNSAFE.sub(_escape, _BREAK.sub(" ⏎ ", text.replace("\t", " ").rstrip()))


def safe_lines(text: str) -> str:
    """Several lines, each of them safe."""
    return "\n".join(_UNSAFE.sub(_escape, line) for line in text.split("\n"))


def width(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def cut(text: str, columns: int) -> str:
    """The text in at most so many columns."""
    if width(text) <= columns:
        return text
    kept, used = [], 1
    for char in text:
        used += width(char)
        if used > columns:
            break
        kept.append(char)
    return "".join(kept).rstrip() + "…"


def sized(count: int) -> str:
    """Bytes as people say them."""
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def _seconds(left: float) -> str:
    return f"{left:.0f} s" if left < 90 else f"{left / 60:.0f} min"


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(found: re.Match[str]) -> str:
    return "".join(f"\\u{unit:04x}" for unit in _units(found[0]))


def _units(char: str) -> tuple[int, ...]:
    """A character's UTF-16 code units, as JSON writes them."""
    code = ord(char)
    return (code,) if code < 0x10000 else (0xD800 + ((code - 0x10000) >> 10), 0xDC00 + (code & 0x3FF))


def _encodable(text: str, stream: TextIO) -> str:
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
