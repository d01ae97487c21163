"""Cutting a byte stream into lines, linear in their length and bounded in memory."""

from __future__ import annotations

from mcp_studio.record import record

KEPT = 4096
"""Bytes kept of each end of a line that is too long."""


@record(frozen=True)
class Oversize:
    """A line longer than the limit: its two ends, and how long it was (without its newline)."""

    head: bytes
    tail: bytes
    size: int


Line = bytes | Oversize


class LineSplitter:
    """Takes chunks, gives complete lines without their newline. A line longer than `limit` bytes is not kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None
        self._tail = b""

    def feed(self, chunk: bytes) -> list[Line]:
        """The lines that this chunk completes."""
        pieces = chunk.split(b"\n")
        rest = pieces.pop()
        lines: list[Line] = list(pieces)
        if lines and self._size:
            self._hold(pieces[0])
            lines[0] = self._take()
        if len(chunk) > self._limit:
            lines = [self._judge(line) for line in lines]
        if rest:
            self._hold(rest)
        return lines

    def finish(self) -> list[Line]:
        """What came after the last newline, if anything did; the stream has ended."""
        return [self._take()] if self._size else []

    def _hold(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._head is None:
            self._parts.append(piece)
            if self._size <= self._limit:
                return
            piece = b"".join(self._parts)
            self._parts.clear()
            self._head = b""
        self._head += piece[: KEPT - len(self._head)]
        self._tail = (self._tail + piece[-KEPT:])[-KEPT:]

    def _take(self) -> Line:
        if self._head is None:
            line: Line = b"".join(self._parts)
        else:
            line = Oversize(self._head, self._tail, self._size)
        self._parts.clear()
        self._size = 0
        self._head = None
        self._tail = b""
        return line

    def _judge(self, line: Line) -> Line:
        if isinstance(line, Oversize) or len(line) <= self._limit:
            return line
        return Oversize(line[:KEPT], line[-KEPT:], len(line))
