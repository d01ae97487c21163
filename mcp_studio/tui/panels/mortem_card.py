"""The end of a connection as a text that scrolls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.content import Content

from mcp_studio.tui.views.hanging import Hanging


class MortemCard(ScrollableContainer, can_focus=True):
    """Takes the place of a result that never came."""

    DEFAULT_CSS = """
    MortemCard { height: 1fr; scrollbar-size-vertical: 1; & Hanging { width: 1fr; height: auto; } }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(classes="viewer")
        self._text = Hanging()
        self.content = Content("")

    def compose(self) -> ComposeResult:
        """One text."""
        yield self._text

    def put(self, parts: Sequence[str | tuple[str, str]]) -> None:
        """Show a card; what is the same as before is not drawn anew."""
        content = Content.assemble(*parts)
        if content != self.content:
            self.content = content
            self._text.show(content)

    def action_copy(self) -> None:
        """Copy all of it."""
        self.app.copy_to_clipboard(self.content.plain)
