"""The only reader of the environment and of configuration files, and the values they hold.

Precedence: what a call says, then the owner's live settings in the store, then the environment, then the TOML file, then
defaults. The file is `recollect.toml` in the current folder or `recollect/config.toml` in the user's configuration folder;
RECOLLECT_CONFIG names another. Example:

    db = "memory.db"
    owner = "alice"
    embedder = "local"
    recipe = "memsense(rrf_k=20)@8"     # or a table [recipe] with base, fields and weights
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .errors import InvalidRecipe, InvalidSetting
from .recipe_fields import nearest
from .recipe_text import plain
from .recipes import DEFAULTS, Recipe, as_recipe

TRACES = ("off", "spans", "content")
PREFIX = "RECOLLECT_"
_NOT_TEXT = ("recipe", "deadline", "busy", "chat_budget")  # checked by what reads them
LIVE = frozenset(DEFAULTS[Recipe]) - {"name", "routes"} | {"recipe", "weights"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What was configured, or the defaults."""

    db: str = "memory.db"
    owner: str | None = None
    recipe: str | Mapping[str, Any] = "balanced"
    embedder: str = "auto"
    reranker: str = "auto"
    models: str = ""
    deadline: float = 3.0  # seconds a question waits for its vector
    busy: float = 30.0  # seconds to wait for another process's lock
    vector: str = ""  # the URL of a vector index beside the store
    graph: str = ""  # the URL of a graph index beside the store
    traces: str = "off"  # or "spans" of OpenTelemetry, or "content": with the texts
    openai_api_key: str = ""
    openai_base_url: str = ""
    ollama_base_url: str = ""
    chat_model: str = ""  # the language model to ask, where something wants one; none is asked without
    chat_base_url: str = ""
    chat_api_key: str = ""
    chat_budget: int = 200_000  # tokens a day (UTC)
    summariser: str = "rules"  # or "llm", by the language model
    extractor: str = "rules"  # or "llm": the language model reads; "none": nothing is looked for in what is remembered
    dedup: str = "exact"  # what becomes of a note told again: rules by name, or "off"
    cohere_api_key: str = ""
    cohere_base_url: str = ""
    voyage_api_key: str = ""
    voyage_base_url: str = ""

    def of(self, name: str) -> dict[str, str | None]:
        """The key and the address of whom a name or a space begins with; OpenAI's, where that is nobody's of its own."""
        provider = next((one for one in ("ollama", "cohere", "voyage") if name.startswith(one)), "openai")
        key, address = getattr(self, f"{provider}_api_key", ""), getattr(self, f"{provider}_base_url")
        return {"api_key": key or None, "base_url": address or None}

    def __repr__(self) -> str:
        """Without the key."""
        shown = {f.name: getattr(self, f.name) for f in fields(self)}
        hidden = {name: "…" for name, value in shown.items() if value and ("key" in name or _secret(value))}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in (shown | hidden).items())})"


def _secret(value: Any) -> bool:
    """Whether it is a URL that carries a password."""
    return isinstance(value, str) and "://" in value and "@" in value


def load(environ: Mapping[str, str] | None = None, file: str | None = None) -> Settings:
    """Settings from the environment and the first configuration file there is."""
    env = os.environ if environ is None else environ
    named = file or env.get(f"{PREFIX}CONFIG", "")
    found = _from_file(_candidates(named, env), bool(named))
    for field in fields(Settings):
        value = env.get(PREFIX + field.name.upper()) or env.get(_ELSEWHERE.get(field.name, ""), "")
        if value:
            found[field.name] = value
    return _checked(found)


def found_file(environ: Mapping[str, str] | None = None) -> Path | None:
    """The configuration file that `load` reads, if there is one."""
    env = os.environ if environ is None else environ
    return next((path for path in _candidates(env.get(f"{PREFIX}CONFIG", ""), env) if path.is_file()), None)


def plain_terminal(environ: Mapping[str, str] | None = None) -> bool:
    """Whether there is to be no colour: NO_COLOR is set, or the terminal says it has none."""
    env = os.environ if environ is None else environ
    return bool(env.get("NO_COLOR")) or env.get("TERM") == "dumb"


