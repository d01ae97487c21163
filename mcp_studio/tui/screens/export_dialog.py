"""Exporting the trace: what of it, as what, and where to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from textual.content import Content
from textual.events import Key
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.errors import StudioError
from mcp_studio.paths import file_stem
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.trace.export.collector import PATH, send
from mcp_studio.trace.export.formats import FORMATS, export
from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.tracing import family_of, marked
from mcp_studio.tui.views.line import Line, fit
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp

COLLECTOR = "collector"
_LOCAL = "http://localhost:4318"


class What(NamedTuple):
    """Entries that can be exported."""

    name: str
    words: str
    numbers: Sequence[int]


class As(NamedTuple):
    """A format, or the collector."""

    name: str
    words: str


class ExportDialog(Dialog[None], scope="export"):
    """Writes a file, or sends spans; stays until that is done.

    Args:
        entry: the one under the cursor.
        filtered: what a filter shows; None without one.
    """

    last_format: ClassVar[str] = "bundle"
    last_folder: ClassVar[str] = ""
    last_address: ClassVar[str] = _LOCAL

    def __init__(self, recording: Recording, entry: WireMessage | None, filtered: Sequence[int] | None) -> None:
        super().__init__()
        self._recording = recording
        self._doing: asyncio.Task[None] | None = None
        self.what: VirtualList[What] = VirtualList(_draw, key=lambda one: one.name)
        self.formats: VirtualList[As] = VirtualList(_draw, key=lambda one: one.name)
        self.formats.set_rows([*(As(one.name, one.words) for one in FORMATS.values()), As(COLLECTOR, _SPANS)])
        self.what.set_rows(_choices(recording, entry, filtered))
        self._where = Static("", classes="quiet gap")
        self.place = Input(self.last_folder or _here(), compact=True)
        self._note = Static(classes="note")

    def heading(self) -> Content:
        """What it is."""
        return Content("Export the trace")

    def body(self) -> Iterable[Widget]:
        """What, as what, and where to."""
        yield Static(Content("What"), classes="quiet")
        yield self.what
        yield Static(Content("As"), classes="quiet gap")
        yield self.formats
        yield self._where
        yield self.place
        yield self._note

    def on_mount(self) -> None:
        """Begin with what is most likely meant."""
        self.formats.go_to_key(self.last_format)
        self.what.focus()
        self._tell()

    def on_key(self, event: Key) -> None:
        """At the ends of a list the cursor goes on to what is next to it."""
        lists = (self.what, self.formats)
        focused = next((one for one in lists if one.has_focus), None)
        if event.key == "down" and focused is not None and focused.cursor == focused.row_count - 1:
            self.focus_next()
        elif event.key == "up" and (self.place.has_focus or (self.formats.has_focus and self.formats.cursor == 0)):
            self.focus_previous()
        else:
            return
        event.stop()
        event.prevent_default()

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Say what comes of it."""
        event.stop()
        if event.view is self.formats:
            self._tell()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click does it."""
        event.stop()
        self.action_write()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter does it."""
        event.stop()
        self.action_write()

    def _tell(self) -> None:
        """Whether a folder or an address is asked for; what was typed for the other one is kept."""
        to_collector = self.formats.row is not None and self.formats.row.name == COLLECTOR
        if to_collector != self.place.has_class("-address"):
            self._keep()
            self.place.set_class(to_collector, "-address")
            self.place.value = self.last_address if to_collector else self.last_folder or _here()
        words = f"Address of the collector; without a path spans go to {PATH}" if to_collector else "Folder"
        self._where.update(Content(words))

    def _keep(self) -> None:
        if self.place.has_class("-address"):
            type(self).last_address = self.place.value
        else:
            type(self).last_folder = self.place.value

    # Doing it

    def action_write(self) -> None:
        """Export."""
        if self._doing is not None:
            return
        what, kind = self.what.row, self.formats.row
        if what is None or kind is None:
            self._say("There is nothing to export yet.")
            return
        self._keep()
        type(self).last_format = kind.name
        self._note.update("")
        self._doing = asyncio.ensure_future(self._write(what, kind.name))

    async def _write(self, what: What, kind: str) -> None:
        try:
            told = await (self._send(what) if kind == COLLECTOR else self._save(what, kind))
        except StudioError as error:
            self._say(f"{error.message} {error.hint}")
        except OSError as error:
            self._say(f"Not exported: {error.strerror or error}.")
        else:
            if self.is_attached:
                self._app.say(told)
                self.dismiss(None)
        finally:
            self._doing = None

    async def _save(self, what: What, kind: str) -> str:
        path = await asyncio.to_thread(new_file, self.place.value, what.name, FORMATS[kind].ending)
        redactor = self._app.studio.redactor
        title = f"A trace: {what.words or what.name}"
        count = await export(self._recording, what.numbers, kind, path, redactor, title=title, told=self._told)
        size = (await asyncio.to_thread(path.stat)).st_size
        return f"Wrote {units.plural(count, 'message')}, {units.size(size)}, to {path}."

    async def _send(self, what: What) -> str:
        studio = self._app.studio
        sent = await send(
            self._recording, what.numbers, self.place.value, studio.redactor, told=self._told
        )  # fmt: skip
        left = f" It did not want {sent.rejected:,} of them. {sent.message}" if sent.rejected else ""
        return f"Sent {units.plural(sent.spans, 'span')} to the collector.{left}"

    def _told(self, done: int, total: int) -> None:
        if self.is_attached:
            self._note.update(Content(f"{done:,} of {total:,} messages"))

    def _say(self, text: str) -> None:
        if self.is_attached:
            self._note.update(Content.styled(safe(text.strip(), 500), "$state-failed"))

    @property
    def _app(self) -> StudioApp:
        return cast("StudioApp", self.app)

    def on_unmount(self) -> None:
        """What is not finished leaves nothing behind."""
        if self._doing is not None:
            self._doing.cancel()

    def action_close(self) -> None:
        """Stop, or leave."""
        if self._doing is not None:
            self._doing.cancel()
            sending = self.place.has_class("-address")
            self._say("Stopped; what was sent is sent." if sending else "Stopped; nothing was written.")
        else:
            self.dismiss(None)


