"""The sessions that were recorded: which there are, how each ended, and which of them to open."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.errors import StudioError
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.trace.disk.sessions import SessionInfo, delete, sessions
from mcp_studio.tui import late
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.screens.path_dialog import PathDialog
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, fit
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp

_ENDS = {
    "here": "It is being recorded here, now.",
    "running": "Another studio is recording it at this moment.",
    "ended": "It was ended properly.",
    "crashed": "The studio that recorded it was killed or crashed; at most its last quarter second is missing.",
    "unreadable": "It cannot be read.",
}


class Chosen(NamedTuple):
    """What is to be opened; `path` is None for what is being recorded here."""

    path: Path | None
    info: SessionInfo | None = None


class Head(Widget):
    """What the columns are."""

    DEFAULT_CSS = "Head { height: 1; color: $quiet; }"

    def render(self) -> Content:
        """As wide as those of the list below."""
        width = self.size.width - 1  # the list keeps a place for its scrollbar
        size = f" {'size':>8}" if width >= 64 else ""
        state = 12 if width >= 76 else 2
        return Content(f"  {'began':<17} {'lasted':>8}{'messages':>11}{size}{'':<{state}}servers")


class SessionsDialog(Dialog[Chosen], scope="sessions"):
    """Answers which session or file is to be opened.

    Args:
        folder: where sessions are kept.
        shown: the file that the trace shows now.
    """

    def __init__(self, folder: Path, shown: Path | None) -> None:
        super().__init__()
        self._folder = folder
        self._shown = shown
        self._list = VirtualList[SessionInfo](self._draw, key=lambda one: one.path, empty="Looking for sessions …")
        self._head = Head()
        self._head.display = False
        self._note = Static(classes="note")

    def heading(self) -> Content:
        """What it is."""
        return Content("Sessions")

    def body(self) -> Iterable[Widget]:
        """The list, and words on the one with the cursor."""
        yield self._head
        yield self._list
        yield self._note

    def on_mount(self) -> None:
        """Look for them."""
        self._list.focus()
        self.run_worker(self._look(), group="look", exclusive=True)

    async def _look(self) -> None:
        found = sorted(await asyncio.to_thread(sessions, self._folder), key=lambda one: one.began, reverse=True)
        self._list.empty = f"No session is kept yet, in {self._folder}"
        self._list.set_rows(found)
        self._head.display = bool(found)
        size = units.size(sum(one.bytes for one in found))
        self.retitle(Content(f"Sessions {len(found):,} · {size}" if found else "Sessions"))
        self._tell()

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Tell more about the one with the cursor."""
        event.stop()
        self._tell()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click opens it."""
        event.stop()
        self.action_open()

    def _tell(self) -> None:
        info = self._list.row
        if info is None:
            self._note.update("")
            return
        words = [_ENDS[_state(info)]]
        if info.path == self._shown:
            words.insert(0, "The trace shows it now.")
        if info.first > 1:
            words.append(f"The first {info.first - 1:,} messages had to go.")
        by = " ".join(filter(None, (info.origin, info.version)))
        lines = [" ".join(words), safe(info.problem, 300), safe(f"{info.path}{f', by {by}' if by else ''}", 300)]
        if len(info.servers) > 1:
            lines.insert(1, safe(", ".join(info.servers), 300))
        self._note.update(Content("\n".join(filter(None, lines))))

    def _draw(self, info: SessionInfo, width: int, selected: bool) -> Line:
        signs = glyphs()
        state = _state(info)
        sign: Piece = {
            "here": (signs.on, "ok"), "running": (signs.half, "ok"), "ended": (signs.ok, "dim"),
            "crashed": (signs.bad, "bad"), "unreadable": (signs.bad, "bad"),
        }[state]  # fmt: skip
        words = {"here": "this one", "running": "running", "ended": "", "crashed": "crashed"}.get(state, state)
        parts: list[Piece] = [sign, (f" {when(info.began):<17} ", "strong" if info.path == self._shown else "")]
        parts.append((fit(_length(info), 8, right=True), "dim"))
        parts.append((f"{info.entries:>11,}", ""))
        if width >= 64:
            parts.append((f" {units.size(info.bytes):>8}", "dim"))
        parts.append((f"  {words:<10}" if width >= 76 else "  ", sign[1]))
        used = sum(cell_len(text) for text, _ in parts)
        names = f"{info.title}: {', '.join(info.servers)}" if info.title else ", ".join(info.servers)
        return [*parts, (cut(safe(names, 200), max(0, width - used)), "")]

    # What the person does

    @property
    def _app(self) -> StudioApp:
        return cast("StudioApp", self.app)

    def action_open(self) -> None:
        """Open the one with the cursor."""
        info = self._list.row
        if info is None:
            self._app.say(f"Nothing is kept yet; {self._app.spell('session-file')} opens a file.", "warning")
        elif info.problem:
            self._app.say(f"It cannot be opened: {safe(info.problem, 300)}", "warning")
        else:
            self.dismiss(Chosen(None if _state(info) == "here" else info.path, info))

    def action_file(self) -> None:
        """Open a file."""
        self.app.push_screen(PathDialog("Open a session or bundle"), self._file)

    def _file(self, path: Path | None) -> None:
        if path is not None:
            self.dismiss(Chosen(path))

    def action_delete(self) -> None:
        """Delete the one with the cursor, after asking."""
        info = self._list.row
        if info is None:
            self._app.say("There is nothing to delete.", "warning")
        elif info.path == self._shown:
            self._app.say("The trace shows it; go back to what is being recorded first.", "warning")
        elif info.state == "running":
            self._app.say("It is still being recorded.", "warning")
        else:
            self.run_worker(self._delete(info), group="delete", exclusive=True)

    async def _delete(self, info: SessionInfo) -> None:
        text = f"{when(info.began)}, {units.plural(info.entries, 'message')}\n{info.path}"
        if not await self.app.push_screen_wait(late.confirm("Delete this session?", text)):
            return
        try:
            await asyncio.to_thread(delete, info.path)
        except StudioError as error:
            self._app.fail(error)
        await self._look()

    def action_copy(self) -> None:
        """Copy the path."""
        if self._list.row is not None:
            self._app.copy(str(self._list.row.path))

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)


def when(moment: float) -> str:
    """`Sat 21 Nov 12:01`, with the year where it is another one."""
    if not moment:
        return "—"
    then = time.localtime(moment)
    year = "" if then.tm_year == time.localtime().tm_year else f" {then.tm_year}"
    return time.strftime(f"%a %d %b{year} %H:%M", then)


def _length(info: SessionInfo) -> str:
    if not info.began or info.ended is None:
        return ""
    return units.seconds(max(0.0, info.ended - info.began))


def _state(info: SessionInfo) -> str:
    return "here" if info.state == "running" and info.pid == os.getpid() else info.state
