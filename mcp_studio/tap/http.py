"""The tap of a server at a URL: clients on this computer connect to it, and what they send goes to that server.

Bodies pass byte for byte, heads but for `Host`, what concerns one connection alone, and `Accept-Encoding`: what comes
compressed could not be recorded.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcp_studio.errors import StudioError
from mcp_studio.tap.gate import Decision, Gate, error_answer, id_of
from mcp_studio.tap.recorder import EVENT, Flow, Recorder
from mcp_studio.transport.base import HttpRequest, HttpResponse
from mcp_studio.transport.sse import SseParser
from mcp_studio.transport.stdio import frame_of

if TYPE_CHECKING:
    import httpcore2

_WHOLE = re.compile(rb"(?!)")
"""Ends nothing: the body is one unit."""
_HOPS = frozenset(
    b"host accept-encoding connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer"
    b" transfer-encoding upgrade expect content-length".split()
)
"""Headers about one connection (RFC 9110 7.6.1), and those that are made anew."""
_BAD_GATEWAY = 502
_SESSIONS = 200
Head = list[tuple[bytes, bytes]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Cut(Exception):
    """The connection to the client ends here, in whatever it is."""


class HttpTap:
    """An ASGI application in front of a server, which may be anywhere.

    Args:
        url: of the server.
        context: for https.
    """

    def __init__(self, url: str, context: ssl.SSLContext | None, recorder: Recorder, gate: Gate) -> None:
        self._parts = urlsplit(url)
        self._origin = f"{self._parts.scheme}://{self._parts.netloc.rpartition('@')[2]}"
        self._context, self._recorder, self._gate = context, recorder, gate
        self._sessions: dict[bytes, Recorder] = {}
        """By the session: two clients may use the same ids. That of the newest client without one is under b""."""
        self._numbers = count(1)
        self._pool: httpcore2.AsyncConnectionPool

    async def serve(self, port: int, ready: Callable[[str], None]) -> None:
        """Serve on loopback until a signal ends it; `ready` gets the URL to put into the client.

        Raises:
            StudioError: the port is taken.
        """
        import httpcore2
        import uvicorn

        path, tap = self._parts.path or "/", self._recorder.tap
        try:
            listening = socket.create_server(("127.0.0.1", port))
        except OSError as problem:
            raise StudioError(f"Port {port} cannot be used: {os.strerror(problem.errno or 0)}.") from None
        with listening:
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            port = listening.getsockname()[1]
            tap.begins()
            tap.note(f"listening on port {port} for {self._origin}{path}")
            ready(f"http://127.0.0.1:{port}{path}")
            config = uvicorn.Config(
                self, http="h11", ws="none", lifespan="off", log_config=None, log_level="critical",
                server_header=False, date_header=False, timeout_graceful_shutdown=0,
                h11_max_incomplete_event_size=self._recorder.limits.headers,
            )  # fmt: skip
            for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn ends at them, and then raises them once more
                signal.signal(number, _unmoved)
            async with httpcore2.AsyncConnectionPool(self._context, max_connections=None) as self._pool:
                await uvicorn.Server(config).serve([listening])
        tap.ended()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """One request."""
        head: Head = scope["headers"]
        named, port = dict(head), scope["server"][1]
        back = _Back(send, self._recorder, self._gate, self._sessions)
        hosts = [f"{host}:{port}".encode() for host in ("127.0.0.1", "localhost", "[::1]")]
        origin = named.get(b"origin", b"")
        if named.get(b"host") not in hosts or (origin and origin.partition(b"://")[2] not in hosts):
            # Before the body: no web page may reach it.
            return await back.say(403, b"The tap answers to clients on this computer alone.\n")
        if (body := await _body(receive, self._recorder.limits.message)) is None:
            return await back.say(413, b"The message is larger than the limit called message.\n")
        session = named.get(b"mcp-session-id", b"")
        new = not session and b'"initialize"' in body
        back.recorder = recorder = self._recorder.renewed() if new else self._sessions.get(session, self._recorder)
        back.number, target = next(self._numbers), scope["raw_path"] + b"?" * bool(scope["query_string"])
        target += scope["query_string"]
        mcp = scope["path"] == (self._parts.path or "/") or b'"jsonrpc"' in body
        back.purpose = "" if mcp or b"text/event-stream" in named.get(b"accept", b"") else "beside MCP"
        url = self._origin + target.decode("latin-1")
        frame = b"" if back.purpose or not frame_of(body) else body
        recorder.tap.http_request(
            HttpRequest(back.number, scope["method"], url, _texts(head), b"" if frame else body, back.purpose)
        )
        there = await _while_there(self._pass(recorder, scope["method"], target, head, body, frame, back), receive)
        if frame and not there:
            recorder.forget(id_of(frame))

    async def _pass(
        self, recorder: Recorder, method: str, target: bytes, head: Head, body: bytes, frame: bytes, back: _Back
    ) -> None:
        import httpcore2

        if frame and not self._gate.closed:
            asyncio.get_running_loop().call_soon(recorder.sent, frame, back.number)  # once it is on its way
        elif frame and (entry := recorder.sent(frame, back.number)) is not None:
            decision = await (self._gate.catch(recorder.store, entry, frame) or _released())
            if decision.action == "answer":
                recorder.answered(decision.frame, back.number)
                return await back.say(200, decision.frame, b"application/json")
            if decision.action == "drop":
                await asyncio.Event().wait()  # the client hears nothing as long as it waits
            if decision.action == "cut":
                await back.cut()
            body = decision.frame or body
        authority, port = self._parts.hostname or "", self._parts.port
        url = httpcore2.URL(scheme=self._parts.scheme, host=authority, port=port, target=target)
        head = [(b"Host", self._origin.partition("://")[2].encode()), (b"Accept-Encoding", b"identity"), *_kept(head)]
        if body or method == "POST":
            head.append((b"Content-Length", b"%d" % len(body)))
        limit = {"timeout": {"connect": self._recorder.limits.connect}}
        try:
            async with self._pool.stream(method, url, headers=head, content=body, extensions=limit) as response:
                await back.respond(response)
        except (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError) as problem:
            await back.failed(f"{self._origin} cannot be reached: {problem}".rstrip(": "), id_of(frame))


class _Back:
    """The way back of one exchange."""

    def __init__(self, send: Send, recorder: Recorder, gate: Gate, sessions: dict[bytes, Recorder]) -> None:
        self.number, self.purpose = 0, ""
        self.recorder = recorder
        """Of the client that it belongs to."""
        self._send, self._gate, self._sessions = send, gate, sessions
        self._begun = False
        self._written = 0

    async def say(self, status: int, body: bytes, kind: bytes = b"text/plain") -> None:
        """Answer in the server's place."""
        await self._begin(status, [(b"Content-Type", kind), (b"Content-Length", b"%d" % len(body))])
        await self._write(body, last=True)

    async def failed(self, why: str, identity: int | str | None) -> None:
        """There is no answer, or no more of it: say so."""
        self.recorder.tap.http_response(HttpResponse(self.number, 0, "", (), why, purpose=self.purpose))
        if self._begun:
            raise Cut
        if identity is None:
            return await self.say(_BAD_GATEWAY, f"{why}\n".encode())
        frame = error_answer(identity, why)
        self.recorder.received(frame, self.number)
        await self.say(_BAD_GATEWAY, frame, b"application/json")

    async def cut(self) -> None:
        """End the connection without an answer."""
        await self._begin(200, [(b"Content-Length", b"1")])
        raise Cut

    async def respond(self, response: httpcore2.Response) -> None:
        """Pass an answer on."""
        named = {name.lower(): value for name, value in response.headers}
        streams = named.get(b"content-type", b"").lower().startswith(b"text/event-stream")
        if self.recorder not in self._sessions.values():
            if len(self._sessions) >= _SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[named.get(b"mcp-session-id", b"")] = self.recorder
        facts = partial(
            HttpResponse, self.number, response.status, response.extensions["reason_phrase"].decode("latin-1"),
            _texts(response.headers), purpose=self.purpose,
        )  # fmt: skip
        read, end = (self._data, EVENT) if streams else (frame_of, _WHOLE)
        if self.purpose:
            read = lambda body: self.recorder.tap.http_response(facts(body=body)) or b""  # noqa: E731
        else:
            self.recorder.tap.http_response(facts())
        head, size = _kept(response.headers), named.get(b"content-length")
        if size is not None and not streams and not self._gate.closed:  # else another frame may come in its place
            head.append((b"Content-Length", size))
        await self._begin(response.status, head)
        task, length = asyncio.current_task(), 0
        assert task is not None
        record = partial(self.recorder.received, exchange=self.number)
        made = _event_with if streams else _frame
        flow = Flow(self.recorder, self._gate, record, self._write, read, made, task.cancel, end)
        async for data in response.aiter_stream():
            length += len(data)
            await flow.feed(data)
        await flow.finish()
        if length and not self._written and not streams:
            await asyncio.Event().wait()  # it was dropped: the client hears nothing as long as it waits
        await self._write(b"", last=True)

    async def _begin(self, status: int, head: Head) -> None:
        self._begun = True
        await self._send({"type": "http.response.start", "status": status, "headers": head})

    async def _write(self, data: bytes, last: bool = False) -> None:
        self._written += len(data)
        await self._send({"type": "http.response.body", "body": data, "more_body": not last})

    def _data(self, event: bytes) -> bytes:
        """The frame in an event."""
        found = [one.data for one in SseParser(self.recorder.limits.message).feed(event)]
        return frame_of(found[0]) if found and isinstance(found[0], bytes) else b""


def _unmoved(number: int, frame: object) -> None:
    """What has to be written still is."""


def _event_with(event: bytes, frame: bytes) -> bytes:
    """An event with other data."""
    kept = [line for line in event.splitlines() if line and not line.startswith(b"data")]
    return b"\n".join((*kept, *(b"data: " + line for line in frame.splitlines()))) + b"\n\n"


def _frame(_: bytes, frame: bytes) -> bytes:
    return frame


def _kept(head: Head) -> Head:
    """The headers that go on."""
    return [(name, value) for name, value in head if name.lower() not in _HOPS]


def _texts(head: Head) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in head)


async def _body(receive: Receive, most: int) -> bytes | None:
    """The whole body; None where it is too large, or its client has left."""
    parts, size, more = list[bytes](), 0, True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > most or message["type"] == "http.disconnect":
            return None
    return b"".join(parts)


async def _released() -> Decision:
    return Decision()


async def _while_there(work: Coroutine[Any, Any, None], receive: Receive) -> bool:
    """Do it as long as the client is there, which cancels by leaving; whether it came to its end."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(receive())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        return working.done()
    finally:
        working.cancel()
        leaving.cancel()
