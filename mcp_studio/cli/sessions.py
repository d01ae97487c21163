"""The sessions that were recorded: listed, and opened by their names."""

from __future__ import annotations

import time
from pathlib import Path

from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.rows import table
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json
from mcp_studio.paths import Paths
from mcp_studio.safetext import safe
from mcp_studio.trace.disk.session import Session
from mcp_studio.trace.disk.sessions import SessionInfo, sessions
from mcp_studio.trace.export.opened import Opened
from mcp_studio.trace.opening import open_recording

_LISTED = 30
_MOST = 1_000_000
_SERVERS = 3
_HEADS = ("session", "state", "began", "messages", "size", "servers", "made by")


def folder() -> Path:
    """Where sessions are kept."""
    return Paths.default().state / "trace"


def listing(options: Options, out: Output) -> int:
    """A line for each session, the newest first."""
    limit = options.count("--limit", _MOST) or _LISTED
    found = sessions(folder(), limit + 1)
    rows = [_row(info) for info in found[:limit]]
    for line in table([_HEADS, *rows] if rows else []):
        out.data(line)
    if len(found) > limit:
        out.note(f"the newest {limit:,}; --limit N shows more")
    elif not found:
        out.note(f"no session is kept in {folder()}")
    return out.done([_facts(info) for info in found[:limit]])


def open_named(name: str, out: Output) -> Session | Opened:
    """Open a session by its name, or a file.

    Raises:
        StudioError: there is none, or it cannot be read.
    """
    try:
        recording = open_recording(name, folder())
    except UsageError as error:
        if ":" in name and not Path(name).exists():
            error.hint = f"The first word says which session: mcp-studio trace last {name}"
        raise
    problems = (recording.problem,) if isinstance(recording, Session) else recording.problems
    for problem in filter(None, problems):
        out.warn(problem)
    return recording


def _row(info: SessionInfo) -> tuple[str, ...]:
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(info.began)) if info.began else "-"
    servers = ", ".join(safe(name, 40) for name in info.servers[:_SERVERS])
    more = f" and {len(info.servers) - _SERVERS} more" if len(info.servers) > _SERVERS else ""
    what = info.problem or " ".join(filter(None, (info.origin, info.title and f"({info.title})")))
    return info.name, info.state, began, f"{info.entries:,}", recorded_size(info.bytes), servers + more, what


def recorded_size(size: float) -> str:
    """Bytes in a few characters."""
    for unit in ("B", "kB", "MB"):
        if size < 1_000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 99.5 else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:.1f} GB"


def _facts(info: SessionInfo) -> dict[str, Json]:
    return {
        "name": info.name, "state": info.state, "origin": info.origin or None, "title": info.title or None,
        "began": info.began or None, "ended": info.ended, "entries": info.entries, "bytes": info.bytes,
        "servers": list(info.servers), "file": str(info.path), "problem": info.problem or None,
    }  # fmt: skip
