"""The real app on a real studio with real child servers, driven by a pilot."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from textual._context import visible_screen_stack
from textual.message import Message
from textual.notifications import Notify
from textual.pilot import Pilot

from mcp_studio.config.model import Config, ServerConfig, Settings
from mcp_studio.paths import Paths
from mcp_studio.studio import Studio
from mcp_studio.tui.app import StudioApp
from tests.studio_support import PATIENT, stdio
from tests.support import python_server, wait_until
from tests.support import run as bounded


def run(coro: Coroutine[Any, Any, None]) -> None:
    """Run a test; the deadline is for machines that have much else to do."""
    bounded(coro, 180)


class Stage:
    """One running app, and what a person would do with it."""

    def __init__(self, studio: Studio, app: StudioApp, pilot: Pilot[int], seen: list[Message]) -> None:
        self.studio = studio
        self.app = app
        self.pilot = pilot
        self.seen = seen
        """All messages so far, oldest first."""

    @property
    def main(self) -> Any:
        return self.app.main

    def screen_text(self) -> str:
        """What is on the screen now, as text."""
        screen = self.app.screen
        # What it draws now is kept and drawn again: without these a dialog would stay on an empty screen.
        visible_screen_stack.set(self.app._background_screens)
        lines = ["".join(segment.text for segment in strip) for strip in screen._compositor.render_strips()]
        return "\n".join(lines)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def until(self, true: Callable[[], object], what: str = "", timeout: float = 60) -> None:
        """Wait for a fact; the screen is shown when it does not come."""
        try:
            await wait_until(true, timeout, what)
        except BaseException:
            print(self.screen_text())
            raise
        await self.pilot.pause()

    async def shows(self, *texts: str, timeout: float = 60) -> None:
        """Wait until the screen has these texts."""
        for text in texts:
            await self.until(lambda text=text: text in self.screen_text(), f"{text!r} on the screen", timeout)

    async def told(self, words: str) -> None:
        """Wait until a toast has these words."""
        await self.until(lambda: any(words in toast for toast in self.toasts), f"{words!r} in a toast")

    async def open(self, name: str, kind: str = "tool") -> None:
        """Open an entry of the catalog by its name, as enter in the list does."""
        found = [entry for entry in self.studio.catalog.entries(kind) if entry.ref.name == name]  # type: ignore[arg-type]
        assert found, f"there is no {kind} {name}"
        await self.main.calling.open(found[0], go=True)
        await self.pilot.pause()

    async def ran(self) -> Any:
        """Press the key that runs, wait for the end of the call that this begins, and give its outcome."""
        before = self.main.calling.call
        await self.press("ctrl+j")
        calling = self.main.calling
        await self.until(lambda: calling.call not in (None, before) and calling.call.outcome, "an outcome")
        await self.pilot.pause()
        return self.main.calling.call.outcome

    def messages(self, kind: type[Message]) -> list[Any]:
        return list({id(message): message for message in self.seen if type(message) is kind}.values())

    @property
    def toasts(self) -> list[str]:
        """All so far, also those that are gone again: a busy machine looks late."""
        return [told.notification.message for told in self.messages(Notify)]


def raw(name: str = "raw", *args: str, **more: Any) -> ServerConfig:
    """The small well-behaved server of the tests."""
    return stdio(python_server("raw_server", *args), name, **more)


@asynccontextmanager
async def on_stage(
    *servers: ServerConfig,
    size: tuple[int, int] = (120, 36),
    settings: Settings | None = None,
    config: Config | None = None,
    ready: bool = True,
    origin: str = "",
) -> AsyncGenerator[Stage]:
    """Open studio and app; with `ready`, once all servers have settled and the screen shows it.

    With `origin` its session is recorded.
    """
    whole = config or Config(settings or PATIENT, {server.name: server for server in servers})
    seen: list[Message] = []
    async with Studio.open(whole, Paths.default(), can_ask=True, origin=origin) as studio:
        app = StudioApp(studio)
        async with app.run_test(size=size, notifications=True, message_hook=seen.append) as pilot:
            stage = Stage(studio, app, pilot, seen)
            if ready:
                for name in studio.manager.names():
                    await studio.manager.settle(name)
                    await studio.manager.listed(name)
            await pilot.pause()
            # What the servers brought is told to the screen with pauses in between.
            while ready and app.main.bridge._handle is not None:
                await pilot.pause(0.01)
            yield stage
