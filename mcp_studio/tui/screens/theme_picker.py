"""The choice of a theme, previewed on the main screen."""

from __future__ import annotations

from textual import on
from textual.widgets import OptionList

from mcp_studio.tui.screens.dialog import Choice, Choose, Item


class ThemePicker(Choose[str]):
    """Shows everything in the theme under the cursor; leaving goes back to the theme of before."""

    DEFAULT_CLASSES = ""
    choices = (Choice("submit", "Use it", "primary"), Choice("back", "Cancel"))

    def __init__(self) -> None:
        self._before = self.app.theme
        super().__init__("Theme", [Item(name, name) for name in sorted(self.app.own_themes)], self._before)

    @on(OptionList.OptionHighlighted)
    def preview(self) -> None:
        self.app.theme = self.chosen or self._before

    def action_back(self) -> None:
        self.app.theme = self._before
        super().action_back()
