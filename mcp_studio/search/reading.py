"""A document as reasons are looked for in it: its texts, and which words stand where.

Somebody who types meets the same documents with each letter; those of the last questions are kept as they were read.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from mcp_studio.search import cjk
from mcp_studio.search.document import Document
from mcp_studio.search.fields import LONGEST_TEXT, Fields, fields
from mcp_studio.search.stems import stem
from mcp_studio.search.tokens import CHUNK, chunk_words, words

LOOKED_AT = 1_500
"""Characters of a text in which pieces are looked for."""
KEPT = 256
"""Documents that are kept as they were read: what is on the screen, and what was before it."""
_MOST_PARAMETERS = 25
_BEGINNING = 400


Place = tuple[int, int]
"""Where a chunk stands: in which text, and at which character. There are many: a plain tuple takes a fifth."""


class Word(NamedTuple):
    """A word of a document."""

    stem: str
    """Empty where it has none: it is a single letter, or of a script without spaces."""
    chunks: list[str]
    """The chunks that it stands in, or is made of."""


class Reading(NamedTuple):
    """A document that was read."""

    texts: tuple[tuple[str, str], ...]
    """Each text with its field, in the order in which they count."""
    chunks: dict[str, list[Place]]
    words: dict[str, Word]
    beginning: str
    """Its name, title and server, and the beginning of what it says of itself."""

    @property
    def vocabulary(self) -> frozenset[str]:
        """The words of that; hardly ever asked for."""
        return frozenset(words(self.beginning))


class _Same:
    """A document that is equal to itself as long as nothing of it was listed anew."""

    __slots__ = ("document",)

    def __init__(self, document: Document) -> None:
        self.document = document

    def __hash__(self) -> int:
        return hash(self.document.ref)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same):
            return NotImplemented
        one, two = self.document, other.document
        return one.raw is two.raw and one.ref == two.ref and one.tags == two.tags


def reading(document: Document, *, whole: bool = False) -> Reading:
    """A document as it was read, or is read now.

    Args:
        whole: everything that is searched, to the last value of a parameter; slow where there is much, and not kept.
    """
    return _read(document, True) if whole else _kept(_Same(document))


def own_words(chunk: str) -> tuple[str, ...]:
    """The words of a chunk, whatever script it is in."""
    return tuple(cjk.grams(chunk)) if _is_dense(chunk) else chunk_words(chunk)


def _is_dense(chunk: str) -> bool:
    return chunk[0] >= cjk.FIRST and cjk.is_dense(chunk[0])


@lru_cache(maxsize=KEPT)
def _kept(same: _Same) -> Reading:
    return _read(same.document, False)


def _read(document: Document, whole: bool) -> Reading:
    read = fields(document)
    texts = tuple((field, text) for field, text in _texts(read, whole) if text)
    end = LONGEST_TEXT if whole else LOOKED_AT
    chunks: dict[str, list[Place]] = {}
    for number, (_, text) in enumerate(texts):
        for match in CHUNK.finditer(text, 0, end):
            chunks.setdefault(match[0], []).append((number, match.start()))
    known: dict[str, Word] = {}
    for chunk in chunks:
        for word in own_words(chunk):
            if word not in known:
                known[word] = Word(stem(word) if len(word) > 1 else "", [])
            known[word].chunks.append(chunk)
    return Reading(texts, chunks, known, f"{read.name} {read.title} {read.server} {read.head}"[:_BEGINNING])


def _texts(read: Fields, whole: bool) -> Iterator[tuple[str, str]]:
    yield "name", read.name
    yield "title", read.title
    yield "server", read.server
    yield "uri", read.uri
    for tag in read.tags:
        yield "tag", tag
    yield "description", read.description
    parameters = read.parameters if whole else read.parameters[:_MOST_PARAMETERS]
    for parameter in parameters:
        yield "parameter", parameter.name
    for parameter in parameters:
        yield "parameter", parameter.description
    for parameter in parameters if whole else ():
        yield "parameter", ", ".join(parameter.values)
