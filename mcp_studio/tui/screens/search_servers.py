"""Choosing the servers that are searched."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from textual.content import Content

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.choice import ChoiceDialog
from mcp_studio.tui.views.line import Line
from mcp_studio.tui.views.virtual_list import VirtualList


class SearchServers(ChoiceDialog[frozenset[str]], scope="search servers"):
    """Answers the servers that are marked, or the one under the cursor where none is."""

    def __init__(self, names: Sequence[str], marked: Collection[str]) -> None:
        super().__init__()
        self._names = names
        self._marked = set(marked) & set(names)
        self.choices: VirtualList[str] = VirtualList(self._draw)

    def heading(self) -> Content:
        """What is chosen."""
        return Content("Search which servers?")

    def on_mount(self) -> None:
        """The cursor is on the first that is marked."""
        self.choices.set_rows(self._names)
        if self._marked:
            self.choices.go_to_key(next(name for name in self._names if name in self._marked))
        self.set_focus(self.choices)

    def action_mark(self) -> None:
        """Mark the server under the cursor, or unmark it."""
        if self.choices.row is not None:
            self._marked ^= {self.choices.row}
            self.choices.redraw()

    def action_mark_all(self) -> None:
        """Mark all, or none where all are marked."""
        self._marked = set() if len(self._marked) == len(self._names) else set(self._names)
        self.choices.redraw()

    def action_take(self) -> None:
        """Answer what is marked."""
        if marked := self._marked or {row for row in (self.choices.row,) if row}:
            self.dismiss(frozenset(marked))

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click marks."""
        event.stop()
        self.action_mark()

    def _draw(self, name: str, width: int, selected: bool) -> Line:
        return [("[x] " if name in self._marked else "[ ] ", ""), (safe(name, 200), "")]
