"""The house keeps its order: who may import whom, what is read where, how things are called; and no error is without a page."""

from __future__ import annotations

import ast
import inspect
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import recollect
from recollect import errors

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "recollect"

# A module may import what stands before it. BESIDE the line stand those who see their own and NOUNS; rerankers also the
# embedders, with whom they share files, tables and the way to a server.
ORDER = (
    "errors",
    "records",
    "remote",
    "query",
    "rankings",
    "recipe_fields",
    "pools",
    "recipes",
    "recipe_text",
    "changes",
    "ports",
    "stopwords",
    "tokens",
    "reading",
    "date_words",
    "date_count",
    "date_rules",
    "dates_han",
    "dates",
    "chunks",
    "parts",
    "name_words",
    "entities",
    "statement_rules",
    "statements",
    "extract",
    "normalize",
    "names",
    "mentions",
    "facts",
    "learning",
    "fuse",
    "score",
    "diversify",
    "expand",
    "render",
    "chat",
    "extract_chat",
    "embed",
    "rerank",
    "temporal",
    "spaces",
    "routes",
    "gather",
    "repeats",
    "ingest",
    "asking",
    "paging",
    "recall",
    "tellings",
    "links",
    "messages",
    "threads",
    "rooms",
    "conversations",
    "pen",
    "dead_letters",
    "reader",
    "gates",
    "explain",
    "inspection",
    "feedback",
    "moving",
    "upkeep",
    "summarise",
    "summaries",
    "summarise_chat",
    "consolidate",
    "access",
    "settings",
    "opening",
    "crew",
    "memory",
    "traces",
    "aio",
    "wire",
    "loader",
    "portable",
    "conformance",
    "testing",
    "demo",
    "evaluate",
    "http",
    "mcp",
    "adapters",
    "cli",
    "__main__",
)
BESIDE = ("stores", "embedders", "rerankers")
NOUNS = {
    "errors", "records", "changes", "query", "rankings", "ports", "stopwords", "tokens", "normalize", "names", "reading",
    "remote",
}  # fmt: skip
# Imports inside a function that go against the line: a noun that prints itself asks whoever knows how.
BACKWARDS = {("recipes", "recipe_text"), ("rankings", "explain"), ("rankings", "wire"), ("inspection", "wire")}
BACKWARDS |= {("memory", "traces")}  # a memory is opened as what the settings say
DOORS = {"cli", "testing", "conformance"}  # these may look into stores and embedders, others only ask `open_…`

ENVIRONMENT = {"settings"}
WALL_CLOCK = {"opening"}
STOP_WATCH = {
    "embed", "recall", "rerank", "routes", "remote", "stores.sqlite_file", "cli.terminal", "cli.timing", "cli.tour",
    "evaluate.kept",
    "embedders.speed", "stores.guard", "stores.following",
    "evaluate.run", "http.gate", "http.service", "reader",
}  # fmt: skip
FORBIDDEN = re.compile(r"(manager|helper|util|utils|common|base|factory|misc)s?")


class Import(NamedTuple):
    """One import within the package: from where, of what, and whether inside a function."""

    module: str
    wanted: str
    lazy: bool


