"""Choosing what to start from in the console: type to find a method, enter takes it."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.events import Key
from textual.widget import Widget
from textual.widgets import Input

from mcp_studio.tui.by_hand import Template
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.line import Line, mark_matches, spread
from mcp_studio.tui.views.matcher import Matcher, words_of
from mcp_studio.tui.views.virtual_list import VirtualList

_STEPS = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}


class TemplateChoice(Dialog[Template], scope="choice"):
    """Answers what was chosen."""

    def __init__(self, templates: list[Template]) -> None:
        super().__init__()
        self._templates = templates
        self._matcher = Matcher((f"{one.name} {one.kind}", one.name) for one in templates)
        self._input = Input(placeholder="A method, or what is to be wrong", compact=True)
        self._list: VirtualList[Template] = VirtualList(self._draw, empty="Nothing has these words.")

    def heading(self) -> Content:
        """What it is."""
        return Content("Start from")

    def body(self) -> Iterable[Widget]:
        """An input above a list."""
        return self._input, self._list

    def on_mount(self) -> None:
        """Show all."""
        self._list.set_rows(self._templates)
        self._input.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what matches."""
        event.stop()
        self._list.set_rows([self._templates[index] for index in self._matcher.find(event.value)], keep=False)

    def on_key(self, event: Key) -> None:
        """The arrows move in the list while the input has the focus."""
        if event.key in _STEPS and self._input.has_focus:
            event.stop()
            self._list.action_move(_STEPS[event.key])

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
            self.dismiss(self._list.row)

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)

    def _draw(self, template: Template, width: int, selected: bool) -> Line:
        return spread(mark_matches(template.name, words_of(self._input.value)), [(f" {template.kind}", "dim")], width)
