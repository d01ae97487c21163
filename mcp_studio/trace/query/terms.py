"""The terms of a query: tests of a recording's rows, by its columns and by the bodies of its entries."""

import json
import math
import re
from array import array
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Literal, NamedTuple

from mcp_studio.schema.patterns import Pattern
from mcp_studio.trace.message import DIRECTIONS, KINDS, Block, Columns, Reader

Test = Callable[[int], bool]
"""Whether the entry in a row matches."""
TextTest = Callable[[str], bool]
NameColumn = Literal["server", "method", "target"]


class Snapshot(NamedTuple):
    """The columns of one moment, for another thread."""

    columns: Columns
    rows: int
    """The number of rows to search; the columns may have grown since."""
    comment_on: Callable[[int], str]
    """Returns the comment on the entry with a number, in any thread."""


class Rows:
    """The rows of a snapshot, with the block of bodies for some of them."""

    def __init__(self, snapshot: Snapshot, reader: Reader) -> None:
        self.columns, self.comment_on = snapshot.columns, snapshot.comment_on
        self.block = Block(0, [])
        self._reader = reader

    def body(self, row: int) -> bytes:
        """The body of a row; empty where the block has none."""
        block, number = self.block, self.columns.first + row
        place = number - block.first
        if not 0 <= place < len(block.bodies):
            return b""
        return block.bodies[place] or self._reader.body(number)

    def named(self, column: NameColumn, test: TextTest) -> frozenset[int]:
        """The numbers of the names that pass a test; each name is tested once."""
        texts: list[str] = getattr(self.columns, f"{column}s").texts
        # Names that are added meanwhile do not matter: their entries are searched again.
        return frozenset(number for number, text in enumerate(tuple(texts)) if test(text))


class Term(NamedTuple):
    """A test of entries, and whether it reads bodies."""

    make: Callable[[Rows], Test]
    bodies: bool = False


class Query(NamedTuple):
    """A parsed query; without a term it matches every entry."""

    text: str
    term: Term | None

    def __bool__(self) -> bool:
        return self.term is not None

    @property
    def reads_bodies(self) -> bool:
        """Whether the query needs bodies besides the columns."""
        return self.term is not None and self.term.bodies


def every(terms: Iterable[Term]) -> Term:
    """All terms match; bodies are read only where the columns do not decide."""
    return reduce(lambda one, other: _combine(one, other, True), sorted(terms, key=lambda term: term.bodies))


def either(terms: Iterable[Term]) -> Term:
    """At least one term matches."""
    return reduce(lambda one, other: _combine(one, other, False), sorted(terms, key=lambda term: term.bodies))


def _combine(one: Term, other: Term, both: bool) -> Term:
    def make(rows: Rows) -> Test:
        first, second = one.make(rows), other.make(rows)
        if both:
            return lambda row: first(row) and second(row)
        return lambda row: first(row) or second(row)

    return Term(make, one.bodies or other.bodies)


def opposite(term: Term) -> Term:
    """The term does not match."""

    def make(rows: Rows) -> Test:
        test = term.make(rows)
        return lambda row: not test(row)

    return term._replace(make=make)


def name_is(column: NameColumn, test: TextTest) -> Term:
    """The server, method or target passes a test."""
    return _one_of(column, lambda rows: rows.named(column, test))


def byte_is(column: Literal["kind", "outcome", "flags"], test: Callable[[int], bool]) -> Term:
    """A column of single bytes has one of the values that pass a test."""
    values = frozenset(filter(test, range(256)))
    return _one_of(column, lambda rows: values)


def _one_of(column: str, values: Callable[[Rows], frozenset[int]]) -> Term:
    def make(rows: Rows) -> Test:
        numbers: array[int] = getattr(rows.columns, column)
        accepted = values(rows)
        return lambda row: numbers[row] in accepted

    return Term(make)


def kind_is(kinds: Iterable[str], directions: Iterable[str] = DIRECTIONS) -> Term:
    """The entry has one of these kinds and one of these directions."""
    codes = {DIRECTIONS.index(way) << 4 | KINDS.index(kind) for way in directions for kind in kinds}  # type: ignore[arg-type]
    return byte_is("kind", codes.__contains__)


class Sought(NamedTuple):
    """A text or regex to search in names and bodies."""

    in_text: TextTest
    in_body: Callable[[bytes], bool]

    def term(self) -> Term:
        """The body contains it."""
        return Term(lambda rows: lambda row: self.in_body(rows.body(row)), bodies=True)

    def anywhere(self) -> Term:
        """The server, method, target, kind or body contains it."""

        def make(rows: Rows) -> Test:
            columns = rows.columns
            servers, methods = rows.named("server", self.in_text), rows.named("method", self.in_text)
            targets = rows.named("target", self.in_text)
            kinds = {place for place, kind in enumerate(KINDS) if self.in_text(kind)}
            return lambda row: (
                columns.server[row] in servers
                or columns.method[row] in methods
                or columns.target[row] in targets
                or columns.kind[row] & 15 in kinds
                or self.in_body(rows.body(row))
            )

        return Term(make, bodies=True)


def needle(text: str) -> Sought:
    """A text regardless of case; in JSON also escaped: `é` as `\\u00e9`, `"` as `\\"`."""
    folded = text.casefold()
    forms = (b"|".join(map(re.escape, _forms(char))) for char in text)
    pattern = re.compile(b"".join(b"(?:" + form + b")" for form in forms))
    return Sought(lambda text: folded in text.casefold(), lambda body: pattern.search(body.lower()) is not None)


def _forms(char: str) -> list[bytes]:
    """The forms of a character in a lower-cased body: each of its cases, in UTF-8 and escaped for JSON."""
    cases = (char.lower(), char.upper(), char.casefold(), char)
    plain = [case.encode("utf-8", "replace").lower() for case in cases]
    escaped = [json.dumps(case)[1:-1].lower().encode("ascii") for case in cases]
    return list(dict.fromkeys(plain + escaped))


def regex(text: str, flags: str = "") -> Sought:
    """A regular expression; its tests raise `TooSlow` where a search does not end in time.

    Raises:
        PatternError: the text is not a regular expression.
    """
    pattern = Pattern(text, flags)

    def in_text(text: str) -> bool:
        return pattern.find(text, math.inf) is not None

    return Sought(in_text, lambda body: in_text(body.decode("utf-8", "replace")))
