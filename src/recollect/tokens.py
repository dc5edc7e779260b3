"""Words, stems, CJK grams, stop words: ONE tokenisation for every lexical use in every back end.

For full-text search (`terms`, `query_terms`, `pack`), for telling languages and scripts apart, and for the set measures
(`characters`, `jaccard`, `shingles`). Not a parser: user text is data, there is no query syntax and nothing raises on it.

Stems are Snowball's (Porter, 1980 and 2001), per record and language. Differences: diacritics are dropped after stemming, a
word in another script than its language's gets the stemmer of its own script, scripts written without spaces are
indexed as characters and overlapping pairs, and stop words are indexed, so that "to be or not to be" can be found.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from operator import add
from sys import byteorder
from types import MappingProxyType

from .errors import InvalidSetting
from .stopwords import FRAGMENTS, latin_votes, stop_words

TOKENS_VERSION = 1  # raise it when `terms` changes: what is indexed under another number must be indexed anew

# The algorithms every Snowball since 2.2 has. "none" is no stemming and no stop words.
LANGUAGES = MappingProxyType(
    {
        "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
        "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
        "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian",
        "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
        "tr": "turkish", "yi": "yiddish",
    }
)  # fmt: skip

_MEMO = 200_000  # entries a memo may hold before it starts anew: some 20 MB
_LONGEST = 64  # characters of a word that count: beyond it are encoded blobs, not words
_SAMPLE = 600  # characters that decide a language
_SPARSE = 8  # prose has a function word in so many, and more; a list of terms has few, and those by chance

_HOME = {"latin": "en", "cyrillic": "ru", "greek": "el", "arabic": "ar", "devanagari": "hi", "armenian": "hy", "tamil": "ta"}
_SCRIPT_OF_LANGUAGE = {language: script for script, language in _HOME.items()} | {"ne": "devanagari", "yi": "hebrew"}
_SCRIPTS = {
    "LATIN": "latin", "CYRILLIC": "cyrillic", "CJK": "han", "HIRAGANA": "kana", "KATAKANA": "kana",
    "KATAKANA-HIRAGANA": "kana", "HANGUL": "hangul", "THAI": "thai", "ARABIC": "arabic", "GREEK": "greek", "HEBREW": "hebrew",
    "DEVANAGARI": "devanagari", "ARMENIAN": "armenian", "TAMIL": "tamil",
}  # fmt: skip
_NAMED = frozenset({"latin", "cyrillic", "han", "kana", "hangul", "thai", "arabic", "greek", "hebrew", "devanagari"})

_CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u3099\u309a\u309d-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48c"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
# Thai, Lao, Myanmar, Khmer: letters, marks and digits, without the scripts' own punctuation.
_UNSPACED = (
    "\u0e01-\u0e2e\u0e30-\u0e3a\u0e40-\u0e45\u0e47-\u0e4e\u0e50-\u0e59\u0e81-\u0ebd\u0ec0-\u0ec5\u0ec7-\u0ece\u0ed0-\u0ed9\u0edc-\u0edf"
    "\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17dd\u17e0-\u17e9\ua9e0-\ua9fe\uaa60-\uaa76\uaa7a-\uaa7f"
)
_MARK_BLOCKS = ((0x300, 0x2100), (0x2C00, 0x3100), (0xA600, 0xAC00), (0xFB00, 0xFE30), (0x10A00, 0x12000), (0x1E000, 0x1EA00))

_SPACED = "".join(chr(c) if chr(c).isalnum() else " " for c in range(128))
# 's, 'm, 'd, 're, 've, 'll say nothing; n't is one word with what it negates; every other apostrophe parts two words.
_CLITIC = re.compile(r"(?<=\w)'(?:(?:s|m|d|re|ve|ll)(?!\w)|(?=t(?!\w))|(?<=[\u0400-\u04ff]')(?=[\u0400-\u04ff]))")
_TYPOGRAPHY = re.compile("[\u2010-\u2017\u201a-\u2027\u2030-\u205e]+")  # dashes, quotes, bullets: often all that is not ASCII
_NUMBER = re.compile(r"[0-9][.,][0-9]")
_THOUSANDS = re.compile(r"(?<![0-9.,])([0-9]{1,3}(?:,[0-9]{3})+)(?![0-9,])")
_VERSION = re.compile(r"\bv(?=[0-9]+\.[0-9])")
# Invisible inside words (soft hyphen, joiners, direction marks, variation selectors, tags) and trade marks ("™" is "TM" in NFKC).
_UNSEEN = "\u00ad\u034f\u061c\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff"
_IGNORED = re.compile(f"[{_UNSEEN}\u2120\u2122]")
_PERSIAN_GAP = re.compile("(?<=[\u0600-\u06ff])\u200c")  # there the non-joiner parts what others part with a blank
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]+")
_STROKES = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ħ": "h"})
_WORD = re.compile(r"[^\W_]+")
_NUMERIC = r"[0-9]+(?:\.[0-9]+)+|[a-z](?:\+\+|#)(?!\w)"  # 3.11, c++, c#
_NUMERIC_WORD = re.compile(_NUMERIC + r"|[^\W_]+")
# Beyond these come marks, unspaced scripts and CJK, for which `_WORD` is not enough. (A negated class compiles ten times faster.)
_SIMPLE = "\0-\u02ff\u0370-\u0482\u048a-\u058f\u1e00-\u20cf\u2100-\u2bff\ufe00-\ufe1f\ufe30-\uffff\U0001f000-\U0001fbff"
_COMPLEX = re.compile(f"[^{_SIMPLE}]")
_FOREIGN = re.compile("[^\0-\u024f\u1e00-\u1eff\u2000-\u2bff]")
_OPENCOUCH_CJK = (
    "\u2e80-\u9fff\uf900-\ufaff\uac00-\ud7af\u3040-\u30ff\u3100-\u312f\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b820-\U0002ceaf\U0002ceb0-\U0002ebef\U00030000-\U0003134f\U00031350-\U000323af"
)

_local = threading.local()


class _Memo(dict):
    """A bounded dictionary that makes what it lacks; every answer can be made again, so a full one starts anew."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[str], object]) -> None:
        self.make = make

    def __missing__(self, key: str) -> object:
        value = self.make(key)
        if len(key) <= _LONGEST:
            if len(self) >= _MEMO:
                self.clear()
            self[key] = value
        return value


