"""All entries of a recording that a query asks for."""

from __future__ import annotations

import json
import operator
import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from typing import NamedTuple, Protocol

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.trace.message import (
    COMMENTED,
    DIRECTIONS,
    KINDS,
    OUTCOMES,
    SEVERITY,
    Block,
    Columns,
    Reader,
    Recording,
    WireMessage,
)
from mcp_studio.trace.query.needle import Needle, Regex, hits
from mcp_studio.trace.query.parser import (  # fmt: skip
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
    Query,
    Severe,
    Text,
    TextTest,
    terms,
)
from mcp_studio.trace.recorder import LiveReader

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


_FIRST_STEP = 2_048
_STEP = 16_384
"""Rows that are asked about in one step; the first is small, so that something is soon to be seen."""
_NEAR = 3
"""How many blocks are read past rather than looked for anew."""
_FEW = 8
"""Where fewer than one in so many bodies are asked about, each is looked at for itself."""
_PARSED = 1 << 16
"""Larger bodies are not parsed for their id; it is looked for at their beginning and end."""
_EDGE = 4_096


class Slice(NamedTuple):
    """What one step has found."""

    numbers: array[int]
    """Of the entries that are meant, ascending."""
    down_to: int
    """The number of the lowest entry that was looked at."""


def select(recording: Recording, query: Query) -> array[int]:
    """The numbers of all entries that a query asks for, ascending. Blocks; in a thread, `take` and `scan` instead.

    Raises:
        TooSlow: a regex takes too long.
    """
    taken = take(recording, query.root)
    reader = recording.reader() if query.cost > 1 else None
    try:
        parts = [part.numbers for part in scan(taken, query, reader)]
    finally:
        if reader is not None:
            reader.close()
    found = array("Q")
    for part in reversed(parts):
        found.extend(part)
    return found


def scan(taken: Taken, query: Query, reader: Reader | None, above: int = 0) -> Iterator[Slice]:
    """The same in steps, the newest first, in any thread.

    Args:
        taken: what `rows.take` gave for the query.
        query: what is asked for.
        reader: has the bodies; None for a query whose cost is at most 1.
        above: only entries with higher numbers.

    Raises:
        TooSlow: a regex takes too long.
    """
    tables, source = Tables(), _Source(reader) if reader is not None else None
    bottom = max(0, above + 1 - taken.columns.first)
    high, step = taken.rows, _FIRST_STEP
    while high > bottom:
        low = max(bottom, high - step)
        step = min(_STEP, step * 2)
        yield from _step(taken, query, tables, source, low, high)
        high = low


def scan_some(taken: Taken, query: Query, reader: Reader | None, numbers: Iterable[int]) -> Iterator[Slice]:
    """The same for some entries; what is not kept is left out."""
    tables, source = Tables(), _Source(reader) if reader is not None else None
    wanted = sorted({row for number in numbers if 0 <= (row := number - taken.columns.first) < taken.rows})
    while wanted:
        high = wanted[-1] + 1
        some = wanted[bisect_left(wanted, high - _FIRST_STEP) :]
        del wanted[-len(some) :]
        yield from _step(taken, query, tables, source, some[0], high, sum(1 << 8 * (row - some[0]) for row in some))


def meant(recording: Recording, query: Query, entries: Sequence[WireMessage]) -> set[int]:
    """The numbers of those that a query asks for, of a few entries next to each other; for the event loop."""
    first = entries[0].number
    bodies: list[bytes | None] = [b""] * (entries[-1].number - first + 1)
    if query.cost > 1:
        for entry in entries:
            bodies[entry.number - first] = entry.body
    numbers = [entry.number for entry in entries]
    comments = {number: recording.comment_on(number) for number in numbers}
    taken = Taken(recording.columns, len(recording.columns), comments)
    return {number for part in scan_some(taken, query, LiveReader(first, bodies), numbers) for number in part.numbers}


def _step(
    taken: Taken, query: Query, tables: Tables, source: _Source | None, low: int, high: int, among: int | None = None
) -> Iterator[Slice]:
    rows = Rows(taken, tables, low, high)
    first = taken.columns.first
    sure, may = rows.ask(query.root, rows.all if among is None else among)
    if sure == may or source is None:
        yield Slice(_numbers(sure, low + first, high - low), low + first)
    else:
        yield from _open(taken, query, tables, source, low, high, may)


