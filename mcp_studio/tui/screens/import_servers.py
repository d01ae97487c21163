"""Importing servers of other clients after showing exactly what they start; also at the first start."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rich.cells import cell_len
from textual import getters, on, work
from textual.content import Content
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
from mcp_studio.tui.screens.dialog import Choice, Dialog, Parts, TickList, Widgets, fact
from mcp_studio.tui.screens.project_trust import what_starts
from mcp_studio.tui.screens.secrets import offered
from mcp_studio.tui.views.rows import fit

_NOTHING = "No servers found: Claude Code, Cursor and others have no file with servers, here or among your own files."
_WELCOME = "mcp-studio shows every MCP server, its tools, resources and prompts, calls them, and keeps every message."
_LINES = 12


class Found(NamedTuple):
    """A server of another client."""

    server: ServerConfig
    client: str
    taken: str
    """Why the server cannot be imported: its name is in use."""


def find(studio: Studio) -> tuple[list[Found], list[str]]:
    """The servers of other clients on this machine, and the problems of unreadable files. Reads files."""
    ours = Path(server_files.place_of(studio).file)  # this file may contain servers that cannot start yet
    entries = written(studio.paths, Path.cwd(), files=[ours]).servers if ours.is_file() else ()
    taken = dict.fromkeys((*studio.manager.names(), *entries), "already here")
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
    """Imports servers of other clients, of which new ones are ticked at first; answers the first imported server."""

    TITLE = "Import servers from other clients"
    DEFAULT_CLASSES = "-broad"
    choices = (Choice("submit", "Import", "primary"), Choice("tick", "All / none"), Choice("back", "Cancel"))
    servers = getters.query_one(TickList)

    def __init__(self) -> None:
        super().__init__()
        self._found: list[Found] = []
        self._problems: list[str] = []

    @property
    def default(self) -> str:
        return self.choices[0 if self._found else 1].action

    def body(self) -> Widgets:
        yield TickList(compact=True)
        yield Static("Looking for the files of other clients …", id="about", markup=False)

    def on_mount(self) -> None:
        self._offer()
        self.run_worker(self._look())

    def _offer(self) -> None:
        self.query("TickList, #submit, #tick").set(display=bool(self._found))

    async def _look(self) -> None:
        self._found, self._problems = await asyncio.to_thread(find, self.app.studio)
        self._offer()
        if self._found:
            self.action_tick()
            self.servers.focus()
            self.refresh_bindings()
        self.show_highlighted()

    def action_tick(self) -> None:
        """Tick all servers that can be imported, or none of them if all are ticked."""
        ticks = self.servers.ticked != [at for at, one in enumerate(self._found) if not one.taken]
        lines = zip(self._found, _lines(self._found), strict=True)
        self.servers.show((line, None if one.taken else ticks) for one, line in lines)

    @on(TickList.OptionHighlighted)
    def show_highlighted(self) -> None:
        parts: Parts = [f"{_NOTHING}\n"]
        if self._found:
            server = self._found[self.servers.highlighted or 0].server
            parts = [*what_starts(server), *fact("from", server.source.file)]
        # Each on one line: nothing in a file can write a line that looks like one of ours.
        parts += [f"{safe(problem, 2_000)}\n" for problem in self._problems[:_LINES]]
        self.put("about", Content.assemble(*parts).rstrip())

    @work(group="import", exclusive=True)
    async def action_submit(self) -> None:
        if not self._found:
            super().action_submit()
            return
        servers = [self._found[place].server for place in self.servers.ticked]
        if not servers:
            self.app.say("No server is ticked; space ticks the one under the cursor.", "warning")
        ready = await offered(self.app, servers)
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
    """The first dialog if there are no servers."""

    TITLE = "Welcome to mcp-studio"
    DEFAULT_CLASSES = ""
    AUTO_FOCUS = "#demo"
    choices = (
        Choice("submit", "Import", "primary"), Choice("demo", "Try the demo"),
        Choice("add", "Add a server"), Choice("tick", "All / none"), Choice("back", "Close"),
    )  # fmt: skip

    def body(self) -> Widgets:
        yield Static(_WELCOME, classes="gap", markup=False)
        yield from super().body()
        yield Static(id="keys", classes="quiet", markup=False)

    def _offer(self) -> None:
        super()._offer()
        palette, search, help = (self.app.key_of(name) for name in ("palette", "search", "help"))
        ticks = "space ticks. " if self._found else ""
        keys = f"{ticks}{palette} finds every action by name, {search} searches, {help} shows what you can do."
        self.query_one("#keys", Static).update(keys)

    def action_demo(self) -> None:
        """Add the bundled demo server until the studio ends."""
        program = (sys.executable, ("-m", "mcp_studio.servers.demo"))
        demo = ServerConfig("demo", *program, source=Source("argument"))
        self.app.run_worker(self.app.studio.manager.replace(demo))
        self.dismiss(None)

    async def action_add(self) -> None:
        self.dismiss(None)
        await self.app.screen_stack[0].run_action("new_server")


def _lines(found: Sequence[Found]) -> Iterator[Content]:
    """What the rows say, in columns: the name, the client or why it cannot be imported, and what starts."""
    rows = [(safe(one.server.name, 40), safe(one.taken or one.client, 60), one.server) for one in found]
    name, note = (max(cell_len(str(row[column])) for row in rows) for column in (0, 1))
    for title, why, server in rows:
        yield Content.assemble(fit(title, name), (f"  {fit(why, note)}  {safe(target_of(server), 200)}", "$quiet"))
