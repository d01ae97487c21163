"""Draw the screenshots: the real app on the bundled demo server, as SVG files beside this one.

    python screenshots/make.py [NAME]…

Times are those of a clock that moves by the same steps on every run, so that pictures change with the program and not
with the machine. The files name no font files: whoever shows them uses a monospaced font that is there.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from mcp_studio.tui.screens.question import Question  # noqa: E402
from tests.tui.sign_in_stage import FakeSignIn, exchange  # noqa: E402
from textual.pilot import Pilot  # noqa: E402 - found only after the line above
from textual.widgets import Input, TextArea  # noqa: E402

from mcp_studio.call import call as calls  # noqa: E402
from mcp_studio.call.call import CallOutcome  # noqa: E402
from mcp_studio.catalog.listing import EntryKind, Ref  # noqa: E402
from mcp_studio.config.model import Config, ServerConfig, Settings  # noqa: E402
from mcp_studio.errors import SignInNeeded  # noqa: E402
from mcp_studio.limits import DEFAULT  # noqa: E402
from mcp_studio.paths import Paths  # noqa: E402
from mcp_studio.search import index  # noqa: E402
from mcp_studio.session import connection  # noqa: E402
from mcp_studio.session.sign_in import SignInManager  # noqa: E402
from mcp_studio.session.state import TestReport  # noqa: E402
from mcp_studio.studio import Studio  # noqa: E402
from mcp_studio.trace import store  # noqa: E402
from mcp_studio.trace.store import TraceStore  # noqa: E402
from mcp_studio.tui.app import StudioApp  # noqa: E402
from screenshots.svg import plain  # noqa: E402

DEMO = ServerConfig("demo", command="python", args=("-m", "mcp_studio.servers.demo"))
BROKEN = ServerConfig("notes", command="python", args=("-c", 'exit("notes.db is locked")'))
TICKETS = ServerConfig("tickets", url="https://tickets.example.com/mcp", enabled=False)
PATIENCE = 20.0
"""Seconds that a picture may wait for a fact."""


class Clock:
    """Stands in for the module `time` where durations are measured: it moves on by a few milliseconds at each look."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin anew."""
        self._now = 1_800_000_000.0
        self._steps = cycle((0.003, 0.007, 0.004, 0.009, 0.005))

    def time(self) -> float:
        """Seconds."""
        self._now += next(self._steps)
        return self._now

    perf_counter = time


