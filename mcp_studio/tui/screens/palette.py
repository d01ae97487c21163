"""All commands with their keys: type to find one, enter does it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.content import Content
from textual.events import Key
from textual.widget import Widget
from textual.widgets import Input

from mcp_studio.tui.actions import PANES, Action, scoped, spell_all
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.line import Line, mark_matches, spread
from mcp_studio.tui.views.matcher import Matcher, words_of
from mcp_studio.tui.views.virtual_list import VirtualList

_PLACES = {"app": "", "main": "", **{name: name for name in PANES}}


class Palette(Dialog[Action], scope="choice"):
    """Answers the action that was chosen."""

    def __init__(self, keys: Mapping[str, str]) -> None:
        super().__init__()
        self._keys = keys
        self._actions = [a for a in scoped("main", *PANES, "app") if a.id != "commands"]
        self._matcher = Matcher((f"{a.title} {a.scope}", a.id) for a in self._actions)
        self._input = Input(placeholder="What do you want to do?", compact=True)
        self._list: VirtualList[Action] = VirtualList(
            self._draw, key=lambda action: action.id, empty="No command has these words."
        )

    def heading(self) -> Content:
        """What it is."""
        return Content("Commands")

    def body(self) -> Iterable[Widget]:
        """An input above a list."""
        return self._input, self._list

    def on_mount(self) -> None:
        """Show all."""
        self._list.set_rows(self._actions)
        self._input.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what matches."""
        event.stop()
        self._list.set_rows([self._actions[i] for i in self._matcher.find(event.value)], keep=False)

    def on_key(self, event: Key) -> None:
        """The arrows move in the list while the input has the focus."""
        if event.key in ("up", "down", "pageup", "pagedown") and self._input.has_focus:
            event.stop()
            step = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}[event.key]
            self._list.action_move(step)

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click does it."""
        event.stop()
        self.action_choose()

    def action_choose(self) -> None:
        """Do it."""
        if self._list.row is not None:
            self.dismiss(self._list.row)

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)

    def _draw(self, action: Action, width: int, selected: bool) -> Line:
        place = _PLACES[action.scope]
        words = words_of(self._input.value)
        left = [*mark_matches(action.title, words), (f"  {place}" if place else "", "dim")]
        return spread(left, [(f" {spell_all(self._keys.get(action.id, action.keys))}", "accent")], width)
