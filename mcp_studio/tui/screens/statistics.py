"""Statistics of a trace: sorted as one likes, live, with the times and errors of the row under the cursor."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
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
from mcp_studio.tui.views.histogram import brief, histogram, times_line
from mcp_studio.tui.views.line import cut

_PAUSE, _SOON = 1.0, 0.02
"""Seconds between two looks at what is new, and while there is much that was not looked at yet."""
_REST = 10
"""Times as long as filling it took, it is not filled again because something came."""
_GROUPED = 2_000
"""Newest errors that are read for what they say."""
_MOST = 500
"""Rows that are shown; sorting says which."""
_SAID = 6
_BAD = 0.05
"""The share of errors from which on it is told in the colour of errors, below it in that of warnings."""
_NAME = 34


class View(NamedTuple):
    """What figures depend on besides their tally."""

    start: int
    """Where the line over time begins, in seconds since the epoch."""
    now: float | None
    """The moment of a live trace; None for a past one, whose rates are those of its whole time."""
    until: float


class StatRow(NamedTuple):
    """One row with figures."""

    key: Hashable
    name: str
    """Safe to draw."""
    tally: Tally
    query: str
    """The query with which the trace shows what it counts."""


class Column(NamedTuple):
    """One column with figures."""

    title: str
    width: int
    value: Callable[[Tally, View], float]
    """What it sorts by; the largest comes first."""
    text: Callable[[Tally, View], str]


def _ms(title: str, value: Callable[[Tally], float | None]) -> Column:
    return Column(title, 7, lambda tally, _: value(tally) or 0.0, lambda tally, _: brief(value(tally)))


COLUMNS = (
    Column("Count", 8, lambda tally, _: tally.count, lambda tally, _: f"{tally.count:,}"),
    Column("Errors", 7, lambda tally, _: tally.errors, lambda tally, _: errors_text(tally)),
    _ms("p50", lambda tally: tally.p50),
    _ms("p95", lambda tally: tally.p95),
    _ms("p99", lambda tally: tally.p99),
    _ms("Max", lambda tally: tally.most),
    Column("/s", 7, lambda tally, view: tally.rate(view.start, view.now), lambda tally, view: _rate(tally, view)),
    Column("In", 8, lambda tally, _: tally.bytes_in, lambda tally, _: units.size(tally.bytes_in)),
    Column("Out", 8, lambda tally, _: tally.bytes_out, lambda tally, _: units.size(tally.bytes_out)),
    Column("Last", 8, lambda tally, _: tally.last, lambda tally, _: _clock(tally.last)),
)
"""The columns behind the name."""


def errors_text(tally: Tally) -> str:
    """How many errors, or where there were many calls their share; empty for none."""
    if not tally.errors:
        return ""
    share = tally.error_rate * 100
    return f"{share:.0f}%" if share >= 9.5 else f"{share:.1f}%" if tally.count >= 100 else f"{tally.errors:,}"


def _rate(tally: Tally, view: View) -> str:
    rate = tally.rate(view.start, view.now)
    return glyphs().dash if rate < 0.005 else f"{rate:.2f}" if rate < 9.995 else f"{rate:,.0f}"


def _clock(when: float) -> str:
    far = time.time() - when > 86_400
    return time.strftime("%d %b" if far else "%H:%M:%S", time.localtime(when)) if when else glyphs().dash


def rows_of(numbers: Numbers, tab: str) -> list[StatRow]:
    """The rows of a tab."""
    several, signs = len(numbers.servers) > 1, glyphs()

    def server(name: str, between: str) -> str:
        return f"{safe(name, 40)}{between}" if several else ""

    if tab == "servers":
        return [StatRow(name, safe(name, 60), tally, query(server=name)) for name, tally in numbers.servers.items()]
    if tab == "methods":
        return [
            StatRow(key, f"{server(key.server, '  ')}{sign}{safe(key.method, 80)}", tally,
                    query(server=key.server, method=key.method))
            for key, tally in numbers.methods.items()
            for sign in (f"{signs.received} " if key.theirs else f"{signs.dot} " if key.notice else "",)
        ]  # fmt: skip
    return [
        StatRow(key, f"{server(key.server, '  ' if key.method == 'resources/read' else '.')}{safe(key.target, 120)}",
                tally, query_of(*key))
        for key, tally in numbers.targets.items()
    ]  # fmt: skip


def query_of(server: str, method: str, target: str) -> str:
    """The query for the calls of one tool, prompt or resource, or of one method where no target is named."""
    kind = NAMED.get(method)
    if kind is None or target in ("", OTHER):
        return query(server=server, method=method, **({"target": target} if target else {}))
    return query(server=server, **{kind: target})


def query(**wanted: str) -> str:
    """A query of the trace; names are quoted, so that they are no parts of longer ones. `OTHER` is no name."""
    escaped = {key: text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for key, text in wanted.items()}
    return " ".join(f'{key}:"{escaped[key]}"' for key, text in wanted.items() if text != OTHER)


def ordered(rows: Sequence[StatRow], sort: str, backward: bool, view: View) -> list[StatRow]:
    """Rows sorted: names from a to z, figures from the largest on; `backward` the other way."""
    named = sorted(rows, key=lambda row: row.name.casefold(), reverse=backward and sort == "Name")
    column = next((one for one in COLUMNS if one.title == sort), None)
    return sorted(named, key=lambda row: column.value(row.tally, view), reverse=not backward) if column else named


class RowDetail(Vertical):
    """Everything about one row: its figures, its use over time, the histogram of its times, what its errors say."""

    DEFAULT_CSS = """
    RowDetail {
        height: 40%; min-height: 7; border-top: solid $panel; padding: 0 1;
        & > #facts { height: auto; }
        & > Sparkline { height: 1; margin: 0 0 1 0; }
        & #times, & #said { width: 1fr; height: 1fr; }
    }
    """

    def compose(self) -> ComposeResult:
        yield Static(id="facts", markup=False)
        yield Sparkline([], id="over-time")
        with Horizontal():
            yield Static(id="times", markup=False)
            yield Static(id="said", markup=False)

    def show(self, row: StatRow | None, view: View, errors: Sequence[ErrorGroup]) -> None:
        """Show a row of figures."""
        times, said = self.query_one("#times", Static), self.query_one("#said", Static)
        self.query_one("#facts", Static).update(facts(row) if row else Content())
        bars = row.tally.series.shape(view.start, view.until, max(1, self.size.width - 2)) if row else []
        self.query_one("#over-time", Sparkline).data = [float(bar) for bar in bars]
        room = max(1, times.size.height)
        times.update(histogram(row.tally.durations, times.size.width - 2, room) if row else Content())
        lines = (
            Content.assemble((f"{one.times:,}x ", "$state-failed"), cut(safe(one.text, 400), said.size.width - 8))
            for one in errors[:_SAID]
        )
        said.update(Content("\n").join(lines))

    def show_error(self, group: ErrorGroup) -> None:
        """Show a group of errors."""
        at = time.strftime("%d %b %H:%M:%S", time.localtime(group.at))
        about = f"{safe(group.server, 60)} {safe(group.method, 80)} {safe(group.target, 120)}"
        newest = f"{units.plural(group.times, 'time')}, the newest {at}, message {group.newest:,} of the trace"
        self.query_one("#facts", Static).update(Content.assemble((about, "bold"), f"\n{newest}"))
        self.query_one("#over-time", Sparkline).data = []
        self.query_one("#times", Static).update(Content(safe(group.text, 1_000)))
        self.query_one("#said", Static).update(Content())


def facts(row: StatRow) -> Content:
    """The figures of a row in three lines."""
    tally = row.tally
    named = ((tally.failed, "failed"), (tally.refused, "refused"), (tally.lost, "lost"), (tally.cancelled, "cancelled"))
    ended = [units.plural(tally.count, "time"), *(f"{count:,} {word}" for count, word in named if count)]
    more = [f"{units.size(tally.bytes_in)} in", f"{units.size(tally.bytes_out)} out"]
    more += [units.plural(tally.notices, "notification")] if tally.notices else []
    more += [f"{units.plural(tally.questions, 'request')} of the server"] if tally.questions else []
    if tally.apart is not None:
        half = brief(tally.apart.percentile(0.5))
        more.append(f"{tally.apart.count:,} asked a person and are not among the times (p50 {half})")
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
    DEFAULT_CSS = "Statistics DataTable { height: 1fr; background: $surface; }"
    choices = (
        Choice("open", "Show in the trace", "primary"), Choice("sort", "Sort by next column"), Choice("copy", "Copy"),
        Choice("back", "Close"),
    )  # fmt: skip
    table = getters.query_one(DataTable[Content])
    tabs = getters.query_one(Tabs)
    detail = getters.query_one(RowDetail)

    def __init__(self, recording: Recording, *, live: bool) -> None:
        super().__init__()
        self._numbers = Numbers(recording)
        self._live = live
        self._errors = Errors(recording)
        self._rows: dict[str, StatRow | ErrorGroup] = {}
        self._groups: list[ErrorGroup] = []
        self._sort, self._backward = "Count", False
        self._stamp = -1
        self._rest_until = 0.0
        self._read_for: object = None

    def heading(self) -> str:
        return "Statistics"

    def body(self) -> tuple[Widget, ...]:
        names = ("calls", "methods", "servers", "errors")
        return Tabs(*(Tab(name.capitalize(), id=name) for name in names)), DataTable(cursor_type="row"), RowDetail()

    def on_mount(self) -> None:
        self._look()
        self.table.focus()

    @property
    def _tab(self) -> str:
        return self.tabs.active or "calls"

    @property
    def _view(self) -> View:
        numbers, now = self._numbers, time.time()
        return View(numbers.start, now, now) if self._live else View(numbers.start, None, numbers.until)

    # Filling

    def _look(self) -> None:
        """Count what is new; draw it, unless drawing it took long."""
        caught_up = self._numbers.look()
        now = time.monotonic()
        if now >= self._rest_until and self._stamp != self._numbers.revision:
            self._stamp = self._numbers.revision
            self._fill()
            self._rest_until = time.monotonic() + (time.monotonic() - now) * _REST
        behind = f" · {self._numbers.behind:,} more to count" if self._numbers.behind else ""
        self.retitle(f"Statistics{behind}")
        self.set_timer(_PAUSE if caught_up else _SOON, self._look)

    @on(Tabs.TabActivated)
    def _turned(self) -> None:
        self._fill()

    def _fill(self) -> None:
        numbers, errors = self._numbers, sum(tally.errors for tally in self._numbers.methods.values())
        counts = {"servers": len(numbers.servers), "methods": len(numbers.methods), "calls": len(numbers.targets)}
        for name, count in {**counts, "errors": errors}.items():
            self.query_one(f"#{name}", Tab).label = Content(f"{name.capitalize()} {count or ''}".rstrip())
        if self._tab == "errors":
            newest = sorted({number for tally in numbers.methods.values() for number in tally.wrong})[-_GROUPED:]
            self._read(newest)
            self._put(("Times", "What it says", "Server", "Where"), {_key(one): one for one in self._groups})
        else:
            rows = ordered(rows_of(numbers, self._tab), self._sort, self._backward, self._view)[:_MOST]
            titles = [f"{one.title:>{one.width}}" for one in COLUMNS]
            self._put(("Name", *titles), {repr(row.key): row for row in rows})

    def _put(self, titles: Sequence[str], rows: dict[str, StatRow | ErrorGroup]) -> None:
        """Show rows; the cursor stays on the row that it was on."""
        table, before = self.table, self._key_here()
        labels = [self._label(title) for title in titles]
        if [str(column.label) for column in table.ordered_columns] != [label.plain for label in labels]:
            table.clear(columns=True)
            for title, label in zip(titles, labels, strict=True):
                table.add_column(label.plain, key=title.strip())
        table.clear()
        self._rows = rows
        for key, row in rows.items():
            table.add_row(*self._cells(row), key=key)
        if before in rows:
            table.move_cursor(row=table.get_row_index(before), animate=False)
        self._tell()

    def _label(self, title: str) -> Content:
        arrow = "^" if self._backward != (self._sort == "Name") else "v"
        return Content(f"{title} {arrow}" if title.strip() == self._sort else title)

    def _cells(self, row: StatRow | ErrorGroup) -> list[Content]:
        if isinstance(row, ErrorGroup):
            where = safe(row.target or row.method, 80)
            text = cut(safe(row.text, 300), max(30, self.size.width - 60))
            return [Content.styled(f"{row.times:>7,}", "$state-failed"), *map(Content, (text, row.server, where))]
        view, tally = self._view, row.tally
        cells = [Content(f"{cut(row.name, _NAME):<{_NAME}}")]
        for column in COLUMNS:
            text = f"{column.text(tally, view):>{column.width}}"
            wrong = "$state-failed" if tally.error_rate >= _BAD else "$state-busy"
            cells.append(Content.styled(text, wrong if column.title == "Errors" else ""))
        return cells

    def _read(self, numbers: Sequence[int]) -> None:
        """Have errors read for what they say, where there are others than before."""
        if (asked := (self._tab, tuple(numbers))) != self._read_for:
            self._read_for = asked
            self.run_worker(self._read_errors(numbers), group="errors", exclusive=True)

    async def _read_errors(self, numbers: Sequence[int]) -> None:
        self._groups = await self._errors.top(numbers)
        if self._tab == "errors":
            self._fill()
        else:
            self._tell()

    # The row under the cursor

    def _key_here(self) -> str:
        if not self.table.row_count:
            return ""
        return self.table.coordinate_to_cell_key(self.table.cursor_coordinate).row_key.value or ""

    @on(DataTable.RowHighlighted)
    def _tell(self) -> None:
        row = self._rows.get(self._key_here())
        if isinstance(row, ErrorGroup):
            self.detail.show_error(row)
            return
        if row is not None:
            self._read(list(row.tally.wrong))
        self.detail.show(row, self._view, self._groups if row is not None and row.tally.errors else ())

    @on(DataTable.RowSelected)
    def action_open(self) -> None:
        """Show its messages in the trace."""
        row = self._rows.get(self._key_here())
        if isinstance(row, ErrorGroup):
            self.dismiss(f"{query_of(row.server, row.method, row.target)} status:error")
        elif row is not None:
            self.dismiss(row.query)

    @on(DataTable.HeaderSelected)
    def _sort_by(self, event: DataTable.HeaderSelected) -> None:
        """Sort by a column; by the same again, the other way round."""
        title = event.column_key.value or ""
        if self._tab != "errors":
            self._backward = title == self._sort and not self._backward
            self._sort = title
            self._fill()

    def action_sort(self) -> None:
        """Sort by the next column."""
        titles = ["Name", *(column.title for column in COLUMNS)]
        self._sort, self._backward = titles[(titles.index(self._sort) + 1) % len(titles)], False
        self._fill()

    def action_copy(self) -> None:
        """Copy the table, divided by tabs."""
        lines = ["\t".join(str(column.label).strip() for column in self.table.ordered_columns)]
        lines += ["\t".join(cell.plain.strip() for cell in self._cells(row)) for row in self._rows.values()]
        self.app.copy("\n".join(lines))


def _key(group: ErrorGroup) -> str:
    return repr((group.server, group.method, group.target, group.text))
