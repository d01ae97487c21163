"""What will be sent, as it is in the form now."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.jsontext import Json, dumps
from mcp_studio.present import units
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.findable import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.messages import Copied


class Sent(Dialog[None], scope="dialog"):
    """The whole value.

    Args:
        title: what becomes of it.
        value: what the form holds.
        place: the JSON pointer at which the cursor is.
        waiting: how many texts are no JSON, and so are not in it.
    """

    def __init__(self, title: str, value: Json, place: str, waiting: int) -> None:
        super().__init__()
        self._title = title
        self._data = dumps(value)
        self._waiting = waiting
        self._view = Findable(JsonView())

    def heading(self) -> Content:
        """What it is, and how much."""
        return Content(f"{self._title} {glyphs().dot} {units.size(len(self._data))}")

    def body(self) -> Iterable[Widget]:
        """The value, and what is not in it."""
        if self._waiting:
            what = "One text is" if self._waiting == 1 else f"{self._waiting} texts are"
            yield Static(Content(f"{glyphs().warning} {what} no JSON and not in it."), classes="bad")
        yield self._view

    def on_mount(self) -> None:
        """Show it."""
        self.query_one("#box").add_class("-tall", "-wide")
        self._view.view.set_json(self._data)
        self._view.view.focus()

    def on_copied(self, event: Copied) -> None:
        """Put it on the clipboard."""
        event.stop()
        self.app.copy_to_clipboard(event.text)

    def action_copy(self) -> None:
        """Copy what is under the cursor."""
        self._view.view.action_copy()

    def action_close(self) -> None:
        """Back to the form."""
        self.dismiss(None)
