"""Plots as SVG text, made by hand: means with their intervals, and stacked milliseconds. No library, no script, no network.

Colours are given twice, for light and dark, in a style of their own, so that a plot can stand in a page or alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

ROW, LABEL, WIDE, RIGHT, HEAD, FOOT = 22, 250, 430, 90, 30, 26
TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
INKS = ("#3b6fb6", "#c8553d", "#5a9367", "#8a6fae", "#b08a2e", "#4d8f97", "#a65a86", "#777777")
STYLE = (
    "<style>svg.plot{font:12px system-ui,sans-serif}.plot text{fill:#222}.plot .dim{fill:#777}.plot line{stroke:#ddd}"
    ".plot .whisker{stroke:#3b6fb6;stroke-width:2}.plot .dot{fill:#3b6fb6}.plot .plain{stroke:#999}.plot .dot.plain{fill:#999}"
    "@media(prefers-color-scheme:dark){.plot text{fill:#ddd}.plot .dim{fill:#999}.plot line{stroke:#444}"
    ".plot .whisker{stroke:#7fb0ef}.plot .dot{fill:#7fb0ef}.plot .plain{stroke:#888}.plot .dot.plain{fill:#888}}</style>"
)


class Dot(NamedTuple):
    """One row: a mean between the ends of its interval, 0 to 1. `plain` rows are what is compared with."""

    label: str
    mean: float
    low: float
    high: float
    plain: bool = False


def dots(title: str, rows: Sequence[Dot]) -> str:
    """A row a system: a dot at the mean, a line over the interval."""
    top = max([row.high for row in rows], default=1.0)
    most = next((tick for tick in TICKS[1:] if tick >= top), 1.0)
    ticks = [tick for tick in TICKS if tick <= most]
    parts = [_tick(_x(tick, most), f"{tick:.1f}", len(rows)) for tick in ticks]
    for number, row in enumerate(rows):
        y, kind = HEAD + ROW * number + ROW / 2, " plain" if row.plain else ""
        parts += [
            _label(row.label, y),
            f'<line class="whisker{kind}" x1="{_x(row.low, most):.1f}" x2="{_x(row.high, most):.1f}" y1="{y}" y2="{y}"/>',
            f'<circle class="dot{kind}" cx="{_x(row.mean, most):.1f}" cy="{y}" r="4"/>',
            f'<text x="{LABEL + WIDE + 12}" y="{y + 4}">{row.mean:.3f}</text>',
        ]
    return _plot(title, len(rows), parts)


def bars(title: str, rows: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """A row a system: its stages one after the other, as long as they took."""
    most = max([sum(stages.values()) for _, stages in rows], default=0.0) or 1.0
    names = list(dict.fromkeys(name for _, stages in rows for name in stages))
    inks = {name: INKS[number % len(INKS)] for number, name in enumerate(names)}
    parts = []
    for number, (label, stages) in enumerate(rows):
        y, x = HEAD + ROW * number, float(LABEL)
        parts.append(_label(label, y + ROW / 2))
        for name, ms in stages.items():
            width = WIDE * ms / most
            parts.append(
                f'<rect x="{x:.1f}" y="{y + 4}" width="{width:.1f}" height="{ROW - 8}" fill="{inks[name]}">'
                f"<title>{escape(name)} {ms:.2f} ms</title></rect>"
            )
            x += width
        parts.append(f'<text x="{x + 8:.1f}" y="{y + ROW / 2 + 4}">{sum(stages.values()):.2f} ms</text>')
    parts += _legend(inks, HEAD + ROW * len(rows) + 16)
    return _plot(title, len(rows), parts)


def _x(value: float, most: float) -> float:
    return LABEL + WIDE * min(value, most) / most


def _tick(x: float, text: str, rows: int) -> str:
    bottom = HEAD + ROW * rows
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{HEAD}" y2="{bottom}"/>'
        f'<text class="dim" x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{text}</text>'
    )


def _label(text: str, y: float) -> str:
    short = text if len(text) <= 38 else text[:37] + "…"
    return f'<text x="{LABEL - 10}" y="{y + 4}" text-anchor="end">{escape(short)}<title>{escape(text)}</title></text>'


def _legend(inks: Mapping[str, str], y: float) -> list[str]:
    parts, x = [], 10.0
    for name, ink in inks.items():
        parts.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{ink}"/>')
        parts.append(f'<text class="dim" x="{x + 14}" y="{y}">{escape(name)}</text>')
        x += 30 + 7 * len(name)
    return parts


def _plot(title: str, rows: int, parts: Sequence[str]) -> str:
    width, height = LABEL + WIDE + RIGHT, HEAD + ROW * rows + FOOT
    return (
        f'<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(title)}">{STYLE}<text x="10" y="18" font-weight="bold">{escape(title)}</text>'
        f"{''.join(parts)}</svg>"
    )
