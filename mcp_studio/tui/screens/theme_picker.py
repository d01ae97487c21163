"""Choosing a theme: moving over the list shows it, enter keeps it, esc puts the old one back."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.choice import ChoiceDialog
from mcp_studio.tui.themes import Failed
from mcp_studio.tui.views.virtual_list import VirtualList


class ThemePicker(ChoiceDialog[str]):
    """Answers the name of the theme that was chosen."""

    def __init__(self, now: str, names: list[str], failed: tuple[Failed, ...]) -> None:
        super().__init__()
        self._before = now
        self._failed = failed
        self._names = names
        self.choices: VirtualList[str] = VirtualList(self._draw, key=lambda name: name)

    def heading(self) -> Content:
        """What it is."""
        return Content("Theme")

    def body(self) -> Iterable[Widget]:
        """A list, and what could not be loaded."""
        yield self.choices
        for bad in self._failed:
            yield Static(Content(f"{safe(bad.file.name)}: {safe(bad.reason)}"), classes="bad")

    def on_mount(self) -> None:
        """The cursor is on the theme in use."""
        self.choices.set_rows(self._names)
        self.choices.go_to_key(self._before)
        self.choices.focus()

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Show it."""
        event.stop()
        if isinstance(event.row, str):
            self.app.theme = event.row

    def action_close(self) -> None:
        """Put the old one back."""
        self.app.theme = self._before
        self.dismiss(None)

    def _draw(self, name: str, width: int, selected: bool) -> list[tuple[str, str]]:
        return [(safe(name), "strong" if name == self._before else "")]
