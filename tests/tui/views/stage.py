"""A bare app with one view in it, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from textual.app import App, ComposeResult
from textual.filter import LineFilter
from textual.message import Message
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widget import Widget

from mcp_studio.tui import themes
from mcp_studio.tui.walls import WALL


class Stage(App[None]):
    """Shows one widget, focused, behind the terminal wall, and keeps the messages that it posts."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, view: Widget) -> None:
        super().__init__()
        self.view = view
        self.seen: list[Message] = []
        self.copied: list[str] = []

    def compose(self) -> ComposeResult:
        """The view alone."""
        yield self.view

    def on_mount(self) -> None:
        """Keys go to the view."""
        self.view.focus()

    def copy_to_clipboard(self, text: str) -> None:
        """Note what is copied."""
        self.copied.append(text)

    def get_css_variables(self) -> dict[str, str]:
        """Our own names among them."""
        return themes.complete(super().get_css_variables())

    def get_line_filters(self) -> Sequence[LineFilter]:
        """As the real app has it."""
        return [*super().get_line_filters(), WALL]

    def lines(self) -> list[str]:
        """What the view shows, without trailing spaces."""
        height = self.view.size.height
        strips: list[Strip] = self.view.render_lines(self.view.size.region)
        return [strip.text.rstrip() for strip in strips[:height]]

    def of(self, kind: type[Message]) -> list[Message]:
        """The messages of one class that the view has posted so far."""
        # The hook sees a message once for every widget that it bubbles through.
        return list({id(message): message for message in self.seen if isinstance(message, kind)}.values())


@asynccontextmanager
async def staged(view: Widget, size: tuple[int, int] = (40, 10)) -> AsyncIterator[tuple[Stage, Pilot[None]]]:
    """Run the app headless with the view in it."""
    stage = Stage(view)
    async with stage.run_test(size=size, message_hook=stage.seen.append) as pilot:
        yield stage, pilot
