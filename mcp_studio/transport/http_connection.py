"""What the HTTP exchanges of one connection share: headers, the session, and how a body becomes frames."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
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
"""Seconds a server gets to end the stream after its answer, so that the connection can be used again."""
_ERROR_BODY, _ERROR_WAIT = MB, 5.0
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_METHOD_NOT_FOUND = re.compile(rb'"code"\s*:\s*-32601\b')
_SESSION = re.compile(rb"session", re.IGNORECASE)


def answered(parsed: jsonrpc.Parsed) -> tuple[RequestId, ...]:
    """Ids of the requests that a frame answers, also where it cannot be read: the core says what is wrong then."""
    found = (
        one.id for one in parsed.messages if isinstance(one, jsonrpc.Response | jsonrpc.Failure | jsonrpc.Malformed)
    )
    return tuple(identity for identity in found if identity is not None)


def envelope(body: bytes) -> tuple[str, str, str]:
    """Method, subject (`Mcp-Name`) and version of a message; empty where it has none, or cannot be read."""
    message = jsontext.mapping(jsonrpc.parse(body).value)
    method, params = message.get("method"), jsontext.mapping(message.get("params"))
    if not isinstance(method, str):
        return "", "", ""
    target, version = params.get(NAME_KEYS.get(method, "")), jsontext.mapping(params.get("_meta")).get(META_VERSION)
    return method, target if isinstance(target, str) else "", version if isinstance(version, str) else ""


def error_frame(body: bytes, request_id: RequestId) -> bytes | None:
    """The JSON-RPC error that a body with an error status holds, made to answer `request_id`; None if it is none.

    Servers put null or a constant there when they reject a request before reading its id; the HTTP exchange says
    which request it is about.
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
    """What a message of the stateless era says in headers besides its content type."""
    headers = [("MCP-Protocol-Version", out.version), ("Mcp-Method", encode_value(out.method))]
    if out.method in NAMED or (out.target and out.method.startswith("tasks/")):
        headers.append(("Mcp-Name", encode_value(out.target)))
    return headers + list(out.headers)


def legacy_headers(session: str, version: str) -> HeaderList:
    """Session and version, as every message of an older era after `initialize` says them; empty ones are left out."""
    headers = (("Mcp-Session-Id", session), ("MCP-Protocol-Version", version))
    return [(name, value) for name, value in headers if value]


def is_json(media_type: str) -> bool:
    """Whether a content type says JSON."""
    return media_type == "application/json" or media_type.endswith("+json")


class Waiting:
    """A request that has not been answered."""

    def __init__(self, out: Outgoing, request_id: RequestId) -> None:
        self.out = out
        self.id = request_id
        self.answered = False
        self.task: asyncio.Task[None]
        """What sends it."""


