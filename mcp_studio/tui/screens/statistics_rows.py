"""The rows and columns of the statistics: which there are, what they sort by, how they look."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.trace.message import OTHER
from mcp_studio.trace.statistics import NAMED, Method, Numbers, Tally, Target
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.histogram import brief, count_text, spark
from mcp_studio.tui.views.line import Piece, fit

TABS = ("servers", "methods", "calls", "errors")
_NAME = 22
"""Cells of the narrowest column of names."""
_WIDEST = 30
"""Cells of the widest line over time."""
_LEAST = 10
_BAD = 0.05
"""The share of errors from which on it is told in the colour of errors, below it in that of warnings."""


class View(NamedTuple):
    """What figures depend on besides their tally."""

    start: int
    """Where the line over time begins."""
    until: float
    """Where the line over time ends."""


class StatRow(NamedTuple):
    """One row with figures."""

    key: Hashable
    name: str
    """Safe to draw."""
    tally: Tally
    query: str
    """The filter with which the trace shows what it counts."""


class Column(NamedTuple):
    """One column with figures."""

    id: str
    title: str
    width: int
    rank: int
    """The lower, the sooner it is shown where there is little room."""
    value: Callable[[Tally, View], float]
    """What it sorts by; the largest comes first."""
    text: Callable[[Tally, View], str]


def _ms(value: Callable[[Tally], float | None]) -> tuple[Callable[[Tally, View], float], Callable[[Tally, View], str]]:
    return lambda tally, view: -1.0 if (ms := value(tally)) is None else ms, lambda tally, view: brief(value(tally))


COLUMNS = (
    Column("count", "count", 7, 0, lambda tally, view: tally.count, lambda tally, view: count_text(tally.count)),
    Column("errors", "errors", 7, 1, lambda tally, view: tally.errors, lambda tally, view: errors_text(tally)),
    Column("p50", "p50", 7, 2, *_ms(lambda tally: tally.p50)),
    Column("p95", "p95", 7, 3, *_ms(lambda tally: tally.p95)),
    Column("p99", "p99", 7, 5, *_ms(lambda tally: tally.p99)),
    Column("most", "max", 7, 7, *_ms(lambda tally: tally.most)),
    Column(
        "rate", "/s", 7, 6, lambda tally, view: tally.rate(view.start),
        lambda tally, view: _rate(tally.rate(view.start)),
    ),
    Column("in", "in", 8, 8, lambda tally, view: tally.bytes_in, lambda tally, view: units.size(tally.bytes_in)),
    Column("out", "out", 8, 9, lambda tally, view: tally.bytes_out, lambda tally, view: units.size(tally.bytes_out)),
    Column("last", "last", 10, 10, lambda tally, view: tally.last, lambda tally, view: _clock(tally.last)),
)  # fmt: skip
SORTS = ("name", *(column.id for column in COLUMNS))
"""What rows can be sorted by, in the order of the columns."""
_SPARK_RANK = 4


def errors_text(tally: Tally) -> str:
    """How many errors, or where there were many calls their share; empty for none."""
    if not tally.errors:
        return ""
    share = tally.error_rate * 100
    return f"{share:.0f}%" if share >= 9.5 else f"{share:.1f}%" if tally.count >= 100 else count_text(tally.errors)


def rows_of(numbers: Numbers, tab: str) -> list[StatRow]:
    """The rows of a tab."""
    several = len(numbers.servers) > 1
    if tab == "servers":
        return [StatRow(name, safe(name, 60), tally, query(server=name)) for name, tally in numbers.servers.items()]
    if tab == "methods":
        return [_of_method(key, tally, several) for key, tally in numbers.methods.items()]
    return [_of_target(key, tally, several) for key, tally in numbers.targets.items()]


def _of_method(key: Method, tally: Tally, several: bool) -> StatRow:
    sign = f"{glyphs().received} " if key.theirs else f"{glyphs().dot} " if key.notice else ""
    name = f"{safe(key.server, 40)}  {sign}{safe(key.method, 80)}" if several else f"{sign}{safe(key.method, 80)}"
    return StatRow(key, name, tally, query(server=key.server, method=key.method))


def _of_target(key: Target, tally: Tally, several: bool) -> StatRow:
    server = f"{safe(key.server, 40)}{'  ' if key.method == 'resources/read' else '.'}" if several else ""
    return StatRow(key, server + (safe(key.target, 120) or "(no name)"), tally, query_of(*key))


def query_of(server: str, method: str, target: str) -> str:
    """The filter for the calls of one tool, prompt or resource, or of one method where no target is named."""
    kind = NAMED.get(method)
    if kind is None or target in ("", OTHER):
        return query(server=server, method=method, **({"target": target} if target else {}))
    return query(server=server, **{kind: target})


def query(**wanted: str) -> str:
    """A filter of the trace; names are quoted, so that they are no parts of longer ones. `OTHER` is no name."""
    return " ".join(f'{key}:"{_escaped(text)}"' for key, text in wanted.items() if text != OTHER)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def ordered(rows: Iterable[StatRow], sort: str, backward: bool, view: View) -> list[StatRow]:
    """Rows sorted: names from a to z, figures from the largest on; `backward` the other way."""
    if sort == "name":
        return sorted(rows, key=lambda row: row.name.casefold(), reverse=backward)
    column = next(column for column in COLUMNS if column.id == sort)
    named = sorted(rows, key=lambda row: row.name.casefold())
    return sorted(named, key=lambda row: column.value(row.tally, view), reverse=not backward)


def columns_for(width: int, sort: str) -> tuple[list[Column], int]:
    """The columns that there is room for, that of the sorting among them, and the cells of the line over time."""
    room, line, chosen = width - _NAME, 0, set[str]()
    wanted = [(-1 if column.id == sort else column.rank, column.id, column.width) for column in COLUMNS]
    for _, name, cells in sorted([*wanted, (_SPARK_RANK, "", _LEAST + 2)]):
        if cells <= room:
            room -= cells
            chosen.add(name)
            line = line or (0 if name else _LEAST)
    if line:
        line = min(_WIDEST, line + room // 3)
    return [column for column in COLUMNS if column.id in chosen], line


def draw(row: StatRow, width: int, sort: str, view: View) -> list[Piece]:
    """One row."""
    columns, line = columns_for(width, sort)
    name = width - sum(column.width for column in columns) - (line + 2 if line else 0)
    pieces: list[Piece] = [(fit(row.name, name, more=glyphs().more), "")]
    for column in columns:
        text = column.text(row.tally, view)
        look = _look(column, row.tally, text)
        pieces.append((fit(text, column.width, more=glyphs().more, right=True), look))
    if line:
        pieces += [("  ", ""), (spark(row.tally.series.shape(view.start, view.until, line)).ljust(line), "accent")]
    return pieces


def _look(column: Column, tally: Tally, text: str) -> str:
    if column.id == "errors" and tally.errors:
        return "bad" if tally.error_rate >= _BAD else "warn"
    return "dim" if text in ("-", "", "0B") or column.id in ("in", "out", "last") else ""


def header(width: int, sort: str, backward: bool, first: str) -> list[tuple[str, bool]]:
    """The names of the columns, and which of them it is sorted by."""
    columns, line = columns_for(width, sort)
    arrow = "^" if backward != (sort == "name") else "v"
    name = width - sum(column.width for column in columns) - (line + 2 if line else 0)
    parts = [(fit(f"{first} {arrow}" if sort == "name" else first, name), sort == "name")]
    for column in columns:
        here = column.id == sort
        parts.append((fit(f"{column.title} {arrow}" if here else column.title, column.width, right=True), here))
    return [*parts, (f"  {'over time':<{line}}"[: line + 2], False)] if line else parts


def column_at(x: int, width: int, sort: str) -> str:
    """What a click into the header sorts by; empty for the line over time."""
    at = 0
    for (text, _), name in zip(
        header(width, sort, False, ""), ("name", *(c.id for c in columns_for(width, sort)[0]), ""), strict=False
    ):
        at += len(text)
        if x < at:
            return name
    return ""


def table(rows: Sequence[StatRow], view: View) -> str:
    """All columns as text, divided by tabs."""
    lines = ["\t".join(("name", *(column.title for column in COLUMNS)))]
    lines += ["\t".join((row.name, *(column.text(row.tally, view) for column in COLUMNS))) for row in rows]
    return "\n".join(lines)


def _rate(rate: float) -> str:
    return "-" if rate < 0.005 else f"{rate:.2f}" if rate < 9.995 else f"{rate:,.0f}"


def _clock(when: float) -> str:
    if not when:
        return "-"
    moment = time.localtime(when)
    far = time.time() - when > 86_400
    return time.strftime("%d %b" if far else "%H:%M:%S", moment)
