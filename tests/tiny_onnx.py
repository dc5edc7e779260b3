"""ONNX models of a few numbers, written byte by byte: a table of word vectors, and a judge that adds up what its words are worth.

So that tests run the real onnxruntime without fetching or keeping a model. Field numbers are those of onnx.proto.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

VOCABULARY = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "cat", "dog", "rent", "where", "is", "the", "##s", "query", ":")
FLOAT, INT64 = 1, 7


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(name: str, values: np.ndarray) -> bytes:
    dims = b"".join(field(1, size) for size in values.shape)
    return dims + field(2, FLOAT) + field(8, name) + field(9, values.astype("<f4").tobytes())


def value(name: str, kind: int, dims: tuple[str | int, ...]) -> bytes:
    shape = b"".join(field(1, field(1, dim) if isinstance(dim, int) else field(2, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def node(op: str, inputs: tuple[str, ...], output: str, attributes: bytes = b"") -> bytes:
    return b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, op) + attributes


def model(nodes: list[bytes], tables: list[bytes], inputs: tuple[str, ...], output: bytes) -> bytes:
    graph = b"".join(field(1, one) for one in nodes) + field(2, "tiny") + b"".join(field(5, one) for one in tables)
    graph += b"".join(field(11, value(name, INT64, ("batch", "length"))) for name in inputs) + field(12, output)
    return field(1, 8) + field(7, graph) + field(8, field(2, 13))


def embedder(table: np.ndarray) -> bytes:
    """The vector of each piece, as BERT answers: last_hidden_state."""
    nodes = [node("Gather", ("table", "input_ids"), "last_hidden_state")]
    output = value("last_hidden_state", FLOAT, ("batch", "length", table.shape[1]))
    return model(nodes, [tensor("table", table)], ("input_ids", "attention_mask"), output)


def judge(worth: np.ndarray) -> bytes:
    """The sum of what the pieces are worth, as a cross-encoder answers: logits."""
    axis = field(5, field(1, "keepdims") + field(3, 0) + field(20, 2))
    axes = tensor("axes", np.array([1], np.float32)).replace(field(2, FLOAT), field(2, INT64), 1)
    axes = axes[: -len(field(9, b"\0" * 4))] + field(9, np.array([1], "<i8").tobytes())
    nodes = [node("Gather", ("worth", "input_ids"), "each"), node("ReduceSum", ("each", "axes"), "logits", axis)]
    output = value("logits", FLOAT, ("batch", worth.shape[1]))
    return model(nodes, [tensor("worth", worth), axes], ("input_ids", "attention_mask", "token_type_ids"), output)


def folder(path: Path, weights: bytes, **files: str) -> Path:
    """A folder with the weights, the vocabulary, and files by their names ("_" for "/", then ".json")."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "model.onnx").write_bytes(weights)
    (path / "vocab.txt").write_text("\n".join(VOCABULARY), encoding="utf-8")
    for name, text in files.items():
        file = path / (name.replace("__", "/") + ".json")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return path
