"""An app of nothing but a form between two inputs: what costs a stage 1.5 seconds takes it a fifth of one."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from html import unescape
from typing import Any

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.events import Key
from textual.filter import LineFilter
from textual.message import Message
from textual.notifications import Notify
from textual.pilot import Pilot
from textual.widgets import Input

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import build
from mcp_studio.tui import themes
from mcp_studio.tui.app import SHEETS
from mcp_studio.tui.form.choices import Complete
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.framework import WALL

_PIECE = re.compile(r'<text [^>]*?x="([\d.]+)" y="([\d.]+)"[^>]*clip-path[^>]*>(.*?)</text>')


class FormApp(App[None]):
    """A form between two inputs; keeps every value that the form posts."""

    CSS_PATH = [*SHEETS]  # noqa: RUF012

    def __init__(self, form: Form, value: Json = None, complete: Complete | None = None) -> None:
        super().__init__()
        self.animation_level = "none"
        self.form = FormView(form, value)
        self.form.completions.source = complete
        self.changes: list[Json] = []

    def get_css_variables(self) -> dict[str, str]:
        return themes.complete(super().get_css_variables())

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), WALL]

    def compose(self) -> ComposeResult:
        yield Input(id="before", compact=True)
        with VerticalScroll(can_focus=False):
            yield self.form
        yield Input(id="after", compact=True)

    def on_form_view_changed(self, event: FormView.Changed) -> None:
        self.changes.append(event.value)

    @property
    def rows(self) -> list[str]:
        """The screen as text."""
        rows = [""] * self.size.height
        for x, y, piece in _PIECE.findall(self.export_screenshot()):
            at = round((float(y) - 20) / 24.4)
            rows[at] = rows[at].ljust(round(float(x) / 12.2)) + unescape(piece).replace("\xa0", " ")
        return rows

    @property
    def lines(self) -> list[str]:
        """Its lines with something in them, without the signs at their ends and with runs of spaces as two."""
        lines = [re.sub(r"(?<=\S) {2,}", "  ", row.rstrip(" ⋮▁▂▃▄▅▆▇█")) for row in self.rows]
        return [line for line in lines if line]

    def line(self, start: str) -> str:
        """The line that starts so, indented or not."""
        return next((line.strip() for line in self.lines if line.strip().startswith(start)), "")


class Host:
    """The running app, and what a person would do with it."""

    def __init__(self, app: FormApp, pilot: Pilot[None], messages: list[Message]) -> None:
        self.app = app
        self.form = app.form
        self.pilot = pilot
        self._messages = messages

    @property
    def toasts(self) -> list[str]:
        """All toasts so far."""
        return [message.notification.message for message in self._messages if isinstance(message, Notify)]

    async def press(self, *keys: str) -> list[str]:
        """Press keys, the letters of a text all at once; gives the lines afterwards."""
        for key in keys:
            if key.startswith("'"):
                for char in key[1:]:
                    self.app.post_message(Key("space" if char == " " else char, char))
                await self.pilot.pause()
            else:
                await self.pilot.press(key)
        await self.pilot.pause()
        return self.app.lines

    async def click(self, text: str, word: str = "", at: int = 0) -> list[str]:
        """Click on a word (or its `at`-th cell) of the line that starts with a text."""
        rows = self.app.rows
        row = next(number for number, line in enumerate(rows) if line.strip().startswith(text))
        await self.pilot.click(offset=(rows[row].index(word or text) + at, row))
        await self.pilot.pause()
        return self.app.lines


@asynccontextmanager
async def hosted(
    schema: dict[str, Any], value: Json = None, size: tuple[int, int] = (60, 30), **options: Any
) -> AsyncGenerator[Host]:
    """A form, its first row current."""
    messages: list[Message] = []
    app = FormApp(build(schema), value, **options)
    async with app.run_test(size=size, notifications=True, message_hook=messages.append) as pilot:
        await pilot.press("tab")
        await pilot.pause()
        yield Host(app, pilot, messages)
