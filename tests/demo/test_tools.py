"""What the tools of the demo server answer, in both eras."""

from __future__ import annotations

import json

import pytest
from mcp.shared.exceptions import MCPError

from mcp_studio.servers.demo import resources
from tests.demo import client as sdk
from tests.support import run


async def test_a_change_shows_in_tools_and_resources_alike(era: str) -> None:
    async with sdk.connected(era) as client:
        book = {"title": "Fog", "author": "Odile Marrow", "genre": "poetry"}
        added = await client.call_tool("add_book", book)
        assert added.structured_content is not None
        assert added.structured_content["id"] == "fog" and added.structured_content["price"] == 10
        found = await client.call_tool("find_books", {"text": "marrow"})
        assert found.structured_content is not None and found.structured_content["count"] == 3
        read = await client.read_resource("shop://books/fog")
        assert json.loads(read.contents[0].text)["author"] == "Odile Marrow"  # type: ignore[union-attr]
        await client.call_tool("remove_book", {"id": "fog"})
        assert (await client.call_tool("get_book", {"id": "fog"})).is_error


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("find_books", {}, "arguments: 'text' is a required property"),
        ("form_numbers", {"copies": "two"}, "copies: 'two' is not of type 'integer'"),
        ("form_numbers", {"share": 2}, "share: 2 is greater than the maximum of 1"),
        ("form_lists", {"items": [{"copies": 1}]}, "items.0: 'book' is a required property"),
        ("form_empty", {"more": 1}, "arguments: Additional properties are not allowed ('more' was unexpected)"),
        ("form_conditions", {"delivery": "post"}, "arguments: 'address' is a required property"),
        ("get_book", {"id": "nope"}, "There is no book with the id 'nope'. list_books shows all ids."),
    ],
)
async def test_wrong_arguments_are_tool_errors_that_say_what_is_wrong(
    era: str, name: str, arguments, complaint: str
) -> None:
    async with sdk.connected(era) as client:
        result = await client.call_tool(name, arguments)
        assert result.is_error
        assert sdk.words(result) == complaint


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("form_numbers", {"huge": 10**30, "share": 0.1}),
        ("form_nullable", {"note": None, "copies": None}),
        ("form_union", {"payment": {"kind": "card", "last_digits": "1234"}, "either": 3}),
        ("form_tree", {"root": {"name": "a", "shelves": [{"name": "b", "shelves": []}]}}),
        ("form_tuple", {"point": [1.5, 2], "entry": ["a", 1, True, False]}),
        ("form_map", {"labels": {"ключ": "Ω"}, "by_code": {"de": "x"}}),
        ("form_any", {"value": [None, {"deep": [1]}], "free": False}),
        ("form_constant", {"version": 1, "kind": "order"}),
    ],
)
async def test_forms_answer_with_what_they_got(era: str, name: str, arguments) -> None:
    async with sdk.connected(era) as client:
        result = await client.call_tool(name, arguments)
        assert not result.is_error
        assert result.structured_content == {"received": arguments}


async def test_every_kind_of_content_block_is_shown(era: str) -> None:
    async with sdk.connected(era) as client:
        result = await client.call_tool("show_every_block", {})
        kinds = [block.type for block in result.content]
        assert kinds == ["text", "text", "image", "audio", "resource", "resource", "resource_link", "resource_link"]
        assert (await client.call_tool("show_nothing", {})).content == []


async def test_hostile_text_arrives_as_it_is(era: str) -> None:
    async with sdk.connected(era) as client:
        everything = sdk.words(await client.call_tool("show_hostile_text", {}))
        for attempt in resources.HOSTILE.values():
            assert attempt in everything
        one = sdk.words(await client.call_tool("show_hostile_text", {"kind": "bidirectional"}))
        assert "\u202e" in one and "\x1b" not in one


async def test_the_failures_are_of_four_kinds(era: str) -> None:
    async with sdk.connected(era) as client:
        assert (await client.call_tool("fail_as_tool", {"reason": "no"})).is_error
        with pytest.raises(MCPError) as refused:
            await client.call_tool("fail_as_request", {"code": -32051, "message": "no"})
        assert (refused.value.code, refused.value.data["opens"]) == (-32051, "9:00")
        with pytest.raises(MCPError):
            await client.call_tool("fail_by_exception", {})
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("no_such_tool", {})
        assert unknown.value.code == -32602
        wrong = await client.call_tool("fail_output_schema", {})
        assert (wrong.is_error, wrong.structured_content) == (False, {"count": "many"})


def test_progress_tells_every_shelf(era: str) -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total, message))

    async def go() -> None:
        async with sdk.connected(era) as client:
            result = await client.call_tool("take_stock", {"seconds_per_shelf": 0}, progress_callback=progress)
            assert result.structured_content is not None and result.structured_content["copies"] == 59

    run(go())
    assert seen[0] == (0, 6, "Counting adventure")
    assert seen[-1] == (6, 6, "Done")


def test_logging_follows_the_level_asked_for(era: str) -> None:
    levels: list[str] = []

    async def log(params) -> None:
        levels.append(params.level)

    async def go() -> None:
        async with sdk.connected(era, logging_callback=log) as client:
            await client.call_tool("log_every_level", {})
            if era == sdk.LEGACY:
                with pytest.warns(UserWarning, match="deprecated"):
                    await client.set_logging_level("alert")
                assert "Sent: alert, emergency" in sdk.words(await client.call_tool("log_every_level", {}))

    run(go())
    assert levels[:8] == ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


async def test_a_guest_brings_a_tool_and_takes_it_away(era: str) -> None:
    async with sdk.connected(era) as client:
        with pytest.raises(MCPError):
            await client.call_tool("read_palm", {})
        await client.call_tool("invite_guest", {})
        assert "read_palm" in [tool.name for tool in await sdk.all_tools(client)]
        assert not (await client.call_tool("read_palm", {})).is_error
        await client.call_tool("invite_guest", {"present": False})
        assert "read_palm" not in [tool.name for tool in await sdk.all_tools(client)]
