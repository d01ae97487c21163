"""Finding by a regex: ranked by where it matches, and held by nothing that a pattern can do."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Sequence
from operator import itemgetter
from typing import NamedTuple

from mcp_studio.catalog.listing import Ref
from mcp_studio.patterns import Pattern, PatternError, TooSlow
from mcp_studio.search.fields import Fields, fields
from mcp_studio.search.method import EVERYWHERE, Answer, Document, Query, Reason, Scope, Scored, SearchProblem
from mcp_studio.search.method import LONGEST as LONGEST_QUESTION
from mcp_studio.search.why import LONGEST_STRETCH, stretch

LONGEST = 200
"""Characters of a pattern."""
LONGEST_NAME = 500
LONGEST_TEXT = 1_000
"""Characters that are looked at of all texts of an entry besides its name."""
WITHIN = 1.0
"""Seconds of CPU that a search may take."""

_SIGNS = re.compile(r"\\(?:x..|u.{4}|U.{8}|N\{[^}]*\}|.)|\(\?P[<=][^>)]*", re.S)
"""What has letters of its own in a pattern: escapes, and groups with their names."""
_WHOLE, _BEGINS, _INSIDE, _TITLE, _ELSEWHERE = 5.0, 4.0, 3.0, 2.0, 1.0
_SPACE = re.compile(r"\s+")
_LINE = re.compile(r"^[^\n]*", re.M)
Span = tuple[int, int]


class _Row(NamedTuple):
    server: str
    name: str
    kind: str
    own: str
    """The name."""
    rest: str
    """All other texts, a line each; the title is the first, and may be empty."""
    cut: bool
    document: Document


class Regexes:
    """The method `regex`; see `Method`.

    A pattern without upper-case letters finds both cases. `^` and `$` are the beginning and end of each field.
    """

    def __init__(self) -> None:
        self._rows: dict[Ref, _Row] = {}
        self._sorted: list[_Row] | None = None

    def add(self, documents: Sequence[Document]) -> None:
        """Take up documents."""
        self._rows.update((document.ref, _row(document)) for document in documents)
        self._sorted = None

    def remove(self, refs: Collection[Ref]) -> None:
        """Forget documents."""
        for ref in refs:
            self._rows.pop(ref, None)
        self._sorted = None

    def search(self, query: Query) -> Answer:
        """All that the pattern is found in, the best first.

        Raises:
            SearchProblem: it is no regex, too long, or takes too long.
        """
        rows = self._pool(query.scope)
        if not query.text:
            return Answer([Scored(row.document.ref, 0.0) for row in rows[: query.limit]], len(rows))
        pattern = compiled(query.text)
        until = time.thread_time() + WITHIN
        found: list[tuple[float, _Row, Span]] = []
        try:
            for row in rows:
                if span := pattern.find(row.own, until):
                    found.append((_of_name(row, span), row, span))
                elif span := _in_a_line(pattern, row.rest, until):
                    found.append((_of_rest(row, span), row, span))
        except TooSlow as slow:
            raise SearchProblem(slow.message, hint=slow.hint) from None
        found.sort(key=_order)
        hits = [
            Scored(row.document.ref, score, _reasons(row, score, span)) for score, row, span in found[: query.limit]
        ]
        return Answer(hits, len(found), _note(rows))

    def _pool(self, scope: Scope) -> list[_Row]:
        if self._sorted is None:
            self._sorted = sorted(self._rows.values(), key=itemgetter(0, 1, 2))
        return self._sorted if scope == EVERYWHERE else [row for row in self._sorted if scope.has(row.document.ref)]


def compiled(text: str) -> Pattern:
    """The pattern that somebody typed: case counts as soon as it has an upper-case letter.

    Raises:
        SearchProblem: it is none, or too long; with the place.
    """
    if len(text) > LONGEST:
        more = " or more" if len(text) == LONGEST_QUESTION else ""  # the rest of it was cut off
        raise SearchProblem(
            f"A pattern has at most {LONGEST} characters; this one has {len(text):,}{more}.", at=LONGEST
        )
    cased = any(char.isupper() for char in _SIGNS.sub("", text))
    try:
        return Pattern(text, "m" if cased else "im")
    except PatternError as error:
        raise SearchProblem(error.message, at=error.at) from None


def _in_a_line(pattern: Pattern, text: str, until: float) -> Span | None:
    """Where it is found first; each line is a text of its own."""
    found = pattern.find(text, until)
    if found is None or "\n" not in text[slice(*found)]:
        return found
    for line in _LINE.finditer(text):
        if span := pattern.find(line[0], until):
            return line.start() + span[0], line.start() + span[1]
    return None


def _row(document: Document) -> _Row:
    ref, read = document.ref, fields(document)
    lines = [text for _, text in _lines(read)]
    rest = "\n".join(lines)
    cut = len(rest) > LONGEST_TEXT or len(read.name) > LONGEST_NAME
    return _Row(ref.server, ref.name, ref.kind, read.name[:LONGEST_NAME], rest[:LONGEST_TEXT], cut, document)


def _lines(read: Fields) -> list[tuple[str, str]]:
    """The fields besides the name, each on one line, the title first."""
    found = [("title", read.title), ("server", read.server)]
    found += [("uri", read.uri)] if read.uri else []
    found += [("tag", tag) for tag in read.tags]
    found += [("parameter", one.name) for one in read.parameters[:20]]
    found += [("description", read.description[: 2 * LONGEST_TEXT])]
    return [(field, _SPACE.sub(" ", text).strip()) for field, text in found]


def _of_name(row: _Row, span: Span) -> float:
    return _WHOLE if span == (0, len(row.own)) else _BEGINS if span[0] == 0 else _INSIDE


def _of_rest(row: _Row, span: Span) -> float:
    title = row.rest.find("\n")
    return _TITLE if span[0] < title else _ELSEWHERE


def _order(found: tuple[float, _Row, Span]) -> tuple[float, str, str, str]:
    score, row, _ = found
    return (-score, row.server, row.name, row.kind)


def _reasons(row: _Row, score: float, span: Span) -> tuple[Reason, ...]:
    start, end = span
    if score >= _INSIDE:
        return (Reason("name", _piece(row.own, start, end)),)
    begin = 0
    for field, text in _lines(fields(row.document)):
        if start <= begin + len(text):
            shown = stretch(text, start - begin, end - begin) if field in ("description", "uri") else text
            return (Reason(field, _piece(row.rest, start, end), shown),)
        begin += len(text) + 1
    return ()


def _piece(text: str, start: int, end: int) -> tuple[str, ...]:
    return (text[start : min(end, start + LONGEST_STRETCH)],) if end > start else ()


def _note(rows: list[_Row]) -> str:
    cut = sum(row.cut for row in rows)
    return f"Of {cut:,} long entries only the first {LONGEST_TEXT:,} characters were looked at." if cut else ""
