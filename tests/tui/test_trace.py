"""The trace pane: every message, queries, exchanges, marks, comparing, past sessions, re-sending."""

from __future__ import annotations

import re
from pathlib import Path

from textual.widgets import Input

from mcp_studio.paths import Paths
from mcp_studio.trace.store import TraceStore
from mcp_studio.tui.screens.compare import Compare
from mcp_studio.tui.screens.console import Console
from mcp_studio.tui.screens.copy_as import CopyAs
from mcp_studio.tui.screens.dialog import Confirm
from mcp_studio.tui.screens.exchange import Comment, ExchangeDialog
from mcp_studio.tui.screens.resend import Resend
from mcp_studio.tui.screens.sessions import Sessions
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import Stage, on_stage, raw, ref


async def called(stage: Stage, tool: str, **arguments: object) -> None:
    await stage.studio.call_tool(ref(tool), arguments, approved=True).wait()


async def home(stage: Stage) -> None:
    await stage.until(lambda: stage.app.screen is stage.main, "the main screen")


async def at(stage: Stage, method: str, target: str = "", recording: TraceStore | None = None) -> None:
    """Put the cursor on the newest request of a method."""
    source = recording or stage.studio.trace
    entries = [source[place] for place in range(len(source))]
    number = [one.number for one in entries if (one.kind, one.method, one.target) == ("request", method, target)][-1]
    await stage.until(lambda: stage.main.trace.table.go_to(number), "the message in the table")


def note(stage: Stage) -> str:
    """What stands in the bottom border of the trace."""
    return str(stage.main.trace.border_subtitle)


async def test_a_query_is_completed_and_a_wrong_one_is_told_while_the_last_stays_in_force() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        table, line = stage.main.trace.table, stage.main.trace.query_line
        await stage.shows("2 Catalog")
        await stage.press("5")
        await stage.shows("list messages", "following")
        await stage.hides("2 Catalog")
        await stage.press("slash")
        await stage.shows("tab server:")
        await stage.type("met")
        await stage.shows("tab method: +the method of a message")
        await stage.press("tab")
        await stage.type("ols/l")
        await stage.shows("tab method:tools/list")
        await stage.press("tab")
        await stage.until(lambda: line.field.value == "method:tools/list ", "the whole word")
        await stage.until(lambda: table.row_count == 2, "two rows")
        await stage.type("kind:reqest")
        await stage.shows(r"✗ at 24: There is no kind `reqest`\.", "Did you mean `request`")
        await stage.press("enter")
        assert line.has_focus_within and table.row_count == 2, "a wrong query is not left by enter, and changes nothing"
        await stage.press(*["backspace"] * 3, "tab", "enter")
        await stage.until(lambda: table.has_focus and table.row_count == 1, "one row in the table")
        await stage.shows(r"method:tools/list kind:request", "1 of ")
        await stage.press("escape")
        await stage.until(lambda: table.row_count > 2, "all rows")
        await stage.press("slash")
        for wrong in ("xyzzy:1", "method:(("):
            await stage.type(wrong)
            await stage.shows("✗ at ")
            assert table.row_count > 2, "what stands before the mistake is in force, which is nothing"
            await stage.press("ctrl+u")
        await stage.press("escape", "escape")
        await stage.shows("2 Catalog")


