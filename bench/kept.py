"""Figures from one run to the next, so that a long measurement can be made in parts: build/bench/found.json.

What was measured on another machine, with another version of something, or by other settings doesn't mix: then all is begun anew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

NESTED = ("one", "peers", "scale")  # by size; the others are one measurement each


def merged(path: Path, new: dict) -> dict:
    """All that is known now, which is kept."""
    old = _read(path)
    if old and _place(old) != _place(new):
        print(f"bench: {path} was measured elsewhere or otherwise; beginning anew", file=sys.stderr)
        old = {}
    found = {**old, **new}
    for part in NESTED:
        sizes = {**old.get(part, {})}
        for size, one in new.get(part, {}).items():
            sizes[str(size)] = {**sizes.get(str(size), {}), **one} if part in ("peers", "scale") else one
        if sizes:
            found[part] = sizes
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return json.loads(json.dumps(found))


def _read(path: Path) -> dict:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _place(found: dict) -> tuple[dict, dict]:
    machine = {name: value for name, value in found["machine"].items() if name != "date"}
    return json.loads(json.dumps((machine, found["options"])))
