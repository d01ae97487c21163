"""Text of any size: at once on screen, wrapped, searched and copied."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.selection import Selection
from textual.strip import Strip

from mcp_studio.tui.views.json_rows import StringRows
from mcp_studio.tui.views.json_text import decode
from mcp_studio.tui.views.line import Line, Piece, mark_matches
from mcp_studio.tui.views.messages import Copied
from mcp_studio.tui.views.searchable import SearchableView
from mcp_studio.tui.views.wrapped import WrappedText


class TextView(SearchableView):
    """Shows bytes or text, made safe row by row, however much it is."""

    ALLOW_SELECT = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_by(-1)", "Up", show=False, id="viewer-up"),
        Binding("down,j", "scroll_by(1)", "Down", show=False, id="viewer-down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="viewer-page-up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="viewer-page-down"),
        Binding("home,g", "first", "Begin", show=False, id="viewer-first"),
        Binding("end,G", "last", "End", show=False, id="viewer-last"),
    ]

    def __init__(
        self,
        data: bytes | str = b"",
        *,
        empty: str = "",
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(empty=empty, name=name, id=id, classes=classes)
        self._data = _bytes(data)
        self._string: tuple[int, int] | None = None
        self._wrapped = WrappedText(b"", 80)
        self._wanted: tuple[Literal["top", "hit"], int] | None = None

    def set_text(self, data: bytes | str) -> None:
        """Show another text from its begin; a search ends."""
        self._set(_bytes(data), None)

    def set_string(self, data: bytes, begin: int, end: int) -> None:
        """Show what a JSON string says that stands in some bytes with its quotes; they are not copied."""
        self._set(data, (begin + 1, max(begin + 1, end - (data[end - 1 : end] == b'"'))))

    def _set(self, data: bytes, string: tuple[int, int] | None) -> None:
        self._data, self._string = data, string
        self._wrapped = WrappedText(b"", 80)
        self._wanted = None
        if self.is_attached and self.row_width:
            self.scroll_rows(0)
            self._wrap()
            self.find("")

    @property
    def data(self) -> bytes:
        """What is shown, as it came; of a JSON string what it says, which takes some time where that is much."""
        if self._string is None:
            return self._data
        begin, end = self._string
        return decode(self._data[begin:end]).encode("utf-8", "backslashreplace")

    @property
    def complete(self) -> bool:
        """Whether all rows are known."""
        return self._wrapped.data is self._data and self._wrapped.done

    # Rows

    @property
    def row_count(self) -> int:
        """Rows known so far."""
        return self._wrapped.rows

    def resized(self) -> None:
        """Wrap anew at the new width; what was at the top stays there."""
        super().resized()
        if self.row_width and (self._wrapped.width != self.row_width or self._wrapped.data is not self._data):
            if self.top:
                self._wanted = "top", self._wrapped.offset_of(self.top)
            self._wrap()

    def shown(self) -> None:
        """Take over what was set while nobody could see it."""
        self.resized()

    def _wrap(self) -> None:
        if self._string is None:
            self._wrapped = WrappedText(self._data, self.row_width)
        else:
            self._wrapped = StringRows(self._data, self.row_width, *self._string)
        self._strips.clear()
        self.in_slices("rows", self._wrap_on)

    def _wrap_on(self, budget: float) -> bool:
        finished = self._wrapped.advance(budget)
        self.rows_changed(redraw=False)
        if self._wanted is not None:
            kind, offset = self._wanted
            row = self._wrapped.row_of(offset)
            if row is not None:
                self._wanted = None
                if kind == "top":
                    self.scroll_rows(row)
                else:
                    self._show_row(row)
        return finished

    def row_version(self, index: int) -> Hashable:
        """Number, search and selection."""
        return index, self._needle, self._selected(index)

    def row_selected(self, index: int) -> bool:
        """Whether the present hit of the search begins in this row."""
        hit = self.hit_offset
        return hit is not None and self._wrapped.row_of(hit) == index

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        """One row, with what was searched for and what is selected marked."""
        text = self._wrapped.row(index)
        span = self._selected(index)
        if span is None:
            return mark_matches(text, [self._needle])
        start, end = span[0], len(text) if span[1] < 0 else span[1]
        chosen: Piece = (text[start:end] or " ", self.selection_style)
        return [(text[:start], ""), chosen, (text[end:], "")]

    def render_line(self, y: int) -> Strip:
        """One line of the screen, which knows its place for the mouse's selection."""
        strip = super().render_line(y)
        index = y + self.top
        return strip.apply_offsets(0, index) if index < self.row_count else strip

    # Search

    def searched_data(self) -> bytes:
        """The bytes shown, and what they stand in."""
        return self._data

    def searched_part(self) -> tuple[int, int]:
        """Where they begin and end."""
        return self._string or (0, len(self._data))

    def search_variants(self, text: str) -> tuple[str, ...]:
        """In a JSON string, as it is spelled there."""
        if self._string is None:
            return ()
        return json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]

    def search_origin(self) -> int:
        """The first byte on screen."""
        return self._wrapped.offset_of(self.top)

    def show_hit(self, offset: int) -> None:
        """Bring a byte on screen, at once or as soon as its row is known."""
        row = self._wrapped.row_of(offset)
        if row is None:
            self._wanted = "hit", offset
        else:
            self._show_row(row)

    def _show_row(self, row: int) -> None:
        height = self.size.height
        if not self.top <= row < self.top + height:
            self.scroll_rows(row - height // 2)
        self.refresh()

    # Selecting and copying

    def _selected(self, index: int) -> tuple[int, int] | None:
        selection = self.text_selection
        return None if selection is None else selection.get_span(index)

    def selection_updated(self, selection: Selection | None) -> None:
        """The mouse has selected something else."""
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, without the breaks that only wrapping made."""
        start, end = selection
        first = (start.y, start.x) if start is not None else (0, 0)
        last = (end.y, end.x) if end is not None else (self._wrapped.rows, 0)
        return self._wrapped.between(first, last), "\n"

    def action_copy(self) -> None:
        """Copy what is selected, else all of it."""
        selection = self.text_selection
        chosen = self.get_selection(selection) if selection is not None else None
        if chosen and chosen[0]:
            self.post_message(Copied(chosen[0], "selection"))
        else:
            self.post_message(Copied(self.data.decode("utf-8", "backslashreplace"), "text"))

    # Keys

    def action_scroll_by(self, by: int) -> None:
        """Scroll by some rows."""
        self.scroll_rows(self.top + by)

    def action_page(self, by: int) -> None:
        """Scroll by whole screens."""
        self.scroll_rows(self.top + by * max(1, self.size.height - 1))

    def action_first(self) -> None:
        """Go to the begin."""
        self.scroll_rows(0)

    def action_last(self) -> None:
        """Go to the end, once it is known."""
        if self._wrapped.done:
            self.scroll_rows(self.row_count)
        else:
            self._wanted = "top", self.searched_part()[1]


def _bytes(data: bytes | str) -> bytes:
    # Lone surrogates cannot be encoded; an escape says what was there.
    return data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
