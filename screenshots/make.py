"""Draw the screenshots: the real app on real servers, as SVG files beside this one.

    python screenshots/make.py [NAME]…

The files name no font files: whoever shows them uses a monospaced font that is there.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from textual.widgets import Input, TextArea  # noqa: E402 - found only after the line above

from mcp_studio.catalog.listing import Ref  # noqa: E402
from mcp_studio.config.model import ServerConfig, Settings  # noqa: E402
from mcp_studio.tui.screens.elicitation import Elicitation  # noqa: E402
from screenshots.svg import plain  # noqa: E402
from tests.servers.auth_server import AuthServer  # noqa: E402
from tests.tui.stage import Stage, on_stage  # noqa: E402

DEMO = ServerConfig("demo", command="python", args=("-m", "mcp_studio.servers.demo"))
BROKEN = ServerConfig("notes", command="python", args=("-c", 'exit("notes.db is locked")'))
SETTINGS = Settings(secrets="memory", search_semantic=False)
CARD = {"kind": "card", "last_digits": "4242"}


class Picture(NamedTuple):
    """One file: its size in cells, the servers, and how to get there."""

    name: str
    size: tuple[int, int]
    servers: tuple[ServerConfig, ...]
    scene: Callable[[Stage], Awaitable[object]]


async def fill(stage: Stage, name: str, value: dict[str, object]) -> None:
    """Open a tool and fill its form."""
    await stage.open(name)
    stage.main.call.fill(value)
    await stage.pilot.pause()


async def tab(stage: Stage, name: str) -> None:
    """Go to the result, and turn to one of its tabs."""
    await stage.press("4")
    tabs = stage.main.result.tabs
    assert tabs is not None
    tabs.active = name
    await stage.pilot.pause()


async def main_screen(stage: Stage) -> None:
    """A nested form with a table beside it."""
    items = [{"book": "slow-trains-north", "copies": 1}, {"book": "the-tea-inspector", "copies": 2}]
    await stage.open("list_books")
    await stage.call()
    await fill(stage, "form_order", {"customer": "Imre Valdane", "payment": CARD, "items": items})
    await stage.call()
    await tab(stage, "table")


async def small(stage: Stage) -> None:
    """A small terminal."""
    await fill(stage, "list_books", {"genre": "poetry"})
    await stage.call()
    await stage.press("4")


async def large(stage: Stage) -> None:
    """A large terminal: the trace with an exchange beside it."""
    for name in ("take_stock", "fail_as_tool", "fail_as_request", "list_books"):
        await stage.open(name)
        await stage.call()
    await tab(stage, "table")
    await stage.press("5")


async def form(stage: Stage) -> None:
    """A form, and a value that does not fit it."""
    book = {"title": "The Tea Inspector", "author": "Percy Oyelaran", "genre": "mystery", "year": 1200}
    await fill(stage, "add_book", book)
    await stage.press("ctrl+j")
    await stage.shows("1450")


async def nested(stage: Stage) -> None:
    """Rows in a form, a variant, and a problem in one of them."""
    items = [{"book": "the-tea-inspector", "copies": 1}, {"book": "slow-trains-north", "copies": 40}]
    await fill(stage, "form_order", {"customer": "Imre Valdane", "payment": CARD, "items": items})
    await stage.press("escape", "3", "ctrl+j", "escape", "3")
    stage.main.action_zoom()
    await stage.shows("at most 20")


async def question(stage: Stage) -> None:
    """A server requests input during a call, by fields of every kind."""
    await stage.open("ask_every_field")
    await stage.press("ctrl+j")
    await stage.shows("demo requests input")
    await stage.type("Imre Valdane")


async def add_server(stage: Stage) -> None:
    """A server that was pasted and tried."""
    await stage.press("ctrl+n")
    await stage.type("python -m mcp_studio.servers.demo")
    await stage.pilot.click("#test")
    await stage.shows(r"60 tools")


async def failed(stage: Stage) -> None:
    """Why a server cannot be used."""
    await stage.press("1", "down", "enter")
    await stage.shows("notes.db is locked")


async def filtered(stage: Stage) -> None:
    """The catalog, filtered."""
    await stage.press("2", "slash")
    await stage.type("show")
    await stage.shows("show_image")


async def search(stage: Stage) -> None:
    """Everything, searched by words."""
    await stage.press("ctrl+f")
    await stage.type("delete a book")
    await stage.shows("remove_book")


async def trace(stage: Stage) -> None:
    """One call of the trace with all that belongs to it."""
    await fill(stage, "order_book", {"id": "slow-trains-north"})
    await stage.press("ctrl+j")
    await stage.dialog(Elicitation)
    await stage.type("Ada")
    await stage.press("ctrl+j")
    await stage.shows("Ordered 1 of")
    await stage.press("5", "end", "enter")
    await stage.shows("Timeline")


async def statistics(stage: Stage) -> None:
    """Numbers of every tool, from real use."""
    books = [{"id": name} for name in ("slow-trains-north", "no-such-book")]
    for name, some in (("get_book", books[:1] * 14 + books), ("list_books", [{}] * 9), ("fail_as_tool", [{}])):
        for arguments in some:
            await stage.studio.call_tool(Ref("tool", "demo", name), arguments).wait()
    await stage.press("5", "i")
    await stage.shows("get_book")


async def mortem(stage: Stage) -> None:
    """What is known of a server that ended under a call."""
    await stage.open("fail_by_leaving")
    stage.studio.call_tool(Ref("tool", "demo", "fail_by_leaving"), {}, approved=True)
    await stage.until(lambda: stage.studio.manager.supervisor("demo").mortems, "an ending")
    await stage.studio.manager.settle("demo")
    await stage.press("1")
    await stage.main.servers.run_action("exit_report")
    await stage.shows("exit code 3")


async def hostile(stage: Stage) -> None:
    """Text that would fool a terminal."""
    await stage.open("show_hostile_text")
    await stage.call()
    await stage.press("4", "plus")
    await stage.shows("tower")


async def sign_in(stage: Stage) -> None:
    """Signing in, where no browser can be opened."""
    await stage.press("1")
    await stage.main.servers.run_action("sign_in")
    await stage.shows("Nothing has been sent")
    await stage.pilot.click("#begin")
    await stage.shows("authorize")


async def palette(stage: Stage) -> None:
    """Actions, tools and themes by name."""
    await stage.press("ctrl+p")
    await stage.type("theme")
    await stage.shows("nord")


PICTURES: tuple[Picture, ...] = (
    Picture("main", (140, 40), (DEMO,), main_screen),
    Picture("small", (80, 24), (DEMO,), small),
    Picture("large", (200, 60), (DEMO, BROKEN), large),
    Picture("form", (120, 36), (DEMO,), form),
    Picture("nested", (100, 28), (DEMO,), nested),
    Picture("question", (120, 36), (DEMO,), question),
    Picture("add-server", (120, 36), (DEMO,), add_server),
    Picture("failed-server", (120, 36), (DEMO, BROKEN), failed),
    Picture("filter", (120, 36), (DEMO,), filtered),
    Picture("search", (120, 36), (DEMO,), search),
    Picture("palette", (120, 36), (DEMO,), palette),
    Picture("trace", (120, 36), (DEMO,), trace),
    Picture("statistics", (120, 36), (DEMO,), statistics),
    Picture("post-mortem", (100, 28), (DEMO,), mortem),
    Picture("sign-in", (100, 32), (), sign_in),
    Picture("hostile-text", (120, 36), (DEMO,), hostile),
)


async def draw(picture: Picture) -> str:
    """Play a scene and give its picture."""
    async with AsyncExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory())
        os.environ["MCP_STUDIO_HOME"] = home
        servers = picture.servers
        if not servers:
            world = await stack.enter_async_context(AuthServer())
            servers = (ServerConfig("tickets", url=world.url),)
        stage = await stack.enter_async_context(on_stage(*servers, size=picture.size, settings=SETTINGS))
        await picture.scene(stage)
        for kind in (Input, TextArea):
            for field in stage.app.screen.query(kind):
                field.cursor_blink = False
        stage.app.clear_notifications()
        await stage.pilot.pause(0.3)
        drawn = plain(stage.app.export_screenshot(simplify=True), picture.name)
        # The same number of cells: each text is stretched to its length.
        usual, more = "~/.config/mcp-studio", len(f"{home}/config") - len("~/.config/mcp-studio")
        return re.sub(rf"{re.escape(home)}/config([^<]*)", rf"{usual}\1{'&#160;' * more}", drawn)


def main() -> None:
    """Draw the pictures that are named, or all."""
    os.chdir(ROOT)
    # The pictures show `python` as the command: it has to be this one. No browser is opened.
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        os.environ.pop(name, None)
    wanted = sys.argv[1:]
    for picture in PICTURES:
        if not wanted or picture.name in wanted:
            svg = asyncio.run(draw(picture))
            (HERE / f"{picture.name}.svg").write_text(svg, "utf-8")
            sys.stdout.write(f"{picture.name}.svg  {len(svg.encode()) / 1024:.0f} KB\n")


if __name__ == "__main__":
    main()
