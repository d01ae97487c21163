"""All commands with their keys: type to find one, enter does it."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content

from mcp_studio.search.names import row
from mcp_studio.tui.actions import PANES, Action, scoped, spell_all
from mcp_studio.tui.screens.choice import SearchDialog
from mcp_studio.tui.views.line import Line, mark_matches, spread
from mcp_studio.tui.views.virtual_list import VirtualList

_PLACES = {"app": "", "main": "", **{name: name for name in PANES}}


class Palette(SearchDialog[Action]):
    """Answers the action that was chosen."""

    placeholder = "What do you want to do?"

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._keys = keys
        actions = [a for a in scoped("main", *PANES, "app") if a.id != "commands"]
        super().__init__(actions, (row(f"{a.title} {a.scope}", a.id) for a in actions))
        self.choices = VirtualList(self._draw, key=lambda action: action.id, empty="No command has these words.")

    def heading(self) -> Content:
        """What it is."""
        return Content("Commands")

    def _draw(self, action: Action, width: int, selected: bool) -> Line:
        place = _PLACES[action.scope]
        left = [*mark_matches(action.title, self.words), (f"  {place}" if place else "", "dim")]
        return spread(left, [(f" {spell_all(self._keys.get(action.id, action.keys))}", "accent")], width)
