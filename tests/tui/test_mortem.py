"""What a person sees when a server has died, and of lines that are no protocol."""

from __future__ import annotations

from typing import Any

from mcp_studio.call.call import Lost
from mcp_studio.catalog.listing import Ref
from mcp_studio.tui.panels.mortem_card import MortemCard
from mcp_studio.tui.screens.mortem_dialog import MortemDialog
from mcp_studio.tui.screens.stray_dialog import StrayDialog
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import on_stage


def faulty(fault: str, *more: str, **entry: Any) -> Any:
    """A server with one fault."""
    return stdio(python_server("raw_faults", "--fault", fault, *more), "s", **entry)


async def test_a_lost_call_shows_how_its_server_ended_and_is_sent_again_with_its_value() -> None:
    async with on_stage(faulty("exits-mid-call"), size=(120, 60)) as stage:
        await stage.open("echo")
        stage.main.calling.opened.value = {"text": "the first value"}
        focused = stage.app.focused
        assert isinstance(await stage.ran(), Lost)
        await stage.shows("ended with exit code 7", "panic: out of cheese", "tools/call echo", "request 7")
        assert stage.app.focused is focused and not stage.toasts
        first = stage.main.calling.call
        stage.main.calling.opened.value = {"text": "something else"}
        stage.main.go_to(stage.main.result)
        await stage.press("r")
        await stage.until(lambda: stage.main.calling.call is not first, "the call is sent again")
        assert stage.main.calling.call.params["arguments"] == {"text": "the first value"}
        await stage.until(lambda: stage.main.calling.call.outcome, "its outcome")
        await stage.until(lambda: len(stage.studio.manager.supervisor("s").mortems) == 2)
        assert stage.main.query(MortemCard)


async def test_a_server_that_dies_elsewhere_is_told_once_and_its_card_opens_from_its_row() -> None:
    async with on_stage(faulty("killed-mid-call"), size=(80, 24)) as stage:
        supervisor = stage.studio.manager.supervisor("s")
        await stage.studio.call_tool(Ref("tool", "s", "echo"), {"text": "a"}, approved=True).wait()
        await stage.until(lambda: supervisor.mortems and supervisor.connection is not None, "it is started again")
        await stage.until(lambda: stage.toasts, "a toast")
        assert len(stage.toasts) == 1 and "SIGKILL" in stage.toasts[0]
        await stage.shows("(m)")
        stage.main.go_to(stage.main.servers)
        await stage.press("m")
        await stage.until(lambda: isinstance(stage.app.screen, MortemDialog))
        await stage.shows("was ended by SIGKILL", "it is connected again", "In flight")
        await stage.press("a")
        assert isinstance(stage.app.screen, MortemDialog), "it was no call of this screen"
        await stage.press("t")
        await stage.until(lambda: stage.main.trace.table.message is not None)
        assert stage.main.trace.table.message.number == supervisor.mortems[-1].last
        assert "(m)" not in stage.screen_text()


async def test_stray_lines_are_counted_on_the_row_and_explained_one_by_one() -> None:
    async with on_stage(faulty("stray"), size=(120, 36)) as stage:
        await stage.shows("≠")
        stage.main.go_to(stage.main.servers)
        await stage.press("s")
        await stage.until(lambda: isinstance(stage.app.screen, StrayDialog))
        await stage.shows("besides the protocol", "before", "In Python the usual cause is")
        number = stage.app.screen._list.row.entry.number
        await stage.press("enter")
        await stage.until(lambda: not isinstance(stage.app.screen, StrayDialog))
        assert stage.main.trace.table.message.number == number


async def test_a_server_that_never_ended_says_so() -> None:
    async with on_stage(stdio(python_server("raw_server"), "s")) as stage:
        stage.main.go_to(stage.main.servers)
        await stage.press("m")
        await stage.until(lambda: stage.toasts)
        assert "has not ended" in stage.toasts[0]


async def test_the_trace_tells_of_endings_and_stray_lines_without_their_server() -> None:
    async with on_stage(faulty("dies-at-start"), raw_strays()) as stage:
        panel = stage.main.trace
        stage.main.go_to(panel)
        await stage.press("x")
        await stage.until(lambda: isinstance(stage.app.screen, MortemDialog))
        await stage.shows("How s ended", "fatal: no licence file")
        await stage.press("r")
        await stage.until(lambda: any("own pane" in toast for toast in stage.toasts))
        await stage.press("enter")
        await stage.until(lambda: panel.table.message and panel.table.message.kind == "note")
        assert b"ended with exit code 3" in panel.table.message.body
        number = next(one.number for one in stage.studio.trace if one.server == "t")
        assert panel.table.go_to_number(number)
        await stage.press("X")
        await stage.until(lambda: isinstance(stage.app.screen, StrayDialog))
        await stage.shows("In Python the usual cause is")


def raw_strays() -> Any:
    """A server that prints."""
    return stdio(python_server("raw_faults", "--fault", "stray"), "t")
