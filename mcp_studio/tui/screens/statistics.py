"""Statistics of a trace: sortable, live, with the times and errors of the row under the cursor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from textual import getters, on, work
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from mcp_studio.present import units
from mcp_studio.present.error_groups import Errors
from mcp_studio.present.metrics import Metrics, server_facts
from mcp_studio.safetext import safe
from mcp_studio.trace.message import OTHER, Recording
from mcp_studio.trace.query.parser import quoted
from mcp_studio.trace.statistics import EXACT, NAMED, Durations, Numbers, Tally, Target
from mcp_studio.tui.screens.dialog import Choice, Dialog, Widgets
from mcp_studio.tui.views.lines import TabLine
from mcp_studio.tui.views.rows import Line, VirtualList, glyphs, spread
from mcp_studio.tui.views.trace_table import took_text

_PAUSE, _SOON = 1.0, 0.02
"""Seconds between two counts of new entries; and while many entries are still uncounted."""
_BAD = 0.05
"""The share of errors from which on the row has the colour of errors; below it, it has the colour of warnings."""
TITLES = ("Name", "Count", "Errors", "Recent", "p50", "p95", "p99")
"""`Recent` is the moving average."""
_WIDTH, _LABEL = 9, 17
"""Cells of a column with figures, and of the bounds in front of a bar."""


class StatRow(NamedTuple):
    """One row of the table."""

    name: str
    """Safe text."""
    tally: Tally
    query: str
    """The query for the messages that the row counts."""


# Figures


def figures_of(tally: Tally) -> dict[str, tuple[float, str]]:
    """The values of the columns after the name: a number to sort by, and its text."""
    times = zip(TITLES[3:], (tally.average, tally.p50, tally.p95, tally.p99), strict=True)
    return {
        "Count": (tally.count, f"{tally.count:,}"),
        "Errors": (tally.error_rate, f"{max(0.001, tally.error_rate):.1%}".replace(".0%", "%") * bool(tally.errors)),
        **{title: (ms or 0.0, took_text(ms)) for title, ms in times},
    }


def rows_of(numbers: Numbers, tab: str) -> list[StatRow]:
    """The rows of a tab."""
    signs = glyphs()

    def row(server: str, text: str, tally: Tally, query: str) -> StatRow:
        name = f"{safe(server, 40)}  " * (len(numbers.servers) > 1 and bool(text))
        return StatRow(name + safe(text or server, 120), tally, query)

    if tab == "servers":
        return [row(server, "", tally, query(server=server)) for server, tally in numbers.servers.items()]
    if tab == "calls":
        return [row(one.server, one.target, tally, query_of(*one)) for one, tally in numbers.targets.items()]
    return [
        row(one.server, sign + one.method, tally, query(server=one.server, method=one.method))
        for one, tally in numbers.methods.items()
        for sign in (f"{signs.received} " if one.theirs else f"{signs.dot} " if one.notice else "",)
    ]


def query_of(server: str, method: str, target: str) -> str:
    """The query for the calls of one tool, prompt or resource, or of one method if no target is named."""
    kind = NAMED.get(method) if target not in ("", OTHER) else None
    return query(server=server, **({kind: target} if kind else {"method": method, "target": target or OTHER}))


def query(**wanted: str) -> str:
    """A query of the trace; `OTHER` is no name, so it is left out."""
    return " ".join(f"{key}:{quoted(text)}" for key, text in wanted.items() if text != OTHER)


def ordered(rows: Iterable[StatRow], sort: str, backward: bool) -> list[StatRow]:
    """Sort the rows: names from a to z, numbers from the largest on; `backward` reverses that."""
    named = sorted(rows, key=lambda row: row.name.casefold())
    if sort == "Name":
        return named[::-1] if backward else named
    return sorted(named, key=lambda row: figures_of(row.tally)[sort][0], reverse=not backward)


def facts(row: StatRow, start: int) -> Content:
    """The facts about a row in three lines; `start` is the time of the trace's first entry."""
    tally = row.tally
    lost, cancelled = (tally.lost, "no reply"), (tally.cancelled, "cancelled")
    named = (tally.failed, "failed"), (tally.refused, "refused"), lost, cancelled
    ended = [units.plural(tally.count, "request"), *(f"{count:,} {word}" for count, word in named if count)]
    rate = tally.count / max(1.0, tally.last - start) if start else 0.0
    often = f"{rate:,.3g}/s" if rate >= 1 else f"{60 * rate:.2g}/min"
    more = [often, *server_facts(Metrics(Target("", "", ""), tally))]
    more += [units.plural(tally.notices, "notification")] if tally.notices else []
    more += [f"{units.plural(tally.questions, 'request')} of the server"] if tally.questions else []
    more += [f"recent (moving) average {took_text(tally.average)}"] if tally.average is not None else []
    times = times_line(tally.durations) + (" · percentiles of a sample" * (tally.durations.count > EXACT))
    look = "$state-failed" if tally.errors else ""
    last = f"\n{' · '.join(more)}", "$quiet"
    return Content.assemble((row.name, "bold"), ("  " + " · ".join(ended), look), f"\n{times}", last)


def times_line(times: Durations) -> str:
    """`min 1.2 ms · p50 2.0 ms · p95 9.1 ms · p99 12 ms · max 14 ms`; empty if there are no times."""
    if not times.count:
        return ""
    p50, p95, p99 = (times.percentile(share) for share in (0.5, 0.95, 0.99))
    named = (("min", times.least), ("p50", p50), ("p95", p95), ("p99", p99), ("max", times.most))
    return " · ".join(f"{name} {took_text(ms)}" for name, ms in named)


