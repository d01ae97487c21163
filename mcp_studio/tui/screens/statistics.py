"""Statistics of a trace: sorted as one likes, live, with the times and errors of the row under the cursor."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.text import Text
from textual import getters, on
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import DataTable, Sparkline, Static, Tab, Tabs

from mcp_studio.present import units
from mcp_studio.present.error_groups import ErrorGroup, Errors
from mcp_studio.safetext import safe
from mcp_studio.trace.message import OTHER, Recording
from mcp_studio.trace.statistics import NAMED, Numbers, Tally
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.histogram import histogram, times_line, took_text
from mcp_studio.tui.views.line import cut

_PAUSE, _SOON = 1.0, 0.02
"""Seconds between two looks at what is new, and while there is much that was not looked at yet."""
_MOST = 500
"""Rows that are shown; sorting says which."""
_BAD = 0.05
"""The share of errors from which on it is told in the colour of errors, below it in that of warnings."""
_NAME = 28
"""Cells of the column of names."""


class Span(NamedTuple):
    """The time that figures are of, in seconds since the epoch."""

    start: int
    until: float
    now: float | None
    """The moment of a live trace; None for a past one, whose rates are those of its whole time."""


class StatRow(NamedTuple):
    """One row with figures."""

    name: str
    """Safe to draw."""
    tally: Tally
    query: str
    """The query with which the trace shows what it counts."""


TITLES = ("Name", "Count", "Errors", "p50", "p95", "p99", "Max", "/s")
_WIDTH = 7


def figures_of(tally: Tally, span: Span) -> tuple[tuple[float, str], ...]:
    """What stands in the columns behind the name: what they sort by, and its text."""
    rate = tally.rate(span.start)
    dash = glyphs().dash
    return (
        (tally.count, f"{tally.count:,}"),
        (tally.errors, errors_text(tally)),
        *((ms or 0.0, took_text(ms)) for ms in (tally.p50, tally.p95, tally.p99, tally.most)),
        (rate, dash if rate < 0.005 else f"{rate:.2f}" if rate < 9.995 else f"{rate:,.0f}"),
    )


def errors_text(tally: Tally) -> str:
    """How many errors, or where there were many calls their share; empty for none."""
    if not tally.errors:
        return ""
    share = tally.error_rate * 100
    return f"{share:.0f}%" if share >= 9.5 else f"{share:.1f}%" if tally.count >= 100 else f"{tally.errors:,}"


def rows_of(numbers: Numbers, tab: str) -> list[StatRow]:
    """The rows of a tab."""
    several, signs = len(numbers.servers) > 1, glyphs()

    def name(server: str, text: str) -> str:
        return f"{safe(server, 40)}  {safe(text, 120)}" if several else safe(text, 120)

    if tab == "servers":
        return [StatRow(safe(one, 60), tally, query(server=one)) for one, tally in numbers.servers.items()]
    if tab == "methods":
        return [
            StatRow(name(one.server, sign + one.method), tally, query(server=one.server, method=one.method))
            for one, tally in numbers.methods.items()
            for sign in (f"{signs.received} " if one.theirs else f"{signs.dot} " if one.notice else "",)
        ]
    return [StatRow(name(one.server, one.target), tally, query_of(*one)) for one, tally in numbers.targets.items()]


def query_of(server: str, method: str, target: str) -> str:
    """The query for the calls of one tool, prompt or resource, or of one method where no target is named."""
    kind = NAMED.get(method)
    if kind is None or target in ("", OTHER):
        return query(server=server, method=method, **({"target": target} if target else {}))
    return query(server=server, **{kind: target})


def query(**wanted: str) -> str:
    """A query of the trace; names are quoted, so that they are no parts of longer ones. `OTHER` is no name."""
    return " ".join(f'{key}:"{_escaped(text)}"' for key, text in wanted.items() if text != OTHER)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def ordered(rows: Iterable[StatRow], sort: str, backward: bool, span: Span) -> list[StatRow]:
    """Rows sorted: names from a to z, figures from the largest on; `backward` the other way."""
    named = sorted(rows, key=lambda row: row.name.casefold(), reverse=backward and sort == "Name")
    if sort == "Name":
        return named
    place = TITLES.index(sort) - 1
    return sorted(named, key=lambda row: figures_of(row.tally, span)[place][0], reverse=not backward)


def facts(row: StatRow) -> Content:
    """The figures of a row in three lines."""
    tally = row.tally
    named = ((tally.failed, "failed"), (tally.refused, "refused"), (tally.lost, "lost"), (tally.cancelled, "cancelled"))
    ended = [units.plural(tally.count, "time"), *(f"{count:,} {word}" for count, word in named if count)]
    more = [f"{units.size(tally.bytes_in)} in", f"{units.size(tally.bytes_out)} out"]
    more += [units.plural(tally.notices, "notification")] if tally.notices else []
    more += [f"{units.plural(tally.questions, 'request')} of the server"] if tally.questions else []
    times = times_line(tally.durations) + ("" if tally.durations.exact else " · percentiles of a sample")
    look = "$state-failed" if tally.errors else ""
    return Content.assemble(
        (row.name, "bold"), ("  " + " · ".join(ended), look), f"\n{times}", ("\n" + " · ".join(more), "$quiet")
    )


class Statistics(Dialog[str]):
    """Answers the query with which the trace shows the chosen row.

    Args:
        live: the recording grows still: rates are those of the newest seconds.
    """

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    Statistics {
        & DataTable { height: 1fr; background: $surface; }
        & #facts { height: auto; min-height: 3; margin-top: 1; }
        & Sparkline { height: 1; margin: 0 0 1 0; }
        & Horizontal#detail { height: 35%; min-height: 4; }
        & #times, & #said { width: 1fr; height: 1fr; }
    }
    """
    choices = (
        Choice("open", "Show in the trace", "primary"), Choice("sort", "Sort by next column"), Choice("copy", "Copy"),
        Choice("back", "Close"),
    )  # fmt: skip
    table = getters.query_one(DataTable)

    def __init__(self, recording: Recording, *, live: bool) -> None:
        super().__init__()
        self._numbers = Numbers(recording)
        self._live = live
        self._errors = Errors(recording)
        self._rows: list[StatRow] = []
        self._sort, self._backward = "Count", False
        self._stamp = -1
        self._read: object = None

    def heading(self) -> str:
        behind = self._numbers.behind
        return f"Statistics · {behind:,} more messages to count" if behind else "Statistics"

    def body(self) -> Iterable[Widget]:
        yield Tabs(*(Tab(name.capitalize(), id=name) for name in ("calls", "methods", "servers")))
        yield DataTable(cursor_type="row")
        yield Static(id="facts", markup=False)
        yield Sparkline()
        yield Horizontal(Static(id="times", markup=False), Static(id="said", markup=False), id="detail")

    def on_mount(self) -> None:
        self.table.add_columns("Name", *(f"{title:>{_WIDTH}}" for title in TITLES[1:]))
        self._look()
        self.table.focus()

    @property
    def _span(self) -> Span:
        numbers, now = self._numbers, time.time()
        return Span(numbers.start, now, now) if self._live else Span(numbers.start, numbers.until, None)

    # Filling

    def _look(self) -> None:
        """Count what is new, and draw it."""
        caught_up = self._numbers.look()
        if caught_up and self._stamp != self._numbers.revision:
            self._stamp = self._numbers.revision
            self._fill()
        self.retitle(self.heading())
        self.set_timer(_PAUSE if caught_up else _SOON, self._look)

    @on(Tabs.TabActivated)
    def _fill(self) -> None:
        """Show the rows of the tab; the cursor stays on the row that it was on."""
        numbers, table, before = self._numbers, self.table, self._row and self._row.query
        counts = {"calls": len(numbers.targets), "methods": len(numbers.methods), "servers": len(numbers.servers)}
        for name, count in counts.items():
            self.query_one(f"#{name}", Tab).label = Content(f"{name.capitalize()} {count or ''}".rstrip())
        tab, span = self.query_one(Tabs).active or "calls", self._span
        self._rows = ordered(rows_of(numbers, tab), self._sort, self._backward, span)[:_MOST]
        table.clear()
        for row in self._rows:
            table.add_row(*self._cells(row, span))
        place = next((at for at, row in enumerate(self._rows) if row.query == before), 0)
        table.move_cursor(row=place, animate=False)
        self._tell()

    def _cells(self, row: StatRow, span: Span) -> list[Text]:
        """A name, and figures; the table takes no styles by the names of the theme."""
        wrong = self.app.theme_variables["text-error" if row.tally.error_rate >= _BAD else "text-warning"]
        texts = (f"{text:>{_WIDTH}}" for _, text in figures_of(row.tally, span))
        figures = (Text(text, wrong * (title == "Errors")) for title, text in zip(TITLES[1:], texts, strict=True))
        return [Text(f"{cut(row.name, _NAME):<{_NAME}}"), *figures]

    @property
    def _row(self) -> StatRow | None:
        """The row under the cursor."""
        place = self.table.cursor_row
        return self._rows[place] if place < len(self._rows) else None

    @on(DataTable.RowHighlighted)
    def _tell(self) -> None:
        """Show the use over time, the times, and what the errors say, of the row under the cursor."""
        row, times, span = self._row, self.query_one("#times", Static), self._span
        self.query_one("#facts", Static).update(facts(row) if row else Content("Nothing has been asked yet."))
        if row is None:
            return
        bars = row.tally.series.shape(span.start, span.until, max(1, self.table.size.width))
        self.query_one(Sparkline).data = [float(bar) for bar in bars]
        times.update(histogram(row.tally.durations, times.size.width - 2, max(1, times.size.height)))
        if (read := (row.query, row.tally.errors)) != self._read:
            self._read = read
            self.run_worker(self._read_errors(list(row.tally.wrong)), group="errors", exclusive=True)

    async def _read_errors(self, numbers: Sequence[int]) -> None:
        said = self.query_one("#said", Static)
        said.update(Content("\n").join(_error(one, said.size.width) for one in await self._errors.top(numbers)))

    # What the person does

    @on(DataTable.RowSelected)
    def action_open(self) -> None:
        """Show its messages in the trace."""
        if self._row is not None:
            self.dismiss(self._row.query)

    @on(DataTable.HeaderSelected)
    def _sort_by(self, event: DataTable.HeaderSelected) -> None:
        """Sort by a column; by the same again, the other way round."""
        title = TITLES[event.column_index]
        self._backward = title == self._sort and not self._backward
        self._sort = title
        self._fill()

    def action_sort(self) -> None:
        self._sort, self._backward = TITLES[(TITLES.index(self._sort) + 1) % len(TITLES)], False
        self.app.say(f"Sorted by {self._sort}.")
        self._fill()

    def action_copy(self) -> None:
        """Copy the table, divided by tabs."""
        lines = ["\t".join(cell.plain.strip() for cell in self._cells(row, self._span)) for row in self._rows]
        self.app.copy("\n".join(("\t".join(TITLES), *lines)))


def _error(group: ErrorGroup, width: int) -> Content:
    return Content.assemble((f"{group.times:,}x ", "$state-failed"), cut(safe(group.text, 400), max(20, width - 8)))
