"""Splitting text into words: identifiers into parts, scripts without spaces into characters and pairs; stems."""

from __future__ import annotations

import logging
import re
import tomllib
import unicodedata
import warnings
from collections.abc import Callable, Collection
from functools import cache, lru_cache
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

DENSE = (
    "\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff"  # India, Thai, Lao, Burmese, Korean, Khmer
    "\u3005-\u3007\u3040-\u30fa\u30fc-\u31ff\u3400-\u4dbf\u4e00-\u9fff"  # kana, bopomofo, Chinese
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"  # Korean, compatibility, narrow kana, rare Chinese
)
"""Characters of scripts without spaces, for the brackets of a regular expression."""
_DENSE = f"[{DENSE}]"
_FIRST_DENSE = "\u0900"
Segment = Callable[[str], list[str]]
"""Splits a text without spaces into words."""
JIEBA_MISSING = "Chinese was searched by characters; for its words: pip install 'mcp-studio[cjk]'."
LONGEST_CHUNK = 100
"""Characters of one identifier that are split; random data has longer ones."""
_LONGEST_MATCHED = 20_000
_LONGEST_JOINED = 24
"""Letters of the longest identifier that also counts as one word without its signs."""


@cache
def vocabulary() -> dict[str, Any]:
    """The word lists of `vocabulary.toml`."""
    return tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text("utf-8"))


