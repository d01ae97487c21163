"""A recording that came out of a file: everything of it is in memory, its bodies compressed."""

from __future__ import annotations

import asyncio
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mcp_studio.jsontext import Json
from mcp_studio.trace import columns as bits
from mcp_studio.trace.columns import Columns
from mcp_studio.trace.materialise import Materialiser
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.recording import Block

_LARGE = 64 * 1024
"""Larger bodies are not read without being asked for."""


class Packed(NamedTuple):
    """A block of bodies as it is kept."""

    first: int
    ends: array[int]
    data: bytes
    """Compressed with zlib."""

    @property
    def last(self) -> int:
        """The number of the last body in it."""
        return self.first + len(self.ends) - 1


class Bodies:
    """Compressed bodies by their numbers, each block being unpacked when it is needed; for one thread."""

    def __init__(self, blocks: list[Packed]) -> None:
        self._blocks = blocks
        self._firsts = [block.first for block in blocks]
        self._open: tuple[int, bytes] = (-1, b"")

    def body(self, number: int) -> bytes:
        """One body; empty where there is none."""
        at = bisect_right(self._firsts, number) - 1
        if at < 0 or number > self._blocks[at].last:
            return b""
        packed = self._blocks[at]
        if self._open[0] != at:
            self._open = at, zlib.decompress(packed.data)
        place = number - packed.first
        return self._open[1][packed.ends[place - 1] if place else 0 : packed.ends[place]]

    def blocks(self, below: int) -> Iterator[Block]:
        """See `recording.Reader`."""
        for at in range(bisect_left(self._firsts, below) - 1, -1, -1):
            packed = self._blocks[at]
            ends = packed.ends[: below - packed.first]
            yield Block(packed.first, ends, zlib.decompress(packed.data)[: ends[-1] if ends else 0])

    def close(self) -> None:
        """No more reading."""
        self._open = (-1, b"")


class Opened:
    """Implements `recording.Recording`; marks and comments are for as long as it is open."""

    def __init__(
        self,
        columns: Columns,
        blocks: list[Packed],
        extras: dict[int, dict[str, Json]],
        head: Mapping[str, Json],
        problems: tuple[str, ...] = (),
    ) -> None:
        self.columns = columns
        self.total = columns.first + len(columns) - 1
        self.revision = 1
        self.head = head
        """What the first line of the file says: `made`, `by`, `title`, `servers`."""
        self.problems = problems
        """What is wrong with the file, though it could be opened; sentences."""
        self._blocks = blocks
        self._extras = extras
        self._bodies = Bodies(blocks)
        self._made = Materialiser(lambda: self.columns, self._bodies.body, self._extra)

    @property
    def first_number(self) -> int:
        """The number of the oldest entry."""
        return self.columns.first

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, index: int) -> WireMessage:
        entry = self.entry(self.columns.first + index) if 0 <= index < len(self) else None
        if entry is None:
            raise IndexError(index)
        return entry

    def entry(self, number: int) -> WireMessage | None:
        """The entry with a number; None when there is none."""
        return self._made.entry(number)

    async def body(self, entry: WireMessage) -> bytes:
        """The whole body; a large one is unpacked beside the event loop."""
        if entry.size <= _LARGE:
            return entry.body
        bodies = Bodies(self._blocks)
        return await asyncio.to_thread(bodies.body, entry.number)

    def reader(self) -> Bodies:
        """For another thread."""
        return Bodies(self._blocks)

    def mark(self, number: int, on: bool) -> None:
        """Mark an entry, or no longer."""
        self._flag(number, bits.MARKED, on)

    def comment(self, number: int, text: str) -> None:
        """Keep a comment on an entry; empty removes it."""
        if 0 <= number - self.columns.first < len(self):
            self._extras.setdefault(number, {})["comment"] = text
            self._flag(number, bits.COMMENTED, bool(text))

    def comment_on(self, number: int) -> str:
        """The comment on an entry, or nothing."""
        text = self._extra(number, "comment")
        return text if isinstance(text, str) else ""

    def _flag(self, number: int, bit: int, on: bool) -> None:
        row = number - self.columns.first
        if 0 <= row < len(self):
            flags = self.columns.flags[row]
            self.columns.flags[row] = flags | bit if on else flags & ~bit
            self.columns.revise(number)
            self._made.forget(number)
            self.revision += 1

    def _extra(self, number: int, name: str) -> Json:
        return self._extras.get(number, {}).get(name)