# --- words ---------------------------------------------------------------------------------------------------------


def fold(text: str) -> str:
    """The form in which texts are compared: compatibility characters and case made one, accents kept."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def words(text: str) -> list[str]:
    """The folded words in order; a run of CJK or of an unspaced script is one word."""
    return _split(text)[0]


def _split(text: str) -> tuple[list[str], bool]:
    """The words, and whether one of them is more than one term."""
    text = text.lower() if text.isascii() else _unified(text)
    if "'" in text:
        text = _CLITIC.sub("", text)
    numeric = "+" in text or "#" in text or _NUMBER.search(text)
    if numeric:
        text = _numbers(text)
    if not text.isascii() and _COMPLEX.search(text):
        pattern, grams, _ = _patterns()
        return pattern.findall(text), grams.search(text) is not None
    if numeric:
        return _NUMERIC_WORD.findall(text), True
    return (text.translate(_SPACED).split() if text.isascii() else _WORD.findall(text)), False


def _unified(text: str) -> str:
    """Folded, with one apostrophe, without what can't be seen."""
    text = _TYPOGRAPHY.sub(" ", text.replace("\u2019", "'").replace("\u2018", "'"))
    if text.isascii():
        return text.lower()
    if _IGNORED.search(text):
        text = _IGNORED.sub("", _PERSIAN_GAP.sub(" ", text))
    return fold(text).replace("\u02bc", "'").replace("i\u0307", "i")  # Turkish İ folds to i and a dot


def _numbers(text: str) -> str:
    """1,000 is 1000 and v3.11 is 3.11."""
    return _VERSION.sub("", _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """What is a word, what a word of several terms, and a cluster of an unspaced script. Made on first need: a few ms."""
    marks = _marks()
    letter = rf"[^\W_{_CJK}{_UNSPACED}]"
    word = rf"{_NUMERIC}|[{_CJK}]+|[{_UNSPACED}]+|{letter}+(?:[{marks}]+{letter}*)*"
    # A vowel written before its consonant, the consonant, what is stacked on it (Khmer and Myanmar subscripts too), the vowel
    # after it: a piece no word begins or ends inside of.
    cluster = f"[\u0e40-\u0e44\u0ec0-\u0ec4]?.(?:[\u1039\u17d2].|[{marks}\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3\u0ebd])*"
    return re.compile(word), re.compile(rf"[{_CJK}{_UNSPACED}]|[0-9]\.[0-9]"), re.compile(cluster)


def _marks() -> str:
    """The combining marks as the inside of a character class; `\\w` has none, and Indic vowel signs are marks."""
    found = {c for start, end in _MARK_BLOCKS for c in range(start, end) if unicodedata.category(chr(c))[0] == "M"}
    starts = sorted(c for c in found if c - 1 not in found)
    ends = sorted(c for c in found if c + 1 not in found)
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(starts, ends, strict=True))


