"""What the forms of a word have in common.

Not a dictionary's stem: the same few letters for `file`, `files`, `filing`, `filed`. Russian words lose the endings
of their cases. Those of other languages pass unharmed but for what looks like an English ending.
"""

from __future__ import annotations

import re
from functools import lru_cache

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
