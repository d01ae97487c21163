"""A hand-written HTTP/1.1 server on loopback that sends exactly what a test says, right or wrong."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Request:
    """A request that was received; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as a JSON value."""
        return json.loads(self.body)


class Reply:
    """Writes to a connection, with shorthands for frequent answers."""

    def __init__(self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader, request: Request) -> None:
        self.request = request
        self._writer = writer
        self.reader = reader

    async def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def head(self, status: str, *lines: str) -> None:
        """Send a status line and headers."""
        await self.raw("\r\n".join((f"HTTP/1.1 {status}", *lines, "", "")).encode())

    async def body(self, status: str, body: bytes, *lines: str, kind: str = "application/json") -> None:
        """Send a whole response."""
        await self.head(status, f"Content-Type: {kind}", f"Content-Length: {len(body)}", *lines)
        await self.raw(body)

    async def result(self, value: Any = None, *lines: str) -> None:
        """Answer the request's JSON-RPC id with a result."""
        message = {"jsonrpc": "2.0", "id": self.request.json["id"], "result": {} if value is None else value}
        await self.body("200 OK", json.dumps(message).encode(), *lines)

    async def accepted(self) -> None:
        """Send 202 without a body."""
        await self.head("202 Accepted", "Content-Length: 0")

    async def stream(self, *lines: str) -> None:
        """Begin an event stream that ends with the connection."""
        await self.head("200 OK", "Content-Type: text/event-stream", "Connection: close", *lines)

    async def event(self, message: Any, *fields: str) -> None:
        """Send one event; `message` is JSON data, None for no data."""
        data = [] if message is None else [f"data: {json.dumps(message)}"]
        await self.raw("\n".join((*fields, *data, "", "")).encode())

    async def closed_by_peer(self) -> None:
        """Return when the other side has closed the connection."""
        assert await self.reader.read() == b""

    def close(self) -> None:
        """End the connection."""
        self._writer.close()

    def reset(self) -> None:
        """Cut the connection with a reset."""
        self._writer.transport.abort()


Handler = Callable[[Request, Reply], Awaitable[None]]


@dataclass
class RawServer:
    """`async with RawServer(handler) as server:` serves on a free port until the block ends."""

    handler: Handler
    tls: ssl.SSLContext | None = None
    port: int = 0
    requests: list[Request] = field(default_factory=list[Request])
    connections: int = 0

    @property
    def url(self) -> str:
        """The URL of the endpoint."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/mcp"

    def methods(self) -> list[str]:
        """The HTTP methods of all requests so far."""
        return [request.method for request in self.requests]

    async def __aenter__(self) -> RawServer:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Stop listening and cut every connection."""
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing() and (request := await _read(reader)) is not None:
                self.requests.append(request)
                await self.handler(request, Reply(writer, reader, request))
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        except NoHttp:
            writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
        finally:
            writer.transport.abort()


class NoHttp(Exception):
    """What was received is no request."""


async def _read(reader: asyncio.StreamReader) -> Request | None:
    first = (await reader.readline()).decode("latin-1")
    if not first:
        return None
    method, path, version = [*first.split(" ", 2), "", ""][:3]
    if not version.startswith("HTTP/1.1"):
        raise NoHttp
    headers: dict[str, str] = {}
    while line := (await reader.readline()).decode("latin-1").strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return Request(method, path, headers, await reader.readexactly(int(headers.get("content-length", "0"))))
