"""Messages as chat clients send them, read into one shape: who said what, in what role, when.

For `Memory.remember_messages`, and for whoever writes transcripts in. Knows the shapes of OpenAI (chat and responses), Anthropic,
Gemini, LangChain and ShareGPT. What is not text is kept as a short placeholder, `[image]` or `[called search(city=Goa)]`; what a
model thought but did not say is left out. Not for deciding what is new (`threads`) or what a turn is (`conversations`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from .errors import InvalidRecord
from .normalize import clean_text
from .records import micros
from .render import strip_blocks

USER, ASSISTANT, SYSTEM, TOOL = "user", "assistant", "system", "tool"
_ROLES = {
    **dict.fromkeys(("user", "human", "customer", "client"), USER),
    **dict.fromkeys(("assistant", "ai", "model", "bot", "gpt", "chatbot", "agent"), ASSISTANT),
    **dict.fromkeys(("system", "developer"), SYSTEM), **dict.fromkeys(("tool", "function", "ipython"), TOOL),
}  # fmt: skip
_ITEMS = {"function_call": ASSISTANT, "function_call_output": TOOL}  # of OpenAI's responses, which have no role
_TIMES = ("at", "timestamp", "created_at", "time", "date")
_NAMES = ("speaker", "name", "author", "sender")
_IDS = ("id", "message_id", "uuid")
_CONTENTS = ("content", "text", "value", "parts", "message", "output")
_SILENT = frozenset({"thinking", "redacted_thinking", "reasoning", "step-start"})
_HINT = 'A message is a table such as {"role": "user", "content": "…"}.'
LONGEST_PLACEHOLDER = 120
LONGEST_NAME = 200


class Message(NamedTuple):
    """One message. `print` stands for its role, speaker and text; `mark` for its own id (`i…`) or time (`t…`), if it has one."""

    role: str
    speaker: str | None
    text: str
    at: int | None  # microseconds
    print: str
    mark: str = ""

    @property
    def key(self) -> str:
        """What makes it the same message: its id if it has one, else what it says."""
        return self.mark if self.mark.startswith("i") else self.print


def read_messages(messages: Any) -> list[Message]:
    """The messages that say something, in their order; InvalidRecord tells which one can't be read and why."""
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise InvalidRecord(f"Messages are a list, not {type(messages).__name__}.", hint=_HINT)
    read = []
    for number, one in enumerate(messages, 1):
        try:
            message = _message(one)
        except InvalidRecord as error:
            raise InvalidRecord(f"Message {number}: {error.message}", hint=error.hint) from None
        if message is not None:
            read.append(message)
    return read


def _message(one: Any) -> Message | None:
    if type(one) is dict and len(one) == 2 and one.get("role") in (USER, ASSISTANT) and type(one.get("content")) is str:
        return _made(one["role"], None, one["content"], None, "")  # nearly all are so, and whole histories come again and again
    table = _table(one)
    role, named = _role(table)
    text = "\n".join(filter(None, [*_said(_content(table)), *_calls(table)]))
    if role == USER and text and _only_results(_content(table)):
        role = TOOL  # Anthropic sends what a tool returned in the user's name
    if role == TOOL:
        text = _result(table, text)
    at, named = _at(table), named if str(table.get("type")) in _ITEMS else _speaker(table) or named
    return _made(role, named, text, at, _mark(table, at))


def _made(role: str, speaker: str | None, text: str, at: int | None, mark: str) -> Message | None:
    text = strip_blocks(clean_text(text)).strip() if any(c.isprintable() and not c.isspace() for c in text) else ""
    return Message(role, speaker, text, at, _digest(f"{role}\x1f{speaker or ''}\x1f{text}"), mark) if text else None


def _table(one: Any) -> Mapping[str, Any]:
    if isinstance(one, Mapping):
        return one
    if isinstance(one, str):
        return {"content": one}
    dump = getattr(one, "model_dump", None)
    table = dump() if callable(dump) else None
    if not isinstance(table, Mapping):
        raise InvalidRecord(f"{one!r:.60} is not a message.", hint=_HINT)
    return table


def _role(table: Mapping[str, Any]) -> tuple[str, str | None]:
    """The role, and the name when the role is one: a role nobody knows is a person who speaks."""
    role = table.get("role") or table.get("from") or _ITEMS.get(str(table.get("type"))) or _of_kind(table.get("type")) or USER
    if not isinstance(role, str):
        raise InvalidRecord(f"role={role!r:.60} is not a word.", hint="Use user, assistant, system, tool, or a person's name.")
    known = _ROLES.get(role.strip().casefold())
    return (known, None) if known else (USER, _name(role))


def _of_kind(kind: Any) -> str | None:
    """LangChain says `type` where others say role."""
    return _ROLES.get(kind) if isinstance(kind, str) else None


def _speaker(table: Mapping[str, Any]) -> str | None:
    for field in _NAMES:
        value = table.get(field)
        value = value.get("name") if isinstance(value, Mapping) else value
        if value not in (None, ""):
            if not isinstance(value, str):
                raise InvalidRecord(f"{field}={value!r:.60} is not a name.", hint="A speaker's name is text.")
            return _name(value)
    return None


def _name(value: str) -> str | None:
    """A name as a record takes it: one printable line, cut where nobody's name goes on."""
    return " ".join("".join(c if c.isprintable() else " " for c in value[: 4 * LONGEST_NAME]).split())[:LONGEST_NAME] or None


