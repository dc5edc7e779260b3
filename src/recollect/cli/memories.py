"""remember, recall, explain, context, forget, history, list: the commands about memories themselves."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidRecord
from ..wire import context_json, history_json, page_json, recall_json, told_json
from .entry import opened
from .terminal import safe, safe_lines

if TYPE_CHECKING:
    from datetime import datetime

    from ..rankings import Answer, Hit
    from ..records import Record
    from .terminal import Screen

SAID = (
    "id", "kind", "role", "at", "speaker", "session", "turn", "project", "agent", "quality", "confidence", "valid_from",
    "valid_to", "supersedes", "source",
)  # fmt: skip
ASKED = {
    "recipe": "recipe", "limit": "limit", "as_of": "as_of", "since": "since", "kind": "kinds", "role": "roles",
    "session": "sessions", "project": "projects", "exclude": "exclude", "in_session": "session", "first_turn": "first_turn",
}  # fmt: skip


def remember(args: Namespace, screen: Screen) -> None:
    text = _standard_input() if args.text == "-" else args.text
    about = {name: getattr(args, name) for name in SAID if getattr(args, name) is not None}
    about |= {"tags": args.tag or (), "views": _pairs("view", args.view), "metadata": _pairs("meta", args.meta)}
    with opened(args, screen, makes=True) as memory:
        record = memory.remember(text, **about)
    if screen.as_json:
        screen.json(told_json(record, about))
    elif screen.tty:
        how = "Remembered already:" if "repeated" in told_json(record, about) else "Remembered"
        screen.say(f"{how} {screen.paint(safe(record.id), 'cyan')} ({record.kind}).")
    else:
        screen.say(safe(record.id))


def recall(args: Namespace, screen: Screen) -> None:
    with opened(args, screen) as memory:
        answer = memory.recall(args.query, **asked(args))
    if screen.as_json:
        screen.json(recall_json(answer, explain=args.explain))
    elif args.explain:
        hits(answer, screen)
        screen.say()
        screen.drawn(answer.explain())
    else:
        hits(answer, screen)


def explain(args: Namespace, screen: Screen) -> None:
    with opened(args, screen) as memory:
        explanation = memory.explain(args.query, expect=args.expect, **asked(args))
    screen.json(explanation.to_dict()) if screen.as_json else screen.drawn(str(explanation))


def context(args: Namespace, screen: Screen) -> None:
    with opened(args, screen) as memory:
        answer = memory.recall(args.query, **asked(args))
        block = memory.render(answer, max_chars=args.max_chars, max_tokens=args.max_tokens, ids=args.ids)
    if screen.as_json:
        screen.json(context_json(answer, block))
    elif block.text:
        screen.say(safe_lines(block.text))


def forget(args: Namespace, screen: Screen) -> None:
    with opened(args, screen) as memory:
        receipt = memory.forget(args.id)
    if screen.as_json:
        screen.json(receipt)
        return
    parts = ", ".join(f"{count} {name}" for name, count in receipt["removed"].items() if count)
    screen.say(f"Forgot {screen.paint(safe(receipt['id']), 'cyan')}: removed {parts}.")


def history(args: Namespace, screen: Screen) -> None:
    with opened(args, screen) as memory:
        versions = memory.history(args.id)
    if screen.as_json:
        screen.json(history_json(args.id, versions))
        return
    rows = [(r.id, day(r.recorded_at), day(r.superseded_at) or "now", r.text) for r in versions]
    screen.table(rows, ("id", "recorded", "until", "text"), ("cyan", "dim", "dim"))


def listing(args: Namespace, screen: Screen) -> None:
    narrower = {"kinds": args.kind, "roles": args.role, "sessions": args.session, "projects": args.project, "as_of": args.as_of}
    with opened(args, screen) as memory:
        records = memory.list(limit=args.limit, order=args.order, after=args.after, timeless=args.all, **_given(narrower))
    if screen.as_json:
        screen.json(page_json(records, args.limit, args.order))
        return
    rows = [(r.id, day(r.at), r.kind, r.session or "", _said(r)) for r in records]
    screen.table(rows, ("id", "at", "kind", "session", "text"), ("cyan", "dim", "", "dim"))


def asked(args: Namespace) -> dict[str, Any]:
    """What a question was narrowed by, as `Memory.recall` takes it."""
    return _given({name: getattr(args, option) for option, name in ASKED.items()})


def hits(answer: Answer, screen: Screen) -> None:
    """An answer for a person, or a line a hit for a program."""
    if not screen.tty:
        screen.table([(hit.rank, f"{hit.score:.6g}", hit.id, hit.text) for hit in answer])
        return
    for hit in answer:
        screen.wrapped(hit.text, lead=screen.paint(f"{hit.rank:>2}  ", "bold"), indent="    ")
        screen.say("    " + screen.paint(f"{hit.score:.4f}", "green") + screen.paint("  " + safe(_about(hit)), "dim"))
    found = answer.diagnostics
    if not answer:
        screen.say("Nothing was recalled.")
    screen.say(screen.paint(safe(f"{found.retrieval_path} · {answer.recipe} · {found.ms:.1f} ms"), "dim"))
    _remarks(answer, screen)


def day(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M}"


def _remarks(answer: Answer, screen: Screen) -> None:
    for ranking in answer.diagnostics.routes:
        if ranking.status in ("failed", "timed_out"):
            screen.note(f"{ranking.route.name} {ranking.status.replace('_', ' ')}: {ranking.reason}")
    for note in answer.diagnostics.notes:
        screen.note(note, "dim")


def _about(hit: Hit) -> str:
    places = ", ".join(f"{name} #{place.rank}" for name, place in hit.routes.items())
    return " · ".join(filter(None, [hit.speaker, day(hit.at), hit.session, places, hit.id]))


def _said(record: Record) -> str:
    return f"{record.speaker}: {record.text}" if record.speaker else record.text


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None and value is not False}  # 0 is a value


def _standard_input() -> str:
    data = sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode()
    try:
        return data.decode("utf-8-sig").rstrip("\n")
    except UnicodeDecodeError:
        raise InvalidRecord(
            "Standard input is not UTF-8 text.", hint="Convert it first, for example with iconv -t utf-8."
        ) from None


def _pairs(name: str, given: Sequence[str] | None) -> dict[str, str]:
    pairs = {}
    for one in given or ():
        key, equals, value = one.partition("=")
        if not (key and equals):
            raise InvalidRecord(f"--{name} {one!r:.60} is not KEY=VALUE.", hint=f"Write --{name} key=value.")
        pairs[key] = value
    return pairs
