"""What of an entry, and of a question, is turned into vectors."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from mcp_studio.search.cjk import DENSE, is_dense
from mcp_studio.search.document import Document
from mcp_studio.search.fields import LONGEST_HEAD, Fields
from mcp_studio.search.glossary import english
from mcp_studio.search.tokens import CHUNK, parts

TOKENS = 32
"""Tokens of each text of an entry that are looked at."""
_GIVEN = 0.25
"""What counts of an entry that takes something: what it takes; the rest is what it does."""
_HEAD = 32
"""Words of the first sentence of a description."""
_PARAMETERS = 12
_PARTS = 6
"""Sentences of a question that are looked at by themselves."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_FEWEST = 3
"""Words of a sentence that says something by itself."""
_LIKELIEST = 2
"""English words that are taken for a Chinese one."""
_STRETCH = re.compile(f"([{DENSE}]+)")
_WORD = re.compile(r"[A-Za-z]{3,}")
_LATIN = "\u0250"
"""Latin letters, also those with accents, come before it."""
_DENSE = 3
"""So many letters say as much as one character of a script without spaces."""


class Said(NamedTuple):
    """One of the texts that stand for an entry."""

    text: str
    share: float
    """What it counts of 1."""


def texts_of(read: Fields) -> tuple[Said, ...]:
    """The texts whose meanings together stand for an entry: what it is and does, and what it takes."""
    name = spoken(read.name)
    title = "" if read.title == read.name else " ".join(read.title.split())
    head = " ".join(read.head.split()[:_HEAD])
    said = (f"{spoken(read.server)}: {name}", title, head if understood(head) else "")
    does = ". ".join(part for part in said if part)
    given = ", ".join(spoken(one.name) for one in read.parameters[:_PARAMETERS])
    if not given:
        return (Said(does, 1.0),)
    return Said(does, 1 - _GIVEN), Said(f"{name} ({given})", _GIVEN)


def spoken(name: str) -> str:
    """An identifier as a person would say it: its words, with spaces."""
    found: list[str] = []
    for chunk in CHUNK.findall(name):
        end = 0
        for part in parts(chunk):
            if part.start >= end:
                found.append(chunk[part.start : part.end])
                end = part.end
    return " ".join(found)


def questions_of(text: str) -> list[str]:
    """A question, then its sentences where it has several: one of them may ask for something by itself."""
    if translated(text):
        return [in_english(text)]
    whole = " ".join(text.split())
    sentences = [part.strip() for part in _SENTENCE.split(text) if len(part.split()) >= _FEWEST]
    return [whole, *sentences[:_PARTS]] if len(sentences) > 1 else [whole]


def translated(text: str) -> bool:
    """Whether a question is asked by the English words for what is Chinese in it."""
    return bool(_STRETCH.search(text)) and bool(in_english(text))


def own_letters(document: Document) -> bool:
    """Whether an entry is described in letters such as those of a question that is translated."""
    said = document.raw.get("description")
    return isinstance(said, str) and bool(_STRETCH.search(said[:LONGEST_HEAD]))


@lru_cache(64)
def in_english(text: str) -> str:
    """The English words of a question, and those that the glossary has for its Chinese ones; empty without any."""
    found: list[str] = []
    for stretch in _STRETCH.split(text):
        if _STRETCH.match(stretch):
            found += [word.replace("_", " ") for words in english(stretch) for word in words[:_LIKELIEST]]
        else:
            found += _WORD.findall(stretch)
    return " ".join(dict.fromkeys(found))


def understood(text: str) -> bool:
    """Whether most of a text is in letters that the model knows: it was made of English."""
    known = sum(char < _LATIN for char in text if char.isalpha())
    other = sum(_DENSE if is_dense(char) else 1 for char in text if char >= _LATIN and char.isalpha())
    return known >= other