def _open(
    taken: Taken, query: Query, tables: Tables, source: _Source, low: int, high: int, may: int
) -> Iterator[Slice]:
    """A step for which bodies are needed; `may`: the rows that can be meant."""
    first = taken.columns.first
    candidates = may.to_bytes(high - low, "little")
    while (place := candidates.rfind(1, 0, high - low)) >= 0:
        block = source.block(low + place + first)
        begin = max(low, block.first - first)
        end = min(high, block.first - first + len(block.ends))
        rows = Rows(taken, tables, begin, end)
        bodies = BlockBodies(block, source.reader, begin + first - block.first, end + first - block.first)
        among = int.from_bytes(candidates[begin - low : end - low], "little")
        sure, _ = rows.ask(query.root, among, bodies)
        yield Slice(_numbers(sure, begin + first, end - begin), begin + first)
        high = begin
    yield Slice(array("Q"), low + first)


def _numbers(mask: int, first: int, count: int) -> array[int]:
    if not mask:
        return array("Q")
    return array("Q", compress(range(first, first + count), mask.to_bytes(count, "little")))


class _Source:
    """The blocks of a reader, for numbers that only go down."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._blocks: Iterator[Block] | None = None
        self._block: Block | None = None

    def block(self, number: int) -> Block:
        """The block with the body of this entry; an empty one where that is not kept."""
        block = self._block
        for _ in range(_NEAR):
            if block is not None and block.first <= number < block.first + len(block.ends):
                return block
            if self._blocks is None or (block is not None and block.first + len(block.ends) <= number):
                break
            block = self._block = next(self._blocks, None)
        if block is None or block.first > number:
            self._blocks = self.reader.blocks(number + 1)
            block = self._block = next(self._blocks, None)
        if block is not None and block.first <= number < block.first + len(block.ends):
            return block
        return Block(number, array("I", [0]), b"")


class BlockBodies:
    """The bodies of the rows of a block, as far as they are asked about; implements `rows.Bodies`.

    Args:
        block: has the bodies.
        reader: has those that stand elsewhere.
        low: the place in the block of the first row that is asked about.
        high: behind the last.
    """

    def __init__(self, block: Block, reader: Reader, low: int, high: int) -> None:
        self._reader = reader
        self._first = block.first + low
        begin = block.ends[low - 1] if low else 0
        # Cut to what is asked about, so that places in it are rows.
        self._ends = array("I", [end - begin for end in block.ends[low:high]]) if begin else block.ends[low:high]
        self._data = block.data[begin : block.ends[high - 1]] if high else b""
        self._large = [number - self._first for number in block.large if low <= number - block.first < high]
        self._lowered: bytes | None = None

    def mask(self, term: Text | Id, among: int) -> int:
        """See `rows.Bodies`."""
        count = len(self._ends)
        found = bytearray(count)
        asked = among.to_bytes(count, "little")
        for place in self._large:
            if asked[place]:
                found[place] = _meant(term, self._reader.body(self._first + place))
        large = sum(1 << 8 * place for place in self._large)
        among &= ~large
        if among:
            for place in self._with_id(term.id) if isinstance(term, Id) else self._with(term.sought, among):
                found[place] = asked[place]
        return int.from_bytes(found, "little") & (among | large)

    def _with(self, sought: Needle | Regex, among: int) -> Iterable[int]:
        """The places of the small bodies that it is found in, of those in `among` and maybe others."""
        count = len(self._ends)
        if among.bit_count() * _FEW >= count:
            rows = sought.rows(self._lower() if isinstance(sought, Needle) else self._data, self._ends)
            if rows is not None:
                return rows
        wanted = list(places(among, count))
        return compress(wanted, sought.which_bodies(map(self._body, wanted)))

    def _with_id(self, id: str) -> Iterator[int]:
        pattern = _id_pattern(id)

        def find(start: int, end: int) -> int:
            match = pattern.search(self._data, start, end)
            return match.start() if match else -1

        return (place for place in hits(find, self._ends) if _has_id(self._body(place), id, pattern))

    def _lower(self) -> bytes:
        if self._lowered is None:
            self._lowered = self._data.lower()
        return self._lowered

    def _body(self, place: int) -> bytes:
        return self._data[self._ends[place - 1] if place else 0 : self._ends[place]]


def _meant(term: Text | Id, body: bytes) -> bool:
    if isinstance(term, Id):
        return _has_id(body, term.id, _id_pattern(term.id))
    return term.sought.which_bodies((body,)) == b"\1"


def _id_pattern(id: str) -> re.Pattern[bytes]:
    """Finds frames that may have this id."""
    plain = re.escape(id.encode("utf-8", "replace"))
    text = re.escape(json.dumps(id).encode())
    own = re.escape(b'"' + id.encode("utf-8", "replace") + b'"')
    return re.compile(rb'"id"\s*:\s*(?:' + plain + rb"(?![\d.eE])|" + text + b"|" + own + b")")


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
