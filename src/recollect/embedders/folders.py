"""A folder as models are published in: ONNX weights, a vocabulary or tokenizer, and what their makers say of how to use them.

For the embedder `onnx:FOLDER` and the reranker of the same name. Nothing is fetched and no code of the folder is run. What is
read:

- the weights: `model.onnx`, or the quantised one where there is no other, beside the rest or in `onnx/`
- the pieces: `vocab.txt` by our own WordPiece; else `tokenizer.json` by the package `tokenizers`
- `config.json`: how many numbers a vector has; `1_Pooling/config.json`: how pieces become one vector, the mean if it does not say
- `config_sentence_transformers.json`: what stands before a question and before a text
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingExtra, ModelDamaged, ModelNotInstalled
from .running import run, session
from .wordpiece import WordPiece

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

WEIGHTS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx", "onnx/model_qint8_avx512.onnx")
_WHOLE = 64 << 20  # bytes up to which the weights' sum is of all of them; beyond, of as many at either end
PIECES = 512


class Folder:
    """See the module. Checks at once that what it needs is there; loads the model when the first text comes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.weights = next((path / name for name in WEIGHTS if (path / name).is_file()), path / WEIGHTS[0])
        if not self.weights.is_file():
            hint = f"One of {', '.join(WEIGHTS)} is looked for in the folder."
            raise ModelNotInstalled(f"There is no ONNX model in {path}.", hint=hint)
        if not any((path / name).is_file() for name in ("vocab.txt", "tokenizer.json")):
            hint = "vocab.txt or tokenizer.json is looked for."
            raise ModelNotInstalled(f"There is no vocabulary in {path}.", hint=hint)
        if not (path / "vocab.txt").is_file() and find_spec("tokenizers") is None:
            raise MissingExtra("tokenizers is not installed, and there is no vocab.txt.", hint='pip install "recollect[onnx]"')
        self._session: InferenceSession | None = None
        self._loading = Lock()

    def said(self, name: str) -> Mapping[str, Any]:
        """What a file of the folder says; nothing if it is not there."""
        file = self.path / name
        try:
            found = json.loads(file.read_bytes()) if file.is_file() else {}
        except ValueError as error:
            raise ModelDamaged(f"{file} can't be read: {error}.", hint="Fetch it anew.") from None
        return found if isinstance(found, Mapping) else {}

    @cached_property
    def sum(self) -> str:
        """The beginning of the weights' SHA-256: what tells one model from another of the same name."""
        found = hashlib.sha256()
        with self.weights.open("rb") as file:
            found.update(file.read(_WHOLE))
            if self.weights.stat().st_size > 2 * _WHOLE:
                file.seek(-_WHOLE, 2)
            while part := file.read(1 << 20):
                found.update(part)
        return found.hexdigest()[:8]

    def fed(self, first: str, second: str | None = None, *, pieces: int = PIECES, question: int = 0) -> dict[str, np.ndarray]:
        """The numbers of a text, or of a question and a text, cut to so many pieces; a question to so many of them."""
        numbers, border = self._tokenizer.numbers(first, second, pieces, question)
        ids = np.array([numbers], dtype=np.int64)
        types = np.zeros_like(ids)
        types[0, border:] = 1
        wanted = {one.name for one in self.loaded().get_inputs()}
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
        return {name: value for name, value in given.items() if name in wanted}

    def ran(self, fed: dict[str, np.ndarray]) -> np.ndarray:
        """The model's first output, or the one that holds the whole text's vector, if it has such."""
        names = [one.name for one in self.loaded().get_outputs()]
        output = next((name for name in ("sentence_embedding", "last_hidden_state", "logits") if name in names), names[0])
        return run(self.loaded(), output, fed, str(self.weights))

    def loaded(self) -> InferenceSession:
        if self._session is None:
            with self._loading:
                if self._session is None:
                    self._session = session(self.weights, "Fetch the file anew.")
        return self._session

    @cached_property
    def _tokenizer(self) -> Words | Theirs:
        vocabulary = self.path / "vocab.txt"
        if vocabulary.is_file():
            return Words(vocabulary.read_text(encoding="utf-8").splitlines(), self.said("tokenizer_config.json"), vocabulary)
        return Theirs(self.path / "tokenizer.json")


class Words:
    """A vocabulary of BERT's kind, lower-cased."""

    def __init__(self, vocabulary: Sequence[str], about: Mapping[str, Any], file: Path) -> None:
        if about.get("do_lower_case", True) is False:
            raise ModelDamaged(f"{file} tells capitals apart.", hint="Put its tokenizer.json there instead of vocab.txt.")
        pieces = list(vocabulary)
        if not {"[CLS]", "[SEP]", "[UNK]"} <= set(pieces):
            raise ModelDamaged(f"{file} is not a vocabulary of BERT's kind.", hint="Put its tokenizer.json there instead.")
        self._pieces = WordPiece(pieces)
        self._cls, self._sep = pieces.index("[CLS]"), pieces.index("[SEP]")

    def numbers(self, first: str, second: str | None, most: int, question: int) -> tuple[list[int], int]:
        """With the marks around them; where the second begins."""
        if second is None:
            own = self._pieces.encode(first, most - 2)
            return [self._cls, *own, self._sep], len(own) + 2
        asked = self._pieces.encode(first, question)
        said = self._pieces.encode(second, most - 3 - len(asked))
        return [self._cls, *asked, self._sep, *said, self._sep], len(asked) + 2


class Theirs:
    """A tokenizer.json, by the package that writes them."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # it raises plain Exception
            raise ModelDamaged(f"{path} can't be read: {str(error)[:200]}", hint="Fetch it anew.") from None
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def numbers(self, first: str, second: str | None, most: int, question: int) -> tuple[list[int], int]:
        """As of `Words`; cut as texts, since marks belong to the ends."""
        if second is None:
            found = self._tokenizer.encode(self._cut(first, most - 2))
            return found.ids[:most], len(found.ids)
        asked = self._cut(first, question)
        found = self._tokenizer.encode(asked, self._cut(second, most - 4 - self._length(asked)))
        border = next((place for place, one in enumerate(found.type_ids) if one), len(found.ids))
        return found.ids[:most], border

    def _length(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _cut(self, text: str, most: int) -> str:
        """As much of a text as so many pieces hold."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return text if len(found.ids) <= most else text[: found.offsets[most - 1][1]]


