"""A list of things, from none to hundreds of thousands."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from textual.message import Message

from mcp_studio.tui.views.line import Line
from mcp_studio.tui.views.rows import CursorView

T = TypeVar("T")


@dataclass
class RowMessage(Message):
    """Something happened to a row of a list; `row` is None when there are none."""

    row: Any
    view: VirtualList[Any]

    @property
    def control(self) -> VirtualList[Any]:
        """The list, for `@on(VirtualList.Chosen, "#id")`."""
        return self.view


class VirtualList(CursorView, Generic[T]):
    """A list over any sequence: give it rows and a function that draws one.

    `draw(row, width, selected)` returns pieces of text, each with the name of its look (see `views.line`). `key(row)`
    says which row is the same as one before, so that the cursor stays on it.
    """

    class Highlighted(RowMessage):
        """The cursor came to another row (also because rows changed)."""

    class Chosen(RowMessage):
        """Enter, or a double click on a row."""

    def __init__(
        self,
        draw: Callable[[T, int, bool], Line],
        *,
        key: Callable[[T], Hashable],
        empty: str = "",
        id: str | None = None,
    ) -> None:
        super().__init__(empty=empty, id=id)
        self._draw_row = draw
        self._key_of = key
        self._rows: Sequence[T] = ()

    @property
    def rows(self) -> Sequence[T]:
        """What is shown now."""
        return self._rows

    @property
    def row(self) -> T | None:
        """The row under the cursor, None when there are none."""
        return self._rows[self.cursor] if self._rows else None

    @property
    def row_count(self) -> int:
        return len(self._rows)

    def show(self, rows: Sequence[T], *, keep: bool = True) -> None:
        """Show other rows. The cursor stays on the row with the same key if it is still there, or goes to its place.

        Without `keep` it goes to the first row, as after typing a filter.
        """
        before = self._present_key
        cursor = self._place_of(rows, before) if keep else 0
        cursor = max(0, min(cursor, len(rows) - 1))
        self._rows = rows
        # Scrolled by as much as the row moved, so that it stays where the eye is.
        self.rows_changed(self.top + cursor - self.cursor if keep else 0, cursor=cursor)
        self.show_cursor()
        if self._present_key != before:
            self.row_highlighted(self.cursor)

    def go_to(self, key: Hashable) -> bool:
        """Put the cursor on the row with this key; False when there is none."""
        for index, row in enumerate(self._rows):
            if self._key_of(row) == key:
                self.move_to(index, center=True)
                return True
        return False

    @property
    def _present_key(self) -> Hashable:
        return self._key_of(self._rows[self.cursor]) if self._rows else None

    def _place_of(self, rows: Sequence[T], key: Hashable) -> int:
        if key is None:
            return 0
        at = self.cursor
        if at < len(rows) and self._key_of(rows[at]) == key:
            return at
        return next((index for index, row in enumerate(rows) if self._key_of(row) == key), at)

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        return self._draw_row(self._rows[index], width, selected)

    def row_highlighted(self, index: int) -> None:
        self.post_message(self.Highlighted(self.row, self))

    def row_chosen(self, index: int) -> None:
        self.post_message(self.Chosen(self._rows[index], self))
