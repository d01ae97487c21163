"""How a text falls into words: identifiers into their parts, scripts without spaces into characters and pairs.

One regular expression finds the chunks; what a chunk consists of is remembered, so that a text costs about as much
as looking its words up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from mcp_studio.search import cjk

LONGEST_CHUNK = 100
"""Characters of one identifier that are taken apart; random data has longer ones."""
LONGEST_MATCHED = 20_000
"""Characters of a text in which matches are marked."""
LONGEST_JOINED = 24
"""Letters of an identifier that is found as one word too, its signs left out."""

_WORD = f"[^\\W{cjk.DENSE}]"
CHUNK = re.compile(
    f"[{cjk.DENSE}]+|[A-Za-z](?:#|\\+\\+)(?!\\w)|{_WORD}+(?:['’\\-]{_WORD}+)*|[\u2600-\u27bf\U0001f300-\U0001faff]"
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


def words(text: str, segment: cjk.Segment | None = None) -> list[str]:
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
        elif chunk[0] >= cjk.FIRST and cjk.is_dense(chunk[0]):
            extend(cjk.grams(chunk, segment))
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
        for part in _pairs(match[0]) if cjk.is_dense(match[0][0]) else parts(match[0]):
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
