"""A server built with the MCP SDK, over Streamable HTTP on loopback; speaks both eras.

    http_sdk.py [port=N] [json] [stateless] [polling] [older]

`older` serves HTTP+SSE at /sse instead.

Prints its port as one line, then serves until it is killed.
"""

from __future__ import annotations

import socket
import sys

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import JSONRPCMessage, ToolListChangedNotification

server = MCPServer("http-sdk")


class Memory(EventStore):
    """Every event of every stream."""

    def __init__(self) -> None:
        self.events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        stream = self.events[int(last_event_id) - 1][0]
        for number, (owner, message) in enumerate(self.events[int(last_event_id) :], int(last_event_id) + 1):
            if owner == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


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
async def hang_up(ctx: Context) -> str:
    """Close the stream of this call, and answer after that."""
    await ctx.close_sse_stream()
    await anyio.sleep(0.05)
    return "answered on another stream"


@server.tool()
async def change(ctx: Context) -> str:
    """Tell that the tools changed, on the stream for the server's own messages."""
    await ctx.session.send_notification(ToolListChangedNotification())
    return "told"


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
    port = next((int(word[5:]) for word in words if word.startswith("port=")), 0)
    store = Memory() if "polling" in words else None
    newer = server.streamable_http_app(
        json_response="json" in words, stateless_http="stateless" in words, event_store=store, retry_interval=300
    )
    app = server.sse_app() if "older" in words else newer
    # The protocol is named so that asyncio switches Nagle's algorithm off: with it every answer takes 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
