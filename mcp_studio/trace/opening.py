"""Opening what somebody names: a session of the studio, or a file that was exported."""

from __future__ import annotations

from pathlib import Path

from mcp_studio.errors import UsageError
from mcp_studio.trace.disk.format import is_database
from mcp_studio.trace.disk.session import Session, open_session
from mcp_studio.trace.disk.sessions import NAMES, find
from mcp_studio.trace.export.bundle import open_bundle
from mcp_studio.trace.export.opened import Opened


def open_recording(name: str, folder: Path) -> Session | Opened:
    """The recording that is meant: a bundle, a JSONL file, a session's file, or what `find` takes.

    A large one takes a second: call it in a thread where somebody waits; it then belongs to the thread that uses it.

    Args:
        folder: where sessions are.

    Raises:
        StudioError: there is none, or it cannot be read.
    """
    path = Path(name).expanduser()
    try:
        if name not in NAMES and path.is_file():
            return open_session(path) if is_database(path) else open_bundle(path)
    except OSError as problem:
        raise UsageError(f"{name} cannot be read: {problem.strerror or problem}.") from None
    if path.is_dir():
        raise UsageError(f"{name} is a folder.", hint="Name a file in it, or a session.")
    if path.suffix or len(path.parts) > 1:
        raise UsageError(f"There is no file {name}.")
    return open_session(find(folder, name))
