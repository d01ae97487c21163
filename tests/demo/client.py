"""The SDK's own client, set up for the demo server in either era."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import CallToolResult, ElicitResult, Tool, jsonrpc_message_adapter

from mcp_studio.protocol.message import Malformed, parse
from mcp_studio.servers.demo.__main__ import Demo
from mcp_studio.servers.toolserver import ToolPeer
from tests.support import ROOT
from tests.support_servers import demo_stdio

LEGACY, MODERN = "legacy", "2026-07-28"


@asynccontextmanager
async def connected(era: str, target: Any = None, **more: Any) -> AsyncGenerator[Client]:
    """A client on a fresh demo server inside this process, or on `target` (a URL, or parameters of a process)."""
    log_level = None if era == LEGACY else "debug"
    async with Client(target or inside(), mode=era, cache=None, log_level=log_level, **more) as client:
        yield client


@asynccontextmanager
async def inside() -> AsyncGenerator[Any]:
    """The streams to a fresh demo server inside this process."""
    peer = ToolPeer(Demo().server)
    async with create_client_server_memory_streams() as (client, (read, write)), anyio.create_task_group() as group:

        async def put(message: dict[str, Any]) -> None:
            await write.send(SessionMessage(jsonrpc_message_adapter.validate_json(json.dumps(message))))

        async def serve() -> None:
            async for sent in read:
                assert isinstance(sent, SessionMessage)
                for message in parse(sent.message.model_dump_json(by_alias=True, exclude_none=True).encode()).messages:
                    assert not isinstance(message, Malformed)
                    peer.take(message, put)

        peer.aside = put
        group.start_soon(serve)
        yield client
        peer.close()
        group.cancel_scope.cancel()


def process() -> StdioServerParameters:
    """The demo server as a process of its own."""
    command, *args = demo_stdio()
    return StdioServerParameters(command=command, args=args, cwd=str(ROOT), env={"PYTHONPATH": str(ROOT)})


async def all_tools(client: Client) -> list[Tool]:
    """Every page of tools/list."""
    tools: list[Tool] = []
    cursor = None
    while True:
        answer = await client.list_tools(cursor=cursor)
        tools += answer.tools
        cursor = answer.next_cursor
        if cursor is None:
            return tools


def words(result: CallToolResult) -> str:
    """The text of a result."""
    return "\n".join(block.text for block in result.content if block.type == "text")


def answering(*answers: ElicitResult) -> Any:
    """An elicitation callback that gives these answers in turn; `.asked` keeps the requests."""
    left = list(answers)
    asked: list[Any] = []

    async def answer(ctx: object, params: Any) -> ElicitResult:
        asked.append(params)
        return left.pop(0)

    answer.asked = asked  # type: ignore[attr-defined]
    return answer
