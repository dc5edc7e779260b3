"""recollect: memory for agents that remembers what was said and can say why it recalled it.

Names are imported when they are first used: `import recollect` costs next to nothing.
"""

__version__ = "0.1.0"

_HOMES = {
    "Memory": "memory", "AsyncMemory": "aio", "Record": "records", "Scope": "records", "Link": "records", "Recipe": "recipes",
    "RouteSpec": "recipes", "Pool": "recipes", "PRESETS": "recipes", "Answer": "rankings", "Hit": "rankings",
    "RecollectError": "errors", "load_context": "loader", "aload_context": "loader",
}  # fmt: skip
__all__ = [*_HOMES, "__version__"]

TYPE_CHECKING = False
if TYPE_CHECKING:  # editors and type checkers read this and take it for true
    from .aio import AsyncMemory as AsyncMemory
    from .errors import RecollectError as RecollectError
    from .loader import aload_context as aload_context
    from .loader import load_context as load_context
    from .memory import Memory as Memory
    from .rankings import Answer as Answer
    from .rankings import Hit as Hit
    from .recipes import PRESETS as PRESETS
    from .recipes import Pool as Pool
    from .recipes import Recipe as Recipe
    from .recipes import RouteSpec as RouteSpec
    from .records import Link as Link
    from .records import Record as Record
    from .records import Scope as Scope
else:

    def __getattr__(name):
        if name in _HOMES:
            from importlib import import_module

            value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
