# pyright: basic, reportMissingImports=false
"""Clients that others wrote, each doing on the gateway what its users do; prints what came back as JSON.

    PYTHON other_clients.py fastmcp|pydantic_ai URL TOKEN

PYTHON is that of an environment with fastmcp and pydantic-ai: they need versions of their own.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

SEEN: dict[str, Any] = {"asked": [], "logged": [], "progress": 0}


async def answer(message: str, response_type: Any, params: Any, context: Any) -> dict[str, Any]:
    SEEN["asked"].append(message)
    return {"name": "Ada", "copies": 1}


async def log(message: Any) -> None:
    SEEN["logged"].append(message.level)


async def progress(done: float, total: float | None, message: str | None) -> None:
    SEEN["progress"] += 1


async def fastmcp(url: str, token: str) -> None:
    from fastmcp import Client
    from fastmcp.client.transports import StreamableHttpTransport
    from fastmcp.exceptions import ToolError

    for mode in ("legacy", "auto"):
        transport = StreamableHttpTransport(url, headers={"Authorization": f"Bearer {token}"})
        handlers = {"elicitation_handler": answer, "log_handler": log, "progress_handler": progress}
        async with Client(transport, mode=mode, **handlers) as client:
            SEEN["tools"] = [tool.name for tool in await client.list_tools()]
            SEEN["resource"] = (await client.read_resource("shop://welcome"))[0].text
            SEEN["found"] = (await client.call_tool("mcp__demo__find_books", {"text": "salt"})).content[0].text
            await client.call_tool("mcp__demo__take_stock", {})
            await client.call_tool("mcp__demo__log_every_level", {})
            ordered = await client.call_tool("mcp__demo__order_book", {"id": "slow-trains-north"})
            SEEN["ordered"] = ordered.content[0].text
            try:
                await client.call_tool("mcp__demo__fail_as_tool", {})
            except ToolError as problem:
                SEEN["failed"] = str(problem)


async def pydantic_ai(url: str, token: str) -> None:
    from fastmcp import Client
    from fastmcp.client.transports import StreamableHttpTransport
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    def model(messages: Any, info: Any) -> ModelResponse:
        SEEN["tools"] = [tool.name for tool in info.function_tools]
        returned = [part for one in messages for part in one.parts if isinstance(part, ToolReturnPart)]
        if not returned:
            return ModelResponse(parts=[ToolCallPart("mcp__demo__find_books", {"text": "salt"})])
        if len(returned) == 1:
            return ModelResponse(parts=[ToolCallPart("mcp__demo__order_book", {"id": "slow-trains-north"})])
        SEEN["found"], SEEN["ordered"] = (json.dumps(part.content) for part in returned[:2])
        return ModelResponse(parts=[TextPart("done")])

    transport = StreamableHttpTransport(url, headers={"Authorization": f"Bearer {token}"})
    for mode in ("auto", "legacy"):
        toolset = MCPToolset(Client(transport, mode=mode, elicitation_handler=answer))
        await Agent(FunctionModel(model), toolsets=[toolset]).run("Find a book about salt, and order another.")


if __name__ == "__main__":
    which, url, token = sys.argv[1:]
    asyncio.run({"fastmcp": fastmcp, "pydantic_ai": pydantic_ai}[which](url, token))
    print(json.dumps(SEEN))
