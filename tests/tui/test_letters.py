"""Letters: alt+ keys are none, and none answers a dialog that opened while somebody typed."""

from __future__ import annotations

import asyncio
import time
from typing import Literal

from mcp_studio.tui.screens.approval import Approval
from mcp_studio.tui.screens.question import Question
from textual._xterm_parser import XTermParser

from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui.screens.dialog import DEAF
from tests.tui.stage import Stage, on_stage, raw

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

SEQUENCES: tuple[tuple[str, Literal["decline", "cancel"]], ...] = (
    ("\x1bd", "decline"), ("\x1bc", "cancel"), ("\x1b[100;3u", "decline"),
)  # fmt: skip


async def typed(stage: Stage, sequence: str) -> None:
    """What a terminal sends, as the driver's parser reads it."""
    parser = XTermParser()
    for event in [*parser.feed(sequence), *parser.feed("")]:
        stage.app._driver.process_message(event)
    await stage.pilot.pause()


async def test_alt_keys_of_every_kind_of_terminal_answer_and_are_not_typed() -> None:
    async with on_stage(raw()) as stage:
        for sequence, action in SEQUENCES:
            request = InputRequest("elicitation", "raw", "Who?", FORM)
            asking = asyncio.create_task(stage.studio.inbox.ask(request))
            await stage.until(lambda: isinstance(stage.app.screen, Question), "question")
            await stage.press("A")
            await typed(stage, sequence)
            assert await asking == Answer(action)
            assert request.draft == {"name": "A"}


async def test_a_letter_alone_declines_no_question() -> None:
    async with on_stage(raw()) as stage:
        form = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
        request = InputRequest("elicitation", "raw", "Sure?", form)
        asking = asyncio.create_task(stage.studio.inbox.ask(request))
        await stage.until(lambda: isinstance(stage.app.screen, Question), "question")
        await stage.press("d", "c")
        assert isinstance(stage.app.screen, Question) and not asking.done()
        await stage.press("alt+d")
        assert await asking == Answer("decline")


async def test_a_question_of_the_running_call_waits_for_the_end_of_a_word() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("wait")
        await stage.press("ctrl+j", "1")
        request = InputRequest("elicitation", "raw", "Who?", FORM, subject="raw.wait")
        asking = asyncio.create_task(stage.studio.inbox.ask(request))
        await stage.until(lambda: stage.toasts, "toast")
        assert stage.app.screen is stage.main
        asking.cancel()


async def test_a_letter_that_was_on_its_way_approves_nothing() -> None:
    async with on_stage(raw()) as stage:
        stage.main.set_focus(stage.main.catalog.list)
        await stage.press("j")
        request = InputRequest("approval", "raw", "", subject="raw.fail", reasons=("destructive",), arguments={})
        asking = asyncio.create_task(stage.studio.inbox.ask(request))
        await stage.until(lambda: getattr(stage.app.screen, "_deaf_until", 0), "approval")
        dialog = stage.app.screen
        assert isinstance(dialog, Approval) and 0 < dialog._deaf_until < time.monotonic() + DEAF
        dialog._deaf_until += 60  # a slow machine is no reason to hear
        await stage.press("y", "n")
        assert isinstance(stage.app.screen, Approval) and not asking.done()
        dialog._deaf_until -= 60 + DEAF
        await stage.press("y")
        assert await asking == Answer("accept")
