"""A document as reasons are looked for in it: its texts, and which words stand where.

Somebody who types meets the same documents with each letter; those of the last questions are kept as they were read.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mcp_studio.catalog.ref import Ref
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
BEGINNING = 400
"""Characters of what a document, and a question, begins with that count by themselves."""


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


class Readings:
    """Documents as they were read, those that were asked for last. Any thread may use it."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._kept: dict[Ref, tuple[Document, Reading]] = {}

    def of(self, document: Document) -> Reading:
        """A document as it was read before, or is read now."""
        with self._turn:
            known = self._kept.pop(document.ref, None)
        if known is None or known[0].raw is not document.raw or known[0].tags != document.tags:
            known = document, read(document)
        with self._turn:
            self._kept[document.ref] = known
            if len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]
        return known[1]

    def forget(self, refs: Iterable[Ref]) -> None:
        """Let go of what is there no more."""
        with self._turn:
            for ref in refs:
                self._kept.pop(ref, None)


def own_words(chunk: str) -> tuple[str, ...]:
    """The words of a chunk, whatever script it is in."""
    return tuple(cjk.grams(chunk)) if cjk.is_dense(chunk[0]) else chunk_words(chunk)


def read(document: Document, whole: bool = False) -> Reading:
    """Read a document.

    Args:
        whole: everything that is searched, to the last value of a parameter; slow where there is much.
    """
    given = fields(document)
    texts = tuple((field, text) for field, text in _texts(given, whole) if text)
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
    return Reading(texts, chunks, known, f"{given.name} {given.title} {given.server} {given.head}"[:BEGINNING])


def _texts(given: Fields, whole: bool) -> Iterator[tuple[str, str]]:
    yield "name", given.name
    yield "title", given.title
    yield "server", given.server
    yield "uri", given.uri
    for tag in given.tags:
        yield "tag", tag
    yield "description", given.description
    parameters = given.parameters if whole else given.parameters[:_MOST_PARAMETERS]
    for parameter in parameters:
        yield "parameter", parameter.name
    for parameter in parameters:
        yield "parameter", parameter.description
    for parameter in parameters if whole else ():
        yield "parameter", ", ".join(parameter.values)
