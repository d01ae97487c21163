"""Small files of what a person did: read bounded, written atomically, in the background, beside other studios."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from mcp_studio.errors import StudioError
from mcp_studio.limits import MB
from mcp_studio.paths import write_atomically
from mcp_studio.session.state import at_most
from mcp_studio.vault.base import file_lock

_LOCK_PATIENCE = 2.0

Choose = Callable[[list[bytes]], Sequence[bytes]]
"""Gives those of all lines, oldest first, that stay."""


def read_end(file: Path, most: int) -> bytes:
    """The last bytes of a file, at most so many; opening what is no file waits for nobody.

    Raises:
        OSError: it is no file, or cannot be read.
    """
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb", closefd=True) as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is no file")
        stream.seek(max(0, status.st_size - most))
        return stream.read(most)


class Journal:
    """The lines of a file, oldest first. Every method blocks and belongs into a thread.

    Args:
        choose: which lines stay when it is rewritten; of those the newest `largest` bytes do. It is at twice as many.
    """

    def __init__(self, file: Path, choose: Choose, largest: int = 2 * MB) -> None:
        self._file = file
        self._choose = choose
        self._largest = largest

    def lines(self) -> list[bytes]:
        """All lines; one that was cut short is among them."""
        try:
            return read_end(self._file, 4 * self._largest).splitlines()
        except OSError:
            return []

    def add(self, lines: Sequence[bytes]) -> None:
        """Add lines at the end.

        Raises:
            OSError: the disk refuses.
            LockHeld: another program does not give the lock back.
        """
        with self._lock():
            with open(self._file, "ab+", opener=lambda path, flags: os.open(path, flags, 0o600)) as stream:
                if stream.tell() and stream.seek(-1, os.SEEK_END) >= 0 and stream.read(1) != b"\n":
                    stream.write(b"\n")  # an earlier line was cut short
                stream.write(b"".join(line + b"\n" for line in lines))
                large = stream.tell() > 2 * self._largest
            if large:
                self._rewrite(self._choose(self.lines()))

    def keep(self, choose: Choose) -> None:
        """Remove the lines that `choose` does not give.

        Raises:
            OSError, LockHeld: as `add`.
        """
        with self._lock():
            self._rewrite(choose(self.lines()))

    def _lock(self) -> AbstractContextManager[None]:
        return file_lock(self._file.with_suffix(".lock"), self._file.name, _LOCK_PATIENCE)

    def _rewrite(self, lines: Sequence[bytes]) -> None:
        data = b"".join(line + b"\n" for line in lines)
        if (over := len(data) - self._largest) > 0:
            data = data[data.index(b"\n", over - 1) + 1 :]
        write_atomically(self._file, data)


class Saver:
    """Saves what has changed, in the background; a disk that refuses costs what would have been written, no more.

    Args:
        save: writes the state of the moment in which it is called.
        delay: seconds in which further changes are waited for.
    """

    def __init__(self, save: Callable[[], Awaitable[None]], delay: float = 0.0) -> None:
        self._save = save
        self._delay = delay
        self._hurry = asyncio.Event()
        self._changed = False
        self._task: asyncio.Task[None] | None = None

    def soon(self) -> None:
        """Something has changed."""
        self._changed = True
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def finish(self) -> None:
        """Wait until all is written, if the disk takes it soon."""
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
