"""scripts/quality on tiny sets: the page is made of what was measured, and keeps what people wrote."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "scripts" / "quality"
TOWNS = ("Goa", "Lima", "Oslo", "Rome")


def a_set(folder: Path) -> None:
    folder.mkdir(parents=True)
    records = [{"id": town, "text": f"We spent a week in {town}.", "speaker": "Ann"} for town in TOWNS]
    asked = [{"id": f"q{town}", "text": f"How was {town}?", "category": "north" if town == "Oslo" else "south"} for town in TOWNS]
    for name, rows in (("corpus.jsonl", records), ("queries.jsonl", asked)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "qrels.tsv").write_text("".join(f"q{town}\t{town}\t1\n" for town in TOWNS))


def test_the_page_is_written_and_written_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in ("tune/towns", "tune/locomo", "report/towns"):
        a_set(tmp_path / folder)
    page = tmp_path / "quality.md"
    command = [sys.executable, SCRIPT, "--tune", tmp_path / "tune", "--report", tmp_path / "report", "--embedder", "hashing",
               "--page", page, "--build", tmp_path / "build"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    text = page.read_text()
    for heading in ("report: nDCG@10", "tune: balanced against the five systems", "What each part of balanced is worth",
                    "tune: recall@10 / recall@50", "report: nDCG@10 without a model", "## What did not work"):  # fmt: skip
        assert heading in text, heading
    assert "| mean of locomo | " in text and "| towns | 4 | 4 | 1.000 | 1.000 |" in text and "| memsense |" in text
    assert (tmp_path / "quality" / "tune.svg").read_text().startswith("<svg")
    page.write_text(text + "\nReading tea leaves.\n")
    subprocess.run([*command, "--again"], check=True, capture_output=True, timeout=60)
    again = page.read_text()
    assert again.endswith("\nReading tea leaves.\n") and again.count("## What did not work") == 1
