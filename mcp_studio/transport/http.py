"""Streamable HTTP, both eras: a POST for each message, answers as JSON or as a stream of events.

Specification 2025-03-26 to 2025-11-25 (sessions, GET stream, resumption) and 2026-07-28 (stateless, POST only),
basic/transports. What a message carries is told by `Outgoing.modern`.
"""

from __future__ import annotations

import asyncio
import re
from codecs import BOM_UTF8

from mcp_studio.config.model import Kind, ServerConfig
from mcp_studio.errors import ConnectionLost, StudioError, Unreachable
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Outgoing, RequestId
from mcp_studio.transport.base import HeaderList, Opened, Sink, Tap, Tasks
from mcp_studio.transport.edge import Edge, Standing, merged
from mcp_studio.transport.http_errors import (
    HttpBroken,
    HttpFailure,
    HttpLost,
    HttpUnreachable,
    SessionLost,
    endpoint_lost,
    excerpt,
    refused,
    session_lost,
    told,
    wants_sign_in,
    wrong_type,
)
from mcp_studio.transport.http_response import Answer
from mcp_studio.transport.http_wire import (
    ACCEPT,
    FIRST_MODERN,
    Cursor,
    Waiting,
    Wire,
    answered,
    error_frame,
    is_json,
    legacy_headers,
    named,
    readable,
    valid_session,
)

_STEADY = 5.0
"""A stream that was open for this many seconds was of use, whatever came on it."""
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_METHOD_NOT_FOUND = re.compile(rb'"code"\s*:\s*-32601\b')
_SESSION = re.compile(rb"session", re.IGNORECASE)


async def follow(wire: Wire, cursor: Cursor, waiting: Waiting | None) -> None:
    """Keep one stream open by GET: until `waiting` is answered, or without one for as long as the server offers it.

    It is opened again after the pause the server asked for, at most `limits.reconnects` times without anything new.

    Raises:
        SessionLost: the server no longer knows the session.
        HttpFailure: it cannot be opened, or not any more; the last reason.
        LimitExceeded: an event is too large.
    """
    clock = asyncio.get_running_loop().time
    standing = waiting.standing if waiting is not None else None
    established = waiting is not None
    tries, pause = 0, cursor.delay(0, wire.limits) if waiting is not None else 0.0
    while True:
        await asyncio.sleep(pause)
        began, seen, wish = clock(), _progress(cursor, waiting), 0.0
        try:
            async with wire.edge.exchange("GET", wire.stream_headers(cursor), head=None, standing=standing) as answer:
                await _accept(wire, answer, established=established)
                established = True
                await wire.pump(answer, cursor, waiting)
            unanswered = " without answering the request" * (waiting is not None)
            problem: HttpFailure = HttpLost(f"{wire.edge.place} ended the stream{unanswered}.")
        except HttpFailure as error:
            if waiting is not None and isinstance(error, SessionLost):
                error.http = None  # It is about the stream: the request itself was not turned away.
            if not _passing(error):
                raise
            problem, wish = error, error.retry_after
        if waiting is not None and waiting.answered:
            return
        useful = clock() - began > _STEADY or _progress(cursor, waiting) > seen
        tries = 0 if useful else tries + 1
        if tries > wire.limits.reconnects:
            problem.hint = problem.hint or f"It was opened {tries} times in a row, and nothing new came."
            raise problem
        pause = max(cursor.delay(tries, wire.limits), min(wish, wire.limits.retry_max))


def _progress(cursor: Cursor, waiting: Waiting | None) -> int:
    """What has to grow for a reconnect to count as useful.

    A server may let us poll for an answer with events that carry an id alone; the deadline of the request bounds that.
    The listening stream has no deadline, so only messages count there.
    """
    return cursor.messages if waiting is None else cursor.events


def _passing(error: HttpFailure) -> bool:
    """Whether trying again can help."""
    if isinstance(error, SessionLost):
        return False
    return error.status in _PASSING or (error.status == 0 and isinstance(error, HttpLost | HttpUnreachable))


