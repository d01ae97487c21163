"""Sampling by hand: the request is readable, the reply is edited in fields or as JSON, and checked before it goes."""

from __future__ import annotations

import json
from typing import Any

from mcp_studio.tui.screens.sampling import Sampling

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import ServerConfig
from mcp_studio.tui import sampling_reply
from tests.studio_support import stdio, text
from tests.support import python_server
from tests.tui.stage import Stage, on_stage

TOOLS = [{"name": "add", "description": "Adds.", "inputSchema": {"type": "object", "properties": {"a": {}, "b": {}}}}]


def asks(*args: str) -> ServerConfig:
    return stdio(python_server("raw_asks", *args), "s", era="legacy")


async def sampled(stage: Stage, **more: Any) -> Any:
    """Have the server ask, and wait for the dialog."""
    call = stage.studio.call_tool(Ref("tool", "s", "sample"), {"more": more}, approved=True)
    await stage.until(lambda: isinstance(stage.app.screen, Sampling), "sampling")
    await stage.until(lambda: stage.app.focused is not None and stage.app.screen.query(".blocks *"), "focus")
    return call


async def answer_of(call: Any) -> Any:
    return json.loads(text(await call.wait()))


async def test_a_text_is_sent_with_role_model_and_stop_reason() -> None:
    async with on_stage(asks(), size=(80, 24)) as stage:
        call = await sampled(stage)
        await stage.shows("What is 2 + 2?", "Be short.", "assistant", "mcp-studio", "endTurn")
        await stage.press("ctrl+j")
        await stage.shows("Not sent: The reply says nothing yet.")
        await stage.press(*"4", "enter", *"yes", "ctrl+j")
        assert (await answer_of(call))["result"] == {
            "role": "assistant", "model": "mcp-studio", "stopReason": "endTurn",
            "content": {"type": "text", "text": "4\nyes"},
        }  # fmt: skip


async def test_decline_is_the_refusal_of_the_specification() -> None:
    async with on_stage(asks()) as stage:
        for key in ("alt+d", "alt+c"):
            call = await sampled(stage)
            await stage.press(key)
            assert (await answer_of(call))["error"] == {"code": -1, "message": "User rejected sampling request"}


async def test_a_tool_is_used_and_text_added() -> None:
    async with on_stage(asks(), size=(80, 24)) as stage:
        call = await sampled(stage, tools=TOOLS)
        await stage.press("alt+u")
        await stage.shows("uses a tool", "toolUse")
        await stage.press("tab", "tab", "1", "tab", "2", "alt+n")
        await stage.until(lambda: len(stage.app.screen.query("BlockEditor")) == 2, "two blocks")
        await stage.press(*"adding", "ctrl+j")
        assert (await answer_of(call))["result"] == {
            "role": "assistant", "model": "mcp-studio", "stopReason": "toolUse",
            "content": [
                {"type": "tool_use", "name": "add", "input": {"a": 1, "b": 2}, "id": "call_1"},
                {"type": "text", "text": "adding"},
            ],
        }  # fmt: skip


async def test_anything_else_is_edited_as_json_and_survives_being_put_off() -> None:
    async with on_stage(asks()) as stage:
        call = await sampled(stage)
        await stage.press("alt+j")
        await stage.shows("Your reply as JSON")
        request = stage.studio.inbox.pending[0]
        await stage.press("x", "escape")
        await stage.until(lambda: stage.app.screen is stage.main, "main screen")
        assert request.draft["text"].startswith("x{")
        await stage.press("f4")
        await stage.until(lambda: isinstance(stage.app.screen, Sampling), "sampling")
        await stage.shows("Your reply as JSON", "x{")
        await stage.press("ctrl+j")
        await stage.shows("Not sent:")
        image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
        wanted = {"role": "assistant", "model": "m", "content": image, "_meta": {"a": 1}}
        area = stage.app.screen.query_one("JsonEditor AreaEditor")
        area.load_text(json.dumps(wanted))
        await stage.until(lambda: request.draft["reply"] == wanted, "what was typed")
        await stage.press("alt+j")
        await stage.shows("only JSON can show")
        await stage.press("ctrl+j")
        assert (await answer_of(call))["result"] == wanted


def test_what_keeps_a_reply_from_being_sent() -> None:
    good = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "x"}}
    use = {"type": "tool_use", "id": "1", "name": "add", "input": {}}
    tools = {"add": {}}
    assert sampling_reply.problem_of(good, {}) == ""
    assert sampling_reply.problem_of({**good, "content": use}, tools) == ""
    for change, tool, words in (
        ({"role": "system"}, {}, "role must be"),
        ({"model": ""}, {}, "model is missing"),
        ({"stopReason": 1}, {}, "stopReason must be text"),
        ({"content": []}, {}, "no content"),
        ({"content": None}, {}, "object with a type"),
        ({"content": {"type": "video"}}, {}, "its type must be"),
        ({"content": {"type": "image", "data": "x"}}, {}, "mimeType is missing"),
        ({"content": use}, {}, "has offered none"),
        ({"content": {**use, "name": "sub"}}, tools, "was not offered"),
        ({"content": {**use, "input": []}}, tools, "input must be an object"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text"}]}, {}, "Block 2: text is missing"),
    ):
        assert words.lower() in sampling_reply.problem_of({**good, **change}, tool).lower(), words
    assert "JSON object" in sampling_reply.problem_of([], {})
