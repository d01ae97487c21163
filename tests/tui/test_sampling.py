"""Sampling by hand: the request is readable, the reply is edited in fields or as JSON, and checked before it goes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import ServerConfig
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui import sampling_reply
from mcp_studio.tui.screens.sampling import Sampling
from tests.studio_support import stdio, text
from tests.support import python_server
from tests.tui.stage import Stage, on_stage

TOOLS = [{"name": "add", "description": "Adds.", "inputSchema": {"type": "object", "properties": {"a": {}, "b": {}}}}]
PICTURE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
RESULT = {"type": "tool_result", "toolUseId": "c9", "content": [{"type": "text", "text": "three"}]}
EVERYTHING = {
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Look:"}, PICTURE]},
        {"role": "assistant", "content": {"type": "tool_use", "id": "c9", "name": "add", "input": {"a": 1}}},
        {"role": "user", "content": RESULT},
        {"role": "user", "content": {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}},
    ],
    "systemPrompt": "Be \u202ekind.",
    "modelPreferences": {"hints": [{"name": "claude"}], "costPriority": 0.25, "intelligencePriority": 1},
    "maxTokens": 77, "temperature": 0.5, "stopSequences": ["END"], "includeContext": "thisServer",
    "metadata": {"k": "v"}, "tools": TOOLS, "toolChoice": {"mode": "required"},
}  # fmt: skip


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


async def test_everything_in_a_request_can_be_read() -> None:
    async with on_stage(asks(), size=(120, 60)) as stage:
        task = asyncio.create_task(stage.studio.inbox.ask(InputRequest("sampling", "s", "", params=EVERYTHING)))
        await stage.shows(
            "s wants a reply of a model", "claude", "cost 0.25, intelligence 1", "77 tokens", '"END"', "thisServer",
            "required", "⟦U+202E⟧", "Look:", "[image · image/png · 2B]", "uses add", "result of c9", "three",
            "[audio · audio/wav · 2B]", "Tools that the reply may use", "takes a, b", '"k"',
        )  # fmt: skip
        await stage.press("alt+d")
        assert await task == Answer("decline")


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


async def test_the_arguments_of_a_tool_are_its_own_form() -> None:
    point = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    move = {
        "type": "object",
        "properties": {"to": {"$ref": "#/$defs/point"}, "via": {"type": "array", "items": {"$ref": "#/$defs/point"}}},
        "required": ["to"],
        "$defs": {"point": point},
    }
    tools = [{"name": "move", "inputSchema": move}, {"name": "say", "inputSchema": {"properties": {"word": {}}}}]

    async with on_stage(asks(), size=(80, 24)) as stage:
        call = await sampled(stage, tools=tools)
        await stage.press("alt+u")
        await stage.shows("● move  ○ say", "to *", "x *", "via")
        await stage.press("tab", "tab", "tab", *"far", "ctrl+j")
        await stage.shows("input › to › x must be a whole number")
        await stage.press(*["backspace"] * 3, "7", "up", "up", "up", "right")
        await stage.shows("○ move  ● say", "word")
        await stage.press("left")
        await stage.shows("● move  ○ say", "7")
        await stage.press("ctrl+j")
        content = (await answer_of(call))["result"]["content"]
        assert content == {"type": "tool_use", "name": "move", "id": "call_1", "input": {"to": {"x": 7}}}


async def test_without_tools_none_can_be_used_and_the_last_block_stays() -> None:
    async with on_stage(asks()) as stage:
        call = await sampled(stage)
        await stage.press("alt+u")
        await stage.shows("The server has offered no tools")
        await stage.press("alt+x")
        await stage.shows("one block at least")
        await stage.press("alt+n", "alt+x", "x", "ctrl+j")
        assert (await answer_of(call))["result"]["content"] == {"type": "text", "text": "x"}


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


async def test_the_fields_of_a_reply_without_blocks_begin_with_an_empty_text() -> None:
    async with on_stage(asks()) as stage:
        call = await sampled(stage)
        await stage.press("alt+j")
        area = stage.app.screen.query_one("JsonEditor AreaEditor")
        area.load_text('{"role": "assistant", "model": "m", "content": []}')
        request = stage.studio.inbox.pending[0]
        await stage.until(lambda: request.draft["reply"].get("content") == [], "what was typed")
        await stage.press("alt+j")
        await stage.shows("adds text")
        await stage.press("x", "ctrl+j")
        assert (await answer_of(call))["result"]["content"] == {"type": "text", "text": "x"}


async def test_several_blocks_are_not_sent_to_a_version_without_them() -> None:
    async with on_stage(asks("--version", "2025-06-18")) as stage:
        call = await sampled(stage)
        await stage.press("a", "alt+n", "b", "ctrl+j")
        await stage.shows("Several blocks came with 2025-11-25; this server speaks 2025-06-18.")
        await stage.press("alt+d")
        await call.wait()


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
