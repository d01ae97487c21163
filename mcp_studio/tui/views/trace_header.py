"""The names of the trace's columns."""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from mcp_studio.tui.views import trace_row


class TraceHeader(Widget):
    """The names of the columns, above a table of the same width."""

    DEFAULT_CSS = "TraceHeader { height: 1; color: $foreground 60%; }"
    _longest = 0

    def show(self, longest: int) -> None:
        """Take over how wide the server's column is: cells of the longest name."""
        if longest != self._longest:
            self._longest = longest
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The names."""
        # The table keeps one cell for its scrollbar.
        [(text, _)] = trace_row.header(self.size.width - 1, self._longest)
        return Strip([Segment(text, self.rich_style)]).adjust_cell_length(self.size.width, self.rich_style)
