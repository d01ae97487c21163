"""First start without configuration: servers of other clients, the demo, adding one, and a line on keys."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable

from textual import getters
from textual.content import Content
from textual.widget import Widget
from textual.widgets import SelectionList, Static
from textual.widgets.selection_list import Selection

from mcp_studio.config.model import ServerConfig, Source
from mcp_studio.errors import StudioError
from mcp_studio.safetext import safe
from mcp_studio.tui import server_files
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.screens.import_servers import Found, find, what_starts
from mcp_studio.tui.screens.vault import offered

_WELCOME = "mcp-studio shows every MCP server, its tools, resources and prompts, calls them, and keeps every message.\n"


class FirstStart(Dialog[bool]):
    """Answers True where the person wants to add a server by hand."""

    DEFAULT_CSS = """
    FirstStart SelectionList { height: auto; max-height: 12; border: none; padding: 0; background: transparent; }
    """
    choices = (
        Choice("submit", "Import the ticked", "primary"), Choice("demo", "Try the demo server"),
        Choice("add", "Add a server"), Choice("back", "Look around first"),
    )  # fmt: skip
    servers = getters.query_one(SelectionList)

    def __init__(self) -> None:
        super().__init__()
        self._found: list[Found] = []

    def heading(self) -> str:
        return "Welcome"

    def body(self) -> Iterable[Widget]:
        yield Static(_WELCOME, markup=False)
        yield Static("Looking for servers of other clients …", id="found", classes="quiet", markup=False)
        yield SelectionList[int](compact=True)
        palette, search, help = (self.app.key_of(name) for name in ("palette", "search", "help"))
        keys = f"\n{palette} does everything by name, {search} searches, {help} says what can be done."
        yield Static(keys, classes="quiet", markup=False)
        yield Static(id="problem", classes="bad", markup=False)

    def on_mount(self) -> None:
        self.servers.display = self.query_one("#submit").display = False
        self.query_one("#demo").focus()
        self.run_worker(self._look())

    async def _look(self) -> None:
        self._found, _ = await asyncio.to_thread(find, self.app.studio)
        text = (
            "Other clients on this machine have these servers:" if self._found else "No other client has servers here."
        )
        self.query_one("#found", Static).update(text)
        for number, one in enumerate(self._found):
            label = Content.assemble(
                safe(one.server.name, 40), (f"  {safe(one.client, 40)}  {safe(what_starts(one.server), 80)}", "$quiet")
            )
            self.servers.add_option(Selection(label, number, True))
        self.servers.display = self.query_one("#submit").display = bool(self._found)
        if self._found:
            self.servers.focus()

    def action_submit(self) -> None:
        chosen = [self._found[place].server for place in self.servers.selected]
        if chosen:
            self.run_worker(self._add([server.written or server for server in chosen]), exclusive=True)
        else:
            self.query_one("#problem", Static).update("No server is ticked.")

    def action_demo(self) -> None:
        """The bundled demo server, until the studio ends."""
        demo = ServerConfig(
            "demo", command=sys.executable, args=("-m", "mcp_studio.servers.demo"), source=Source("argument")
        )
        self.app.attempt(self.app, self.app.studio.put_server(demo))
        self.dismiss(False)

    def action_add(self) -> None:
        self.dismiss(True)

    async def _add(self, servers: list[ServerConfig]) -> None:
        try:
            ready = await offered(self, self.app.studio.redactor, servers)
            for server in ready or ():
                await server_files.save(self.app.studio, server)
        except StudioError as problem:
            self.query_one("#problem", Static).update(Content(safe(f"{problem.message} {problem.hint}", 600)))
            return
        if ready:
            self.dismiss(False)
