"""What servers request of a person: opened without interrupting, answered by accept, decline, cancel, or later."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

from textual.events import Key
from textual.widgets import Button

from mcp_studio.call.call import Cancelled, Denied, Succeeded, ToolFailed
from mcp_studio.paths import Paths
from mcp_studio.present.outcomes import outcome_short
from mcp_studio.present.units import duration, size
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui.screens.approval import Approval
from mcp_studio.tui.screens.elicitation import Elicitation
from mcp_studio.tui.screens.load_test import LoadTest
from tests.tui.stage import Stage, on_stage, raw

FORM: dict[str, Any] = {
    "type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"],
}  # fmt: skip


def ask(stage: Stage, message: str = "Who?", **more: Any) -> asyncio.Task[Answer]:
    """A request for a form."""
    request = InputRequest("elicitation", more.pop("server", "raw"), message, FORM, **more)
    return asyncio.create_task(stage.studio.inbox.ask(request))


async def outcome(stage: Stage) -> Any:
    await stage.until(lambda: stage.main.call.call and stage.main.call.call.outcome, "an outcome")
    assert stage.main.call.call is not None
    return stage.main.call.call.outcome


async def home(stage: Stage) -> None:
    await stage.until(lambda: stage.app.screen is stage.main, "the main screen")


async def test_a_form_is_answered_and_put_off_without_losing_what_was_typed() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        await stage.open("ask")
        await stage.press("ctrl+j")
        await stage.dialog(Elicitation)
        await stage.shows("raw requests input · ask is waiting", "Accept .*Decline .*Cancel .*Later")
        await stage.shows(r"\^j Accept", "esc Later")
        await stage.press("ctrl+j")
        await stage.shows("Not sent: name")
        await stage.type("Ad")
        await stage.press("escape", "enter")  # the call is not cancelled: its button opens the request
        await stage.dialog(Elicitation)
        await stage.press("escape")
        await stage.told("The request stays pending; ! opens it again.")
        for pane in ("2", "4"):  # neither here does esc answer or cancel
            await stage.press(pane, "escape", "escape")
        await stage.shows("1 pending")
        await stage.press("4", "!")
        await stage.dialog(Elicitation)
        await stage.shows("Ad")
        await stage.press("end", "a", "ctrl+j")
        done = await outcome(stage)
        assert isinstance(done, Succeeded) and 0 < done.asked_ms <= done.ms
        assert outcome_short(done)[1].endswith(f"{duration(done.asked_ms)} waiting for you · {size(done.size)}")
        await stage.shows("Ada")
        for key, action in (("d", "decline"), ("c", "cancel")):
            await stage.press("3", "ctrl+j")
            dialog = await stage.dialog(Elicitation)
            dialog.query_one("#back").focus()
            await stage.press(key)
            assert (await dialog.request.reply).action == action
            await outcome(stage)
        await stage.press("3", "ctrl+j")
        await stage.dialog(Elicitation)
        (call,) = stage.studio.caller.running
        call.cancel()
        await stage.shows("The request of raw was withdrawn. There is nothing to answer any", " Close ")
        assert not any("withdrawn" in toast for toast in stage.toasts), "no message covers the dialog"
        await stage.press("q")  # typed into the field, and not a key of the main screen
        await stage.hides("Accept")
        await stage.press("escape")
        await home(stage)
        await stage.press("3", "ctrl+j")
        await stage.dialog(Elicitation)
        os.kill(stage.studio.manager.status("raw").pid, signal.SIGKILL)
        await stage.shows("There is nothing to answer any")
        before = len(stage.toasts)
        await stage.press("escape")
        await home(stage)
        assert not any("stays pending" in toast for toast in stage.toasts[before:]), "nothing is pending any more"


async def test_a_dialog_comes_by_itself_only_where_a_call_waits_and_nobody_types() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        first = ask(stage, "Nobody waits")
        await stage.told("raw requests input: Nobody waits ! opens it.")
        assert stage.app.screen is stage.main
        first.cancel()
        await stage.open("wait")  # the focus is in a field
        await stage.type("6")
        before = stage.main.call.call
        await stage.press("ctrl+j")
        await stage.until(lambda: stage.main.call.call is not before, "a call")
        await stage.until(lambda: stage.main.focused_pane is stage.main.result, "what runs has the focus")
        stage.main.call.form.begin()
        later = asyncio.get_running_loop().call_later
        keys = [later(number / 20, stage.app.post_message, Key("0", "0")) for number in range(100)]
        second = ask(stage, "While typing", subject="raw.wait")
        await stage.told("raw requests input: While typing ! opens it.")
        for key in keys:
            key.cancel()
        assert stage.app.screen is stage.main
        second.cancel()
        third = ask(stage, "After a pause", subject="raw.wait")
        dialog = await stage.dialog(Elicitation)
        await stage.shows("After a pause")
        dialog.deaf_until += 60  # it came by itself: what is on its way answers nothing
        dialog.query_one("#back").focus()
        await stage.press("d", "c", "enter", "ctrl+j")
        assert stage.app.screen is dialog and not third.done()
        dialog.deaf_until -= 60
        await stage.press("d")
        assert await third == Answer("decline")
        requests = [ask(stage, f"Number {n}", subject="raw.wait") for n in (1, 2)]
        await stage.shows("Number 1", "1 of 2 pending requests")
        await stage.dialog(Elicitation)
        stage.app.screen.query_one("#decline", Button).press()
        await stage.shows("Number 2")
        await stage.hides("pending requests")
        await stage.dialog(Elicitation)
        stage.app.screen.query_one("#cancel", Button).press()
        assert [answer.action for answer in await asyncio.gather(*requests)] == ["decline", "cancel"]


async def test_what_is_pending_is_counted_once_and_a_cancelled_call_takes_its_message_along() -> None:
    async with on_stage(raw(), size=(120, 36)) as stage:
        other = ask(stage, server="elsewhere")
        await stage.open("fail")
        await stage.press("ctrl+j")
        await stage.dialog(Approval)
        await stage.shows("1 of 2 pending requests", "⚑ 2 pending")
        await stage.press("escape")
        await home(stage)
        await stage.shows("The request stays pending")
        await stage.press("4", "x")
        assert isinstance(await outcome(stage), Cancelled | Denied)
        await stage.hides("The request stays pending")
        other.cancel()


async def test_a_destructive_call_runs_only_after_approval_and_a_rule_can_allow_it() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        await stage.open("fail")
        await stage.press("ctrl+j")
        await stage.dialog(Approval)
        await stage.shows(
            "Run raw.fail\\?",
            "▲ It is marked destructive",
            "Arguments",
            "Run once .*Always allow.*Deny .*Edit .*Later",
        )
        await stage.press("ctrl+j")  # the same key again denies it
        assert isinstance(await outcome(stage), Denied)
        await stage.press("2", *"/fail", "enter", "ctrl+j")
        await stage.dialog(Approval)
        await stage.press("escape")
        await home(stage)
        await stage.shows("1 pending", "waiting for your answer")
        await stage.press("4", "!")
        await stage.dialog(Approval)
        await stage.press("e")
        assert isinstance(await outcome(stage), Denied)
        await home(stage)
        await stage.shows("It was not run: you edit it first.")
        assert stage.main.focused_pane is stage.main.call and stage.main.catalog.filter.value == "fail"
        await stage.press("ctrl+j")
        await stage.dialog(Approval)
        await stage.press("r")
        assert isinstance(await outcome(stage), ToolFailed)
        stage.main.call.action_load_test()
        await stage.dialog(LoadTest)
        await stage.press("enter")
        dialog = await stage.dialog(Approval)  # over the load test, which waits for it
        assert not dialog.query_one("#allow").display
        await stage.press("shift+tab", "shift+tab", *"not now")
        await stage.press("tab", "tab", "enter")
        await stage.dialog(LoadTest)
        await stage.shows("Not started: denied by you: not now")
        await stage.press("escape", "3", "ctrl+j")
        await stage.dialog(Approval)
        await stage.press("a")
        await stage.shows("Always allow", "This tool, always: raw.fail", "Every tool of the server: raw\\.\\*")
        await stage.press("enter")  # the cursor is on these arguments
        await home(stage)
        assert 'tools = "raw.fail"\nverdict = "allow"\nexactly' in Paths.default().config_file.read_text()
        assert isinstance(await stage.call(), ToolFailed)
