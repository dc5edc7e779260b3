"""The reference page of the command line, from the same table as the parser: `python -m recollect.cli.pages > docs/cli.md`."""

from __future__ import annotations

from collections.abc import Iterator

from .line import ABOUT, COMMANDS, EVERYWHERE, EXITS, Argument, Command

OPENING = f"""\
# The command line

<!-- Written by: python -m recollect.cli.pages > docs/cli.md -->

{ABOUT}

On a terminal the commands print colour and tables, and a progress bar on standard error for what takes longer; `NO_COLOR`
and `TERM=dumb` are honoured. In a pipe they print plain text: a table is one row a line, cells separated by tabs, no heading.
With `--json` they print the JSON object that every door returns. Control characters and direction marks in memories are
written as escapes.

{EXITS}

What isn't given with an option comes from the [settings](settings.md). A command that only reads makes no file.
"""


def page() -> str:
    """The whole page."""
    return "\n".join(
        [OPENING, "## Every command", "", *_options(EVERYWHERE), "", *(line for one in COMMANDS for line in _command(one))]
    )


def usage(command: Command) -> str:
    """How a command is typed, its options left out."""
    named = [_shown(one) for one in command.arguments if not one.names[0].startswith("-")]
    options = any(one.names[0].startswith("-") for one in command.arguments)
    return " ".join(["recollect", command.name, *named, *(["[OPTION …]"] if options else [])])


def _command(command: Command) -> Iterator[str]:
    yield from (
        f"## {command.name}",
        "",
        f"`{usage(command)}`",
        "",
        _prose(command),
        "",
    )
    if command.arguments:
        yield from (*_options(command.arguments), "")
    if command.examples:
        yield from ("```sh", *command.examples, "```", "")


def _prose(command: Command) -> str:
    text = command.summary + (f" {command.more}" if command.more else "")
    return text.replace("<memory>", "`<memory>`")


def _options(arguments: tuple[Argument, ...]) -> Iterator[str]:
    for one in arguments:
        yield f"- `{_shown(one)}`: {one.options.get('help', '')}{_choices(one)}"


def _shown(one: Argument) -> str:
    name, options = one.names[-1], one.options
    metavar = options.get("metavar") or "|".join(options.get("choices", ()))
    if not name.startswith("-"):
        return {"?": f"[{metavar}]", "*": f"[{metavar} …]"}.get(options.get("nargs", ""), metavar)
    return name if options.get("action") == "store_true" else f"{name} {metavar}"


def _choices(one: Argument) -> str:
    """The values it takes, unless its help or its name says them."""
    choices = one.options.get("choices", ())
    if not choices or not one.options.get("metavar") or all(choice in one.options["help"] for choice in choices):
        return ""
    return f" ({', '.join(choices)})"


if __name__ == "__main__":
    print(page(), end="")
