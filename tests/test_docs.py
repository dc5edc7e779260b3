"""The docs say what is: README's example prints what the page shows, links lead somewhere, every module is on the map."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_readmes_example_prints_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "RECOLLECT_OWNER", "RECOLLECT_RECIPE", "RECOLLECT_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "static")
    fences = FENCE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    (program, more), shown = [body for kind, body in fences if kind == "python"], fences[1][1]
    said, names = io.StringIO(), {}
    with contextlib.redirect_stdout(said):
        exec(program, names)
    assert len([line for line in program.splitlines() if line.strip()]) <= 12
    assert _words(said.getvalue()) == _words(shown)
    assert _numbers(said.getvalue()) == pytest.approx(_numbers(shown), abs=5e-6)  # the last digit is the processor's
    exec(more, names)
    names["memory"].close()


def _steady(text: str) -> str:
    """Without what differs from run to run: ids and milliseconds."""
    return re.sub(r"\d+\.\d\d ms", "some ms", re.sub(r"\b[0-9a-f]{28}\b", "ID", text)).strip()


def _words(text: str) -> str:
    return NUMBER.sub("#", _steady(text))


def _numbers(text: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(_steady(text))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_every_module_is_on_the_map():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for path in (ROOT / "src" / "recollect").glob("*.py"):
        if not path.stem.startswith("_"):
            assert re.search(rf"\b{path.stem}\b", page), f"{path.stem} is not in ARCHITECTURE.md"
