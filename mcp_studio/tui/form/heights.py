"""On which line every row of a form begins, known without drawing it. No widget."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.outline import Row
from mcp_studio.tui.form.painter import Painter


class Heights:
    """Counts lines. What a row has without its problems is remembered as long as rows and painter are the same."""

    def __init__(self) -> None:
        self._of: tuple[object, object] = (None, None)
        self._bare: list[int] = []
        self._fresh: set[int] = set()
        self.starts: Sequence[int] = (0,)
        """The first line of every row, and the line behind the last."""

    def lay(self, painter: Painter, model: FormModel, first: int, current: int, lines: int) -> None:
        """Lay the rows out below `first` lines; the row `current` has so many `lines`."""
        rows: list[Row] = model.rows
        if self._of[0] is not painter or self._of[1] is not rows:
            self._of = painter, rows
            self._bare = [painter.bare_height(row) for row in rows]
            self._fresh.clear()
        for index in self._fresh:  # what was edited may have a hint now that it had not
            self._bare[index] = painter.bare_height(rows[index])
        self._fresh = {current} if current < len(rows) else set()
        heights = list(self._bare)
        for index in model.told.at:
            heights[index] = painter.height(index, rows[index])
        if current < len(heights):
            heights[current] = lines
        self.starts = list(accumulate(heights, initial=first))

    def row_at(self, line: int) -> int | None:
        """The row that has a line; None where none has."""
        starts = self.starts
        if not starts[0] <= line < starts[-1]:
            return None
        return bisect_right(starts, line) - 1
