"""Reading the bodies of a running trace from another thread."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from mcp_studio.jsontext import Json
from mcp_studio.trace.recording import Block, Reader

LARGE = 1 << 20
"""Bodies with more bytes are read one by one."""
_BLOCK = 256 * 1024


class LiveReader:
    """Implements `recording.Reader` over bodies in memory, and what a disk has of those before them.

    Args:
        first: the number of the first body in memory.
        bodies: they are not copied before somebody reads them; None where one is on disk.
        older: reads the disk; None where nothing is there.
        since: nothing of entries with lower numbers is given, which a disk may have.
    """

    def __init__(self, first: int, bodies: Sequence[bytes | None], older: Reader | None = None, since: int = 1) -> None:
        self._first = first
        self._bodies = bodies
        self._older = older
        self._since = since

    def blocks(self, below: int) -> Iterator[Block]:
        """All bodies of entries with numbers under `below`, the newest block first."""
        stop = min(max(0, below - self._first), len(self._bodies))
        while stop > 0:
            start, size = stop, 0
            while start > 0 and size < _BLOCK:
                start -= 1
                size += _length(self._bodies[start])
            yield self._block(start, stop)
            stop = start
        if self._older is not None:
            for block in self._older.blocks(min(below, self._first)):
                if block.first + len(block.ends) > self._since:
                    yield _cut(block, self._since - block.first)
                if block.first <= self._since:
                    return

    def body(self, number: int) -> bytes:
        """The body of one entry; empty where it is not kept any more."""
        place = number - self._first
        body = self._bodies[place] if 0 <= place < len(self._bodies) else None
        if body is not None:
            return body
        return b"" if self._older is None else self._older.body(number)

    def close(self) -> None:
        """No more reading."""
        if self._older is not None:
            self._older.close()

    def _block(self, start: int, stop: int) -> Block:
        ends, parts, large, end = array("I"), list[bytes](), list[int](), 0
        for place in range(start, stop):
            body = self._bodies[place]
            if body is None or len(body) > LARGE:
                large.append(self._first + place)
            else:
                parts.append(body)
                end += len(body)
            ends.append(end)
        return Block(self._first + start, ends, b"".join(parts), tuple(large))


class Nowhere:
    """Where nothing is kept."""

    def read(self, number: int) -> bytes:
        """No body."""
        return b""

    def extra(self, number: int, name: str) -> Json:
        """Nothing."""
        return None


def _cut(block: Block, count: int) -> Block:
    """A block without its first entries."""
    if count <= 0:
        return block
    start, since = block.ends[count - 1], block.first + count
    ends = array("I", [end - start for end in block.ends[count:]])
    return Block(since, ends, block.data[start:], tuple(number for number in block.large if number >= since))


def _length(body: bytes | None) -> int:
    return 0 if body is None or len(body) > LARGE else len(body)
