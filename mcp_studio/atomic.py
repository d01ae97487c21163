"""Writing a file so that it is never half-written: temporary file, fsync, rename."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(file: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file's content; makes its folder where it is missing; a symbolic link is followed, not replaced.

    Raises:
        OSError: it cannot be written; the old content is still there.
    """
    target = file.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(name, target.stat().st_mode & 0o777 if target.exists() else mode)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
