"""The rows of a recording: what of it is shown, and how each row is drawn out of the columns."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, ClassVar

from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.tui.views import trace_row
from mcp_studio.tui.views.line import Line
from mcp_studio.tui.views.trace_marks import noted
from mcp_studio.tui.views.trace_seen import Seen
from mcp_studio.tui.views.virtual import VirtualView

if TYPE_CHECKING:
    from mcp_studio.trace.search import Search


class TraceRows(VirtualView):
    """One row for each entry of a recording, or for each one that a filter wants."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"trace--in", "trace--out", "trace--new"}
    DEFAULT_CSS = """
    TraceRows {
        & > .trace--in { color: $text-accent; }
        & > .trace--out { color: $text-primary; }
        & > .trace--new { color: $text-accent; }
    }
    """
    _longest = 0
    _filter: Search | None = None

    def begin(self, source: Recording) -> None:
        """Another recording, all of it."""
        self._source = source
        self._first, self._total = source.first_number, 0
        self._filter = None
        self._seen = Seen()
        self._names = 0

    @property
    def row_count(self) -> int:
        """Entries shown, as of the last look."""
        if self._filter is not None:
            return len(self._filter.found)
        return self._total - self._first + 1 if self._total else 0

    def entry(self, index: int) -> WireMessage | None:
        """The entry of a row, None when it is not kept any more."""
        place = self._number(index) - self._source.first_number
        return self._source[place] if 0 <= place < len(self._source) else None

    def _number(self, index: int) -> int:
        return self._first + index if self._filter is None else self._filter.found[index]

    def _place(self, number: int) -> int:
        return number - self._first if self._filter is None else self._filter.place(number)

    @property
    def searched(self) -> float:
        """How much of the trace the filter has seen, 0 to 1."""
        return 1.0 if self._filter is None else self._filter.done

    @property
    def filter_text(self) -> str:
        """The filter that is in force, as it was written; empty without one."""
        return "" if self._filter is None else self._filter.query.text.strip()

    @property
    def newest(self) -> float | None:
        """The time of the newest entry; None where there is none."""
        return self._source.columns.time[-1] if len(self._source) else None

    @property
    def trouble(self) -> str:
        """Why the filter looks no further, in a sentence; empty where all is well."""
        return "" if self._filter is None else self._filter.error

    def _row(self, index: int) -> int:
        """The row of the columns that has the entry; -1 when it is not kept any more."""
        columns = self._source.columns
        row = self._number(index) - columns.first
        return row if 0 <= row < len(columns) else -1

    def row_version(self, index: int) -> Hashable:
        """The entry, and how it stands with it."""
        row, columns = self._row(index), self._source.columns
        if row < 0:
            return index, None
        number = columns.first + row
        return (
            number, columns.kind[row], columns.flags[row], columns.outcome[row], columns.method[row],
            columns.link[row], self._seen.is_new(number),
        )  # fmt: skip

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        """One entry."""
        row = self._row(index)
        if row < 0:
            return []
        shown = trace_row.of_columns(self._source.columns, row, lambda: self._body(index))
        return trace_row.draw(shown, width, self._longest, new=self._seen.is_new(self._number(index)))

    def _body(self, index: int) -> bytes:
        entry = self.entry(index)
        return b"" if entry is None else entry.body

    @property
    def longest(self) -> int:
        """Cells of the longest server's name."""
        return self._longest

    def _measure(self) -> None:
        """The server's column is as wide as it has to be."""
        columns = self._source.columns
        if len(columns.servers.texts) != self._names:
            self._names = len(columns.servers.texts)
            longest = trace_row.longest_server(columns)
            if longest != self._longest:
                self._longest = longest
                self.redraw()

    # New to the person, and noted by them

    @property
    def new(self) -> int:
        """How many of the shown entries came while the person was away."""
        first = self._seen.first(self._total) if self._seen.waiting else 0
        return max(0, self.row_count - self._place(first)) if first else 0

    def go_to_number(self, number: int) -> bool:
        """Put the cursor on an entry; False where it is filtered out or not kept any more."""
        place = self._place(number)
        if not 0 <= place < self.row_count or self._number(place) != number:
            return False
        self.move_to(place, center=True)
        return True

    def go_to_new(self) -> bool:
        """Put the cursor on the first shown entry that came while the person was away; False where there is none."""
        first = self._seen.first(self._total)
        place = self._place(first)
        if not first or not place < self.row_count:
            return False
        self.move_to(place, center=True)
        return True

    def go_to_noted(self, step: int) -> bool:
        """Put the cursor on the next (1) or last (-1) shown entry with a mark or a comment; False without any."""
        columns = self._source.columns
        row: int | None = self._row(self.cursor) if self.row_count else None
        while row is not None and row >= 0:
            row = noted(columns.flags, row, step)
            if row is not None and self.go_to_number(columns.first + row):
                return True
        return False
