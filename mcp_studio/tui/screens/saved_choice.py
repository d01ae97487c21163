"""Choosing a saved call: type to find one; files that cannot be used stand at the end, with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, cast

from textual.content import Content

from mcp_studio.call.saved import Loaded, SavedCall
from mcp_studio.config.model import Problem
from mcp_studio.safetext import safe
from mcp_studio.search import names
from mcp_studio.tui.panels.history import saved_line
from mcp_studio.tui.screens.choice import SearchDialog
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, cut
from mcp_studio.tui.views.virtual_list import VirtualList


class Chosen(NamedTuple):
    """What is to be done with which: `fill run rename delete open`."""

    what: str
    row: SavedCall | Problem


class SavedChoice(SearchDialog[Any], scope="saved"):
    """Answers `Chosen`."""

    placeholder = "A name, a server, a tool, words of the description"

    def __init__(self, loaded: Loaded) -> None:
        rows = [*loaded.calls, *loaded.failed]
        super().__init__(rows, (names.row(_title(row), _words(row)) for row in rows))
        self.choices = VirtualList(self._draw, key=_name, empty="Nothing has these words.")

    def heading(self) -> Content:
        """What it is."""
        return Content("Saved calls")

    def action_take(self, what: str) -> None:
        """Have something done with the row under the cursor."""
        row = cast("SavedCall | Problem | None", self.choices.row)
        if row is None:
            return
        if isinstance(row, Problem) and what != "open":
            self.notify(safe(str(row), 600), severity="warning", markup=False)
            return
        self.dismiss(Chosen(what, row))

    def action_choose(self) -> None:
        """A double click fills the form."""
        self.action_take("fill")

    def _draw(self, row: SavedCall | Problem, width: int, selected: bool) -> Line:
        if isinstance(row, SavedCall):
            return saved_line(row, width, whole=True)
        text = f"{Path(row.file).name}: {row.key} {row.message} {row.hint}"
        return [(f"{glyphs().bad} ", "bad"), (cut(safe(text, 400), max(1, width - 2), more=glyphs().more), "dim")]


def _name(row: SavedCall | Problem) -> str:
    return f"{row.where}:{row.name}" if isinstance(row, SavedCall) else f"{row.file} {row.key}"


def _title(row: SavedCall | Problem) -> str:
    return row.name if isinstance(row, SavedCall) else Path(row.file).name


def _words(row: SavedCall | Problem) -> str:
    if isinstance(row, SavedCall):
        return f"{row.ref.server} {row.ref.name} {row.ref.kind} {row.where} {row.description}"
    return row.message
