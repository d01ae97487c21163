"""What of an entry, and of a question, is turned into vectors."""

from __future__ import annotations

import re

from mcp_studio.search.cjk import is_dense
from mcp_studio.search.fields import Fields
from mcp_studio.search.tokens import CHUNK, parts

TOKENS = 40
"""Tokens of an entry's text that are looked at."""
_HEAD = 24
"""Words of the first sentence of a description."""
_PARAMETERS = 12
_PARTS = 6
"""Sentences of a question that are looked at by themselves."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_FEWEST = 3
"""Words of a sentence that says something by itself."""
_LATIN = "\u0250"
"""Latin letters, also those with accents, come before it."""
_DENSE = 3
"""So many letters say as much as one character of a script without spaces."""


def text_of(read: Fields) -> str:
    """The text whose meaning stands for an entry."""
    title = "" if read.title == read.name else " ".join(read.title.split())
    head = " ".join(read.head.split()[:_HEAD])
    given = ", ".join(spoken(one.name) for one in read.parameters[:_PARAMETERS])
    said = ". ".join(part for part in (f"{spoken(read.server)}: {spoken(read.name)}", title, head) if part)
    return f"{said} ({given})" if given else said


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
    whole = " ".join(text.split())
    sentences = [part.strip() for part in _SENTENCE.split(text) if len(part.split()) >= _FEWEST]
    return [whole, *sentences[:_PARTS]] if len(sentences) > 1 else [whole]


def understood(text: str) -> bool:
    """Whether most of a text is in letters that the model knows: it was made of English."""
    known = sum(char < _LATIN for char in text if char.isalpha())
    other = sum(_DENSE if is_dense(char) else 1 for char in text if char >= _LATIN and char.isalpha())
    return known >= other
