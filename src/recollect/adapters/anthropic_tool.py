"""Claude's memory tool, `memory_20250818`, on a memory instead of a folder: files are records, and recall finds what is in them.

    from recollect.adapters.anthropic_tool import RecollectMemoryTool, tool_result
    client.beta.messages.tool_runner(..., tools=[RecollectMemoryTool(memory)])     # with the SDK's runner
    tool_result(memory, block)                                                     # in a loop of your own: needs no SDK

A file is one record: its text is searched, its content is kept to the letter. Directories are the paths of files, and are there
as long as a file is in them. Answers and errors read as Anthropic documents them. A path is a name and never reaches a disk;
one that tries to leave /memories is refused all the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..aio import AsyncMemory
from ..errors import DuplicateRecord, InvalidRequest, MissingExtra, RecollectError, RecordChanged, UnknownRecord
from ..memory import Memory
from ..records import DERIVED, Record
from .carried import TRIES, carried, carry, change, find, lacking, name_of, remove, roomy, visible

ROOT, DEPTH, MOST_LINES = "/memories", 2, 999_999
TOOL = {"type": "memory_20250818", "name": "memory"}
PROJECT = "anthropic:/memories"
_TRAVERSAL = re.compile(r"\\|%2e|%2f|%5c|[\x00-\x1f\x7f]", re.IGNORECASE)
_COMMANDS = {
    "view": ("path", "view_range"), "create": ("path", "file_text"), "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"), "delete": ("path",), "rename": ("old_path", "new_path"),
}  # fmt: skip
_OPTIONAL = {"view_range": None, "new_str": ""}
_SDK = ("RecollectMemoryTool", "AsyncRecollectMemoryTool")


class MemoryFiles:
    """The six commands over a memory. Each returns the text for Claude, or raises InvalidRequest with the text of the error."""

    def __init__(self, memory: Memory | AsyncMemory) -> None:
        memory = AsyncMemory.of(memory).memory
        self._memory, self._name = roomy(memory), (memory.scope.agent, memory.scope.project)

    def run(self, command: Mapping[str, Any]) -> str:
        """What a command, the `input` of a tool_use block, answers."""
        name = command.get("command") if isinstance(command, Mapping) else None
        if name not in _COMMANDS:
            raise InvalidRequest(f"Error: Unknown command: {name!r:.60}. The commands are {', '.join(_COMMANDS)}.")
        given = {field: command.get(field) for field in _COMMANDS[name] if command.get(field) is not None}
        missing = [field for field in _COMMANDS[name] if field not in given and field not in _OPTIONAL]
        if missing:
            raise InvalidRequest(f"Error: The parameter `{missing[0]}` is required for the command {name}.")
        for field, value in given.items():
            _check(field, value)
        return getattr(self, name)(**given)

    def view(self, path: str, view_range: list[int] | None = None) -> str:
        """A file with line numbers, or what is in a directory, two levels deep."""
        path = _path(path)
        file = self._find(path)
        if file is not None:
            return f"Here's the content of {path} with line numbers:\n{_numbered(path, self._content(file), view_range)}"
        sizes = self._sizes(path)
        if not sizes and path != ROOT:
            raise InvalidRequest(f"The path {path} does not exist. Please provide a valid path.")
        lines = [f"{_size(size)}\t{path}{name}" for name, size in _listing(sizes)]
        about = f"Here're the files and directories up to {DEPTH} levels deep in {path}, excluding hidden items and node_modules:"
        return "\n".join([about, *lines])

    def create(self, path: str, file_text: str) -> str:
        """A new file; one that is there is left alone."""
        path = _path(path)
        if path == ROOT or self._find(path) is not None or self._sizes(path):
            raise InvalidRequest(f"Error: File {path} already exists")
        parts = path.split("/")
        for end in range(3, len(parts)):  # what is above it, below the root
            if self._find("/".join(parts[:end])) is not None:
                raise InvalidRequest(f"Error: {'/'.join(parts[:end])} is a file, not a directory")
        self._add(path, file_text)
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Other words for words that are there exactly once."""

        def replaced(content: str) -> tuple[str, str]:
            places = [found.start() for found in re.finditer(f"(?={re.escape(old_str)})", content)] if old_str else []
            if not places:
                raise InvalidRequest(f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.")
            if len(places) > 1:
                lines = ", ".join(str(content.count("\n", 0, place) + 1) for place in places)
                raise InvalidRequest(
                    f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: {lines}. "
                    "Please ensure it is unique"
                )
            new = content[: places[0]] + new_str + content[places[0] + len(old_str) :]
            return new, f"The memory file has been edited.\n{_around(path, new, content.count(chr(10), 0, places[0]), new_str)}"

        path = _path(path)
        return self._edit(path, replaced, f"Error: The path {path} does not exist. Please provide a valid path.")

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Text behind a line; behind line 0 is the beginning."""

        def inserted(content: str) -> tuple[str, str]:
            lines = content.split("\n")
            lines = lines[:-1] if lines[-1] == "" else lines
            if not 0 <= insert_line <= len(lines):
                raise InvalidRequest(
                    f"Error: Invalid `insert_line` parameter: {insert_line}. It should be within the range of lines of the "
                    f"file: [0, {len(lines)}]"
                )
            lines.insert(insert_line, insert_text.removesuffix("\n"))
            return "\n".join(lines) + "\n", f"The file {path} has been edited."

        path = _path(path)
        return self._edit(path, inserted, f"Error: The path {path} does not exist")

    def delete(self, path: str) -> str:
        """A file, or a directory with all that is in it."""
        path = _path(path)
        if path == ROOT:
            raise InvalidRequest("Error: Cannot delete the /memories directory itself")
        for file in self._under(path, f"Error: The path {path} does not exist"):
            self._remove(file)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """A file or a directory under another path. What is at the new path already is left alone."""
        old_path, new_path = _path(old_path), _path(new_path)
        if old_path == ROOT:
            raise InvalidRequest("Error: Cannot rename the /memories directory itself")
        files = self._under(old_path, f"Error: The path {old_path} does not exist")
        if new_path == ROOT or self._find(new_path) is not None or self._sizes(new_path):
            raise InvalidRequest(f"Error: The destination {new_path} already exists")
        if new_path.startswith(f"{old_path}/"):
            raise InvalidRequest(f"Error: Cannot move {old_path} into itself: {new_path}")
        for file in files:
            self._add(new_path + _where(file).removeprefix(old_path), self._content(file))
            self._remove(file)
        return f"Successfully renamed {old_path} to {new_path}"

    def clear(self) -> str:
        """Delete every file."""
        for file in self._files():
            self._remove(file)
        return "All memory cleared"

    def _id(self, path: str) -> str:
        return name_of("file", *self._name, path)

    def _find(self, path: str) -> Record | None:
        return find(self._memory, self._id(path))

    def _content(self, file: Record) -> str:
        return str(carried(self._memory, file))

    def _files(self) -> list[Record]:
        found = self._memory.each(projects=[PROJECT], timeless=False)
        return [file for file in found if file.id == self._id(_where(file))]

    def _sizes(self, path: str) -> dict[str, int]:
        """Files below a directory, by their path within it, and how many bytes each has."""
        inside = [file for file in self._files() if _where(file).startswith(f"{path}/")]
        return {_where(file).removeprefix(path): int(file.metadata["bytes"]) for file in inside}

    def _under(self, path: str, otherwise: str) -> list[Record]:
        files = [file for file in self._files() if _where(file) == path or _where(file).startswith(f"{path}/")]
        if not files:
            raise InvalidRequest(otherwise)
        return files

    def _add(self, path: str, content: str) -> None:
        id = self._id(path)
        metadata, rest = carry(id, content)
        draft = {"id": id, "project": PROJECT, "source": "anthropic", **_searched(path, content)}
        draft["metadata"] = {**metadata, **draft["metadata"]}
        try:
            self._memory.remember_many([*lacking(self._memory, rest), draft])
        except DuplicateRecord:
            raise InvalidRequest(f"Error: File {path} already exists") from None

    def _remove(self, file: Record) -> None:
        try:
            remove(self._memory, file)
        except UnknownRecord:
            pass  # somebody else was quicker
        except RecordChanged:
            raise InvalidRequest(f"Error: The file {_where(file)} was changed meanwhile") from None

    def _edit(self, path: str, edit: Callable[[str], tuple[str, str]], otherwise: str) -> str:
        """Another content for a file, made from what it has now, whoever else writes it."""
        for _ in range(TRIES):
            file = self._find(path)
            if file is None:
                raise InvalidRequest(otherwise)
            try:
                content, said = edit(self._content(file))
                change(self._memory, file, content, **_searched(path, content))
                return said
            except (RecordChanged, UnknownRecord, DuplicateRecord):
                continue
        raise InvalidRequest(f"Error: The file {path} is being changed by others; try again")


def tool_result(memory: Memory | AsyncMemory, block: Any) -> dict[str, Any]:
    """The tool_result for a tool_use block of the memory tool, a table or the SDK's object. Never raises for what Claude sent."""
    given = block if isinstance(block, Mapping) else {"id": block.id, "input": block.input}
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": given["id"]}
    try:
        return {**result, "content": MemoryFiles(memory).run(given["input"])}
    except RecollectError as error:
        return {**result, "content": str(error), "is_error": True}


def _path(path: str) -> str:
    """A path in its one spelling; InvalidRequest for one outside /memories or that may be meant to lead there."""
    names = path.split("/")
    if names[:2] != ["", "memories"]:
        raise InvalidRequest(f"Error: Path must start with /memories, got: {path}")
    names = [name for name in names[2:] if name]
    if any(name in (".", "..") for name in names) or _TRAVERSAL.search(path):
        raise InvalidRequest(f"Error: Path {path} would escape /memories directory")
    if len(path) > 1_000:
        raise InvalidRequest(f"Error: The path is too long: {path[:60]}…")
    return "/".join([ROOT, *names])


def _check(field: str, value: Any) -> None:
    if field == "view_range":
        fits = isinstance(value, (list, tuple)) and len(value) == 2 and all(type(number) is int for number in value)
    else:
        fits = type(value) is int if field == "insert_line" else isinstance(value, str)
    if not fits:
        raise InvalidRequest(f"Error: Invalid `{field}` parameter: {value!r:.60}")


def _where(file: Record) -> str:
    return str(file.metadata.get("path", ""))


def _searched(path: str, content: str) -> dict[str, Any]:
    """What is searched of a file: its content, or nothing while it has no visible character."""
    metadata = {"path": path, "bytes": len(content.encode("utf-8", "replace"))}
    if not visible(content):
        return {"text": path, "role": DERIVED, "metadata": metadata}
    return {"text": content, "role": "note", "metadata": metadata}


def _numbered(path: str, content: str, view_range: list[int] | None) -> str:
    lines = content.split("\n")
    if len(lines) > MOST_LINES:
        raise InvalidRequest(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = (max(1, view_range[0]), view_range[1]) if view_range else (1, -1)
    shown = lines[first - 1 : len(lines) if last == -1 else max(0, last)]
    return "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(shown, first))


def _around(path: str, content: str, line: int, new: str) -> str:
    """The lines that were changed, with two before and behind them."""
    return _numbered(path, content, [line - 1, line + new.count("\n") + 3])


def _listing(sizes: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names within a directory, itself first, and the bytes of each; a directory has those of all that is in it."""
    total = {"": sum(sizes.values())}
    for name, size in sizes.items():
        names = name.split("/")[1:]
        for end in range(1, min(DEPTH, len(names)) + 1):
            if names[end - 1].startswith(".") or names[end - 1] == "node_modules":
                break
            shown = "/" + "/".join(names[:end]) + ("/" if end < len(names) else "")
            total[shown] = total.get(shown, 0) + size
    return sorted(total.items())


def _size(count: int) -> str:
    for unit in "BKM":
        if count < 1024:
            return f"{count}B" if unit == "B" else f"{count:.1f}{unit}"
        count /= 1024
    return f"{count:.1f}G"


def __getattr__(name: str) -> Any:
    """The SDK's kinds of tool, made when they are first asked for."""
    if name not in _SDK:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals().update(zip(_SDK, _tools(), strict=True))
    return globals()[name]


def _tools() -> tuple[type, type]:
    try:
        from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    except ImportError:
        raise MissingExtra("The Anthropic SDK is not installed.", hint='pip install "recollect[anthropic]"') from None

    def ran(files: MemoryFiles, command: Any) -> str:
        try:
            return files.run(command if isinstance(command, Mapping) else command.model_dump(exclude_none=True))
        except RecollectError as error:
            raise ToolError(str(error)) from None

    class RecollectMemoryTool(BetaAbstractMemoryTool):
        """The memory tool for the SDK's runner."""

        def __init__(self, memory: Memory | AsyncMemory, **options: Any) -> None:
            super().__init__(**options)
            self._files = MemoryFiles(memory)

        def execute(self, command: Any) -> str:
            return ran(self._files, command)

        def clear_all_memory(self) -> str:
            return self._files.clear()

        view = create = str_replace = insert = delete = rename = execute

    class AsyncRecollectMemoryTool(BetaAsyncAbstractMemoryTool):
        """The memory tool for the SDK's asynchronous runner."""

        def __init__(self, memory: Memory | AsyncMemory, **options: Any) -> None:
            super().__init__(**options)
            self._memory = AsyncMemory.of(memory)
            self._files = MemoryFiles(self._memory)

        async def execute(self, command: Any) -> str:
            return await self._memory.run(ran, self._files, command)

        async def clear_all_memory(self) -> str:
            return await self._memory.run(self._files.clear)

        view = create = str_replace = insert = delete = rename = execute

    return RecollectMemoryTool, AsyncRecollectMemoryTool
