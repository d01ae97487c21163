"""The entries of a running trace that are in memory."""

from __future__ import annotations

from mcp_studio.trace.message import WireMessage

OVERHEAD = 200
"""Bytes that an entry costs besides its body."""


class Window:
    """The newest entries, numbered without gaps, and what they cost."""

    def __init__(self) -> None:
        self.entries: dict[int, WireMessage] = {}
        self.oldest = 1
        """The number of the first of them; while there is none, of the next one."""
        self.bytes = 0

    def __len__(self) -> int:
        return len(self.entries)

    def pop(self) -> WireMessage:
        """Take the oldest one out."""
        entry = self.entries.pop(self.oldest)
        self.oldest += 1
        self.bytes -= OVERHEAD + (entry.size if isinstance(entry.held, bytes) else 0)
        return entry

    def lighter(self, entry: WireMessage) -> None:
        """The body of one of them is about to be let go."""
        if entry.number in self.entries and isinstance(entry.held, bytes):
            self.bytes -= entry.size

    def clear(self, following: int) -> None:
        """Forget all; the next one has this number."""
        self.entries.clear()
        self.oldest, self.bytes = following, 0
