"""Choosing a theme: moving over the list shows it, enter keeps it, esc puts the old one back."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Choice, Dialog


class ThemePicker(Dialog[None]):
    """Stands at the side, without a veil, so that the theme is seen."""

    TITLE = "Theme"
    DEFAULT_CSS = """
    ThemePicker { background: transparent; align: right middle; }
    ThemePicker > #box { width: 40; margin-right: 2; }
    """
    choices = (Choice("submit", "Keep", "primary"), Choice("back", "Back"))

    def body(self) -> Iterable[Widget]:
        yield OptionList(*(Option(Content(safe(name, 60)), id=name) for name in sorted(self.app.own_themes)))

    def on_mount(self) -> None:
        self._before = self.app.theme
        themes = self.query_one(OptionList)
        themes.highlighted = themes.get_option_index(self._before)
        themes.focus()

    @on(OptionList.OptionHighlighted)
    def preview(self, event: OptionList.OptionHighlighted) -> None:
        self.app.theme = event.option.id or self._before

    @on(OptionList.OptionSelected)
    def action_submit(self) -> None:
        self.app.keep_theme(self.app.theme)
        self.dismiss(None)

    def action_back(self) -> None:
        self.app.theme = self._before
        self.dismiss(None)
