"""The two ends of a child's pipes on the event loop: readers that stay fair, a writer that knows when nobody reads."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import cast

from mcp_studio.transport.lines import Line, LineSplitter

SLICE = 0.003
"""Seconds of lines handled before others on the loop have their turn."""


class LineReader(asyncio.Protocol):
    """Hands over the lines of a pipe."""

    def __init__(self, limit: int, on_line: Callable[[Line], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_line = on_line
        self._splitter = LineSplitter(limit)
        self._lines: deque[Line] = deque()
        self._scheduled = self._at_end = False
        self.ended: asyncio.Future[None] = self._loop.create_future()
        """Done when everything up to the end of the pipe was handed over, or reading was closed."""

    @classmethod
    async def open(cls, fd: int, limit: int, on_line: Callable[[Line], None]) -> LineReader:
        """Read a pipe, which belongs to the reader from now on."""
        reader = cls(limit, on_line)
        await asyncio.get_running_loop().connect_read_pipe(lambda: reader, os.fdopen(fd, "rb", 0))
        return reader

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        self._lines += self._splitter.feed(data)
        if not self._scheduled:
            self._hand_over()

    def connection_lost(self, exc: Exception | None) -> None:
        self._at_end = True
        self._lines += self._splitter.finish()
        if not self._scheduled:
            self._hand_over()

    def _hand_over(self) -> None:
        """Hand over lines for one slice of time; if some are left, nothing is read until they had their turn."""
        self._scheduled = False
        until = monotonic() + SLICE
        while self._lines:
            try:
                self._on_line(self._lines.popleft())
            except Exception as problem:  # it costs this line and none of those behind it
                self._loop.call_exception_handler({"message": "a line could not be handled", "exception": problem})
            if self._lines and monotonic() > until:
                self._transport.pause_reading()
                self._scheduled = True
                self._loop.call_soon(self._hand_over)
                return
        self._transport.resume_reading()
        if self._at_end and not self.ended.done():
            self.ended.set_result(None)

    def close(self) -> None:
        """Read no more. Any number of times."""
        self._transport.close()
        self._lines.clear()
        self._on_line = lambda line: None
        if not self.ended.done():
            self.ended.set_result(None)


class WriterClosed(Exception):
    """Nothing can be written any more."""


class PipeWriter(asyncio.BaseProtocol):
    """Writes messages to a pipe one after the other, each whole."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._taken = 0
        """Bytes that were to be written so far."""
        self._empty = asyncio.Event()
        """All of them are."""
        self._empty.set()
        self.stalled = False
        """Whether writing failed because nobody read for too long."""
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the pipe is closed, by either end."""

    @classmethod
    async def open(cls, fd: int, patience: float) -> PipeWriter:
        """Write to a pipe, which belongs to the writer from now on."""
        writer = cls(patience)
        await asyncio.get_running_loop().connect_write_pipe(lambda: writer, os.fdopen(fd, "wb", 0))
        return writer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        self._transport.set_write_buffer_limits(0)

    def pause_writing(self) -> None:
        self._empty.clear()

    def resume_writing(self) -> None:
        self._empty.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.broken.done():
            self.broken.set_result(None)
        self._empty.set()

    async def write(self, data: bytes) -> None:
        """Write all of `data`, in the order of the calls; it is completed even if the caller is cancelled.

        Raises:
            WriterClosed: the pipe is closed, or nothing could be written for `patience` seconds.
        """
        if self._transport.is_closing():
            raise WriterClosed
        self._transport.write(data)
        self._taken += len(data)
        while not self._empty.is_set():
            before = self._written
            try:
                async with asyncio.timeout(self._patience):
                    await self._empty.wait()
            except TimeoutError:
                if self._written == before:
                    self.stalled = True
                    self._transport.abort()
        if self.broken.done():
            raise WriterClosed

    @property
    def _written(self) -> int:
        return self._taken - self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Close the pipe; who waits to write gets WriterClosed. Any number of times."""
        if self._transport.get_write_buffer_size():
            self._transport.abort()
        else:
            self._transport.close()
