"""A server built with the MCP SDK behind uvicorn's WebSocket, so that neither implementation is ours.

Prints its URL as one line, then serves until it is killed.
"""

from __future__ import annotations

import socket
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

server = MCPServer("ws-sdk")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def steps(ctx: Context, count: int = 3) -> str:
    """Report progress, then answer."""
    for step in range(count):
        await ctx.report_progress(step + 1, count)
    return "done"


@server.tool()
async def wait(seconds: float) -> str:
    """Answer late."""
    await anyio.sleep(seconds)
    return "waited"


@server.tool()
def blob(size: int) -> str:
    """Answer with much text."""
    return "x" * size


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Serve one session per connection (ASGI)."""
    if scope["type"] != "websocket":
        return
    await receive()
    await send({"type": "websocket.accept", "subprotocol": "mcp" if "mcp" in scope["subprotocols"] else None})
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as group:

        async def read() -> None:
            async with to_server:
                while (event := await receive())["type"] == "websocket.receive":
                    await to_server.send(SessionMessage(jsonrpc_message_adapter.validate_json(event["text"])))
            group.cancel_scope.cancel()

        async def write() -> None:
            async for message in from_server:
                text = message.message.model_dump_json(by_alias=True, exclude_none=True)
                await send({"type": "websocket.send", "text": text})

        group.start_soon(read)
        group.start_soon(write)
        inner = server._lowlevel_server
        await inner.run(from_client, to_client, inner.create_initialization_options())


def main() -> None:
    """Serve on a free port."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(f"ws://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error", ws="wsproto")).run(sockets=[listener])


if __name__ == "__main__":
    main()
