"""The tap of a server at a URL: clients on this computer connect to the tap, which passes their requests to the server.

Bodies pass byte for byte, and so do heads, except for `Host`, headers about a single connection, and
`Accept-Encoding`: a compressed answer could not be recorded.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable
from contextlib import aclosing
from functools import partial
from itertools import count

from mcp_studio.gateway.http import Send, bound, hosts_of, listen, own_origin, say
from mcp_studio.tap.gate import Decision, error_answer, id_of
from mcp_studio.tap.recorder import BODY, EVENT, Flow, Recorder, frame_in_event
from mcp_studio.transport.base import HeaderList, HttpRequest, HttpResponse, Message, Receive, body_of
from mcp_studio.transport.http_client import HttpClient
from mcp_studio.transport.stdio import frame_of

_HOPS = frozenset(
    "host accept-encoding connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer"
    " transfer-encoding upgrade expect content-length".split()
)
"""Headers about a single connection (RFC 9110 7.6.1), and headers that the tap makes itself."""
_CLIENTS = 500
"""Sessions and connections that have a recorder of their own at the same time."""


async def start(client: HttpClient, recorder: Callable[[], Recorder], port: int, ready: Callable[[str], None]) -> None:
    """Serve on loopback until a signal arrives; `ready` gets the URL to put into the client.

    Args:
        recorder: makes a recorder for one client; each client has its own, because their request ids may be the same.

    Raises:
        UsageError: the port is taken.
    """
    listening = bound("127.0.0.1", port)
    port, url = listening.getsockname()[1], client.url
    recorder().note(f"listening on port {port} for {url.copy_with(query=None)}")
    for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn stops at these signals, and then raises them once more
        signal.signal(number, lambda *_: None)
    ready(str(url.copy_with(scheme="http", netloc=f"127.0.0.1:{port}".encode())))
    tap = HttpTap(client, recorder, hosts_of(listening, ()))
    await listen(tap, listening, lifespan="off", date_header=False, log_level="critical")
    for one in tap.recorders.values():
        one.tap.ended()


class HttpTap:
    """An ASGI application in front of a server at any URL."""

    def __init__(self, client: HttpClient, recorder: Callable[[], Recorder], hosts: Iterable[str]) -> None:
        self.client, self._recorder, self._hosts = client, recorder, frozenset(hosts)
        self._numbers = count(1)
        self.recorders: dict[object, Recorder] = {}
        """By session, or by connection for a client without a session; the most recently used is last."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        head = _texts(scope["headers"])
        headers = dict(head)
        if headers.get("host") not in self._hosts or not own_origin(headers.get("origin", ""), self._hosts):
            # Refuse before reading the body, so that no web page can reach the tap.
            return await say(send, 403, "The tap answers to clients on this computer alone.\n")
        key, query = headers.get("mcp-session-id") or tuple(scope["client"]), scope["query_string"]
        recorder = self.recorders[key] = self.recorders.pop(key, None) or self._recorder()
        if len(self.recorders) > _CLIENTS:
            self.recorders.pop(next(iter(self.recorders))).tap.ended()
        body = await body_of(receive, recorder.limits.message, recorder.limits.body)
        if isinstance(body, int):
            return await say(send, body, "The message is larger than the limit called message, or took too long.\n")
        url = self.client.url.copy_with(raw_path=scope["raw_path"] + b"?" * bool(query) + query)
        purpose = "" if url.path == self.client.url.path or b'"jsonrpc"' in body else "beside MCP"
        request = HttpRequest(next(self._numbers), scope["method"], str(url), head, body, purpose)
        exchange = _Exchange(self, recorder, key, send, request)
        work, left = asyncio.create_task(exchange.run()), asyncio.ensure_future(receive())
        left.add_done_callback(lambda _: work.cancel())  # the client cancels by disconnecting
        await asyncio.wait((work,))
        left.cancel()
        if work.cancelled():
            if (identity := id_of(body)) is not None:
                recorder.tap.gave_up(identity)
            await exchange.begin(200, [])  # an answer without an end is cut off


