"""The studio's app around a form, with the dialogs that help with its fields."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.screen import Screen

from mcp_studio.config.model import Config, Settings
from mcp_studio.jsontext import Json
from mcp_studio.paths import Paths
from mcp_studio.schema.form import build
from mcp_studio.studio import Studio
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.form.json_editor import JsonEditor
from mcp_studio.tui.form.view import FormView
from tests.support import wait_until


class Holder(Screen[None]):
    """A form, and the same as JSON."""

    def __init__(self, schema: dict[str, Any], value: Json) -> None:
        super().__init__()
        self.form = FormView(build(schema), value)
        self.json = JsonEditor(value)
        self.json.display = False

    def compose(self) -> ComposeResult:
        yield self.form
        yield self.json

    def on_mount(self) -> None:
        self.form.begin()


class HostApp(StudioApp):
    """The studio's app with nothing but a form on its screen."""

    CSS_PATH = None


class Host:
    """One running app, and what a person would do with it."""

    def __init__(self, app: HostApp, holder: Holder, pilot: Pilot[int]) -> None:
        self.app = app
        self.holder = holder
        self.form = holder.form
        self.pilot = pilot
        self.said: list[str] = []

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, words: str) -> None:
        await self.press(*("space" if char == " " else char for char in words))

    async def until(self, true: Any) -> None:
        await wait_until(true)
        await self.pilot.pause()

    def text(self) -> str:
        """What is on the screen."""
        strips = self.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        return "\n".join(strip.text.rstrip() for strip in strips)

    async def shows(self, *texts: str) -> None:
        """Wait until the screen has these texts."""
        for text in texts:
            try:
                await self.until(lambda text=text: text in self.text())
            except BaseException:
                print(self.text())
                raise

    async def choose(self, words: str) -> None:
        """Choose an entry of the field menu."""
        await self.press("ctrl+k")
        await self.type(words)
        await self.press("enter")

    async def idle(self) -> None:
        """Wait for all work in the background."""
        await self.until(lambda: all(worker.is_finished for worker in self.app.workers))


@asynccontextmanager
async def hosted(
    schema: dict[str, Any], value: Json = None, *, settings: Settings | None = None, size: tuple[int, int] = (80, 30)
) -> AsyncGenerator[Host]:
    """The app with a form that has the focus."""
    async with Studio.open(Config(settings or Settings(), {}), Paths.default(), can_ask=True) as studio:
        holder = Holder(schema, value)
        app = HostApp(studio, lambda: holder)
        async with app.run_test(size=size, notifications=True) as pilot:
            host = Host(app, holder, pilot)
            say = app.say
            app.say = lambda text, severity="information": (host.said.append(text), say(text, severity))[1]  # type: ignore[method-assign]
            await pilot.pause()
            yield host
