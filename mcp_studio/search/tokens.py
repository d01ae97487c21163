"""How a text falls into words: identifiers into their parts, scripts without spaces into characters and pairs.

One regular expression finds the chunks; what a chunk consists of is remembered, so that a text costs about as much
as looking its words up.
"""

from __future__ import annotations

import logging
import re
import unicodedata
import warnings
from collections.abc import Callable, Collection
from functools import cache, lru_cache
from operator import add
from typing import NamedTuple

DENSE = (
    "\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff"  # India, Thai, Lao, Burmese, Korean, Khmer
    "\u3005-\u3007\u3040-\u30fa\u30fc-\u31ff\u3400-\u4dbf\u4e00-\u9fff"  # kana, bopomofo, Chinese
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"  # Korean, compatibility, narrow kana, rare Chinese
)
"""The characters of these scripts, as the inside of a regular expression's brackets."""
_DENSE = re.compile(f"[{DENSE}]")
FIRST = "\u0900"
"""No character of these scripts comes before it."""


Segment = Callable[[str], list[str]]
"""Takes a stretch without spaces apart into words."""
MISSING = "Chinese was searched by characters; for its words: pip install 'mcp-studio[cjk]'."


@cache
def dictionary() -> Segment | None:
    """What finds the words of a stretch by the dictionary of the extra `cjk`; None where that is not installed.

    Slow the first time, by about a second.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of its own code
        try:
            import jieba
        except ImportError:
            return None
        jieba.setLogLevel(logging.CRITICAL)
        tokenizer = jieba.Tokenizer()
        # By itself it would keep its index in a folder that everybody on the machine can write to, and read it there.
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
        tokenizer.initialized = True
    return lambda run: list(tokenizer.cut(run))


def grams(run: str, segment: Segment | None = None) -> list[str]:
    """The characters of a stretch without spaces, the pairs of neighbours, and the longer words of a dictionary."""
    if any(char >= "\uff00" for char in run):
        run = unicodedata.normalize("NFKC", run)
    found = [*run, *map(add, run, run[1:])]
    if segment is not None:
        found += [word for word in segment(run) if len(word) > 2]
    return found


def is_dense(char: str) -> bool:
    """Whether a character is of one of these scripts."""
    return char >= FIRST and bool(_DENSE.match(char))


LONGEST_CHUNK = 100
"""Characters of one identifier that are taken apart; random data has longer ones."""
LONGEST_MATCHED = 20_000
"""Characters of a text in which matches are marked."""
LONGEST_JOINED = 24
"""Letters of an identifier that is found as one word too, its signs left out."""

_WORD = f"[^\\W{DENSE}]"
CHUNK = re.compile(
    f"[{DENSE}]+|[A-Za-z](?:#|\\+\\+)(?!\\w)|{_WORD}+(?:['’\\-]{_WORD}+)*|[\u2600-\u27bf\U0001f300-\U0001faff]"
)
"""Finds the chunks of a text: words, identifiers, stretches without spaces, single pictures."""
_PART = re.compile(
    r"[A-Za-z](?:#|\+\+)$|[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[0-9]+[A-Za-z]{1,2}(?![A-Za-z0-9])"
    r"|(?:[A-Z]?[a-z]+|[A-Z]+)[0-9]+(?:[a-z](?![a-z0-9]))?|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W\d_a-zA-Z]+|[^\w\s'’\-]"
)
_LETTERS = str.maketrans({"ß": "ss", "ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "æ": "ae", "Æ": "Ae", "œ": "oe"})
_ACCENT = re.compile("(?<![иИ])[\u0300-\u036f]|[\u0591-\u05bd\u064b-\u065f]")
_ENDING = re.compile(r"['’](?:s|t|re|ve|ll|d|m)$", re.IGNORECASE)
_NUMBERED = re.compile(r"([a-z]{3,})[0-9]+[a-z]?")
_NAMES = (
    "AirTable AppSheet arXiv BigQuery BitBucket BlueSky CircleCI ClickHouse ClickUp CloudFlare CloudFront CloudWatch"
    " CockroachDB CosmosDB CouchDB DataDog DeepL DevOps DocuSign DropBox DuckDB DuckDuckGo DynamoDB EBay EventBridge"
    " EventHub FaceBook FireBase FireStore FreshDesk GitHub GitLab GraphQL HubSpot InfluxDB IPv4 IPv6 iOS iPad iPhone"
    " JavaScript JetBrains LangChain LinkedIn macOS MailChimp MariaDB MongoDB MySQL NoSQL NumPy OAuth OneDrive OneNote"
    " OpenAI OpenAPI OpenStreetMap PagerDuty PayPal PostgreSQL PostHog PowerPoint PowerShell PubMed PyPI PyTorch"
    " QuickBooks RabbitMQ SalesForce SendGrid ServiceNow SharePoint SoundCloud SQLite SnowFlake"
    " StackOverflow SupaBase TensorFlow TickTick TikTok TypeScript VMware VSCode WebHook WebSocket WeChat WhatsApp"
    " WikiData WikiPedia WooCommerce WordPress YouTube ZenDesk ZeroMQ"
).split()
_NAME = re.compile("|".join(sorted({n for name in _NAMES for n in (name, name[0].upper() + name[1:])}, reverse=True)))


class Part(NamedTuple):
    """One word within a text."""

    start: int
    end: int
    word: str
    """As it is compared."""


def words(text: str, segment: Segment | None = None) -> list[str]:
    """The words of a text in their order, each as it is compared; an identifier's parts, then all of it as one.

    Args:
        text: any text in any script.
        segment: finds words in scripts without spaces, besides their characters and pairs.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    found: list[str] = []
    extend = found.extend
    for chunk in CHUNK.findall(text):
        if chunk.isascii() and chunk.isalpha() and chunk.islower():
            found.append(chunk)
        elif chunk[0] >= FIRST and is_dense(chunk[0]):
            extend(grams(chunk, segment))
        else:
            extend(chunk_words(chunk))
    return found


