"""The servers that tests talk to do what their options say."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import ElicitResult

from tests.support import python_server, run
from tests.support_servers import http_server

MODERN = "2026-07-28"
ANSWER = ElicitResult(action="accept", content={"name": "Ada", "age": 36, "vegetarian": True})


async def _everything(target: Any, era: str) -> None:
    async def answer(ctx: object, params: object) -> ElicitResult:
        return ANSWER

    async with Client(target, mode=era, elicitation_callback=answer, cache=None) as client:
        assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
        assert (await client.call_tool("fail", {})).is_error
        asked = await client.call_tool("ask", {})
        assert asked.content[0].text == "Ada, 36, green"  # type: ignore[union-attr]
        tools = len((await client.list_tools()).tools)
        await client.call_tool("grow", {"name": f"grown_{era[:4]}"})
        assert len((await client.list_tools()).tools) == tools + 1
        await client.call_tool("write_note", {"text": "rain"})
        assert (await client.read_resource("note://today")).contents[0].text == "rain"  # type: ignore[union-attr]


def _stdio(*options: str) -> StdioServerParameters:
    command, *args = python_server("sdk_everything", *options)
    return StdioServerParameters(command=command, args=args)


@pytest.mark.parametrize("era", ["legacy", MODERN])
def test_sdk_everything_over_stdio(era: str) -> None:
    run(_everything(_stdio(), era))


def test_sdk_everything_over_http() -> None:
    with http_server() as url:
        run(_everything(url, "legacy"))
        run(_everything(url, MODERN))


async def test_pages_have_the_size_asked_for() -> None:
    async with Client(_stdio("--page-size", "7", "--tools", "20"), mode=MODERN, cache=None) as client:
        first = await client.list_tools()
        assert (len(first.tools), first.next_cursor) == (7, "7")
        assert (await client.list_tools(cursor="7")).tools[0].name not in [tool.name for tool in first.tools]


@pytest.mark.parametrize(
    ("option", "works", "refused"), [("--legacy-only", "legacy", MODERN), ("--modern-only", MODERN, "legacy")]
)
def test_a_server_of_one_era_refuses_the_other(option: str, works: str, refused: str) -> None:
    async def listed(target: Any, era: str) -> bool:
        async with Client(target, mode=era, cache=None) as client:
            return bool((await client.list_tools()).tools)

    with http_server(option) as url:
        for target in (url, _stdio(option)):
            assert run(listed(target, works))
            with pytest.raises(BaseException):  # noqa: B017 - the SDK raises an error or a group of groups of it
                run(listed(target, refused))


def test_json_stateless_and_token() -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    headers = {"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-11-25"}
    with http_server("--json", "--stateless", "--token", "open-sesame") as url:
        refused = httpx2.post(url, json=ping, headers=headers)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Bearer ")
        answered = httpx2.post(url, json=ping, headers={**headers, "Authorization": "Bearer open-sesame"})
        assert answered.headers["content-type"] == "application/json"
        assert "mcp-session-id" not in answered.headers
        assert answered.json()["result"] == {}
