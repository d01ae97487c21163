"""A server over Streamable HTTP, on loopback only.

Specification, basic/transports/streamable-http: sessions up to 2025-11-25, none in 2026-07-28. It checks Host and
Origin, so that no web page can reach it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from mcp_studio.jsontext import Json, dumps, mapping
from mcp_studio.limits import DEFAULT
from mcp_studio.protocol import versions
from mcp_studio.protocol.message import Malformed, Request, parse
from mcp_studio.protocol.views import encode_value
from mcp_studio.servers.stdio import Peer

PATH = "/mcp"
_PATIENCE = 120.0
"""The most seconds for a whole body."""
_SESSION, _VERSION = "mcp-session-id", "mcp-protocol-version"
_SESSIONS = 200
_STATUS = {versions.METHOD_NOT_FOUND: 404, versions.UNSUPPORTED_VERSION: 400}
"""The HTTP statuses of errors in the stateless era."""
_HELD = 1_000

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class _Answer:
    """Writes the answer to one request: as a whole, or as a stream of events."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.headers: dict[str, str] = {}
        self.streams = False
        """Whether the head of an event stream has been written."""

    async def whole(self, status: int, body: bytes = b"", **headers: str) -> None:
        kind = {"Content-Type": "application/json"} if body else {}
        await self._head(status, {**kind, "Content-Length": str(len(body)), **headers})
        await self._send({"type": "http.response.body", "body": body})

    async def begin(self) -> None:
        """Write the head of a stream, once."""
        if not self.streams:
            self.streams = True
            await self._head(200, {"Content-Type": "text/event-stream", "Cache-Control": "no-store"})

    async def event(self, data: bytes) -> None:
        """Write one message of a stream; the first one begins the stream."""
        await self.begin()
        await self._send(
            {"type": "http.response.body", "body": b"event: message\ndata: " + data + b"\n\n", "more_body": True}
        )

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b""})

    async def _head(self, status: int, headers: Mapping[str, str]) -> None:
        pairs = [(name.encode(), value.encode()) for name, value in {**headers, **self.headers}.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})


