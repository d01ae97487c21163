"""Choosing one of a few words from a list."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.choice import ChoiceDialog
from mcp_studio.tui.views.line import Line
from mcp_studio.tui.views.virtual_list import VirtualList

Option = tuple[str, str]
"""The value, and the words for it."""


class Choose(ChoiceDialog[str]):
    """Answers the value that was chosen.

    Args:
        now: the value on which the cursor is first.
    """

    def __init__(self, heading: str, options: Sequence[Option], now: str) -> None:
        super().__init__()
        self._heading = heading
        self._options = options
        self._now = now
        self.choices: VirtualList[Option] = VirtualList(self._draw, key=lambda option: option[0])

    def heading(self) -> Content:
        """What is chosen."""
        return Content(safe(self._heading, 70))

    def on_mount(self) -> None:
        """The cursor is on what is so now."""
        self.choices.set_rows(self._options)
        self.choices.go_to_key(self._now)
        self.choices.focus()

    def taken(self, row: Option) -> str:
        """Its value."""
        return row[0]

    def _draw(self, option: Option, width: int, selected: bool) -> Line:
        return [(safe(option[1], 200), "strong" if option[0] == self._now else "")]
