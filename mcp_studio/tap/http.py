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
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from itertools import count
from typing import TYPE_CHECKING, Any

from mcp_studio.errors import StudioError
from mcp_studio.protocol.events import RequestId
from mcp_studio.tap.gate import Gate, error_answer, id_of
from mcp_studio.tap.recorder import Flow, Form, Recorder
from mcp_studio.transport.base import HeaderList, Headers, HttpRequest, HttpResponse
from mcp_studio.transport.sse import SseParser
from mcp_studio.transport.stdio import frame_of

if TYPE_CHECKING:
    import httpx2

    from mcp_studio.transport.http_client import Client

_WHOLE = re.compile(rb"(?!)")
"""Ends nothing: the body is one unit."""
_EVENT = re.compile(rb"\r\n\r\n|\n\n|\r\r")
"""Ends an event of a stream (HTML standard, server-sent events)."""
_HOPS = frozenset(
    "host accept-encoding connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer"
    " transfer-encoding upgrade expect content-length".split()
)
"""Headers about one connection (RFC 9110 7.6.1), and those that are made anew."""
_SESSIONS = 200
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Cut(Exception):
    """The connection to the client ends here, in whatever it is."""


class HttpTap:
    """An ASGI application in front of a server, which may be anywhere.

    Args:
        client: of the server.
        recorder: makes the recorder of each session: two clients may use the same ids.
    """

    def __init__(self, client: Client, recorder: Callable[[], Recorder], gate: Gate) -> None:
        self._client, self._make, self._gate = client, recorder, gate
        self._recorders = {"": recorder()}
        """By the session; that of the newest client without one is under the empty name."""
        self._numbers = count(1)

    async def serve(self, port: int, ready: Callable[[str], None]) -> None:
        """Serve on loopback until a signal ends it; `ready` gets the URL to put into the client.

        Raises:
            StudioError: the port is taken.
        """
        import uvicorn

        recorder, url = self._recorders[""], self._client.url
        try:
            listening = socket.create_server(("127.0.0.1", port))
        except OSError as problem:
            raise StudioError(f"Port {port} cannot be used: {os.strerror(problem.errno or 0)}.") from None
        with listening:
            port = listening.getsockname()[1]
            recorder.tap.begins()
            recorder.tap.note(f"listening on port {port} for {url.copy_with(query=None)}")
            ready(f"http://127.0.0.1:{port}{url.path}")
            config = uvicorn.Config(
                self, http="h11", ws="none", lifespan="off", log_config=None, log_level="critical",
                server_header=False, date_header=False, timeout_graceful_shutdown=0,
                h11_max_incomplete_event_size=recorder.limits.headers,
            )  # fmt: skip
            for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn ends at them, and then raises them once more
                signal.signal(number, lambda *_: None)
            await uvicorn.Server(config).serve([listening])
        recorder.tap.ended()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """One request."""
        head = _texts(scope["headers"])
        named = dict(head)
        hosts = [f"{host}:{scope['server'][1]}" for host in ("127.0.0.1", "localhost")]
        if named.get("host") not in hosts or named.get("origin", hosts[0]).rpartition("//")[2] not in hosts:
            # Before the body: no web page may reach it.
            return await _say(send, 403, b"The tap answers to clients on this computer alone.\n")
        body, more = bytearray(), True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._recorders[""].limits.message:
                return await _say(send, 413, b"The message is larger than the limit called message.\n")
        session, query = named.get("mcp-session-id", ""), scope["query_string"]
        new = not session and b'"initialize"' in body
        recorder = self._make() if new else self._recorders.get(session, self._recorders[""])
        url = self._client.url.copy_with(raw_path=scope["raw_path"] + b"?" * bool(query) + query)
        mcp = url.path == self._client.url.path or b'"jsonrpc"' in body or "event-stream" in named.get("accept", "")
        frame = bytes(body) if mcp and frame_of(body) else b""
        request = HttpRequest(
            next(self._numbers), scope["method"], str(url), head, b"" if frame else bytes(body),
            "" if mcp else "beside MCP",
        )  # fmt: skip
        recorder.tap.http_request(request)
        exchange = _Exchange(self._client, recorder, self._recorders, self._gate, send, request)
        work, left = asyncio.create_task(exchange.run(url, frame)), asyncio.create_task(receive())
        await asyncio.wait((work, left), return_when=asyncio.FIRST_COMPLETED)
        left.cancel()
        if work.done():
            return work.result()
        work.cancel()  # its client cancels by leaving
        recorder.forget(id_of(frame))


