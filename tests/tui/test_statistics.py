"""Statistics: sorted by any column, live, with the times and errors of a row; and figures beside what they are of."""

from __future__ import annotations

from mcp_studio.catalog.listing import Ref
from mcp_studio.trace.message import OTHER
from mcp_studio.trace.statistics import LONGEST, Numbers
from mcp_studio.tui.screens import statistics_rows as stat_rows
from mcp_studio.tui.screens.statistics import Statistics
from mcp_studio.tui.screens.statistics_detail import detail
from mcp_studio.tui.screens.statistics_rows import COLUMNS, SORTS, StatRow, View
from mcp_studio.tui.views.histogram import brief, count_text, histogram, spark
from mcp_studio.tui.views.line import width_of
from tests.trace.made import Made
from tests.tui.stage import Stage, on_stage, raw


def figures() -> tuple[list[StatRow], View]:
    made = Made()
    for place, (tool, calls, ms) in enumerate((("slow", 2, 900), ("busy", 30, 10), ("wrong", 5, 40))):
        for turn in range(calls):
            at = 1_000.0 + place + turn
            request = made.request("tools/call", tool, server="demo", time=at, size=100)
            bad = tool == "wrong"
            made.answer(
                request, "result", "tool error" if bad else "ok", time=at + ms / 1000 + turn / 1000, server="demo"
            )
    numbers = Numbers(made)
    numbers.look(60)
    return stat_rows.rows_of(numbers, "calls"), View(numbers.start, numbers.until)


def names(rows: list[StatRow], sort: str, view: View, backward: bool = False) -> list[str]:
    return [row.name for row in stat_rows.ordered(rows, sort, backward, view)]


def test_rows_sort_by_every_column_both_ways() -> None:
    rows, view = figures()
    assert names(rows, "name", view) == ["busy", "slow", "wrong"]
    assert names(rows, "count", view) == ["busy", "wrong", "slow"]
    assert names(rows, "p50", view) == ["slow", "wrong", "busy"]
    assert names(rows, "errors", view) == ["wrong", "busy", "slow"]
    for sort in SORTS:
        assert sorted(names(rows, sort, view)) == ["busy", "slow", "wrong"]
    assert names(rows, "p95", view, backward=True) == ["busy", "wrong", "slow"]


def test_rows_and_header_fill_every_width_and_show_what_is_sorted_by() -> None:
    rows, view = figures()
    for width in (40, 60, 72, 110, 190):
        for sort in SORTS:
            assert sum(len(text) for text, _ in stat_rows.header(width, sort, False, "tool")) <= width
            assert [here for _, here in stat_rows.header(width, sort, False, "tool")].count(True) == 1
            for row in rows:
                assert width_of(stat_rows.draw(row, width, sort, view)) <= width
    shown = [column.id for column in stat_rows.columns_for(190, "count")[0]]
    assert shown == [column.id for column in COLUMNS]
    assert stat_rows.column_at(0, 110, "count") == "name"
    assert stat_rows.column_at(30, 60, "count") == "count"


def test_a_row_knows_its_filter_and_no_name_breaks_it() -> None:
    rows, _ = figures()
    assert {row.query for row in rows} == {f'server:"demo" tool:"{name}"' for name in ("slow", "busy", "wrong")}
    assert stat_rows.query_of('a "b"', "tools/call", "c\\d\n") == 'server:"a \\"b\\"" tool:"c\\\\d\\n"'
    assert stat_rows.query_of("demo", "ping", "") == 'server:"demo" method:"ping"'
    assert stat_rows.query_of("demo", "tools/call", OTHER) == 'server:"demo" method:"tools/call"', "all the others"


def test_the_detail_fits_its_room() -> None:
    rows, view = figures()
    for width, height in ((70, 8), (180, 20), (20, 3)):
        text = detail(rows[-1], view, (), width, height).plain
        assert len(text.splitlines()) <= height
    assert "5 failed" in detail(rows[-1], view, (), 70, 8).plain


def test_times_and_counts_are_short() -> None:
    for ms in (0.0, 0.004, 0.996, 5.5, 9.96, 99.7, 999.7, 1_234.0, 99_700.0, 5e6, 9e9, LONGEST):
        assert len(brief(ms)) <= 6, brief(ms)
    assert [brief(ms) for ms in (None, 0.42, 4.21, 18.2, 812.0, 1_250.0, 45_000.0, 720_000.0)] == [
        "-", "0.42ms", "4.2ms", "18ms", "812ms", "1.2s", "45s", "12m",
    ]  # fmt: skip
    assert [count_text(count) for count in (0, 9_999, 12_345, 123_456, 4_200_000)] == [
        "0", "9,999", "12.3k", "123k", "4.2M",
    ]  # fmt: skip


def test_a_histogram_has_as_many_lines_as_there_are_at_most() -> None:
    rows, _ = figures()
    for height in (1, 3, 10):
        lines = histogram(rows[1].tally.durations, 60, height)
        assert 0 < len(lines) <= height
        assert all(width_of(line) <= 60 for line in lines)


async def called(stage: Stage, name: str, times: int = 1, **arguments: object) -> None:
    for _ in range(times):
        await stage.studio.call_tool(Ref("tool", "raw", name), arguments, approved=True).wait()


async def looked(stage: Stage) -> None:
    stage.main.looking.tick()
    await stage.pilot.pause()


async def test_use_stands_beside_the_tools_and_in_the_statistics_from_which_one_gets_to_the_trace() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("fail")
        stage.main.looking.tick()
        assert "×" not in stage.screen_text() and "usage" not in vars(stage.main.looking), "nothing was used"
        await called(stage, "fail", 3)
        await called(stage, "echo", 2, text="x")
        await looked(stage)
        await stage.shows("2× ", "3× ", "100% failed")
        await stage.press("f11")
        await stage.shows("Calls 2", "Errors 3", "3 times")
        screen = stage.app.screen
        assert isinstance(screen, Statistics)
        # Live: what comes meanwhile is counted.
        await called(stage, "echo", 6, text="x")
        await stage.shows("8 times" if screen.list.row.name == "echo" else " 8 ")
        await stage.press("3")
        assert [row.name for row in screen.list.rows] == ["fail", "echo"]
        await stage.press("r")
        assert [row.name for row in screen.list.rows] == ["echo", "fail"]
        await stage.press("1", "right", "right", "left")
        assert screen.sort == "count"
        # What the errors say.
        await stage.press("]")
        await stage.shows("3 times, the newest")
        await stage.press("[", "[")
        await stage.shows("tools/list")
        await stage.press("]", "3", "enter")
        await stage.until(lambda: stage.app.screen is stage.main)
        await stage.until(lambda: stage.main.trace.filter.text == 'server:"raw" tool:"fail"')
        await stage.until(lambda: stage.main.trace.table.row_count == 6, "six messages of three calls")


def test_a_line_over_time_has_a_cell_for_each_count() -> None:
    assert spark([0, 1, 4, 8]) == " ▁▄█"
    assert spark([]) == ""
    assert spark([0, 0]) == "  "
