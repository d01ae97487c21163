"""The two ends of a child's pipes on the event loop: readers that stay fair, a writer that knows when nobody reads."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from time import monotonic

from mcp_studio.transport.lines import Line, LineSplitter

HEAD_START = 0.03
"""Seconds that a key has the loop to itself. What a server sends meanwhile waits in its pipe."""
_PAUSE = 0.03
"""Seconds that belong to servers afterwards, however fast keys come."""


class Pace:
    """One terminal, one person: there is one of it in a process."""

    def __init__(self) -> None:
        self._until = 0.0

    def key(self) -> None:
        """A person has done something; from any thread."""
        now = monotonic()
        if now > self._until + _PAUSE:
            self._until = now + HEAD_START

    def wait(self) -> float:
        """Seconds that a flood has to wait now, usually 0."""
        return max(0.0, self._until - monotonic()) if self._until else 0.0


PACE = Pace()
"""Told by whoever reads the terminal, asked by those who read from servers."""

if sys.platform != "win32":
    import fcntl

SLICE = 0.003
"""Seconds of lines handled before others on the loop have their turn."""
SMALL_READ = 64 * 1024
"""The size of a pipe, and of one read from it, until that was once full."""
LARGE_READ = 256 * 1024
LARGE_PIPE = 1024 * 1024
FLOOD = 24
"""Lines in one read: a server that sends so many at once can wait a moment for the rest to be read."""
GATHERED = 16 * 1024
"""Bytes that are held back until the end of a turn of the loop, to leave in one write."""
F_SETPIPE_SZ = 1031
"""Linux's fcntl to resize a pipe; `fcntl` has its name on Linux only."""


def enlarge(fd: int) -> None:
    """Make a busy pipe larger, where that is possible. Idle ones stay small: what a user may have in all is limited."""
    if sys.platform == "linux":
        try:
            fcntl.fcntl(fd, F_SETPIPE_SZ, LARGE_PIPE)
        except OSError:
            pass


class LineReader:
    """Reads a pipe, hands over its lines. Owns the descriptor, which must be non-blocking."""

    def __init__(self, fd: int, limit: int, on_line: Callable[[Line], None], *, skim: bool = False) -> None:
        self._loop = asyncio.get_running_loop()
        self._fd = fd
        self._on_line = on_line
        self._splitter = LineSplitter(limit, skim=skim)
        self._lines: Iterator[Line] = iter(())
        self._read_size = SMALL_READ
        self._flooded = False
        self._at_end = False
        self.ended: asyncio.Future[None] = self._loop.create_future()
        """Done when everything up to the end of the pipe was handed over, or reading was closed."""
        self._loop.add_reader(fd, self._readable)

    def _readable(self) -> None:
        if self._flooded and (wait := PACE.wait()):
            self._loop.remove_reader(self._fd)
            self._loop.call_later(wait, self._hand_over, True)
            return
        try:
            data = os.read(self._fd, self._read_size)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            if len(data) == self._read_size == SMALL_READ:
                self._read_size = LARGE_READ
                enlarge(self._fd)
            lines = self._splitter.feed(data)
        else:
            self._at_end = True
            lines = self._splitter.finish()
            self._loop.remove_reader(self._fd)
        if lines or self._at_end:
            self._flooded = len(lines) >= FLOOD
            self._lines = iter(lines)
            self._hand_over(False)

    def _hand_over(self, paused: bool) -> None:
        """Hand over lines for one slice of time; if some are left, nothing is read until they had their turn."""
        until = monotonic() + SLICE
        for line in self._lines:
            try:
                self._on_line(line)
            except BaseException:  # the loop tells of it; it costs this line and none of those behind it
                self._go_on_later(paused)
                raise
            if self._fd < 0:  # closed by whom the line was handed to
                return
            if monotonic() > until:
                self._go_on_later(paused)
                return
        if self._at_end:
            self.close()
        elif paused and self._fd >= 0:
            self._loop.add_reader(self._fd, self._readable)

    def _go_on_later(self, paused: bool) -> None:
        if self._fd >= 0 and not (paused or self._at_end):
            self._loop.remove_reader(self._fd)
        self._loop.call_later(PACE.wait(), self._hand_over, True)

    def close(self) -> None:
        """Read no more. Any number of times."""
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
            self._lines = iter(())
        if not self.ended.done():
            self.ended.set_result(None)


