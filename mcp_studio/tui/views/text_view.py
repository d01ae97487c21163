"""Finding text in a viewer, from a line below the view; and the viewer of text of any size: wrapped and copied."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Generic, TypeVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.geometry import Offset
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from textual.widgets import Input, Static

from mcp_studio.tui.actions import bindings
from mcp_studio.tui.views.rows import Line, Piece, RowsView, break_rows, make_safe, mark_matches

MOST_HITS = 100_000


class SearchView(RowsView):
    """A viewer that can be searched.

    A subclass finds text (`search`), says where a search begins (`search_origin`), and shows a hit (`show_hit`). Upper
    and lower case are the same unless the text has an upper-case letter in it.
    """

    @dataclass
    class Searched(Message):
        """Another text is searched for, or another hit shown; `text` is empty when the search ended."""

        text: str
        summary: str
        """As in `3 of 17`."""

    needle = ""
    """What is searched for, empty when nothing is."""
    _hits: Sequence[int] = ()
    _hit = 0
    _origin = 0

    def search(self, text: str, flags: int) -> Iterable[re.Match[Any]]:
        """Where the text stands, in order; `flags` are those of a regular expression."""
        raise NotImplementedError

    def search_origin(self) -> int:
        """The place that a new search begins at: what the person is looking at."""
        raise NotImplementedError

    def show_hit(self, offset: int) -> None:
        """Bring a place on screen."""
        raise NotImplementedError

    def copy(self) -> None:
        """Copy what is selected, or under the cursor, or all of it."""
        raise NotImplementedError

    @property
    def hit_offset(self) -> int | None:
        """The place of the present hit, None without one."""
        return self._hits[self._hit] if self._hits else None

    def find(self, text: str) -> None:
        """Search for a text from where the person looks; an empty one ends the search."""
        if not self.needle:
            self._origin = self.search_origin()
        self.needle = text
        found = self.search(text, re.IGNORECASE if text == text.lower() else 0) if text else ()
        self._hits = [hit.start() for hit in islice(found, MOST_HITS)]
        self._hit = bisect_left(self._hits, self._origin)
        self.find_next(0)

    def find_next(self, by: int) -> None:
        """Go to the next hit, or the previous one; round at the ends."""
        summary = "not found" if self.needle else ""
        if self._hits:
            self._hit = (self._hit + by) % len(self._hits)
            self.show_hit(self._hits[self._hit])
            more = "+" if len(self._hits) == MOST_HITS else ""
            summary = f"{self._hit + 1:,} of {len(self._hits):,}{more}"
        self.refresh()
        self.post_message(self.Searched(self.needle, summary))


View = TypeVar("View", bound=SearchView)


class Findable(Vertical, Generic[View], can_focus=False):
    """A viewer with a line below that `/` opens: searches as you type, enter goes back to the text, esc ends it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("viewer")
    line = getters.query_one(Input)
    count = getters.query_one("#count", Static)

    def __init__(self, view: View, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = view

    def compose(self) -> ComposeResult:
        yield self.view
        with Horizontal(id="find"):
            yield Static("/")
            yield Input(placeholder="find", compact=True)
            yield Static("", id="count", markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc means this only while a search is open, else it belongs to the pane around."""
        return self.has_class("-finding") if action == "back" else True

    def action_find(self) -> None:
        self.add_class("-finding")
        self.line.focus()

    def action_next_match(self) -> None:
        self.view.find_next(1)

    def action_previous_match(self) -> None:
        self.view.find_next(-1)

    def action_copy(self) -> None:
        self.view.copy()

    def action_back(self) -> None:
        self.line.value = ""
        self.remove_class("-finding")
        self.view.focus()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self.view.needle:
            self.view.find(event.value)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.view.focus()

    @on(SearchView.Searched)
    def _searched(self, event: SearchView.Searched) -> None:
        event.stop()
        self.count.update(event.summary)
        if not event.text and not self.line.has_focus:  # another text is shown, and the search was of the old one
            self.line.value = ""
            self.remove_class("-finding")


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
