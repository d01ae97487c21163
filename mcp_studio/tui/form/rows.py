"""The drawn part of a form: every row's lines, of which only the visible ones are ever drawn."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from textual import events
from textual.message import Message

from mcp_studio.tui.form.drawn import Drawn, Target
from mcp_studio.tui.form.heights import Heights
from mcp_studio.tui.views.line import Line, Piece
from mcp_studio.tui.views.rows import RowsView


class FormRows(RowsView):
    """Lines by row. Has the focus only while the current row needs no editor."""

    DEFAULT_CSS = """
    FormRows { layer: rows; width: 1fr; height: 1fr; max-height: 100%; }
    """

    class Clicked(Message):
        """A click on a row: `target` is what lies under the pointer, None beside all of it."""

        def __init__(self, row: int, target: Target | None) -> None:
            super().__init__()
            self.row = row
            self.target: Target | None = target

    def __init__(self, moved: Callable[[], None], draw: Callable[[int], Drawn]) -> None:
        """`draw` draws a row, `moved` is called when the rows were scrolled or have another width."""
        super().__init__()
        self._moved = moved
        self._draw_row = draw
        self._above: list[list[Piece]] = []
        self._below: list[list[Piece]] = []
        self._heights = Heights()
        self._drawn: dict[int, Drawn] = {}
        self._revision = 0

    @property
    def row_count(self) -> int:
        """Lines of all rows, with what stands above and below."""
        return self._heights.starts[-1] + len(self._below)

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        """One line."""
        row = self._heights.row_at(index)
        if row is None:
            last = self._heights.starts[-1]
            return self._above[index] if index < len(self._above) else self._below[index - last]
        lines = self.drawn(row).lines
        at = index - self._heights.starts[row]
        return lines[at] if at < len(lines) else []

    def drawn(self, row: int) -> Drawn:
        """The lines of a row."""
        known = self._drawn.get(row)
        if known is None:
            known = self._drawn[row] = self._draw_row(row)
        return known

    def row_version(self, index: int) -> Hashable:
        """Lines are drawn anew with every change."""
        return (index, self._revision)

    def show(
        self, above: list[list[Piece]], heights: Heights, current: tuple[int, Drawn] | None, below: list[list[Piece]]
    ) -> None:
        """Show other lines; the `current` row is drawn already."""
        self._above, self._below, self._heights = above, below, heights
        self._drawn = dict([current] if current else [])
        self._revision += 1
        self.rows_changed()

    def start(self, row: int) -> int:
        """The first line of a row."""
        return self._heights.starts[row]

    def reveal(self, row: int) -> None:
        """Scroll so far that the row is in view, its first line at least."""
        starts = self._heights.starts
        first, last = starts[row], starts[row + 1] - 1
        if row + 2 == len(starts):
            last = self.row_count - 1  # with what stands below
        height = self.size.height
        if last >= self.top + height:
            self.scroll_rows(min(first, last - height + 1))
        elif first < self.top:
            self.scroll_rows(0 if row == 0 else first)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The editor that lies over a row goes with it."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self._moved()

    def resized(self) -> None:
        """Everything is laid out anew for the width."""
        super().resized()
        self._moved()

    def on_click(self, event: events.Click) -> None:
        """Say what was clicked."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        event.stop()
        row = self._heights.row_at(offset.y + self.top)
        if row is not None:
            line = offset.y + self.top - self._heights.starts[row]
            spots = [spot for spot in self.drawn(row).spots if spot.line == line and spot.start <= offset.x < spot.end]
            self.post_message(self.Clicked(row, spots[0].target if spots else None))
