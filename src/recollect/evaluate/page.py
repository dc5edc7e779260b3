"""A result as one HTML page that needs nothing else: tables, plots, no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from .baselines import BASELINES
from .plots import Dot, bars, dots
from .report import LEADING, Table, tables

STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:.5rem 0 1.5rem;font-variant-numeric:tabular-nums;font-size:13px}
table{display:block;overflow-x:auto}
th,td{padding:.25rem .7rem;text-align:left;border-bottom:1px solid #8884;white-space:nowrap}
td:first-child{max-width:30rem;overflow:hidden;text-overflow:ellipsis}
p.note{color:#777;margin:.2rem 0}
svg{max-width:100%;height:auto}
"""


def page(found: Mapping[str, Any]) -> str:
    """The whole page."""
    said = f"recollect {found['recollect']}, embedder {found['embedder'].get('space') or found['embedder']['name']}"
    body = "".join([_plots(found), *map(_table, tables(found))])
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>How well it finds</title><style>{STYLE}</style></head>\n<body><h1>How well it finds</h1>"
        f'<p class="note">{escape(said)}</p>\n{body}</body></html>\n'
    )


def plots(found: Mapping[str, Any]) -> dict[str, str]:
    """Every plot by its name: over all sets, and for each set its scores and its milliseconds."""
    made = {}
    if len(found["sets"]) > 1:
        made["all"] = dots(f"{LEADING}, mean over {len(found['sets'])} sets", [
            _dot(system, found["means"][system][LEADING]) for system in found["systems"]
        ])  # fmt: skip
    for one in found["sets"]:
        scores = [_dot(system["name"], system["metrics"][LEADING]) for system in one["systems"]]
        made[one["name"]] = dots(f"{one['name']}: {LEADING}", scores)
        made[f"{one['name']}: milliseconds"] = bars(
            f"{one['name']}: milliseconds, p50 a stage", [(system["name"], _parts(system["ms"])) for system in one["systems"]]
        )
    return made


def _plots(found: Mapping[str, Any]) -> str:
    return "".join(f"<figure>{plot}</figure>\n" for plot in plots(found).values())


def _dot(system: str, cell: Mapping[str, float]) -> Dot:
    return Dot(system, cell["mean"], cell["low"], cell["high"], system in BASELINES)


def _parts(ms: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The stages that add up: embedding, the routes, and what remains of recall."""
    routes = {name: cell["p50"] for name, cell in ms.items() if name not in ("total", "embed", "recall")}
    rest = max(0.0, ms["recall"]["p50"] - sum(routes.values()))
    return {"embed": ms["embed"]["p50"], **routes, "the rest": rest}


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.head)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in table.rows)
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return f"<h2>{escape(table.title)}</h2>{note}<table><tr>{head}</tr>\n{rows}</table>\n"
