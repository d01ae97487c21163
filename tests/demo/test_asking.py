"""Tools that ask back, in both eras."""

from __future__ import annotations

import pytest
from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent

from tests.demo import client as sdk

ACCEPT = ElicitResult(action="accept", content={"name": "Ada", "copies": 2})


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (ACCEPT, "Ordered 2 of 'Twelve Soups' for Ada."),
        (ElicitResult(action="decline"), "You declined. Nothing was ordered."),
        (ElicitResult(action="cancel"), "You cancelled. Nothing was ordered."),
    ],
)
async def test_an_order_knows_accepted_declined_and_cancelled(era: str, answer: ElicitResult, told: str) -> None:
    asked = sdk.answering(answer)
    async with sdk.connected(era, elicitation_callback=asked) as client:
        assert sdk.words(await client.call_tool("order_book", {"id": "twelve-soups"})) == told
        assert asked.asked[0].message == "Who is 'Twelve Soups' for?"


async def test_the_large_form_has_every_kind_of_field(era: str) -> None:
    asked = sdk.answering(ElicitResult(action="accept", content={"name": "Ada", "books_read": 3, "days": ["sat"]}))
    async with sdk.connected(era, elicitation_callback=asked) as client:
        result = await client.call_tool("ask_every_field", {})
        assert '"days": [\n    "sat"\n  ]' in sdk.words(result)
    fields = asked.asked[0].requested_schema["properties"]
    assert {field["type"] for field in fields.values()} == {"string", "number", "integer", "boolean", "array"}
    assert {"email", "uri", "date", "date-time"} <= {field.get("format") for field in fields.values()}
    assert fields["paper"]["oneOf"][1] == {"const": "stars", "title": "Blue with stars"}


async def test_two_questions_are_asked_once_each(era: str) -> None:
    yes = ElicitResult(action="accept", content={"gift": True})
    card = ElicitResult(action="accept", content={"words": "Happy birthday"})
    asked = sdk.answering(yes, card)
    async with sdk.connected(era, elicitation_callback=asked) as client:
        told = sdk.words(await client.call_tool("ask_twice", {}))
    assert [params.message for params in asked.asked] == ["Is it a gift?", "What shall the card say?"]
    assert told.startswith("A gift: yes.") and "Happy birthday" in told


async def test_a_page_to_open_is_asked_for_by_url(era: str) -> None:
    asked = sdk.answering(ElicitResult(action="accept"))
    async with sdk.connected(era, elicitation_callback=asked) as client:
        assert sdk.words(await client.call_tool("ask_to_open_page", {})) == "You agreed to open the page."
    assert asked.asked[0].url.startswith("https://example.com/")
    assert (asked.asked[0].elicitation_id is None) == (era == sdk.MODERN)


async def test_model_and_roots_are_asked(era: str) -> None:
    async def sample(ctx: object, params: object) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="Read it."), model="m")

    async def roots(ctx: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri="file:///shelf", name="shelf")])  # type: ignore[arg-type]

    async with sdk.connected(era, sampling_callback=sample, list_roots_callback=roots) as client:
        assert sdk.words(await client.call_tool("ask_model", {"id": "twelve-soups"})) == "m wrote:\nRead it."
        assert sdk.words(await client.call_tool("ask_roots", {})) == "file:///shelf  shelf"


@pytest.mark.parametrize(
    "name", ["order_book", "ask_every_field", "ask_twice", "ask_to_open_page", "ask_model", "ask_roots"]
)
async def test_a_client_that_cannot_answer_gets_a_plain_tool_error(era: str, name: str) -> None:
    async with sdk.connected(era) as client:
        result = await client.call_tool(name, {"id": "twelve-soups"} if name in ("order_book", "ask_model") else {})
        assert result.is_error
        assert "capability" in sdk.words(result)
