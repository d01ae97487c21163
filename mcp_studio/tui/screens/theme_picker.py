"""The choice of a theme, previewed on the main screen."""

from __future__ import annotations

from textual import getters, on
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Choice, Dialog, Widgets


class ThemePicker(Dialog[None]):
    """Shows everything in the theme under the cursor; leaving goes back to the theme of before."""

    TITLE = "Theme"
    choices = (Choice("submit", "Use it", "primary"), Choice("back", "Cancel"))
    themes = getters.query_one(OptionList)

    def body(self) -> Widgets:
        yield OptionList(*(Option(Content(safe(name, 60)), id=name) for name in sorted(self.app.own_themes)))

    def on_mount(self) -> None:
        self._before = self.app.theme
        self.themes.highlighted = self.themes.get_option_index(self.app.theme)
        self.themes.focus()

    @on(OptionList.OptionHighlighted)
    def preview(self, event: OptionList.OptionHighlighted) -> None:
        self.app.theme = event.option.id or self._before

    @on(OptionList.OptionSelected)
    def action_submit(self) -> None:
        self.app.keep_theme(self.app.theme)
        self.dismiss(None)

    def action_back(self) -> None:
        self.app.theme = self._before
        super().action_back()
