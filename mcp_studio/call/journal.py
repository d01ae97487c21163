"""A file of lines that several programs add to at once, and that never grows without bound.

A line is added in one write, so that a program that is killed leaves at most a part of its own last line behind, which
readers pass over. Rewriting happens under a lock beside the file, into a new file that takes its place.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mcp_studio.atomic import write_atomically
from mcp_studio.limits import MB

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LARGEST = 2 * MB
"""Bytes that are left by a rewriting; it happens at twice as many."""
_PATIENCE = 2.0
"""Seconds for which the lock of another program is waited for."""
_PAUSE = 0.01

Choose = Callable[[list[bytes]], Sequence[bytes]]
"""Gives those of all lines, oldest first, that stay."""


class Journal:
    """The lines of a file, oldest first. Every method blocks and belongs into a thread.

    Args:
        choose: which lines stay when it is rewritten; of those the newest `largest` bytes do.
    """

    def __init__(self, file: Path, choose: Choose, largest: int = LARGEST) -> None:
        self._file = file
        self._choose = choose
        self._largest = largest

    def lines(self) -> list[bytes]:
        """All lines, also one that was cut short; of a file that something else let grow, those at its end."""
        try:
            # Whatever stands in its place: opening waits for nobody.
            handle = os.open(self._file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            with os.fdopen(handle, "rb") as stream:
                now = os.fstat(handle)
                if not stat.S_ISREG(now.st_mode):
                    return []
                left_out = max(0, now.st_size - 4 * self._largest)
                stream.seek(left_out)
                return stream.read(4 * self._largest).splitlines()[1 if left_out else 0 :]
        except OSError:
            return []

    def add(self, lines: Sequence[bytes]) -> None:
        """Add lines at the end; without the lock where another program does not give it back.

        Raises:
            OSError: the disk refuses.
        """
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._locked() as alone:
            if self._append(b"".join(line + b"\n" for line in lines)) > 2 * self._largest and alone:
                self._rewrite(self._choose(self.lines()))

    def keep(self, choose: Choose) -> bool:
        """Remove the lines that `choose` does not give; False where another program does not give the lock back.

        Raises:
            OSError: the disk refuses.
        """
        with self._locked() as alone:
            if alone:
                self._rewrite(choose(self.lines()))
            return alone

    def _append(self, data: bytes) -> int:
        """Write at the end; returns the size of the file."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        handle = os.open(self._file, flags, 0o600)
        try:
            size = os.lseek(handle, 0, os.SEEK_END)
            if size:
                os.lseek(handle, size - 1, os.SEEK_SET)
                data = data if os.read(handle, 1) == b"\n" else b"\n" + data
            size += len(data)
            while data:
                data = data[os.write(handle, data) :]
            return size
        finally:
            os.close(handle)

    def _rewrite(self, lines: Sequence[bytes]) -> None:
        room, kept = self._largest, list[bytes]()
        for line in reversed(lines):
            room -= len(line) + 1
            if room < 0:
                break
            kept.append(line + b"\n")
        write_atomically(self._file, b"".join(reversed(kept)))

    @contextmanager
    def _locked(self) -> Generator[bool]:
        """Whether nobody else writes while this is open."""
        handle = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            end = time.monotonic() + _PATIENCE
            while not (alone := _take(handle)) and time.monotonic() < end:
                time.sleep(_PAUSE)
            yield alone
        finally:
            os.close(handle)  # which gives the lock back


def _take(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