def _at(table: Mapping[str, Any]) -> int | None:
    field = next((name for name in _TIMES if table.get(name) is not None), None)
    return None if field is None else micros(table[field], field)


def _mark(table: Mapping[str, Any], at: int | None) -> str:
    own = next((table[name] for name in _IDS if table.get(name) not in (None, "")), None)
    if isinstance(own, (str, int)):
        return "i" + _digest(str(own))
    return "" if at is None else f"t{at}"


def _content(table: Mapping[str, Any]) -> Any:
    return next((table[name] for name in _CONTENTS if table.get(name) is not None), None)


# --- what is said, part by part


def _said(content: Any) -> Iterator[str]:
    """The text of a content: itself, or its parts, those that are no text as placeholders."""
    if content is None:
        return
    if isinstance(content, str):
        yield strip_blocks(content)
    elif isinstance(content, Mapping):
        yield _part(content)
    elif isinstance(content, Iterable) and not isinstance(content, (bytes, bytearray)):
        for part in content:
            yield from _said(part)
    else:
        raise InvalidRecord(f"content={content!r:.60} is no text.", hint=_HINT)


def _part(part: Mapping[str, Any]) -> str:
    kind = part.get("type")
    kind = kind if isinstance(kind, str) else next((k for k in part if k in _PARTS), "text" if "text" in part else "")
    if kind in _SILENT:
        return ""
    if kind in _PARTS:
        return _PARTS[kind](part)
    for field in ("text", "refusal", "transcript", "content", "parts"):
        if isinstance(part.get(field), (str, list, tuple)):
            return "\n".join(filter(None, _said(part[field])))
    return _bracketed(kind.replace("_", " ").replace("-", " ") or "something")


def _calls(table: Mapping[str, Any]) -> Iterator[str]:
    """The tool calls that stand beside the content."""
    calls = table.get("tool_calls")
    for call in calls if isinstance(calls, (list, tuple)) else ():
        if isinstance(call, Mapping):
            yield _call(call)
    for field in ("function_call", "arguments"):
        if isinstance(table.get("function_call"), Mapping) and field == "function_call":
            yield _call(table["function_call"])
        elif field == "arguments" and table.get("type") == "function_call":
            yield _call(table)


def _call(call: Mapping[str, Any]) -> str:
    names = ("function", "functionCall", "function_call")
    inner = next((call[name] for name in names if isinstance(call.get(name), Mapping)), call)
    given = next((inner[name] for name in ("input", "arguments", "args") if inner.get(name)), None)
    return _bracketed(f"called {inner.get('name') or 'a tool'}({_arguments(given)})")


def _arguments(given: Any) -> str:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return given[:LONGEST_PLACEHOLDER]
    if not isinstance(given, Mapping):
        return "" if given is None else str(given)[:LONGEST_PLACEHOLDER]
    return ", ".join(f"{name}={value}"[:LONGEST_PLACEHOLDER] for name, value in list(given.items())[:8])


def _returned(part: Mapping[str, Any]) -> str:
    inner = part.get("functionResponse") if isinstance(part.get("functionResponse"), Mapping) else part
    content = inner.get("content") if inner.get("content") is not None else inner.get("output", inner.get("response"))
    said = json.dumps(content, default=str) if isinstance(content, Mapping) and "type" not in content else content
    return _result(inner, "\n".join(_said(said)))


def _result(table: Mapping[str, Any], text: str) -> str:
    """What a tool returned, in short. A result that is a placeholder already stays one."""
    if text.startswith("[returned"):
        return text
    name = table.get("name")
    return _bracketed(f"returned{f' by {name}' if isinstance(name, str) and name else ''}: {text}") if text else ""


def _only_results(content: Any) -> bool:
    parts = content if isinstance(content, (list, tuple)) else ()
    return bool(parts) and all(isinstance(part, Mapping) and part.get("type") in ("tool_result", "tool-result") for part in parts)


def _file(part: Mapping[str, Any]) -> str:
    inner = part.get("file") if isinstance(part.get("file"), Mapping) else part
    name = next((inner[field] for field in ("filename", "name", "title") if isinstance(inner.get(field), str)), "")
    return _bracketed(f"file {name}".strip())


def _sound(part: Mapping[str, Any]) -> str:
    inner = next((part[name] for name in ("input_audio", "audio") if isinstance(part.get(name), Mapping)), part)
    said = next((one.get("transcript") for one in (part, inner) if isinstance(one.get("transcript"), str)), "")
    return said or "[audio]"


def _bracketed(text: str) -> str:
    line = " ".join(text.split())
    return f"[{line if len(line) <= LONGEST_PLACEHOLDER else line[: LONGEST_PLACEHOLDER - 1] + '…'}]"


_PARTS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    **dict.fromkeys(("image", "image_url", "input_image", "image_file", "inline_data", "inlineData"), lambda part: "[image]"),
    **dict.fromkeys(("video", "video_url", "input_video"), lambda part: "[video]"),
    **dict.fromkeys(("audio", "input_audio", "audio_url"), _sound),
    **dict.fromkeys(("file", "input_file", "document", "file_data", "fileData"), _file),
    **dict.fromkeys(("tool_use", "tool-call", "tool_call", "function_call", "functionCall", "server_tool_use"), _call),
    **dict.fromkeys(("tool_result", "tool-result", "function_call_output", "functionResponse"), _returned),
}  # fmt: skip


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
