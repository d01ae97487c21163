"""A mock on standard input and output."""

from __future__ import annotations

import asyncio
import sys
import threading

from mcp_studio.jsontext import Json, dumps
from mcp_studio.protocol.message import Malformed, parse
from mcp_studio.servers.mock.peer import Peer


async def serve(peer: Peer) -> None:
    """Until the client closes our input; what is under way then is not finished."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes] = asyncio.Queue()

    async def put(message: dict[str, Json]) -> None:
        sys.stdout.buffer.write(dumps(message) + b"\n")
        sys.stdout.buffer.flush()

    def read() -> None:
        # A thread: not every system lets an event loop wait for standard input.
        for line in iter(sys.stdin.buffer.readline, b""):
            loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, b"")

    threading.Thread(target=read, daemon=True).start()
    peer.aside = put
    try:
        while line := await lines.get():
            if not line.strip():
                continue
            for message in parse(line).messages:
                if isinstance(message, Malformed):
                    error: dict[str, Json] = {"code": -32700 if message.unread else -32600, "message": message.reason}
                    await put({"jsonrpc": "2.0", "id": message.id, "error": error})
                else:
                    peer.take(message, put)
    finally:
        peer.close()
