"""A pane whose list can be narrowed by words as one types; the line for them is there only while it is."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

from textual.widget import Widget

from mcp_studio.search.names import Matcher
from mcp_studio.tui.panels.filter_line import FilterLine
from mcp_studio.tui.panels.pane import Pane
from mcp_studio.tui.views.virtual_list import VirtualList


class FilteredPane(Pane):
    """A subclass gives the list, fills it with what has all that is typed, and composes the filter above it."""

    list: VirtualList[Any]
    typed: ClassVar[frozenset[str]] = frozenset(("open", "filter"))
    """Actions whose keys belong to the input while a filter is typed: what was typed before them counts."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.filter = FilterLine()
        self.filter.display = False
        self.matcher = Matcher("")
        """What each row that is shown has; without words where there is no filter."""
        self._home: Hashable = None
        self._high: int | None = None

    def fill(self, *, keep: bool) -> None:
        """Fill the list; the cursor stays on its row, or goes to the first."""
        raise NotImplementedError

    def home(self) -> Hashable:
        """The key of the row under the cursor, to which esc leads back."""
        raise NotImplementedError

    def entry_point(self) -> Widget:
        """The list, also while a filter stands above it."""
        return self.list

    async def action_filter(self) -> None:
        """Start typing a filter."""
        if not self.matcher.words:
            self._home = self.home()
        self._show_line(True)
        await self.filter.open()

    async def end_filter(self) -> None:
        """Show everything again; the cursor stays."""
        await self.filter.clear()
        self._show_line(False)

    def keep_height(self) -> None:
        """Stay as high as with everything in it: what is typed does not move what is below. Zoomed it has its own."""
        self.styles.height = None if self.has_class("-zoomed") else self._high

    def _show_line(self, shown: bool) -> None:
        if shown != self.filter.display:
            self._high = self.outer_size.height + 1 if shown and not self.has_class("-zoomed") else None
            self.keep_height()
        self.filter.display = shown
        self.set_class(shown, "-filtered")

    def on_filter_line_changed(self, event: FilterLine.Changed) -> None:
        """Show only what has all the words."""
        event.stop()
        self.matcher = Matcher(event.text)
        self.fill(keep=not self.matcher.words)

    def on_filter_line_left(self, event: FilterLine.Left) -> None:
        """Back to the list; esc goes to where the filter began."""
        event.stop()
        self.screen.set_focus(self.list)
        self._show_line(bool(self.filter.text))
        if event.how == "escape":
            self.call_later(self.list.go_to_key, self._home)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a filter is typed, some keys belong to its input."""
        return action not in self.typed or not self.filter.has_focus_within
