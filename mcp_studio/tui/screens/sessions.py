"""The sessions that were recorded: which there are, how each ended, and which of them, or which file, to open."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import getters, on
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import DataTable, Input, Static

from mcp_studio.errors import StudioError
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.trace.disk.format import is_database
from mcp_studio.trace.disk.session import Session
from mcp_studio.trace.disk.sessions import SessionInfo, delete, sessions
from mcp_studio.trace.export.bundle import open_bundle
from mcp_studio.tui.bindings import bindings
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.glyphs import glyphs

_ENDS = {
    "here": "It is being recorded here, now.",
    "running": "Another studio is recording it at this moment.",
    "ended": "It was ended properly.",
    "crashed": "The studio that recorded it was killed or crashed; at most its last quarter second is missing.",
    "unreadable": "It cannot be read.",
}
_WORDS = {"here": "this one", "running": "running", "ended": "ended", "crashed": "crashed", "unreadable": "unreadable"}
_LOOKS = {"here": "$state-ready", "running": "$state-ready", "ended": "$quiet"}


class Chosen(NamedTuple):
    """What is to be opened; `path` is None for what is being recorded here."""

    path: Path | None


class Sessions(Dialog[Chosen]):
    """Answers which session or file is to be opened.

    Args:
        folder: where sessions are kept.
        shown: the file that the trace shows now.
    """

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    Sessions {
        & DataTable { height: 1fr; background: $surface; }
        & #about { height: auto; min-height: 3; color: $quiet; margin: 1 0; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("dialog"), *bindings("sessions")]
    choices = (Choice("open", "Open", "primary"), Choice("delete", "Delete", "error"), Choice("back", "Close"))
    table = getters.query_one(DataTable[Content])

    def __init__(self, folder: Path, shown: Path | None) -> None:
        super().__init__()
        self._folder = folder
        self._shown = shown
        self._known: dict[str, SessionInfo] = {}

    def heading(self) -> str:
        return "Sessions"

    def body(self) -> Iterable[Widget]:
        yield DataTable(cursor_type="row", zebra_stripes=False)
        yield Static("Looking for sessions …", id="about", markup=False)
        yield Input(placeholder="Or a file: the path of a session or bundle", id="file", compact=True)

    def on_mount(self) -> None:
        self.table.add_columns("State", "Began", "Lasted", "Messages", "Size", "Servers")
        self.table.focus()
        self._look()

    def _look(self) -> None:
        self.run_worker(self._fill(), group="look", exclusive=True)

    async def _fill(self) -> None:
        found = sorted(await asyncio.to_thread(sessions, self._folder), key=lambda one: one.began, reverse=True)
        self._known = {str(one.path): one for one in found}
        self.table.clear()
        for key, one in self._known.items():
            self.table.add_row(*_cells(one), key=key)
        size = units.size(sum(one.bytes for one in found))
        self.retitle(f"Sessions {len(found):,} · {size}" if found else "Sessions")
        self._tell()

    @property
    def chosen(self) -> SessionInfo | None:
        """The session under the cursor."""
        if not self.table.row_count:
            return None
        key = self.table.coordinate_to_cell_key(self.table.cursor_coordinate).row_key.value
        return self._known.get(key or "")

    @on(DataTable.RowHighlighted)
    def _tell(self) -> None:
        """Tell more about the one under the cursor."""
        info, about = self.chosen, self.query_one("#about", Static)
        if info is None:
            about.update(Content(f"No session is kept yet in {self._folder}."))
            return
        words = [*(["The trace shows it now."] if info.path == self._shown else []), _ENDS[_state(info)]]
        if info.first > 1:
            words.append(f"The first {info.first - 1:,} messages had to go.")
        by = " ".join(filter(None, (info.origin, info.version)))
        lines = [" ".join(words), safe(info.problem, 300), safe(f"{info.path}{f', by {by}' if by else ''}", 300)]
        about.update(Content("\n".join(filter(None, lines))))

    @on(DataTable.RowSelected)
    def action_open(self) -> None:
        info = self.chosen
        if self.query_one("#file", Input).has_focus:
            self._open_file()
        elif info is None or info.problem:
            self.app.say(f"It cannot be opened: {info.problem}" if info else "No session is kept yet.", "warning")
        else:
            self.dismiss(Chosen(None if _state(info) == "here" else info.path))

    @on(Input.Submitted)
    def _open_file(self) -> None:
        if text := self.query_one("#file", Input).value.strip():
            self.dismiss(Chosen(Path(text).expanduser()))

    def action_delete(self) -> None:
        """Delete the one under the cursor, after asking."""
        info = self.chosen
        if info is None or info.path == self._shown or info.state == "running":
            self.app.say("A session that is shown or being recorded cannot be deleted.", "warning")
            return
        from mcp_studio.tui.screens.confirm import Confirm

        def answered(yes: bool | None) -> None:
            if yes:
                self.app.attempt(self, self._delete(info), group="delete")

        text = f"{when(info.began)}, {units.plural(info.entries, 'message')}\n{info.path}"
        self.app.push_screen(Confirm("Delete this session?", text, "Delete", destroys=True), answered)

    async def _delete(self, info: SessionInfo) -> None:
        await asyncio.to_thread(delete, info.path)
        self._look()

    def action_copy(self) -> None:
        """Copy the path."""
        if self.chosen is not None:
            self.app.copy(str(self.chosen.path))


def _state(info: SessionInfo) -> str:
    return "here" if info.state == "running" and info.pid == os.getpid() else info.state


def _cells(info: SessionInfo) -> tuple[Content, ...]:
    signs, state = glyphs(), _state(info)
    sign = {"here": signs.on, "running": signs.half, "ended": signs.ok}.get(state, signs.bad)
    lasted = max(0.0, info.ended - info.began) if info.began and info.ended is not None else None
    names = ", ".join(info.servers)
    return (
        Content.styled(f"{sign} {_WORDS[state]}", _LOOKS.get(state, "$state-failed")),
        Content(when(info.began)),
        Content(f"{'' if lasted is None else units.seconds(lasted):>8}"),
        Content(f"{info.entries:>9,}"),
        Content(f"{units.size(info.bytes):>8}"),
        Content(safe(f"{info.title}: {names}" if info.title else names, 200)),
    )


def when(moment: float) -> str:
    """`Sat 21 Nov 12:01`, with the year where it is another one."""
    if not moment:
        return glyphs().dash
    then = time.localtime(moment)
    year = "" if then.tm_year == time.localtime().tm_year else f" {then.tm_year}"
    return time.strftime(f"%a %d %b{year} %H:%M", then)


async def open_file(path: Path, clean: Callable[[str], str]) -> tuple[Session, str]:
    """A session or a bundle, whichever it is, and what to call it; read beside the event loop.

    Args:
        clean: takes secrets out of comments that are added.

    Raises:
        StudioError: it is neither, or cannot be read.
    """
    try:
        recorded = await asyncio.to_thread(is_database, path)
    except OSError as problem:
        raise StudioError(f"{path} cannot be opened: {problem.strerror or problem}.") from None
    if not recorded:
        bundle = await asyncio.to_thread(open_bundle, path)
        made = bundle.head.get("made")
        # Times further away than some thousand years cannot be shown everywhere.
        since = f", made {when(float(made))}" if isinstance(made, (int, float)) and 0 <= made < 1e11 else ""
        return bundle, f"File {path.name}{since}"
    session = await asyncio.to_thread(Session, path, clean)
    info = session.info
    kind = "Session of another studio" if info.state == "running" else "Past session"
    crashed = ", crashed" if info.state == "crashed" else ""
    return session, f"{kind} {when(info.began)}{crashed} · {', '.join(info.servers)}"
