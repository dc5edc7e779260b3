"""Rerankers by name: "auto", "cross-encoder", "late", "cohere", "voyage", "onnx", "sentence-transformers", "fastembed".

`open_reranker` is the one way in. Opening decides and checks; it loads no model and calls no server: that happens when the
first texts are judged. Nothing here reads the environment: keys, addresses and folders are arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import MissingExtra, UnknownReranker
from ..ports import JudgeProfile, Reranker


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `open_reranker` was given besides the name. The key is not in the repr."""

    models_dir: Path | None = None
    api_key: str | None = None
    base_url: str | None = None
    timeout: float | None = None

    def __repr__(self) -> str:
        key = "set" if self.api_key else "none"
        return f"Options(models_dir={self.models_dir}, api_key={key}, base_url={self.base_url})"


def open_reranker(
    spec: str | object = "auto",
    *,
    models_dir: Path | str | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
    timeout: float | None = None,
) -> Reranker:
    """The reranker that `spec` names. A remote one takes a model after a colon: "cohere:rerank-v3.5".

    An object that has a `profile` is returned as it is. One with `scores(query, texts)`, `rerank(query, texts)` or
    `predict(pairs)` (a cross-encoder of fastembed or sentence-transformers, say) is wrapped; its `name` and `model`, if it has
    them, are kept.
    """
    if not isinstance(spec, str):
        return spec if isinstance(getattr(spec, "profile", None), JudgeProfile) else _wrapped(spec)
    options = Options(
        models_dir=None if models_dir is None else Path(models_dir), api_key=api_key or None, base_url=base_url or None,
        timeout=timeout,
    )  # fmt: skip
    if "+" in spec.partition(":")[0]:
        return _together(spec.split("+"), options)
    return _named(spec, options)


def _named(spec: str, options: Options) -> Reranker:
    name, _, argument = (chosen(spec, models_dir=options.models_dir)).partition(":")
    if name not in _OPENERS:
        raise UnknownReranker(f"No reranker named {spec!r:.60}.", hint=f"One of: {', '.join(NAMES)}.")
    return _OPENERS[name](argument, options)


def _together(names: Sequence[str], options: Options) -> Reranker:
    """Those of several that are there; what each says is averaged."""
    from .together import Together

    judges, missing = [], []
    for name in names:
        try:
            judges.append(_named(name, options))
        except (ImportError, FileNotFoundError) as error:  # an extra or a model that is not installed
            missing.append(error)
    if not judges:
        raise missing[0]
    return judges[0] if len(judges) == 1 else Together(judges)


def chosen(spec: str, *, models_dir: Path | str | None = None) -> str:
    """The name that `spec` stands for: "auto" is the cross-encoder where it is installed, else `late`. Loads nothing."""
    if spec != "auto":
        return spec
    if models_dir is None or find_spec("onnxruntime") is None:
        return "late"
    from ..embedders.models import MSMARCO, is_installed

    return "cross-encoder" if is_installed(MSMARCO, Path(models_dir)) else "late"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapped:
    """Somebody's own reranker with a profile."""

    ask: Callable[[str, list[str]], Any]
    profile: JudgeProfile

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return [float(score) for score in self.ask(query, list(texts))]


def _wrapped(judge: Any) -> Reranker:
    ask = next((_WAYS[way](getattr(judge, way)) for way in _WAYS if callable(getattr(judge, way, None))), None)
    if ask is None:
        hint = "Give a name, or an object with scores(query, texts)."
        raise UnknownReranker(f"{type(judge).__name__} is not a reranker.", hint=hint)
    name = str(getattr(judge, "name", None) or type(judge).__name__)
    return Wrapped(ask=ask, profile=JudgeProfile(name=name, model=str(getattr(judge, "model", None) or name)))


# What other libraries call it: fastembed's `rerank`, sentence-transformers' `predict`, which takes pairs.
_WAYS: dict[str, Callable[[Any], Callable[[str, list[str]], Any]]] = {
    "scores": lambda method: method,
    "rerank": lambda method: method,
    "predict": lambda method: lambda query, texts: method([(query, text) for text in texts]),
}


def need(module: str, extra: str) -> None:
    """`MissingExtra` unless it can be imported."""
    if find_spec(module) is None:
        raise MissingExtra(f"{module} is not installed.", hint=f'pip install "recollect[{extra}]"')


def _plain(name: str, argument: str) -> None:
    if argument:
        raise UnknownReranker(f"No reranker named '{name}:{argument}'.", hint=f"{name!r} takes no argument.")


def _cross_encoder(argument: str, options: Options) -> Reranker:
    _plain("cross-encoder", argument)
    need("onnxruntime", "local")
    from .cross_encoder import CrossEncoder

    return CrossEncoder(options.models_dir)


def _late(argument: str, options: Options) -> Reranker:
    _plain("late", argument)
    from .late import Late

    return Late()


def _remote(provider: str) -> Callable[[str, Options], Reranker]:
    def opened(argument: str, options: Options) -> Reranker:
        from .remote import RemoteReranker

        return RemoteReranker(
            provider, argument or None, api_key=options.api_key, base_url=options.base_url, timeout=options.timeout
        )

    return opened


def _onnx(argument: str, options: Options) -> Reranker:
    need("onnxruntime", "onnx")
    from .onnx import OnnxReranker

    return OnnxReranker(argument)


def _sentence_transformers(argument: str, options: Options) -> Reranker:
    need("sentence_transformers", "sentence-transformers")
    from .libraries import sentence_transformer

    return sentence_transformer(argument)


def _fastembed(argument: str, options: Options) -> Reranker:
    need("fastembed", "fastembed")
    from .libraries import fastembed

    return fastembed(argument)


_OPENERS: dict[str, Callable[[str, Options], Reranker]] = {
    "cross-encoder": _cross_encoder, "late": _late, "cohere": _remote("cohere"), "voyage": _remote("voyage"), "onnx": _onnx,
    "sentence-transformers": _sentence_transformers, "fastembed": _fastembed,
}  # fmt: skip
NAMES = ("auto", *_OPENERS)
