"""Hands what is new in the running trace to the disk, and lets go of what is there."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path

from mcp_studio.config.model import Settings
from mcp_studio.jsontext import Json
from mcp_studio.trace.capture import Capture
from mcp_studio.trace.disk.reader import DiskReader
from mcp_studio.trace.disk.writer import Writer
from mcp_studio.trace.message import Block, Reader, WireMessage

LARGE = 1 << 20
"""Bodies with more bytes are read one by one."""
_BLOCK = 200
"""Entries of one block in memory."""
_LARGE_HERE = 16 * 1024
"""Larger bodies are not copied into a block."""


class LiveReader:
    """Implements `message.Reader` over bodies in memory, and what a disk has of those before them.

    Args:
        first: the number of the first body in memory.
        bodies: they are not copied before somebody reads them.
        older: reads the disk, which may have more than the trace; None where nothing is there.
    """

    def __init__(self, first: int, bodies: Sequence[bytes], older: Reader | None = None) -> None:
        self._first, self._bodies, self._older = first, bodies, older

    def blocks(self, below: int) -> Iterator[Block]:
        """All bodies of entries with numbers under `below`, the newest block first."""
        stop = min(max(0, below - self._first), len(self._bodies))
        while stop > 0:
            start = max(0, stop - _BLOCK)
            yield self._block(start, stop)
            stop = start
        if self._older is not None:
            yield from self._older.blocks(min(below, self._first))

    def body(self, number: int) -> bytes:
        """The body of one entry; empty where it is not kept any more."""
        place = number - self._first
        if 0 <= place < len(self._bodies):
            return self._bodies[place]
        return b"" if self._older is None else self._older.body(number)

    def close(self) -> None:
        """No more reading."""
        if self._older is not None:
            self._older.close()

    def _block(self, start: int, stop: int) -> Block:
        first, bodies = self._first + start, self._bodies[start:stop]
        large = tuple(number for number, body in enumerate(bodies, first) if len(body) > _LARGE_HERE)
        small = [body if len(body) <= _LARGE_HERE else b"" for body in bodies]
        return Block(first, array("I", accumulate(map(len, small))), b"".join(small), large)


_OVERHEAD = 200
"""Bytes that an entry costs besides its body."""
_EVERY = 0.15
"""Seconds after which what is new goes to the disk; with writing it, a quarter second at the most can be lost."""
_AT_FIRST = 0.01
"""The same for what comes first: what writing needs is got ready while the first server is starting."""
_MOMENT = 0.02
"""Seconds for which everything may be stopped at the end."""
_BATCH = 96 * 1024
"""Bytes after which it goes at once: as little as never holds the event loop for long."""
_ENTRY = 100
_ENTRIES, _BYTES = 2_000, 8 << 20
"""What stays in memory although it is on disk."""
_MOST = 128 << 20
"""Bytes that wait in memory for a disk that does not answer: twice of what `disk.writer.Writer` takes."""
_SMALL = 4_096
"""Bytes of a body that may as well stay with whoever holds its entry."""
_INDEX = 2_000_000
"""Entries whose columns are kept; older ones are on disk alone."""
_FORGOTTEN = 1 << 17
"""As many are forgotten at once."""


class Window:
    """The newest entries, numbered without gaps, and what they cost."""

    def __init__(self) -> None:
        self.entries: dict[int, WireMessage] = {}
        self.oldest = 1
        """The number of the first of them; while there is none, of the next one."""
        self.bytes = 0

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, entry: WireMessage) -> None:
        """Another one."""
        self.entries[entry.number] = entry
        self.bytes += entry.size + _OVERHEAD

    def pop(self) -> WireMessage:
        """Take the oldest one out."""
        entry = self.entries.pop(self.oldest)
        self.oldest += 1
        self.bytes -= entry.size + _OVERHEAD
        return entry

    def clear(self, following: int) -> None:
        """Forget all; the next one has this number."""
        self.entries.clear()
        self.oldest, self.bytes = following, 0

    def bodies(self, first: int) -> list[bytes]:
        """From the entry with a number on."""
        return [self.entries[number].body for number in range(first, self.oldest + len(self.entries))]


class Recorder:
    """Writes a trace down while it goes on.

    Args:
        disk: where to.
        window: what is in memory; taken out of it is what is on disk.
        capture: has the columns, and what changes in them.
        waiting: the numbers of entries whose bodies are not redacted yet: they and what follows have to wait.
        forget: entries before this number are not to be had any more.
        failed: nothing is written any more; called with the reason, a sentence.
    """

    def __init__(
        self,
        disk: Writer,
        window: Window,
        capture: Capture,
        waiting: Mapping[int, object],
        *,
        forget: Callable[[int], None],
        failed: Callable[[str], None],
    ) -> None:
        self._disk, self._window, self._capture, self._waiting = disk, window, capture, waiting
        self._forget, self._on_failed = forget, failed
        self._timer: asyncio.TimerHandle | None = None
        self._pending = 0
        self._reader: DiskReader | None = None
        self.over = False
        """Nothing is written any more."""

    @property
    def problem(self) -> str:
        """What is not kept on disk, and why, in a sentence; empty where all is."""
        lost = self._disk.lost
        many = f"{lost:,} messages are" if lost > 1 else "One message is"
        return self._disk.failed or (f"The disk is slow: {many} kept without content." if lost else "")

    # ------------------------------------------------------------------ reading

    def body(self, number: int) -> bytes:
        """A body from the disk, in any thread; b"" where there is none."""
        reader = self._opened()
        return b"" if reader is None else reader.body(number)

    def extra(self, number: int, name: str) -> Json:
        """What an entry has besides, see `disk.format.Batch`; None where it has none."""
        reader = self._opened()
        return None if reader is None else reader.extra(number, name)

    def reader(self) -> Reader:
        """What is on disk, and what is not there yet."""
        path = self._disk.path
        first = max(self._window.oldest, self._disk.written + 1)
        return LiveReader(first, self._window.bodies(first), DiskReader(path) if path is not None else None)

    def _opened(self) -> DiskReader | None:
        if self._reader is None and self._disk.path is not None:
            self._reader = DiskReader(self._disk.path)
        return self._reader

    # ------------------------------------------------------------------ writing

    def coming(self, size: int) -> None:
        """An entry of this size is about to be added; what was before it is as it will be."""
        if self._pending and self._pending + size > _BATCH:
            self.flush()
        self._pending += size + _ENTRY
        self.wake()

    def wake(self) -> None:
        """Something has changed, and goes to the disk soon."""
        if self._timer is None and not self.over:
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                return  # it goes with what comes, or at the end
            self._timer = loop.call_later(_EVERY if self._capture.handed else _AT_FIRST, self.flush)

    def flush(self) -> None:
        """Hand over what is new."""
        self._cancel()
        self._pending = 0
        if self._disk.failed:
            self._end()
        if self.over:
            return
        self._hand_over()
        self._let_go()
        if self._disk.written < self._capture.handed:
            self.wake()

    async def close(self, timeout: float = 2.0) -> None:
        """Write what is left, in a bounded time."""
        self.flush()
        self._cancel()
        # Most often there is next to nothing left: a thread to wait in would take longer to start.
        if not self._disk.close(min(timeout, _MOMENT)) and not self._disk.failed:
            await asyncio.to_thread(self._disk.close, timeout)
        if self._disk.failed:
            self._end()
        self.over = True
        if self._reader is not None:
            self._reader.close()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        if not self.over:
            self.over = True
            self._on_failed(self._disk.failed)

    def _hand_over(self) -> None:
        """Give the disk what it has not got yet, in batches of bounded size."""
        capture, entries = self._capture, self._window.entries
        news = capture.news()
        if news.names or news.extras or any(news.changes.values()):
            self._disk.put(news)
        last = min(self._waiting, default=capture.columns.first + len(capture.columns)) - 1
        bodies, size = list[bytes](), 0
        for number in range(capture.handed + 1, last + 1):
            bodies.append(entries[number].body)
            size += len(bodies[-1]) + _ENTRY
            if size >= _BATCH or number == last:
                self._disk.put(capture.rows(bodies))
                bodies, size = [], 0

    def _let_go(self) -> None:
        """What is on disk leaves the memory, once newer entries have taken its place."""
        disk, window, handed = self._disk, self._window, self._capture.handed
        while len(window) > _ENTRIES or window.bytes > _BYTES:
            if window.oldest > (handed if window.bytes > _MOST else min(disk.written, handed)):
                break
            entry = window.pop()
            if entry.size > _SMALL:  # others may hold it still
                entry.held = partial(self.body, entry.number)
        columns = self._capture.columns
        if len(columns) > _INDEX:
            self._forget(columns.first + _FORGOTTEN)
        if disk.trimmed >= columns.first:
            self._forget(disk.trimmed + 1)


def disk_for(folder: Path, settings: Settings, origin: str) -> Writer | None:
    """Where sessions are recorded; None where that is not wanted, or nobody is named whose session it is."""
    if not (settings.record and origin):
        return None
    return Writer(folder, origin, max_bytes=settings.record_bytes, max_age=settings.record_age)
