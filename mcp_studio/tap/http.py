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
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable
from contextlib import aclosing
from itertools import count
from typing import TYPE_CHECKING, Any

from mcp_studio.errors import StudioError
from mcp_studio.tap.gate import Decision, error_answer, id_of
from mcp_studio.tap.recorder import Flow, Recorder
from mcp_studio.transport.base import HeaderList, Headers, HttpRequest, HttpResponse
from mcp_studio.transport.sse import SseParser
from mcp_studio.transport.stdio import frame_of

if TYPE_CHECKING:
    import httpx2

    from mcp_studio.transport.http_client import Client

_NEVER = re.compile(rb"(?!)")
_EVENT_END = re.compile(rb"\n\r?\n|\r\r")
"""A blank line (HTML standard, server-sent events)."""
_HOPS = frozenset(
    "host accept-encoding connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer"
    " transfer-encoding upgrade expect content-length".split()
)
"""Headers about one connection (RFC 9110 7.6.1), and those that are made anew."""
_CLIENTS = 500
"""Sessions and connections that are told apart at a time."""
Receive = Callable[[], Coroutine[Any, Any, dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Cut(Exception):
    """The connection to the client ends here, in whatever it is."""


class HttpTap:
    """An ASGI application in front of a server, which may be anywhere.

    Args:
        recorder: makes one for each client: their requests may have the same ids.
    """

    def __init__(self, client: Client, recorder: Callable[[], Recorder]) -> None:
        self.client, self._recorder, self._main = client, recorder, recorder()
        self.numbers = count(1)
        self._recorders: OrderedDict[object, Recorder] = OrderedDict()

    async def serve(self, port: int, ready: Callable[[str], None]) -> None:
        """Serve on loopback until a signal ends it; `ready` gets the URL to put into the client.

        Raises:
            StudioError: the port is taken.
        """
        import uvicorn

        tap, url = self._main.tap, self.client.url
        # The protocol is named because only then asyncio switches Nagle's algorithm off (40 ms per answer otherwise).
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
            try:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listening.bind(("127.0.0.1", port))
                listening.listen(256)
            except OSError as problem:
                raise StudioError(f"Port {port} cannot be used: {os.strerror(problem.errno or 0)}.") from None
            port = listening.getsockname()[1]
            tap.note(f"listening on port {port} for {url.copy_with(query=None)}")
            config = uvicorn.Config(
                self, http="h11", ws="none", lifespan="off", log_config=None, log_level="critical",
                server_header=False, date_header=False, proxy_headers=False, timeout_graceful_shutdown=0,
                h11_max_incomplete_event_size=self._main.limits.headers,
            )  # fmt: skip
            for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn ends at them, and then raises them once more
                signal.signal(number, lambda *_: None)
            ready(f"http://127.0.0.1:{port}{url.path}")
            await uvicorn.Server(config).serve([listening])
        for recorder in self._recorders.values():
            recorder.tap.ended()

    def recorder_of(self, key: object) -> Recorder:
        """That of a session, or of a connection of a client that has none."""
        recorder = self._recorders.pop(key, None) or self._recorder()
        self.begins(key, recorder)
        return recorder

    def begins(self, key: object, recorder: Recorder) -> None:
        """A session is recorded there; what comes on the same connection without it is another client's."""
        for other in [other for other, known in self._recorders.items() if known is recorder]:
            del self._recorders[other]
        self._recorders[key] = recorder
        if len(self._recorders) > _CLIENTS:
            self._recorders.popitem(last=False)

    def ends(self, key: object) -> None:
        """Its client has ended it."""
        if recorder := self._recorders.pop(key, None):
            recorder.tap.ended()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """One request."""
        head, query = _texts(scope["headers"]), scope["query_string"]
        named, hosts = dict(head), [f"{host}:{scope['server'][1]}" for host in ("127.0.0.1", "localhost")]
        if named.get("host") not in hosts or named.get("origin", hosts[0]).rpartition("//")[2] not in hosts:
            # Before the body: no web page may reach it.
            return await _say(send, 403, b"The tap answers to clients on this computer alone.\n")
        content, more = bytearray(), True
        while more and len(content) <= self._main.limits.message:
            message = await receive()
            content += message.get("body", b"")
            more = message.get("more_body", False)
        if more:
            return await _say(send, 413, b"The message is larger than the limit called message.\n")
        url, body = self.client.url.copy_with(raw_path=scope["raw_path"] + b"?" * bool(query) + query), bytes(content)
        mcp = url.path == self.client.url.path or b'"jsonrpc"' in body or "event-stream" in named.get("accept", "")
        request = HttpRequest(next(self.numbers), scope["method"], str(url), head, body, "" if mcp else "beside MCP")
        recorder = self.recorder_of(named.get("mcp-session-id") or tuple(scope["client"]))
        work = asyncio.create_task(_Exchange(self, recorder, send, request).run(url))
        left = asyncio.create_task(receive())
        await asyncio.wait((work, left), return_when=asyncio.FIRST_COMPLETED)
        left.cancel()
        if work.done():
            return work.result()
        work.cancel()  # its client cancels by leaving
        if (identity := id_of(body)) is not None:
            recorder.tap.gave_up(identity)


class _Exchange:
    """One request, and the way back."""

    def __init__(self, tap: HttpTap, recorder: Recorder, send: Send, request: HttpRequest) -> None:
        self._tap, self._recorder, self._send, self._request = tap, recorder, send, request
        self._number, self._purpose = request.exchange, request.purpose
        self._begun = False
        self._body = b""
        """Of the answer, where that is no stream."""

    async def run(self, url: httpx2.URL) -> None:
        """Pass it on, and its answer back."""
        client, body = self._tap.client, self._request.body
        frame = b"" if self._purpose else frame_of(body)
        self._recorder.tap.http_request(self._request._replace(body=b"" if frame else body))
        recorder = self._recorder
        decision = Decision()
        if frame and recorder.gate.closed and (caught := recorder.judge("out", frame, self._number)):
            decision = await caught
        elif frame and not recorder.gate.closed:
            recorder.record("out", frame, self._number)
        if decision.action == "answer":
            return await self._answer(200, decision.frame)
        if decision.action == "drop":
            await asyncio.Event().wait()  # the client hears nothing as long as it waits
        if decision.action == "cut":
            await self._begin(200, [])
            raise Cut
        try:
            request = client.request(self._request.method, url, _kept(self._request.headers), decision.frame or body)
            async with aclosing(await client.transport.handle_async_request(request)) as response:
                await self._respond(response)
        except client.problems as problem:
            why = f"{client.url.scheme}://{client.place} cannot be reached: {problem}".rstrip(": ")
            self._recorder.tap.http_response(HttpResponse(self._number, 0, "", (), why, purpose=self._purpose))
            if self._begun:
                raise Cut from None
            identity = id_of(frame)
            await self._answer(502, f"{why}\n".encode() if identity is None else error_answer(identity, why))

    async def _answer(self, status: int, body: bytes) -> None:
        """Answer in the server's place."""
        if body.startswith(b"{"):
            self._recorder.record("in", body, self._number)
        await _say(self._send, status, body)

    async def _respond(self, response: httpx2.Response) -> None:
        head, recorder, task = _texts(response.headers.raw), self._recorder, asyncio.current_task()
        facts = HttpResponse(self._number, response.status_code, response.reason_phrase, head, purpose=self._purpose)
        if not self._purpose:
            recorder.tap.http_response(facts)
        session = dict(self._request.headers).get("mcp-session-id")
        if self._request.method == "DELETE" and response.is_success:
            self._tap.ends(session)
        elif begun := response.headers.get("mcp-session-id", session):
            self._tap.begins(begun, recorder)
        streams = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        length = () if streams or recorder.gate.closed else ("content-length",)  # what is edited has another one
        await self._begin(response.status_code, _kept(head, length))
        end, read, made = (_EVENT_END, self._event, _event_with) if streams else (_NEVER, self._whole, _instead)
        cut = lambda: task and task.cancel()  # noqa: E731
        flow = Flow(recorder, "in", end, read, made, self._write, cut, self._number)
        flow.back = self._post
        async for data in response.aiter_raw():
            await flow.feed(data)
        await flow.finish()
        if flow.lost:
            await asyncio.Event().wait()
        if self._purpose:
            recorder.tap.http_response(facts._replace(body=self._body))
        await self._write(b"", more=False)

    async def _post(self, frame: bytes) -> None:
        """Answer what the server has asked on a stream, in the place of the client."""
        client = self._tap.client
        request = client.request("POST", client.url, _kept(self._request.headers), frame)
        async with aclosing(await client.transport.handle_async_request(request)):
            pass

    async def _begin(self, status: int, head: HeaderList) -> None:
        self._begun = True
        lines = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head]
        await self._send({"type": "http.response.start", "status": status, "headers": lines})

    async def _write(self, data: bytes, more: bool = True) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": more})

    def _whole(self, body: bytes) -> bytes:
        """The frame that a body is."""
        self._body = body
        return b"" if self._purpose else frame_of(body)

    def _event(self, event: bytes) -> bytes:
        """The frame in an event."""
        found = [one.data for one in SseParser(self._recorder.limits.message).feed(event)]
        return frame_of(found[0]) if found and isinstance(found[0], bytes) else b""


async def _say(send: Send, status: int, body: bytes) -> None:
    """Answer in the server's place, with a frame or a sentence."""
    kind = b"application/json" if body.startswith(b"{") else b"text/plain"
    head = [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


def _instead(_: bytes, frame: bytes) -> bytes:
    return frame


def _event_with(event: bytes, frame: bytes) -> bytes:
    """An event with other data."""
    kept = [line for line in event.splitlines() if line and not line.startswith(b"data")]
    return b"\n".join((*kept, *(b"data: " + line for line in frame.splitlines()))) + b"\n\n"


def _kept(head: Headers, also: Collection[str] = ()) -> HeaderList:
    """The headers that go on."""
    return [(name, value) for name, value in head if name.lower() not in _HOPS or name.lower() in also]


def _texts(head: Iterable[tuple[bytes, bytes]]) -> HeaderList:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head]
