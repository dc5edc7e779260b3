"""The only reader of the environment and of configuration files, and the values they hold.

Precedence: what a call says, then the owner's live settings in the store, then the environment, then the TOML file, then defaults.
The file is `recollect.toml` in the current folder or `recollect/config.toml` in the user's configuration folder; RECOLLECT_CONFIG names
another. Example:

    db = "memory.db"
    owner = "alice"
    embedder = "local"
    recipe = "memsense(rrf_k=20)@8"     # or a table [recipe] with base, fields and weights
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .errors import InvalidRecipe, InvalidSetting
from .recipe_fields import nearest
from .recipes import DEFAULTS, Recipe, as_recipe

PREFIX = "RECOLLECT_"
LIVE = frozenset(DEFAULTS[Recipe]) - {"name", "routes"} | {"recipe", "weights"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What was configured, or the defaults."""

    db: str = "memory.db"
    owner: str | None = None
    recipe: str | Mapping[str, Any] = "balanced"
    embedder: str = "auto"
    models: str = ""
    deadline: float = 3.0  # seconds a question waits for its vector
    busy: float = 30.0  # seconds to wait for another process's lock
    openai_api_key: str = ""
    openai_base_url: str = ""
    ollama_base_url: str = ""

    def __repr__(self) -> str:
        """Without the key."""
        shown = (f"{f.name}={'…' if 'key' in f.name and getattr(self, f.name) else getattr(self, f.name)!r}" for f in fields(self))
        return f"Settings({', '.join(shown)})"


def load(environ: Mapping[str, str] | None = None, file: str | None = None) -> Settings:
    """Settings from the environment and the first configuration file there is."""
    env = os.environ if environ is None else environ
    found = _from_file(Path(file or env.get(f"{PREFIX}CONFIG", "")), bool(file or env.get(f"{PREFIX}CONFIG")), env)
    for field in fields(Settings):
        value = env.get(PREFIX + field.name.upper()) or env.get(_ELSEWHERE.get(field.name, ""), "")
        if value:
            found[field.name] = value
    return _checked(found)


def models_folder(settings: Settings, environ: Mapping[str, str] | None = None) -> Path:
    """Where downloaded models live."""
    env = os.environ if environ is None else environ
    if settings.models:
        return Path(settings.models).expanduser()
    return Path(env.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "recollect" / "models"


def live_recipe(base: Recipe, live: Mapping[str, Any]) -> Recipe:
    """The recipe in force: the configured one, changed by the owner's live settings."""
    recipe = as_recipe(live["recipe"]) if "recipe" in live else base
    own = {name: value for name, value in live.items() if name not in ("recipe", "weights")}
    recipe = recipe.replace(**own) if own else recipe
    return recipe.with_weights(live["weights"]) if live.get("weights") else recipe


def checked_live(base: Recipe, held: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """A change of live settings, ready to be stored: known names, values the recipe takes, weights merged with those that hold."""
    for name in change:
        if name not in LIVE:
            raise InvalidSetting(f"There is no setting {name!s:.60}.", hint=f"{nearest(name, sorted(LIVE))} See docs/settings.md.".strip())
    ready = dict(change)
    if isinstance(ready.get("weights"), Mapping):
        ready["weights"] = {**(held.get("weights") or {}), **ready["weights"]}
    if ready.get("recipe") is not None:
        ready["recipe"] = str(as_recipe(ready["recipe"]))
    after = {name: value for name, value in {**held, **ready}.items() if value is not None}
    try:
        live_recipe(base, after)
    except InvalidRecipe as error:
        raise InvalidSetting(error.message, hint=error.hint) from error
    return ready


_ELSEWHERE = {"openai_api_key": "OPENAI_API_KEY", "openai_base_url": "OPENAI_BASE_URL", "ollama_base_url": "OLLAMA_HOST"}


def _from_file(named: Path, must: bool, env: Mapping[str, str]) -> dict[str, Any]:
    home = Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    for path in [named] if must else [Path("recollect.toml"), home / "recollect" / "config.toml"]:
        try:
            with path.open("rb") as stream:
                return tomllib.load(stream)
        except FileNotFoundError:
            if must:
                raise InvalidSetting(f"There is no configuration file {path}.", hint="Correct RECOLLECT_CONFIG.") from None
        except (tomllib.TOMLDecodeError, OSError) as error:
            raise InvalidSetting(f"{path} can't be read: {error}.", hint="See docs/settings.md for its form.") from None
    return {}


def _checked(found: dict[str, Any]) -> Settings:
    known: dict[str, Callable[[Any], Any]] = {field.name: type(field.default) for field in fields(Settings)}
    for name in found:
        if name not in known:
            raise InvalidSetting(f"There is no setting {name!s:.60}.", hint=f"{nearest(name, known)} See docs/settings.md.".strip())
    try:
        numbers = {name: float(found[name]) for name in ("deadline", "busy") if name in found}
    except (TypeError, ValueError):
        raise InvalidSetting("deadline and busy are numbers of seconds.") from None
    if any(not 0 < value <= 3600 for value in numbers.values()):
        raise InvalidSetting("deadline and busy are from 0 to 3600 seconds.")
    return Settings(**{**found, **numbers})