def histogram(durations: Durations, width: int, height: int) -> Content:
    """One line per bar: its bounds, the bar, its count; at most `height` lines of `width` cells."""
    bars = durations.histogram()[-height:]
    most = max((bar.height for bar in bars), default=0)
    room = max(1, width - _LABEL - 3 - len(f"{most:,}"))
    # Bounds that look the same are named once.
    bounds = (dict.fromkeys((took_text(bar.begin), took_text(min(bar.end, durations.most)))) for bar in bars)
    lines = (
        Content.assemble(
            (f"{' - '.join(texts):>{_LABEL}} ", "$quiet"),
            (glyphs().full * -(-bar.height * room // most), "$primary"),
            f" {bar.height:,}",
        )
        for bar, texts in zip(bars, bounds, strict=True)
    )
    return Content("\n").join(lines)


# The dialog


class Statistics(Dialog[str]):
    """Shows the statistics; answers the query for the messages of the chosen row."""

    TITLE = "Statistics"
    DEFAULT_CLASSES = "-large"
    choices = (
        Choice("open", "Show messages", "primary"), Choice("errors", "Errors"),
        Choice("sort", "Sort"), Choice("copy", "Copy"), Choice("back", "Close"),
    )  # fmt: skip
    AUTO_FOCUS = "VirtualList"
    rows = getters.query_one(VirtualList)

    def __init__(self, recording: Recording, numbers: Numbers) -> None:
        super().__init__()
        self._numbers = numbers
        self._errors = Errors(recording)
        self._sort, self._backward = "Count", False
        self._stamp = -1

    def body(self) -> Widgets:
        yield TabLine({"calls": "Calls", "methods": "Methods", "servers": "Servers"})
        yield Static(id="heads")
        yield VirtualList[StatRow](self._draw, key=lambda row: row.query)
        yield Static(id="facts", markup=False)
        yield Horizontal(Static(id="times", markup=False), Static(id="said", markup=False), id="detail")

    def on_mount(self) -> None:
        self._look()

    def on_resize(self) -> None:
        self.call_after_refresh(self._fill)

    # Filling

    def _look(self) -> None:
        """Count new entries, and redraw."""
        caught_up = self._numbers.look()
        if caught_up and self._stamp != self._numbers.revision:
            self._stamp = self._numbers.revision
            self._fill()
        rest = self._numbers.behind
        self.retitle(f"Statistics · {rest:,} more messages to count" if rest else "Statistics")
        self.set_timer(_PAUSE if caught_up else _SOON, self._look)

    @on(TabLine.Activated)
    def _fill(self) -> None:
        """Show the rows of the tab under headings, of which each sorts by its column."""
        self.rows.show(ordered(rows_of(self._numbers, self.query_one(TabLine).active), self._sort, self._backward))
        sign = glyphs().up if self._backward != (self._sort == "Name") else glyphs().down
        rest = max(12, self.rows.row_width - (len(TITLES) - 1) * _WIDTH)
        labels = {title: f"{title}{sign * (title == self._sort)}" for title in TITLES}
        heads = (f"{label:<{rest}}" if title == "Name" else f"{label:>{_WIDTH}}" for title, label in labels.items())
        clicks = (f"[@click=screen.sort('{title}')]{head}[/]" for title, head in zip(TITLES, heads, strict=True))
        self.query_one("#heads", Static).update("".join(clicks))
        self.show_buttons(**dict.fromkeys(("open", "errors", "sort", "copy"), bool(self.rows.rows)))
        self._tell()

    def _draw(self, row: StatRow, width: int, selected: bool) -> Line:
        wrong = "bad" if row.tally.error_rate >= _BAD else "warn"
        texts = [(title, f"{text:>{_WIDTH}}") for title, (_, text) in figures_of(row.tally).items()]
        return spread([(row.name, "")], [(text, wrong * (title == "Errors")) for title, text in texts], width)

    @on(VirtualList.Highlighted)
    def _tell(self) -> None:
        """Show the times and the error messages of the row under the cursor."""
        if (row := self.rows.row) is None:
            self.put("facts", f"No {self.query_one(TabLine).active} yet.")
        else:
            room = self.query_one("#times").size
            self.put("facts", facts(row, self._numbers.start))
            self.put("times", histogram(row.tally.durations, room.width - 2, max(1, room.height)))
            self._read_errors(row.tally.wrong)

    @work(group="errors", exclusive=True)
    async def _read_errors(self, numbers: Iterable[int]) -> None:
        groups = await self._errors.top(numbers)
        lines = (Content.assemble((f"{one.times:,}x ", "$state-failed"), one.text) for one in groups)
        self.put("said", Content("\n").join(lines))

    # What the person does

    @on(VirtualList.Chosen)
    def action_open(self) -> None:
        """Show the messages of the row in the trace."""
        if self.rows.row is not None:
            self.dismiss(self.rows.row.query)

    def action_errors(self) -> None:
        """Show the messages of the row that report errors."""
        if self.rows.row is not None:
            self.dismiss(f"{self.rows.row.query} status:error")

    def action_sort(self, title: str = "") -> None:
        """Sort by a column, in reverse if it is the same again; without a title, by the next one."""
        self._backward = title == self._sort and not self._backward
        self._sort = title or TITLES[(TITLES.index(self._sort) + 1) % len(TITLES)]
        self._fill()

    def action_copy(self) -> None:
        """Copy the table, with tabs between the columns."""
        rows = (TITLES, *((row.name, *(text for _, text in figures_of(row.tally).values())) for row in self.rows.rows))
        self.app.copy("\n".join(map("\t".join, rows)))
