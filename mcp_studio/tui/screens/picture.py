"""One picture, as large as the terminal is."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from textual.content import Content
from textual.widget import Widget

from mcp_studio.present import blocks
from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.content_view import ContentView, Item


class Picture(Dialog[None], scope="dialog"):
    """Shows a picture until it is closed."""

    def __init__(self, block: blocks.Block) -> None:
        super().__init__()
        self._block = block
        self._view = ContentView(picture_rows=0)

    def heading(self) -> Content:
        """What it is."""
        return Content(safe(blocks.headline(self._block), 100))

    def body(self) -> Iterable[Widget]:
        """The picture."""
        yield self._view

    def on_mount(self) -> None:
        """Draw it."""
        self._view.show([Item(picture=partial(blocks.decode, self._block))])
        self._view.focus()

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)

    def action_copy(self) -> None:
        """Copy its address, or what it is."""
        self.app.copy_to_clipboard(self._block.uri or blocks.headline(self._block))