async def _accept(wire: Wire, answer: Answer, *, established: bool) -> None:
    """Return if this is an event stream, raise what it is otherwise."""
    body = await wire.expect_stream(answer)
    if body is None:
        return
    place = wire.edge.place
    if answer.status == 404 and wire.session and established:
        raise session_lost(answer, place, body)
    if answer.status == 405 and not established:
        raise HttpFailure("it answers GET with status 405, which is its right", http=told(answer, body))
    if answer.status == 405:
        raise HttpFailure(
            f"{place} ended the stream early, and does not let it be taken up again: it answers GET with status 405.",
            hint="A stream whose events have ids has to be resumed by a GET with Last-Event-ID.",
            http=told(answer, body),
        )
    raise refused(answer, place, body)


async def ask(wire: Wire, waiting: Waiting) -> None:
    """Post a request and deliver all that comes until it is answered, on a resumed stream if need be.

    It has no deadline of its own once the version is settled: cancel it.

    Raises:
        StudioError: it will not be answered; see `http_errors`.
    """
    cursor = Cursor()
    problem = HttpLost(
        f"{wire.edge.place} ended the stream without answering the request.",
        hint="The answer has to come before the stream ends, or on the resumed one where its events have ids.",
    )
    try:
        await _post(wire, waiting, cursor)
    except SessionLost:
        raise
    except HttpLost as error:
        problem = error
    else:
        if waiting.answered:
            return
    if not cursor.last_id or waiting.out.modern:
        raise problem
    if not waiting.answered:
        await follow(wire, cursor, waiting)


async def _post(wire: Wire, waiting: Waiting, cursor: Cursor) -> None:
    out = waiting.out
    # Until the version is settled the exchange is part of connecting. After that the deadline is the request's own,
    # which progress renews and a question to a person suspends: whoever waits ends it by `abandon`.
    head = None if wire.version else wire.edge.connect
    post = wire.edge.exchange(
        "POST", wire.headers(out), out.frame, head=head, patience=wire.patience, standing=waiting.standing
    )
    async with post as answer:
        if not 200 <= answer.status < 300:
            await _refusal(wire, out, answer)
            return
        _session(wire, out, answer)
        if answer.status == 202:
            raise HttpBroken(
                f"{wire.edge.place} accepted the request with status 202, which answers nothing.",
                hint="202 is for notifications; a request has to be answered, as JSON or as an event stream.",
                http=told(answer, await wire.error_body(answer)),
            )
        if answer.media_type == "text/event-stream":
            await wire.pump(answer, cursor, waiting)
        else:
            await _json(wire, waiting, answer)


async def _json(wire: Wire, waiting: Waiting, answer: Answer) -> None:
    """Deliver a body that is one JSON text."""
    place, media_type = wire.edge.place, answer.media_type
    if media_type and not is_json(media_type):
        raise wrong_type(answer, place, await wire.error_body(answer))
    body = await answer.read(wire.limits.message)
    if not body.strip() or (not media_type and body.lstrip()[:1] not in b"{["):
        raise wrong_type(answer, place, body)
    wire.deliver(body.removeprefix(BOM_UTF8), answer.exchange)  # A mark may be overlooked (RFC 8259 8.1).
    if not waiting.answered:
        raise HttpBroken(
            f"What {place} sent does not answer the request: {excerpt(body)}",
            hint="The body of the response has to be a JSON-RPC response with the id of the request.",
            http=told(answer, body),
        )


async def tell(
    wire: Wire, out: Outgoing, *, head: float | None, again: bool = False, standing: Standing | None = None
) -> None:
    """Post a message to which nothing comes back here but a status; with `again` the tap knows it already.

    Raises:
        StudioError: the server did not take it; see `http_errors`.
    """
    post = wire.edge.exchange(
        "POST", wire.headers(out), out.frame,
        head=head, url=wire.endpoint, again=again, patience=wire.patience, standing=standing,
    )  # fmt: skip
    async with post as answer:
        if not 200 <= answer.status < 300:
            await _refusal(wire, out, answer)
        elif answer.status != 204 and (body := await wire.error_body(answer)) and is_json(answer.media_type):
            # There should be none (202). It is shown; and taken, where it answers the request.
            wire.tap.received(body, answer.exchange)
            if out.kind == "request" and out.id in answered(body):
                wire.hand_over(body)


async def raw(wire: Wire, tasks: Tasks, data: bytes, headers: HeaderList) -> None:
    """Post a body that somebody wrote by hand; what comes back is told to the tap, and what is JSON to the sink.

    Returns when the response has begun, or after `limits.write` seconds; the rest goes on in a task.

    Raises:
        StudioError: no response came; see `http_errors`.
    """
    begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    task = tasks.spawn(_raw(wire, data, merged(wire.raw_headers(data), headers), begun))
    await asyncio.wait((begun, task), timeout=wire.limits.write, return_when=asyncio.FIRST_COMPLETED)
    if begun.done():
        begun.result()
    begun.cancel()


