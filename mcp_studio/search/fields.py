"""What of an entry is searched: its texts, read out of the raw JSON, each bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.search.method import Document
from mcp_studio.search.question import ASIDE, CIRCUMSTANCE, STOP, english_words
from mcp_studio.search.tokens import CHUNK, DENSE, is_dense, parts

LONGEST_NAME = 300
LONGEST_TEXT = 20_000
"""Characters of a description that are searched."""
LONGEST_HEAD = 400
LONGEST_PARAMETER = 600
"""Characters of a parameter's description that are searched."""
MOST_PARAMETERS = 200
MOST_VALUES = 50
"""Values of one enumeration that are searched."""
DEEPEST = 4
"""Levels of a schema that are walked."""
MOST_NODES = 2_000
"""Parts of a schema that are looked at."""

_END = re.compile(r"[.!?](?=\s)|[。!?]|\n\s*\n")
_INSIDE = ("items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties")


class Parameter(NamedTuple):
    """One parameter of a tool, or argument of a prompt, at any level of the schema."""

    name: str
    description: str = ""
    values: tuple[str, ...] = ()
    """What it may be, where the schema lists that."""


class Fields(NamedTuple):
    """The texts of an entry that are searched. Foreign, unsanitized, bounded."""

    name: str
    title: str
    server: str
    head: str
    """The description's first sentence."""
    description: str
    """All of it, the first sentence included."""
    parameters: tuple[Parameter, ...] = ()
    uri: str = ""
    """A resource's address or a template's pattern."""
    tags: tuple[str, ...] = ()


def fields(document: Document) -> Fields:
    """Read the fields out of a document. Never raises, whatever the server listed."""
    ref, raw = document.ref, document.raw
    addressed = ref.kind in ("resource", "template")
    name = _text(raw.get("name"), LONGEST_NAME) if addressed else ref.name[:LONGEST_NAME]
    title = _text(raw.get("title"), LONGEST_NAME)
    if not title and ref.kind == "tool":
        title = _text(mapping(raw.get("annotations")).get("title"), LONGEST_NAME)
    description = _text(raw.get("description"), LONGEST_TEXT).lstrip()
    uri = ref.name[: 2 * LONGEST_NAME] if addressed else ""
    return Fields(
        name or uri.rstrip("/").rpartition("/")[2] or uri,
        title,
        ref.server[:LONGEST_NAME],
        first_sentence(description),
        description,
        _arguments(raw.get("arguments")) if ref.kind == "prompt" else parameters(raw.get("inputSchema")),
        uri,
        document.tags,
    )


def first_sentence(text: str) -> str:
    """The text up to its first full stop or empty line, at most `LONGEST_HEAD` characters."""
    start = len(text) - len(text.lstrip())
    found = _END.search(text, start, start + LONGEST_HEAD)
    return text[start : found.end() if found else start + LONGEST_HEAD].strip()


def parameters(schema: Json) -> tuple[Parameter, ...]:
    """The parameters of a JSON Schema, outer ones first, at most `MOST_PARAMETERS`."""
    found: list[Parameter] = []
    level, seen = [mapping(schema)], 0
    root = level[0]
    for _ in range(DEEPEST):
        below: list[dict[str, Json]] = []
        for node in level:
            for name, value in mapping(node.get("properties")).items():
                part = _resolved(mapping(value), root)
                found.append(_parameter(str(name), part))
                below.append(part)
                if len(found) >= MOST_PARAMETERS:
                    return tuple(found)
            below.extend(_resolved(part, root) for part in _inside(node))
            seen += 1
            if seen + len(below) >= MOST_NODES:
                return tuple(found)
        level = [part for part in below if part]
        if not level:
            break
    return tuple(found)


def _text(value: Json, most: int) -> str:
    return value[:most] if isinstance(value, str) else ""


def _parameter(name: str, part: dict[str, Json]) -> Parameter:
    values = items_of(part.get("enum")) or items_of(mapping(part.get("items")).get("enum"))
    return Parameter(
        name[:LONGEST_NAME],
        _text(part.get("description"), LONGEST_PARAMETER),
        tuple(value[:LONGEST_NAME] for value in values[:MOST_VALUES] if isinstance(value, str)),
    )


def _inside(node: dict[str, Json]) -> Iterator[dict[str, Json]]:
    for key in _INSIDE:
        value = node.get(key)
        if isinstance(value, dict):
            yield mapping(value)
        else:
            for item in items_of(value)[:MOST_VALUES]:
                yield mapping(item)


def _resolved(part: dict[str, Json], root: dict[str, Json]) -> dict[str, Json]:
    """What a reference within the schema stands for; one step, so that circles end with the depth."""
    target = part.get("$ref")
    if not isinstance(target, str) or not target.startswith("#/") or len(target) > LONGEST_NAME:
        return part
    found: Json = root
    for key in target[2:].split("/"):
        found = mapping(found).get(key)
    return {**mapping(found), **part}


def _arguments(value: Json) -> tuple[Parameter, ...]:
    given = (mapping(item) for item in items_of(value)[:MOST_PARAMETERS])
    return tuple(_parameter(_text(item.get("name"), LONGEST_NAME), item) for item in given)


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
            found += [word.replace("_", " ") for words in english_words(stretch) for word in words[:_LIKELIEST]]
        else:
            found += _WORD.findall(stretch)
    return " ".join(dict.fromkeys(found))


def understood(text: str) -> bool:
    """Whether most of a text is in letters that the model knows: it was made of English."""
    known = sum(char < _LATIN for char in text if char.isalpha())
    other = sum(_DENSE if is_dense(char) else 1 for char in text if char >= _LATIN and char.isalpha())
    return known >= other
