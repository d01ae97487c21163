"""Writing the trace, or a part of it, to a file or to a collector."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import on, work
from textual.content import Content
from textual.widgets import Button, Input, RadioButton, RadioSet, Select, Static

from mcp_studio.errors import UsageError
from mcp_studio.present import units
from mcp_studio.trace.export.collector import PATH, send
from mcp_studio.trace.export.formats import FORMATS, export
from mcp_studio.trace.message import MARKED, Columns, Recording, WireMessage
from mcp_studio.trace.tree import family_of
from mcp_studio.tui.external import file_stem
from mcp_studio.tui.screens.dialog import Choice, Dialog, Widgets
from mcp_studio.tui.views.lines import signed
from mcp_studio.tui.views.rows import glyphs
from mcp_studio.tui.views.trace_table import name_of

_COLLECTOR = "collector"
_CONTENTS = {"otlp": "spans of ", "har": "exchanges of ", "markdown": "a summary of ", "workflow": "a workflow of "}
"""What files contain instead of messages, by their format."""

_SPANS = "requests as spans, sent to an OpenTelemetry collector"


class Part(NamedTuple):
    """A choice of messages of a trace."""

    name: str
    about: str
    numbers: Sequence[int]


def parts_of(recording: Recording, entry: WireMessage | None, filtered: Sequence[int] | None) -> list[Part]:
    """The parts that the person can export, the most likely first.

    Args:
        entry: the entry under the cursor; a note or a line of stderr is no exchange.
        filtered: the numbers that a query finds; None without a query.
    """
    parts = [
        Part("marked", "what is marked", marked(recording.columns)),
        Part("filtered", "what the query shows", filtered or ()),
        Part("everything", "the whole trace", range(recording.first_number, recording.total + 1)),
    ]
    if entry is not None and entry.kind not in ("note", "stderr"):
        parts.insert(1, Part("exchange", f"this exchange: {name_of(entry)}", family_of(recording, entry.number)))
    return [part for part in parts if part.numbers]


class Radio(RadioButton):
    """A radio button that looks like those of forms."""

    def render(self) -> Content:
        return signed(self, glyphs().on if self.value else glyphs().off)


class Export(Dialog[None]):
    """Exports to a file, or sends spans; closes when that is done."""

    TITLE = "Export the trace"
    choices = (Choice("write", "Export", "primary"), Choice("back", "Cancel"))
    last_format: ClassVar[str] = "bundle"
    last_places: ClassVar[dict[bool, str]] = {False: "", True: "http://localhost:4318"}
    """The folder, and the address of a collector, to which an export went last."""

    def __init__(self, recording: Recording, parts: Sequence[Part]) -> None:
        super().__init__()
        self._recording, self._parts, self._places = recording, parts, {**self.last_places}

    def body(self) -> Widgets:
        formats = [*((f"{one.name}: {one.words}", one.name) for one in FORMATS.values()), (_SPANS, _COLLECTOR)]
        labels = (
            Content(f"{part.about.capitalize()}  {units.plural(len(part.numbers), 'message')}") for part in self._parts
        )
        yield RadioSet(*(Radio(label, value=not at) for at, label in enumerate(labels)), compact=True)
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
        self.query_one(Input).value = self._places[self._sends]

    @on(Input.Changed)
    def _keep_place(self, event: Input.Changed) -> None:
        self._places[self._sends] = event.value
        self.note("")

    @on(Input.Submitted)
    @work(group="export", exclusive=True)
    async def action_write(self) -> None:
        self.query_one("#write", Button).disabled = True
        part = self._parts[self.query_one(RadioSet).pressed_index]
        with self.noting():
            self.app.say(await (self._send(part) if self._sends else self._save(part)))
            type(self).last_places = self._places
            self.dismiss(None)
        self.query_one("#write", Button).disabled = False

    async def _save(self, part: Part) -> str:
        kind, redactor = self.last_format, self.app.studio.redactor
        path = new_file(self._places[False], part.name, FORMATS[kind].ending)
        if not (above := path.parent.parent).is_dir():  # one new folder is meant, several are a slip
            raise UsageError(f"There is no folder {above}.")
        title = f"A trace: {part.about}"
        count = await export(self._recording, part.numbers, kind, path, redactor, title=title, progress=self._told)
        size = (await asyncio.to_thread(path.stat)).st_size
        return f"Wrote {_CONTENTS.get(kind, '')}{units.plural(count, 'message')}, {units.size(size)}, to {path}."

    async def _send(self, part: Part) -> str:
        studio, address = self.app.studio, self._places[True]
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
            self.query_one("#write", Button).disabled = False
        else:
            self.dismiss(None)


def marked(columns: Columns) -> list[int]:
    """The entries that the person has marked."""
    return [number for number, flags in enumerate(columns.flags, columns.first) if flags & MARKED]


def new_file(folder: str, what: str, ending: str) -> Path:
    """The path of a new file: `trace-20260728-120107-marked.jsonl`. The name contains only safe characters."""
    name = f"trace-{time.strftime('%Y%m%d-%H%M%S')}-{file_stem(what, 'part')}.{ending}"
    return Path(folder.strip()).expanduser().absolute() / name
