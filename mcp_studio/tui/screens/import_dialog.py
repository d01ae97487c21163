"""Taking over servers from the files of other clients, after showing exactly what they start."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.config.importers import foreign_files
from mcp_studio.config.load import load
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConfigError
from mcp_studio.safetext import safe
from mcp_studio.tui import secret_offers
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.server_files import save
from mcp_studio.tui.views.line import Line, spread
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.studio import Studio

_NOTHING = (
    "Nothing to import: Claude Desktop, Claude Code, Cursor, VS Code and Windsurf have no file with servers in it, "
    "neither among your own files nor in this folder.\n\nEsc goes back; a command, a URL or an mcp.json snippet can be "
    "pasted there."
)


class Found(NamedTuple):
    """A server of another client."""

    server: ServerConfig
    client: str
    taken: bool
    """There is one of this name already."""


class ImportDialog(Dialog[ServerConfig], scope="import"):
    """Answers the first server that was added."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self._marked: set[int] = set()
        self._problems: tuple[str, ...] = ()
        self._list: VirtualList[Found] = VirtualList(
            self._draw,
            key=id,
        )
        self._note = Static(Content("Looking …"), classes="note")

    def heading(self) -> Content:
        """What it is."""
        return Content("Import servers from other clients")

    def body(self) -> Iterable[Widget]:
        """The servers, and what the one under the cursor is."""
        return self._list, self._note

    def on_mount(self) -> None:
        """Read their files."""
        self._list.focus()
        self.run_worker(self._look())

    async def _look(self) -> None:
        found, problems = await asyncio.to_thread(_find, self._studio)
        self._problems = problems
        self._list.set_rows(found)
        self._show_note()

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Show what it starts."""
        event.stop()
        self._show_note()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """Mark it."""
        event.stop()
        self.action_toggle_entry()

    def action_toggle_entry(self) -> None:
        """Mark the server under the cursor, or unmark it."""
        row = self._list.row
        if row is None:
            return
        if row.taken:
            self._note.update(Content(f"There is a server {safe(row.server.name, 60)} already."))
            return
        self._marked ^= {id(row)}
        self._list.redraw()

    def action_save(self) -> None:
        """Add what is marked, or else what is under the cursor."""
        row = self._list.row
        chosen = [found for found in self._list.rows if id(found) in self._marked]
        chosen = chosen or [found for found in (row,) if found and not found.taken]
        if chosen:
            self._offer([found.server.written or found.server for found in chosen])

    def _offer(self, servers: list[ServerConfig]) -> None:
        """Secrets that stand in clear in their files need not do so in ours."""

        def decided(what: str) -> None:
            self.run_worker(self._add(servers, keep=what == "keep"), exclusive=True)

        found = secret_offers.clear(servers, set())
        if found:
            secret_offers.ask(self, found, decided)
        else:
            decided("")

    async def _add(self, servers: list[ServerConfig], *, keep: bool) -> None:
        try:
            if keep:
                servers, _ = await secret_offers.moved(self._studio.redactor, servers)
            for server in servers:
                await save(self._studio, server)
        except ConfigError as problem:
            self._note.update(Content(safe(f"{problem.message} {problem.hint}")))
        else:
            self.dismiss(servers[0])

    def action_back(self) -> None:
        """Leave."""
        self.dismiss(None)

    def _show_note(self) -> None:
        row = self._list.row
        lines = [_what(row.server), f"from {row.server.source.file}"] if row else _NOTHING.splitlines()
        lines += [f"left out: {problem}" for problem in self._problems]
        # Each on one line: nothing in a file can write a line that looks like one of ours.
        self._note.update(Content("\n".join(safe(line, 2_000) for line in lines[:50])))

    def _draw(self, found: Found, width: int, selected: bool) -> Line:
        box = "[x] " if id(found) in self._marked else "    " if found.taken else "[ ] "
        look = "dim" if found.taken else ""
        right = "already there" if found.taken else safe(found.client)
        return spread([(box, ""), (safe(found.server.name, 60), look)], [(f" {right}", "dim")], width)


def _what(server: ServerConfig) -> str:
    entry = server.written or server
    if entry.url:
        return entry.url
    env = f"   env: {', '.join(entry.env)}" if entry.env else ""
    folder = f"   in {entry.cwd}" if entry.cwd else ""
    return shlex.join((entry.command, *entry.args)) + env + folder


def _find(studio: Studio) -> tuple[list[Found], tuple[str, ...]]:
    taken = set(studio.manager.names())
    found: list[Found] = []
    problems: list[str] = []
    for foreign in foreign_files(Path.cwd()):
        config = load(studio.paths, Path.cwd(), files=[foreign.file])
        problems += [str(problem) for problem in config.problems]
        for name, server in config.servers.items():
            shown = replace(server, enabled=True)
            found.append(Found(shown, foreign.client, name in taken))
    return found, tuple(problems)
