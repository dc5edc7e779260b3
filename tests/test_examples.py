"""Every example runs, and prints what it is there to show."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
SHOWN = {
    "quickstart.py": "final_score",
    "chat_loop.py": "walnuts",
    "changing_facts.py": "superseded",
    "langgraph_store.py": "namespaces:",
    "memory_tool.py": "in Pune",
}


def test_every_example_is_listed():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_example(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert SHOWN[name] in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
