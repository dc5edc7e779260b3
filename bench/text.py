"""Records and questions to measure with: real English without a download.

The sentences are those of Python's own documentation (the language reference that `help()` carries, and the docstrings of
the standard library), cut into clauses and recombined within their neighbourhood into records of 15 to 40 words, so that
terms are as frequent, and occur as much together, as people write them. A tenth of the records name a person, a day or a
number, for the long tail that technical prose lacks. Or one's own text: a folder with corpus.jsonl and queries.jsonl.
"""

from __future__ import annotations

import ast
import json
import random
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_MARKUP = re.compile(r":[a-z:]+:`[!~]?([^`<]*)[^`]*`|[`*|\\^_=~+#]{1,80}|\[\w+\]_|\.\. \w+::")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_CLAUSE = re.compile(r"(?<=[,;:])\s+")
_WORD = re.compile(r"[A-Za-z][a-z]{2,}")
_split = str.split
_FIRST = _split("Anna Bilal Chen Dora Emeka Farah Goran Hana Ivo Jun Kofi Lena Mina Noor Omar Priya Quinn Rajesh Sofia Tariq")
_LAST = _split("Adler Bose Costa Dube Ekman Fuchs Gupta Haas Ito Jansen Kaya Lund Mori Novak Okoye Patel Reis Sato Toth Vega")
_MONTHS = _split("January February March April May June July August September October November December")
_SKIPPED = {"test", "tests", "idlelib", "lib2to3", "site-packages", "dist-packages", "__pycache__"}

STOP_WORDS = frozenset(
    _split("""a about after all also an and any are as at be because been before but by can could did do does each for from get
    had has have how i if in into is it its just like may more most must no not of on only or other our out over same should
    so some such than that the their them then there these they this those to two use used uses using was we were what when
    where whether which while who why will with would you your""")
)
FORMS = (
    "what did we say about {0} and the {1} of {2} {3}",
    "how does the {0} {1} work with a {2}",
    "when should I use {0} for the {1} or {2}",
    "why is {0} {1} not the same as {2} {3}",
    "where do the {0} and {1} come from in {2}",
    "who asked about {0} and how it relates to {1} {2}",
    "is there a {0} for {1} when the {2} is {3}",
    "can you tell me which {0} was used in the {1}",
)


def records(count: int, seed: int = 20261118) -> Iterator[str]:
    """So many texts of 15 to 40 words; the first n are the same whatever the count."""
    chance = random.Random(seed)
    regions = _regions()
    for _ in range(count):
        region = regions[int(chance.random() * len(regions))]
        words: list[str] = []
        length = min(40, max(15, int(chance.gauss(24, 8))))
        for clause in chance.sample(region, 13):
            if len(words) >= length:
                break
            words += clause
        if chance.random() < 0.1:
            words[:0] = _aside(chance)
        yield " ".join(words[:40]).rstrip(",;:")


def questions(texts: list[str], count: int, seed: int = 7) -> list[tuple[str, int]]:
    """Questions of 6 to 12 words, stop words and all, each made of words of one record; and that record's number."""
    chance = random.Random(seed)
    found: list[tuple[str, int]] = []
    while len(found) < count:
        number = chance.randrange(len(texts))
        words = list(dict.fromkeys(word for word in _WORD.findall(texts[number].lower()) if word not in STOP_WORDS))
        form = chance.choice(FORMS)
        if len(words) >= form.count("{"):
            found.append((form.format(*chance.sample(words, form.count("{"))) + "?", number))
    return found


def folder(path: Path) -> tuple[list[str], list[tuple[str, int]]]:
    """One's own texts and questions: corpus.jsonl and queries.jsonl, lines with id and text."""
    texts, asked = (_lines(path / name) for name in ("corpus.jsonl", "queries.jsonl"))
    return texts, [(text, -1) for text in asked]


def _lines(path: Path) -> list[str]:
    return [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _aside(chance: random.Random) -> list[str]:
    who = f"{chance.choice(_FIRST)} {chance.choice(_LAST)}"
    when = f"on {chance.randint(1, 28)} {chance.choice(_MONTHS)}"
    return f"{who} noted {when} for ticket {chance.randint(1000, 99999)} that".split()


def _regions() -> list[list[list[str]]]:
    """Clauses, as lists of words, in neighbourhoods of some hundred: what is written close together."""
    clauses = [clause.split() for text in _sources() for clause in _clauses(text)]
    clauses = [clause for clause in clauses if 3 <= len(clause) <= 20]
    return [clauses[at : at + 150] for at in range(0, len(clauses) - 50, 150)]


def _clauses(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        if ">>>" in paragraph or "::" in paragraph:
            continue
        plain = " ".join(_MARKUP.sub(lambda match: match[1] or "", paragraph).split())
        for sentence in _SENTENCE.split(plain):
            if sum(char.isalpha() or char == " " for char in sentence) > 0.85 * len(sentence):
                yield from _CLAUSE.split(sentence)


def _sources() -> Iterator[str]:
    from pydoc_data.topics import topics

    yield from (topics[name] for name in sorted(topics))
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py")):
        if not _SKIPPED & set(path.relative_to(root).parts):
            yield from _docstrings(path)


def _docstrings(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield ast.get_docstring(node) or ""
