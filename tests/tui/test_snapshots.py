"""Pictures of the main screen in five sizes and of its dialogs, on a studio whose facts and times are fixed."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from textual.command import CommandList
from textual.pilot import Pilot

from mcp_studio.call.call import Call, Succeeded
from mcp_studio.catalog.listing import EntryKind, Listing, salvage
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.errors import Unreachable
from mcp_studio.paths import Paths
from mcp_studio.session.state import Status
from mcp_studio.studio import Studio
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.main_screen import MainScreen

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
            "extra": {"type": "object", "properties": {"shelf": {"type": "string"}, "price": {"type": "number"}}},
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
SIZES = [(80, 24), (100, 30), (120, 36), (140, 40), (200, 60)]


class Fixed(StudioApp):
    """The app on a studio in which nothing happens: no server is started."""

    def __init__(self) -> None:
        servers = {name: ServerConfig(name, command="x", enabled=False) for name in ("shop", "sqlite", "staging")}
        servers["search"] = ServerConfig("search", url="https://search.example/mcp", enabled=False)
        self.given = Config(servers=servers)
        super().__init__(SimpleNamespace(config=self.given, paths=Paths.default()), MainScreen)  # type: ignore[arg-type]

    async def run_async(self, **options: Any) -> int | None:
        async with Studio.open(self.given, Paths.default(), can_ask=True) as studio:
            self.studio = studio
            for name in studio.manager.names():
                await studio.manager.settle(name)
            fill(studio)
            return await super().run_async(**options)


def fill(studio: Studio) -> None:
    """Give the studio its facts."""
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


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are written as in Greenwich."""
    monkeypatch.setitem(os.environ, "TZ", "UTC")
    time.tzset()


def main_of(pilot: Pilot[Any]) -> MainScreen:
    """The main screen, also under a dialog."""
    main = pilot.app.screen_stack[0]
    assert isinstance(main, MainScreen)
    return main


async def open_book(pilot: Pilot[Any]) -> None:
    """Open a tool, fill its form, and show the result of a call."""
    main = main_of(pilot)
    await pilot.pause()
    entry = next(entry for entry in main.app.studio.catalog.entries("tool") if entry.ref.name == "add_book")
    assert main.show_entry(entry.ref)
    await pilot.pause()
    main.call.open(entry)
    await pilot.press(*"Slow Trains North")
    call = Call(entry.ref, "tools/call", {})
    call.outcome = Succeeded(ms=18, size=1234, request_id=17, result=RESULT)
    main.result.show(main.call.draft, call)
    await pilot.pause()
    await pilot.pause()


async def search(pilot: Pilot[Any]) -> None:
    await pilot.press("ctrl+f", *"book")
    box = pilot.app.screen.query_one("#box")
    while not re.search(r"3 of 7 · \d+ ms · words\[", str(box.border_subtitle)):
        await pilot.pause(0.05)
    box.border_subtitle = ""  # it says how long the search took


async def palette(pilot: Pilot[Any]) -> None:
    await pilot.press("ctrl+p", *"dracula")
    while not 0 < pilot.app.screen.query_one(CommandList).option_count < 60:  # before, it lists all actions
        await pilot.pause(0.05)
    await pilot.pause(0.2)


async def help(pilot: Pilot[Any]) -> None:
    await pilot.press("2", "question_mark")
    await pilot.pause()


async def theme(pilot: Pilot[Any]) -> None:
    await main_of(pilot).run_action("change_theme")
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_main_screen(size: tuple[int, int], snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(Fixed(), terminal_size=size, run_before=open_book)


@pytest.mark.parametrize("steps", [search, palette, help, theme])
def test_dialogs(steps: Callable[[Pilot[Any]], Awaitable[None]], snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(Fixed(), terminal_size=(100, 30), run_before=steps)