async def _raw(wire: Wire, data: bytes, lines: HeaderList, begun: asyncio.Future[None]) -> None:
    try:
        async with wire.edge.exchange("POST", lines, data, head=None, url=wire.endpoint) as answer:
            if not begun.done():
                begun.set_result(None)
            if not wire.session and named(data)[0] == "initialize":
                # A handshake that is made by hand begins a session too; one that there is stays.
                _session(wire, Outgoing(data, "request", None, "initialize"), answer)
            if answer.media_type == "text/event-stream":
                await wire.pump(answer, Cursor())
            elif body := await answer.read(wire.limits.message):
                wire.tap.received(body, answer.exchange)
                if readable(body):
                    wire.hand_over(body)
    except StudioError as error:
        if begun.done():
            wire.tap.note(f"The answer to the frame written by hand broke off: {error.message}")
        else:
            begun.set_exception(error)


def _session(wire: Wire, out: Outgoing, answer: Answer) -> None:
    if out.method != "initialize" or out.modern:
        return
    found = answer.header("mcp-session-id")
    if found and not valid_session(found):
        wire.tap.note("The session id that the server gave has characters that are not allowed; it is ignored.")
        return
    wire.session = found


async def _refusal(wire: Wire, out: Outgoing, answer: Answer) -> None:
    """Deliver the JSON-RPC error that a failure carries, or raise what the status means."""
    body = await wire.error_body(answer)
    status, place = answer.status, wire.edge.place
    if wants_sign_in(answer):
        raise wire.sign_in(answer, body)
    if status == 403:
        raise refused(answer, place, body)  # Access is refused by HTTP, whatever JSON-RPC error comes with it.
    if wire.session and not out.modern and _session_gone(status, body):
        raise session_lost(answer, place, body)
    if wire.endpoint is not None and status in (400, 404, 410) and _SESSION.search(body):
        raise endpoint_lost(answer, place, body)
    if out.kind == "request" and out.id is not None and (frame := error_frame(body, out.id)) is not None:
        wire.tap.received(body, answer.exchange)
        wire.hand_over(frame)
        return
    raise refused(answer, place, body)


def _session_gone(status: int, body: bytes) -> bool:
    """Whether a failure means that the session is unknown.

    404 says so by the specification, but a gateway also answers an unknown method with it. Servers built on the
    TypeScript examples say 400 and put it into words; 410 says the same more strongly.
    """
    if status in (404, 410):
        return _METHOD_NOT_FOUND.search(body) is None
    return status == 400 and b'"error"' in body and _SESSION.search(body) is not None