class WriterClosed(Exception):
    """Nothing can be written any more."""


class PipeWriter:
    """Writes messages to a pipe one after the other, each whole. Owns the descriptor, which must be non-blocking."""

    def __init__(self, fd: int, patience: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._fd = fd
        self._patience = patience
        self._turn = asyncio.Lock()
        self._rest = memoryview(b"")
        self._gathered: list[bytes] | None = None
        """Small messages that follow another one in the same turn of the loop; None when there was none yet."""
        self._held = 0
        self._queued = 0
        self._written: asyncio.Future[None] | None = None
        self._progress = 0.0
        self._closed = False
        self.stalled = False
        """Whether writing failed because nobody read for too long."""
        self.broken: asyncio.Future[None] = self._loop.create_future()
        """Done when writing has failed by itself, or could only fail: the other end is closed."""
        self._loop.add_reader(fd, self._fail)  # nothing is ever read here: the event is the closing of the other end

    async def write(self, data: bytes) -> None:
        """Write all of `data`, in the order of the calls; it is completed even if the caller is cancelled.

        The first message of a turn of the loop is written at once. Small ones that follow in the same turn are taken
        and leave together at its end: waking the reader for each of them costs more than all the rest.

        Raises:
            WriterClosed: the pipe is closed, or nothing could be written for `patience` seconds.
        """
        if self._gathered is not None and not self._queued and self._held + len(data) <= GATHERED:
            self._gathered.append(data)
            self._held += len(data)
            return
        self._queued += 1
        try:
            async with self._turn:
                await self._write_now(data)
        finally:
            self._queued -= 1

    async def _write_now(self, data: bytes) -> None:
        self._write_gathered()
        if self._written is not None:
            await asyncio.shield(self._written)  # one whose caller was cancelled, or what was gathered
        if not self._closed:
            self._rest = memoryview(data)
            self._flush()
        if self._rest:
            await asyncio.shield(self._drain())
        if self._closed:
            raise WriterClosed
        self._gathered, self._held = [], 0
        self._loop.call_soon(self._write_gathered)

    def _write_gathered(self) -> None:
        """Write what has been held back; what the pipe does not take follows when it does, before anything else."""
        gathered, self._gathered = self._gathered, None
        if gathered:
            self._rest = memoryview(b"".join(gathered))
            self._flush()
            if self._rest:
                self._drain()

    def _drain(self) -> asyncio.Future[None]:
        written = self._written = self._loop.create_future()
        self._progress = monotonic()
        enlarge(self._fd)
        self._loop.add_writer(self._fd, self._flush)
        self._loop.call_later(self._patience, self._check, written)
        return written

    def _flush(self) -> None:
        try:
            size = os.write(self._fd, self._rest)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._fail()
            return
        self._rest = self._rest[size:]
        self._progress = monotonic()
        if not self._rest and self._written:
            self._loop.remove_writer(self._fd)
            self._done()

    def _done(self) -> None:
        written, self._written = self._written, None
        if written and not written.done():
            written.set_result(None)

    def _check(self, written: asyncio.Future[None]) -> None:
        """Give up on a reader that has read nothing for as long as we are patient."""
        if written.done():
            return
        left = self._progress + self._patience - monotonic()
        if left > 0:
            self._loop.call_later(left, self._check, written)
        else:
            self.stalled = True
            self._fail()

    def _fail(self) -> None:
        if not self.broken.done():
            self.broken.set_result(None)
        self.close()

    def close(self) -> None:
        """Close the pipe; who waits to write gets WriterClosed. Any number of times."""
        self._write_gathered()
        self._closed = True
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            self._loop.remove_writer(self._fd)
            os.close(self._fd)
            self._fd = -1
        self._rest = memoryview(b"")
        self._done()
