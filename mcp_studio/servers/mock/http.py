"""A mock over Streamable HTTP, on loopback alone.

Specification, basic/transports/streamable-http: sessions up to 2025-11-25, none in 2026-07-28; Host and Origin are
checked, so that no web page can reach it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import NamedTuple

from mcp_studio.jsontext import Json, dumps, mapping
from mcp_studio.limits import DEFAULT
from mcp_studio.protocol.message import Malformed, Parsed, Request, parse
from mcp_studio.protocol.versions import META_VERSION, METHOD_NOT_FOUND, UNSUPPORTED_VERSION
from mcp_studio.servers.mock.peer import Peer

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


PATH = "/mcp"
_SESSION = "Mcp-Session-Id"
_SESSIONS = 200
_CONNECTIONS = 200
_STATUS = {METHOD_NOT_FOUND: 404, UNSUPPORTED_VERSION: 400}
"""HTTP statuses of errors of the stateless era."""
_HELD = 1_000


class _Session:
    """A client of the handshake era: its peer, and the stream that it may open for what nobody asked for."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.news: asyncio.Queue[bytes] = asyncio.Queue(_HELD)
        peer.aside = self._put

    async def _put(self, message: dict[str, Json]) -> None:
        if not self.news.full():
            self.news.put_nowait(dumps(message))


class _Line(asyncio.StreamReaderProtocol):
    """A client's connection, which says when the client is gone: that is how it cancels."""

    def __init__(
        self, connected: Callable[[_Line, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
    ) -> None:
        self.gone = asyncio.Event()
        super().__init__(asyncio.StreamReader(limit=DEFAULT.headers), partial(connected, self))

    def eof_received(self) -> bool | None:
        """The client sends no more."""
        self.gone.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """There is no connection any more."""
        self.gone.set()
        super().connection_lost(exc)


class HttpMock:
    """Serves any number of clients.

    Args:
        peer: makes one for each session, and one for all that is stateless.
    """

    def __init__(self, peer: Callable[[], Peer]) -> None:
        self._make = peer
        self._stateless = peer()
        self._sessions: dict[str, _Session] = {}
        self._hosts: frozenset[str] = frozenset()
        self._open = 0
        self.port = 0

    async def start(self, port: int) -> asyncio.Server:
        """Listen on 127.0.0.1.

        Raises:
            OSError: the port is taken.
        """
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Line(self._connected), "127.0.0.1", port)
        self.port = server.sockets[0].getsockname()[1]
        self._hosts = frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))
        return server

    async def _connected(self, line: _Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open > _CONNECTIONS:
                raise Bad(503)
            while (asked := await read_head(reader)) is not None:
                answering = Answering(writer)
                self._check(asked)  # before the body: who may not ask may not send either
                if (body := await read_body(reader, asked)) is None:
                    return
                if not await _finished(asyncio.ensure_future(self._answer(asked, body, answering)), line.gone):
                    return
                if answering.streams:
                    await answering.end()
        except Bad as bad:
            await Answering(writer).whole(bad.status, headers={"Connection": "close"})
        except (ConnectionError, asyncio.CancelledError):
            return
        finally:
            self._open -= 1
            writer.close()

    # ------------------------------------------------------------------ one request

    def _check(self, asked: Head) -> None:
        host, origin = asked.headers.get("host", ""), asked.headers.get("origin", "")
        if host not in self._hosts or (origin and origin.partition("://")[2] not in self._hosts):
            raise Bad(403)

    async def _answer(self, asked: Head, body: bytes, answering: Answering) -> None:
        if asked.path.rstrip("/") != PATH:
            return await answering.whole(404)
        session = self._sessions.get(asked.headers.get(_SESSION.lower(), ""))
        if asked.method == "POST":
            return await self._post(asked, body, session, answering)
        if session is None or asked.method not in ("GET", "DELETE"):
            return await answering.whole(405, headers={"Allow": "POST"})
        if asked.method == "DELETE":
            session.peer.close()
            del self._sessions[asked.headers[_SESSION.lower()]]
            return await answering.whole(200)
        await answering.begin()
        while True:
            await answering.event(await session.news.get())

    async def _post(self, asked: Head, body: bytes, session: _Session | None, answering: Answering) -> None:
        parsed = parse(body)
        requests = [one for one in parsed.messages if isinstance(one, Request)]
        bad = next((one for one in parsed.messages if isinstance(one, Malformed)), None)
        if bad is not None:
            error: dict[str, Json] = {"code": -32700 if bad.unread else -32600, "message": bad.reason}
            return await answering.whole(400, dumps({"jsonrpc": "2.0", "id": bad.id, "error": error}))
        modern = any(META_VERSION in mapping(one.params.get("_meta")) for one in requests)
        headers: dict[str, str] = {}
        if not modern and any(one.method == "initialize" for one in requests):
            session = self._begin(headers)
        elif not modern and session is None and (requests or _SESSION.lower() in asked.headers):
            return await answering.whole(404 if _SESSION.lower() in asked.headers else 400)
        peer = self._stateless if modern or session is None else session.peer
        await _Exchange(peer, parsed, answering, modern, headers).run(requests)

    def _begin(self, headers: dict[str, str]) -> _Session:
        while len(self._sessions) >= _SESSIONS:
            self._sessions.pop(next(iter(self._sessions))).peer.close()
        identity = headers[_SESSION] = secrets.token_hex(16)
        session = self._sessions[identity] = _Session(self._make())
        return session


async def _finished(answer: asyncio.Future[None], gone: asyncio.Event) -> bool:
    """Wait for an answer as long as the client is there; whether it was finished."""
    leaving = asyncio.ensure_future(gone.wait())
    try:
        await asyncio.wait((answer, leaving), return_when=asyncio.FIRST_COMPLETED)
        return answer.done() and answer.result() is None
    finally:
        answer.cancel()
        leaving.cancel()


class _Exchange:
    """The answer to one POST: a JSON document where there is just one message, else a stream."""

    def __init__(self, peer: Peer, parsed: Parsed, answering: Answering, modern: bool, headers: dict[str, str]) -> None:
        self._peer = peer
        self._parsed = parsed
        self._answering = answering
        self._modern = modern
        self._headers = headers
        self._whole: dict[str, Json] | None = None

    async def run(self, requests: list[Request]) -> None:
        """Until all requests have their answers."""
        put = partial(self._put, alone=len(requests) == 1)
        tasks = [task for message in self._parsed.messages if (task := self._peer.take(message, put)) is not None]
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            for task in tasks:
                task.cancel()
        if self._answering.streams:
            return
        if self._whole is None:
            return await self._answering.whole(202 if not requests else 200, headers=self._headers)
        code = mapping(self._whole.get("error")).get("code")
        status = _STATUS.get(code, 200) if self._modern and isinstance(code, int) else 200
        await self._answering.whole(status, dumps(self._whole), self._headers)

    async def _put(self, message: dict[str, Json], *, alone: bool) -> None:
        if alone and not self._answering.streams and "method" not in message:
            self._whole = message
        else:
            await self._answering.event(dumps(message), self._headers)
