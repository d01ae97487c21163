"""Why a document answers a query: the pieces of its texts that match."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mcp_studio.search.fields import Fields, fields
from mcp_studio.search.method import Document, Query, Reason
from mcp_studio.search.names import Matcher, addresses, fold, spot
from mcp_studio.search.tokens import matching

MOST = 3
"""The most fields that are named."""
_MOST_PIECES = 8
LONGEST_STRETCH = 120
"""Characters of a stretch, without the ellipses at its ends."""
_WEIGHTS = {"name": 4.0, "title": 3.0, "description": 1.0, "uri": 0.95, "server": 0.95, "tag": 0.95, "parameter": 0.9}
STRETCHED = ("description", "uri", "parameter")
"""Fields of which only the text around a match is shown."""
_SPACE = re.compile(r"\s+")


def stretch(text: str, start: int, end: int) -> str:
    """The text around a piece, on one line, cut between words if possible."""
    end = min(end, start + LONGEST_STRETCH)
    left = max(0, start - (LONGEST_STRETCH - (end - start)) // 3)
    right = min(len(text), left + LONGEST_STRETCH)
    left = max(0, min(left, right - LONGEST_STRETCH))
    if left and (space := _SPACE.search(text, left, start)):
        left = space.end()
    if right < len(text) and (at := max(text.rfind(" ", end, right), text.rfind("\n", end, right))) > end:
        right = at
    middle = _SPACE.sub(" ", text[left:right]).strip()
    return f"{'…' if left else ''}{middle}{'…' if right < len(text) else ''}"


def field_texts(texts: Fields) -> Iterator[tuple[str, str]]:
    """Every text of a document with its field, most important first."""
    yield "name", texts.name
    yield "title", texts.title
    yield "server", texts.server
    yield "uri", texts.uri
    for tag in texts.tags:
        yield "tag", tag
    for parameter in texts.parameters:
        yield "parameter", parameter.name
    yield "description", texts.description
    for parameter in texts.parameters:
        yield "parameter", parameter.description
        yield "parameter", ", ".join(parameter.values)


class _Piece(NamedTuple):
    start: int
    end: int
    source: str
    """The text of the piece in the query."""


def reasons(document: Document, sources: Mapping[str, str]) -> tuple[Reason, ...]:
    """The pieces of a document that contain words of a query, the most telling fields first.

    Args:
        sources: the words that make the document a hit, each with its text in the query.
    """
    best: dict[str, tuple[float, str, list[_Piece]]] = {}
    for field, text in field_texts(fields(document)):
        pieces = [_Piece(one.start, one.end, sources[one.word]) for one in matching(text, sources, _MOST_PIECES)]
        worth = _WEIGHTS[field] * len({piece.source for piece in pieces})
        if worth > (best[field][0] if field in best else 0):
            best[field] = worth, text, pieces
    ordered = sorted(best.items(), key=lambda one: -one[1][0])[:MOST]
    return tuple(_reason(field, text, pieces) for field, (_, text, pieces) in ordered)


def _reason(field: str, text: str, pieces: list[_Piece]) -> Reason:
    shown = ""
    if field in STRETCHED:
        first = max(pieces, key=lambda piece: len(_within_stretch(piece, pieces)))
        pieces = _within_stretch(first, pieces)
        shown = stretch(text, first.start, first.end)
    found = tuple(dict.fromkeys(text[piece.start : piece.end][:LONGEST_STRETCH] for piece in pieces))
    if field == "title":
        shown = text
    return Reason(field, found, shown)


def _within_stretch(first: _Piece, pieces: list[_Piece]) -> list[_Piece]:
    return [piece for piece in pieces if first.start <= piece.start < first.start + LONGEST_STRETCH // 2]


def literal_reasons(document: Document, query: Query, reason: Reason) -> tuple[Reason, ...]:
    """The first piece of each field that contains a word's letters; the name comes first."""
    texts = fields(document)
    if reason.text:
        return (Reason("name", (texts.name,), reason.text),)
    found: dict[str, tuple[str, list[str]]] = {}
    for word in Matcher(query.text).words:
        for field, shown, pieces in _literal(texts, word):
            found.setdefault(field, (shown, []))[1].extend(pieces)
    return tuple(Reason(field, tuple(dict.fromkeys(pieces)), text) for field, (text, pieces) in found.items())[:MOST]


def _literal(texts: Fields, word: str) -> Iterator[tuple[str, str, Sequence[str]]]:
    if pieces := Matcher(word).pieces(texts.name):
        yield "name", "", pieces
        return
    for tool in [name for own, name in addresses(word) if fold(own) == fold(texts.server)][:1]:
        if pieces := Matcher(tool).pieces(texts.name):
            yield "name", "", pieces
        yield "server", texts.server, (texts.server,)
        return
    for field, text in field_texts(texts):
        if place := spot(text, fold(word)):
            yield field, stretch(text, *place) if field in STRETCHED else text, (text[slice(*place)],)
            return
