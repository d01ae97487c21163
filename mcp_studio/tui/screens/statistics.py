"""Statistics of a trace: sorted as one likes, live, with the times and errors of the row under the cursor."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.events import Click, Resize
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.present import units
from mcp_studio.present.error_groups import ErrorGroup, Errors
from mcp_studio.safetext import safe
from mcp_studio.trace.message import Recording
from mcp_studio.trace.statistics import Numbers
from mcp_studio.tui.screens import statistics_rows as stat_rows
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.screens.statistics_detail import DetailRoom, content, detail
from mcp_studio.tui.screens.statistics_rows import TABS, StatRow, View
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.histogram import count_text
from mcp_studio.tui.views.line import Line, Piece, cut, fit, width_of
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp

_PAUSE = 0.5
"""Seconds between two looks at what is new."""
_SOON = 0.02
"""The same while there is much that was not looked at yet."""
_REST = 10
"""Times as long as filling it took, it is not filled again because something came."""
_GROUPED = 2_000
"""Newest errors that are read for what they say."""
_FIRST = {"servers": "server", "methods": "method", "calls": "tool, prompt, resource"}
_EMPTY = {
    "servers": "Nothing has been asked of a server yet.", "methods": "No message has crossed the wire yet.",
    "calls": "No tool was called, no prompt got and no resource read yet.", "errors": "No errors.",
}  # fmt: skip
Row = StatRow | ErrorGroup


class Head(Static):
    """The names of the columns; a click on one sorts by it."""

    async def on_click(self, event: Click) -> None:
        """Sort by the column."""
        event.stop()
        name = stat_rows.column_at(event.x, self.size.width - 1, cast("Statistics", self.screen).sort)
        if name:
            await self.run_action(f"screen.sort('{name}')")


class Statistics(Dialog[str], scope="statistics"):
    """Answers the filter with which the trace shows the chosen row.

    Args:
        numbers: the figures of the recording, as far as they are known.
        live: it grows still: rates are those of the newest seconds.
    """

    sort = "count"

    def __init__(self, recording: Recording, numbers: Numbers, *, live: bool) -> None:
        super().__init__()
        self._numbers = numbers
        self._live = live
        self._errors = Errors(recording)
        self._groups: Sequence[ErrorGroup] = ()
        self._said: Sequence[ErrorGroup] = ()
        self._asked: object = None
        self._reading = False
        self._tab = "calls"
        self._backward = False
        self._stamp: object = None
        self._rest_until = 0.0
        self._head = Head(classes="head")
        self.list: VirtualList[Row] = VirtualList(self._draw, key=_key_of)
        self._detail = DetailRoom(classes="detail")

    def heading(self) -> Content:
        """The tabs, and how much was not looked at yet."""
        parts: list[str | tuple[str, str]] = []
        for tab in TABS:
            title = f"{tab.capitalize()} {self._count(tab)}".rstrip()
            parts += [" │ " if parts else "", (title, "b $accent" if tab == self._tab else "not b $quiet")]
        behind = self._numbers.behind
        return Content.assemble(*parts, (f"  {behind:,} more to count" if behind else "", "not b $quiet"))

    def body(self) -> Iterable[Widget]:
        """Names of the columns, rows, and everything about the one under the cursor."""
        return self._head, self.list, self._detail

    def on_mount(self) -> None:
        """Fill it, and go on looking."""
        if not self._numbers.targets and self._numbers.methods:
            self._tab = "methods"
        self.list.focus()
        self._look()

    @property
    def _view(self) -> View:
        now = time.time()
        numbers = self._numbers
        return View(numbers.start, now if self._live else numbers.until)

    def _count(self, tab: str) -> str:
        numbers = self._numbers
        counts = {"servers": numbers.servers, "methods": numbers.methods, "calls": numbers.targets}
        count = len(counts[tab]) if tab in counts else sum(tally.errors for tally in numbers.methods.values())
        return f"{count:,}" if count else ""

    # Filling

    def _look(self) -> None:
        caught_up = self._numbers.look()
        now = time.monotonic()
        if now >= self._rest_until and (self._stamp != self._now_stamp() or self._live):
            self._fill()
            self._rest_until = now + max(_PAUSE * 0.9, (time.monotonic() - now) * _REST)
        self.set_timer(_PAUSE if caught_up else _SOON, self._look)

    def _now_stamp(self) -> object:
        return self._numbers.revision, self._tab

    def _fill(self, *, keep: bool = True) -> None:
        self._stamp = self._now_stamp()
        view = self._view
        rows: Sequence[Row] = self._groups
        if self._tab != "errors":
            rows = stat_rows.ordered(stat_rows.rows_of(self._numbers, self._tab), self.sort, self._backward, view)
        self.list.empty = _EMPTY[self._tab] if not self._numbers.behind else ""
        self.list.set_rows(rows, keep=keep)
        self.list.redraw()
        self._draw_head()
        self._read()
        self._tell()
        self.retitle(self.heading())

    def _draw_head(self) -> None:
        if self._tab == "errors":
            self._head.update(Content.styled(f"{'times':>7}  what it says", "$quiet"))
            return
        width = self.list.row_width or self.size.width
        names = stat_rows.header(width, self.sort, self._backward, _FIRST[self._tab])
        self._head.update(Content.assemble(*((text, "b" if here else "$quiet") for text, here in names)))

    def _read(self) -> None:
        """Have the errors read that are to be shown, where there are others than before."""
        numbers, row = self._numbers, self.list.row
        if self._tab == "errors":
            newest = sorted({number for tally in numbers.methods.values() for number in tally.wrong})[-_GROUPED:]
            asked: object = ("errors", len(newest), newest[-1:])
        elif isinstance(row, StatRow):
            newest = list(row.tally.wrong)
            asked = (row.key, row.tally.errors)
        else:
            return
        if asked != self._asked and not self._reading:
            self._asked, self._reading = asked, True
            self.run_worker(self._read_errors(newest, self._tab), group="errors")

    async def _read_errors(self, numbers: Sequence[int], tab: str) -> None:
        try:
            found = await self._errors.top(numbers)
        finally:
            self._reading = False
        if tab == "errors":
            self._groups = found
        else:
            self._said = found
        if tab == self._tab == "errors":
            self.list.set_rows(found)
            self.list.redraw()
        self._tell()
        self._read()  # the cursor may be on another row by now

    # What is shown

    def _draw(self, row: Row, width: int, selected: bool) -> Line:
        if isinstance(row, StatRow):
            return stat_rows.draw(row, width, self.sort, self._view)
        where = f"{safe(row.server, 40)} {safe(row.target or row.method, 80)}  "
        head: list[Piece] = [(f"{count_text(row.times):>7}  ", "bad"), (cut(where, max(8, width // 3)), "dim")]
        return [*head, (cut(safe(row.text, 300), max(4, width - width_of(head)), more=glyphs().more), "")]

    def _tell(self) -> None:
        row, width, height = self.list.row, self._detail.size.width, self._detail.size.height
        self._detail.set_class(row is None, "-none")
        if isinstance(row, StatRow):
            said = self._said if self._asked is not None and self._asked == (row.key, row.tally.errors) else ()
            self._detail.update(detail(row, self._view, said, width, height))
        elif row is not None:
            when = time.strftime("%d %b %H:%M:%S", time.localtime(row.at))
            about = f"{safe(row.server, 60)} {safe(row.method, 80)} {safe(row.target, 120)}"
            newest = f"{units.plural(row.times, 'time')}, the newest {when}, number {row.newest:,} of the trace"
            lines: list[list[Piece]] = [
                [(cut(about, max(8, width)), "strong")],
                [(fit(newest, width), "dim")],
                [],
                [(safe(row.text, 1_000), "")],
            ]
            self._detail.update(content(lines))

    def on_resize(self, event: Resize) -> None:
        """There is another width for columns."""
        self.call_after_refresh(self._fill)

    def on_detail_room_changed(self, event: DetailRoom.Changed) -> None:
        """It was hidden, or has another size: what is told depends on that."""
        event.stop()
        self._tell()

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Another row is under the cursor."""
        event.stop()
        self._read()
        self._tell()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click shows it in the trace."""
        event.stop()
        self.action_open()

    async def on_click(self, event: Click) -> None:
        """A click on a tab in the border turns it."""
        place = self.query_one("#box").region
        x = place.x + 3
        for tab in TABS:
            cells = len(f"{tab} {self._count(tab)}".rstrip())
            if event.screen_y == place.y and x <= event.screen_x < x + cells:
                self._turn(tab)
            x += cells + 3
        await super().on_click(event)

    # Actions

    def _turn(self, tab: str) -> None:
        self._tab = tab
        self._fill(keep=False)

    def action_turn(self, step: int) -> None:
        """Another tab."""
        self._turn(TABS[(TABS.index(self._tab) + step) % len(TABS)])

    def action_sort(self, name: str) -> None:
        """Sort by a column; by the same again, the other way round."""
        self._backward = not self._backward if name == self.sort else False
        self.sort = name
        self._fill(keep=False)

    def action_sort_next(self, step: int) -> None:
        """Sort by the next column."""
        names = stat_rows.SORTS
        self._backward = False
        self.sort = names[(names.index(self.sort) + step) % len(names)]
        self._fill(keep=False)

    def action_reverse(self) -> None:
        """The other way round."""
        self._backward = not self._backward
        self._fill(keep=False)

    def action_open(self) -> None:
        """Show its messages in the trace."""
        row = self.list.row
        if isinstance(row, StatRow):
            self.dismiss(row.query)
        elif row is not None:
            self.dismiss(f"{stat_rows.query_of(row.server, row.method, row.target)} status:error")

    def action_copy(self) -> None:
        """Copy the table, or the errors."""
        rows = self.list.rows
        figures = [row for row in rows if isinstance(row, StatRow)]
        said = [
            f"{row.times}\t{row.server}\t{row.method}\t{row.target}\t{row.text}"
            for row in rows
            if isinstance(row, ErrorGroup)
        ]
        cast("StudioApp", self.app).copy(stat_rows.table(figures, self._view) if figures else "\n".join(said))

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)


def _key_of(row: Row) -> object:
    return row.key if isinstance(row, StatRow) else (row.server, row.method, row.target, row.text)
