"""settings, recipes, reembed, upkeep, index, status, version: the commands that look after a memory."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import EmbedderFailed, InvalidSetting
from ..wire import recipe_json, recipes_json
from .entry import FAILED, opened
from .terminal import safe, sized

if TYPE_CHECKING:
    from ..recipes import Recipe
    from .terminal import Screen


def settings(args: Namespace, screen: Screen) -> None:
    with opened(args, screen, makes=bool(args.change)) as memory:
        found = memory.update_settings(**_changes(args.change)) if args.change else memory.settings()
    if screen.as_json:
        screen.json(found)
        return
    rows = [(name, _flat(value)) for name, value in found.items() if name not in ("set", "weights")]
    rows += [(f"weights.{name}", f"{weight:g}") for name, weight in found["weights"].items()]
    rows += [(f"set by hand: {name}", _flat(value)) for name, value in found["set"].items()]
    screen.table(rows, (), ("cyan",))


def recipes(args: Namespace, screen: Screen) -> None:
    if args.recipe is not None:
        _one_recipe(args.recipe, screen)
        return
    from ..recipes import PRESETS

    if screen.as_json:
        screen.json(recipes_json())
        return
    rows = [(recipe.name, recipe.limit, ", ".join(_weighted(recipe))) for recipe in PRESETS.values()]
    screen.table(rows, ("recipe", "limit", "routes and their weights"), ("cyan",))


def reembed(args: Namespace, screen: Screen) -> int:
    with opened(args, screen) as memory, screen.progress("embedding") as bar:
        found = memory.reembed(dry_run=args.dry_run, drop_old=args.drop_old, progress=bar.step)
        status = memory.status()
    done = 0 if args.dry_run else max(0, found["lacking"] - found["left"])
    result = {"embedder": status["embedder"], "space": status["space"], **found, "embedded": done}
    if found["left"] and not args.dry_run:
        raise EmbedderFailed(
            f"{found['left']:,} texts are not embedded: {status['embedder_error'] or 'other processes are at them'}.",
            hint="They stay in line: run it again later.",
        )
    if screen.as_json:
        screen.json(result)
        return 0
    lacking = f"{found['lacking']:,} vectors of {result['space'] or 'no model'} {'lack' if args.dry_run else 'lacked'}."
    screen.say((lacking if found["lacking"] else "Nothing lacks a vector.") + (f" Embedded {done:,}." if done else ""))
    for space, count in found.get("dropped", {}).items():
        screen.say(f"{'To be dropped' if args.dry_run else 'Dropped'}: {count:,} vectors of {safe(space)}.")
    for space, count in found.get("needed", {}).items():
        screen.note(f"Kept: vectors of {space}, the only ones of {count:,} records.")
    return 0


def upkeep(args: Namespace, screen: Screen) -> int:
    with opened(args, screen) as memory, screen.progress("upkeep") as bar:
        letters = memory.dead_letters
        chosen = letters.retry if args.retry_dead_letters else letters.drop if args.drop_dead_letters else None
        if chosen is not None and not args.dry_run:
            chosen()
        steps = memory.upkeep(dry_run=args.dry_run, forget_expired=args.forget_expired, progress=bar.step)
    if screen.as_json:
        screen.json({"dry_run": args.dry_run, "ok": all(step.ok for step in steps), "steps": [step._asdict() for step in steps]})
    else:
        screen.table([(step.name, "ok" if step.ok else "not well", step.found, step.did) for step in steps], (), ("cyan",))
        for step in steps if args.dry_run else ():
            for task in step.tasks:
                screen.say(f"  {screen.paint(step.name, 'cyan')}  {safe(task)}")
    return 0 if all(step.ok for step in steps) else FAILED


def index(args: Namespace, screen: Screen) -> int:
    with opened(args, screen) as memory:
        steps = memory.index(rebuild=args.do == "rebuild", dry_run=args.do == "status")
    if screen.as_json:
        screen.json({"ok": all(step.ok for step in steps), "indexes": [step._asdict() for step in steps]})
    elif not steps:
        screen.say("No index beside the store is configured.")
    else:
        screen.table([(step.name, "ok" if step.ok else "not well", step.found, step.did) for step in steps], (), ("cyan",))
    return 0 if all(step.ok for step in steps) else FAILED


def status(args: Namespace, screen: Screen) -> None:
    with opened(args, screen) as memory:
        found = memory.status()
    if screen.as_json:
        screen.json(found)
        return
    vectors = [f"{lane['count']:,} {lane['view']} in {lane['space']}" for lane in found["vectors"]]
    rows = [
        ("owner", found["owner"]), ("records", _counted(found["records"], found["by_kind"])),
        ("vectors", "; ".join(vectors) or "none"),
        ("waiting", f"{found['waiting'] - found['to_read']:,} texts for a vector"), ("extractor", _extractor(found)),
        ("embedder", _embedder(found)), ("recipe", found["recipe"]),
        ("file", f"{sized(found['bytes'])}, schema {found['schema']}" if "bytes" in found else "in memory"),
    ]  # fmt: skip
    screen.table(rows, (), ("cyan",))


def version(args: Namespace, screen: Screen) -> None:
    screen.json({"version": __version__}) if screen.as_json else screen.say(f"recollect {__version__}")


def _changes(given: Sequence[str]) -> dict[str, Any]:
    """KEY=VALUE words as a change of live settings: None goes back to the default."""
    changes: dict[str, Any] = {}
    for word in given:
        key, equals, text = word.partition("=")
        if not (key and equals):
            raise InvalidSetting(f"{word!r:.60} is not KEY=VALUE.", hint="Write rrf_k=20, or rrf_k= to go back to the default.")
        value = _value(key, text.strip())
        table, dot, name = key.partition(".")
        if dot and table == "weights":
            changes["weights"] = {**(changes.get("weights") or {}), name: value}
        else:
            changes[key] = value
    return changes


def _value(key: str, text: str) -> Any:
    """A value as a recipe's text writes it. `none` is a value; nothing at all is no value."""
    from ..recipe_text import read_value

    if not text:
        return None
    if key == "recipe":
        return text
    value = read_value(text)
    return "none" if value is None else value


