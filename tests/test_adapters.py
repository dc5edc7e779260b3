"""Adapters are optional: none is imported unasked, a missing framework is named with its cure; and their page's examples run."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
FRAMEWORKS: dict[str, tuple[str, str | None]] = {  # module: package, extra
    "langgraph": ("langgraph", "langgraph"),
    "anthropic_tool": ("anthropic", "anthropic"),
    "openai_agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "llamaindex": ("llama_index", "llamaindex"),
    "mem0": ("mem0", None),  # it imitates its framework, and needs nothing of it
}
ASK_NOTHING = {"anthropic_tool", "openai_agents", "mem0"}  # these can be imported without their frameworks
SHARED = {"__init__", "carried", "matching", "mem0_names"}


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_pages_examples_run(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "RECOLLECT_OWNER", "RECOLLECT_DB", "RECOLLECT_RECIPE", "RECOLLECT_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "static")
    monkeypatch.setenv("HOME", str(tmp_path))
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(EXAMPLES[number], f"docs/adapters.md, example {number + 1}", "exec"), {"__name__": "__main__"})
    assert said.getvalue().strip()


def test_every_adapter_is_on_the_page_and_here():
    files = {path.stem for path in (ROOT / "src" / "recollect" / "adapters").glob("*.py")} - SHARED
    assert files == set(FRAMEWORKS)
    for name, (_, extra) in FRAMEWORKS.items():
        assert f"recollect.adapters.{name}" in PAGE and (extra is None or f"recollect[{extra}]" in PAGE)


@pytest.mark.parametrize("name", sorted(FRAMEWORKS.keys() - ASK_NOTHING))
def test_a_missing_framework_is_named_with_its_cure(name):
    package, extra = FRAMEWORKS[name]
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"try: import recollect.adapters.{name}\nexcept ImportError as error: print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert f'pip install "recollect[{extra}]"' in ran.stdout


@pytest.mark.parametrize("name", sorted(ASK_NOTHING))
def test_some_need_nothing_of_their_framework(name):
    code = f"import sys; sys.modules[{FRAMEWORKS[name][0]!r}] = None; import recollect.adapters.{name}"
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)


def test_the_toolset_needs_no_server():
    code = (
        "import sys\nfor name in ('fastapi', 'uvicorn', 'mcp'): sys.modules[name] = None\n"
        "from recollect import Memory\nfrom recollect.adapters.pydantic_ai import RecollectToolset\n"
        "print(len(RecollectToolset(Memory.open('memory:', owner='a', embedder='none')).tools))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.stdout.strip() == "6", ran.stderr


def test_no_adapter_is_imported_unasked():
    packages = sorted({package for package, _ in FRAMEWORKS.values()})
    code = (
        "import sys, recollect.adapters, recollect.memory, recollect.aio, recollect.cli, recollect.settings\n"
        f"print([name for name in {packages!r} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "[]"
