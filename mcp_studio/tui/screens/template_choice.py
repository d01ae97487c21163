"""Choosing what to start from in the console: type to find a method, enter takes it."""

from __future__ import annotations

from textual.content import Content

from mcp_studio.search.names import row
from mcp_studio.tui.by_hand import Template
from mcp_studio.tui.screens.choice import SearchDialog
from mcp_studio.tui.views.line import Line, mark_matches, spread
from mcp_studio.tui.views.virtual_list import VirtualList


class TemplateChoice(SearchDialog[Template]):
    """Answers what was chosen."""

    placeholder = "A method, or what is to be wrong"

    def __init__(self, templates: list[Template]) -> None:
        super().__init__(templates, (row(f"{one.name} {one.kind}", one.name) for one in templates))
        self.choices = VirtualList(self._draw, empty="Nothing has these words.")

    def heading(self) -> Content:
        """What it is."""
        return Content("Start from")

    def _draw(self, template: Template, width: int, selected: bool) -> Line:
        return spread(mark_matches(template.name, self.words), [(f" {template.kind}", "dim")], width)
