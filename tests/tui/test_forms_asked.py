"""Forms that servers ask for: every kind of field of the specification, and what the dialog says around them."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from mcp_studio.tui.screens.question import Question

from mcp_studio.config.model import AnswerRule, Settings
from mcp_studio.session.inbox import Answer, InputRequest
from tests.tui.stage import Stage, on_stage, raw

TITLED = [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]
KINDS: dict[str, tuple[dict[str, Any], list[str], Any]] = {
    "text": ({"type": "string", "minLength": 2, "maxLength": 3}, ["a", "b"], "ab"),
    "email": ({"type": "string", "format": "email"}, [*"a@b.example"], "a@b.example"),
    "uri": ({"type": "string", "format": "uri"}, [*"https://a.example"], "https://a.example"),
    "date": ({"type": "string", "format": "date"}, [*"2026-02-28"], "2026-02-28"),
    "moment": ({"type": "string", "format": "date-time"}, [*"2026-02-28T10:00:00Z"], "2026-02-28T10:00:00Z"),
    "number": ({"type": "number", "minimum": 1, "maximum": 2}, [*"1.5"], 1.5),
    "integer": ({"type": "integer", "minimum": 1}, ["7"], 7),
    "flag": ({"type": "boolean"}, ["space"], True),
    "enum": ({"type": "string", "enum": ["one", "two"]}, ["right", "right"], "two"),
    "legacy": ({"type": "string", "enum": ["a", "b"], "enumNames": ["Ah", "Bee"]}, ["right"], "a"),
    "titled": ({"type": "string", "oneOf": TITLED}, ["right", "right"], "g"),
    "many": ({"type": "array", "items": {"type": "string", "enum": ["x", "y"]}}, ["space", "space", "enter"], ["x"]),
    "titled many": ({"type": "array", "items": {"anyOf": TITLED}}, ["space", "down", "space", "enter"], ["g"]),
    "default": ({"type": "string", "default": "as given"}, [], "as given"),
    "a/b~c": ({"type": "string"}, ["z"], "z"),
}  # fmt: skip


async def asked(stage: Stage, properties: dict[str, Any], **more: Any) -> asyncio.Task[Answer]:
    """Ask for a form, and wait for its dialog."""
    schema = {"type": "object", "properties": properties, "required": more.pop("required", [])}
    request = InputRequest("elicitation", more.pop("server", "raw"), more.pop("message", "Please"), schema, **more)
    task = asyncio.create_task(stage.studio.inbox.ask(request))
    await stage.until(lambda: isinstance(stage.app.screen, Question), "question")
    return task


async def test_every_kind_of_field_can_be_filled_in() -> None:
    async with on_stage(raw()) as stage:
        for name, (schema, keys, value) in KINDS.items():
            task = await asked(stage, {name: schema}, required=[name], server=f"of {name}")
            if "default" not in schema:
                await stage.press("ctrl+j")
                await stage.shows(f"Not sent: {name} ")
            await stage.press(*keys, "ctrl+j")
            assert await task == Answer("accept", {name: value})
            await stage.until(lambda: stage.app.screen is stage.main, "main screen")


UNFIT = {"text": "abcd", "email": "nobody", "uri": "nowhere", "date": "2026-02-30", "moment": "now", "number": "3",
         "integer": "1.5"}  # fmt: skip


async def test_what_does_not_fit_is_not_sent() -> None:
    async with on_stage(raw()) as stage:
        for name, keys in UNFIT.items():
            task = await asked(stage, {name: KINDS[name][0]}, server=f"of {name}")
            await stage.press(*keys, "ctrl+j")
            await stage.shows(f"Not sent: {name} ")
            assert not task.done()
            await stage.press("alt+d")
            await task
            await stage.until(lambda: stage.app.screen is stage.main, "main screen")


async def test_secrets_are_flagged_masked_and_never_filled_in() -> None:
    async with on_stage(raw()) as stage:
        fields = {"who": {"type": "string", "default": "me"}, "api_key": {"type": "string", "default": "sk-1"}}
        task = await asked(stage, fields)
        await stage.shows("api_key looks like a secret")
        await stage.press("tab", *"hunter22")
        await stage.shows("••••")
        assert "hunter22" not in stage.screen_text() and "sk-1" not in stage.screen_text()
        await stage.press("ctrl+j")
        assert (await task).content == {"who": "me", "api_key": "hunter22"}


async def test_words_that_speak_of_secrets_are_flagged_too() -> None:
    async with on_stage(raw()) as stage:
        task = await asked(stage, {"field": {"type": "string"}}, message="Give me your password")
        await stage.shows("It speaks of something secret.")
        await stage.press("alt+d")
        await task


async def test_age_time_left_and_place_among_others_are_told_and_go_on() -> None:
    async with on_stage(raw()) as stage:
        first = await asked(stage, {"a": {"type": "string"}})
        second = asyncio.create_task(stage.studio.inbox.ask(InputRequest("elicitation", "raw", "Then", {})))
        await stage.shows("request 1 of 2 · asked")
        request = stage.studio.inbox.pending[0]
        request.asked, request.until = time.monotonic() - 200, time.monotonic() + 71.5
        await stage.shows("asked 3 min ago · 01:1")
        await stage.press("alt+d")
        await first
        await stage.shows("request 2 of 2", "Then")
        await stage.press("alt+d")
        await second


async def test_a_question_that_nobody_answers_in_time_says_so() -> None:
    async with on_stage(raw()) as stage:
        task = await asked(stage, {"a": {"type": "string"}})
        stage.studio.inbox._expire(stage.studio.inbox.pending[0])
        assert (await task).action == "cancel"
        await stage.until(lambda: any("was answered by nobody" in toast for toast in stage.toasts), "toast")
        await stage.until(lambda: stage.app.screen is stage.main, "main screen")


async def test_why_a_rule_did_not_answer_is_told() -> None:
    rules = (AnswerRule("accept", kind="elicitation", content={"name": 7}, source="rule 1 of answers.toml"),)

    async with on_stage(raw(), settings=Settings(answers=rules)) as stage:
        await stage.open("ask")
        await stage.press("ctrl+j")
        await stage.shows("rule 1 of answers.toml fits but was not used: name must be")
        await stage.press("alt+d")
