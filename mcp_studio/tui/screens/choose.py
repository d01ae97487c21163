"""Choosing one of a few words from a list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.content import Content
from textual.widget import Widget

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.line import Line
from mcp_studio.tui.views.virtual_list import VirtualList

Option = tuple[str, str]
"""The value, and the words for it."""


class Choose(Dialog[str], scope="choice"):
    """Answers the value that was chosen.

    Args:
        now: the value on which the cursor is first.
    """

    def __init__(self, heading: str, options: Sequence[Option], now: str) -> None:
        super().__init__()
        self._heading = heading
        self._options = options
        self._now = now
        self._list: VirtualList[Option] = VirtualList(self._draw, key=lambda option: option[0])

    def heading(self) -> Content:
        """What is chosen."""
        return Content(safe(self._heading, 70))

    def body(self) -> Iterable[Widget]:
        """A list."""
        yield self._list

    def on_mount(self) -> None:
        """The cursor is on what is so now."""
        self._list.set_rows(self._options)
        self._list.go_to_key(self._now)
        self._list.focus()

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Keep it to this dialog."""
        event.stop()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click takes it."""
        event.stop()
        self.action_choose()

    def action_choose(self) -> None:
        """Take what the cursor is on."""
        if self._list.row is not None:
            self.dismiss(self._list.row[0])

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)

    def _draw(self, option: Option, width: int, selected: bool) -> Line:
        return [(safe(option[1], 200), "strong" if option[0] == self._now else "")]
