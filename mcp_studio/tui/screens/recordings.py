"""Recordings of the trace: exporting messages in some format to a file or a collector; and the recorded sessions."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import on, work
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Input, RadioButton, RadioSet, Select, Static

from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.trace.disk.session import Bundle, Session
from mcp_studio.trace.disk.sessions import SessionInfo, delete, sessions
from mcp_studio.trace.export.bundle import open_file
from mcp_studio.trace.export.collector import PATH, send
from mcp_studio.trace.export.formats import FORMATS, export
from mcp_studio.trace.message import MARKED, Columns, Recording, WireMessage
from mcp_studio.trace.tree import family_of
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.external import file_stem
from mcp_studio.tui.screens.dialog import Choice, Confirm, Dialog
from mcp_studio.tui.views.rows import Line, VirtualList, cut, glyphs
from mcp_studio.tui.views.trace_table import name_of

_COLLECTOR = "collector"
_SPANS = "requests as spans, sent to an OpenTelemetry collector"


class Part(NamedTuple):
    """A choice of messages of a trace."""

    name: str
    about: str
    numbers: Sequence[int]


def parts_of(recording: Recording, entry: WireMessage | None, filtered: Sequence[int] | None) -> list[Part]:
    """The parts that the person can export, the most likely first.

    Args:
        entry: the entry under the cursor.
        filtered: the numbers that a query finds; None without a query.
    """
    parts = [
        Part("marked", "what is marked", marked(recording.columns)),
        Part("filtered", "what the query shows", filtered or ()),
        Part("everything", "the whole trace", range(recording.first_number, recording.total + 1)),
    ]
    if entry is not None:
        parts.insert(1, Part("exchange", f"this exchange: {name_of(entry)}", family_of(recording, entry.number)))
    return [part for part in parts if part.numbers]


class Export(Dialog[None]):
    """Exports to a file, or sends spans; closes when that is done."""

    TITLE = "Export the trace"
    choices = (Choice("write", "Export", "primary"), Choice("back", "Cancel"))
    last_format: ClassVar[str] = "bundle"
    last_places: ClassVar[dict[bool, str]] = {False: "", True: "http://localhost:4318"}
    """The last folder, and the last address of a collector."""

    def __init__(self, recording: Recording, parts: Sequence[Part]) -> None:
        super().__init__()
        self._recording, self._parts = recording, parts

    def body(self) -> Iterable[Widget]:
        formats = [*((f"{one.name}: {one.words}", one.name) for one in FORMATS.values()), (_SPANS, _COLLECTOR)]
        labels = (
            Content.assemble(part.about.capitalize(), (f"  {units.plural(len(part.numbers), 'message')}", "$quiet"))
            for part in self._parts
        )
        yield RadioSet(*(RadioButton(label, value=not at) for at, label in enumerate(labels)), compact=True)
        yield Static("Format", classes="label")
        yield Select(formats, value=self.last_format, allow_blank=False, compact=True)
        yield Static("Folder", classes="label", id="where")
        yield Input(compact=True, placeholder="The folder in which the studio was started")

    @property
    def _sends(self) -> bool:
        """Whether the export goes to a collector instead of a file."""
        return self.last_format == _COLLECTOR

    @on(Select.Changed)
    def _ask_place(self) -> None:
        """Ask for a folder or an address; the text for the other one is remembered."""
        type(self).last_format = str(self.query_one(Select).value)
        where = f"Address of the collector; without a path spans go to {PATH}" if self._sends else "Folder"
        self.query_one("#where", Static).update(Content(where))
        self.query_one(Input).value = self.last_places[self._sends]

    @on(Input.Changed)
    def _keep_place(self, event: Input.Changed) -> None:
        self.last_places[self._sends] = event.value

    @on(Input.Submitted)
    @work(group="export", exclusive=True)
    async def action_write(self) -> None:
        self.query_one("#write", Button).disabled = True
        part = self._parts[self.query_one(RadioSet).pressed_index]
        try:
            with self.noting():
                self.app.say(await (self._send(part) if self._sends else self._save(part)))
                self.dismiss(None)
        finally:
            if self.is_attached:
                self.query_one("#write", Button).disabled = False

    async def _save(self, part: Part) -> str:
        kind, redactor = self.last_format, self.app.studio.redactor
        path = new_file(self.last_places[False], part.name, FORMATS[kind].ending)
        title = f"A trace: {part.about}"
        count = await export(self._recording, part.numbers, kind, path, redactor, title=title, progress=self._told)
        size = (await asyncio.to_thread(path.stat)).st_size
        return f"Wrote {units.plural(count, 'message')}, {units.size(size)}, to {path}."

    async def _send(self, part: Part) -> str:
        studio, address = self.app.studio, self.last_places[True]
        sent = await send(self._recording, part.numbers, address, studio.redactor, progress=self._told)
        left = f" It rejected {sent.rejected:,} of them. {sent.message}" if sent.rejected else ""
        return f"Sent {units.plural(sent.taken, 'span')} to the collector.{left}"

    def _told(self, done: int, total: int) -> None:
        self.note(f"{done:,} of {total:,} messages", "quiet")

    def action_back(self) -> None:
        """Stop the export, or leave the dialog."""
        if self.workers.cancel_group(self, "export"):
            sent = "what was sent is sent" if self._sends else "nothing was written"
            self.note(f"Stopped; {sent}.", "bad")
        else:
            self.dismiss(None)


def marked(columns: Columns) -> list[int]:
    """The entries that the person has marked."""
    return [number for number, flags in enumerate(columns.flags, columns.first) if flags & MARKED]


def new_file(folder: str, what: str, ending: str) -> Path:
    """The path of a new file: `trace-20260728-120107-marked.jsonl`. The name contains only safe characters."""
    name = f"trace-{time.strftime('%Y%m%d-%H%M%S')}-{file_stem(what, 'part')}.{ending}"
    return Path(folder.strip()).expanduser().absolute() / name


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
        """Show the present sessions, which may begin, grow and end meanwhile."""
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
            await self._fill()

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