class Scene:
    """One running app, and what a person would do with it."""

    def __init__(self, studio: Studio, app: StudioApp, pilot: Pilot[int]) -> None:
        self.studio = studio
        self.app = app
        self.pilot = pilot

    def text(self) -> str:
        """What is on the screen now."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        await self.pilot.press(*keys)

    async def until(self, true: Callable[[], object]) -> None:
        """Wait for a fact, and for the screen to show it.

        Raises:
            TimeoutError: it does not come.
        """
        end = time.monotonic() + PATIENCE
        while not true():
            if time.monotonic() > end:
                raise TimeoutError(self.text())
            await asyncio.sleep(0.01)
        await self.pilot.pause(0.15)

    async def shows(self, text: str) -> None:
        """Wait until a text is on the screen."""
        await self.until(lambda: text in self.text())

    async def pick(self, name: str, kind: EntryKind = "tool") -> None:
        """Filter the catalog for an entry, open it, and drop the filter again."""
        await self.press("f6", "slash", *name, "enter")
        await self.until(lambda: self.app.main.calling.opened and self.app.main.calling.opened.entry.ref.name == name)
        await self.press("f6", "slash", "escape", "f2")

    async def call(self, name: str, **arguments: Any) -> CallOutcome:
        """Call a tool, with arguments that were typed into it before, and wait for its result."""
        if arguments:
            self.studio.memory.drafts.put(f"tool:demo:{name}", arguments)
        await self.pick(name)
        await self.press("ctrl+j")
        calling = self.app.main.calling
        await self.until(lambda: calling.call and calling.call.outcome)
        assert calling.call and calling.call.outcome
        return calling.call.outcome


class Picture(NamedTuple):
    """One file: its size in cells, the servers, and how to get there."""

    name: str
    size: tuple[int, int]
    servers: tuple[ServerConfig, ...]
    scene: Callable[[Scene], Awaitable[None]]


async def main_screen(scene: Scene) -> None:
    """A tool with its result."""
    await scene.call("list_books", genre="travel")
    await scene.shows("1×")
    await scene.press("f5", "right_square_bracket")


async def small(scene: Scene) -> None:
    """The same in a small terminal, the result as text."""
    await scene.call("list_books", genre="poetry")
    await scene.shows("1×")
    await scene.press("f5")


async def large(scene: Scene) -> None:
    """A large terminal: the trace with an exchange beside it."""
    await scene.call("take_stock")
    await scene.call("fail_as_tool")
    await scene.call("fail_as_request")
    await scene.call("list_books")
    await scene.press("f5", "right_square_bracket", "f8")


async def form(scene: Scene) -> None:
    """A form, and a value that does not fit it."""
    book = {"title": "The Tea Inspector", "author": "Percy Oyelaran", "genre": "mystery", "year": 1200}
    scene.studio.memory.drafts.put("tool:demo:add_book", book)
    await scene.pick("add_book")
    await scene.press("ctrl+j")
    await scene.shows("1450")


async def nested(scene: Scene) -> None:
    """Rows in a form, a variant, and a problem in one of them."""
    items = [{"book": "The Tea Inspector", "copies": 1}, {"book": "Slow Trains North", "copies": 40}]
    card = {"kind": "card", "last_digits": "4242"}
    scene.studio.memory.drafts.put(
        "tool:demo:form_order", {"customer": "Imre Valdane", "payment": card, "items": items}
    )
    await scene.pick("form_order")
    await scene.press("f10", "ctrl+j")
    await scene.shows("at most 20")


async def question(scene: Scene) -> None:
    """A server asks during a call, for fields of every kind."""
    await scene.pick("ask_every_field")
    await scene.press("ctrl+j")
    await scene.shows("demo asks")
    await scene.press(*"Imre Valdane")
    call = scene.app.main.calling.call
    assert call is not None
    call.started = time.monotonic()
    scene.app.main.calling.tick()
    request = scene.studio.inbox.pending[0]
    request.asked = time.monotonic()
    request.until = request.asked + scene.studio.limits.answer
    dialog = scene.app.screen
    assert isinstance(dialog, Question)
    dialog.tell_time()


async def add_server(scene: Scene) -> None:
    """A server that was pasted and tried."""
    connect = scene.studio.test

    async def test(server: ServerConfig) -> TestReport:
        return (await connect(server))._replace(ms=480)

    scene.studio.test = test
    await scene.press("ctrl+n", *"python -m mcp_studio.servers.demo")
    await scene.shows("Ready to")
    await scene.press("ctrl+t")
    await scene.shows("connected in")


async def failed(scene: Scene) -> None:
    """Why a server cannot be used."""
    await scene.press("1", "down", "enter")
    await scene.shows("stderr")


async def filtered(scene: Scene) -> None:
    """The catalog, filtered."""
    await scene.press("f6", "slash", *"show")
    await scene.shows("show_image")


async def search(scene: Scene) -> None:
    """Everything, searched by words."""
    await scene.press("ctrl+f", *"delete a book")
    await scene.shows("remove_book")
    await scene.shows("asked: delete")


async def trace(scene: Scene) -> None:
    """One call of the trace with all that belongs to it."""
    scene.studio.memory.drafts.put("tool:demo:order_book", {"id": "slow-trains-north"})
    await scene.pick("order_book")
    await scene.press("ctrl+j")
    await scene.shows("demo asks")
    await scene.press(*"Ada", "ctrl+j")
    await scene.shows("✓ ok")
    await scene.press("f8", "end", "enter", "left_square_bracket", "left_square_bracket")
    await scene.shows("you answered")


async def statistics(scene: Scene) -> None:
    """Numbers of every tool, from real use."""
    books = [{"id": name} for name in ("slow-trains-north", "no-such-book")]
    for name, some in (("get_book", books[:1] * 14 + books), ("list_books", [{}] * 9), ("fail_as_tool", [{}])):
        for arguments in some:
            await scene.studio.call_tool(Ref("tool", "demo", name), arguments).wait()
    await scene.press("f11")
    await scene.shows("over time")


async def mortem(scene: Scene) -> None:
    """What is known of a server that ended under a call."""
    # Its connection has to begin in the trace that is shown.
    scene.studio.manager.restart("demo")
    await scene.studio.manager.settle("demo")
    await scene.studio.manager.listed("demo")
    for _ in range(8):
        await scene.studio.call_tool(Ref("tool", "demo", "get_book"), {"id": "slow-trains-north"}).wait()
    await scene.pick("fail_by_leaving")
    await scene.press("ctrl+j", "y")
    await scene.shows("ended with exit code 3")
    await scene.until(lambda: scene.studio.manager.status("demo").state == "ready")
    await scene.studio.manager.listed("demo")
    scene.studio.trace.durations.clear()
    await scene.press("f6", "1", "m")
    await scene.shows("In flight")


async def hostile(scene: Scene) -> None:
    """Text that would fool a terminal."""
    await scene.call("show_hostile_text")
    await scene.press("f5", "f10")
    await scene.shows("tower")


async def sign_in(scene: Scene) -> None:
    """Signing in, while the browser is open; nobody is asked over the network."""
    issuer = "https://login.example.com"
    run = FakeSignIn("tickets")
    refused = SignInNeeded("tickets.example.com wants you to sign in.")
    scene.studio.manager.supervisor("tickets").set_status(state="needs_auth", error=refused)
    with (
        patch.object(scene.studio, "sign_in", lambda server, **_: run),
        patch.object(SignInManager, "running", lambda *_: run),
    ):
        await scene.press("1", "j", "a", "enter")
        for at, said in enumerate(
            (
                f"https://tickets.example.com/mcp takes tokens of {issuer}.",
                f"{issuer}, known by {issuer}/.well-known/oauth-authorization-server.",
                "Registered there as client-2f1c.",
            )
        ):
            run.step(at, "done", said, exchange(at + 1))
        run.browser(
            f"{issuer}/authorize?response_type=code&client_id=client-2f1c&code_challenge_method=S256", opened=True
        )
        await scene.shows("A person's permission")
        await scene.shows("14:5")


PICTURES: tuple[Picture, ...] = (
    Picture("main", (120, 36), (DEMO,), main_screen),
    Picture("small", (80, 24), (DEMO,), small),
    Picture("large", (200, 60), (DEMO, BROKEN), large),
    Picture("form", (120, 36), (DEMO,), form),
    Picture("nested", (100, 28), (DEMO,), nested),
    Picture("question", (120, 36), (DEMO,), question),
    Picture("add-server", (120, 36), (DEMO,), add_server),
    Picture("failed-server", (120, 36), (DEMO, BROKEN), failed),
    Picture("filter", (120, 36), (DEMO,), filtered),
    Picture("search", (120, 36), (DEMO,), search),
    Picture("trace", (120, 36), (DEMO,), trace),
    Picture("statistics", (120, 36), (DEMO,), statistics),
    Picture("post-mortem", (100, 28), (DEMO,), mortem),
    Picture("sign-in", (100, 32), (DEMO, TICKETS), sign_in),
    Picture("hostile-text", (120, 36), (DEMO,), hostile),
)


@asynccontextmanager
async def on_stage(picture: Picture, clock: Clock) -> AsyncGenerator[Scene]:
    """The app on a studio whose servers have settled, and whose trace has calls that come in the same order always."""
    # On a busy machine a second greeting would be sent meanwhile, and all requests had another number.
    # What things mean would be mixed in when it is known, on machines where that is installed.
    settings = Settings(limits=replace(DEFAULT, probe=PATIENCE), search_semantic=False)
    config = Config(settings, {server.name: server for server in picture.servers})
    async with Studio.open(config, Paths.default(), can_ask=True) as studio:
        for name in studio.manager.names():
            await studio.manager.settle(name)
            await studio.manager.listed(name)
        # A trace that begins anew: greetings come in another order each time.
        TraceStore.__init__(studio.trace, studio.redactor, DEFAULT)
        clock.restart()
        for tool in ("get_book", "find_books", "get_book", "sell_book", "get_book"):
            arguments = {"text": "train"} if tool == "find_books" else {"id": "slow-trains-north"}
            await studio.call_tool(Ref("tool", "demo", tool), arguments).wait()
        app = StudioApp(studio)
        async with app.run_test(size=picture.size, notifications=False) as pilot:
            await pilot.pause(0.15)
            yield Scene(studio, app, pilot)


async def draw(picture: Picture) -> str:
    """Play a scene and give its picture."""
    with ExitStack() as fixed:
        clock = Clock()
        for module in (store, calls, connection, index):
            fixed.enter_context(patch.object(module, "time", clock))
        home = fixed.enter_context(tempfile.TemporaryDirectory())
        fixed.enter_context(patch.dict(os.environ, {"MCP_STUDIO_HOME": home}))
        async with on_stage(picture, clock) as scene:
            await picture.scene(scene)
            for kind in (Input, TextArea):
                for field in scene.app.screen.query(kind):
                    field.cursor_blink = False
            await scene.pilot.pause(0.15)
            drawn = plain(scene.app.export_screenshot(simplify=True), picture.name)
        # The same number of cells: each text is stretched to its length.
        usual, more = "~/.config/mcp-studio", len(f"{home}/config") - len("~/.config/mcp-studio")
        return re.sub(rf"{re.escape(home)}/config([^<]*)", rf"{usual}\1{'&#160;' * more}", drawn)


def main() -> None:
    """Draw the pictures that are named, or all."""
    os.chdir(ROOT)
    os.environ["TZ"] = "UTC"
    time.tzset()
    # The pictures show `python` as the command: it has to be this one.
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    wanted = sys.argv[1:]
    for picture in PICTURES:
        if not wanted or picture.name in wanted:
            svg = asyncio.run(draw(picture))
            (HERE / f"{picture.name}.svg").write_text(svg, "utf-8")
            sys.stdout.write(f"{picture.name}.svg  {len(svg.encode()) / 1024:.0f} KB\n")


if __name__ == "__main__":
    main()