def modules() -> dict[str, ast.Module]:
    """Every module of the package by its dotted name, parsed."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        found[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return found


MODULES = modules()
PACKAGES = {name.rpartition(".")[0] for name in MODULES if "." in name}


def imports(module: str) -> Iterator[Import]:
    """What a module imports from the package, but for annotations."""
    home = module.split(".") if module in PACKAGES else module.split(".")[:-1]

    def walk(node: ast.AST, lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.ImportFrom) and child.level:
                start = home[: len(home) - child.level + 1]
                for alias in child.names:
                    yield Import(module, _module(start, child.module, alias.name), lazy)
            yield from walk(child, lazy or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))

    return walk(MODULES[module], False)


def _module(start: list[str], named: str | None, name: str) -> str:
    """`from .a import b` means the module a.b if there is one, else a."""
    inside = [*start, *(named.split(".") if named else [])]
    whole = ".".join([*inside, name])
    return whole if whole in MODULES else ".".join(inside)


def top(module: str) -> str:
    return module.partition(".")[0]


def every_import() -> list[Import]:
    return [one for module in MODULES for one in imports(module) if one.wanted]


def calls(module: str, names: set[str]) -> list[str]:
    """Where a module mentions one of these names, such as `time.monotonic` or a bare `monotonic`."""
    found = []
    for node in ast.walk(MODULES[module]):
        said = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if said in names:
            found.append(f"{module}:{node.lineno} {said}")
    return found


def test_every_module_has_its_place():
    placed = {*ORDER, *BESIDE, "__init__", ""}
    assert {top(module) for module in MODULES} <= placed, "add it to ORDER, behind what it imports"
    assert set(ORDER) <= {top(module) for module in MODULES}


def test_imports_follow_the_line():
    wrong = []
    for one in every_import():
        user, used = top(one.module), top(one.wanted)
        if user == used or user in (*BESIDE, "__init__", "") or used in BESIDE:
            continue
        if ORDER.index(used) > ORDER.index(user) and not (one.lazy and (one.module, one.wanted) in BACKWARDS):
            wrong.append(one)
    assert wrong == []


def test_stores_and_embedders_see_nouns_only():
    wrong = [
        one
        for one in every_import()
        if top(one.module) in BESIDE
        and top(one.wanted) not in NOUNS | {top(one.module)} | ({"embedders"} if top(one.module) == "rerankers" else set())
    ]
    assert wrong == []


def test_the_core_reaches_stores_and_embedders_by_name():
    wrong = [
        one
        for one in every_import()
        if top(one.wanted) in BESIDE and "." in one.wanted and top(one.module) not in DOORS | {top(one.wanted), "rerankers"}
    ]
    assert wrong == []


def test_modules_are_named_for_what_they_are():
    assert [name for name in MODULES if any(FORBIDDEN.fullmatch(part) for part in re.split(r"[._]", name))] == []


def test_only_settings_reads_the_environment():
    names = {"environ", "getenv", "environb", "getenvb", "expandvars"}
    read = [place for module in MODULES if module not in ENVIRONMENT for place in calls(module, names)]
    assert read == []


def test_only_opening_asks_what_time_it_is():
    names = {"utcnow", "time_ns", "today", "localtime", "gmtime"}
    read = [place for module in MODULES if module not in WALL_CLOCK for place in calls(module, names)]
    for module, tree in MODULES.items():
        for node in ast.walk(tree) if module not in WALL_CLOCK else ():
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("time", "datetime"):
                read += [f"{module}:{node.lineno} {node.attr}"] if node.attr in ("time", "now") else []
    assert read == []


def test_stop_watches_are_where_they_are_listed():
    names = {"monotonic", "perf_counter", "monotonic_ns", "perf_counter_ns", "process_time"}
    assert {module for module in MODULES if calls(module, names)} == STOP_WATCH


def test_every_module_opens_with_what_it_is():
    assert [name for name, tree in MODULES.items() if not ast.get_docstring(tree)] == []


@pytest.mark.parametrize("module", ["recollect", "recollect.memory"])
def test_importing_costs_nothing_heavy(module):
    code = (
        f"import sys\nbefore = set(sys.modules)\nimport {module}\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "sys.exit(' '.join(sorted(new - sys.stdlib_module_names - {'recollect'})) or 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert ran.returncode == 0, f"imported: {ran.stderr}"


def project_files() -> Iterator[Path]:
    """What the project consists of, whatever lies about beside it."""
    for path in (*ROOT.glob("*.md"), *ROOT.glob("*.toml")):
        yield path
    for folder in ("src", "tests", "docs", "scripts", "examples", "bench", ".ci"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def test_the_project_speaks_of_itself_alone():
    words = "|".join(re.escape(word + ".md") for word in ("HOUSE", "RECIPES", "FACTS", "MODELS", "DOORS"))
    alien = re.compile(rf"(?<![\w./])/{'work'}\b(?!\.)|\.\./{'shared'}|\b({words})|\bissue #?\d+\b", re.ASCII)
    found = []
    for path in project_files():
        text = path.read_bytes()
        if b"\0" not in text:
            lines = text.decode("utf-8", "replace").splitlines()
            found += [f"{path.relative_to(ROOT)}:{n} {line[:90]}" for n, line in enumerate(lines, 1) if alien.search(line)]
    assert found == []


def test_every_error_has_its_row():
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    every = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, errors.RecollectError)]
    for error in every:
        if error is not errors.RecollectError:
            also = [parent.__name__ for parent in error.__bases__ if parent is not errors.RecollectError]
            row = f"| `{error.__name__}` | `{error.code}` | {', '.join(f'`{name}`' for name in also)} |"
            assert row in page, row
    assert len({error.code for error in every}) == len(every), "a code means one error"


def test_every_error_says_something_and_is_what_people_catch():
    for _, error in inspect.getmembers(errors, inspect.isclass):
        raised = error()
        assert str(raised).endswith((".", ")")) and raised.code.isidentifier()
        assert error is errors.RecollectError or len([one for one in error.__mro__ if one.__module__ == "builtins"]) >= 3


class Function(NamedTuple):
    """How long a function is, without its documentation."""

    lines: int
    name: str


def functions() -> list[Function]:
    found = []
    for module, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
                found.append(Function(body[-1].end_lineno - body[0].lineno + 1, f"{module}.{node.name}"))
    return sorted(found, reverse=True)


def test_thermometers():
    """Read with `-rP` or `-s`: the longest files and functions and the widest classes. Nothing is a law here."""
    lengths = sorted(
        ((len(p.read_text().splitlines()), p.relative_to(SOURCE).as_posix()) for p in SOURCE.rglob("*.py")), reverse=True
    )
    every = functions()
    sizes = [function.lines for function in every]
    classes = [(sum(isinstance(n, ast.FunctionDef) and n.name[0] != "_" for n in node.body), f"{module}.{node.name}")
               for module, tree in MODULES.items() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]  # fmt: skip
    ninetieth = statistics.quantiles(sizes, n=10)[-1]
    print(f"functions: median {statistics.median(sizes):g} lines, 90th percentile {ninetieth:g}, {len(sizes)} of them")
    for title, rows in (("files", lengths), ("functions", every), ("classes by public methods", sorted(classes, reverse=True))):
        print(f"{title}: " + ", ".join(f"{name} {size}" for size, name in rows[:6]))
    assert sizes and lengths


def test_type_checkers_are_told_of_every_public_name():
    page = (SOURCE / "__init__.py").read_text(encoding="utf-8")
    told = {name: module for module, name in re.findall(r"from \.(\w+) import \w+ as (\w+)", page)}
    assert told == recollect._HOMES and (SOURCE / "py.typed").exists()
