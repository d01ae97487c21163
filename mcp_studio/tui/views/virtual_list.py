"""A list of things, from none to hundreds of thousands."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

from textual.message import Message

from mcp_studio.tui.views.line import Line
from mcp_studio.tui.views.virtual import VirtualView

T = TypeVar("T")


class VirtualList(VirtualView, Generic[T]):
    """A list over any sequence: give it rows and a function that draws one.

    `draw(row, width, selected)` returns pieces of text, each with the name of its look (see `views.line`). `key(row)`
    says which row is the same as one before, so that the cursor stays on it. `stops(row)` is False for rows that
    belong to the one above or are headings: the cursor passes them.
    """

    class Highlighted(Message):
        """The cursor came to another row (also because rows changed); `row` is None when there are none."""

        def __init__(self, view: VirtualList[Any], index: int, row: Any) -> None:
            super().__init__()
            self.view = view
            self.index = index
            self.row = row

        @property
        def control(self) -> VirtualList[Any]:
            """The list it is about."""
            return self.view

        def can_replace(self, message: Message) -> bool:
            """Only the newest one waiting matters."""
            return isinstance(message, type(self)) and message.view is self.view

    class Chosen(Message):
        """Enter, space or a double click on a row."""

        def __init__(self, view: VirtualList[Any], index: int, row: Any) -> None:
            super().__init__()
            self.view = view
            self.index = index
            self.row = row

        @property
        def control(self) -> VirtualList[Any]:
            """The list it is about."""
            return self.view

    def __init__(
        self,
        draw: Callable[[T, int, bool], Line] | None = None,
        *,
        key: Callable[[T], Hashable] | None = None,
        stops: Callable[[T], bool] | None = None,
        empty: str = "",
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(empty=empty, name=name, id=id, classes=classes)
        self._draw_row = draw
        self._key = key
        self._stops = stops
        self._rows: Sequence[T] = ()

    @property
    def rows(self) -> Sequence[T]:
        """What is shown now."""
        return self._rows

    @property
    def row(self) -> T | None:
        """The row under the cursor, None when there are none."""
        return self._rows[self.cursor] if self.cursor < len(self._rows) else None

    @property
    def row_count(self) -> int:
        """How many rows there are now."""
        return len(self._rows)

    def set_rows(self, rows: Sequence[T], *, keep: bool = True, redraw: bool = True) -> None:
        """Show other rows. The cursor stays on the row with the same key if it is still there, or goes to its place.

        Without `keep` it goes to the first row, as after typing a filter. Without `redraw` a row whose `row_version`
        was drawn before looks as it did then.
        """
        before = None if self.row is None else self._identity(self.row)
        cursor = self._place_of(rows, before) if keep else 0
        self._rows = rows
        cursor = self._nearest(min(cursor, len(rows) - 1), -1)
        # Scrolled by as much as the row moved, so that it stays where the eye is.
        top = self.top + cursor - self.cursor if keep else 0
        self.rows_changed(top, cursor=cursor, redraw=redraw)
        self.show_cursor()
        if (None if self.row is None else self._identity(self.row)) != before:
            self.row_highlighted(self.cursor)

    def go_to_key(self, key: Hashable) -> bool:
        """Put the cursor on the row with this key; False when there is none."""
        for index, row in enumerate(self._rows):
            if self._identity(row) == key:
                self.move_to(index, center=True)
                return True
        return False

    def move_to(self, index: int, *, center: bool = False) -> None:
        """Put the cursor on a row, or on the next one in that direction on which it may stand."""
        index = max(0, min(index, self.row_count - 1))
        super().move_to(self._nearest(index, 1 if index > self.cursor else -1), center=center)

    def row_clicked(self, index: int, x: int, chain: int) -> None:
        """A click on a row that belongs to another is a click on that."""
        super().row_clicked(self._nearest(index, -1), x, chain)

    def show_cursor(self, *, center: bool = False) -> None:
        """Scroll so far that the cursor, and what belongs to its row, is visible."""
        super().show_cursor(center=center)
        if self._stops is None or not self._rows:
            return
        last = self.cursor
        while last + 1 < len(self._rows) and not self._stops(self._rows[last + 1]):
            last += 1
        if self._nearest(0, 1) == self.cursor:
            self.scroll_rows(0)
        elif last >= self.top + self.size.height:
            self.scroll_rows(min(self.cursor, last - self.size.height + 1))

    def _nearest(self, index: int, step: int) -> int:
        """The row on which the cursor may stand that is nearest in a direction, else in the other one."""
        if self._stops is None:
            return index
        for way in (range(index, len(self._rows) if step > 0 else -1, step), range(len(self._rows))[::-step]):
            for place in way:
                if 0 <= place < len(self._rows) and self._stops(self._rows[place]):
                    return place
        return index

    def _identity(self, row: T) -> Hashable:
        return self._key(row) if self._key else row

    def _place_of(self, rows: Sequence[T], key: Hashable) -> int:
        if key is None:
            return 0
        at = self.cursor
        if at < len(rows) and self._identity(rows[at]) == key:
            return at
        return next((index for index, row in enumerate(rows) if self._identity(row) == key), at)

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        """One row, drawn by the function that was given."""
        row = self._rows[index]
        return self._draw_row(row, width, selected) if self._draw_row else [(str(row), "")]

    def row_highlighted(self, index: int) -> None:
        """Tell the pane around."""
        self.post_message(self.Highlighted(self, index, self.row))

    def row_chosen(self, index: int) -> None:
        """Tell the pane around."""
        self.post_message(self.Chosen(self, index, self.row))
