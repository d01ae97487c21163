"""The common part of the HTTP transports: headers, the session, and how a body becomes frames."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mcp_studio import jsontext
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConnectionLost, LimitExceeded, StudioError
from mcp_studio.limits import MB, Limits
from mcp_studio.protocol import message as jsonrpc
from mcp_studio.protocol.events import Outgoing, RequestId
from mcp_studio.protocol.lines import Oversize, answered_request, dropped_text, too_large
from mcp_studio.protocol.versions import META_VERSION, MODERN_VERSIONS
from mcp_studio.protocol.versions import NAMED as NAME_KEYS
from mcp_studio.protocol.views import encode_value
from mcp_studio.transport.base import HeaderList, Sink, Tap, Tasks
from mcp_studio.transport.edge import Edge, merged
from mcp_studio.transport.http_errors import SessionLost, refused, session_lost, sign_in, wants_sign_in, wrong_type
from mcp_studio.transport.http_response import Response
from mcp_studio.transport.sse import Cursor, SseParser

if TYPE_CHECKING:
    import httpx2

ACCEPT = "application/json, text/event-stream"
NAMED = frozenset({"tools/call", "prompts/get", "resources/read"})
"""Methods whose requests carry `Mcp-Name` (specification 2026-07-28, basic/transports/streamable-http)."""
FIRST_MODERN = MODERN_VERSIONS[0]
"""The first version without sessions."""
_LINGER = 1.0
"""Seconds for a server to end the stream after its answer, so that the connection can be reused."""
_ERROR_BODY, _ERROR_WAIT = MB, 5.0
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_METHOD_NOT_FOUND = re.compile(rb'"code"\s*:\s*-32601\b')
_SESSION = re.compile(rb"session", re.IGNORECASE)


def answered_ids(parsed: jsonrpc.Parsed) -> tuple[RequestId, ...]:
    """The ids of the requests that a frame answers, even an invalid one: the core reports what is wrong with it."""
    parts = (
        one.id for one in parsed.messages if isinstance(one, jsonrpc.Response | jsonrpc.Failure | jsonrpc.Malformed)
    )
    return tuple(identity for identity in parts if identity is not None)


def envelope(body: bytes) -> tuple[str, str, str]:
    """The method, subject (`Mcp-Name`) and version of a message; each is empty if it is missing or cannot be read."""
    message = jsontext.mapping(jsonrpc.parse(body).value)
    method, params = message.get("method"), jsontext.mapping(message.get("params"))
    if not isinstance(method, str):
        return "", "", ""
    target, version = params.get(NAME_KEYS.get(method, "")), jsontext.mapping(params.get("_meta")).get(META_VERSION)
    return method, target if isinstance(target, str) else "", version if isinstance(version, str) else ""


def error_frame(body: bytes, request_id: RequestId) -> bytes | None:
    """The JSON-RPC error in a body with an error status, as an answer to `request_id`; None if there is none.

    Servers put null or a constant there if they reject a request before reading its id; the HTTP exchange says which
    request the error is about.
    """
    try:
        message = jsontext.mapping(jsontext.loads(body, exact=True))
    except (jsontext.JsonProblem, LimitExceeded):
        return None
    if "jsonrpc" not in message or not isinstance(message.get("error"), dict) or "method" in message:
        return None
    if message.get("id") == request_id and type(message.get("id")) is type(request_id):
        return body
    return jsontext.dumps({**message, "id": request_id})


def modern_headers(out: Outgoing) -> HeaderList:
    """The headers of a message of the stateless era, besides its content type."""
    headers = [("MCP-Protocol-Version", out.version), ("Mcp-Method", encode_value(out.method))]
    if out.method in NAMED or (out.target and out.method.startswith("tasks/")):
        headers.append(("Mcp-Name", encode_value(out.target)))
    return headers + list(out.headers)


def legacy_headers(session: str, version: str) -> HeaderList:
    """The session and version headers of messages of an older era after `initialize`, without empty ones."""
    headers = (("Mcp-Session-Id", session), ("MCP-Protocol-Version", version))
    return [(name, value) for name, value in headers if value]


def is_json(media_type: str) -> bool:
    """Whether a content type means JSON."""
    return media_type == "application/json" or media_type.endswith("+json")


class PendingRequest:
    """A request that waits for its answer."""

    def __init__(self, out: Outgoing, request_id: RequestId) -> None:
        self.out = out
        self.id = request_id
        self.answered = False
        self.task: asyncio.Task[None]
        """The task that sends the request."""


class HttpConnection:
    """The base of the transports over HTTP: delivery of frames, the session, and the end."""

    def __init__(self, config: ServerConfig, limits: Limits, tap: Tap, edge: Edge | None = None) -> None:
        self.config = config
        self.edge = edge or Edge(config, limits, tap)
        self.limits = limits
        self.tap = tap
        self.tasks = Tasks(self.unforeseen)
        self.sink: Sink | None = None
        """Receives frames; None before opening and after the end."""
        self.session = ""
        self.version = ""
        self.endpoint: httpx2.URL | None = None
        """The address for messages, if it is not the configured one (HTTP+SSE)."""
        self.waiting: dict[RequestId, PendingRequest] = {}
        self.lost: StudioError | None = None
        """Why the connection has ended by itself."""
        self.opening: asyncio.Future[Any] | None = None
        """Done when the exchange that carries the connection is open; None for Streamable HTTP."""
        self._closing: asyncio.Task[None] | None = None

    # ------------------------------------------------------------------ as a transport

    async def hold(self, sink: Sink, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start the exchange that carries the connection, wait for `opening`, and return the exchange's task.

        Raises:
            StudioError: why the connection did not open.
        """
        self.sink = sink
        self.opening = asyncio.get_running_loop().create_future()
        task = self.tasks.spawn(work)
        try:
            await asyncio.shield(self.opening)
        except BaseException:
            self.sink = None
            task.cancel()
            raise
        return task

    def negotiated(self, version: str) -> None:
        """The version is negotiated: from now on requests have their own deadlines."""
        self.version = version

    def abandon(self, request_id: RequestId) -> None:
        """The caller no longer waits for this request: close its exchange."""
        waiting = self.waiting.get(request_id)
        if waiting is not None:
            waiting.task.cancel()

    async def close(self) -> None:
        """End everything within `limits.close`; it may be called more than once."""
        if self._closing is None:
            self.sink = None
            self._closing = asyncio.create_task(self.finish(self.limits.close / 3))
        await asyncio.shield(self._closing)

    async def finish(self, share: float) -> None:
        """End all tasks and connections; each step has `share` seconds."""
        await self.tasks.end(share)
        await self.edge.close(share)

    def check(self) -> None:
        """Raise ConnectionLost if nothing can be sent."""
        if self.sink is None:
            if isinstance(self.lost, ConnectionLost):
                raise self.lost
            raise ConnectionLost(self.lost.message if self.lost else f"The connection to {self.config.name} has ended.")

    def end(self, error: StudioError) -> None:
        """The connection could not be opened, or ends by itself: report it once, and stop everything."""
        if self.opening is not None and not self.opening.done():
            return self.opening.set_exception(error)
        sink, self.sink = self.sink, None
        self.session, self.lost = "", self.lost or error
        self.tasks.cancel()
        if sink is not None:
            sink.closed(error)

    def failed(self, out: Outgoing, error: StudioError) -> None:
        """Report that a message got no answer."""
        if self.sink is not None:
            self.sink.undelivered(out, error)
        if isinstance(error, SessionLost):
            self.end(error)

    def unforeseen(self, out: Outgoing | None, error: StudioError) -> None:
        """Report the unexpected error of a task: see `Tasks`."""
        self.tap.note(error.message)
        if out is not None:
            self.failed(out, error)

    # ------------------------------------------------------------------ out

    def headers(self, out: Outgoing) -> HeaderList:
        """The headers of the POST that carries `out`."""
        # In HTTP+SSE the POST brings no answer; not accepting a stream distinguishes these exchanges from others.
        accept = ACCEPT if self.endpoint is None else "application/json"
        base = [("Accept", accept), ("Content-Type", "application/json")]
        if out.modern:
            return merged(base, modern_headers(out))
        if out.method == "initialize":
            return base
        return merged(base, legacy_headers(self.session, out.version or self.version), list(out.headers))

    def raw_headers(self, data: bytes) -> HeaderList:
        """The headers of the POST that carries a hand-written body: those of a message of its kind and version."""
        method, target, version = envelope(data)
        version = version or self.version
        modern = version >= FIRST_MODERN
        return self.headers(Outgoing(data, "request", None, method if modern else "", target, version, modern))

    def stream_headers(self, cursor: Cursor) -> HeaderList:
        """The headers of a GET that opens or resumes a stream."""
        resume = [("Last-Event-ID", cursor.last_id)] if cursor.last_id else []
        return merged([("Accept", "text/event-stream")], legacy_headers(self.session, self.version), resume)

    async def post(self, out: Outgoing, work: Coroutine[Any, Any, None], waiting: PendingRequest | None = None) -> None:
        """Send one message in its own task; a request replaces an earlier one with its id.

        This waits only for `notifications/initialized`, so that it arrives first.
        """
        if waiting is not None:
            self.abandon(waiting.id)
            self.waiting[waiting.id] = waiting
        task = self.tasks.spawn(work, out, then=lambda _: self._forget(waiting))
        if waiting is not None:
            waiting.task = task
        elif out.method == "notifications/initialized":
            await asyncio.wait((task,), timeout=self.limits.write)

    def _forget(self, waiting: PendingRequest | None) -> None:
        if waiting is not None and self.waiting.get(waiting.id) is waiting:
            del self.waiting[waiting.id]

    async def tell(self, out: Outgoing) -> None:
        """Post a message whose only answer here is a status.

        Until the version is negotiated the exchange is part of connecting; then requests have their own deadlines.
        """
        head = None if out.kind == "request" and self.version else self.edge.connect
        post = self.edge.exchange("POST", self.headers(out), out.frame, head=head, url=self.endpoint)
        try:
            async with post as answer:
                if not 200 <= answer.status < 300:
                    await self.refusal(out, answer)
                elif answer.status != 204 and (body := await self.error_body(answer)) and is_json(answer.media_type):
                    # There should be no body (202). The tap shows it, and it counts if it answers the request.
                    self.tap.received(body, answer.exchange)
                    if out.kind == "request" and out.id in answered_ids(jsonrpc.parse(body)):
                        self.hand_over(body)
        except StudioError as error:
            self.failed(out, error)

    async def send_raw(self, data: bytes, *, newlines: bool = False) -> None:
        """Post a body unchanged; see `Transport.send_raw`."""
        self.check()
        head: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = self.tasks.spawn(self._post_raw(data, self.raw_headers(data), head))
        await asyncio.wait((head, task), timeout=self.limits.write, return_when=asyncio.FIRST_COMPLETED)
        if head.done():
            head.result()
        head.cancel()

    async def _post_raw(self, data: bytes, lines: HeaderList, head: asyncio.Future[None]) -> None:
        try:
            async with self.edge.exchange("POST", lines, data, head=None, url=self.endpoint, once=True) as answer:
                if not head.done():
                    head.set_result(None)
                if not self.session and envelope(data)[0] == "initialize":
                    # A hand-written handshake begins a session too, but does not replace one.
                    self.begin_session(Outgoing(data, "request", None, "initialize"), answer)
                if answer.media_type == "text/event-stream":
                    await self.pump(answer, Cursor())
                elif body := await answer.read(self.limits.message):
                    self.tap.received(body, answer.exchange)
                    if is_json(answer.media_type):
                        self.hand_over(body)
        except StudioError as error:
            if head.done():
                self.tap.note(f"The answer to the frame written by hand broke off: {error.message}")
            else:
                head.set_exception(error)

    def begin_session(self, out: Outgoing, answer: Response) -> None:
        """Take the session id from the answer to a handshake."""
        if out.method != "initialize" or out.modern:
            return
        session = answer.header("mcp-session-id")
        if session and not _VISIBLE.fullmatch(session):  # specification 2025-06-18, basic/transports
            self.tap.note("The session id that the server gave has characters that are not allowed; it is ignored.")
            return
        self.session = session

    async def refusal(self, out: Outgoing, answer: Response) -> None:
        """Deliver the JSON-RPC error that a failure carries, or raise what the status means."""
        body = await self.error_body(answer)
        status, place = answer.status, self.edge.place
        if status == 403:
            raise refused(answer, place, body)  # HTTP refuses access, whatever JSON-RPC error the body has.
        ended = self.session and not out.modern and _session_gone(status, body)
        if ended or (self.endpoint is not None and status in (400, 404, 410) and _SESSION.search(body)):
            raise session_lost(answer, place, body)
        if out.kind == "request" and out.id is not None and (frame := error_frame(body, out.id)) is not None:
            self.tap.received(body, answer.exchange)
            self.hand_over(frame)
            return
        raise refused(answer, place, body)

    # ------------------------------------------------------------------ in

    def deliver(self, frame: bytes, exchange: int) -> None:
        """Report a frame to the tap, then hand it over."""
        self.tap.received(frame, exchange)
        self.hand_over(frame)

    def hand_over(self, frame: bytes) -> None:
        """Give a frame to the sink, and mark the requests that it answers."""
        parsed = self.sink.frame(frame) if self.sink is not None else jsonrpc.parse(frame, self.limits)
        for request_id in answered_ids(parsed):
            stream = self.waiting.get(request_id)
            if stream is None and isinstance(request_id, str) and request_id.isdecimal() and len(request_id) < 19:
                stream = self.waiting.get(int(request_id))  # the core accepts this too, and reports it
            if stream is not None:
                stream.answered = True

    async def pump(self, answer: Response, cursor: Cursor, waiting: PendingRequest | None = None) -> None:
        """Deliver the events of a stream until it ends, or until shortly after `waiting` was answered.

        Raises:
            HttpLost: the connection ended before the body did.
            LimitExceeded: an event on the stream of `waiting` is too large.
        """
        parser = SseParser(self.limits.message, cursor)
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as linger:
                while chunk := await answer.chunk():
                    for event in parser.feed(chunk):
                        if isinstance(event.data, Oversize):
                            self.too_long(event.data, waiting)
                        elif event.kind == "message":
                            self.deliver(event.data, answer.exchange)
                        else:
                            self.tap.received(event.data, answer.exchange)  # not for us, but the trace shows it
                        await answer.breathe()
                    if parser.held > self.limits.message and waiting is not None:
                        self.too_long(Oversize(b"", b"", parser.held), waiting)
                    if waiting is not None and waiting.answered and linger.when() is None:
                        linger.reschedule(asyncio.get_running_loop().time() + _LINGER)

    def too_long(self, message: Oversize, waiting: PendingRequest | None = None) -> None:
        """Report a message that was dropped for its size; if its ends show the request that it answers, that one fails.

        Raises:
            LimitExceeded: the message came on the stream of `waiting`, so it answers that request.
        """
        self.tap.note(dropped_text(message, self.limits.message))
        if waiting is not None:
            raise too_large(message, self.limits.message)
        if self.sink is not None and (out := answered_request(message)):
            self.sink.undelivered(out, too_large(message, self.limits.message))

    async def error_body(self, answer: Response) -> bytes:
        """The body of a failure, within bounds of time and size.

        Raises:
            HttpSignIn: the server requires other credentials.
        """
        body = await answer.beginning(_ERROR_BODY, _ERROR_WAIT)
        if wants_sign_in(answer):
            raise sign_in(answer, self.edge.place, body, had_credentials=self.edge.credentials)
        return body

    async def expect_stream(self, answer: Response) -> bytes | None:
        """None if the answer is an event stream, else its body.

        Raises:
            HttpSignIn: the server requires other credentials.
            HttpBroken: the answer is a success of another type.
        """
        if answer.status == 200 and answer.media_type == "text/event-stream":
            return None
        body = await self.error_body(answer)
        if 200 <= answer.status < 300:
            raise wrong_type(answer, self.edge.place, body, wanted="an event stream")
        return body


def _session_gone(status: int, body: bytes) -> bool:
    """Whether a failure means that the session is unknown.

    The specification says so of 404, but a gateway also answers an unknown method with it. Servers based on the
    TypeScript examples send 400 and say it in words; 410 means the same more strongly.
    """
    if status in (404, 410):
        return _METHOD_NOT_FOUND.search(body) is None
    return status == 400 and b'"error"' in body and _SESSION.search(body) is not None