def chunk_words(chunk: str) -> tuple[str, ...]:
    """The words of one chunk with spaces round it."""
    return _chunk_words(chunk[:LONGEST_CHUNK])  # no more of it is kept: some are as long as a text


@lru_cache(maxsize=4_000)
def _chunk_words(chunk: str) -> tuple[str, ...]:
    return tuple(part.word for part in parts(chunk))


def parts(chunk: str) -> list[Part]:
    """The words of one chunk and where they stand; more than one may stand at one place."""
    plain = fold(chunk[:LONGEST_CHUNK])
    same = len(plain) == len(chunk)
    end = len(_ENDING.sub("", plain))
    plain = _NAME.sub(lambda found: found[0].capitalize(), plain[:end])
    found: list[Part] = []
    for match in _PART.finditer(plain):
        place = match.span() if same else (0, len(chunk))
        word = match[0].casefold()
        found.append(Part(*place, word))
        numbered = _NUMBERED.fullmatch(word)
        if numbered:
            found.append(Part(place[0], place[0] + numbered.end(1), numbered[1]))
    if len(found) > 1:
        joined = "".join(re.findall(r"\w", plain)).replace("_", "").casefold()
        if len(joined) <= LONGEST_JOINED and joined != found[0].word:
            found.append(Part(0, len(chunk), joined))
    return found