_SPANS = "requests as spans, sent to an OpenTelemetry collector"


def _choices(recording: Recording, entry: WireMessage | None, filtered: Sequence[int] | None) -> list[What]:
    """What there is to choose from; the most likely first."""
    whole = range(recording.first_number, recording.total + 1)
    rows = [What("everything", "", whole)] if len(whole) else []
    noted = marked(recording.columns)
    if filtered is not None and len(filtered):
        rows.insert(0, What("filtered", "what the filter shows", filtered))
    if noted:
        rows.insert(0, What("marked", "what is marked", noted))
    if entry is not None:
        one = family_of(recording, entry.number)
        name = safe(" ".join(filter(None, (entry.method or entry.kind, entry.target))), 80)
        rows.insert(1 if noted else 0, What("exchange", f"{name}, with all that belongs to it", one))
    return rows


def _draw(row: What | As, width: int, selected: bool) -> Line:
    count = f"{len(row.numbers):>9,}  " if isinstance(row, What) else ""
    return [(fit(row.name, 12), ""), (count, ""), (fit(row.words, max(0, width - 12 - len(count))), "dim")]


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return str(Path.home())  # the folder we were started in is gone


_TRIES = 1_000


def new_file(folder: str, what: str, ending: str) -> Path:
    """A file that is not there yet: `trace-20260728-120107-marked.jsonl`; letters, digits and dashes alone are ours."""
    within = Path(folder.strip() or ".").expanduser()
    plain = file_stem(what, "")
    stem = f"trace-{time.strftime('%Y%m%d-%H%M%S')}{f'-{plain}' if plain else ''}"
    names = (f"{stem}{'' if number == 1 else f'-{number}'}.{ending}" for number in range(1, _TRIES))
    return next((path for name in names if not (path := within / name).exists()), within / f"{stem}.{ending}")
