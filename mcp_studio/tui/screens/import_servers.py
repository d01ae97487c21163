"""Importing servers from the files of other clients, after showing exactly what they start; the first start, too."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.config.clients import foreign_files
from mcp_studio.config.importers import NO_SERVERS
from mcp_studio.config.load import written
from mcp_studio.config.model import ServerConfig, Source
from mcp_studio.config.save import put_server
from mcp_studio.errors import ConfigError
from mcp_studio.present import units
from mcp_studio.present.definition import target_of
from mcp_studio.safetext import safe
from mcp_studio.studio import Studio
from mcp_studio.tui import server_files
from mcp_studio.tui.screens.approval import what_starts
from mcp_studio.tui.screens.dialog import Choice, Dialog, Parts, TickList
from mcp_studio.tui.screens.vault import offered

_NOTHING = (
    "No servers found: other clients, such as Claude Code, Cursor or VS Code, have no file with servers in it, "
    "neither among your own files nor in this folder."
)
_WELCOME = "mcp-studio shows every MCP server, its tools, resources and prompts, calls them, and keeps every message."
_LINES = 12


class Found(NamedTuple):
    """A server of another client."""

    server: ServerConfig
    client: str
    taken: str
    """Why it cannot be imported: its name is in use."""


def find(studio: Studio) -> tuple[list[Found], list[str]]:
    """The servers of other clients on this machine, and what could not be read. Reads files."""
    ours = Path(server_files.place_of(studio).file)  # what is in it may be what cannot start yet
    kept = written(studio.paths, Path.cwd(), files=[ours]).servers if ours.is_file() else ()
    taken = dict.fromkeys((*studio.manager.names(), *kept), "already here")
    found: list[Found] = []
    problems: list[str] = []
    for foreign in foreign_files(Path.cwd()):
        config = written(studio.paths, Path.cwd(), files=[foreign.file])
        problems += [f"left out: {problem}" for problem in config.problems if problem.message != NO_SERVERS]
        for name, server in config.servers.items():
            found.append(Found(replace(server, enabled=True), foreign.client, taken.get(name, "")))
            taken.setdefault(name, f"{foreign.client}'s has this name")
    return found, problems


class ImportServers(Dialog[ServerConfig]):
    """Answers the first server that was added; those that are new are ticked."""

    TITLE = "Import servers from other clients"
    DEFAULT_CLASSES = "-broad"
    choices = (Choice("submit", "Import", "primary"), Choice("back", "Cancel"))
    servers = getters.query_one(TickList)

    def __init__(self) -> None:
        super().__init__()
        self._found: list[Found] = []
        self._problems: list[str] = []

    @property
    def default(self) -> str:
        return self.choices[0 if self._found else 1].action

    def body(self) -> Iterable[Widget]:
        yield TickList(compact=True)
        yield Static("Looking for the files of other clients …", id="about", markup=False)

    def on_mount(self) -> None:
        self.servers.display = self.query_one("#submit").display = False
        self.run_worker(self._look())

    async def _look(self) -> None:
        self._found, self._problems = await asyncio.to_thread(find, self.app.studio)
        self.servers.show((_line(one), None if one.taken else True) for one in self._found)
        self.servers.display = self.query_one("#submit").display = bool(self._found)
        if self._found:
            self.servers.focus()
            self.refresh_bindings()
        self.show_highlighted()

    @on(TickList.OptionHighlighted)
    def show_highlighted(self) -> None:
        """Show what the server under the cursor starts."""
        parts: Parts = [_NOTHING]
        if self._found:
            server = self._found[self.servers.highlighted or 0].server
            parts = [*what_starts(server), f"\n  from  {safe(server.source.file, 500)}"]
        # Each on one line: nothing in a file can write a line that looks like one of ours.
        parts += [f"\n{safe(problem, 2_000)}" for problem in self._problems[:_LINES]]
        self.query_one("#about", Static).update(Content.assemble(*parts))

    def action_submit(self) -> None:
        if not self._found:
            super().action_submit()
            return
        chosen = [self._found[place].server for place in self.servers.ticked]
        if chosen:
            self.app.attempt(self, self._add(chosen), "import")
        else:
            self.app.say("No server is ticked; space ticks the one under the cursor.", "warning")

    async def _add(self, servers: list[ServerConfig]) -> None:
        ready = await offered(self, self.app.studio.redactor, servers)
        started: list[ServerConfig] = []
        for server in ready or ():
            try:
                await server_files.save(self.app.studio, server)
                started.append(server)
            except ConfigError as problem:
                await asyncio.to_thread(put_server, Path(server_files.place_of(self.app.studio).file), server)
                wrong = f"{problem.key} {problem.message} {problem.hint}"
                self.app.say(f"{server.name} is imported, but cannot start yet: {wrong}", "warning")
        if ready:
            self.app.say(f"Imported {units.plural(len(ready), 'server')}.")
            self.dismiss(started[0] if started else None)


class FirstStart(ImportServers):
    """Where there is no configuration."""

    TITLE = "Welcome to mcp-studio"
    DEFAULT_CLASSES = ""
    choices = (
        Choice("submit", "Import", "primary"), Choice("demo", "Try the demo"),
        Choice("add", "Add a server"), Choice("back", "Close"),
    )  # fmt: skip

    def body(self) -> Iterable[Widget]:
        yield Static(_WELCOME, classes="gap", markup=False)
        yield from super().body()
        palette, search, help = (self.app.key_of(name) for name in ("palette", "search", "help"))
        keys = f"{palette} does everything by name, {search} searches, {help} says what can be done."
        yield Static(keys, id="keys", classes="quiet", markup=False)

    def on_mount(self) -> None:
        self.query_one("#demo").focus()

    def action_demo(self) -> None:
        """The bundled demo server, until the studio ends."""
        program = (sys.executable, ("-m", "mcp_studio.servers.demo"))
        demo = ServerConfig("demo", *program, source=Source("argument"))
        self.app.attempt(self.app, self.app.studio.manager.replace(demo))
        self.dismiss(None)

    async def action_add(self) -> None:
        self.dismiss(None)
        await self.app.screen_stack[0].run_action("new_server")


def _line(one: Found) -> Content:
    name, note = safe(one.server.name, 40), safe(one.taken or one.client, 60)
    return Content.assemble(name, (f"  {note}  {safe(target_of(one.server), 200)}", "$quiet"))
