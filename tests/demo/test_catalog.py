"""What the demo server offers."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator
from mcp.shared.exceptions import MCPError

from mcp_studio.servers.demo.content import LISTS
from tests.demo import client as sdk

ALL = LISTS["tools"]


def test_names_are_unique() -> None:
    assert len({tool["name"] for tool in ALL}) == len(ALL)


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: tool["name"])
def test_schemas_are_valid_and_texts_are_short(tool) -> None:
    Draft202012Validator.check_schema(tool["inputSchema"])
    Draft202012Validator.check_schema(tool.get("outputSchema", {}))
    assert tool["description"].isprintable() and 0 < len(tool["description"]) <= 120
    assert 0 < len(tool["title"]) <= 32


def test_every_kind_of_annotation_is_there() -> None:
    hints = [tool.get("annotations") for tool in ALL]
    assert None in hints
    given = [hint for hint in hints if hint]
    for name in ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"):
        assert {True, False} <= {hint.get(name) for hint in given}


async def test_every_page_of_every_list_arrives(era: str) -> None:
    async with sdk.connected(era) as client:
        assert [tool.name for tool in await sdk.all_tools(client)] == [tool["name"] for tool in ALL]
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
        third = await client.list_resources(cursor=second.next_cursor)
        assert [len(page.resources) for page in (first, second, third)] == [8, 8, 6]
        assert third.next_cursor is None
        assert len((await client.list_resource_templates()).resource_templates) == 5
        assert len((await client.list_prompts()).prompts) == 4


@pytest.mark.parametrize("cursor", ["", "nonsense", "YWZ0ZXI6OTk5OQ==", "YWZ0ZXI6LTE=", "ÿ"])
async def test_a_foreign_cursor_is_invalid_params(era: str, cursor: str) -> None:
    async with sdk.connected(era) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_tools(cursor=cursor)
        assert caught.value.code == -32602


async def test_it_says_who_it_is_and_what_changes() -> None:
    async with sdk.connected(sdk.LEGACY) as client:
        capabilities = client.server_capabilities
        assert client.server_info is not None and client.server_info.title == "The Paper Lantern"
        assert capabilities.tools is not None and capabilities.tools.list_changed
        assert capabilities.prompts is not None and capabilities.prompts.list_changed
        assert capabilities.resources is not None and capabilities.resources.subscribe
        assert capabilities.logging is not None and capabilities.completions is not None
        assert "form_*" in (client.instructions or "")
