"""A lock between processes: a file beside what it is for. It goes with the process, however that ends."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from types import TracebackType

from mcp_studio.errors import StudioError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

PATIENCE = 30.0
"""Seconds that another process may hold a lock before waiting for it is given up."""
_PAUSE = 0.02
"""Seconds between looking whether it is free."""


class LockHeld(StudioError):
    """Another process has kept a lock for too long."""


class FileLock:
    """Held by one holder at a time, in this process or any other. Taking it blocks: in a coroutine it belongs into a
    thread (`vault.beside`); giving it back does not.

    The file stays: taking it away while somebody waits for it would give the lock to two.
    """

    def __init__(self, file: Path, what: str = "") -> None:
        self._file = file
        self._what = what or file.name
        self._handle: int | None = None

    def acquire(self, patience: float = PATIENCE) -> None:
        """Wait until nobody else holds it.

        Args:
            patience: seconds; 0 tries once.

        Raises:
            LockHeld: somebody holds it, and went on doing so.
            OSError: the file cannot be made.
        """
        assert self._handle is None, "a lock is taken once"
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self._file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        until = time.monotonic() + patience
        try:
            while not _lock(handle):
                if time.monotonic() >= until:
                    raise LockHeld(
                        f"Another studio has been busy with {self._what} for more than {patience:g} s.",
                        hint=f"Where none is running, something else holds {self._file} open.",
                    )
                time.sleep(_PAUSE)
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle

    def release(self) -> None:
        """Give it back; does nothing where it is not held."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                os.lseek(handle, 0, os.SEEK_SET)
                msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
        os.close(handle)

    def __enter__(self) -> FileLock:
        self.acquire()
        return self

    def __exit__(self, *how: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.release()


def _lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            os.lseek(handle, 0, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
