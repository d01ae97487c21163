"""Messages of the trace are sent again: one as it was, one edited, or many to another server, with what differs."""

from __future__ import annotations

from typing import Any

from mcp_studio.tui.screens.approval import Approval
from mcp_studio.tui.screens.replay import ReplayDialog
from mcp_studio.tui.screens.replay_choice import ReplayChoice
from mcp_studio.tui.screens.row_diff import RowDiff

from mcp_studio.catalog.listing import Ref
from tests.tui.stage import Stage, on_stage, raw


async def called(stage: Stage, tool: str, /, **arguments: Any) -> int:
    """Call a tool, and go to its answer in the trace; the number of that."""
    await stage.studio.call_tool(Ref("tool", "raw", tool), arguments, approved=True).wait()
    trace, number = stage.studio.trace, stage.studio.trace.total
    assert (entry := trace.entry(number)) is not None and entry.target == tool
    stage.main.go_to(stage.main.trace)
    await stage.until(lambda: stage.main.trace.table.go_to_number(number), "the row")
    return number


async def test_one_request_is_sent_as_it_was_and_its_answers_are_compared() -> None:
    async with on_stage(raw(), size=(110, 30)) as stage:
        number = await called(stage, "add", a=1, b=2)
        entry = stage.studio.trace.entry(number)
        assert entry is not None
        entry.body = entry.body.replace(b'"3"', b'"4"')
        await stage.press("R")
        await stage.shows("Sent once more · 1 · 1 differs", "tools/call add", '~ content[0].text: "4" → "3"')
        await stage.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, RowDiff))
        await stage.shows("then: tools/call add", '"text": "3"')
        await stage.press("escape", "y", "escape")
        await stage.until(lambda: stage.app.screen is stage.main)
        assert stage.app.clipboard.startswith("differs  tools/call add  ~ content[0].text")


async def test_a_call_is_edited_in_its_form_without_what_is_secret() -> None:
    async with on_stage(raw(), size=(110, 30)) as stage:
        await called(stage, "echo", text="hello", password="hunter2-hunter2")
        await stage.press("enter")
        await stage.until(lambda: stage.app.screen is not stage.main)
        await stage.press("r")
        await stage.until(lambda: stage.app.screen is stage.main and stage.main.calling.opened is not None)
        await stage.until(lambda: stage.main.calling.opened.value == {"text": "hello"}, "the value")
        assert any("Not in the recording, being secret: password" in toast for toast in stage.toasts)
        await stage.until(lambda: stage.main.trace.table.row_count > 0)
        stage.main.go_to(stage.main.trace)
        await stage.press("R")
        await stage.shows("arguments.password is not in the recording")


async def test_many_are_sent_to_another_server_and_asked_about_or_approved() -> None:
    async with on_stage(raw(), raw("other", "--modern"), size=(120, 36)) as stage:
        await called(stage, "add", a=1, b=2)
        await called(stage, "echo", text="x")
        await stage.press("slash", *"tool:add", "enter")
        await stage.until(lambda: stage.main.trace.table.numbers is not None, "a filter")
        await stage.press("P")
        await stage.until(lambda: isinstance(stage.app.screen, ReplayChoice))
        await stage.shows("what the filter shows", "1 request.", "as recorded", "other")
        await stage.press("tab", "down", "down", "enter")
        await stage.until(lambda: isinstance(stage.app.screen, Approval), "the question")
        await stage.press("y")
        await stage.shows("Sent once more · 1 · 1 same", "The answer is the same")
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main)
        sent = [entry for entry in stage.studio.trace if entry.server == "other" and entry.method == "tools/call"]
        assert [entry.target for entry in sent] == ["add", "add"]
        await stage.press("P", "up", "down", "tab", "tab", "down")
        await stage.shows("approve all calls")
        await stage.press("ctrl+j")
        await stage.until(lambda: isinstance(stage.app.screen, ReplayDialog))
        await stage.shows("1 same")
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main)
        await stage.press("P")
        await stage.until(lambda: isinstance(choice := stage.app.screen, ReplayChoice) and choice.how.row_count)
        assert isinstance(choice := stage.app.screen, ReplayChoice)
        assert choice.how.row is not None and not choice.how.row.approved, "each time anew"
