"""Hands what is new in the running trace to the disk, and lets go of what is there."""

from __future__ import annotations

import asyncio
import threading
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mcp_studio.config.model import Settings
from mcp_studio.jsontext import Json
from mcp_studio.trace import late
from mcp_studio.trace.capture import Capture
from mcp_studio.trace.disk.format import Batch, Change, Extra
from mcp_studio.trace.disk.writer import Writer
from mcp_studio.trace.message import Block, Reader, WireMessage

if TYPE_CHECKING:
    from mcp_studio.trace.disk.session import DiskReader

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


class Disk(Protocol):
    """What a recorder needs of `disk.writer.Writer`. Its values are set in another thread."""

    written: int
    """The number of the newest entry that is on disk."""
    batches: int
    """How many batches are on disk."""
    trimmed: int
    """The number of the newest entry that had to go again."""
    lost: int
    """Entries whose bodies were left out."""
    failed: str
    path: Path | None

    def put(self, batch: Batch) -> None:
        """Hand over."""
        ...

    def close(self, timeout: float) -> bool:
        """Write what is left, blocking at most so many seconds."""
        ...


class Recorder:
    """Writes a trace down while it goes on.

    Args:
        window: what is in memory; taken out of it is what is on disk.
        catch_up: captures all entries.
        forget: entries before this number are not to be had any more.
        failed: nothing is written any more; told why, in a sentence.
    """

    def __init__(
        self,
        disk: Disk,
        window: Window,
        capture: Capture,
        *,
        catch_up: Callable[[], None],
        forget: Callable[[int], None],
        failed: Callable[[str], None],
    ) -> None:
        self._disk, self._window, self._capture = disk, window, capture
        self._catch_up, self._forget, self._on_failed = catch_up, forget, failed
        self._timer: asyncio.TimerHandle | None = None
        self._pending = 0
        self._put = self._batches = 0
        self._late: list[WireMessage] = []
        self._large: deque[tuple[int, WireMessage]] = deque()
        self._redacting: set[int] = set()
        self._reader: DiskReader | None = None
        self._home = threading.get_ident()
        self.over = False
        """Nothing is written any more."""

    @property
    def problem(self) -> str:
        """What is not kept on disk, and why, in a sentence; empty where all is."""
        lost = self._disk.lost
        many = f"{lost:,} messages are" if lost > 1 else "One message is"
        return self._disk.failed or (f"The disk is slow: {many} kept without content." if lost else "")

    # ------------------------------------------------------------------ told by the store

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
                seconds = _EVERY if self._batches else _AT_FIRST
                self._timer = asyncio.get_running_loop().call_later(seconds, self.flush)
            except RuntimeError:
                return  # no loop: it goes with what comes, or at the end

    def redacting(self, number: int) -> None:
        """The body of a large entry will come later."""
        self._redacting.add(number)

    def redacted(self, entry: WireMessage) -> None:
        """It is there."""
        if entry.number <= self._put:
            self._late.append(entry)
            self.wake()
        else:
            self._redacting.discard(entry.number)

    def flush(self) -> None:
        """Hand over what is new."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._pending = 0
        if self.over:
            return
        if self._disk.failed:
            self._end()
            return
        self._catch_up()
        for batch in self._new():
            self._disk.put(batch)
            self._batches += 1
        self._let_go()
        if self._disk.batches < self._batches:
            self.wake()

    async def close(self, timeout: float = 0.5) -> None:
        """Write what is left, in a bounded time."""
        self.flush()
        if self._timer is not None:
            self._timer.cancel()
        told, self.over = self.over, True
        if self._reader is not None:
            self._reader.close()
        if self._batches:
            # Most often there is next to nothing left: a thread to wait in would take longer to start.
            if not self._disk.close(min(timeout, _MOMENT)) and not self._disk.failed:
                await asyncio.to_thread(self._disk.close, timeout)
            if self._disk.failed and not told:
                self._end()

    def _end(self) -> None:
        self.over = True
        self._large.clear()
        self._late.clear()
        self._on_failed(self._disk.failed)

    # ------------------------------------------------------------------ reading

    def read(self, number: int) -> bytes:
        """A body from the disk, in any thread; b"" where there is none."""
        if self._disk.path is None:
            return b""
        if threading.get_ident() == self._home:
            return self._opened(self._disk.path).body(number)
        reader = late.disk_reader(self._disk.path)
        try:
            return reader.body(number)
        finally:
            reader.close()

    def extra(self, number: int, name: str) -> Json:
        """What an entry has besides, see `disk.batch.Extra`; None where it has none."""
        return None if self._disk.path is None else self._opened(self._disk.path).extra(number, name)

    def reader(self, since: int) -> Reader:
        """What is on disk, and what is not there yet, from the entry with this number on."""
        path, entries = self._disk.path, self._window.entries
        # What is redacted beside the loop was written as empty, and stays in memory until its body is there too.
        first = max(self._window.oldest, min((self._disk.written + 1, *self._redacting)))
        last = self._window.oldest + len(entries)
        bodies = [body if isinstance(body := entries[number].held, bytes) else None for number in range(first, last)]
        return LiveReader(first, bodies, late.disk_reader(path) if path is not None else None, since)

    def _opened(self, path: Path) -> DiskReader:
        if self._reader is None:
            self._reader = late.disk_reader(path)
        return self._reader

    # ------------------------------------------------------------------ writing

    def _new(self) -> Iterator[Batch]:
        """What the disk has not got yet, in batches of bounded size."""
        capture, entries = self._capture, self._window.entries
        names, extras, changes = capture.new_names(), tuple(capture.extras), tuple(capture.changes)
        capture.extras, capture.changes = [], []
        late, self._late = self._late, []
        number, last = self._put + 1, capture.last
        while number <= last or names or extras or changes or late:
            first, size, bodies = number, 0, list[bytes]()
            while number <= last and size < _BATCH:
                body = entries[number].held
                bodies.append(body if isinstance(body, bytes) else b"")
                size += len(bodies[-1]) + _ENTRY
                if len(bodies[-1]) > LARGE:
                    self._large.append((self._batches + 1, entries[number]))
                number += 1
            yield self._batch(first, bodies, names, changes if number > last else (), extras, late)
            self._put = number - 1
            names, extras, late = (), (), []
            changes = () if number > last else changes

    def _batch(
        self, first: int, bodies: list[bytes], names: tuple[tuple[str, int, str], ...], changes: tuple[Change, ...],
        extras: tuple[Extra, ...], late: list[WireMessage],
    ) -> Batch:  # fmt: skip
        columns = self._capture.columns
        start = first - columns.first
        values = {name: column[start : start + len(bodies)].tobytes() for name, column in columns.arrays()}
        bodies_late: list[tuple[int, bytes]] = []
        for entry in late:
            if isinstance(entry.held, bytes):
                bodies_late.append((entry.number, entry.held))
                self._large.append((self._batches + 1, entry))
        return Batch(first, values, tuple(bodies), names, changes, extras, tuple(bodies_late))

    def _let_go(self) -> None:
        """What is on disk leaves the memory: large bodies at once, entries once newer ones have taken their place."""
        disk, window = self._disk, self._window
        while self._large and self._large[0][0] <= disk.batches:
            entry = self._large.popleft()[1]
            window.lighter(entry)
            entry.held = partial(self.read, entry.number)
            self._redacting.discard(entry.number)
        while len(window) > _ENTRIES or window.bytes > _BYTES:
            if window.oldest > (self._put if window.bytes > _MOST else min(disk.written, self._put)):
                break
            if window.oldest in self._redacting:
                break
            entry = window.pop()
            if entry.size > _SMALL:  # others may hold it still
                entry.held = partial(self.read, entry.number)
        columns = self._capture.columns
        if len(columns) > _INDEX:
            self._forget(columns.first + _FORGOTTEN)
        if disk.trimmed >= columns.first:
            self._forget(disk.trimmed + 1)


def disk_for(folder: Path, settings: Settings, origin: str) -> Disk | None:
    """Where sessions are recorded; None where that is not wanted, or nobody is named whose session it is."""
    if not (settings.record and origin):
        return None
    return Writer(folder, origin, max_bytes=settings.record_bytes, max_age=settings.record_age)
