"""How a server ended, and what it printed besides the protocol."""

from __future__ import annotations

from mcp_studio.trace.postmortem import endings
from mcp_studio.tui.screens.exit_report import ExitReport
from mcp_studio.tui.screens.unexpected_output import UnexpectedOutput
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.trace_stage import on_stage


async def test_a_server_that_died_has_an_exit_report_that_leads_to_the_trace() -> None:
    server = stdio(python_server("raw_faults", "--fault", "exits-mid-call"), "s")
    async with on_stage(server, size=(120, 50)) as stage:
        await stage.call("echo", server="s", text="a")
        supervisor = stage.studio.manager.supervisor("s")
        await stage.until(lambda: supervisor.mortems, "its end")
        stage.app.push_screen(ExitReport("s"), lambda number: stage.pane.show_message(number or 0))
        await stage.shows("s ended with exit code 7", "panic: out of cheese", "tools/call echo", "Last messages")
        await stage.press("ctrl+j")
        await stage.until(lambda: len(stage.app.screen_stack) == 1, "the trace")
        assert stage.pane.table.message is not None
        assert stage.pane.table.message.number == supervisor.mortems[-1].last
        assert endings(stage.studio.trace)
        stage.pane.action_exit_report()
        await stage.shows("s ended with exit code 7")


async def test_unexpected_output_is_explained_and_stands_between_the_messages_around_it() -> None:
    server = stdio(python_server("raw_faults", "--fault", "stray"), "s")
    async with on_stage(server) as stage:
        stage.app.push_screen(UnexpectedOutput("s"), lambda number: stage.pane.show_message(number or 0))
        await stage.shows("Unexpected output: s", "print()", "after:", "before:")
        await stage.press("ctrl+j")
        await stage.until(lambda: len(stage.app.screen_stack) == 1, "the trace")
        message = stage.pane.table.message
        assert message is not None and message.kind in ("stray", "invalid")
