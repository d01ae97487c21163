"""Exporting the trace: what of it, as what, and where to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, RadioButton, RadioSet, Select, Static

from mcp_studio.errors import StudioError
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.trace.export.collector import PATH, send
from mcp_studio.trace.export.formats import FORMATS, exchange, export, marked, new_file
from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.tui.screens.comment import name_of
from mcp_studio.tui.screens.dialog import Choice, Dialog

_COLLECTOR = "collector"
_SPANS = "requests as spans, sent to an OpenTelemetry collector"


class Part(NamedTuple):
    """Some entries of a trace."""

    name: str
    about: str
    numbers: Sequence[int]

    @property
    def label(self) -> Content:
        """How it is offered."""
        count = f"  {units.plural(len(self.numbers), 'message')}"
        return Content.assemble(f"{self.name.capitalize()}  ", (self.about, "$quiet"), (count, "$quiet"))


def parts_of(recording: Recording, entry: WireMessage | None, filtered: Sequence[int] | None) -> list[Part]:
    """What there is to choose from, the most likely first."""
    parts: list[Part] = []
    if len(noted := marked(recording.columns)):
        parts.append(Part("marked", "what you marked", noted))
    if entry is not None:
        numbers = exchange(recording, entry.number)
        parts.append(Part("exchange", f"{name_of(entry)}, with all that belongs to it", numbers))
    if filtered is not None and len(filtered):
        parts.append(Part("filtered", "what the query shows", filtered))
    if len(recording):
        parts.append(Part("everything", "", range(recording.first_number, recording.total + 1)))
    return parts


class Export(Dialog[None]):
    """Writes a file, or sends spans; stays until that is done.

    Args:
        entry: the one under the cursor.
        filtered: what a query shows; None without one.
    """

    DEFAULT_CSS = """
    Export {
        & .label { color: $quiet; margin-top: 1; }
        & #part { width: 1fr; border: none; background: $surface; padding: 0; }
        & #note { margin-top: 1; &.-wrong { color: $state-failed; } }
    }
    """
    choices = (Choice("write", "Export", "primary"), Choice("back", "Cancel"))
    last_format: ClassVar[str] = "bundle"
    last_places: ClassVar[dict[bool, str]] = {False: "", True: "http://localhost:4318"}
    """The folder, and the address of a collector, that were named last."""

    def __init__(self, recording: Recording, entry: WireMessage | None, filtered: Sequence[int] | None) -> None:
        super().__init__()
        self._recording = recording
        self._parts = parts_of(recording, entry, filtered)
        self._doing: asyncio.Task[None] | None = None

    def heading(self) -> str:
        return "Export the trace"

    def body(self) -> Iterable[Widget]:
        formats = [*((f"{one.name}: {one.words}", one.name) for one in FORMATS.values()), (_SPANS, _COLLECTOR)]
        buttons = (RadioButton(part.label, value=not at) for at, part in enumerate(self._parts))
        yield RadioSet(*buttons, id="part")
        yield Static("Format", classes="label")
        yield Select(formats, value=self.last_format, allow_blank=False, id="format", compact=True)
        yield Static("Folder", classes="label", id="where")
        yield Input(compact=True, id="place")
        yield Static(id="note", markup=False)

    @property
    def _sends(self) -> bool:
        """Whether it goes to a collector, and not into a file."""
        return self.query_one("#format", Select).value == _COLLECTOR

    @on(Select.Changed)
    def _place(self) -> None:
        """Whether a folder or an address is asked for; what was typed for the other one is kept."""
        where = f"Address of the collector; without a path spans go to {PATH}" if self._sends else "Folder"
        self.query_one("#where", Static).update(Content(where))
        self.query_one("#place", Input).value = self.last_places[self._sends] or _here()

    @on(Input.Submitted)
    async def action_write(self) -> None:
        if self._doing is not None:
            return
        chosen = self.query_one("#part", RadioSet).pressed_index
        if not 0 <= chosen < len(self._parts):
            self._say("There is nothing to export yet.", wrong=True)
            return
        place = self.last_places[self._sends] = self.query_one("#place", Input).value
        type(self).last_format = str(self.query_one("#format", Select).value)
        part = self._parts[chosen]
        self._doing = asyncio.ensure_future(self._write(part, place))

    async def _write(self, part: Part, place: str) -> None:
        try:
            done = await (self._send(part, place) if self._sends else self._save(part, place))
        except StudioError as error:
            self._say(f"{error.message} {error.hint}", wrong=True)
        except OSError as error:
            self._say(f"Not exported: {error.strerror or error}.", wrong=True)
        else:
            if self.is_attached:
                self.app.say(done)
                self.dismiss(None)
        finally:
            self._doing = None

    async def _save(self, part: Part, folder: str) -> str:
        kind, redactor = self.last_format, self.app.studio.redactor
        path = await asyncio.to_thread(new_file, folder, part.name, FORMATS[kind].ending)
        title = f"A trace: {part.about or part.name}"
        written = await export(self._recording, part.numbers, kind, path, redactor, title=title, told=self._told)
        size = (await asyncio.to_thread(path.stat)).st_size
        return f"Wrote {units.plural(written.entries, 'message')}, {units.size(size)}, to {path}."

    async def _send(self, part: Part, address: str) -> str:
        sent = await send(self._recording, part.numbers, address, self.app.studio.redactor, told=self._told)
        left = f" It rejected {sent.rejected:,} of them. {sent.message}" if sent.rejected else ""
        return f"Sent {units.plural(sent.spans, 'span')} to the collector.{left}"

    def _told(self, done: int, total: int) -> None:
        self._say(f"{done:,} of {total:,} messages")

    def _say(self, text: str, *, wrong: bool = False) -> None:
        if self.is_attached:
            note = self.query_one("#note", Static)
            note.set_class(wrong, "-wrong")
            note.update(Content(safe(text.strip(), 500)))

    def on_unmount(self) -> None:
        """What is not finished leaves nothing behind."""
        if self._doing is not None:
            self._doing.cancel()

    def action_back(self) -> None:
        """Stop, or leave."""
        if self._doing is None:
            self.dismiss(None)
        else:
            self._doing.cancel()
            self._say("Stopped; what was sent is sent." if self._sends else "Stopped; nothing was written.", wrong=True)


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # the folder we were started in is gone
        return str(Path.home())
