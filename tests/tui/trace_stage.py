"""The trace pane, or a dialog of it, in the real app on a real studio, driven by a pilot."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.notifications import Notify
from textual.pilot import Pilot
from textual.screen import Screen

from mcp_studio.call.call import CallOutcome
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.paths import Paths
from mcp_studio.studio import Studio
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.bindings import bindings
from mcp_studio.tui.panes.trace import TracePane
from tests.studio_support import PATIENT, stdio
from tests.support import python_server, wait_until

PATIENCE = 15


class Host(Screen[None]):
    """A screen with the trace pane alone; it notes what the pane wants of others."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("main")
    CSS = "#trace { display: block; height: 1fr; border: round $accent; }"

    def compose(self) -> ComposeResult:
        yield TracePane()

    def on_mount(self) -> None:
        self.add_class("-trace")  # it is shown on small screens too

    def action_back(self) -> None:
        self.query_one(TracePane).step_back()


class Stage:
    """One running app, and what a person would do with it."""

    def __init__(self, studio: Studio, app: StudioApp, pilot: Pilot[int], seen: list[Message]) -> None:
        self.studio = studio
        self.app = app
        self.pilot = pilot
        self._seen = seen

    @property
    def pane(self) -> TracePane:
        return self.app.screen_stack[0].query_one(TracePane)

    @property
    def text(self) -> str:
        """What is on the screen now."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    async def shows(self, *texts: str) -> None:
        for text in texts:
            try:
                await self.until(lambda text=text: text in self.text, f"{text!r} on the screen")
            except BaseException:
                print(self.text)
                raise

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, true: Callable[[], object], what: str = "") -> None:
        await wait_until(true, PATIENCE, what)
        await self.pilot.pause()

    def messages(self, kind: type[Message]) -> list[Any]:
        return list({id(message): message for message in self._seen if type(message) is kind}.values())

    @property
    def toasts(self) -> list[str]:
        return [one.notification.message for one in self.messages(Notify)]

    async def told(self, words: str) -> None:
        await self.until(lambda: any(words in toast for toast in self.toasts), f"{words!r} in a toast")

    async def call(self, tool: str, /, server: str = "raw", **arguments: object) -> CallOutcome:
        return await self.studio.call_tool(Ref("tool", server, tool), arguments, approved=True).wait()


def raw(name: str = "raw", *args: str, **more: Any) -> ServerConfig:
    """The small well-behaved server of the tests."""
    return stdio(python_server("raw_server", *args), name, **more)


@asynccontextmanager
async def on_stage(
    *servers: ServerConfig, size: tuple[int, int] = (120, 36), origin: str = ""
) -> AsyncGenerator[Stage]:
    """Open studio and app, all servers settled; the trace has the focus. With `origin` the session is recorded."""
    config, seen = Config(PATIENT, {server.name: server for server in servers}), list[Message]()
    async with Studio.open(config, Paths.default(), can_ask=True, origin=origin) as studio:
        for name in studio.manager.names():
            await studio.manager.settle(name)
            await studio.manager.listed(name)
        app = StudioApp(studio, Host)
        async with app.run_test(size=size, notifications=True, message_hook=seen.append) as pilot:
            stage = Stage(studio, app, pilot, seen)
            stage.pane.entry_point().focus()
            await stage.until(lambda: not servers or stage.pane.table.row_count, "messages")
            yield stage
