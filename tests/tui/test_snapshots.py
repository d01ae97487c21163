"""Pictures of the main screen in its three arrangements, on a studio whose facts and times are fixed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from textual.pilot import Pilot

from mcp_studio.call.call import Call, Succeeded
from mcp_studio.catalog.listing import EntryKind, Listing, salvage
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.errors import Unreachable
from mcp_studio.paths import Paths
from mcp_studio.session.state import Status
from mcp_studio.studio import Studio
from mcp_studio.tui.app import StudioApp

NOON = 1_800_000_000.0
BOOK = {
    "name": "add_book",
    "title": "Add a book",
    "description": "Put a new book on its shelf.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "As on the cover"},
            "genre": {"type": "string", "enum": ["poetry", "science"]},
            "year": {"type": "integer", "minimum": 1450},
            "signed": {"type": "boolean", "default": False},
            "extra": {"type": "object"},
        },
        "required": ["title"],
    },
}
TOOLS = [
    {"name": "list_books", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    BOOK,
    {"name": "remove_book", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}},
    {"name": "no_schema"},
]
RESULT = {
    "content": [{"type": "text", "text": "Slow Trains North is on the shelf travel."}],
    "structuredContent": {"id": 7},
}


class Fixed(StudioApp):
    """The app on a studio that nothing happens in."""

    def __init__(self) -> None:
        servers = {name: ServerConfig(name, command="x", enabled=False) for name in ("shop", "sqlite", "staging")}
        servers["search"] = ServerConfig("search", url="https://search.example/mcp", enabled=False)
        self.given = Config(servers=servers)
        super().__init__(SimpleNamespace(config=self.given, paths=Paths.default()))  # type: ignore[arg-type]

    async def run_async(self, **options: Any) -> int | None:
        async with Studio.open(self.given, Paths.default(), can_ask=True) as studio:
            self.studio = studio
            for name in studio.manager.names():
                await studio.manager.settle(name)
            fill(studio)
            return await super().run_async(**options)


def fill(studio: Studio) -> None:
    refused = Unreachable("Connection refused by search.example.")
    for status in (
        Status("shop", "ready", version="2026-07-28"),
        Status("sqlite", "retrying", Unreachable("It ended with exit code 3."), attempt=2),
        Status("search", "failed", refused),
    ):
        studio.manager.supervisor(status.server).status = status
    kinds: dict[EntryKind, list[Any]] = {
        "tool": TOOLS,
        "resource": [{"uri": "shop://readme", "name": "readme"}],
        "prompt": [{"name": "recommend", "arguments": [{"name": "mood"}]}],
    }
    for kind, items in kinds.items():
        studio.catalog.put(Listing("shop", kind, salvage("shop", kind, items), "fresh"))
    old = salvage("sqlite", "tool", [{"name": "query", "inputSchema": {"type": "object"}}], remembered=True)
    studio.catalog.put(Listing("sqlite", "tool", old, "remembered"))
    for number in range(1, 5):
        request = studio.trace.add("shop", "out", "request", b'{"jsonrpc":"2.0","id":%d}' % number)
        request.method, request.target, request.id, request.time = "tools/call", "add_book", number, NOON + number
        answer = studio.trace.add("shop", "in", "result", b'{"jsonrpc":"2.0","id":%d,"result":{}}' % number)
        answer.time = NOON + number + 0.018
        answer.method = "tools/call"
        studio.trace.settled(studio.trace.opened(request), answer, False)
        for entry in (request, answer):
            studio.trace.columns.time[entry.number - studio.trace.first_number] = entry.time


async def open_book(pilot: Pilot[Any]) -> None:
    """Open a tool, fill its form, and show the result of a call."""
    app = pilot.app
    assert isinstance(app, Fixed)
    await pilot.pause()
    calling = app.main.calling
    entry = next(entry for entry in app.studio.catalog.entries("tool") if entry.ref.name == "add_book")
    await calling.open(entry, go=True)
    assert calling.opened is not None
    await pilot.press(*"Slow Trains North")
    call = Call(entry.ref, "tools/call", {})
    call.outcome = Succeeded(ms=18, size=1234, request_id=17, result=RESULT)
    calling._calls.put(calling.opened.key, call)
    calling._show_result()
    app.main.looking.usage.tick()  # else it depends on the clock whether use stands beside the tools
    await pilot.pause()


def test_main_screen(snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "TZ", "UTC")
    time.tzset()
    assert snap_compare(Fixed(), terminal_size=(80, 24), run_before=open_book)
