"""All entries of a recording that a query asks for."""

from __future__ import annotations

import json
import operator
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.trace.message import COMMENTED, KINDS, Block, Columns, Reader, Recording
from mcp_studio.trace.query.needle import Needle, TextTest
from mcp_studio.trace.query.parser import All, Any, Byte, Comment, Compare, Id, Name, Node, Not, Query, Text, terms

Test = Callable[[int], bool]
"""Whether the entry in a row is meant."""
Find = Callable[[bytes, int, int], int]
"""Where something is in some bytes between two places; -1 where it is not."""
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
_FIRST_STEP = 2_048
_STEP = 16_384
"""Rows that are asked about in one step; the first is small, so that something is soon to be seen."""
_PARSED = 1 << 16
"""Larger bodies are not parsed for their id; it is looked for at their beginning and end."""
_EDGE = 4_096


class Snapshot(NamedTuple):
    """The columns as they were at one moment, for another thread."""

    columns: Columns
    rows: int
    """The rows that are asked about, of those that there are by now."""
    comments: dict[int, str]

    @property
    def newest(self) -> int:
        """The number of the last row."""
        return self.columns.first + self.rows - 1


class Slice(NamedTuple):
    """What one step has found."""

    numbers: array[int]
    """Of the entries that are meant, ascending."""
    down_to: int
    """The number of the lowest entry that was looked at."""


def take(recording: Recording, query: Query) -> Snapshot:
    """What a query reads; on the event loop where the recording grows."""
    columns = recording.columns.snapshot()
    comments: dict[int, str] = {}
    if any(isinstance(term, Comment) for term in terms(query.root)):
        numbers = (columns.first + row for row, flags in enumerate(columns.flags) if flags & COMMENTED)
        comments = {number: text for number in numbers if (text := recording.comment_on(number))}
    return Snapshot(columns, len(columns), comments)


def select(recording: Recording, query: Query, above: int = 0) -> array[int]:
    """The numbers of all entries that a query asks for, ascending. Blocks; in a thread, `take` and `scan` instead.

    Args:
        above: only entries with higher numbers.

    Raises:
        TooSlow: a regex takes too long.
    """
    reader = recording.reader()
    try:
        parts = [part.numbers for part in scan(take(recording, query), query, reader, above)]
    finally:
        reader.close()
    found = array("Q")
    for part in reversed(parts):
        found.extend(part)
    return found


def scan(snapshot: Snapshot, query: Query, reader: Reader, above: int = 0) -> Iterator[Slice]:
    """The same in steps, the newest first, in any thread.

    Args:
        snapshot: what `take` gave for the query.
        query: what is asked for.
        reader: has the bodies.
        above: only entries with higher numbers.

    Raises:
        TooSlow: a regex takes too long.
    """
    evaluator = _Evaluator(snapshot, query, reader)
    first, high, step = snapshot.columns.first, snapshot.rows, _FIRST_STEP
    bottom = max(0, above + 1 - first)
    for block in reader.blocks(first + high) if query.reads_bodies else ():
        low, end = max(bottom, block.first - first), min(high, block.first - first + len(block.ends))
        if end <= bottom:
            break
        if low >= end:
            continue
        if end < high:  # bodies that are missing
            yield evaluator.rows(range(end, high), Block(first + high, array("I"), b""))
        yield evaluator.rows(range(low, end), block)
        high = low
    while high > bottom:
        low = max(bottom, high - step)
        step = min(_STEP, step * 2)
        yield evaluator.rows(range(low, high), Block(first + high, array("I"), b""))
        high = low


def scan_some(snapshot: Snapshot, query: Query, reader: Reader, numbers: Iterable[int]) -> Iterator[Slice]:
    """The same for some entries; what is not kept is left out."""
    evaluator, first = _Evaluator(snapshot, query, reader), snapshot.columns.first
    for number in sorted(set(numbers), reverse=True):
        if first <= number <= snapshot.newest:
            body = reader.body(number) if query.reads_bodies else b""
            row = number - first
            yield evaluator.rows(range(row, row + 1), Block(number, array("I", [len(body)]), body))