_WORD = f"[^\\W{DENSE}]"
CHUNK = f"[{DENSE}]+|[A-Za-z](?:#|\\+\\+)(?!\\w)|{_WORD}+(?:['’\\-]{_WORD}+)*|[\u2600-\u27bf\U0001f300-\U0001faff]"
"""Words, identifiers, texts without spaces, single pictures; `re` compiles it at its first use, which takes 8 ms, as it
compiles the other patterns here."""
_PART = (
    r"[A-Za-z](?:#|\+\+)$|[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[0-9]+[A-Za-z]{1,2}(?![A-Za-z0-9])"
    r"|(?:[A-Z]?[a-z]+|[A-Z]+)[0-9]+(?:[a-z](?![a-z0-9]))?|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W\d_a-zA-Z]+|[^\w\s'’\-]"
)
_LETTERS = str.maketrans({"ß": "ss", "ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "æ": "ae", "Æ": "Ae", "œ": "oe"})
_ACCENT = "(?<![иИ])[\u0300-\u036f]|[\u0591-\u05bd\u064b-\u065f]"
_CONTRACTION = r"(?i)['’](?:s|t|re|ve|ll|d|m)$"
_NUMBERED = r"([a-z]{3,})[0-9]+[a-z]?"


@cache
def _product_names() -> re.Pattern[str]:
    names = {form for name in vocabulary()["names"].split() for form in (name, name[0].upper() + name[1:])}
    return re.compile("|".join(sorted(names, reverse=True)))


class Part(NamedTuple):
    """One word with its span."""

    start: int
    end: int
    word: str
    """The word in the form that is compared."""


@cache
def dictionary() -> Segment | None:
    """A function that splits Chinese by the dictionary of the extra `cjk`; None where that is not installed.

    Takes a second.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package itself causes warnings
        try:
            import jieba
        except ImportError:
            return None
        jieba.setLogLevel(logging.CRITICAL)
        tokenizer = jieba.Tokenizer()
        # The package's default index file is in a folder that everybody on the machine can write to, so it is not used.
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
        tokenizer.initialized = True
    return lambda run: list(tokenizer.cut(run))


def is_dense(char: str) -> bool:
    """Whether a character belongs to a script without spaces."""
    return char >= _FIRST_DENSE and bool(re.match(_DENSE, char))


def grams(run: str, segment: Segment | None = None) -> list[str]:
    """The characters of a text without spaces, the pairs of neighbours, and the longer words of a dictionary."""
    if any(char >= "\uff00" for char in run):
        run = unicodedata.normalize("NFKC", run)
    found = [*run, *map(add, run, run[1:])]
    if segment is not None:
        found += [word for word in segment(run) if len(word) > 2]
    return found


def words(text: str, segment: Segment | None = None) -> list[str]:
    """The words of a text in order, as they are compared; an identifier follows its parts as one word."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    found: list[str] = []
    for chunk in re.findall(CHUNK, text):
        if chunk.isascii() and chunk.isalpha() and chunk.islower():
            found.append(chunk)
        elif is_dense(chunk[0]):
            found.extend(grams(chunk, segment))
        else:
            found.extend(chunk_words(chunk))
    return found


def chunk_words(chunk: str) -> tuple[str, ...]:
    return _chunk_words(chunk[:LONGEST_CHUNK])  # the cache must not hold identifiers as long as a text


@lru_cache(maxsize=4_000)
def _chunk_words(chunk: str) -> tuple[str, ...]:
    return tuple(part.word for part in parts(chunk))


def parts(chunk: str) -> list[Part]:
    """The words of one identifier with their spans; several may have the same span."""
    plain = _without_accents(chunk[:LONGEST_CHUNK])
    same = len(plain) == len(chunk)
    plain = _product_names().sub(lambda match: match[0].capitalize(), re.sub(_CONTRACTION, "", plain))
    found: list[Part] = []
    for match in re.finditer(_PART, plain):
        start, end = match.span() if same else (0, len(chunk))
        word = match[0].casefold()
        found.append(Part(start, end, word))
        if numbered := re.fullmatch(_NUMBERED, word):
            found.append(Part(start, start + numbered.end(1), numbered[1]))
    if len(found) > 1:
        joined = "".join(re.findall(r"\w", plain)).replace("_", "").casefold()
        if len(joined) <= _LONGEST_JOINED and joined != found[0].word:
            found.append(Part(0, len(chunk), joined))
    return found


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", re.sub(_ACCENT, "", unicodedata.normalize("NFKD", text.translate(_LETTERS))))


def matching(text: str, wanted: Collection[str], most: int = 1_000) -> list[Part]:
    """The spans of wanted words in a text, in order; overlapping spans are merged. Only the beginning is read."""
    found: list[Part] = []
    for match in re.finditer(CHUNK, text[:_LONGEST_MATCHED]):
        chunk, end = match[0], 0
        dense = is_dense(chunk[0])
        if len(found) >= most:
            break
        if not dense and not any(word in wanted for word in chunk_words(chunk)):
            continue
        places = _dense_parts(chunk) if dense else parts(chunk)
        inside = [part for part in places if part.word in wanted]
        if inside and inside[-1].end - inside[-1].start == len(chunk) and len(inside) > 1:
            inside.pop()  # the parts tell more than the whole identifier
        for part in sorted(inside, key=lambda part: (part.start, -part.end)):
            if part.start >= end:
                found.append(Part(match.start() + part.start, match.start() + part.end, part.word))
            elif part.end > end:
                found[-1] = found[-1]._replace(end=match.start() + part.end)
            end = max(end, part.end)
    return found[:most]


def _dense_parts(run: str) -> list[Part]:
    plain = unicodedata.normalize("NFKC", run)
    if len(plain) != len(run):  # narrow kana
        return [Part(0, len(run), word) for word in grams(run)]
    return [Part(at, at + size, plain[at : at + size]) for size in (2, 1) for at in range(len(run) + 1 - size)]


_RUSSIAN = (
    "(?<=[а-я]{3})(?:ами|ями|ого|его|ому|ему|ыми|ими|ах|ях|ых|их"
    "|ов|ев|ей|ой|ый|ий|ая|яя|ое|ее|ые|ие|ам|ям|ом|ем|ую|юю|ть|[аяыиуюеоьй])$"
)
_LONGEST_STEMMED = 30
_SHORTEST_STEM = 3


def stem(word: str) -> str:
    """The part of a lower-case word that its forms share; the word itself where no ending is found."""
    return _stem(word) if len(word) <= _LONGEST_STEMMED else word


@cache
def _endings() -> list[tuple[str, str]]:
    return [tuple(pair.split(">")) for pair in vocabulary()["endings"]]


@lru_cache(maxsize=4_000)
def _stem(word: str) -> str:
    if odd := vocabulary()["stems"].get(word):
        return odd
    if len(word) <= _SHORTEST_STEM or not word.isalpha():
        return word
    if not word.isascii():
        return re.sub(_RUSSIAN, "", word)
    if word.endswith(("ss", "us", "is")):
        return word
    for ending, instead in _endings():
        if word.endswith(ending):
            rest = word[: -len(ending)] + instead
            if ending.startswith("ement") and len(rest) < 5:
                continue
            if len(rest) >= _SHORTEST_STEM and re.search("[aeiouy]", rest):
                return _tidy(rest)
            if ending == "s":
                return word[:-1]
    return _tidy(word)


def _tidy(rest: str) -> str:
    """The stem without a doubled consonant or a silent `e`, and with `i` for `y`."""
    if len(rest) > _SHORTEST_STEM and rest[-1] == rest[-2] and rest[-1] not in "aeiouls":
        rest = rest[:-1]
    if len(rest) > _SHORTEST_STEM and rest[-1] == "e":
        rest = rest[:-1]
    if len(rest) >= _SHORTEST_STEM and rest[-1] == "y" and rest[-2] not in "aeiou":
        rest = rest[:-1] + "i"
    return rest
