"""Streamable HTTP of both eras: a POST for each message, and answers as JSON or as a stream of events.

Specification 2025-03-26 to 2025-11-25 (sessions, GET stream, resumption) and 2026-07-28 (stateless, POST only),
basic/transports. `Outgoing.modern` says which one a message follows.
"""

from __future__ import annotations

import asyncio
from codecs import BOM_UTF8

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError, Unreachable
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Outgoing
from mcp_studio.transport.base import Opened, Sink, Tap
from mcp_studio.transport.edge import Edge, merged
from mcp_studio.transport.http_connection import (
    ACCEPT,
    FIRST_MODERN,
    HttpConnection,
    PendingRequest,
    envelope,
    is_json,
    legacy_headers,
)
from mcp_studio.transport.http_errors import (
    HttpBroken,
    HttpFailure,
    HttpLost,
    HttpUnreachable,
    SessionLost,
    answer_of,
    excerpt,
    refused,
    session_lost,
    wrong_type,
)
from mcp_studio.transport.http_response import Response
from mcp_studio.transport.sse import Cursor

_STABLE = 5.0
"""A stream that stayed open for this many seconds was useful, even if no event came."""
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


class HttpTransport(HttpConnection):
    """The transport of one server at a URL; implements `base.Transport`.

    Args:
        edge: the HTTP edge to use, if it has credentials.
    """

    def __init__(self, config: ServerConfig, limits: Limits, tap: Tap, edge: Edge | None = None) -> None:
        super().__init__(config, limits, tap, edge)
        self._listener: asyncio.Task[None] | None = None
        self._may_listen = False
        self._initialized = False

    async def open(self, sink: Sink) -> Opened:
        """Prepare the connections without sending anything: the first message shows whether the server accepts them.

        Raises:
            ConfigError: the URL, a header or the environment's proxy cannot be used.
        """
        await self.edge.open()
        self.sink = sink
        return Opened(self.edge.target)

    async def send(self, out: Outgoing) -> None:
        """Post one message in its own task.

        Raises:
            ConnectionLost: the transport is not open, or has ended.
        """
        self.check()
        if out.modern and out.method == "notifications/cancelled":
            return  # The modern era cancels a request by closing its response stream: see `abandon`.
        if out.kind == "request" and out.id is not None:
            if out.method == "initialize":
                self._reset()
            waiting = PendingRequest(out, out.id)
            await self.post(out, self._run(waiting), waiting)
        else:
            await self.post(out, self._notify(out))

    async def send_raw(self, data: bytes, *, newlines: bool = False) -> None:
        """Post a body as it is; see `Transport.send_raw`."""
        await super().send_raw(data)
        if envelope(data)[0] == "notifications/initialized":
            self._initialized = True
            self._listen()

    def negotiated(self, version: str) -> None:
        """The version is negotiated: headers carry it, and older eras get their GET stream."""
        self.version = version
        self._may_listen = version < FIRST_MODERN
        self._listen()

    async def finish(self, share: float) -> None:
        """End all exchanges, the session (DELETE) and the connections."""
        await self.tasks.end(share)
        if self.session and not self.config.keep_session:
            # Specification 2025-11-25, basic/transports, Session Management.
            headers = merged([("Accept", ACCEPT)], legacy_headers(self.session, self.version))
            try:
                async with asyncio.timeout(share), self.edge.exchange("DELETE", headers, head=None):
                    self.session = ""
            except (TimeoutError, StudioError):
                pass  # The server may refuse or be gone; the session ends with us anyway.
        await self.edge.close(share)

    # ------------------------------------------------------------------ one message

    def _reset(self) -> None:
        self.session = self.version = ""
        self._initialized = self._may_listen = False
        if self._listener is not None:
            self._listener.cancel()
            self._listener = None

    async def _run(self, waiting: PendingRequest) -> None:
        try:
            await self._request(waiting)
            self._listen()
        except StudioError as error:
            if not waiting.answered or isinstance(error, SessionLost):
                self.failed(waiting.out, error)

    async def _notify(self, out: Outgoing) -> None:
        await self.tell(out)
        if out.method == "notifications/initialized":
            self._initialized = True
            self._listen()

    async def _request(self, waiting: PendingRequest) -> None:
        """Post a request and deliver all frames until it is answered, on a resumed stream if necessary.

        There is no deadline once the version is negotiated; the caller cancels the task.

        Raises:
            StudioError: the request will not be answered; see `http_errors`.
        """
        cursor = Cursor()
        problem = HttpLost(
            f"{self.edge.place} ended the stream without answering the request.",
            hint="The answer has to come before the stream ends, or on the resumed one where its events have ids.",
        )
        try:
            await self._exchange(waiting, cursor)
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
            await self._follow(cursor, waiting)

    async def _exchange(self, waiting: PendingRequest, cursor: Cursor) -> None:
        out = waiting.out
        # Until the version is negotiated the exchange is part of connecting. Then the caller has the deadline, which
        # progress renews and a question to a person suspends; the caller ends the exchange by `abandon`.
        head = None if self.version else self.edge.connect
        async with self.edge.exchange("POST", self.headers(out), out.frame, head=head) as answer:
            if not 200 <= answer.status < 300:
                await self.refusal(out, answer)
                return
            self.begin_session(out, answer)
            if answer.media_type == "text/event-stream":
                await self.pump(answer, cursor, waiting)
            else:
                await self._json(waiting, answer)

    async def _json(self, waiting: PendingRequest, answer: Response) -> None:
        """Deliver a body that is one JSON text."""
        place, media_type = self.edge.place, answer.media_type
        if media_type and not is_json(media_type):
            raise wrong_type(answer, place, await self.error_body(answer))
        body = await answer.read(self.limits.message)
        if not body.strip() or (not media_type and body.lstrip()[:1] not in b"{["):
            raise wrong_type(answer, place, body)
        self.deliver(body.removeprefix(BOM_UTF8), answer.exchange)  # A byte order mark may be ignored (RFC 8259 8.1).
        if not waiting.answered:
            raise HttpBroken(
                f"What {place} sent does not answer the request: {excerpt(body)}",
                hint="The body of the response has to be a JSON-RPC response with the id of the request.",
                http=answer_of(answer, body),
            )

    # ------------------------------------------------------------------ streams opened by GET

    def _listen(self) -> None:
        """Open the stream for the server's own messages once the handshake is over, and again after it was lost."""
        if self._may_listen and self._initialized and self._listener is None and self.sink is not None:
            self._listener = self.tasks.spawn(self._receive())

    async def _receive(self) -> None:
        try:
            await self._follow(Cursor(), None)
        except SessionLost as error:
            self.end(error)
        except StudioError as error:
            self.tap.note(f"No stream for messages that the server sends by itself: {error.message}")
            if isinstance(error, Unreachable):
                self._listener = None  # The next answered request shows that another attempt makes sense.

    async def _follow(self, cursor: Cursor, waiting: PendingRequest | None) -> None:
        """Keep one stream open by GET: until `waiting` is answered, or without it while the server offers the stream.

        It is opened again after the pause that the server requests, at most `limits.reconnects` times without new
        events.

        Raises:
            SessionLost: the server no longer knows the session.
            HttpFailure: the stream cannot be opened, or not again; this is the last reason.
            LimitExceeded: an event is too large.
        """
        clock = asyncio.get_running_loop().time
        established = waiting is not None
        tries, pause = 0, cursor.delay(0, self.limits) if waiting is not None else 0.0
        while True:
            await asyncio.sleep(pause)
            began, before, wish = clock(), _progress(cursor, waiting), 0.0
            try:
                async with self.edge.exchange("GET", self.stream_headers(cursor), head=None) as answer:
                    await self._accept(answer, established=established)
                    established = True
                    await self.pump(answer, cursor, waiting)
                unanswered = " without answering the request" * (waiting is not None)
                problem: HttpFailure = HttpLost(f"{self.edge.place} ended the stream{unanswered}.")
            except HttpFailure as error:
                if waiting is not None and isinstance(error, SessionLost):
                    error.http = None  # The answer concerns the stream: the request itself was not refused.
                if not _is_transient(error):
                    raise
                problem, wish = error, error.retry_after
            if waiting is not None and waiting.answered:
                return
            useful = clock() - began > _STABLE or _progress(cursor, waiting) > before
            tries = 0 if useful else tries + 1
            if tries > self.limits.reconnects:
                problem.hint = problem.hint or f"It was opened {tries} times in a row, and nothing new came."
                raise problem
            pause = max(cursor.delay(tries, self.limits), min(wish, self.limits.retry_max))

    async def _accept(self, answer: Response, *, established: bool) -> None:
        """Return if the answer is an event stream; otherwise raise what it is."""
        body = await self.expect_stream(answer)
        if body is None:
            return
        place = self.edge.place
        if answer.status == 404 and self.session and established:
            raise session_lost(answer, place, body)
        if answer.status == 405 and not established:
            raise HttpFailure("it answers GET with status 405, which is its right", http=answer_of(answer, body))
        raise refused(answer, place, body)


def _progress(cursor: Cursor, waiting: PendingRequest | None) -> int:
    """The count that has to grow for a reconnect to count as useful.

    A server may let us poll for an answer by events that only carry an id; the deadline of the request bounds that. The
    listening stream has no deadline, so that only messages count there.
    """
    return cursor.messages if waiting is None else cursor.events


def _is_transient(error: HttpFailure) -> bool:
    """Whether another attempt may succeed."""
    if isinstance(error, SessionLost):
        return False
    return error.code in _TRANSIENT or (error.code == 0 and isinstance(error, HttpLost | HttpUnreachable))