def fold(text: str) -> str:
    """The text without accents, wide and narrow forms made plain; capitals stay."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFKD", text.translate(_LETTERS))))


def matching(text: str, wanted: Collection[str]) -> list[tuple[int, int]]:
    """Where the text has words that were looked for, in its order, none overlapping; its first part only."""
    found: list[tuple[int, int]] = []
    for match in CHUNK.finditer(text, 0, LONGEST_MATCHED):
        start = match.start()
        for part in _pairs(match[0]) if is_dense(match[0][0]) else parts(match[0]):
            if part.word in wanted:
                found.append((start + part.start, start + part.end))
    return _merged(found)


def _pairs(run: str) -> list[Part]:
    return [Part(at, at + 2, run[at : at + 2]) for at in range(len(run) - 1)] or [Part(0, 1, run)]


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


_VOWEL = re.compile(r"[aeiouy]")
_ODD = {
    "children": "child",
    "people": "person",
    "men": "man",
    "women": "woman",
    "indices": "index",
    "indexes": "index",
    "matrices": "matrix",
    "vertices": "vertex",
    "appendices": "appendix",
    "criteria": "criterion",
    "media": "media",
    "data": "data",
    "analyses": "analysi",
    "analysis": "analysi",
    "analyze": "analysi",
    "analyse": "analysi",
    "analyzed": "analysi",
    "analyzing": "analysi",
    "analyzer": "analysi",
    "analyser": "analysi",
    "analytics": "analysi",
    "sent": "send",
    "wrote": "write",
    "written": "write",
    "found": "find",
    "built": "build",
    "bought": "buy",
    "ran": "run",
    "paid": "pay",
    "tries": "try",
    "tried": "try",
    "uses": "use",
    "used": "use",
    "using": "use",
    "conversion": "convert",
    "conversions": "convert",
    "installation": "install",
    "news": "news",
    "status": "status",
    "statuses": "status",
    "series": "series",
    "aws": "aws",
    "dns": "dns",
    "sms": "sms",
}
_ENDINGS = (
    ("ifications", "ifi"),
    ("ification", "ifi"),
    ("izations", "iz"),
    ("ization", "iz"),
    ("isation", "iz"),
    ("ational", "at"),
    ("fulness", "ful"),
    ("iveness", "iv"),
    ("ations", "at"),
    ("ation", "at"),
    ("ators", "at"),
    ("ator", "at"),
    ("ating", "at"),
    ("ated", "at"),
    ("ates", "at"),
    ("ate", "at"),
    ("ements", "e"),
    ("ement", "e"),
    ("ments", "ment"),
    ("izing", "iz"),
    ("ising", "iz"),
    ("ized", "iz"),
    ("ised", "iz"),
    ("izes", "iz"),
    ("izer", "iz"),
    ("ize", "iz"),
    ("ise", "iz"),
    ("ings", ""),
    ("ing", ""),
    ("ied", "i"),
    ("ies", "i"),
    ("ers", ""),
    ("ed", ""),
    ("er", ""),
    ("or", ""),
    ("ions", ""),
    ("ion", ""),
    ("ly", ""),
    ("es", ""),
    ("s", ""),
)
_RUSSIAN = re.compile(
    "(?<=[а-я]{3})(?:ами|ями|ого|его|ому|ему|ыми|ими|ах|ях|ых|их|ов|ев|ей|ой|ый|ий|ая|яя|ое|ее|ые|ие|ам|ям|ом|ем|ую|юю|ть|[аяыиуюеоьй])$"
)
_LONGEST = 30
"""Letters of a word that has a stem; none is kept that is longer."""
_SHORTEST = 3
"""Letters that have to remain."""


def stem(word: str) -> str:
    """The part of a lower-case word that its forms share; the word itself where there is nothing to take away."""
    return _stem(word) if len(word) <= _LONGEST else word


@lru_cache(maxsize=2_000)
def _stem(word: str) -> str:
    if word in _ODD:
        return _ODD[word]
    if len(word) <= _SHORTEST or not word.isalpha():
        return word
    if not word.isascii():
        return _RUSSIAN.sub("", word)
    if word.endswith(("ss", "us", "is")):
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending):
            rest = word[: -len(ending)] + instead
            if ending.startswith("ement") and len(rest) < 5:
                continue
            if len(rest) >= _SHORTEST and _VOWEL.search(rest):
                return _tidy(rest)
            if ending == "s":
                return word[:-1]
    return _tidy(word)


def _tidy(rest: str) -> str:
    if len(rest) > _SHORTEST and rest[-1] == rest[-2] and rest[-1] not in "aeiouls":
        rest = rest[:-1]
    if len(rest) > _SHORTEST and rest[-1] == "e":
        rest = rest[:-1]
    if len(rest) >= _SHORTEST and rest[-1] == "y" and rest[-2] not in "aeiou":
        rest = rest[:-1] + "i"
    return rest
