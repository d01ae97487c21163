"""Opening a part of a result in the browser or the system's program, after asking where that is due."""

from __future__ import annotations

import asyncio
from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.present.blocks import Block
from mcp_studio.present.browser import open_page
from mcp_studio.protocol.views import held_page, reach_lines, reach_of
from mcp_studio.safetext import safe
from mcp_studio.tui import saving
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.screens.dialog import Confirm
from mcp_studio.urls import judge

_LONGEST = 8_192
"""Characters of an address that can be opened."""
_QUESTION = "Open this page in the browser?"


async def open_outside(app: StudioApp, block: Block) -> None:
    """Open a page of an app, a link, an image or audio; say why what cannot be opened is not. Runs in a worker."""
    if block.kind == "app":
        await _open_app(app, block)
    elif block.kind == "link" and block.uri.startswith(("http://", "https://")):
        await _open_link(app, block.uri)
    elif block.kind in ("image", "audio"):
        await _open_file(app, block)
    elif block.kind == "link":
        app.say("Enter reads it from the server; only http and https pages are opened in the browser.")
    else:
        app.say(f"Nothing opens this here; {app.key_of('save')} saves it.")


async def _open_link(app: StudioApp, uri: str) -> None:
    page = judge(uri)
    if page.refusal:
        app.say(safe(page.refusal, 300), "warning")
        return
    both = [f"The network knows it as {safe(page.ascii_host, 300)}."] if page.ascii_host != page.host else []
    lines = (f"It leads to {safe(page.host, 300)}.", *both, *page.warnings, "", safe(uri, _LONGEST))
    if await app.push_screen_wait(Confirm(_QUESTION, "\n".join(lines), "Open")):
        _tell(app, await open_page(page.url), "The page")


async def _open_app(app: StudioApp, block: Block) -> None:
    """Specification, MCP Apps: a page runs held to what it declares, and here only when a person wants it."""
    raw = cast("dict[str, Json]", block.raw) if isinstance(block.raw, dict) else {}
    reach = reach_of(raw)
    lines = (
        f"{safe(block.uri, 500)} is a page that the server wrote.",
        "In the browser it runs its own scripts, without the studio: it shows, but gets no data.",
        "It is held to what it declares:", *(f"  {safe(line, 500)}" for line in reach_lines(reach)),
    )  # fmt: skip
    if await app.push_screen_wait(Confirm(_QUESTION, "\n".join(lines), "Open")):
        page = held_page(block.text, reach).encode("utf-8", "backslashreplace")
        file = await asyncio.to_thread(saving.keep, app.studio.paths.cache, "app.html", page)
        _tell(app, await open_page(file.as_uri()), "The page")


async def _open_file(app: StudioApp, block: Block) -> None:
    """Only images and audio of known kinds: a program that opens them is made for them."""
    name = saving.opens_as(block)
    if not name:
        kind = safe(block.mime or "of an unknown type", 80)
        app.say(f"What is {kind} is not opened; {app.key_of('save')} saves it.", "warning")
        return
    try:
        data = saving.decoded(block)
    except ValueError as problem:
        app.say(f"It cannot be opened: {safe(problem, 200)}.", "warning")
        return
    file = await asyncio.to_thread(saving.keep, app.studio.paths.cache, name, data)
    _tell(app, await open_page(file.as_uri()), "The file")


def _tell(app: StudioApp, opened: bool, what: str) -> None:
    if opened:
        app.say(f"{what} is handed to the system's program.")
    else:
        app.say(f"There is no program to open it with; {app.key_of('save')} saves the result.", "warning")