async def test_an_exchange_opens_in_tabs_and_is_marked_and_commented() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        table, trace = stage.main.trace.table, stage.studio.trace
        await called(stage, "echo", text="hello")
        await stage.press("5", "enter")
        await stage.dialog(ExchangeDialog)
        await stage.shows("tools/call echo · raw · request", '"hello"', "Timeline +Request +Response")
        for key, words in (
            ("]", "did not go over HTTP"), ("]", r"Output \d"), ("]", "lint found nothing wrong"), ("]", "├─+ .*ms ┤"),
            ("[", "Findings"), ("[", "spawned|started|connected|process"),
        ):  # fmt: skip
            await stage.press(key)
            await stage.shows(words)
        await stage.press("m")
        await stage.shows("◆ tools/call echo")
        await stage.press("e")
        await stage.dialog(Comment)
        await stage.type("odd [b]")
        await stage.press("enter")
        await stage.shows(r"◇ odd \[b\]")
        await stage.press("escape")
        await home(stage)
        await stage.shows("◈ ")
        assert trace.comment_on(trace.total) == "odd [b]"
        await stage.press("home", "n")
        assert table.message is not None and table.message.number == trace.total
        await stage.press("n", "N")
        await stage.told("No message below has a mark or a comment.")
        await stage.told("No message above has a mark or a comment.")
        await stage.press("slash", *"marked", "enter")
        await stage.until(lambda: table.row_count == 1, "what is marked")
        await stage.press("escape", "m", "e", "ctrl+u", "enter")
        await stage.until(lambda: not trace.comment_on(trace.total), "no comment any more")
        await stage.hides("[◆◇◈]")
        # What the studio did not send is offered nothing that only a message of its own can be used for.
        assert table.go_to(next(one.number for one in trace if one.kind == "note"))
        await stage.press("r")
        await stage.told("The studio did not send this")
        await stage.press("enter")
        await stage.dialog(ExchangeDialog)
        await stage.shows("Message +Output \\d+ +Findings", "Close")
        assert not re.search("Re-send|Copy as|Compare|Timeline|HTTP", stage.text)
        await stage.press("ctrl+j")
        await home(stage)


async def test_messages_are_followed_copied_and_compared() -> None:
    async with on_stage(raw()) as stage:
        table = stage.main.trace.table
        await called(stage, "echo", text="hello")
        await called(stage, "echo", text="howdy")
        await stage.press("5", "up")
        await stage.shows("f follows")
        await stage.press("f")
        await stage.shows("following")
        await stage.press("y")
        await stage.until(lambda: stage.app.clipboard.startswith('{"jsonrpc"'), "copied")
        await stage.press("=")
        await stage.until(lambda: "= compares with tools/call echo" in note(stage), "the first one")
        await stage.press("up", "=")
        await stage.told("Both messages belong to one exchange")
        await stage.press("=", *["up"] * 2, "=")
        await stage.dialog(Compare)
        await stage.shows("2 differences|1 difference", "hello", "howdy")
        await stage.press("y", "escape")
        await home(stage)
        assert "compares" not in note(stage) and table.search is None


async def test_calls_go_back_to_their_form_and_other_messages_to_the_console() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        trace = stage.main.trace
        await called(stage, "echo", text="the first value")
        await stage.press("5")
        await at(stage, "tools/call", "echo")
        await stage.press("r")
        await stage.shows("3 raw › echo", "the first value")
        await stage.press("escape", "5", "c")
        await stage.dialog(CopyAs)
        await stage.press("escape")
        await home(stage)
        await trace.run_action("resend_now")
        await stage.dialog(Resend)
        await stage.press("escape")
        await home(stage)
        await stage.press("space")
        await at(stage, "tools/list")
        await stage.press("c")
        await stage.told("This message belongs to no call")
        await stage.press("enter")
        await stage.dialog(ExchangeDialog)
        await stage.shows("Re-send with edits")
        await stage.press("r")
        await stage.dialog(Console)
        await stage.shows("tools/list")


async def test_refreshes_of_lists_are_one_row_until_the_person_unfolds_them() -> None:
    async with on_stage(raw(), size=(140, 24)) as stage:
        table, trace = stage.main.trace.table, stage.studio.trace

        def lists() -> int:
            return sum(trace[place].method.endswith("/list") for place in range(len(trace)))

        await stage.press("5")
        await stage.shows(r"▸ +raw +8 list messages +tools, resources, .* ✓ ok", f"{len(trace)} · space unfolds lists")
        rows = table.row_count
        assert rows == len(trace) - 7
        await stage.press("2", "r")
        await stage.until(lambda: lists() == 16 and table.row_count == rows, "the refresh in the same row")
        await stage.press("5", "end", "enter")
        await stage.until(lambda: table.row_count == len(trace), "all rows")
        await stage.shows("tools/list", "prompts/list")
        await stage.hides("list messages|space unfolds")
        await stage.press("space")
        await stage.shows("16 list messages")
        await at(stage, "prompts/list")
        assert table.message is not None and table.message.method == "prompts/list", "it is unfolded to be gone to"
        await stage.press("slash", *"method:*/list", "enter")
        await stage.until(lambda: table.row_count == 16, "what a query finds is not folded")
        await stage.press("space")
        await stage.told("Nothing is folded while a query filters the trace.")