# --- terms ---------------------------------------------------------------------------------------------------------


def terms(text: str, language: str) -> list[str]:
    """What the index stores for one record: stems, and for unspaced scripts characters and pairs."""
    found, composite = _split(text)
    stem = _stems(language).__getitem__
    if not composite:
        return list(map(stem, found))
    return [term for word in found for term in _parts(word, stem, asked=False)]


def query_terms(text: str, languages: Iterable[str]) -> list[str]:
    """What to look for: distinct, in order, without stop words unless there is nothing else."""
    languages = tuple(languages) or ("none",)
    found, composite = _split(text)
    stops = _stops(languages)
    kept = [word for word in found if word not in stops] or found
    memos = [_stems(language).__getitem__ for language in languages]
    if not composite:
        return list(dict.fromkeys(stem(word) for word in kept for stem in memos))
    return list(dict.fromkeys(term for word in kept for stem in memos for term in _parts(word, stem, asked=True)))


def _parts(word: str, stem: Callable[[str], str], asked: bool) -> Sequence[str]:
    """The terms of one word. A question leaves the single characters of a longer run out: pairs say more."""
    if word.isascii():
        return (stem(word), *word.split(".")) if "." in word else (stem(word),)
    _, grams, cluster = _patterns()
    if not grams.match(word):
        return (stem(word),)
    units = cluster.findall(word) if "\u0e00" <= word[0] <= "\u17ff" or "\ua9e0" <= word[0] <= "\uaa7f" else list(word)
    pairs = list(map(add, units, units[1:]))
    return (pairs or units) if asked else units + pairs


@lru_cache(maxsize=256)
def _stops(languages: tuple[str, ...]) -> frozenset[str]:
    return frozenset().union(*map(stop_words, languages))


@cache
def _stems(language: str) -> _Memo:
    """word → term, for one language."""
    if language != "none" and language not in LANGUAGES:
        hint = f"Use none or one of: {' '.join(LANGUAGES)}."
        raise InvalidSetting(f"There are no stems for the language {language!r}.", hint=hint)
    home = _SCRIPT_OF_LANGUAGE.get(language, "latin")

    def term(word: str) -> str:
        word = word[:_LONGEST]
        script = _letter_script(word[0])
        if language == "none" or word.isdigit():
            stem = word
        elif script == home or script not in _HOME or language == "sr":
            stem = _stemmer(language)(word)
        else:
            stem = _stemmer(_HOME[script])(word)
        return _plain(stem or word)

    return _Memo(term)


def _stemmer(language: str) -> Callable[[str], str]:
    """This thread's stemmer: Stemmer objects must not be shared between threads."""
    try:
        return _local.stemmers[language]
    except (AttributeError, KeyError):
        from Stemmer import Stemmer

        stemmers = _local.__dict__.setdefault("stemmers", {})
        return stemmers.setdefault(language, Stemmer(LANGUAGES[language], 0).stemWord)


def _plain(term: str) -> str:
    """Without accents, points and strokes: café is cafe, ё is е, Łódź is lodz, ٣ is 3."""
    if term.isascii():
        return term
    if term.isdecimal():
        return "".join(str(unicodedata.decimal(digit)) for digit in term)
    bare = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", term)))
    return bare.translate(_STROKES) or term


@cache
def tokens_version() -> str:
    """What the terms of an index depend on: our rules and the stemmers' release (Dutch and others changed in Snowball 3)."""
    from Stemmer import version

    return f"{TOKENS_VERSION}/{version()}"


# --- the blob of a record ------------------------------------------------------------------------------------------


def _hash(term: str) -> int:
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


_hashes = _Memo(_hash)


def term_hash(term: str) -> int:
    """A stable unsigned 64-bit name for a term."""
    return _hashes[term]


