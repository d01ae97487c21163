"""Opening a session or a bundle in the trace, off the loop; what was opened is kept for coming back to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from mcp_studio.errors import StudioError
from mcp_studio.safetext import safe
from mcp_studio.trace.disk.session import Bundle, Session
from mcp_studio.trace.export.bundle import open_file as read_file
from mcp_studio.trace.message import Recording
from mcp_studio.tui.screens.sessions import Chosen, SessionsDialog, when

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.panels.trace import TracePanel

_PATIENCE = 0.3
"""Seconds after which a file that is being opened is said to be."""
_MOST = 3
"""Files that stay open."""


class Open(NamedTuple):
    """A file that is open."""

    path: Path
    recording: Recording
    kind: str
    """`Past session` and the like, for the title."""
    title: str
    refresh: Callable[[], bool] | None = None
    """Takes over what another studio goes on writing."""


class Shelf:
    """The files that are open, the one shown last at the end."""

    def __init__(self) -> None:
        self._files: list[Open] = []

    def path_of(self, recording: Recording) -> Path | None:
        """Of what is open; None for what is being recorded."""
        return next((one.path for one in self._files if one.recording is recording), None)

    def get(self, path: Path) -> Open | None:
        """A file that is open already."""
        found = next((one for one in self._files if one.path == path), None)
        if found is not None:
            self._files.remove(found)
            self._files.append(found)
        return found

    def put(self, file: Open, used: Recording | None) -> None:
        """Keep a file; one that was not shown for long is let go, but not one that is still `used`."""
        self._files.append(file)
        oldest = next(one for one in self._files if one.recording is not used)
        if len(self._files) > _MOST and oldest is not file:
            self._files.remove(oldest)
            _close(oldest)

    def close(self) -> None:
        """Let all go."""
        while self._files:
            _close(self._files.pop())


def _close(file: Open) -> None:
    if isinstance(file.recording, Session):
        file.recording.close()


async def choose(app: StudioApp, panel: TracePanel) -> None:
    """Let the person choose a session, and show it."""
    shelf = shelf_of(panel)
    dialog = SessionsDialog(app.studio.paths.state / "trace", shelf.path_of(panel.recording))
    chosen = cast("Chosen | None", await app.push_screen_wait(dialog))
    if chosen is None:
        return
    if chosen.path is None:
        await panel.go_live()
    else:
        await show(app, panel, chosen.path)
    app.main.go_to(panel)


async def show(app: StudioApp, panel: TracePanel, path: Path) -> None:
    """Show a session or bundle in the trace; a problem is told."""
    shelf = shelf_of(panel)
    file = shelf.get(path)
    if file is None:
        opening = asyncio.ensure_future(asyncio.to_thread(open_file, path, app.studio.redactor.text))
        done, _ = await asyncio.wait((opening,), timeout=_PATIENCE)
        if not done:
            app.say(f"Opening {safe(path.name, 80)} …")
        try:
            file = await opening
        except StudioError as error:
            app.fail(error)
            return
        shelf.put(file, panel.base.recording if panel.base is not None else None)
        if problem := cast("Session", file.recording).problem:
            app.say(safe(problem, 300), "warning")
    await panel.show(file.recording, file.kind, file.title, file.refresh)


def shelf_of(panel: TracePanel) -> Shelf:
    """What is open for a panel."""
    if panel.shelf is None:
        panel.shelf = Shelf()
    return panel.shelf


def open_file(path: Path, clean: Callable[[str], str]) -> Open:
    """A session or a bundle, whichever it is; slow, for a thread.

    Raises:
        StudioError: it is neither, or cannot be read.
    """
    session = read_file(path, clean)
    if isinstance(session, Bundle):
        made, by = session.head.get("made"), session.head.get("by")
        # Times further away than some thousand years cannot be shown everywhere.
        since = f"made {when(float(made))}" if isinstance(made, (int, float)) and 0 <= made < 1e11 else ""
        by_whom = f"by {by}" if isinstance(by, str) else ""
        return Open(path, session, "File", " ".join(filter(None, (path.name, since, by_whom))))
    info = session.info
    ended = f"–{when(info.ended)[-5:]}" if info.ended and info.ended - info.began > 60 else ""
    how = ", crashed" if info.state == "crashed" else ""
    title = f"{when(info.began)}{ended}{how} · {', '.join(info.servers)}"
    if info.state == "running":
        return Open(path, session, "Session of another studio", title, session.refresh)
    return Open(path, session, "Past session", title)
