"""Text of any size: at once on screen, wrapped, searched and copied."""

from __future__ import annotations

from textual.selection import Selection
from textual.strip import Strip

from mcp_studio.tui.views.find import SearchView
from mcp_studio.tui.views.line import Line, Piece, mark_matches
from mcp_studio.tui.views.wrapped import WrappedText


class TextView(SearchView):
    """Shows bytes or text, made safe row by row, however much it is."""

    ALLOW_SELECT = True

    def __init__(self, data: bytes | str = b"", *, empty: str = "") -> None:
        super().__init__(empty=empty)
        self.data = _bytes(data)
        self._wrapped = WrappedText(b"", 80)
        self._wanted: int | None = None
        """The byte to go to as soon as its row is known."""

    def show(self, data: bytes | str) -> None:
        """Show another text from its begin; a search ends."""
        self.data, self._wanted = _bytes(data), None
        self._wrapped = WrappedText(b"", 80)
        if self.row_width:
            self.scroll_rows(0)
            self._wrap()
            self.find("")

    @property
    def complete(self) -> bool:
        """Whether all rows are known."""
        return self._wrapped.data is self.data and self._wrapped.done

    # Rows

    @property
    def row_count(self) -> int:
        return self._wrapped.rows

    def on_resize(self) -> None:
        """Wrap anew at the new width; what was at the top stays there."""
        if self.row_width and (self._wrapped.width != self.row_width or self._wrapped.data is not self.data):
            if self.top:
                self._wanted = self._wrapped.offset_of(self.top)
            self._wrap()

    def _wrap(self) -> None:
        self._wrapped = WrappedText(self.data, self.row_width)
        self.in_slices("rows", self._wrap_on)

    def _wrap_on(self, budget: float) -> bool:
        finished = self._wrapped.advance(budget)
        self.rows_changed()
        if self._wanted is not None and (row := self._wrapped.row_of(self._wanted)) is not None:
            self._wanted = None
            self.scroll_rows(row)
        return finished

    def row_selected(self, index: int) -> bool:
        """Whether the present hit of the search begins in this row."""
        hit = self.hit_offset
        return hit is not None and self._wrapped.row_of(hit) == index

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        text = self._wrapped.row(index)
        span = None if self.text_selection is None else self.text_selection.get_span(index)
        if span is None:
            return mark_matches(text, [self.needle])
        start, end = span[0], len(text) if span[1] < 0 else span[1]
        chosen: Piece = (text[start:end] or " ", self.selection_style)
        return [(text[:start], ""), chosen, (text[end:], "")]

    def render_line(self, y: int) -> Strip:
        """One line of the screen, which knows its place for the mouse's selection."""
        strip = super().render_line(y)
        index = y + self.top
        return strip.apply_offsets(0, index) if index < self.row_count else strip

    # Search

    def search_origin(self) -> int:
        return self._wrapped.offset_of(self.top)

    def show_hit(self, offset: int) -> None:
        row = self._wrapped.row_of(offset)
        if row is None:
            self._wanted = offset
        elif not self.top <= row < self.top + self.size.height:
            self.scroll_rows(row - self.size.height // 2)
        self.refresh()

    # Selecting and copying

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, without the breaks that only wrapping made."""
        start, end = selection
        first = (start.y, start.x) if start is not None else (0, 0)
        last = (end.y, end.x) if end is not None else (self._wrapped.rows, 0)
        return self._wrapped.between(first, last), "\n"

    def copy(self) -> None:
        """Copy what is selected, else all of it."""
        selection = self.text_selection
        chosen = self.get_selection(selection) if selection is not None else None
        self.app.copy_to_clipboard(chosen[0] if chosen and chosen[0] else self.data.decode("utf-8", "backslashreplace"))

    # Keys

    def action_cursor_up(self) -> None:
        self.scroll_rows(self.top - 1)

    def action_cursor_down(self) -> None:
        self.scroll_rows(self.top + 1)

    def action_page_up(self) -> None:
        self.scroll_rows(self.top - max(1, self.size.height - 1))

    def action_page_down(self) -> None:
        self.scroll_rows(self.top + max(1, self.size.height - 1))

    def action_first(self) -> None:
        self.scroll_rows(0)

    def action_last(self) -> None:
        """Go to the end, once it is known."""
        self.scroll_rows(self.row_count)
        self._wanted = None if self._wrapped.done else len(self.data)


def _bytes(data: bytes | str) -> bytes:
    # Lone surrogates cannot be encoded; an escape says what was there.
    return data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
