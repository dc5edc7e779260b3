"""scripts/bench: figures measured in parts add up, those from elsewhere don't, and the tables show what there is."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bench import __main__ as bench
from bench import kept, report, scale, text, vectors

MACHINE = {
    "date": "2026-01-01", "cpu": "x", "cores": 2, "system": "Linux", "python": "3.11", "sqlite": "3", "numpy": "2",
    "turbovec": "1", "PyStemmer": "3", "recollect": "0",
}  # fmt: skip
ABOUT = {"machine": MACHINE, "options": {"questions": 300, "warm": 60, "vectors": "words", "recipe": "r", "text": "t"}}
TIMES = {"p50": 1.0, "p95": 2.0}
ONE = {
    "all": TIMES, "owner": TIMES, "text_only": TIMES, "vector_only": TIMES, "presets": {}, "stages": {"lexical": 0.5},
    "small": 10, "text_overlap": 1.0, "vector_recall": 1.0, "rss_mb": 70.0, "disk_mb": 5.0, "build_s": 1.0,
    "open": {"first_ms": 9.0}, "when": "2026-01-01 10:00",
}  # fmt: skip
PEER = {**ONE, "name": "zvec 1", "setup": "as it comes"}
CELL = {"vector_recall": 1.0, "own": 1.0, "p99": 9.0, "first_ms": 50.0, "rss_mb": 70.0, "clients": 1, "records": 10}
SERVED = {
    "when": "now", "server": "PostgreSQL 18", "settings": {}, "seconds": 1.0,
    "ingest": {"recollect": {"many_per_s": 2000, "single_per_s": 200}},
    "cells": [
        {**CELL, "name": "recollect", "p50": 0.5, "per_s": 900.0}, {**CELL, "name": "plain SQL", "p50": 0.7, "per_s": 800.0},
    ],
}  # fmt: skip


MODELS = {
    "when": "now", "records": 10_000, "embedder": "duet", "build_s": 60.0, "rss_mb": 300.0,
    "presets": {"fast": TIMES, "balanced": {"p50": 7.5, "p95": 9.0}},
}  # fmt: skip


def test_parts_add_up(tmp_path):
    path = tmp_path / "found.json"
    for part in (
        {"one": {1000: ONE}}, {"one": {10_000: ONE}}, {"peers": {1000: {"zvec": PEER}}}, {"peers": {1000: {"lancedb": PEER}}},
        {"import": {"recollect_ms": 1.0, "recollect_has_numpy": False, "numpy_ms": 90.0}}, {"postgres": SERVED},
        {"models": MODELS},
    ):  # fmt: skip
        known = kept.merged(path, {**ABOUT, **part})
    assert known == json.loads(path.read_text())
    assert list(known["one"]) == ["1000", "10000"] and list(known["peers"]["1000"]) == ["zvec", "lancedb"]
    page = report.tables(known)
    for said in ("| 10,000 | 1.000 |", "zvec 1", "`import recollect`", "in 1 of 1 pairs", "| recollect | 2,000 | 200 |",
                 "| `balanced` | 7.500 | 9.000 | ≤ 15 |"):  # fmt: skip
        assert said in page


def test_a_size_measured_again_replaces_what_was_known(tmp_path):
    kept.merged(tmp_path / "found.json", {**ABOUT, "one": {1000: ONE}})
    known = kept.merged(tmp_path / "found.json", {**ABOUT, "one": {1000: {**ONE, "small": 20}}})
    assert known["one"]["1000"]["small"] == 20


def test_figures_from_elsewhere_are_dropped(tmp_path, capsys):
    kept.merged(tmp_path / "found.json", {**ABOUT, "one": {1000: ONE}})
    tomorrow = {**ABOUT, "machine": {**MACHINE, "date": "2026-01-02"}}
    assert "one" in kept.merged(tmp_path / "found.json", {**tomorrow, "writes": {}})
    other = {**ABOUT, "machine": {**MACHINE, "numpy": "3"}}
    assert "one" not in kept.merged(tmp_path / "found.json", {**other, "writes": {}})
    assert "beginning anew" in capsys.readouterr().err


def test_parts_are_chosen_by_name(capsys):
    assert bench.arguments(["--only", "peers", "--peers", "zvec"]).peers == ["zvec"]
    assert bench.arguments([]).parts == ["import", "writes", "one", "many"]
    assert bench.arguments(["--postgres", "--sizes", "500"]).parts[-1] == "postgres"
    with pytest.raises(SystemExit):
        bench.arguments(["--only", "nothing"])
    assert "no such part: nothing" in capsys.readouterr().err


def test_the_first_records_are_the_same_whatever_the_size(tmp_path):
    texts = list(text.records(1200))
    for size in (1100, 1200):
        (tmp_path / str(size)).mkdir()
        asked = [(f"what about {texts[0].split()[0]}", 0)]
        vectors.write(tmp_path / str(size), texts[:size], asked, "words")
    small, large = (np.load(tmp_path / size / "vectors.npy") for size in ("1100", "1200"))
    assert np.abs(small[:1000] @ large[:1000].T).max() <= 1.0001
    assert float(np.mean(np.sum(small[:1000] * large[:1000], axis=1))) > 0.99


def test_what_was_computed_is_apart_from_what_was_measured():
    one = {"disk": {"all": 4_000_000}, "memory_mb": 2.0, "write_s": 1.0, "first_s": 0.5, "p50_ms": 1.0}
    known = {**ABOUT, "scale": {"1000": {"sqlite": one, "postgresql": {**one, "server": "PostgreSQL 18"}}}}
    assert "| postgresql | 1,000 | 4,000 | 2,000 | 4 | 2 | 1,000 | 0.50 | 1.00 |" in scale.measured(known)
    page = scale.computed(known)
    assert "From PostgreSQL: 4,000 bytes a record on disk (at 1,000 records), 2,000 in memory" in page
    assert "| 1,000,000,000 | 4.00 TB | 2 | 20.0 GB in 5 | 200.0 GB in 47 |" in page
