"""What a figure was measured on."""

from __future__ import annotations

import os
import platform
import sqlite3
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def machine(*packages: str) -> dict[str, object]:
    return {
        "date": date.today().isoformat(), "cpu": cpu(), "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(), "sqlite": sqlite3.sqlite_version,
        **{name: installed(name) for name in ("recollect", "numpy", "turbovec", "PyStemmer", *packages)},
    }  # fmt: skip


def cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
