"""All entries of a recording that a query asks for."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import compress
from typing import NamedTuple

from mcp_studio.trace.query.bodies import BlockBodies
from mcp_studio.trace.query.parser import Query
from mcp_studio.trace.query.rows import Rows, Tables, Taken, take
from mcp_studio.trace.recording import Block, Reader, Recording

_FIRST_STEP = 2_048
_STEP = 16_384
"""Rows that are asked about in one step; the first is small, so that something is soon to be seen."""
_NEAR = 3
"""How many blocks are read past rather than looked for anew."""


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
    """The same for some entries, a step for each; what is not kept is left out."""
    tables, source = Tables(), _Source(reader) if reader is not None else None
    for number in sorted(numbers, reverse=True):
        row = number - taken.columns.first
        if 0 <= row < taken.rows:
            yield from _step(taken, query, tables, source, row, row + 1)


def _step(taken: Taken, query: Query, tables: Tables, source: _Source | None, low: int, high: int) -> Iterator[Slice]:
    rows = Rows(taken, tables, low, high)
    first = taken.columns.first
    sure, may = rows.ask(query.root, rows.all)
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