def _one_recipe(text: str, screen: Screen) -> None:
    from ..recipes import as_recipe, fields_table

    recipe = as_recipe(text)
    about = [row for row in fields_table() if row.of == "recipe" and row.name != "routes"]
    values = [(row, _plain_field(recipe, row.name)) for row in about]
    if screen.as_json:
        fields = [
            {"name": row.name, "value": value, "default": row.default, "range": row.range, "meaning": row.meaning}
            for row, value in values
        ]
        screen.json(recipe_json(recipe) | {"fields": fields})
        return
    screen.heading(str(recipe))
    for route in recipe.routes:
        screen.say(f"  {route.weight:g} × {safe(str(route))}" + (f"  ({route.name})" if route.name != str(route) else ""))
    rows = [(row.name, value, "" if value == row.default else f"({row.default or 'none'})", row.meaning) for row, value in values]
    screen.table(rows, ("field", "value", "else", "what it is"), ("cyan", "bold", "dim"))


def _plain_field(recipe: Recipe, name: str) -> str:
    from dataclasses import fields

    from ..recipe_text import plain_text

    one = next(field for field in fields(recipe) if field.name == name)
    return plain_text(one, getattr(recipe, name))


def _weighted(recipe: Recipe) -> list[str]:
    return [f"{route.name} {route.weight:g}" for route in recipe.routes]


def _embedder(found: Mapping[str, Any]) -> str:
    error = f", which says: {found['embedder_error']}" if found["embedder_error"] else ""
    return f"{found['embedder']} ({found['space']}){error}" if found["space"] else "none: text search alone"


def _extractor(found: Mapping[str, Any]) -> str:
    said = [f"{found['to_read']:,} texts wait to be read"] if found["to_read"] else []
    said += [f"{found['dead_letters']:,} can't be read: recollect doctor"] if found["dead_letters"] else []
    said += [f"which says: {found['extractor_error']}"] if found["extractor_error"] else []
    return ", ".join([found["extractor"], *said])


def _counted(count: int, kinds: Mapping[str, int]) -> str:
    return f"{count:,}" + (f" ({', '.join(f'{number:,} {kind}' for kind, number in kinds.items())})" if kinds else "")


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_flat(one)}" for name, one in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)