class HttpConnection:
    """What the transports over HTTP have in common: where frames go, the session, and the ends."""

    def __init__(self, config: ServerConfig, limits: Limits, tap: Tap, edge: Edge | None = None) -> None:
        self.config = config
        self.edge = edge or Edge(config, limits, tap)
        self.limits = limits
        self.tap = tap
        self.tasks = Tasks(self.unforeseen)
        self.sink: Sink | None = None
        """Where frames go; None before opening and after the end."""
        self.session = ""
        self.version = ""
        self.endpoint: httpx2.URL | None = None
        """Where messages are posted to, if it is not the configured address (HTTP+SSE)."""
        self.waiting: dict[RequestId, Waiting] = {}
        self.lost: StudioError | None = None
        """Why the connection has ended by itself."""
        self.opening: asyncio.Future[Any] | None = None
        """Settled when an exchange that is the connection is open; of transports that have one."""
        self._closing: asyncio.Task[None] | None = None

    # ------------------------------------------------------------------ as a transport

    async def hold(self, sink: Sink, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin the exchange that is the connection, and wait for `opening`; what holds it open.

        Raises:
            StudioError: why it did not open.
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
        """The version is settled: from now on requests have their own deadlines."""
        self.version = version

    def abandon(self, request_id: RequestId) -> None:
        """Nobody waits for this request any more: its exchange is closed."""
        waiting = self.waiting.get(request_id)
        if waiting is not None:
            waiting.task.cancel()

    async def close(self) -> None:
        """End everything within `limits.close`; any number of times."""
        if self._closing is None:
            self.sink = None
            self._closing = asyncio.create_task(self.finish(self.limits.close / 3))
        await asyncio.shield(self._closing)

    async def finish(self, share: float) -> None:
        """End all tasks and connections; there are `share` seconds for each step."""
        await self.tasks.end(share)
        await self.edge.close(share)

    def check(self) -> None:
        """Raises ConnectionLost where nothing can be sent."""
        if self.sink is None:
            if isinstance(self.lost, ConnectionLost):
                raise self.lost
            raise ConnectionLost(self.lost.message if self.lost else f"The connection to {self.config.name} has ended.")

    def end(self, error: StudioError) -> None:
        """The connection could not be opened, or ends by itself: say so once, and stop everything."""
        if self.opening is not None and not self.opening.done():
            return self.opening.set_exception(error)
        sink, self.sink = self.sink, None
        self.session, self.lost = "", self.lost or error
        self.tasks.cancel()
        if sink is not None:
            sink.closed(error)

    def failed(self, out: Outgoing, error: StudioError) -> None:
        """A message got no answer."""
        if self.sink is not None:
            self.sink.undelivered(out, error)
        if isinstance(error, SessionLost):
            self.end(error)

    def unforeseen(self, out: Outgoing | None, error: StudioError) -> None:
        """A task has failed: see `Tasks`."""
        self.tap.note(error.message)
        if out is not None:
            self.failed(out, error)

    # ------------------------------------------------------------------ out

    def headers(self, out: Outgoing) -> HeaderList:
        """Headers of the POST that carries `out`."""
        # In HTTP+SSE nothing is answered here; that we do not accept a stream tells those exchanges from the others.
        accept = ACCEPT if self.endpoint is None else "application/json"
        base = [("Accept", accept), ("Content-Type", "application/json")]
        if out.modern:
            return merged(base, modern_headers(out))
        if out.method == "initialize":
            return base
        return merged(base, legacy_headers(self.session, out.version or self.version), list(out.headers))

    def raw_headers(self, data: bytes) -> HeaderList:
        """Headers of the POST that carries a hand-written body: what a message of this kind and version would have."""
        method, target, version = envelope(data)
        version = version or self.version
        modern = version >= FIRST_MODERN
        return self.headers(Outgoing(data, "request", None, method if modern else "", target, version, modern))

    def stream_headers(self, cursor: Cursor) -> HeaderList:
        """Headers of a GET that opens or resumes a stream."""
        resume = [("Last-Event-ID", cursor.last_id)] if cursor.last_id else []
        return merged([("Accept", "text/event-stream")], legacy_headers(self.session, self.version), resume)

    async def post(self, out: Outgoing, work: Coroutine[Any, Any, None], waiting: Waiting | None = None) -> None:
        """Have one message sent in its own task; a request takes the place of an earlier one with its id.

        Only `notifications/initialized` is waited for, so that it arrives first.
        """
        if waiting is not None:
            self.abandon(waiting.id)
            self.waiting[waiting.id] = waiting
        task = self.tasks.spawn(work, out)
        if waiting is not None:
            waiting.task = task
            task.add_done_callback(lambda _: self._forget(waiting))
        elif out.method == "notifications/initialized":
            await asyncio.wait((task,), timeout=self.limits.write)

    def _forget(self, waiting: Waiting) -> None:
        if self.waiting.get(waiting.id) is waiting:
            del self.waiting[waiting.id]

    async def tell(self, out: Outgoing) -> None:
        """Post a message to which nothing comes back here but a status.

        Until the version is settled that is part of connecting; from then on requests have their own deadlines.
        """
        head = None if out.kind == "request" and self.version else self.edge.connect
        post = self.edge.exchange("POST", self.headers(out), out.frame, head=head, url=self.endpoint)
        try:
            async with post as answer:
                if not 200 <= answer.status < 300:
                    await self.refusal(out, answer)
                elif answer.status != 204 and (body := await self.error_body(answer)) and is_json(answer.media_type):
                    # There should be none (202). It is shown; and taken, where it answers the request.
                    self.tap.received(body, answer.exchange)
                    if out.kind == "request" and out.id in answered(jsonrpc.parse(body)):
                        self.hand_over(body)
        except StudioError as error:
            self.failed(out, error)

    async def send_raw(self, data: bytes, *, newlines: bool = False) -> None:
        """Post a body as it is; see `Transport.send_raw`."""
        self.check()
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = self.tasks.spawn(self._post_raw(data, self.raw_headers(data), begun))
        await asyncio.wait((begun, task), timeout=self.limits.write, return_when=asyncio.FIRST_COMPLETED)
        if begun.done():
            begun.result()
        begun.cancel()

    async def _post_raw(self, data: bytes, lines: HeaderList, begun: asyncio.Future[None]) -> None:
        try:
            async with self.edge.exchange("POST", lines, data, head=None, url=self.endpoint, once=True) as answer:
                if not begun.done():
                    begun.set_result(None)
                if not self.session and envelope(data)[0] == "initialize":
                    # A handshake that is made by hand begins a session too; one that there is stays.
                    self.begin_session(Outgoing(data, "request", None, "initialize"), answer)
                if answer.media_type == "text/event-stream":
                    await self.pump(answer, Cursor())
                elif body := await answer.read(self.limits.message):
                    self.tap.received(body, answer.exchange)
                    if is_json(answer.media_type):
                        self.hand_over(body)
        except StudioError as error:
            if begun.done():
                self.tap.note(f"The answer to the frame written by hand broke off: {error.message}")
            else:
                begun.set_exception(error)

    def begin_session(self, out: Outgoing, answer: Response) -> None:
        """Take the session that the answer to a handshake names."""
        if out.method != "initialize" or out.modern:
            return
        found = answer.header("mcp-session-id")
        if found and not _VISIBLE.fullmatch(found):  # specification 2025-06-18, basic/transports
            self.tap.note("The session id that the server gave has characters that are not allowed; it is ignored.")
            return
        self.session = found

    async def refusal(self, out: Outgoing, answer: Response) -> None:
        """Deliver the JSON-RPC error that a failure carries, or raise what the status means."""
        body = await self.error_body(answer)
        status, place = answer.status, self.edge.place
        if status == 403:
            raise refused(answer, place, body)  # Access is refused by HTTP, whatever JSON-RPC error comes with it.
        gone = self.session and not out.modern and _session_gone(status, body)
        if gone or (self.endpoint is not None and status in (400, 404, 410) and _SESSION.search(body)):
            raise session_lost(answer, place, body)
        if out.kind == "request" and out.id is not None and (frame := error_frame(body, out.id)) is not None:
            self.tap.received(body, answer.exchange)
            self.hand_over(frame)
            return
        raise refused(answer, place, body)

    # ------------------------------------------------------------------ in

    def deliver(self, frame: bytes, exchange: int) -> None:
        """Tell the tap of a frame, then hand it over."""
        self.tap.received(frame, exchange)
        self.hand_over(frame)

    def hand_over(self, frame: bytes) -> None:
        """Note which requests a frame answers, and give it to the sink."""
        parsed = jsonrpc.parse(frame, self.limits)
        for request_id in answered(parsed):
            found = self.waiting.get(request_id)
            if found is None and isinstance(request_id, str) and request_id.isdecimal() and len(request_id) < 19:
                found = self.waiting.get(int(request_id))  # As tolerant as the core, which names the fault.
            if found is not None:
                found.answered = True
        if self.sink is not None:
            self.sink.frame(frame, parsed)

    async def pump(self, answer: Response, cursor: Cursor, waiting: Waiting | None = None) -> None:
        """Deliver the events of a stream until it ends, or until shortly after `waiting` was answered.

        Raises:
            HttpLost: the connection ended before the body did.
            LimitExceeded: an event on the stream of `waiting` is too large.
        """
        parser = SseParser(self.limits.message, cursor)
        try:
            async with asyncio.timeout(None) as linger:
                while chunk := await answer.chunk():
                    for event in parser.feed(chunk):
                        if isinstance(event.data, Oversize):
                            self.too_long(event.data, waiting)
                        elif event.kind == "message":
                            self.deliver(event.data, answer.exchange)
                        else:
                            self.tap.received(event.data, answer.exchange)  # Not for us; shown all the same.
                        await answer.breathe()
                    if parser.held > self.limits.message and waiting is not None:
                        self.too_long(Oversize(b"", b"", parser.held), waiting)
                    if waiting is not None and waiting.answered and linger.when() is None:
                        linger.reschedule(asyncio.get_running_loop().time() + _LINGER)
        except TimeoutError:
            return

    def too_long(self, message: Oversize, waiting: Waiting | None = None) -> None:
        """A message was dropped for its size; where its ends show whose answer it was, that request hears of it.

        Raises:
            LimitExceeded: it came on the stream of `waiting`, so it is that request's.
        """
        self.tap.note(dropped_text(message, self.limits.message))
        if waiting is not None:
            raise too_large(message, self.limits.message)
        if self.sink is not None and (out := answered_request(message)):
            self.sink.undelivered(out, too_large(message, self.limits.message))

    async def error_body(self, answer: Response) -> bytes:
        """The body of a failure, as much as comes in a short time and is bearable.

        Raises:
            HttpSignIn: the server wants other credentials.
        """
        body = await answer.beginning(_ERROR_BODY, _ERROR_WAIT)
        if wants_sign_in(answer):
            raise sign_in(answer, self.edge.place, body, had_credentials=self.edge.credentials)
        return body

    async def expect_stream(self, answer: Response) -> bytes | None:
        """None if this is an event stream, else the body of what it is instead.

        Raises:
            HttpSignIn: the server wants other credentials.
            HttpBroken: it is a success of another type.
        """
        if answer.status == 200 and answer.media_type == "text/event-stream":
            return None
        body = await self.error_body(answer)
        if 200 <= answer.status < 300:
            raise wrong_type(answer, self.edge.place, body, wanted="an event stream")
        return body


def _session_gone(status: int, body: bytes) -> bool:
    """Whether a failure means that the session is unknown.

    404 says so by the specification, but a gateway also answers an unknown method with it. Servers built on the
    TypeScript examples say 400 and put it into words; 410 says the same more strongly.
    """
    if status in (404, 410):
        return _METHOD_NOT_FOUND.search(body) is None
    return status == 400 and b'"error"' in body and _SESSION.search(body) is not None
