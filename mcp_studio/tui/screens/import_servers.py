"""Importing servers from the files of other clients, after showing exactly what they start."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import SelectionList, Static
from textual.widgets.selection_list import Selection

from mcp_studio.config.importers import foreign_files
from mcp_studio.config.load import load
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.studio import Studio
from mcp_studio.tui import server_files
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.screens.vault import offered

NOTHING = (
    "No servers found: Claude Desktop, Claude Code, Cursor, VS Code and Windsurf have no file with servers in it, "
    "neither among your own files nor in this folder."
)
_LINES = 12


class Found(NamedTuple):
    """A server of another client."""

    server: ServerConfig
    client: str
    taken: bool
    """There is one of this name already."""


def find(studio: Studio) -> tuple[list[Found], tuple[str, ...]]:
    """The servers of other clients on this machine, and what could not be read. Reads files."""
    taken = set(studio.manager.names())
    found: list[Found] = []
    problems: list[str] = []
    for foreign in foreign_files(Path.cwd()):
        config = load(studio.paths, Path.cwd(), files=[foreign.file])
        problems += [str(problem) for problem in config.problems]
        for name, server in config.servers.items():
            found.append(Found(replace(server, enabled=True), foreign.client, name in taken))
    return found, tuple(problems)


class ImportServers(Dialog[ServerConfig]):
    """Answers the first server that was added; those that are new are ticked."""

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    ImportServers {
        & SelectionList { height: 1fr; border: none; padding: 0; background: transparent; }
        & #about { height: auto; max-height: 14; border-top: solid $panel; color: $quiet; }
    }
    """
    choices = (Choice("submit", "Import", "primary"), Choice("back", "Cancel"))
    servers = getters.query_one(SelectionList)
    about = getters.query_one("#about", Static)

    def __init__(self) -> None:
        super().__init__()
        self._found: list[Found] = []
        self._problems: tuple[str, ...] = ()

    def heading(self) -> str:
        return "Import servers from other clients"

    def body(self) -> Iterable[Widget]:
        yield SelectionList[int](compact=True)
        yield Static("Looking …", id="about", markup=False)

    def on_mount(self) -> None:
        self.servers.focus()
        self.run_worker(self._look())

    async def _look(self) -> None:
        self._found, self._problems = await asyncio.to_thread(find, self.app.studio)
        for number, one in enumerate(self._found):
            note = "already there" if one.taken else one.client
            label = Content.assemble(safe(one.server.name, 60), (f"  {safe(note, 60)}", "$quiet"))
            self.servers.add_option(Selection(label, number, not one.taken, disabled=one.taken))
        self._show(0)

    @on(SelectionList.SelectionHighlighted)
    def show_highlighted(self, event: SelectionList.SelectionHighlighted[int]) -> None:
        event.stop()
        self._show(event.selection_index)

    def _show(self, place: int) -> None:
        """What the server under the cursor starts."""
        lines = [NOTHING]
        if place < len(self._found):
            server = self._found[place].server
            lines = [what_starts(server), f"from {server.source.file}"]
        lines += [f"left out: {problem}" for problem in self._problems]
        # Each on one line: nothing in a file can write a line that looks like one of ours.
        self.about.update(Content("\n".join(safe(line, 2_000) for line in lines[:_LINES])))

    def action_submit(self) -> None:
        chosen = [self._found[place].server for place in self.servers.selected]
        if chosen:
            self.run_worker(self._add([server.written or server for server in chosen]), exclusive=True)
        else:
            self.about.update("No server is ticked; space ticks the one under the cursor.")

    async def _add(self, servers: list[ServerConfig]) -> None:
        try:
            ready = await offered(self, self.app.studio.redactor, servers)
            for server in ready or ():
                await server_files.save(self.app.studio, server)
        except StudioError as problem:
            self.about.update(Content(safe(f"{problem.message} {problem.hint}", 600)))
            return
        if ready:
            self.app.say(f"Imported {units.plural(len(ready), 'server')}.")
            self.dismiss(ready[0])


def what_starts(server: ServerConfig) -> str:
    """The command line or URL of an entry, with names of environment variables."""
    entry = server.written or server
    if entry.url:
        return entry.url
    env = f"   env: {', '.join(entry.env)}" if entry.env else ""
    folder = f"   in {entry.cwd}" if entry.cwd else ""
    return shlex.join((entry.command, *entry.args)) + env + folder
