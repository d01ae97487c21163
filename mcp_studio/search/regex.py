"""Search by regular expression: ranked by the place of the match, with a deadline that no pattern can exceed."""

from __future__ import annotations

import re
import time
from typing import NamedTuple

from mcp_studio.catalog.listing import Ref
from mcp_studio.schema.patterns import Pattern, PatternError, TooSlow
from mcp_studio.search.fields import fields
from mcp_studio.search.method import Answer, Document, Query, Reason, Rows, Scored, SearchProblem, order
from mcp_studio.search.why import LONGEST_STRETCH, STRETCHED, field_texts, stretch

LONGEST = 200
"""Characters of a pattern."""
_LONGEST_NAME = 500
_LONGEST_TEXT = 1_000
"""Characters that are searched of all texts of an entry except its name."""
WITHIN = 1.0
"""Seconds of CPU for one search."""
_OWN_LETTERS = re.compile(r"\\(?:x..|u.{4}|U.{8}|N\{[^}]*\}|.)|\(\?P[<=][^>)]*", re.S)
"""Letters of a pattern that match no letters: escapes, and the names of groups."""
_WHOLE, _BEGINS, _INSIDE, _TITLE, _ELSEWHERE = 5.0, 4.0, 3.0, 2.0, 1.0
_SPACE = re.compile(r"\s+")


class _Row(NamedTuple):
    ref: Ref
    texts: tuple[tuple[str, str], ...]
    """The texts with their fields, the name first."""
    whole: str
    """All texts, one per line: if the pattern is not in here, it is in none of them."""


class Regexes(Rows[_Row]):
    """The method `regex`; see `Method`.

    A pattern without upper-case letters ignores case. `^` and `$` match the beginning and end of each field.
    """

    def search(self, query: Query) -> Answer:
        """All entries that the pattern matches, best first.

        Raises:
            SearchProblem: the text is not a pattern, too long, or takes too long.
        """
        pattern, until = compiled(query.text), time.thread_time() + WITHIN
        try:
            rows = (row for row in self._rows.values() if query.scope.has(row.ref) and pattern.find(row.whole, until))
            found = [hit for row in rows if (hit := _hit(pattern, row, until))]
        except TooSlow as slow:
            raise SearchProblem(slow.message, hint=slow.hint) from None
        found.sort(key=order)
        return Answer(found[: query.limit], len(found))

    def _row(self, document: Document) -> _Row:
        texts = fields(document)
        left, found = _LONGEST_TEXT, [("name", texts.name[:_LONGEST_NAME].replace("\n", " "))]
        for field, text in field_texts(texts):
            if field != "name" and (text or field == "title"):
                plain = _SPACE.sub(" ", text[: 2 * _LONGEST_TEXT]).strip()
                found.append((field, plain[:left]))
                left -= len(found[-1][1])
        return _Row(document.ref, tuple(found), "\n".join(text for _, text in found))


def compiled(text: str) -> Pattern:
    """Compile a typed pattern; case counts if it has an upper-case letter.

    Raises:
        SearchProblem: the text is not a pattern, or too long; with the position.
    """
    if len(text) > LONGEST:
        raise SearchProblem(f"A pattern has at most {LONGEST} characters; this one has {len(text):,}.", at=LONGEST)
    cased = any(char.isupper() for char in _OWN_LETTERS.sub("", text))
    try:
        return Pattern(text, "m" if cased else "im")
    except PatternError as error:
        raise SearchProblem(error.message, at=error.at) from None


def _hit(pattern: Pattern, row: _Row, until: float) -> Scored | None:
    for field, text in row.texts:
        if span := pattern.find(text, until):
            start, end = span
            piece = (text[start : min(end, start + LONGEST_STRETCH)],) if end > start else ()
            if field == "name":
                score = _WHOLE if span == (0, len(text)) else _INSIDE if start else _BEGINS
                return Scored(row.ref, score, (Reason(field, piece),))
            shown = stretch(text, *span) if field in STRETCHED else text
            return Scored(row.ref, _TITLE if field == "title" else _ELSEWHERE, (Reason(field, piece, shown),))
    return None
