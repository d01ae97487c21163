"""One image, as large as the terminal is."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from textual.widget import Widget

from mcp_studio.present import blocks
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.image import ImageView

_ROWS = 200
"""As many as there is room for."""


class Picture(Dialog[None]):
    """Shows an image until it is closed."""

    DEFAULT_CLASSES = "-large"
    choices = (Choice("back", "Close"),)

    def __init__(self, block: blocks.Block) -> None:
        super().__init__()
        self._block = block

    def heading(self) -> str:
        return blocks.headline(self._block)

    def body(self) -> Iterable[Widget]:
        yield ImageView(partial(blocks.decode, self._block), rows_most=_ROWS)