class HttpTransport:
    """The transport of one server that is reached by URL; implements `base.Transport`.

    Args:
        edge: the HTTP edge to use, where it is shared with another transport to the same server.
    """

    kind: Kind = "http"

    def __init__(self, config: ServerConfig, limits: Limits, tap: Tap, edge: Edge | None = None) -> None:
        self._wire = Wire(config, limits, tap, edge)
        self._limits = limits
        self._keep_session = config.keep_session
        self._tap = tap
        self._tasks = Tasks(self._unforeseen)
        self._listening: asyncio.Task[None] | None = None
        self._listenable = False
        self._initialized = False
        self._closing: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether a request is under way."""
        return bool(self._wire.waiting)

    async def open(self, sink: Sink) -> Opened:
        """Prepare the connections; nothing is sent, so a server that refuses shows with the first message.

        Raises:
            ConfigError: the URL, a header or the environment's proxy cannot be used.
        """
        await self._wire.edge.open()
        self._wire.sink = sink
        return Opened(self._wire.edge.target)

    async def send(self, out: Outgoing) -> None:
        """Post one message in its own task; only `notifications/initialized` is waited for, so that it arrives first.

        Raises:
            ConnectionLost: the transport is not open, or has ended.
        """
        self._check()
        if out.modern and out.method == "notifications/cancelled":
            return  # Cancelling is closing the response stream there: see `abandon`.
        if out.kind == "request" and out.id is not None:
            self._ask(out, out.id)
            return
        task = self._tasks.spawn(self._tell(out), out)
        if out.method == "notifications/initialized":
            await asyncio.wait((task,), timeout=self._limits.write)

    async def send_raw(self, data: bytes, *, headers: tuple[tuple[str, str], ...] = (), newlines: bool = False) -> None:
        """Post a body as it is; see `Transport.send_raw`."""
        self._check()
        await raw(self._wire, self._tasks, data, list(headers))
        if named(data)[0] == "notifications/initialized":
            self._initialized = True
            self._listen()

    def negotiated(self, version: str) -> None:
        """The version is settled: it is sent in headers, and older eras get their GET stream."""
        self._wire.version = version
        self._listenable = version < FIRST_MODERN
        self._listen()

    def abandon(self, request_id: RequestId) -> None:
        """Nobody waits for this request any more: its exchange is closed."""
        waiting = self._wire.waiting.get(request_id)
        if waiting is not None and waiting.task is not None:
            waiting.task.cancel()

    def standing(self, request_id: RequestId | None) -> str:
        """How far a request has got over HTTP; see `Transport.standing`."""
        return self._wire.standing(request_id)

    async def close(self) -> None:
        """End all exchanges, the session (DELETE) and the connections within `limits.close`; any number of times."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    def _check(self) -> None:
        if self._wire.sink is None:
            raise ConnectionLost("The connection to the server has ended.")

    def _ask(self, out: Outgoing, request_id: RequestId) -> None:
        if out.method == "initialize":
            self._wire.session = self._wire.version = ""
            self._initialized = self._listenable = False
            if self._listening is not None:
                self._listening.cancel()
                self._listening = None
        self.abandon(request_id)
        waiting = Waiting(out)
        self._wire.waiting[request_id] = waiting
        waiting.task = self._tasks.spawn(self._run(waiting, request_id), out)

    async def _run(self, waiting: Waiting, request_id: RequestId) -> None:
        try:
            await ask(self._wire, waiting)
            self._listen()
        except StudioError as error:
            if not waiting.answered or isinstance(error, SessionLost):
                self._failed(waiting.out, error)
        finally:
            if self._wire.waiting.get(request_id) is waiting:
                del self._wire.waiting[request_id]

    async def _tell(self, out: Outgoing) -> None:
        try:
            await tell(self._wire, out, head=self._wire.edge.connect)
        except StudioError as error:
            self._failed(out, error)
        if out.method == "notifications/initialized":
            self._initialized = True
            self._listen()

    def _listen(self) -> None:
        """Open the stream for the server's own messages, once the handshake is over and whenever it was lost."""
        if self._listenable and self._initialized and self._listening is None and self._wire.sink is not None:
            self._listening = self._tasks.spawn(self._follow())

    async def _follow(self) -> None:
        try:
            await follow(self._wire, Cursor(), None)
        except SessionLost as error:
            self._end(error)
        except StudioError as error:
            self._tap.note(f"No stream for messages that the server sends by itself: {error.message}")
            if isinstance(error, Unreachable):
                self._listening = None  # The next answered request shows that it is worth another try.

    def _failed(self, out: Outgoing, error: StudioError) -> None:
        if self._wire.sink is not None:
            self._wire.sink.undelivered(out, error)
        if isinstance(error, SessionLost):
            self._end(error)

    def _end(self, error: HttpFailure) -> None:
        """The transport ends by itself: say so once, and stop everything."""
        sink, self._wire.sink = self._wire.sink, None
        self._wire.session = ""
        self._tasks.cancel()
        if sink is not None:
            sink.closed(error)

    def _unforeseen(self, out: Outgoing | None, error: StudioError) -> None:
        self._tap.note(error.message)
        if out is not None and self._wire.sink is not None:
            self._wire.sink.undelivered(out, error)

    async def _close(self) -> None:
        self._wire.sink = None
        wire, share = self._wire, self._limits.close / 3
        await self._tasks.end(share)
        if wire.session and not self._keep_session:
            # Specification 2025-11-25, basic/transports, Session Management.
            headers = merged([("Accept", ACCEPT)], legacy_headers(wire.session, wire.version))
            try:
                async with asyncio.timeout(share), wire.edge.exchange("DELETE", headers, head=None):
                    wire.session = ""
            except (TimeoutError, StudioError):
                pass  # The server may refuse or be gone; the session ends with us all the same.
        await wire.edge.close(share)
