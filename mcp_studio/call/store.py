"""Small files of the person's data: read with bounds, written atomically, in the background, beside other studios."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from mcp_studio.errors import StudioError
from mcp_studio.limits import MB
from mcp_studio.paths import write_atomically
from mcp_studio.session.state import at_most
from mcp_studio.vault.base import file_lock

_LOCK_PATIENCE = 2.0

Choose = Callable[[list[bytes]], Sequence[bytes]]
"""Returns the lines that stay, out of all lines, oldest first."""


def read_end(file: Path, most: int) -> bytes:
    """The last `most` bytes of a file; never waits on something that is not a file.

    Raises:
        OSError: there is no such file, or it cannot be read.
    """
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb", closefd=True) as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is no file")
        stream.seek(max(0, status.st_size - most))
        return stream.read(most)


class Journal:
    """A file of lines, oldest first. Every method blocks and belongs into a thread.

    Args:
        choose: selects the lines that stay in a rewrite, at most `largest` bytes; a file of twice as many is rewritten.
    """

    def __init__(self, file: Path, choose: Choose, largest: int = 2 * MB) -> None:
        self._file = file
        self._choose = choose
        self._largest = largest

    def lines(self) -> list[bytes]:
        """All lines, also an incomplete one."""
        try:
            return read_end(self._file, 4 * self._largest).splitlines()
        except OSError:
            return []

    def add(self, lines: Sequence[bytes]) -> None:
        """Append lines.

        Raises:
            OSError: the disk refuses.
            LockHeld: another program holds the lock for too long.
        """
        with file_lock(self._file, patience=_LOCK_PATIENCE):
            with open(self._file, "ab+", opener=lambda path, flags: os.open(path, flags, 0o600)) as stream:
                if stream.tell() and stream.seek(-1, os.SEEK_END) >= 0 and stream.read(1) != b"\n":
                    stream.write(b"\n")  # an earlier line is incomplete
                stream.write(b"".join(line + b"\n" for line in lines))
                large = stream.tell() > 2 * self._largest
            if large:
                self._rewrite(self._choose(self.lines()))

    def keep(self, choose: Choose) -> None:
        """Remove the lines that `choose` does not return.

        Raises:
            OSError, LockHeld: as `add`.
        """
        with file_lock(self._file, patience=_LOCK_PATIENCE):
            self._rewrite(choose(self.lines()))

    def _rewrite(self, lines: Sequence[bytes]) -> None:
        data = b"".join(line + b"\n" for line in lines)
        if (over := len(data) - self._largest) > 0:
            data = data[data.index(b"\n", over - 1) + 1 :]
        write_atomically(self._file, data)


class Saver:
    """Saves changes in the background; if the disk refuses, only those changes are lost.

    Args:
        save: writes the state at the moment of the call.
        delay: seconds in which further changes are collected.
    """

    def __init__(self, save: Callable[[], Awaitable[None]], delay: float = 0.0) -> None:
        self._save = save
        self._delay = delay
        self._hurry = asyncio.Event()
        self._changed = False
        self._task: asyncio.Task[None] | None = None

    def soon(self) -> None:
        """Save soon, because something has changed."""
        self._changed = True
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def finish(self) -> None:
        """Wait until all changes are written, if the disk is fast enough."""
        self._hurry.set()
        if self._task is not None:
            await asyncio.wait((self._task,), timeout=2 * _LOCK_PATIENCE)
        self._hurry.clear()

    async def _run(self) -> None:
        try:
            while self._changed:
                if self._delay:
                    await at_most(self._delay, self._hurry.wait())
                self._changed = False
                with suppress(OSError, StudioError):
                    await self._save()
        finally:
            self._task = None
