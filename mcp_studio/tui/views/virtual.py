"""Rows with a cursor on one of them, and keys and mouse to move it."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from mcp_studio.tui.views.rows import RowsView


class VirtualView(RowsView):
    """Any number of rows, one of them under the cursor.

    `row_highlighted` and `row_chosen` tell a subclass what the person does.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="list-up"),
        Binding("down,j", "move(1)", "Down", show=False, id="list-down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="list-page-up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="list-page-down"),
        Binding("home,g", "first", "First", show=False, id="list-first"),
        Binding("end,G", "last", "Last", show=False, id="list-last"),
    ]
    _cursor = 0

    def row_highlighted(self, index: int) -> None:
        """The cursor came to this row."""

    def row_chosen(self, index: int) -> None:
        """Enter, space or a double click on this row."""

    def row_selected(self, index: int) -> bool:
        """Whether the cursor is on this row."""
        return index == self._cursor

    @property
    def cursor(self) -> int:
        """The row the cursor is on; 0 when there are none."""
        return self._cursor

    def rows_changed(self, top: int | None = None, *, redraw: bool = True, cursor: int | None = None) -> None:
        """The number of rows has changed; the cursor stays on its number, or goes to `cursor`."""
        self._cursor = max(0, min(self._cursor if cursor is None else cursor, self.row_count - 1))
        super().rows_changed(top, redraw=redraw)

    def move_to(self, index: int, *, center: bool = False) -> None:
        """Put the cursor on a row and bring it into view, `center` in the middle when it was outside."""
        index = max(0, min(index, self.row_count - 1))
        old, self._cursor = self._cursor, index
        self.show_cursor(center=center)
        self.refresh_line(old)
        self.refresh_line(index)
        if old != index:
            self.row_highlighted(index)

    def show_cursor(self, *, center: bool = False) -> None:
        """Scroll so far that the cursor is visible."""
        top, height = self.top, self.size.height
        if self._cursor < top or self._cursor >= top + height:
            above = height // 2 if center else 0 if self._cursor < top else height - 1
            self.scroll_rows(self._cursor - above)

    def action_move(self, by: int) -> None:
        """Move the cursor by some rows."""
        self.move_to(self._cursor + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by whole screens."""
        self.move_to(self._cursor + by * max(1, self.size.height - 1))

    def action_first(self) -> None:
        """Go to the first row."""
        self.move_to(0)

    def action_last(self) -> None:
        """Go to the last row."""
        self.move_to(self.row_count - 1)

    # Methods, not bindings, which would go before those of the pane around.
    def key_enter(self, event: events.Key) -> None:
        """Choose the row, unless the pane around has its own use for the key."""
        self._choose_by(event)

    def key_space(self, event: events.Key) -> None:
        """Choose the row, unless the pane around has its own use for the key."""
        self._choose_by(event)

    def _choose_by(self, event: events.Key) -> None:
        if self.row_count and not self.key_is_taken(event.key):
            event.stop()
            self.row_chosen(self._cursor)

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor, a double click chooses."""
        offset = event.get_content_offset(self)
        index = -1 if offset is None else offset.y + self.top
        if offset is not None and 0 <= index < self.row_count:
            event.stop()
            self.row_clicked(index, offset.x, event.chain)

    def row_clicked(self, index: int, x: int, chain: int) -> None:
        """A click in some cell of a row, the `chain`th of several quick ones."""
        self.move_to(index)
        if chain == 2:
            self.row_chosen(index)

    def resized(self) -> None:
        """Keep the cursor on screen in the new size."""
        super().resized()
        self.show_cursor()
