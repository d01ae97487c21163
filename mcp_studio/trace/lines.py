"""The newest lines of a stream, within a number of bytes."""

from __future__ import annotations

from collections import deque


class Lines:
    """A ring of text lines bounded by their size; what had to go is counted."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lines: deque[str] = deque()
        self._size = 0
        self.dropped = 0

    def add(self, line: str) -> None:
        """Keep a line, cut to the whole ring's size at most."""
        line = line[: self._limit]
        self._lines.append(line)
        self._size += len(line) + 1
        while self._size > self._limit and len(self._lines) > 1:
            self._size -= len(self._lines.popleft()) + 1
            self.dropped += 1

    def newest(self, count: int | None = None) -> tuple[str, ...]:
        """The last lines, oldest of them first."""
        kept = tuple(self._lines)
        return kept if count is None else kept[-count:] if count else ()


def beginning(data: bytes, width: int) -> str:
    """What text begins with, `width` characters of it at the least where it has them; indentation is left out."""
    return data[: 4 * width + 200].decode("utf-8", "replace").strip().rstrip("\ufffd")
