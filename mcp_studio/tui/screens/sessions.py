"""The sessions that were recorded: which there are, how each ended, and which of them, or which file, to open."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.errors import StudioError
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.trace.disk.session import Bundle, Session
from mcp_studio.trace.disk.sessions import SessionInfo, delete, sessions
from mcp_studio.trace.export.bundle import open_file
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.screens.dialog import Choice, Confirm, Dialog
from mcp_studio.tui.views.rows import Line, VirtualList, cut, glyphs

_ABOUT = {
    "here": "It is being recorded here, now.",
    "running": "Another studio is recording it at this moment.",
    "ended": "It was ended properly.",
    "crashed": "The studio that recorded it was killed or crashed; at most its last quarter second is missing.",
    "unreadable": "It cannot be read.",
}
_HEADER = f"{'State':<12} {'Began':<17} {'Lasted':>7} {'Messages':>9} {'Size':>8}  Servers"


Opened = tuple[Session | None, str]
"""A session, None for what is being recorded here, and what to call it."""


class Sessions(Dialog[Opened]):
    """Opens a session or a file; stays while that fails.

    Args:
        shown: the file that the trace shows now.
    """

    TITLE = "Sessions"
    DEFAULT_CLASSES = "-large"
    BINDINGS: ClassVar[list[BindingType]] = bindings("sessions")
    AUTO_FOCUS = "VirtualList"
    every = 3.0
    choices = (Choice("open", "Open", "primary"), Choice("delete", "Delete", "error"), Choice("back", "Close"))

    def __init__(self, shown: Path | None) -> None:
        super().__init__()
        self._shown = shown
        self.rows = VirtualList[SessionInfo](_draw, key=lambda one: one.path, empty="Looking for sessions")

    def body(self) -> Iterable[Widget]:
        yield Static(_HEADER, markup=False)
        yield self.rows
        yield Static(id="note", markup=False)
        yield Input(placeholder="Or a file: the path of a session or bundle", compact=True)

    def look(self) -> None:
        """Sessions begin, grow and end while this is open."""
        self.run_worker(self._fill(), group="fill", exclusive=True)

    async def _fill(self) -> None:
        folder = self.app.studio.paths.state / "trace"
        found = await asyncio.to_thread(sessions, folder)
        self.rows.empty = f"There is no session in {folder} yet."
        self.rows.show(sorted(found, key=lambda one: one.began, reverse=True))
        size = units.size(sum(one.bytes for one in found))
        self.retitle(f"Sessions {len(found):,} · {size}" if found else "Sessions")

    @on(VirtualList.Highlighted)
    def _tell(self) -> None:
        """Tell more about the one under the cursor."""
        if (info := self.rows.row) is not None:
            shown = "The trace shows it now. " if info.path == self._shown else ""
            gone = f" The first {info.first - 1:,} messages had to go." if info.first > 1 else ""
            about = f"{shown}{info.problem or _ABOUT[_state(info)]}{gone}"
            self.note(f"{about}\n{info.path} {info.origin} {info.version}")

    @on(Input.Submitted)
    @on(VirtualList.Chosen)
    def action_open(self) -> None:
        """Open the file that is named, else the session under the cursor."""
        info, name = self.rows.row, self.query_one(Input).value.strip()
        if name and not self.rows.has_focus:
            self.run_worker(self._open(Path(name).expanduser()), exclusive=True)
        elif info is None or info.problem:
            self.app.say("There is no session that can be opened.", "warning")
        elif _state(info) == "here":
            self.dismiss((None, "Trace"))
        else:
            self.run_worker(self._open(info.path), exclusive=True)

    async def _open(self, path: Path) -> None:
        """Read a session or bundle beside the event loop; secrets go out of comments that are added to it."""
        try:
            session = await asyncio.to_thread(open_file, path, self.app.studio.redactor.text)
        except StudioError as error:
            self.note(f"{error.message} {error.hint}", "bad")
            return
        info = session.info
        title = f"Session of {when(info.began)}, {info.state} · {', '.join(info.servers)}"
        self.dismiss((session, f"File {path.name}" if isinstance(session, Bundle) else title))

    def action_delete(self) -> None:
        """Delete the one under the cursor, after asking."""
        info = self.rows.row
        if info is None or info.path == self._shown or info.state == "running":
            self.app.say("A session that is shown or being recorded cannot be deleted.", "warning")
        else:
            self.app.attempt(self, self._delete(info), group="delete")

    async def _delete(self, info: SessionInfo) -> None:
        text = f"{when(info.began)}, {units.plural(info.entries, 'message')}\n{info.path}"
        if await self.app.push_screen_wait(Confirm("Delete this session?", text, "Delete", destroys=True)):
            await asyncio.to_thread(delete, info.path)
            await self._fill()

    def action_copy(self) -> None:
        """Copy the path."""
        if self.rows.row is not None:
            self.app.copy(str(self.rows.row.path))


def _state(info: SessionInfo) -> str:
    return "here" if info.state == "running" and info.pid == os.getpid() else info.state


def _draw(info: SessionInfo, width: int, selected: bool) -> Line:
    signs, state = glyphs(), _state(info)
    sign, look = {"here": (signs.on, "ok"), "running": (signs.half, "ok"), "ended": (signs.ok, "dim")}.get(
        state, (signs.bad, "bad")
    )
    lasted = "" if not info.began or info.ended is None else units.seconds(max(0.0, info.ended - info.began))
    names = ", ".join(info.servers)
    figures = f" {when(info.began):<17} {lasted:>7} {info.entries:>9,} {units.size(info.bytes):>8}  "
    name = safe(f"{info.title}: {names}" * bool(info.title) or names)
    begin = f"{sign} {'this one' if state == 'here' else state:<10}"
    return [(begin, look), (cut(f"{figures}{name}", width - len(begin), more=signs.more), "")]


def when(moment: float) -> str:
    """`21 Nov 2026 12:01`."""
    return time.strftime("%d %b %Y %H:%M", time.localtime(moment)) if moment else glyphs().dash
