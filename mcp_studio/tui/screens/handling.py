"""What is done with one part of a result: a link is read, a picture enlarged, a file or page opened on request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from mcp_studio.catalog.listing import Entry, Ref
from mcp_studio.jsontext import Json
from mcp_studio.present.browser import open_page
from mcp_studio.protocol.views import ResourceView, held_page, reach_lines, reach_of
from mcp_studio.safetext import safe
from mcp_studio.tui import late
from mcp_studio.urls import judge

if TYPE_CHECKING:
    from mcp_studio.present.blocks import Block
    from mcp_studio.tui.screens.main import MainScreen

_LONGEST = 8_192
"""Characters of an address that can be opened."""


class Handling:
    """Acts on the content blocks of the result that is shown."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen

    def wanted(self, what: str, block: Block) -> None:
        """`read`, `enlarge` or `open` a block."""
        if what == "read":
            self._screen.run_worker(self._read(block), group="open", exclusive=True)
        elif what == "enlarge":
            self._screen.app.push_screen(late.picture(block))
        else:
            self._screen.run_worker(self._open(block), group="handle", exclusive=True)

    async def _read(self, block: Block) -> None:
        """Read a linked resource from the same server, listed or not."""
        call = self._screen.calling.call
        if call is None:
            return
        ref = Ref("resource", call.ref.server, block.uri)
        found = self._screen.studio.catalog.find(ref)
        raw: dict[str, Json] = {"uri": block.uri, "name": block.title or block.uri}
        entry = found[0] if found else Entry(ref, ResourceView(raw))
        await self._screen.calling.open(entry, go=False)
        self._screen.calling.run()

    async def _open(self, block: Block) -> None:
        app = self._screen.studio_app
        if block.kind == "app":
            await self._open_app(block)
        elif block.kind == "link" and block.uri.startswith(("http://", "https://")):
            page = judge(block.uri)
            if page.refusal:
                app.say(safe(page.refusal, 300), "warning")
                return
            both = [f"The network knows it as {safe(page.ascii_host, 300)}."] if page.ascii_host != page.host else []
            lines = (f"It leads to {safe(page.host, 300)}.", *both, *page.warnings, "", safe(block.uri, _LONGEST))
            if await self._agreed("Open this page in the browser?", "\n".join(lines)):
                self._told(await open_page(page.url), "The page")
        elif block.kind in ("image", "audio"):
            await self._open_file(block)
        elif block.kind == "link":
            app.say("Enter reads it from the server; only http and https pages are opened in the browser.")
        else:
            app.say("Nothing opens this here; w saves it.")

    async def _open_app(self, block: Block) -> None:
        """Specification, MCP Apps: a page runs held to what it declares, and here only when a person wants it."""
        raw = cast("dict[str, Json]", block.raw) if isinstance(block.raw, dict) else {}
        reach = reach_of(raw)
        lines = (
            f"{safe(block.uri, 500)} is a page that the server wrote.",
            "In the browser it runs its own scripts, without the studio: it shows, but gets no data.",
            "It is held to what it declares:", *(f"  {safe(line, 500)}" for line in reach_lines(reach)),
        )  # fmt: skip
        if await self._agreed("Open this page in the browser?", "\n".join(lines)):
            page = held_page(block.text, reach).encode("utf-8", "backslashreplace")
            file = await asyncio.to_thread(late.saving().keep, self._screen.studio.paths.cache, "app.html", page)
            self._told(await open_page(file.as_uri()), "The page")

    async def _open_file(self, block: Block) -> None:
        """Only pictures and sound of known kinds: a program that opens them is made for them."""
        name = late.saving().opens_as(block)
        app = self._screen.studio_app
        if not name:
            app.say(f"What is {safe(block.mime or 'of an unknown type', 80)} is not opened; w saves it.", "warning")
            return
        try:
            data = late.saving().decoded(block)
        except ValueError as problem:
            app.say(f"It cannot be opened: {safe(problem, 200)}.", "warning")
            return
        file = await asyncio.to_thread(late.saving().keep, self._screen.studio.paths.cache, name, data)
        self._told(await open_page(file.as_uri()), "The file")

    async def _agreed(self, heading: str, text: str) -> bool:
        return bool(await self._screen.app.push_screen_wait(late.confirm(heading, text)))

    def _told(self, opened: bool, what: str) -> None:
        app = self._screen.studio_app
        if opened:
            app.say(f"{what} is handed to the system's program.")
        else:
            app.say("There is no browser or program to open it with; w saves the result.", "warning")
