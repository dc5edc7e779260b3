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


def __getattr__(name: str):
    if name in _HOMES:
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
