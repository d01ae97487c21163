"""The trace pane: follow, filter, detail, copy."""

from __future__ import annotations

from pathlib import Path

from mcp_studio.tui.screens.row_diff import RowDiff
from mcp_studio.tui.screens.sessions import SessionsDialog
from mcp_studio.tui.screens.trace_dialog import TraceDialog

from mcp_studio.paths import Paths
from tests.tui.stage import Stage, on_stage, raw


async def test_every_message_appears_and_a_filter_shows_some() -> None:
    async with on_stage(raw()) as stage:
        await stage.shows("tools/list")
        await stage.press("f8", "slash", *"method:prompts")
        await stage.until(lambda: stage.main.trace.table.row_count == 2, "two rows")
        await stage.shows("method:prompts · 2 of")
        await stage.press("escape")
        await stage.until(lambda: stage.main.trace.table.row_count == len(stage.studio.trace), "all rows")


async def test_enter_shows_request_and_response() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("f8", "end", "enter")
        await stage.until(lambda: isinstance(stage.app.screen, TraceDialog), "detail")
        await stage.shows("jsonrpc", "result")
        await stage.press("right_square_bracket")
        await stage.shows("No HTTP headers")
        await stage.press("right_square_bracket")
        await stage.shows("No other request belongs to it")
        line = stage.screen_text().splitlines()[stage.app.screen.query_one("#box").region.y]
        await stage.pilot.click(offset=(line.index("Findings"), stage.app.screen.query_one("#box").region.y))
        await stage.shows("Nothing is wrong with it")
        await stage.press("right_square_bracket")
        await stage.shows("├─", "0.0 ms")
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main, "main screen")


async def test_moving_up_stops_following_and_f_follows_again() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("f8", "up")
        await stage.shows("f follows")
        await stage.press("f")
        await stage.shows("following")
        table = stage.main.trace.table
        answer = table.message
        await stage.press("o")
        assert table.message.kind == "request" and table.message.span is answer.span
        await stage.press("o")
        assert table.message is answer
        await stage.press("home", "o")
        await stage.told("It has no other end")


async def test_y_copies_the_message_as_it_crossed_the_wire() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("f8", "end", "y")
        await stage.until(lambda: stage.app.clipboard.startswith('{"jsonrpc"'), "copied")


def note(stage: Stage) -> str:
    """What stands in the bottom border of the trace."""
    return str(stage.main.trace.border_subtitle)


async def called(stage: Stage, tool: str, **arguments: object) -> None:
    entry = next(one for one in stage.studio.catalog.entries("tool") if one.ref.name == tool)
    await stage.studio.call_tool(entry.ref, arguments, approved=True).wait()


async def test_messages_are_marked_commented_and_gone_to() -> None:
    async with on_stage(raw()) as stage:
        table, trace = stage.main.trace.table, stage.studio.trace
        await stage.press("f8", "n")
        await stage.told("No message below has a mark")
        await stage.press("end", "up", "m", "up", "M", *"odd", "enter")
        number = len(trace) - 2
        await stage.until(lambda: trace.comment_on(number) == "odd", "the comment")
        await stage.shows("◆", "◇")
        await stage.press("home", "n")
        await stage.until(lambda: table.message.number == number, "the commented one")
        await stage.press("n", "n", "N")
        await stage.until(lambda: table.message.number == number, "the one before")
        await stage.press("enter")
        await stage.shows("◇ odd")
        await stage.press("J")
        await stage.shows("│ ◆ ")
        await stage.press("m", "K", "M", *["backspace"] * 3, "ctrl+j", "escape")
        await stage.until(lambda: trace.comment_on(number) == "", "no comment any more")
        assert not any(flags & 24 for flags in trace.columns.flags)


async def test_two_messages_are_compared_beside_each_other_or_below() -> None:
    async with on_stage(raw()) as stage:
        await called(stage, "echo", text="hello")
        await called(stage, "echo", text="howdy")
        await stage.press("f8", "end", "D")
        await stage.until(lambda: "D compares with" in note(stage), "the first one")
        await stage.press("D")
        await stage.until(lambda: "compares" not in note(stage), "none any more")
        await stage.press("D", "up", "D")
        await stage.told("Both are of one exchange")
        await stage.press("end", "D", "up", "up", "D")
        await stage.until(lambda: isinstance(stage.app.screen, RowDiff), "the comparison")
        await stage.shows("Answers 1", "hello", "howdy", "│ ±")
        await stage.press("tab")
        await stage.shows("Requests 1", "±", '"name": "echo"')
        await stage.press("i")
        await stage.shows("Requests 3", '"progressToken"')
        await stage.pilot.resize_terminal(80, 24)
        await stage.shows("- ", "+ ")
        await stage.press("y", "escape")
        await stage.until(lambda: stage.app.screen is stage.main, "main screen")
        assert "params.arguments.text" in stage.app.clipboard


async def test_an_earlier_session_is_opened_searched_and_left_while_the_present_one_goes_on() -> None:
    async with on_stage(raw(), origin="tui") as stage:
        await called(stage, "echo", text="of yesterday")
        earlier = stage.studio.trace
    total = earlier.total
    async with on_stage(raw(), origin="tui") as stage:
        panel = stage.main.trace
        await stage.until(lambda: len(sessions_here()) == 2, "both sessions")
        await stage.press("f8", "L")
        await stage.told("This is what is being recorded now.")
        await stage.press("S")
        await stage.until(lambda: isinstance(stage.app.screen, SessionsDialog), "sessions")
        await stage.shows("began               lasted   messages", "this one")
        await stage.press("d")
        await stage.told("It is still being recorded.")
        await stage.press("down")
        await stage.shows("It was ended properly.")
        await stage.press("enter")
        await stage.shows("Past session")
        await stage.until(lambda: note(stage) == f"{total} · L back to now", "the past session")
        await stage.press("up", "enter")
        await stage.shows("of yesterday")
        await stage.press("escape", "m")
        await stage.until(lambda: "◆" in stage.screen_text(), "the mark")
        await called(stage, "echo", text="of today")
        assert panel.recording.total == total
        await stage.press("S")
        await stage.shows("this one")
        await stage.press("down")
        await stage.shows("The trace shows it now.")
        await stage.press("d")
        await stage.told("go back to what is being recorded first")
        await stage.press("escape", "L")
        await stage.until(lambda: panel.live, "what is recorded now")
        await stage.until(lambda: note(stage).endswith("following"), "following")
        await stage.press("S", "down", "d", "y")
        await stage.until(lambda: len(sessions_here()) == 1, "one session")


def sessions_here() -> list[Path]:
    return list((Paths.default().state / "trace").glob("*.trace"))
