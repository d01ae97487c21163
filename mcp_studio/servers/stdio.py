"""A server on standard input and output, and the interface of a server: a peer that takes one client's messages."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable
from functools import partial
from typing import BinaryIO, Protocol

from mcp_studio.jsontext import Json, dumps
from mcp_studio.limits import DEFAULT
from mcp_studio.protocol.message import Malformed, Message, parse
from mcp_studio.threads import beside

Put = Callable[[dict[str, Json]], Awaitable[None]]
"""Sends a message."""


class Peer(Protocol):
    """A server as one client sees it."""

    aside: Put
    """Sends messages that belong to no open request."""

    def take(self, message: Message, put: Put) -> asyncio.Task[None] | None:
        """Take a message; a request is answered in its own task, which is returned."""
        ...

    def close(self) -> None:
        """End all work, because the client has left."""
        ...


async def nowhere(message: dict[str, Json]) -> None:
    """Drop a message: there is no client."""


async def serve(peer: Peer, source: BinaryIO, sink: BinaryIO) -> None:
    """Serve until the client closes `source`; unfinished requests are dropped."""
    next_line = await _reader(source)

    async def put(message: dict[str, Json]) -> None:
        sink.writelines((dumps(message), b"\n"))
        sink.flush()

    peer.aside = put
    try:
        while (line := await next_line()) and len(line) <= DEFAULT.message:
            if not line.strip():
                continue
            for message in parse(line).messages:
                if isinstance(message, Malformed):
                    error: dict[str, Json] = {"code": -32700 if message.unread else -32600, "message": message.reason}
                    await put({"jsonrpc": "2.0", "id": message.id, "error": error})
                else:
                    peer.take(message, put)
    except ValueError:
        pass
    finally:  # also after a line that is too long, because the beginning of the next line is unknown
        peer.close()


async def _reader(source: BinaryIO) -> Callable[[], Awaitable[bytes]]:
    """A function that returns the next line, or nothing at the end.

    The loop reads a pipe, a thread any other file; neither reads ahead more than it may hold.
    """
    if os.name == "posix" and stat.S_ISFIFO(os.fstat(source.fileno()).st_mode):
        lines = asyncio.StreamReader(DEFAULT.message)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), source)
        return lines.readline
    return partial(beside, source.readline, DEFAULT.message + 1)
