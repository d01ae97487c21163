"""What the trace needs only once there is something to keep, or somebody looks at a message: imported then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_studio.trace.lint.rules import Spot
from mcp_studio.trace.message import WireMessage

if TYPE_CHECKING:
    from mcp_studio.trace.disk.session import DiskReader
    from mcp_studio.trace.disk.writer import SessionFile


def check_typed(entries: Sequence[tuple[WireMessage, str]]) -> list[list[Spot]]:
    """Messages, each with its version, through `lint.typed.check_all`; slow, for a thread."""
    from mcp_studio.trace.lint.typed import Job, check_all

    jobs = [Job(entry.direction, entry.kind, entry.method, version, entry.body) for entry, version in entries]
    return check_all(jobs)


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
