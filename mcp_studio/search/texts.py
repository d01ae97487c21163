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
from mcp_studio.search.wordlists import ASIDE, CIRCUMSTANCE, STOP

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
_GIST = 1 / 3
"""What counts of a sentence: what it wants done; the rest is the sentence as it is."""
_FEWEST_BARE = 2
"""Words that have to be left where what stands aside is left out."""
_FEWEST_TOLD = 2
"""Words that tell something that have to come before a circumstance."""
_CIRCUMSTANCE = re.compile(rf"\b(?:{'|'.join(sorted(CIRCUMSTANCE))})\b", re.IGNORECASE)
_BEFORE_SIGN = re.compile(r"\s+(?=[.,;!?])")
_LETTERS = re.compile(r"\w+")
_LIKELIEST = 2
"""English words that are taken for a Chinese one."""
_STRETCH = re.compile(f"([{DENSE}]+)")
_WORD = re.compile(r"[A-Za-z]{3,}")
_LATIN = "\u0250"
"""Latin letters, also those with accents, come before it."""
_DENSE = 3
"""So many letters say as much as one character of a script without spaces."""


class Said(NamedTuple):
    """One of the texts that stand for an entry, or for a sentence of a question."""

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


def questions_of(text: str) -> list[tuple[Said, ...]]:
    """A question, then its sentences where it has several: one of them may ask for something by itself."""
    if translated(text):
        return [(Said(in_english(text), 1.0),)]
    whole = " ".join(text.split())
    sentences = [part.strip() for part in _SENTENCE.split(text) if len(part.split()) >= _FEWEST]
    if len(sentences) > 1:
        return [(Said(whole, 1.0),), *(_asked(sentence) for sentence in sentences[:_PARTS])]
    return [_asked(whole)]


def gist(sentence: str) -> str:
    """What a sentence wants done, without with what: no quoted text, no names, nothing from the first `in` on."""
    plain = _BEFORE_SIGN.sub("", " ".join(ASIDE.sub(" ", sentence).split()))
    if len(plain.split()) < _FEWEST_BARE:
        plain = sentence
    for word in _CIRCUMSTANCE.finditer(plain):
        before = plain[: word.start()]
        if sum(one not in STOP for one in _LETTERS.findall(before.lower())) >= _FEWEST_TOLD:
            return before.rstrip()
    return plain


def _asked(sentence: str) -> tuple[Said, ...]:
    core = gist(sentence)
    if core == sentence:
        return (Said(sentence, 1.0),)
    return Said(sentence, 1 - _GIST), Said(core, _GIST)


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
