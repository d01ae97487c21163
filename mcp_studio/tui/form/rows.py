"""The drawn part of a form: every field's lines, of which only the visible ones cost anything."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import accumulate, chain

from textual import events
from textual.message import Message

from mcp_studio.tui.form.painter import Drawn
from mcp_studio.tui.views.line import Line, Piece
from mcp_studio.tui.views.rows import RowsView


class FormRows(RowsView):
    """Lines by field. Has the focus only while the current field needs no editor."""

    DEFAULT_CSS = """
    FormRows { layer: rows; width: 1fr; height: 1fr; max-height: 100%; }
    """

    class Clicked(Message):
        """A click on a field: `option` is the option under the pointer, -1 for its value, None beside both."""

        def __init__(self, field: int, option: int | None, x: int) -> None:
            super().__init__()
            self.field = field
            self.option = option
            self.x = x

    def __init__(self, moved: Callable[[], None]) -> None:
        super().__init__()
        self._moved = moved
        self._lines: list[list[Piece]] = []
        self._starts: list[int] = [0]
        self._drawn: Sequence[Drawn] = ()
        self._revision = 0

    @property
    def row_count(self) -> int:
        """Lines of all fields, with what stands above and below."""
        return len(self._lines)

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        """One line."""
        return self._lines[index]

    def row_version(self, index: int) -> Hashable:
        """Lines are drawn anew with every change."""
        return (index, self._revision)

    def show(self, above: list[list[Piece]], drawn: Sequence[Drawn], below: list[list[Piece]]) -> None:
        """Show other lines."""
        self._drawn = drawn
        self._starts = list(accumulate((len(field.lines) for field in drawn), initial=len(above)))
        self._lines = [*above, *chain.from_iterable(field.lines for field in drawn), *below]
        self._revision += 1
        self.rows_changed()

    def start(self, field: int) -> int:
        """The first line of a field."""
        return self._starts[field]

    def reveal(self, field: int) -> None:
        """Scroll so far that the field is in view, its first line at least."""
        first, last = self._starts[field], self._starts[field + 1] - 1
        if field + 2 == len(self._starts):
            last = self.row_count - 1  # with what stands below
        height = self.size.height
        if last >= self.top + height:
            self.scroll_rows(min(first, last - height + 1))
        elif first < self.top:
            self.scroll_rows(0 if field == 0 else first)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The editor that lies over a field goes with it."""
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
        y = offset.y + self.top
        for index, drawn in enumerate(self._drawn):
            line = y - self._starts[index]
            if 0 <= line < len(drawn.lines):
                spots = [spot for spot in drawn.spots if spot.line == line and spot.start <= offset.x < spot.end]
                self.post_message(self.Clicked(index, spots[0].option if spots else None, offset.x))
                return