class _Exchange:
    """One request, and the way back."""

    def __init__(
        self, client: Client, recorder: Recorder, recorders: dict[str, Recorder], gate: Gate, send: Send,
        request: HttpRequest,
    ) -> None:  # fmt: skip
        self._client, self._recorder, self._recorders, self._gate = client, recorder, recorders, gate
        self._send, self._request = send, request
        self._begun = False
        self._body = b""
        """Of the answer, where that is no stream."""
        self._written = 0

    async def run(self, url: httpx2.URL, frame: bytes) -> None:
        """Pass it on, and its answer back."""
        client, number, body = self._client, self._request.exchange, frame or self._request.body
        entry = self._recorder.record("out", frame, number) if frame else None
        if entry and (caught := self._gate.catch(self._recorder.store, entry, frame)):
            decision = await caught
            if decision.action == "answer":
                self._recorder.record("in", decision.frame, number)
                return await _say(self._send, 200, decision.frame, b"application/json")
            if decision.action == "drop":
                await asyncio.Event().wait()  # the client hears nothing as long as it waits
            if decision.action == "cut":
                await self._begin(200, [])
                raise Cut
            body = decision.frame or body
        try:
            request = client.request(self._request.method, url, _kept(self._request.headers), body)
            async with aclosing(await client.transport.handle_async_request(request)) as response:
                await self._respond(response)
        except client.problems as problem:
            why = f"{client.url.scheme}://{client.place} cannot be reached: {problem}".rstrip(": ")
            await self._fail(why, id_of(frame))

    async def _fail(self, why: str, identity: RequestId | None) -> None:
        """There is no answer, or no more of it: say so."""
        number, purpose = self._request.exchange, self._request.purpose
        self._recorder.tap.http_response(HttpResponse(number, 0, "", (), why, purpose=purpose))
        if self._begun:
            raise Cut
        if identity is None:
            return await _say(self._send, 502, f"{why}\n".encode())
        frame = error_answer(identity, why)
        self._recorder.record("in", frame, number)
        await _say(self._send, 502, frame, b"application/json")

    async def _respond(self, response: httpx2.Response) -> None:
        head, task = _texts(response.headers.raw), asyncio.current_task()
        number, status, purpose = self._request.exchange, response.status_code, self._request.purpose
        facts = HttpResponse(number, status, response.reason_phrase, head, purpose=purpose)
        if not purpose:
            self._recorder.tap.http_response(facts)
        self._recorders[response.headers.get("mcp-session-id", "")] = self._recorder
        if len(self._recorders) > _SESSIONS:
            del self._recorders[next(iter(self._recorders))]
        await self._begin(status, head)
        streams = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        form = Form(_EVENT, self._event, _event_with) if streams else Form(_WHOLE, self._whole, lambda _, frame: frame)
        flow = Flow(self._recorder, self._gate, "in", form, self._write, lambda: task and task.cancel(), number)
        async for data in response.aiter_raw():
            await flow.feed(data)
        await flow.finish()
        if purpose:
            self._recorder.tap.http_response(facts._replace(body=self._body))
        if self._body and not self._written:
            await asyncio.Event().wait()  # it was dropped: the client hears nothing as long as it waits
        await self._write(b"", last=True)

    async def _begin(self, status: int, head: Headers) -> None:
        self._begun = True
        await self._send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [(name.encode(), value.encode()) for name, value in _kept(head)],
            }
        )

    async def _write(self, data: bytes, last: bool = False) -> None:
        self._written += len(data)
        await self._send({"type": "http.response.body", "body": data, "more_body": not last})

    def _whole(self, body: bytes) -> bytes:
        """The frame that a body is."""
        self._body = body
        return b"" if self._request.purpose else frame_of(body)

    def _event(self, event: bytes) -> bytes:
        """The frame in an event."""
        found = [one.data for one in SseParser(self._recorder.limits.message).feed(event)]
        return frame_of(found[0]) if found and isinstance(found[0], bytes) else b""


async def _say(send: Send, status: int, body: bytes, kind: bytes = b"text/plain") -> None:
    """Answer in the server's place."""
    head = [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


def _event_with(event: bytes, frame: bytes) -> bytes:
    """An event with other data."""
    kept = [line for line in event.splitlines() if line and not line.startswith(b"data")]
    return b"\n".join((*kept, *(b"data: " + line for line in frame.splitlines()))) + b"\n\n"


def _kept(head: Headers) -> HeaderList:
    """The headers that go on."""
    return [(name, value) for name, value in head if name.lower() not in _HOPS]


def _texts(head: Iterable[tuple[bytes, bytes]]) -> HeaderList:
    return [(name.decode("latin-1"), value.decode("utf-8", "replace")) for name, value in head]