class _Session:
    """A client of the handshake era: its peer, and the stream that it may open for messages without a request."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.news: asyncio.Queue[bytes] = asyncio.Queue(_HELD)
        peer.aside = self._put

    async def _put(self, message: dict[str, Json]) -> None:
        if not self.news.full():
            self.news.put_nowait(dumps(message))


class HttpServer:
    """An ASGI application that serves any number of clients.

    Args:
        peer: makes a peer for each session, and one for all stateless requests.
    """

    def __init__(self, peer: Callable[[], Peer]) -> None:
        self._make = peer
        self._stateless: Peer | None = None
        self._sessions: dict[str, _Session] = {}

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        answer = _Answer(send)
        hosts = [f"{name}:{scope['server'][1]}" for name in ("127.0.0.1", "localhost", "[::1]")]
        origin = headers.get("origin", "")
        # Before reading the body: a client that may not connect may not send either.
        if headers.get("host") not in hosts or (origin and origin.partition("://")[2] not in hosts):
            return await answer.whole(403, Connection="close")
        if scope["path"].rstrip("/") != PATH:
            return await answer.whole(404)
        method, session = scope["method"], self._sessions.get(headers.get(_SESSION, ""))
        if method == "POST":
            body = await _body(receive)
            if body is None:
                return await answer.whole(413, Connection="close")
            await _while_there(self._post(headers, body, session, answer), receive)
        elif session is None or method not in ("GET", "DELETE"):
            await answer.whole(405, Allow="POST")
        elif method == "DELETE":
            session.peer.close()
            del self._sessions[headers[_SESSION]]
            await answer.whole(200)
        else:
            await _while_there(_news(session, answer), receive)

    async def _post(self, headers: dict[str, str], body: bytes, session: _Session | None, answer: _Answer) -> None:
        parsed = parse(body)
        requests = [one for one in parsed.messages if isinstance(one, Request)]
        bad = next((one for one in parsed.messages if isinstance(one, Malformed)), None)
        if bad is not None:
            error: dict[str, Json] = {"code": -32700 if bad.unread else -32600, "message": bad.reason}
            return await answer.whole(400, dumps({"jsonrpc": "2.0", "id": bad.id, "error": error}))
        modern = any(versions.META_VERSION in mapping(one.params.get("_meta")) for one in requests)
        for one in requests if modern or headers.get(_VERSION) in versions.MODERN_VERSIONS else ():
            if problem := _contradiction(headers, one):
                return await answer.whole(400, dumps({"jsonrpc": "2.0", "id": one.id, "error": problem}))
        if not modern and any(one.method == "initialize" for one in requests):
            session = self._begin(answer)
        elif not modern and session is None and (requests or _SESSION in headers):
            return await answer.whole(404 if _SESSION in headers else 400)
        if self._stateless is None:
            self._stateless = self._make()
        peer = self._stateless if modern or session is None else session.peer
        whole: list[dict[str, Json]] = []
        put = partial(_put, answer, whole, alone=len(requests) == 1)
        tasks = [task for message in parsed.messages if not isinstance(message, Malformed)
                 and (task := peer.take(message, put)) is not None]  # fmt: skip
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            for task in tasks:
                task.cancel()
        if answer.streams:
            return await answer.end()
        if not whole:
            return await answer.whole(200 if requests else 202)
        code = mapping(whole[0].get("error")).get("code")
        await answer.whole(_STATUS.get(code, 200) if modern and isinstance(code, int) else 200, dumps(whole[0]))

    def _begin(self, answer: _Answer) -> _Session:
        while len(self._sessions) >= _SESSIONS:
            self._sessions.pop(next(iter(self._sessions))).peer.close()
        identity = answer.headers[_SESSION] = secrets.token_hex(16)
        session = self._sessions[identity] = _Session(self._make())
        return session


def _contradiction(headers: Mapping[str, str], request: Request) -> dict[str, Json]:
    """The contradiction between headers and body of a request of the stateless era; empty if there is none."""
    meta = mapping(request.params.get("_meta"))
    version = meta.get(versions.META_VERSION)
    if not isinstance(version, str) or not isinstance(meta.get(versions.META_CAPABILITIES), dict):
        said = f"_meta has to have {versions.META_VERSION} and {versions.META_CAPABILITIES}"
        return {"code": versions.INVALID_PARAMS, "message": said}
    wanted = {_VERSION: version, "mcp-method": request.method}
    if isinstance(name := request.params.get(versions.NAMED.get(request.method, "")), str):
        wanted["mcp-name"] = encode_value(name)
    wrong = [header for header, value in wanted.items() if headers.get(header, "").strip() != value]
    return {"code": versions.HEADER_MISMATCH, "message": f"Not as in the body: {', '.join(wrong)}"} if wrong else {}


async def _put(answer: _Answer, whole: list[dict[str, Json]], message: dict[str, Json], *, alone: bool) -> None:
    """Write a message: a single answer as a JSON document, anything else as an event of a stream."""
    if alone and not answer.streams and "method" not in message:
        whole.append(message)
    else:
        await answer.event(dumps(message))


async def _news(session: _Session, answer: _Answer) -> None:
    await answer.begin()
    while True:
        await answer.event(await session.news.get())


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None if it is too large or takes too long, or if its client has left."""
    parts, total = list[bytes](), 0
    try:
        async with asyncio.timeout(_PATIENCE):
            while True:
                message = await receive()
                parts.append(message.get("body", b""))
                total += len(parts[-1])
                if total > DEFAULT.message or message["type"] == "http.disconnect":
                    return None
                if not message.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        return None


async def _while_there(work: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Answer until the client leaves, which cancels the request."""
    answering, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        if answering.done():
            answering.result()
    finally:
        answering.cancel()
        leaving.cancel()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