def models_folder(settings: Settings, environ: Mapping[str, str] | None = None) -> Path:
    """Where downloaded models live."""
    env = os.environ if environ is None else environ
    if settings.models:
        return Path(settings.models).expanduser()
    return Path(env.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "recollect" / "models"


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where lies what can be made again."""
    env = os.environ if environ is None else environ
    return Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "recollect"


def live_recipe(base: Recipe, live: Mapping[str, Any]) -> Recipe:
    """The recipe in force: the configured one, changed by the owner's live settings."""
    try:
        return _changed(base, live)
    except InvalidRecipe as error:  # they were made for another recipe than the one configured now
        raise InvalidSetting(
            f"The owner's live settings don't fit {base.name}: {error.message}",
            hint="Go back with update_settings(…=None), or recollect settings KEY=; or name the recipe they were made for.",
        ) from error


def checked_live(base: Recipe, held: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """A change of live settings, ready to be stored: names we know, values the recipe takes, weights joined with those held."""
    _known(change, LIVE)
    ready = dict(change)
    if isinstance(ready.get("weights"), Mapping):
        merged = {**(held.get("weights") or {}), **ready["weights"]}
        ready["weights"] = {name: weight for name, weight in merged.items() if weight is not None} or None
    if ready.get("recipe") is not None:
        ready["recipe"] = str(as_recipe(ready["recipe"]))
    after = {name: value for name, value in {**held, **ready}.items() if value is not None}
    try:
        recipe = _changed(base, after)
    except InvalidRecipe as error:
        raise InvalidSetting(error.message, hint=error.hint) from error
    own = [field for field in fields(Recipe) if ready.get(field.name) is not None]
    return ready | {field.name: plain(field.metadata, getattr(recipe, field.name)) for field in own}


def _changed(base: Recipe, live: Mapping[str, Any]) -> Recipe:
    recipe = as_recipe(live["recipe"]) if "recipe" in live else base
    own = {name: value for name, value in live.items() if name not in ("recipe", "weights")}
    recipe = recipe.replace(**own) if own else recipe
    return recipe.with_weights(live["weights"]) if live.get("weights") else recipe


_ELSEWHERE = {
    "openai_api_key": "OPENAI_API_KEY", "openai_base_url": "OPENAI_BASE_URL", "ollama_base_url": "OLLAMA_HOST",
    "cohere_api_key": "COHERE_API_KEY", "voyage_api_key": "VOYAGE_API_KEY",
}  # fmt: skip


def _candidates(named: str, env: Mapping[str, str]) -> list[Path]:
    home = Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return [Path(named)] if named else [Path("recollect.toml"), home / "recollect" / "config.toml"]


def _from_file(candidates: list[Path], must: bool) -> dict[str, Any]:
    for path in candidates:
        try:
            with path.open("rb") as stream:
                return tomllib.load(stream)
        except FileNotFoundError:
            if must:
                raise InvalidSetting(f"There is no configuration file {path}.", hint="Correct RECOLLECT_CONFIG.") from None
        except (ValueError, OSError) as error:  # TOML's errors are ValueErrors, and so is what is not UTF-8
            raise InvalidSetting(f"{path} can't be read: {error}.", hint="See docs/settings.md for its form.") from None
    return {}


def _known(given: Iterable[str], names: Collection[str]) -> None:
    for name in given:
        if name not in names:
            hint = f"{nearest(name, sorted(names))} See docs/settings.md.".strip()
            raise InvalidSetting(f"There is no setting {name!s:.60}.", hint=hint)


def _checked(found: dict[str, Any]) -> Settings:
    _known(found, [field.name for field in fields(Settings)])
    for name, value in found.items():
        if not (isinstance(value, str) or name in _NOT_TEXT):
            raise InvalidSetting(f"{name}={value!r:.40} is not text.", hint=f'Write {name} = "…".')
    if found.get("traces", "off") not in TRACES:
        raise InvalidSetting(f"traces={found['traces']!r:.40} is not one of {', '.join(TRACES)}.")
    numbers: dict[str, Any] = {name: _seconds(name, found[name]) for name in ("deadline", "busy") if name in found}
    return Settings(**found | numbers | _counted(found))


def _seconds(name: str, value: Any) -> float:
    try:
        seconds = 0.0 if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise InvalidSetting(f"{name}={value!r:.40} is not a number of seconds from 0 to 3600.", hint=f"Such as {name} = 1.5.")
    return seconds


def _counted(found: Mapping[str, Any]) -> dict[str, int]:
    """The settings that are whole numbers."""
    if "chat_budget" not in found:
        return {}
    value = str(found["chat_budget"])
    if value.replace("_", "").isdecimal():
        return {"chat_budget": int(value)}
    raise InvalidSetting(f"chat_budget={value!r:.40} is not a number of tokens.", hint="Such as 200000; 0 allows none.")
