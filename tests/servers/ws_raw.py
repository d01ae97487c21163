"""A hand-written WebSocket server on loopback (RFC 6455): tests decide about each byte that it sends."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

from tests.servers.http_raw import RawServer, Reply, Request

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
OFFER = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "ws", "version": "1"}}


def frame(payload: bytes, opcode: int = TEXT, *, last: bool = True) -> bytes:
    """An unmasked frame, as servers send them."""
    size = len(payload)
    head = bytes(((0x80 if last else 0) | opcode,))
    if size < 126:
        return head + bytes((size,)) + payload
    if size < 1 << 16:
        return head + b"\x7e" + size.to_bytes(2, "big") + payload
    return head + b"\x7f" + size.to_bytes(8, "big") + payload


class Socket:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, reply: Reply) -> None:
        self._reader = reader
        self._reply = reply
        self.request = reply.request
        self.frames: list[tuple[int, bytes]] = []

    async def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        await self._reply.raw(data)

    async def say(self, message: Any) -> None:
        """Send JSON data as a text frame."""
        await self.raw(frame(json.dumps(message).encode()))

    async def result(self, asked: Any, value: Any = None) -> None:
        """Answer a request."""
        await self.say({"jsonrpc": "2.0", "id": asked["id"], "result": {} if value is None else value})

    async def end(self, code: int, reason: str = "") -> None:
        """Send a close frame."""
        await self.raw(frame(code.to_bytes(2, "big") + reason.encode(), CLOSE))

    def close(self) -> None:
        """Hang up."""
        self._reply.close()

    def reset(self) -> None:
        """Cut the connection."""
        self._reply.reset()

    async def receive(self) -> tuple[int, bytes]:
        """The next frame from the client; raises IncompleteReadError when it has hung up."""
        first, second = await self._reader.readexactly(2)
        assert second & 0x80, "a client masks its frames"
        size = second & 0x7F
        if size >= 126:
            size = int.from_bytes(await self._reader.readexactly(2 if size == 126 else 8), "big")
        mask = await self._reader.readexactly(4)
        payload = bytes(byte ^ mask[at % 4] for at, byte in enumerate(await self._reader.readexactly(size)))
        self.frames.append((first & 15, payload))
        return first & 15, payload

    async def message(self) -> Any:
        """The next message of the client. A close frame is answered, and then raises ConnectionError."""
        while True:
            opcode, payload = await self.receive()
            if opcode == CLOSE:
                await self.raw(frame(payload[:2], CLOSE))
                self.close()
                raise ConnectionError
            if opcode == TEXT:
                return json.loads(payload)


Call = Callable[[Socket, Any], Awaitable[None]]


async def answer(socket: Socket, asked: Any) -> None:
    """Answer a message as a well-behaved server of the handshake era does."""
    if "id" not in asked or "method" not in asked:
        return
    if asked["method"] == "server/discover":
        error = {"code": -32601, "message": "Method not found"}
        await socket.say({"jsonrpc": "2.0", "id": asked["id"], "error": error})
        return
    known = {"initialize": OFFER, "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}}
    await socket.result(asked, known.get(asked["method"], {"content": []}))


class WsServer:
    """A handler for `RawServer`.

    Args:
        call: handles each message after the handshake of MCP; None answers with `answer`.
        begin: runs right after the handshake of WebSocket.
        head: further header lines of the handshake; `Sec-WebSocket-Accept` is right unless it is among them.
    """

    def __init__(
        self,
        call: Call | None = None,
        begin: Callable[[Socket], Awaitable[None]] | None = None,
        head: tuple[str, ...] = ("Sec-WebSocket-Protocol: mcp",),
    ) -> None:
        self.call = call or answer
        self.begin = begin
        self.head = head
        self.sockets: list[Socket] = []
        self.ended = asyncio.Event()

    async def __call__(self, got: Request, reply: Reply) -> None:
        """Serve one connection to its end."""
        key = got.headers.get("sec-websocket-key", "")
        digest = hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        lines = [f"Sec-WebSocket-Accept: {base64.b64encode(digest).decode()}"]
        if any(line.startswith("Sec-WebSocket-Accept") for line in self.head):
            lines = []
        await reply.head("101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade", *lines, *self.head)
        socket = Socket(reply.reader, reply)
        self.sockets.append(socket)
        try:
            if self.begin is not None:
                await self.begin(socket)
            while True:
                asked = await socket.message()
                quick = asked.get("method") in ("initialize", "notifications/initialized", "server/discover")
                await (answer if quick else self.call)(socket, asked)
        finally:
            self.ended.set()


def url_of(server: RawServer) -> str:
    """The WebSocket address of a server."""
    return server.url.replace("http", "ws", 1)
