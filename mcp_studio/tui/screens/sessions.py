"""Recorded sessions: opened, deleted; files of others are opened here, too."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from textual import on, work
from textual.widgets import Input, Static

from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.trace.disk.session import Bundle, Session
from mcp_studio.trace.disk.sessions import SessionInfo, delete, sessions
from mcp_studio.trace.export.bundle import open_file
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.screens.dialog import Choice, Confirm, Dialog, Widgets
from mcp_studio.tui.views.rows import Line, VirtualList, cut, glyphs

_ABOUT = {
    "here": "This studio is recording it now.",
    "running": "Another studio is recording it at this moment.",
    "ended": "The studio that recorded it ended properly.",
    "crashed": "The studio that recorded it was killed or crashed; at most its last quarter second is missing.",
    "unreadable": "It cannot be read.",
}

_HEADER = f"{'State':<12} {'Began':<17} {'Lasted':>7} {'Messages':>9} {'Size':>8}  Servers"

Opened = tuple[Session | None, str]
"""A session, or None for the present recording; and its title."""


class Sessions(Dialog[Opened]):
    """Opens a session or a file; stays open if that fails.

    Args:
        shown: the file that the trace shows now.
    """

    TITLE = "Sessions"
    DEFAULT_CLASSES = "-large"
    BINDINGS = bindings("sessions")
    every = 3.0
    choices = (Choice("open", "Open", "primary"), Choice("delete", "Delete", "error"), Choice("back", "Close"))

    def __init__(self, shown: Path | None) -> None:
        super().__init__()
        self._shown = shown
        self.rows = VirtualList[SessionInfo](_draw, key=lambda one: one.path, empty="Looking for sessions")

    def body(self) -> Widgets:
        yield Static(_HEADER, markup=False)
        yield self.rows
        yield Static(id="note", markup=False)
        yield Input(placeholder="Or a file: the path of a session or bundle", compact=True)

    @work(group="fill", exclusive=True)
    async def look(self) -> None:
        """Show the present sessions, which may begin, grow and end meanwhile."""
        folder = self.app.studio.paths.state / "trace"
        found = await asyncio.to_thread(sessions, folder)
        self.rows.empty = f"There is no session in {folder} yet."
        self.rows.show(sorted(found, key=lambda one: one.began, reverse=True))
        size = units.size(sum(one.bytes for one in found))
        self.retitle(f"Sessions {len(found):,} · {size}" if found else "Sessions")

    @on(VirtualList.Highlighted)
    def _tell(self) -> None:
        """Show details of the session under the cursor."""
        if (info := self.rows.row) is not None:
            shown = "The trace shows it now. " if info.path == self._shown else ""
            gone = f" The first {info.first - 1:,} messages had to go." if info.first > 1 else ""
            about = f"{shown}{info.problem or _ABOUT[_state(info)]}{gone}"
            self.note(f"{about} Written by mcp-studio {info.version}, {info.origin}.\n{info.path}")

    @on(Input.Submitted)
    @on(VirtualList.Chosen)
    def action_open(self) -> None:
        """Open the typed file, or else the session under the cursor."""
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
        """Read a session or bundle in a thread; comments that are added to it are redacted."""
        with self.noting():
            session = await asyncio.to_thread(open_file, path, self.app.studio.redactor.text)
            info = session.info
            title = f"Session of {when(info.began)}, {info.state} · {', '.join(info.servers)}"
            self.dismiss((session, f"File {path.name}" if isinstance(session, Bundle) else title))

    @work(group="delete", exclusive=True)
    async def action_delete(self) -> None:
        """Delete the one under the cursor, after asking."""
        info = self.rows.row
        if info is None or info.path == self._shown or info.state == "running":
            self.app.say("A session that is shown or being recorded cannot be deleted.", "warning")
            return
        text = f"{when(info.began)}, {units.plural(info.entries, 'message')}\n{info.path}"
        if await self.app.push_screen_wait(Confirm("Delete this session?", text, "Delete", destroys=True)):
            await asyncio.to_thread(delete, info.path)
            self.look()

    def action_copy(self) -> None:
        if self.rows.row is not None:
            self.app.copy(str(self.rows.row.path))


def _state(info: SessionInfo) -> str:
    return "here" if info.state == "running" and info.pid == os.getpid() else info.state


def _draw(info: SessionInfo, width: int, selected: bool) -> Line:
    signs, state = glyphs(), _state(info)
    looks = {"here": (signs.on, "ok"), "running": (signs.half, "ok"), "ended": (signs.ok, "dim")}
    sign, look = looks.get(state, (signs.bad, "bad"))
    lasted = "" if not info.began or info.ended is None else units.seconds(max(0.0, info.ended - info.began))
    names = ", ".join(info.servers)
    figures = f" {when(info.began):<17} {lasted:>7} {info.entries:>9,} {units.size(info.bytes):>8}  "
    name = safe(f"{info.title}: {names}" * bool(info.title) or names)
    begin = f"{sign} {'this one' if state == 'here' else state:<10}"
    return [(begin, look), (cut(f"{figures}{name}", width - len(begin)), "")]


def when(moment: float) -> str:
    """`2026-11-21 12:01`."""
    return units.date_time(moment)[:16] or glyphs().dash