def sessions_here() -> list[Path]:
    return list((Paths.default().state / "trace").glob("*.trace"))


async def test_a_past_session_is_opened_searched_and_left_while_the_present_one_goes_on(tmp_path: Path) -> None:
    async with on_stage(raw(), origin="tui") as stage:
        await called(stage, "echo", text="of yesterday")
        earlier = stage.studio.trace
    (tmp_path / "no.mcptrace").write_bytes(b"\x1b[31mnothing")
    async with on_stage(raw(), origin="tui") as stage:
        pane = stage.main.trace
        await stage.until(lambda: len(sessions_here()) == 2, "both sessions")
        await stage.main.run_action("pane_trace")
        await pane.run_action("go_live")
        await stage.told("The trace already shows what is being recorded now.")
        await stage.press("o")
        dialog = await stage.dialog(Sessions)
        await stage.shows(r"Began +Lasted +Messages", "this one", "This studio is recording it now")
        await stage.press("d")
        await stage.told("cannot be deleted")
        field = dialog.query_one(Input)
        field.value = str(tmp_path / "no.mcptrace")
        field.focus()
        await stage.press("enter")
        await stage.until(lambda: stage.app.screen is dialog and "no.mcptrace" in stage.text, "why not")
        await stage.press("shift+tab", "down")
        await stage.shows("The studio that recorded it ended properly.")
        await stage.press("enter")
        await stage.shows("5 Session of .+, ended")
        await stage.until(lambda: note(stage).startswith(f"{earlier.total} ·"), "all of the past session")
        await at(stage, "tools/call", "echo", earlier)
        await stage.press("enter")
        await stage.shows("of yesterday")
        await stage.press("escape", "m")
        await stage.shows("◆")
        await called(stage, "echo", text="of today")
        assert pane.recording.total == earlier.total
        await stage.press("o", "down")
        await stage.shows("The trace shows it now.")
        await stage.press("escape", "escape")
        await stage.until(lambda: pane.recording is stage.studio.trace, "what is recorded now")
        await stage.shows("following")
        await stage.press("o", "down", "d")
        await stage.dialog(Confirm)
        await stage.press("d")
        await stage.until(lambda: len(sessions_here()) == 1, "one session")


async def test_wide_screens_show_the_exchange_under_the_cursor_and_nothing_hostile_does_harm() -> None:
    hostile = stdio(python_server("raw_faults", "--fault", "hostile"), "raw")
    async with on_stage(hostile, size=(170, 50)) as stage:
        table, beside = stage.main.trace.table, stage.main.trace.beside

        def same() -> bool:
            return (
                beside.entry is not None and table.message is not None and beside.entry.number == table.message.number
            )

        await stage.shows("Server +Method +Target", "tools/list")
        await called(stage, "echo", text="\x1b[31m[@click=app.quit]beside[/]\u202e")
        await stage.shows("tools/call echo · raw", "beside")
        await stage.press("5", *["up"] * 3)
        await stage.until(same, "the one under the cursor")
        await stage.press("slash", *"tool:echo", "enter")
        await stage.until(lambda: table.row_count == 2 and same(), "what is left")
        for key in ("]", "enter", "]", "]", "]", "escape", "i", "]", "escape"):
            await stage.press(key)
            assert not {"\x1b", "\u202e", "\u200b"} & set(stage.text)
        await home(stage)
        for kind in ("stderr", "http"):  # an entry without a tab for HTTP, and one whose tab that is
            beside.show(stage.studio.trace, stage.studio.trace.add("raw", "in", kind, b"POST", exchange=9))
        assert beside.tabs.active == "http"
        beside.clear()
        await stage.pilot.resize_terminal(100, 30)
        await stage.shows("5 Trace")
        await stage.hides("Timeline")


async def test_without_servers_the_trace_says_what_will_be_there() -> None:
    async with on_stage(size=(170, 50)) as stage:
        await stage.until(lambda: stage.app.screen is not stage.main, "the first start")
        await stage.press("escape")
        await stage.shows("Nothing has crossed the wire yet", "The exchange under the cursor appears here")
        await stage.press("5", "e")
        await stage.told("No message is selected")
        await stage.press("s")
        await stage.told("There is nothing to export")
