"""Writing a file so that it is never half-written: temporary file, fsync, rename."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(file: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file's content; makes its folder where it is missing; a symbolic link is followed, not replaced.

    Raises:
        OSError: it cannot be written; the old content is still there.
    """
    target = file.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile: importing it costs 8 ms of every start.
    draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(draft, target.stat().st_mode & 0o777 if target.exists() else mode)
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
