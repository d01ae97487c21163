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
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import aclosing
from itertools import count
from typing import TYPE_CHECKING, Any

from mcp_studio.errors import StudioError
from mcp_studio.tap.gate import error_answer, id_of
from mcp_studio.tap.recorder import Flow, Recorder
from mcp_studio.transport.base import HeaderList, HttpRequest, HttpResponse
from mcp_studio.transport.sse import SseParser
from mcp_studio.transport.stdio import frame_of

if TYPE_CHECKING:
    import httpx2

    from mcp_studio.transport.http_client import Client

_EVENT_END = re.compile(rb"\n\r?\n|\r\r")
"""A blank line (HTML standard, server-sent events)."""
_HOPS = frozenset(
    b"host accept-encoding connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer"
    b" transfer-encoding upgrade expect content-length".split()
)
"""Headers about one connection (RFC 9110 7.6.1), and those that are made anew."""
_CLIENTS = 500
"""Sessions and connections that are told apart at a time."""
Raw = list[tuple[bytes, bytes]]
Receive = Callable[[], Coroutine[Any, Any, dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class HttpTap:
    """An ASGI application in front of a server, which may be anywhere.

    Args:
        recorder: makes one for each client: their requests may have the same ids.
    """

    def __init__(self, client: Client, recorder: Callable[[], Recorder]) -> None:
        self.client, self._recorder, self._main = client, recorder, recorder()
        self._numbers = count(1)
        self.recorders: dict[object, Recorder] = {}
        """By session, or by connection for a client that has none; what was used last is last."""

    async def serve(self, port: int, ready: Callable[[str], None]) -> None:
        """Serve on loopback until a signal ends it; `ready` gets the URL to put into the client.

        Raises:
            StudioError: the port is taken.
        """
        import uvicorn

        url = self.client.url
        try:  # made anew from its number, it knows its protocol: only then asyncio switches Nagle's algorithm off
            listening = socket.socket(fileno=socket.create_server(("127.0.0.1", port), backlog=256).detach())
        except OSError as problem:
            raise StudioError(f"Port {port} cannot be used: {os.strerror(problem.errno or 0)}.") from None
        port = listening.getsockname()[1]
        self._main.note(f"listening on port {port} for {url.copy_with(query=None)}")
        config = uvicorn.Config(
            self, http="h11", ws="none", lifespan="off", log_config=None, log_level="critical", server_header=False,
            date_header=False, proxy_headers=False, timeout_graceful_shutdown=0,
        )  # fmt: skip
        for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn ends at them, and then raises them once more
            signal.signal(number, lambda *_: None)
        ready(f"http://127.0.0.1:{port}{url.path}")
        await uvicorn.Server(config).serve([listening])
        for recorder in self.recorders.values():
            recorder.tap.ended()

    async def __call__(
        self, scope: dict[str, Any], receive: Callable[[], Coroutine[Any, Any, Any]], send: Send
    ) -> None:
        """One request."""
        named, port = dict(_texts(scope["headers"])), scope["server"][1]
        hosts = f"127.0.0.1:{port}", f"localhost:{port}"
        if named.get("host") not in hosts or named.get("origin", hosts[0]).rpartition("//")[2] not in hosts:
            # Before the body: no web page may reach it.
            return await _say(send, 403, b"The tap answers to clients on this computer alone.\n")
        content, more = bytearray(), True
        while more:
            message = await receive()
            content += message.get("body", b"")
            more = message.get("more_body", False)
            if message["type"] == "http.disconnect" or len(content) > self._main.limits.message:
                return await _say(send, 413, b"The message is larger than the limit called message.\n")
        key, query = named.get("mcp-session-id") or tuple(scope["client"]), scope["query_string"]
        recorder = self.recorders[key] = self.recorders.pop(key, None) or self._recorder()
        if len(self.recorders) > _CLIENTS:
            self.recorders.pop(next(iter(self.recorders))).tap.ended()
        url, body = self.client.url.copy_with(raw_path=scope["raw_path"] + b"?" * bool(query) + query), bytes(content)
        purpose = "" if url.path == self.client.url.path or b'"jsonrpc"' in body else "beside MCP"
        request = HttpRequest(next(self._numbers), scope["method"], str(url), _texts(scope["headers"]), body, purpose)
        exchange = _Exchange(self, recorder, key, send, request, url)
        work, left = asyncio.create_task(exchange.run()), asyncio.create_task(receive())
        left.add_done_callback(lambda _: work.cancel())  # its client cancels by leaving
        await asyncio.wait((work,))
        left.cancel()
        if not work.cancelled():
            return work.result()
        if (identity := id_of(body)) is not None:
            recorder.tap.gave_up(identity)
        await exchange.begin(200, [])  # what has no end is cut off


class _Exchange:
    """One request, and the way back."""

    def __init__(
        self, tap: HttpTap, recorder: Recorder, key: object, send: Send, request: HttpRequest, url: httpx2.URL
    ) -> None:
        self._tap, self._recorder, self._key, self._send, self._request = tap, recorder, key, send, request
        self._url, self._head = url, _texts(_kept((name.encode(), value.encode()) for name, value in request.headers))
        self._begun = False
        self._sent = asyncio.Event()
        """The request is on its way, or was in vain."""
        self._answering: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Pass it on, and its answer back."""
        number, recorder, body = self._request.exchange, self._recorder, self._request.body
        frame, task = self._frame(body), asyncio.current_task()
        recorder.tap.http_request(self._request._replace(body=b"" if frame else body))
        self._cut = lambda: task and task.cancel()
        flow = Flow(recorder, "out", None, self._frame, _instead, self._pass_on, self._cut, self._answer, number)
        await flow.feed(body)
        try:
            await flow.finish()
            if flow.lost:
                await asyncio.Event().wait()  # the client hears nothing as long as it waits
            if self._answering:
                await self._answering
        except self._tap.client.problems as problem:
            url = self._tap.client.url
            why = f"{url.scheme}://{self._tap.client.place} cannot be reached: {problem}".rstrip(": ")
            recorder.tap.http_response(HttpResponse(number, 0, "", (), why, purpose=self._request.purpose))
            if self._begun:
                return  # what has no end is cut off
            if (identity := id_of(frame)) is None:
                return await _say(self._send, 502, f"{why}\n".encode())
            recorder.record("in", answer := error_answer(identity, why), number)
            await _say(self._send, 502, answer)

    def _frame(self, body: bytes) -> bytes:
        return b"" if self._request.purpose else frame_of(body)

    async def _answer(self, frame: bytes) -> None:
        await _say(self._send, 200, frame)

    async def _pass_on(self, body: bytes) -> None:
        """Send the request; returns once it is under way: what is done with it then takes its time."""
        self._answering = asyncio.create_task(self._respond(body))
        self._answering.add_done_callback(lambda _: self._sent.set())
        await self._sent.wait()

    async def _trace(self, event: str, _: object) -> None:
        if event == "http11.send_request_body.complete":
            self._sent.set()

    async def _post(self, frame: bytes) -> None:
        """Answer what the server has asked on a stream, in the place of the client."""
        client = self._tap.client
        request = client.request("POST", client.url, self._head, frame)
        await (await client.transport.handle_async_request(request)).aclose()

    async def _respond(self, body: bytes) -> None:
        client, recorder, number = self._tap.client, self._recorder, self._request.exchange
        request = client.request(self._request.method, self._url, self._head, body)
        request.extensions["trace"] = self._trace
        async with aclosing(await client.transport.handle_async_request(request)) as response:
            raw, code, reason = response.headers.raw, response.status_code, response.reason_phrase
            facts = HttpResponse(number, code, reason, _texts(raw), purpose=self._request.purpose)

            def whole(body: bytes) -> bytes:
                """The frame that a body is."""
                frame = self._frame(body)
                recorder.tap.http_response(facts._replace(body=b"" if frame else body))
                return frame

            if session := response.headers.get(
                "mcp-session-id"
            ):  # what else comes on its connection is of another client
                self._tap.recorders[session] = self._tap.recorders.pop(self._key, recorder)
            flow = Flow(recorder, "in", None, whole, _instead, self._write, self._cut, exchange=number)
            if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
                recorder.tap.http_response(facts)
                flow.end, flow.read, flow.made, flow.back = _EVENT_END, self._event, _event_with, self._post
            # What is edited has another length.
            length = () if flow.end or recorder.gate.closed else (b"content-length",)
            await self.begin(code, _kept(raw, length))
            async for data in response.aiter_raw():
                await flow.feed(data)
            await flow.finish()
            if flow.lost:
                await asyncio.Event().wait()
            await self._send({"type": "http.response.body"})

    async def begin(self, status: int, head: Raw) -> None:
        """Write the head of the answer, once."""
        if not self._begun:
            self._begun = True
            await self._send({"type": "http.response.start", "status": status, "headers": head})

    async def _write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    def _event(self, event: bytes) -> bytes:
        """The frame in an event."""
        found = next(SseParser(self._recorder.limits.message).feed(event), None)
        return frame_of(found.data) if found and isinstance(found.data, bytes) else b""


def _instead(_: bytes, frame: bytes) -> bytes:
    return frame


async def _say(send: Send, status: int, body: bytes) -> None:
    """Answer in the server's place, with a frame or a sentence."""
    kind = b"application/json" if body.startswith(b"{") else b"text/plain"
    head = [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


def _event_with(event: bytes, frame: bytes) -> bytes:
    """An event with other data."""
    kept = [line for line in event.splitlines() if line and not line.startswith(b"data")]
    return b"\n".join((*kept, *(b"data: " + line for line in frame.splitlines()))) + b"\n\n"


def _kept(head: Iterable[tuple[bytes, bytes]], also: Iterable[bytes] = ()) -> Raw:
    """The headers that go on."""
    return [(name, value) for name, value in head if name.lower() not in _HOPS or name.lower() in also]


def _texts(head: Iterable[tuple[bytes, bytes]]) -> HeaderList:
    return [(name.decode("latin-1"), value.decode("utf-8", "replace")) for name, value in head]
