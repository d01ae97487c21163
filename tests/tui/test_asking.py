"""What servers ask: opened without interrupting, answered by accept, decline, cancel, or later."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_studio.tui.screens.approval import Approval
from mcp_studio.tui.screens.question import Question

from mcp_studio.call.call import Denied, Succeeded
from mcp_studio.session.inbox import InputRequest
from tests.tui.stage import Stage, on_stage, raw

FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "password": {"type": "string"}},
    "required": ["name"],
}


async def asked(stage: Stage) -> InputRequest:
    """Run the tool that asks, and wait for its dialog."""
    await stage.open("ask")
    await stage.press("ctrl+j")
    await stage.until(lambda: isinstance(stage.app.screen, Question), "question")
    return stage.studio.inbox.pending[0]


async def outcome(stage: Stage) -> Any:
    await stage.until(lambda: stage.main.calling.call.outcome, "an outcome")
    return stage.main.calling.call.outcome


async def test_an_answer_is_checked_and_sent() -> None:
    async with on_stage(raw()) as stage:
        await asked(stage)
        await stage.shows("raw asks · raw.ask is waiting", "1 waiting")
        await stage.press("ctrl+j")
        await stage.shows("Not sent:")
        await stage.press(*"Ada", "ctrl+j")
        assert isinstance(await outcome(stage), Succeeded)
        await stage.shows("Ada")
        assert stage.studio.inbox.pending == ()


async def test_esc_after_later_never_cancels_the_call_that_waits() -> None:
    async with on_stage(raw()) as stage:
        request = await asked(stage)
        await stage.press("escape")
        await stage.shows("It waits for your answer: F4 opens the question.")
        for pane in ("f2", "f5"):
            await stage.press(pane, "escape", "escape", "escape")
        assert stage.main.calling.call.outcome is None and not request.reply.done()
        await stage.press("f4")
        await stage.until(lambda: isinstance(stage.app.screen, Question), "the question again")
        await stage.press(*"Ada", "ctrl+j")
        assert isinstance(await outcome(stage), Succeeded)


async def test_decline_and_cancel_are_answers_of_their_own() -> None:
    async with on_stage(raw()) as stage:
        for key, action in (("alt+d", "decline"), ("alt+c", "cancel")):
            request = await asked(stage)
            await stage.press(key)
            assert (await request.reply).action == action
            await outcome(stage)


async def test_a_question_that_is_withdrawn_closes_its_dialog() -> None:
    async with on_stage(raw()) as stage:
        await asked(stage)
        stage.main.calling.call.cancel()
        await stage.until(lambda: stage.app.screen is stage.main, "main screen")
        assert stage.studio.inbox.pending == ()


async def test_questions_come_one_after_another() -> None:
    async with on_stage(raw()) as stage:
        requests = [InputRequest("elicitation", "raw", f"Question {number}", FORM) for number in (1, 2)]
        tasks = [asyncio.create_task(stage.studio.inbox.ask(request)) for request in requests]
        await stage.shows("Question 1")
        await stage.press("alt+d")
        await stage.shows("Question 2")
        await stage.press("alt+c")
        assert [answer.action for answer in await asyncio.gather(*tasks)] == ["decline", "cancel"]


async def test_a_destructive_tool_is_run_only_after_yes() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("fail")
        await stage.press("ctrl+j")
        await stage.until(lambda: isinstance(stage.app.screen, Approval), "approval")
        await stage.shows("Run raw.fail?", "! destructive", "This would be sent:")
        await stage.press("n")
        assert isinstance(await outcome(stage), Denied)
        await stage.shows("not sent")
        await stage.press("ctrl+j")
        await stage.until(lambda: isinstance(stage.app.screen, Approval), "approval")
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main, "main screen")
        await stage.shows("It waits for your answer")
        await stage.press("f4")
        await stage.until(lambda: isinstance(stage.app.screen, Approval), "approval")
        await stage.press("y")
        assert type(await outcome(stage)).__name__ == "ToolFailed"
