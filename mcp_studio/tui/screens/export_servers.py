"""Writing our servers into other clients' files after showing what changes there."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

from textual import getters, on, work
from textual.content import Content
from textual.widgets import Button, Select, Static

from mcp_studio.config.clients import client_named, targets
from mcp_studio.config.exporters import Export, export
from mcp_studio.errors import StudioError
from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Choice, Dialog, TickList, Widgets, diff_lines, section


class ExportServers(Dialog[None]):
    """Shows what would change in another client's file for the chosen client and servers, and writes that.

    Args:
        ticked: the servers that are ticked at first.
    """

    TITLE = "Write servers to another client"
    DEFAULT_CLASSES = "-broad"
    choices = (Choice("write", "Write", "primary"), Choice("back", "Cancel"))
    servers = getters.query_one(TickList)

    def __init__(self, ticked: Collection[str]) -> None:
        super().__init__()
        self._ticked = ticked
        self._places = [*targets(Path.cwd()).items()]
        self._export: Export | None = None
        """The shown change, which the button writes."""

    def body(self) -> Widgets:
        options = (
            (safe(f"{name}{', this project' if project else ''}  {file}", 200), at)
            for at, ((name, project), file) in enumerate(self._places)
        )
        yield Select(options, allow_blank=False, compact=True)
        yield TickList(compact=True)
        yield Static(id="note", markup=False)
        yield Static(id="changes", markup=False)

    def on_mount(self) -> None:
        names = self.app.studio.manager.names()
        self.servers.show((Content(safe(name, 60)), name in self._ticked) for name in names)
        self.query_one(Select).focus()

    @on(Select.Changed)
    @on(TickList.OptionSelected)
    @work(group="look", exclusive=True)
    async def look(self) -> None:
        """Show what would change in the file."""
        studio, (place, file) = self.app.studio, self._places[int(str(self.query_one(Select).value))]
        names = studio.manager.names()
        chosen = [studio.manager.config(names[at]) for at in self.servers.ticked]
        self._export = wanted = export(client_named(place[0]), file, chosen, studio.redactor)
        notes, lines = [*wanted.remarks], list[str]()
        try:
            lines = await asyncio.to_thread(wanted.changes) if wanted.entries else []
        except StudioError as error:
            notes.append(f"{error.message} {error.hint}")
        else:
            notes += [] if lines else [f"{file} says so already." if wanted.entries else "No server is to be written."]
        self.query_one("#write", Button).disabled = not lines
        self.note("\n".join(map(studio.redactor.text, notes)), "warn" if notes else "")
        self.put("changes", *section("What changes in the file", diff_lines([*map(studio.redactor.text, lines)])))

    @work(group="write", exclusive=True)
    async def action_write(self) -> None:
        """Write what is shown, and keep the file as it was."""
        if self._export is not None and not self.query_one("#write", Button).disabled:
            self.app.say(await asyncio.to_thread(self._export.write))
            self.dismiss(None)
