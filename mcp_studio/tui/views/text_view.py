"""Text of any size: wrapped, searched and copied."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable

from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from mcp_studio.tui.views.find import SearchView
from mcp_studio.tui.views.line import Line, Piece, break_rows, make_safe, mark_matches


class TextView(SearchView):
    """Shows bytes or text, made safe, however much it is."""

    ALLOW_SELECT = True

    def __init__(self, data: bytes | str = b"", *, empty: str = "") -> None:
        super().__init__(empty=empty)
        self.show(data)

    def show(self, data: bytes | str) -> None:
        """Show another text from its begin; a search ends."""
        # Lone surrogates cannot be encoded; an escape says what was there.
        raw = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
        self._source = raw.decode("utf-8", "backslashreplace")
        self._text = make_safe(self._source)
        self._starts = array("Q")
        """Where the rows begin, at the present width."""
        if self.row_width:
            self._wrap()
            self.scroll_rows(0)
            self.find("")

    # Rows

    @property
    def row_count(self) -> int:
        return len(self._starts)

    def on_resize(self) -> None:
        """Wrap anew at the new width; what was at the top stays there."""
        at = self.search_origin()
        if self.row_width:
            self._wrap()
            self.scroll_rows(self._row_of(at))

    def _wrap(self) -> None:
        self._starts = break_rows(self._text, max(4, self.row_width))
        self.rows_changed()

    def _row_of(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1

    def _row(self, number: int) -> str:
        """One row; it may end with the space that it was broken after."""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self._text)
        return self._text[self._starts[number] : end].removesuffix("\n")

    def row_selected(self, index: int) -> bool:
        """Whether the present hit of the search begins in this row."""
        return self.hit_offset is not None and self._row_of(self.hit_offset) == index

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        text = self._row(index)
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
        return self._starts[self.top] if self.top < len(self._starts) else 0

    def search(self, text: str, flags: int) -> Iterable[re.Match[str]]:
        return re.finditer(re.escape(text), self._text, flags)

    def show_hit(self, offset: int) -> None:
        row = self._row_of(offset)
        if not self.top <= row < self.top + self.size.height:
            self.scroll_rows(row - self.size.height // 2)

    # Selecting and copying

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, without the breaks that only wrapping made."""
        start, end = (None if place is None else self._offset(place) for place in selection)
        return self._text[start:end], "\n"

    def _offset(self, place: Offset) -> int:
        """Where in the text a character of a row stands."""
        if place.y >= len(self._starts):
            return len(self._text)
        return self._starts[place.y] + min(place.x, len(self._row(place.y)))

    def copy(self) -> None:
        """Copy what is selected, else all of it."""
        chosen = self.get_selection(self.text_selection) if self.text_selection is not None else None
        self.app.copy_to_clipboard(chosen[0] if chosen and chosen[0] else self._source)