class _Evaluator:
    """A query as one function of a row, and the block whose bodies it reads."""

    def __init__(self, snapshot: Snapshot, query: Query, reader: Reader) -> None:
        self._columns, self._comments, self._reader = snapshot.columns, snapshot.comments, reader
        self._block = Block(0, array("I"), b"")
        self._lowered = b""
        self._low = 0
        self._large: frozenset[int] = frozenset()
        self._test = self._compile(query.root)

    def rows(self, rows: range, block: Block) -> Slice:
        """Those of some rows that are meant, with the bodies of a block."""
        first, test = self._columns.first, self._test
        self._block, self._lowered, self._low = block, b"", block.first - first
        self._large = frozenset(number - first for number in block.large)
        return Slice(array("Q", [first + row for row in rows if test(row)]), first + rows.start)

    def _compile(self, node: Node) -> Test:
        columns = self._columns
        match node:
            case All(parts) | Any(parts):
                return self._combined([self._compile(part) for part in parts], isinstance(node, All))
            case Not(part):
                inner = self._compile(part)
                return lambda row: not inner(row)
            case Name(column, test):
                return self._named(column, test)
            case Byte(column, values):
                bytes_: array[int] = getattr(columns, column)
                return lambda row: bytes_[row] in values
            case Compare("ms", sign, limit):
                compare = _COMPARE[sign]
                return lambda row: (ms := columns.ms(row)) is not None and compare(ms, limit)
            case Compare(column, sign, limit):
                compare, numbers = _COMPARE[sign], getattr(columns, column)
                return lambda row: compare(numbers[row], limit)
            case Comment(test):
                meant = {number - columns.first for number, text in self._comments.items() if test.matches(text)}
                return meant.__contains__
            case Id(id):
                pattern = _id_pattern(id)
                confirm = partial(_has_id, id=id, pattern=pattern)
                return self._in_bodies(_finder(pattern), confirm, confirm)
            case Text(sought, anywhere):
                if isinstance(sought, Needle):
                    body = self._in_bodies(sought.find, sought.in_body)
                else:
                    find = _finder(re.compile(re.escape(sought.literal))) if sought.literal else None
                    body = self._in_bodies(find, sought.in_body, sought.in_body)
                return self._combined([*self._names(sought), body], False) if anywhere else body

    @staticmethod
    def _combined(parts: list[Test], every: bool) -> Test:
        if len(parts) == 1:
            return parts[0]
        if len(parts) == 2:
            one, other = parts
            return (lambda row: one(row) and other(row)) if every else (lambda row: one(row) or other(row))
        if every:
            return lambda row: all(part(row) for part in parts)
        return lambda row: any(part(row) for part in parts)

    def _named(self, column: str, test: TextTest) -> Test:
        """Each name is tested once."""
        values: array[int] = getattr(self._columns, column)
        texts: list[str] = getattr(self._columns, f"{column}s").texts
        # A name that an entry gets while another thread looks at it is no matter: the entry is looked at again.
        meant = frozenset(number for number, text in enumerate(tuple(texts)) if test.matches(text))
        return lambda row: values[row] in meant

    def _names(self, test: TextTest) -> list[Test]:
        """Whether a text is in server, method, target or kind; without those in which it cannot be."""
        columns = self._columns
        found: list[Test] = []
        for column in ("server", "method", "target"):
            if any(test.matches(text) for text in getattr(columns, f"{column}s").texts):
                found.append(self._named(column, test))
        places = frozenset(place for place, kind in enumerate(KINDS) if test.matches(kind))
        if places:
            kinds = columns.kind
            found.append(lambda row: kinds[row] & 15 in places)
        return found

    def _in_bodies(
        self, find: Find | None, in_body: Callable[[bytes], bool], confirm: Callable[[bytes], bool] | None = None
    ) -> Test:
        """Look through all bodies of a block at once.

        Args:
            find: finds what may be meant, in lower case.
            in_body: decides about one large body.
            confirm: decides about what `find` has found; None where that is meant.
        """
        block: Block | None = None
        rows: Container[int] = ()

        def test(row: int) -> bool:
            nonlocal block, rows
            if block is not self._block:
                block, rows = self._block, self._rows_with(find)
            if row in self._large:
                return in_body(self._body(row))
            return row in rows and (confirm is None or confirm(self._body(row)))

        return test

    def _rows_with(self, find: Find | None) -> Container[int]:
        """The rows of the block in whose bodies something is found."""
        ends = self._block.ends
        if find is None:
            return range(self._low, self._low + len(ends))
        if not self._lowered:
            self._lowered = self._block.data.lower()
        found: set[int] = set()
        at, place, size = 0, 0, ends[-1] if ends else 0
        while (at := find(self._lowered, at, size)) >= 0:
            place = bisect_right(ends, at, place)
            if place >= len(ends):
                break
            if find(self._lowered, at, ends[place]) >= 0:  # else it reaches into the next body
                found.add(self._low + place)
            at = ends[place]
            place += 1
        return found

    def _body(self, row: int) -> bytes:
        block, place = self._block, row - self._low
        if not 0 <= place < len(block.ends):
            return b""
        body = block.data[block.ends[place - 1] if place else 0 : block.ends[place]]
        return self._reader.body(block.first + place) if row in self._large else body


def _finder(pattern: re.Pattern[bytes]) -> Find:
    def find(lowered: bytes, start: int, end: int) -> int:
        found = pattern.search(lowered, start, end)
        return found.start() if found else -1

    return find


def _id_pattern(id: str) -> re.Pattern[bytes]:
    """Finds frames that may have this id."""
    plain = re.escape(id.encode("utf-8", "replace"))
    text = re.escape(json.dumps(id).encode())
    own = re.escape(b'"' + id.encode("utf-8", "replace") + b'"')
    return re.compile(rb'"id"\s*:\s*(?:' + plain + rb"(?![\d.eE])|" + text + b"|" + own + b")", re.I)


def _has_id(body: bytes, id: str, pattern: re.Pattern[bytes]) -> bool:
    """Whether a frame has this id itself, and not only something inside it."""
    if len(body) > _PARSED:
        return bool(pattern.search(body, 0, _EDGE) or pattern.search(body, len(body) - _EDGE))
    if not pattern.search(body):
        return False
    try:
        found: Json = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return any(_is_id(mapping(one).get("id"), id) for one in (items_of(found) or [found]))


def _is_id(found: Json, id: str) -> bool:
    return isinstance(found, (int, float, str)) and str(found) == id
