"""HTTP/1.1 as far as a mock needs it: requests in, answers and event streams out, within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from mcp_studio.limits import DEFAULT

_PATIENCE = 120.0
"""Seconds for a whole head, and for a whole body."""
_REASONS = {
    200: "OK", 202: "Accepted", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    413: "Content Too Large", 431: "Request Header Fields Too Large", 503: "Service Unavailable",
}  # fmt: skip


class Bad(Exception):
    """A request that cannot be taken; `status` says why."""

    def __init__(self, status: int) -> None:
        super().__init__(_REASONS[status])
        self.status = status


class Head(NamedTuple):
    """What stands before the body of an HTTP request."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """The head of the next request; None where the client has left, or says nothing.

    Raises:
        Bad: it is none, or too large.
    """
    try:
        async with asyncio.timeout(_PATIENCE):
            head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
        return None
    except asyncio.LimitOverrunError:
        raise Bad(431) from None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    words = first.split(" ")
    pairs = [line.partition(":") for line in lines]
    if len(words) != 3 or not words[2].startswith("HTTP/1.") or not all(colon for _, colon, _ in pairs):
        raise Bad(400)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return Head(words[0], words[1].partition("?")[0], headers)


async def read_body(reader: asyncio.StreamReader, head: Head) -> bytes | None:
    """Its body; None where the client has left, or stops in the middle.

    Raises:
        Bad: it is none, or too large.
    """
    try:
        async with asyncio.timeout(_PATIENCE):
            return await _body(reader, head.headers)
    except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
        return None
    except (ValueError, asyncio.LimitOverrunError):
        raise Bad(400) from None


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        size = int(headers.get("content-length", "0"))
        if size > DEFAULT.message or size < 0:
            raise Bad(413)
        return await reader.readexactly(size)
    parts, total = list[bytes](), 0
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        total += size
        if total > DEFAULT.message or size < 0:
            raise Bad(413)
        parts.append((await reader.readexactly(size + 2))[:-2])
    while (await reader.readuntil(b"\r\n")) != b"\r\n":
        continue
    return b"".join(parts)


class Answering:
    """Writes the answer to one request: whole, or as a stream of events."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.streams = False
        """The head of an event stream has been written."""

    async def whole(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        """The whole answer."""
        kind = {"Content-Type": "application/json"} if body else {}
        self._head(status, {**kind, "Content-Length": str(len(body)), **(headers or {})})
        self._writer.write(body)
        await self._writer.drain()

    async def event(self, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        """One message of a stream, which begins with the first."""
        await self.begin(headers)
        await self._chunk(b"event: message\ndata: " + data + b"\n\n")

    async def begin(self, headers: Mapping[str, str] | None = None) -> None:
        """The head of a stream, once."""
        if not self.streams:
            self.streams = True
            kind = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "Transfer-Encoding": "chunked"}
            self._head(200, {**kind, **(headers or {})})
            await self._writer.drain()

    async def end(self) -> None:
        """The end of a stream."""
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def _chunk(self, data: bytes) -> None:
        self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self._writer.drain()

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} {_REASONS[status]}", *(f"{name}: {value}" for name, value in headers.items())]
        self._writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
