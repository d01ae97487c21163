"""Finding by a regex: ranked by where it matches, and held up by nothing that a pattern can do."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Sequence
from typing import NamedTuple

from mcp_studio.catalog.listing import Ref
from mcp_studio.schema.patterns import Pattern, PatternError, TooSlow
from mcp_studio.search.fields import fields
from mcp_studio.search.method import Answer, Document, Query, Reason, Scored, SearchProblem, order
from mcp_studio.search.why import LONGEST_STRETCH, STRETCHED, field_texts, stretch

LONGEST = 200
"""Characters of a pattern."""
_LONGEST_NAME = 500
_LONGEST_TEXT = 1_000
"""Characters that are looked at of all texts of an entry besides its name."""
WITHIN = 1.0
"""Seconds of CPU that a search may take."""
_OWN_LETTERS = re.compile(r"\\(?:x..|u.{4}|U.{8}|N\{[^}]*\}|.)|\(\?P[<=][^>)]*", re.S)
"""What has letters of its own in a pattern: escapes, and groups with their names."""
_WHOLE, _BEGINS, _INSIDE, _TITLE, _ELSEWHERE = 5.0, 4.0, 3.0, 2.0, 1.0
_SPACE = re.compile(r"\s+")
Span = tuple[int, int]


class _Row(NamedTuple):
    ref: Ref
    name: str
    texts: tuple[tuple[str, str], ...]
    """All other texts with their fields."""
    whole: str
    """Those texts, a line each: where a pattern is not in it, it is in none of them."""


class Regexes:
    """The method `regex`; see `Method`.

    A pattern without upper-case letters finds both cases. `^` and `$` are the beginning and end of each field.
    """

    def __init__(self) -> None:
        self._rows: dict[Ref, _Row] = {}

    def add(self, documents: Sequence[Document]) -> None:
        """Take documents."""
        self._rows.update((document.ref, _row(document)) for document in documents)

    def remove(self, refs: Collection[Ref]) -> None:
        """Forget documents."""
        for ref in refs:
            self._rows.pop(ref, None)

    def search(self, query: Query) -> Answer:
        """All that the pattern is found in, the best first.

        Raises:
            SearchProblem: it is no regex, too long, or takes too long.
        """
        rows = [row for row in self._rows.values() if query.scope.has(row.ref)]
        pattern, until = compiled(query.text), time.thread_time() + WITHIN
        found: list[Scored] = []
        try:
            for row in rows:
                if span := pattern.find(row.name, until):
                    score = _WHOLE if span == (0, len(row.name)) else _INSIDE if span[0] else _BEGINS
                    found.append(Scored(row.ref, score, (Reason("name", _piece(row.name, span)),)))
                elif pattern.find(row.whole, until):
                    found += _elsewhere(pattern, row, until)
        except TooSlow as slow:
            raise SearchProblem(slow.message, hint=slow.hint) from None
        found.sort(key=order)
        return Answer(found[: query.limit], len(found))


def compiled(text: str) -> Pattern:
    """The pattern that somebody typed: case counts as soon as it has an upper-case letter.

    Raises:
        SearchProblem: it is none, or too long; with the place.
    """
    if len(text) > LONGEST:
        raise SearchProblem(f"A pattern has at most {LONGEST} characters; this one has {len(text):,}.", at=LONGEST)
    cased = any(char.isupper() for char in _OWN_LETTERS.sub("", text))
    try:
        return Pattern(text, "m" if cased else "im")
    except PatternError as error:
        raise SearchProblem(error.message, at=error.at) from None


def _elsewhere(pattern: Pattern, row: _Row, until: float) -> list[Scored]:
    """The row, where one of its texts besides the name has the pattern."""
    for field, text in row.texts:
        if span := pattern.find(text, until):
            shown = stretch(text, *span) if field in STRETCHED else text
            score = _TITLE if field == "title" else _ELSEWHERE
            return [Scored(row.ref, score, (Reason(field, _piece(text, span), shown),))]
    return []


def _row(document: Document) -> _Row:
    texts = fields(document)
    left, found = _LONGEST_TEXT, list[tuple[str, str]]()
    for field, text in field_texts(texts):
        if field != "name" and (text or field == "title"):
            plain = _SPACE.sub(" ", text[: 2 * _LONGEST_TEXT]).strip()
            found.append((field, plain[:left]))
            left -= len(found[-1][1])
    return _Row(document.ref, texts.name[:_LONGEST_NAME], tuple(found), "\n".join(text for _, text in found))


def _piece(text: str, span: Span) -> tuple[str, ...]:
    start, end = span
    return (text[start : min(end, start + LONGEST_STRETCH)],) if end > start else ()
