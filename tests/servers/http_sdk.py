"""A server built with the MCP SDK, over Streamable HTTP on a free loopback port; speaks both eras.

    http_sdk.py [json] [stateless] [polling]

Prints its port as one line, then serves until it is killed.
"""

from __future__ import annotations

import socket
import sys

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("http-sdk")


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


@server.resource("note://{name}")
def note(name: str) -> str:
    """A note."""
    return f"note {name}"


@server.prompt("grüß dich")
def greet() -> str:
    """A prompt whose name is not ASCII."""
    return "hello"


def main() -> None:
    """Serve as the arguments say."""
    words = set(sys.argv[1:])
    app = server.streamable_http_app(json_response="json" in words, stateless_http="stateless" in words)
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
