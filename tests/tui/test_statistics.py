"""Statistics: sorted by any column, live, with the times and errors of a row; from a row to its messages."""

from __future__ import annotations

from mcp_studio.trace.message import OTHER
from mcp_studio.trace.query.parser import parse
from mcp_studio.trace.statistics import Durations, Numbers, Tally
from mcp_studio.tui.screens.statistics import (
    TITLES,
    Statistics,
    StatRow,
    facts,
    figures_of,
    histogram,
    ordered,
    query_of,
    rows_of,
)
from tests.studio_support import stdio
from tests.support import python_server
from tests.trace.made import Made
from tests.tui.stage import on_stage, raw, ref


def figures() -> tuple[list[StatRow], int]:
    """Rows of three tools, and when the trace began."""
    made = Made()
    for place, (tool, calls, ms) in enumerate((("slow", 2, 900), ("busy", 30, 10), ("wrong", 5, 40))):
        for turn in range(calls):
            at = 1_000.0 + place + turn
            request = made.request("tools/call", tool, server="demo", time=at, size=100)
            outcome = "tool error" if tool == "wrong" or (tool == "busy" and turn < 6) else "ok"
            made.answer(request, "result", outcome, time=at + ms / 1000 + turn / 1000, server="demo")
    numbers = Numbers(made.recording)
    numbers.look(60)
    return rows_of(numbers, "calls"), numbers.start


def test_rows_sort_by_every_column_both_ways() -> None:
    rows, _ = figures()

    def names(sort: str, backward: bool = False) -> list[str]:
        return [row.name for row in ordered(rows, sort, backward)]

    assert names("Name") == ["busy", "slow", "wrong"] == names("Name", True)[::-1]
    assert names("Count") == ["busy", "wrong", "slow"]
    assert names("p50") == ["slow", "wrong", "busy"] == names("p95", True)[::-1]
    assert names("Errors") == ["wrong", "busy", "slow"], "by their share, as it is shown, and not by their number"
    for title in TITLES:
        assert sorted(names(title)) == ["busy", "slow", "wrong"]


def test_a_row_knows_its_query_and_no_name_breaks_it() -> None:
    rows, _ = figures()
    assert {row.query for row in rows} == {f'server:"demo" tool:"{name}"' for name in ("slow", "busy", "wrong")}
    for server, method, target, query in (
        ('a "b"', "tools/call", "c\\d\n", 'server:"a \\"b\\"" tool:"c\\\\d\\n"'),
        ("demo", "ping", "", 'server:"demo" method:"ping"'),
        ("demo", "tools/call", OTHER, 'server:"demo" method:"tools/call"'),
    ):
        assert query_of(server, method, target) == query
        parse(query)


def test_figures_and_histogram_fit_their_room() -> None:
    rows, start = figures()
    wrong = next(row for row in rows if row.name == "wrong")
    told = facts(wrong, start).plain
    assert "5 requests · 5 failed" in told and "p50 42 ms" in told and "50/min" in told
    for height in (1, 3, 10):
        lines = histogram(wrong.tally.durations, 60, height).plain.splitlines()
        assert 0 < len(lines) <= height and all(len(line) <= 60 for line in lines)
    durations = Durations()
    durations.add(10.2)
    assert "-" not in histogram(durations, 60, 3).plain, "bounds that look the same are named once"
    tally = Tally()
    for tally.count, share in ((1, "100%"), (3, "33.3%"), (1_006, "0.1%"), (9_000, "0.1%")):
        tally.failed = 1
        assert figures_of(tally)["Errors"][1] == share


async def test_calls_are_counted_live_and_a_row_leads_to_its_messages() -> None:
    hostile = stdio(python_server("raw_faults", "--fault", "hostile"), "s")
    async with on_stage(raw(), hostile, size=(80, 24)) as stage:

        async def called(name: str, times: int) -> None:
            for _ in range(times):
                await stage.studio.call_tool(ref(name), {"text": "x"}, approved=True).wait()

        await called("fail", 3)
        await called("echo", 2)
        await stage.press("5", "i")
        dialog = await stage.dialog(Statistics)
        await stage.shows(
            "Calls +Methods +Servers",
            r"Name +Count.+Errors +Recent +p50 +p95 +p99",
            "Show messages +Errors +Sort +Copy +Close",
        )
        await stage.shows("fail  3 requests · 3 failed", "3x ", r"raw  fail +3 +100%")
        await called("echo", 6)
        await stage.shows(r"raw  echo +8", "fail  3 requests")
        await stage.pilot.click("#heads", offset=(dialog.query_one("#heads").size.width - 2, 0))
        await stage.shows("p99[^ ]")
        await stage.press(*"ooo", "y")
        assert "raw  fail\t3\t100%" in stage.app.clipboard
        await stage.shows(r"Errors[^ ]")
        await stage.press("]")
        await stage.shows("raw  tools/call")
        assert "\x1b" not in stage.text
        await stage.press("[")
        await stage.until(lambda: dialog.rows.row_count == 2, "the calls again")
        dialog.rows.move_to(0)
        await stage.press("enter")
        await stage.until(lambda: stage.main.trace.query_line.field.value == 'server:"raw" tool:"fail"', "the query")
        await stage.until(lambda: stage.main.trace.table.row_count == 6, "six messages of three calls")
        await stage.press("i")
        dialog = await stage.dialog(Statistics)
        await stage.shows(r"fail  3 requests|echo  8 requests")
        dialog.rows.go_to(wanted := 'server:"raw" tool:"fail"')
        await stage.shows("fail  3 requests")
        await stage.press("e")
        wanted += " status:error"
        await stage.until(lambda: stage.main.trace.query_line.field.value == wanted, "the query for errors")
