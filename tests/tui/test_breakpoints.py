"""Breakpoints: messages of the studio's own connections, and of a tap, that wait for a person."""

from __future__ import annotations

import asyncio
import json

from textual.widgets import Button, Input

from mcp_studio.call.call import Lost, Succeeded
from mcp_studio.tui.screens.breakpoints import Breakpoints
from mcp_studio.tui.screens.sessions import Sessions
from tests.studio_support import text
from tests.support import wait_until
from tests.tap.kit import answer, request, tapped
from tests.tap.test_gate import gate
from tests.tui.stage import Stage, on_stage, raw, ref


async def opened(stage: Stage, query: str) -> Breakpoints:
    """The dialog, with this breakpoint set."""
    await stage.press("5")
    await stage.main.trace.run_action("breakpoints")
    dialog = await stage.dialog(Breakpoints)
    dialog.query_one("#query", Input).value = query
    dialog.query_one("#query", Input).focus()
    await stage.press("enter")
    return dialog


def echo(stage: Stage, words: str) -> asyncio.Task[object]:
    call = stage.studio.call_tool(ref("echo"), {"text": words}, approved=True)
    return asyncio.create_task(call.wait())


async def test_a_call_is_held_edited_and_released_and_its_answer_too() -> None:
    async with on_stage(raw()) as stage:
        dialog = await opened(stage, "tool:echo")
        await stage.shows("held from now on", "No message is held")
        call = echo(stage, "before")
        await stage.shows(r"\d+ s  . raw request tools/call echo", '"text": "before"')
        dialog.editor.text = dialog.editor.text.replace("before", "after")
        await stage.press("r")
        await stage.shows("raw result tools/call echo", "after")
        dialog.editor.text = dialog.editor.text.replace("after", "in the end")
        await stage.press("r")
        outcome = await call
        assert isinstance(outcome, Succeeded) and text(outcome) == "in the end"
        await stage.shows("No message is held")
        notes = [one.body.decode() for one in stage.studio.trace if one.kind == "note"]
        assert sum("echo is held" in note for note in notes) == 2
        sent = [one.body for one in stage.studio.trace if one.method == "tools/call" and one.kind == "request"]
        assert len(sent) == 1 and b"after" in sent[0], "the trace has what the server got"


async def test_a_call_is_answered_in_the_place_of_the_server_or_cut_and_wrong_words_are_told() -> None:
    async with on_stage(raw()) as stage:
        dialog = await opened(stage, "kind:reqest")
        await stage.shows("There is no kind `reqest`")
        await stage.shows(r"  Hold +Close")  # and nothing that a held message needs
        dialog.query_one("#query", Input).value = "tool:echo dir:out"
        await stage.press("ctrl+j")  # sets the query that was typed, before it releases anything
        await stage.shows("held from now on")
        call = echo(stage, "x")
        await stage.shows("raw request tools/call echo")
        await stage.press("ctrl+j")
        assert isinstance(await call, Succeeded)
        call = echo(stage, "y")
        await stage.shows('"text": "y"')
        await stage.press("a")
        await stage.shows("Write the answer", '"result": {}')
        dialog.editor.text = dialog.editor.text.replace("{}", '{"content": [{"type": "text", "text": "by hand"}]}')
        await stage.press("a")
        outcome = await call
        assert isinstance(outcome, Succeeded) and text(outcome) == "by hand"
        call = echo(stage, "z")
        await stage.shows('"text": "z"')
        dialog.query_one("#after", Input).value = "-1"
        await stage.press("r")
        await stage.shows("0 to 3,600 seconds")
        dialog.query_one("#after", Input).value = ""
        dialog.action_cut()
        assert isinstance(await call, Lost)
        assert any(b"cut at a breakpoint" in one.body for one in stage.studio.trace if one.kind == "note")


async def test_what_is_held_is_told_where_nobody_looks_and_goes_on_without_a_breakpoint() -> None:
    async with on_stage(raw()) as stage:
        dialog = await opened(stage, "tool:echo dir:out")
        await stage.shows("passes when its time is up")
        await stage.press("escape")
        await stage.shows("breakpoint set")
        call = echo(stage, "x")
        await stage.told("A breakpoint holds a call: Release… in the result (4) lets it go on.")
        await stage.shows("1 held")
        await stage.open("echo")
        stage.main.call.fill({"text": "y"})
        await stage.press("ctrl+j")
        await stage.shows("held at a breakpoint", "Release…")
        stage.main.result.query_one("#held", Button).press()
        await stage.dialog(Breakpoints)
        await stage.press("escape")
        dialog = await opened(stage, "")
        assert isinstance(await call, Succeeded)
        await stage.until(lambda: dialog.rows.row_count == 0, "nothing is held")
        await stage.press("escape")
        await stage.hides("breakpoint set")


async def test_messages_of_a_tap_in_another_process_are_held_and_answered() -> None:
    async with on_stage(raw()) as stage:
        with tapped("--name", "echo", server=["cat"]) as client:
            client.say(request(1, "ping"))
            client.hear()
            await stage.press("5", "o")
            await stage.dialog(Sessions)
            await stage.shows("running .* echo")
            await stage.press("enter")
            await stage.shows("Session of .* running")
            dialog = await opened(stage, "tool:pay")
            where = await gate()
            await wait_until(lambda: where.breakpoints == ("tool:pay",))
            client.say(request(2, "tools/call", name="pay", arguments={"token": "0123456789abcdef"}))
            await stage.shows("echo request tools/call pay", "‹redacted›")
            await stage.press("a")
            dialog.editor.text = json.dumps(answer(2, {"content": []}))
            await stage.press("a")
            assert await asyncio.to_thread(client.hear) == answer(2, {"content": []})
            client.leave()
