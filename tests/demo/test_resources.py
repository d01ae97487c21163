"""Resources, templates, prompts and completion, in both eras."""

from __future__ import annotations

import json

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from tests.demo import client as sdk


@pytest.mark.parametrize(
    ("uri", "beginning"),
    [
        ("shop://welcome", "# The Paper Lantern"),
        ("shop://hours", "Monday to Friday"),
        ("shop://till", "0.00 EUR"),
        ("shop://books/twelve-soups", '{\n  "id": "twelve-soups"'),
        ("shop://shelves/travel", "Islands by Bicycle"),
        ("shop://shelves/travel?order=price&limit=1", "Slow Trains North"),
        ("shop://authors/Noor%20Castell", "A Lamp in the Reeds"),
        ("shop://diary/2026/03", "Diary of 03/2026"),
        ("shop://notes/cellar/boxes/1", "Maps, water-stained"),
    ],
)
async def test_text_is_read_by_address_and_by_template(era: str, uri: str, beginning: str) -> None:
    async with sdk.connected(era) as client:
        contents = (await client.read_resource(uri)).contents
        assert [str(entry.uri) for entry in contents] == [uri]
        assert contents[0].text.startswith(beginning)  # type: ignore[union-attr]


async def test_binary_and_large_resources_arrive_whole(era: str) -> None:
    async with sdk.connected(era) as client:
        picture = (await client.read_resource("shop://lantern.png")).contents[0]
        assert picture.mime_type == "image/png" and picture.blob.startswith("iVBORw0KGgo")  # type: ignore[union-attr]
        diary = (await client.read_resource("shop://diary")).contents[0]
        assert len(diary.text) >= 2**20  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("shop://nothing", "There is no such resource."),
        ("shop://books/nope", "There is no book with the id 'nope'"),
        ("shop://shelves/opera", "There is no shelf 'opera'"),
        ("shop://shelves/travel?limit=many", "The limit must be a whole number"),
        ("shop://diary/2026/13", "the month as 01 to 12"),
    ],
)
async def test_what_is_not_there_has_the_code_of_its_era(era: str, uri: str, reason: str) -> None:
    async with sdk.connected(era) as client:
        with pytest.raises(MCPError, match=reason) as caught:
            await client.read_resource(uri)
        assert caught.value.code == (-32002 if era == sdk.LEGACY else -32602)
        assert caught.value.data == {"uri": uri}


async def test_prompts_have_one_message_or_several_and_more_than_text(era: str) -> None:
    async with sdk.connected(era) as client:
        assert len((await client.get_prompt("hello")).messages) == 1
        review = await client.get_prompt("review", {"book": "twelve-soups", "tone": "kind"})
        assert [message.role for message in review.messages] == ["user", "assistant", "user"]
        shown = await client.get_prompt("show_and_tell", {"book": "twelve-soups"})
        assert [message.content.type for message in shown.messages] == [
            "resource",
            "image",
            "resource_link",
            "text",
        ]


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("nope", {}, "Unknown prompt: nope"),
        ("gift", {"author": "Noor Castell"}, "Missing: title"),
        ("review", {"book": "nope"}, "There is no book"),
    ],
)
async def test_wrong_prompts_are_invalid_params(era: str, name: str, arguments: dict[str, str], reason: str) -> None:
    async with sdk.connected(era) as client:
        with pytest.raises(MCPError, match=reason) as caught:
            await client.get_prompt(name, arguments)
        assert caught.value.code == -32602


async def test_prompt_arguments_and_template_variables_are_completed(era: str) -> None:
    async with sdk.connected(era) as client:
        gift = PromptReference(name="gift")
        titles = await client.complete(gift, {"name": "title", "value": "slow"}, {"author": "Noor Castell"})
        assert titles.completion.values == ["Slow Trains North"]
        shelf = ResourceTemplateReference(uri="shop://shelves/{genre}{?order,limit}")
        genres = await client.complete(shelf, {"name": "genre", "value": "sc"})
        assert genres.completion.values == ["science"]
        nothing = await client.complete(gift, {"name": "nope", "value": ""})
        assert nothing.completion.values == []


async def test_an_announced_reading_is_a_prompt(era: str) -> None:
    async with sdk.connected(era) as client:
        await client.call_tool("announce_reading", {})
        second = await client.list_prompts(cursor=(await client.list_prompts()).next_cursor)
        assert [prompt.name for prompt in second.prompts] == ["show_and_tell", "invitation"]


async def test_the_catalogue_is_json(era: str) -> None:
    async with sdk.connected(era) as client:
        read = await client.read_resource("shop://catalogue")
        assert len(json.loads(read.contents[0].text)) == 12  # type: ignore[union-attr]