def pack(terms: list[str]) -> tuple[bytes, int]:
    """A record's terms as bytes (hashes ascending, uint64 little-endian; then one byte of frequency each) and its length."""
    counts: dict[int, int] = {}
    for name in map(_hashes.__getitem__, terms):
        counts[name] = counts.get(name, 0) + 1
    distinct = sorted(counts)
    packed = array("Q", distinct)
    if byteorder == "big":
        packed.byteswap()
    if len(distinct) == len(terms):
        return packed.tobytes() + b"\x01" * len(distinct), len(terms)
    frequencies = list(map(counts.__getitem__, distinct))
    return packed.tobytes() + bytes(frequencies if len(terms) < 256 else [min(often, 255) for often in frequencies]), len(terms)


def unpack(blob: bytes) -> tuple[list[int], list[int]]:
    """The hashes and frequencies that `pack` wrote."""
    count = len(blob) // 9
    packed = array("Q", blob[: 8 * count])
    if byteorder == "big":
        packed.byteswap()
    return packed.tolist(), list(blob[8 * count :])


# --- languages and scripts -----------------------------------------------------------------------------------------


def language_of(text: str, default: str = "en") -> str:
    """The language a text is most likely written in, for choosing a stemmer: script first, then function words."""
    return _language(text[:_SAMPLE]) or default


@lru_cache(maxsize=64)  # a text that is written is asked about by everybody who reads it
def _language(text: str) -> str:
    """The same; "" where it can't be told."""
    if not text.isascii():
        if _FOREIGN.search(text):
            script = _main_script(text)
            if script != "latin":
                return _HOME.get(script, "")
        text = unicodedata.normalize("NFC", text).replace("’", " ").lower()
    return _latin_language(text)


def _latin_language(text: str) -> str:
    languages, votes = latin_votes()
    if text.isascii():
        found = text.lower().translate(_SPACED).split()
    else:
        found = text.replace(",", " ").replace(".", " ").replace("?", " ").replace("'", " ").split()
    total = sum(filter(None, map(votes.get, found)))
    lanes = memoryview(total.to_bytes(2 * len(languages), "little")).cast("H").tolist()
    best = max(lanes)
    if best < 3 or best * _SPARSE < len(found):
        return ""
    winner = lanes.index(best)
    lanes[winner] = 0
    second = max(lanes)
    return languages[winner] if best > second + max(1, second // 5) else ""


def _main_script(text: str) -> str:
    """The script with the most distinct letters. Latin ones count half: they turn up as names in every other script."""
    counts = Counter(filter(None, map(_letter_script, set(text))))
    counts["latin"] //= 2
    return max(counts, key=lambda script: (counts[script], script), default="latin")


def scripts(text: str) -> frozenset[str]:
    """The scripts of a text's letters; one we have no name for is "other"."""
    if text.isascii():
        return frozenset({"latin"}) if any(map(str.isalpha, text)) else frozenset()
    found = set(map(_letter_script, set(text))) - {""}
    return frozenset(script if script in _NAMED else "other" for script in found)


def _script(letter: str) -> str:
    if not letter.isalpha():
        return ""
    letter = unicodedata.normalize("NFKC", letter)[0]
    return _SCRIPTS.get(unicodedata.name(letter, "").partition(" ")[0], "other")


_letter_script = _Memo(_script).__getitem__

# --- sets ----------------------------------------------------------------------------------------------------------


def characters(text: str) -> list[str]:
    """OpenCouch's tokens: lower-cased words as they stand, every CJK character one token, nothing stemmed."""
    text = text.lower()
    found = re.findall(r"\b\w+\b", text)
    if text.isascii():
        return found
    part = _opencouch_part()
    return [match[0] for word in found for match in part.finditer(word)]


@cache
def _opencouch_part() -> re.Pattern[str]:
    return re.compile(f"([{_OPENCOUCH_CJK}])|[^{_OPENCOUCH_CJK}]+")


def meaningful(tokens: Iterable[str]) -> list[str]:
    """Of `characters`, what OpenCouch looks for: no stop words (English and the tokens' own language), no single letters."""
    tokens = list(tokens)
    stops = _stops(("en", language_of(" ".join(tokens)))) | FRAGMENTS
    part = _opencouch_part()
    return [token for token in tokens if token not in stops and (len(token) > 1 or part.fullmatch(token)[1])]


def jaccard(a: set[str], b: set[str]) -> float:
    """Shared over all; two empty sets share nothing."""
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared) if shared else 0.0


def shingles(text: str, n: int = 3) -> set[str]:
    """The character n-grams of the folded text, white space counted as one blank; a shorter text is its own."""
    text = " ".join(fold(text).split())
    if len(text) <= n:
        return {text} if text else set()
    return {text[start : start + n] for start in range(len(text) - n + 1)}
