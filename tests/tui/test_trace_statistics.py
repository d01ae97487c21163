"""Statistics and load tests: sorting, queries, histograms, figures that fit."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from mcp_studio.call.load import Load
from mcp_studio.catalog.listing import Ref
from mcp_studio.trace.message import OTHER
from mcp_studio.trace.statistics import LONGEST, Numbers
from mcp_studio.tui.screens.load_test import LoadTest, figures_of
from mcp_studio.tui.screens.statistics import TITLES, Span, StatRow, facts, ordered, query_of, rows_of
from mcp_studio.tui.views.histogram import histogram, took_text
from tests.trace.made import Made
from tests.tui.trace_stage import on_stage, raw


def figures() -> tuple[list[StatRow], Span]:
    made = Made()
    for place, (tool, calls, ms) in enumerate((("slow", 2, 900), ("busy", 30, 10), ("wrong", 5, 40))):
        for turn in range(calls):
            at = 1_000.0 + place + turn
            request = made.request("tools/call", tool, server="demo", time=at, size=100)
            outcome = "tool error" if tool == "wrong" else "ok"
            made.answer(request, "result", outcome, time=at + ms / 1000 + turn / 1000, server="demo")
    numbers = Numbers(made)
    numbers.look(60)
    return rows_of(numbers, "calls"), Span(numbers.start, numbers.until, None)


def names(rows: list[StatRow], sort: str, span: Span, backward: bool = False) -> list[str]:
    return [row.name for row in ordered(rows, sort, backward, span)]


def test_rows_sort_by_every_column_both_ways() -> None:
    rows, span = figures()
    assert names(rows, "Name", span) == ["busy", "slow", "wrong"]
    assert names(rows, "Count", span) == ["busy", "wrong", "slow"]
    assert names(rows, "p50", span) == ["slow", "wrong", "busy"]
    assert names(rows, "Errors", span) == ["wrong", "busy", "slow"]
    assert all(sorted(names(rows, title, span)) == ["busy", "slow", "wrong"] for title in TITLES)
    assert names(rows, "p95", span, backward=True) == ["busy", "wrong", "slow"]
    assert "5 failed" in facts(next(row for row in rows if row.name == "wrong")).plain


def test_a_row_knows_its_query_and_no_name_breaks_it() -> None:
    rows, _ = figures()
    assert {row.query for row in rows} == {f'server:"demo" tool:"{name}"' for name in ("slow", "busy", "wrong")}
    assert query_of('a "b"', "tools/call", "c\\d\n") == 'server:"a \\"b\\"" tool:"c\\\\d\\n"'
    assert query_of("demo", "ping", "") == 'server:"demo" method:"ping"'
    assert query_of("demo", "tools/call", OTHER) == 'server:"demo" method:"tools/call"', "all the others"


def test_times_take_few_characters() -> None:
    for ms in (0.0, 0.004, 5.5, 9.96, 99.7, 999.7, 1_234.0, 99_700.0, 5e6, 9e9, LONGEST):
        assert len(took_text(ms)) <= 8, took_text(ms)
    assert [took_text(ms) for ms in (None, 0.44, 18.2, 812, 12_100, 1_200_000)] == [
        "—", "0.4 ms", "18 ms", "812 ms", "12.1 s", "20 min",
    ]  # fmt: skip


def test_a_histogram_has_as_many_lines_as_there_are_at_most() -> None:
    rows, _ = figures()
    for height in (1, 3, 10):
        lines = histogram(rows[1].tally.durations, 60, height).split("\n")
        assert 0 < len(lines) <= height
        assert all(line.cell_length <= 60 for line in lines)


def test_figures_fit_where_there_is_little_room() -> None:
    load = Load(lambda: pytest.fail("nothing is called"), 1_000_000, 8)
    for place in range(40):
        load.durations.add(place**4 / 10)
    for width, height in ((34, 12), (72, 12), (120, 30)):
        lines = figures_of(load, width, height).split("\n")
        assert all(line.cell_length <= width for line in lines) and len(lines) <= height


async def test_a_tool_is_called_many_times_and_stopped() -> None:
    async with on_stage(raw()) as stage:
        studio = stage.studio
        ref = Ref("tool", "raw", "echo")

        def begin(tool: str = "echo", **arguments: object) -> object:
            return studio.call_tool(Ref("tool", "raw", tool), arguments, approved=True)

        stage.app.push_screen(LoadTest(ref, lambda: begin(text="x"), {"text": "x"}))  # type: ignore[arg-type]
        await stage.shows("Load test: raw.echo")
        total, at_once = stage.app.screen.query(Input)
        total.value, at_once.value = "0", "4"
        await stage.press("ctrl+j")
        await stage.shows("must be from 1 to 1,000,000")
        total.value = "60"
        await stage.press("ctrl+j")
        await stage.shows("60 of 60", "60 ok", "p95")
        await stage.press("escape")
        past = await studio.memory.history.of(ref)
        assert [(one.kind, one.said, one.arguments) for one in past] == [("ok", "60 calls, 4 at once", {"text": "x"})]

        stage.app.push_screen(LoadTest(ref, lambda: begin("wait", seconds=5)))  # type: ignore[arg-type]
        await stage.shows("Load test")
        await stage.press("ctrl+j")
        await stage.shows("4 running")
        await stage.press("escape")
        await stage.shows("4 stopped", "Ended early")
