"""What a person sees when a server has died, and of lines that are no protocol."""

from __future__ import annotations

from typing import Any

from mcp_studio.tui.panels.mortem_card import MortemCard
from mcp_studio.tui.screens.mortem_dialog import MortemDialog

from mcp_studio.call.call import Lost
from mcp_studio.catalog.listing import Ref
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
