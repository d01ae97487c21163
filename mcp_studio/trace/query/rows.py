"""A query over the columns of a trace: many rows in one step, without a loop in Python where that can be."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from mcp_studio.trace.columns import COMMENTED, SEVERITY, Columns
from mcp_studio.trace.message import DIRECTIONS, KINDS, OUTCOMES
from mcp_studio.trace.query.needle import Needle, Regex
from mcp_studio.trace.query.nodes import (
    All,
    Any,
    Comment,
    Compare,
    Flag,
    Id,
    Kind,
    Name,
    Node,
    Not,
    Outcome,
    Severe,
    Text,
    TextTest,
    terms,
)  # fmt: skip
from mcp_studio.trace.recording import Recording

Tables = dict[tuple[int, str], bytes]
Bounds = tuple[int, int]
"""Rows as the bytes of a number, the lowest row first: those that are meant for sure, and those that may be."""
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
_REVERSED = {">": "__lt__", ">=": "__le__", "<": "__gt__", "<=": "__ge__"}
"""How the limit stands to what is meant."""
_WITH_ID = frozenset({"request", "result", "error"})
"""Kinds that have an id."""
_HEAD = ("server", "method", "target")


class Bodies(Protocol):
    """What knows the bodies of the rows that are asked about."""

    def mask(self, term: Text | Id, among: int) -> int:
        """Of the rows in `among`, those in whose body it is."""
        ...


class Taken(NamedTuple):
    """The columns as they were at one moment, for another thread."""

    columns: Columns
    rows: int
    """The rows that are asked about, of those that there are by now."""
    comments: dict[int, str]

    @property
    def newest(self) -> int:
        """The number of the last row."""
        return self.columns.first + self.rows - 1


def take(recording: Recording, root: Node) -> Taken:
    """What a query reads; on the event loop where the recording grows."""
    columns = recording.columns.snapshot()
    comments: dict[int, str] = {}
    if any(isinstance(term, Comment) for term in terms(root)):
        comments = comments_of(recording, columns.first, columns.flags.tobytes())
    return Taken(columns, len(columns), comments)


def comments_of(recording: Recording, first: int, flags: bytes) -> dict[int, str]:
    """All comments, by the numbers of their entries."""
    marked = flags.translate(bytes(1 if value & COMMENTED else 0 for value in range(256)))
    found: dict[int, str] = {}
    at = marked.find(1)
    while at >= 0:
        found[first + at] = recording.comment_on(first + at)
        at = marked.find(1, at + 1)
    return found


def places(mask: int, count: int) -> Iterator[int]:
    """The rows of a mask, in order."""
    data = mask.to_bytes(count, "little")
    at = data.find(1)
    while at >= 0:
        yield at
        at = data.find(1, at + 1)


class Rows:
    """Answers a query for some neighbouring rows of what was taken.

    Args:
        taken: the columns.
        tables: filled with what the query says about each name; shared by all `Rows` of one search.
        low: the first row.
        high: behind the last row.
    """

    def __init__(self, taken: Taken, tables: Tables, low: int, high: int) -> None:
        self._taken = taken
        self._tables = tables
        self.low = low
        self.high = high
        self.all = int.from_bytes(b"\1" * (high - low), "little")
        self._known: dict[int, int] = {}

    def ask(self, node: Node, among: int, bodies: Bodies | None = None) -> Bounds:
        """Which rows of `among` are meant; without bodies, what needs them is left open."""
        match node:
            case All(parts):
                sure = may = among
                for part in parts:
                    if not may:
                        break
                    more = self.ask(part, may, bodies)
                    sure, may = sure & more[0], may & more[1]
                return sure, may
            case Any(parts):
                sure = may = 0
                for part in parts:
                    more = self.ask(part, among & ~sure, bodies)
                    sure, may = sure | more[0], may | more[1] | sure
                return sure, may
            case Not(part):
                sure, may = self.ask(part, among, bodies)
                return among & ~may, among & ~sure
            case Id():
                among &= self._of_kind(_WITH_ID, frozenset())
                return self._open(node, among, 0, bodies)
            case Text():
                return self._open(node, among, self._known_of(node) & among if node.anywhere else 0, bodies)
            case _:
                found = self._known_of(node) & among
                return found, found

    def _open(self, node: Text | Id, among: int, sure: int, bodies: Bodies | None) -> Bounds:
        if bodies is None:
            return sure, among
        sure |= bodies.mask(node, among & ~sure)
        return sure, sure

    def _known_of(self, node: Node) -> int:
        key = id(node)
        if key not in self._known:
            self._known[key] = self._mask(node)
        return self._known[key]

    def _mask(self, node: Node) -> int:
        match node:
            case Name(column, test):
                return self._named(id(node), column, test.which)
            case Kind(kinds, directions):
                return self._of_kind(kinds, directions)
            case Outcome(outcomes):
                return self._by_byte("outcome", [value > 0 and OUTCOMES[value - 1] in outcomes for value in range(7)])
            case Flag(bits):
                return self._by_byte("flags", [bool(value & bits) for value in range(256)])
            case Severe(least):
                return self._by_byte("flags", [value >> SEVERITY & 3 >= least for value in range(256)])
            case Comment(test):
                return self._commented(test)
            case Compare(column, sign, limit):
                return self._durations(sign, limit) if column == "ms" else self._compared(column, sign, limit)
            case Text(sought, _):
                return self._head(sought, id(node))
            case _:
                return 0

    def _head(self, sought: Needle | Regex, key: int) -> int:
        """Where a text is in server, method, target or kind."""
        found = 0
        for column in _HEAD:
            found |= self._named(key, column, sought.which)
        kinds = frozenset(kind for kind, yes in zip(KINDS, sought.which(KINDS), strict=True) if yes)
        return found | (self._of_kind(kinds, frozenset()) if kinds else 0)

    def _named(self, key: int, column: str, which: Callable[[list[str]], bytes]) -> int:
        texts = getattr(self._taken.columns, f"{column}s").texts
        table = self._tables.get((key, column), b"")
        if len(table) < len(texts):  # another thread may give further names meanwhile, at the end
            table = self._tables[key, column] = table + which(texts[len(table) :])
        return _mask(map(table.__getitem__, self._slice(column))) if 1 in table else 0

    def _slice(self, column: str) -> array[int]:
        return getattr(self._taken.columns, column)[self.low : self.high]

    def _by_byte(self, column: str, meant: list[bool]) -> int:
        table = bytes(meant).ljust(256, b"\0")
        return int.from_bytes(self._slice(column).tobytes().translate(table), "little")

    def _of_kind(self, kinds: frozenset[str], directions: frozenset[str]) -> int:
        places = {KINDS.index(kind) for kind in kinds}  # type: ignore[arg-type]
        ways = {DIRECTIONS.index(way) for way in directions or DIRECTIONS}  # type: ignore[arg-type]
        return self._by_byte("kind", [value & 15 in places and value >> 4 in ways for value in range(256)])

    def _compared(self, column: str, sign: str, limit: float) -> int:
        return _mask(map(getattr(limit, _REVERSED[sign]), self._slice(column)))

    def _durations(self, sign: str, limit: float) -> int:
        columns, meant, first = self._taken.columns, _SIGNS[sign], self._taken.columns.first
        times, count, found = columns.time, len(columns.time), bytearray(self.high - self.low)
        for at, (link, began) in enumerate(zip(self._slice("link"), self._slice("time"), strict=True)):
            if link and 0 <= link - first < count:
                found[at] = meant(abs(times[link - first] - began) * 1000, limit)
        return int.from_bytes(found, "little")

    def _commented(self, test: TextTest) -> int:
        low = self._taken.columns.first + self.low
        found = bytearray(self.high - self.low)
        for number, text in self._taken.comments.items():
            if 0 <= number - low < len(found) and text:
                found[number - low] = test.which((text,)) == b"\1"
        return int.from_bytes(found, "little")


def _mask(meant: Iterator[int]) -> int:
    return int.from_bytes(bytes(meant), "little")
