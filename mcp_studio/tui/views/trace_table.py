"""The trace as a table that keeps up with any number of messages: it looks at the store, nobody tells it anything."""

from __future__ import annotations

from textual.message import Message
from textual.widgets import Static

from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.trace.query.parser import parse
from mcp_studio.trace.search import Search
from mcp_studio.tui.views import trace_row
from mcp_studio.tui.views.line import Line
from mcp_studio.tui.views.rows import CursorView

_FRAME, _REST = 1 / 15, 1 / 4
"""Seconds between two looks at the store: while something comes, and while nothing does."""
_SLICE = 0.008
"""Seconds that a query may take of one look."""


class TraceTable(CursorView):
    """One row for each entry of a recording, or for each one that a query wants.

    Follows the newest until the person scrolls or moves away; going to the end follows again. Draws out of the columns
    and only what is on screen, however many entries come. Rows keep their place while the oldest entries go.
    """

    search: Search | None = None
    """What the query in force has found; None without one."""
    _cells = trace_row.widths_for(0)

    class Highlighted(Message):
        """The person moved the cursor to another entry."""

    class Opened(Message):
        """A double click on an entry, or enter."""

    def __init__(self, source: Recording, header: Static, *, empty: str = "") -> None:
        """`header` shows the names of the columns."""
        super().__init__(empty=empty)
        self._header = header
        self._begin(source)

    def _begin(self, source: Recording) -> None:
        if self.search is not None:
            self.search.cancel()
        self._source = source
        self.search = None
        self._first, self._total, self._revision = source.first_number, 0, -1
        self._at = 0
        """The number of the entry under the cursor."""
        self.following = True
        """Whether the newest entry stays on screen."""

    def show(self, source: Recording) -> None:
        """Show another recording, all of it, from its end."""
        self._begin(source)
        self.look_at_store()

    # What it shows

    @property
    def row_count(self) -> int:
        """Entries shown, as of the last look."""
        if self.search is not None:
            return len(self.search.found)
        return self._total - self._first + 1 if self._total else 0

    @property
    def message(self) -> WireMessage | None:
        """The entry under the cursor; None when there is none, or it is not kept any more."""
        return self._source.entry(self._number(self.cursor)) if self.row_count else None

    def set_query(self, text: str, now: float | None = None) -> None:
        """Show only what a query wants (see `trace.query`), all when it is empty. The cursor keeps its entry.

        Args:
            text: what a person wrote.
            now: what times in it are reckoned from, where that is not the present.

        Raises:
            QueryError: it is no query; what is shown stays as it was.
        """
        wanted = Search(self._source, parse(text, now)) if text.strip() else None
        if self.search is not None:
            self.search.cancel()
        self.search = wanted
        self.look_at_store()

    def _number(self, index: int) -> int:
        return self._first + index if self.search is None else self.search.found[index]

    def _place(self, number: int) -> int:
        return number - self._first if self.search is None else self.search.place(number)

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        columns = self._source.columns
        row = self._number(index) - columns.first
        if not 0 <= row < len(columns):
            return []
        return trace_row.draw(self._source, row, self._cells)

    # Looking at the store

    def on_mount(self) -> None:
        self.set_timer(_FRAME, self._look)

    def on_unmount(self) -> None:
        if self.search is not None:
            self.search.cancel()

    def on_resize(self) -> None:
        self._cells = trace_row.widths_for(self.row_width)
        self._header.update(trace_row.header(self._cells))
        self.look_at_store()
        super().on_resize()

    def _look(self) -> None:
        searching = self.search is not None and self.search.done < 1
        # Under a dialog each change would paint all of the screen.
        changes = self.region and self.screen.is_active and (searching or self._source.revision != self._revision)
        if changes:
            self.look_at_store()
        self.set_timer(_FRAME if changes else _REST, self._look)

    def look_at_store(self) -> None:
        """Take over what has come and gone; what one looks at stays where it is, or the end does."""
        source, height = self._source, self.size.height
        if self.top <= self.cursor < self.top + height or not self.row_count:
            number, above = self._at, self.cursor - self.top
        else:
            number, above = self._number(self.top), 0
        self._revision = source.revision
        self._first, self._total = source.first_number, source.total if len(source) else 0
        if self.search is not None:
            self.search.pull(_SLICE)
        if self.following:
            self.rows_changed(self.row_count - height, cursor=self.row_count - 1)
            self._at = self._number(self.cursor) if self.row_count else 0
        else:
            self.rows_changed(self._place(number) - above, cursor=self._place(self._at))

    # What the person does

    def action_follow(self) -> None:
        self.following = not self.following
        self.look_at_store()

    def action_last(self) -> None:
        self.following = True
        self.look_at_store()

    def go_to(self, number: int) -> bool:
        """Put the cursor on an entry, and stay there; False where the query leaves it out, or it is gone."""
        self.look_at_store()
        place = self._place(number)
        if not 0 <= place < self.row_count or self._number(place) != number:
            return False
        self.move_to(place, center=True)
        self._at, self.following = number, False
        return True

    def row_highlighted(self, index: int) -> None:
        self._at, self.following = self._number(index), index == self.row_count - 1
        self.post_message(self.Highlighted())

    def row_chosen(self, index: int) -> None:
        self.post_message(self.Opened())

    def _turned(self) -> None:
        """The person scrolls: that ends following, unless it arrives at the end."""
        self.following = False
        self.call_later(self._arrived)

    def _arrived(self) -> None:
        if self.top >= self.max_scroll_y:
            self.action_last()

    on_mouse_scroll_up = on_mouse_scroll_down = on_scroll_up = on_scroll_down = on_scroll_to = _turned