class _Exchange:
    """One request, and its answer."""

    def __init__(self, tap: HttpTap, recorder: Recorder, key: object, send: Send, request: HttpRequest) -> None:
        self._tap, self._recorder, self._key, self._send, self._request = tap, recorder, key, send, request
        self._head = [line for line in request.headers if line[0] not in _HOPS]
        self._read: Callable[[bytes], bytes] = (lambda _: b"") if request.purpose else frame_of
        self._frame = self._read(request.body)
        self._held, self._begun = recorder.gate.closed, False

    async def run(self) -> None:
        """Pass the request on, and the answer back; if that fails, the client gets an error."""
        request, recorder, task = self._request, self._recorder, asyncio.current_task()
        number, client = request.exchange, self._tap.client
        self._cut = lambda: task and task.cancel()
        try:
            decision = Decision()
            if self._held:
                recorder.head(request, self._frame)
                caught = recorder.judge("out", self._frame, number) if self._frame else None
                decision = await recorder.settle("out", caught, partial(say, self._send, 200), self._cut, number)
            if decision.action == "release":
                await self._respond(decision.frame or request.body)
            elif decision.action == "drop":
                await asyncio.Event().wait()  # the client gets no answer, however long it waits
        except Exception as problem:
            place = f"{client.url.scheme}://{client.place}"
            why = f"{place} gives no answer" if isinstance(problem, client.problems) else "The tap failed"
            why = f"{why}: {str(problem) or type(problem).__name__}"
            recorder.head(HttpResponse(number, 0, "", (), why, purpose=request.purpose))
            if (identity := id_of(self._frame)) is not None:
                recorder.record("in", error_answer(identity, why), number)
            if not self._begun:  # an answer without an end is cut off
                await say(self._send, 502, f"{why}\n" if identity is None else error_answer(identity, why))

    async def _trace(self, event: str, _: object) -> None:
        """Record the request after it was sent, because recording takes time."""
        if event == "http11.send_request_body.complete" and not self._held:
            self._recorder.head(self._request, self._frame)
            if self._frame:
                self._recorder.record("out", self._frame, self._request.exchange)

    async def _post(self, frame: bytes) -> None:
        """Send an answer to a request that the server sent on a stream, in place of the client."""
        client = self._tap.client
        request = client.request("POST", client.url, self._head, frame)
        await (await client.transport.handle_async_request(request)).aclose()

    async def _respond(self, body: bytes) -> None:
        client, recorder, source = self._tap.client, self._recorder, self._request
        request = client.request(source.method, client.url.join(source.url), self._head, body)
        request.extensions["trace"] = self._trace
        async with aclosing(await client.transport.handle_async_request(request)) as response:
            headers, head, code = response.headers, response.headers.raw, response.status_code
            facts = HttpResponse(source.exchange, code, response.reason_phrase, _texts(head), purpose=source.purpose)

            def whole(body: bytes) -> bytes:
                """Record a whole body, and return its frame."""
                recorder.head(facts._replace(body=body), frame := self._read(body))
                return frame

            if session := headers.get("mcp-session-id"):  # later requests on this connection may be of another client
                self._tap.recorders[session] = self._tap.recorders.pop(self._key, recorder)
            flow = Flow(recorder, "in", BODY, whole, self._write, self._cut, exchange=source.exchange)
            if headers.get("content-type", "").lower().startswith("text/event-stream"):
                recorder.head(facts)
                flow.unit, flow.read, flow.back = EVENT, frame_in_event, self._post
            # An edited answer has another length.
            hops = _HOPS if flow.unit is EVENT or recorder.gate.closed else _HOPS - {"content-length"}
            await self.begin(code, [line for line in head if line[0].decode("latin-1").lower() not in hops])
            async for data in response.aiter_raw():
                await flow.feed(data)
            await flow.finish()
            if flow.lost:
                await asyncio.Event().wait()
            await self._send({"type": "http.response.body"})

    async def begin(self, status: int, head: list[tuple[bytes, bytes]]) -> None:
        """Write the head of the answer, unless it is already written."""
        if not self._begun:
            self._begun = True
            await self._send({"type": "http.response.start", "status": status, "headers": head})

    async def _write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})


def _texts(head: Iterable[tuple[bytes, bytes]]) -> HeaderList:
    return [(name.decode("latin-1"), value.decode("utf-8", "replace")) for name, value in head]
