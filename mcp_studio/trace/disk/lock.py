"""Whose session it is: a lock beside its file that goes with the process, however that ends."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

ENDING = ".lock"


def lock_of(session: Path) -> Path:
    """The file whose lock says that a session is being written."""
    return session.with_suffix(ENDING)


def take(file: Path) -> int | None:
    """Make the file and lock it; None where it is there already.

    Raises:
        OSError: the folder cannot be written.
    """
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return None
    if not _lock(handle, for_us=True) or not os.fstat(handle).st_nlink:
        # Somebody who tidies up has seen it before it was locked.
        os.close(handle)
        return None
    return handle


def held(file: Path) -> bool:
    """Whether some process, also this one, holds the lock."""
    try:
        handle = os.open(file, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _lock(handle, for_us=False)
    finally:
        os.close(handle)


def release(file: Path, handle: int) -> None:
    """Give the lock back and take its file away."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":  # an open file cannot be deleted there
            os.close(handle)
            file.unlink()
        else:
            file.unlink()
            os.close(handle)


def _lock(handle: int, *, for_us: bool) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, (fcntl.LOCK_EX if for_us else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
