"""What the trace needs only once there is something to keep, or somebody looks at a message: imported then."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_studio.trace.disk.session import DiskReader
    from mcp_studio.trace.disk.writer import SessionFile


def session_file(folder: Path, meta: Mapping[str, object], most_bytes: int, max_age: float) -> SessionFile:
    """A new session's file, see `disk.file.SessionFile`."""
    from mcp_studio.trace.disk.writer import SessionFile

    return SessionFile(folder, meta, most_bytes, max_age)


def disk_errors() -> type[Exception]:
    """What a session's file fails with, besides `OSError`."""
    from sqlite3 import Error

    return Error


def disk_reader(session: Path) -> DiskReader:
    """Reads the bodies of a session on disk, see `disk.reader.DiskReader`."""
    from mcp_studio.trace.disk.session import DiskReader

    return DiskReader(session)
