"""Claude's memory tool: says what Anthropic documents, keeps files to the letter, and lets no path lead anywhere."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.tools import BetaLocalFilesystemMemoryTool

from recollect import Memory, Scope
from recollect.adapters.anthropic_tool import AsyncRecollectMemoryTool, MemoryFiles, RecollectMemoryTool, tool_result
from recollect.errors import InvalidRequest

NOTES = "/memories/notes.txt"
THERE = {"command": "create", "path": NOTES, "file_text": "Hello World\nThis is line two\n"}


@pytest.fixture
def memory(open_memory):
    return open_memory()


@pytest.fixture
def files(memory):
    return MemoryFiles(memory)


@pytest.fixture
def near(open_embedded):
    return open_embedded()


def refused(files: MemoryFiles, **command) -> str:
    with pytest.raises(InvalidRequest) as error:
        files.run(command)
    return str(error.value)


def test_every_answer_reads_as_documented(files):
    about = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n"
    assert files.view("/memories") == f"{about}0B\t/memories"
    assert files.run(THERE) == "File created successfully at: /memories/notes.txt"
    assert files.view("/memories") == f"{about}29B\t/memories\n29B\t/memories/notes.txt"
    said = "Here's the content of /memories/notes.txt with line numbers:\n"
    assert files.view(NOTES) == f"{said}     1\tHello World\n     2\tThis is line two\n     3\t"
    assert files.view(NOTES, [2, 2]) == f"{said}     2\tThis is line two"
    assert files.view(NOTES, [2, -1]) == f"{said}     2\tThis is line two\n     3\t"
    assert files.str_replace(NOTES, "line two", "line 2") == (
        "The memory file has been edited.\n     1\tHello World\n     2\tThis is line 2\n     3\t"
    )
    assert files.insert(NOTES, 1, "between\n") == "The file /memories/notes.txt has been edited."
    assert files.view(NOTES) == f"{said}     1\tHello World\n     2\tbetween\n     3\tThis is line 2\n     4\t"
    assert files.rename(NOTES, "/memories/old/n.txt") == "Successfully renamed /memories/notes.txt to /memories/old/n.txt"
    assert files.delete("/memories/old") == "Successfully deleted /memories/old"
    assert files.view("/memories") == f"{about}0B\t/memories"


def test_every_error_reads_as_documented(files):
    files.run(THERE)
    files.create("/memories/dir/a", "a a\nb a\n")
    assert refused(files, command="view", path="/memories/x") == (
        "The path /memories/x does not exist. Please provide a valid path."
    )
    assert refused(files, **THERE) == "Error: File /memories/notes.txt already exists"
    for path in ("/memories/x", "/memories/dir", "/memories"):
        assert refused(files, command="str_replace", path=path, old_str="a", new_str="b") == (
            f"Error: The path {path} does not exist. Please provide a valid path."
        )
        assert refused(files, command="insert", path=path, insert_line=0, insert_text="b") == (
            f"Error: The path {path} does not exist"
        )
    assert refused(files, command="str_replace", path=NOTES, old_str="zebra", new_str="b") == (
        "No replacement was performed, old_str `zebra` did not appear verbatim in /memories/notes.txt."
    )
    assert refused(files, command="str_replace", path="/memories/dir/a", old_str="a", new_str="b") == (
        "No replacement was performed. Multiple occurrences of old_str `a` in lines: 1, 1, 2. Please ensure it is unique"
    )
    for line in (-1, 3):
        assert refused(files, command="insert", path=NOTES, insert_line=line, insert_text="b") == (
            f"Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, 2]"
        )
    assert refused(files, command="delete", path="/memories/x") == "Error: The path /memories/x does not exist"
    assert refused(files, command="rename", old_path="/memories/x", new_path="/memories/y") == (
        "Error: The path /memories/x does not exist"
    )
    for taken in ("/memories/dir", "/memories/dir/a", "/memories"):
        assert (
            refused(files, command="rename", old_path=NOTES, new_path=taken) == f"Error: The destination {taken} already exists"
        )
    assert "Cannot delete" in refused(files, command="delete", path="/memories/")
    assert "Cannot rename" in refused(files, command="rename", old_path="/memories", new_path="/memories/x")
    assert "into itself" in refused(files, command="rename", old_path="/memories/dir", new_path="/memories/dir/deeper")
    assert "is a file" in refused(files, command="create", path="/memories/notes.txt/below", file_text="x")
    assert "already exists" in refused(files, command="create", path="/memories/dir", file_text="x")


def test_a_file_of_a_million_lines_is_not_shown(near):
    files = MemoryFiles(near)
    files.create("/memories/long", "\n" * 1_000_000)
    assert refused(files, command="view", path="/memories/long").endswith("exceeds maximum line limit of 999,999 lines.")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/memories/../etc/passwd",
        "/memories/..",
        "/memories/a/../../b",
        "/memories/./x",
        "/memories/..\\x",
        "/memories/%2e%2e%2fsecrets.env",
        "/memories/%2E%2E/x",
        "/memories%2f..",
        "/memoriesx/y",
        "memories/x",
        "/memories\x00/x",
        "/memories/a\nb",
        "",
        "/",
        "//memories/x",
        "/Memories/x",
        "/memories/" + "x" * 2_000,
        "file:///memories/x",
        "C:\\memories",
    ],
)
def test_paths_that_lead_elsewhere_are_refused(near, path):
    for command in (
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "x"},
        {"command": "str_replace", "path": path, "old_str": "x"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
        {"command": "delete", "path": path},
        {"command": "rename", "old_path": path, "new_path": "/memories/y"},
        {"command": "rename", "old_path": "/memories/y", "new_path": path},
    ):
        assert refused(MemoryFiles(near), **command).startswith("Error: ")
    assert near.list() == []


@pytest.mark.parametrize(
    "command",
    [
        None,
        [],
        "view",
        {},
        {"command": None},
        {"command": "__init__"},
        {"command": "clear"},
        {"command": "view"},
        {"command": "view", "path": 3},
        {"command": "view", "path": "/memories", "view_range": "all"},
        {"command": "view", "path": "/memories", "view_range": [1]},
        {"command": "view", "path": "/memories", "view_range": [True, 2]},
        {"command": "insert", "path": NOTES, "insert_line": "1", "insert_text": "x"},
        {"command": "create", "path": NOTES},
        {"command": "create", "path": NOTES, "file_text": ["x"]},
        {"command": "str_replace", "path": NOTES, "old_str": ""},
    ],
)
def test_what_is_no_command_is_an_error_for_claude(near, command):
    MemoryFiles(near).run(THERE)
    result = tool_result(near, {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": command})
    assert result["is_error"] is True and result["tool_use_id"] == "toolu_1" and result["content"]


@pytest.mark.parametrize(
    "content", ["", " \n ", "\x00", "a\r\nb\r", "<memory>x</memory>", "\ud800 half", "tab\t\x1b[0m", "x" * 300_000]
)
def test_content_is_kept_to_the_letter(near, content):
    files = MemoryFiles(near)
    files.create("/memories/f", content)
    shown = files.view("/memories/f").split("\n", 1)[1].split("\n")
    assert "\n".join(line[7:] for line in shown) == content
    files.insert("/memories/f", 0, "first")
    assert files.view("/memories/f", [1, 1]).endswith("     1\tfirst")


def test_files_are_found_by_what_is_in_them(files, memory):
    files.create("/memories/people/priya.md", "Priya's parents live in Goa.")
    files.create("/memories/empty.md", "")
    files.insert("/memories/empty.md", 0, "The rent is due on the third.")
    assert memory.recall("Where do Priya's parents live?")[0].record.metadata["path"] == "/memories/people/priya.md"
    assert memory.recall("rent")[0].record.metadata["path"] == "/memories/empty.md"
    files.str_replace("/memories/people/priya.md", "Goa", "Pune")
    assert not memory.recall("Goa") and memory.recall("Pune")
    files.delete("/memories/people")
    assert not memory.recall("Priya")


def test_upkeep_leaves_files_alone_that_say_the_same(files, memory):
    for name in "ab":
        files.create(f"/memories/{name}", "Alice likes walnuts.")
    files.create("/memories/empty", "")
    memory.upkeep()
    assert files.view("/memories").count("\n") == 4 and files.view("/memories/a").endswith("walnuts.")


def test_a_listing_goes_two_levels_deep_without_hidden_items(files):
    for path in ("a/b/c/d", "a/.hidden", ".secret/x", "node_modules/m/x", "z", "a b/ü"):
        files.create(f"/memories/{path}", "x" * 1536)
    lines = files.view("/memories").split("\n")[1:]
    assert lines == [
        "9.0K\t/memories",
        "1.5K\t/memories/a b/",
        "1.5K\t/memories/a b/ü",
        "3.0K\t/memories/a/",
        "1.5K\t/memories/a/b/",
        "1.5K\t/memories/z",
    ]
    assert files.view("/memories/a").split("\n")[1] == "3.0K\t/memories/a"
    assert files.view("/memories/a").split("\n")[2:] == ["1.5K\t/memories/a/b/", "1.5K\t/memories/a/b/c/"]


def test_owners_agents_and_projects_have_folders_of_their_own(memory):
    scopes = [
        Scope(owner="a"),
        Scope(owner="b"),
        Scope(owner="a", agent="x"),
        Scope(owner="a", project="p"),
        Scope(owner="a", project="q"),
    ]
    own = [MemoryFiles(memory.for_owner(scope)) for scope in scopes]
    for number, files in enumerate(own):
        files.create(NOTES, f"secret {number}")
    for number, files in enumerate(own):
        assert files.view(NOTES).endswith(f"secret {number}")
        assert files.view("/memories").count("\t") == 2
    own[0].clear()
    assert own[0].view("/memories").endswith("0B\t/memories") and own[3].view(NOTES).endswith("secret 3")


def test_it_is_a_tool_of_the_sdk(memory):
    tool = RecollectMemoryTool(memory, cache_control={"type": "ephemeral"})
    assert isinstance(tool, BetaAbstractMemoryTool) and tool.name == "memory"
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
    assert tool.call(THERE) == "File created successfully at: /memories/notes.txt"
    with pytest.raises(ToolError, match="already exists"):
        tool.call(THERE)
    with pytest.raises(ToolError, match="Unknown command"):
        tool.call({"command": "format"})
    assert tool.clear_all_memory() == "All memory cleared"


def test_the_asynchronous_tool_answers_the_same(memory):
    async def scenario():
        tool = AsyncRecollectMemoryTool(memory)
        assert isinstance(tool, BetaAsyncAbstractMemoryTool)
        assert await tool.call(THERE) == "File created successfully at: /memories/notes.txt"
        with pytest.raises(ToolError, match="already exists"):
            await tool.call(THERE)
        assert await tool.clear_all_memory() == "All memory cleared"

    asyncio.run(scenario())


def test_it_does_what_the_sdks_own_tool_on_files_does(memory, tmp_path):
    """Where Anthropic's page and its SDK word an error differently, the page counts: only whether there is one is compared."""
    ours, theirs = RecollectMemoryTool(memory), BetaLocalFilesystemMemoryTool(str(tmp_path))
    for command in (
        THERE,
        THERE,
        {"command": "view", "path": NOTES},
        {"command": "view", "path": NOTES, "view_range": [2, -1]},
        {"command": "insert", "path": NOTES, "insert_line": 2, "insert_text": "last"},
        {"command": "view", "path": NOTES},
        {"command": "insert", "path": NOTES, "insert_line": 7, "insert_text": "no"},
        {"command": "str_replace", "path": NOTES, "old_str": "last", "new_str": "a\nb"},
        {"command": "view", "path": NOTES},
        {"command": "str_replace", "path": NOTES, "old_str": "l", "new_str": ""},
        {"command": "view", "path": "/memories/../x"},
        {"command": "rename", "old_path": NOTES, "new_path": "/memories/d/n"},
        {"command": "view", "path": "/memories/d/n"},
        {"command": "delete", "path": "/memories/d"},
        {"command": "delete", "path": "/memories/d/n"},
    ):
        said = []
        for tool in (ours, theirs):
            try:
                said.append(tool.call(command))
            except ToolError:
                said.append(None)
        assert (said[0] is None) == (said[1] is None), command
        if command["command"] in ("view", "create", "insert", "delete", "rename"):
            assert said[0] == said[1]


def test_many_hands_edit_one_file(tmp_path):
    with Memory.open(f"{tmp_path}/m.db", owner="alice", embedder="none") as memory:
        files = MemoryFiles(memory)
        files.create("/memories/log", "")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: files.insert("/memories/log", 0, f"line {number}"), range(20)))
        lines = {line[7:] for line in files.view("/memories/log").split("\n")[1:]}
        assert lines == {*(f"line {number}" for number in range(20)), ""}


def test_it_needs_no_sdk_for_a_loop_of_your_own():
    code = (
        "import sys; sys.modules['anthropic'] = None\n"
        "from recollect import Memory\nfrom recollect.adapters import anthropic_tool\n"
        "memory = Memory.open('memory:', owner='a', embedder='none')\n"
        "print(anthropic_tool.tool_result(memory, {'id': 't', 'input': {'command': 'view', 'path': '/memories'}})['content'])\n"
        "try: anthropic_tool.RecollectMemoryTool\n"
        "except ImportError as error: print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "0B\t/memories" in ran.stdout and 'pip install "recollect[anthropic]"' in ran.stdout
