"""Streamable HTTP, both eras: a POST for each message, answers as JSON or as a stream of events.

Specification 2025-03-26 to 2025-11-25 (sessions, GET stream, resumption) and 2026-07-28 (stateless, POST only),
basic/transports. What a message carries is told by `Outgoing.modern`.
"""

from __future__ import annotations

import asyncio

from mcp_studio.config.model import Kind, ServerConfig
from mcp_studio.errors import ConnectionLost, StudioError, Unreachable
from mcp_studio.limits import Limits
from mcp_studio.protocol.outgoing import Outgoing, RequestId
from mcp_studio.transport import http_post
from mcp_studio.transport.base import Opened, Sink
from mcp_studio.transport.edge import Edge
from mcp_studio.transport.http_errors import HttpFailure, SessionLost
from mcp_studio.transport.http_headers import ACCEPT, legacy_headers, merged
from mcp_studio.transport.http_ids import named
from mcp_studio.transport.http_stream import follow
from mcp_studio.transport.http_wire import FIRST_MODERN, Cursor, Waiting, Wire
from mcp_studio.transport.tap import Tap
from mcp_studio.transport.tasks import Tasks


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
        if self._wire.sink is None:
            raise ConnectionLost("The connection to the server has ended.")
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
        if self._wire.sink is None:
            raise ConnectionLost("The connection to the server has ended.")
        await http_post.raw(self._wire, self._tasks, data, list(headers))
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

    def _ask(self, out: Outgoing, request_id: RequestId) -> None:
        if out.method == "initialize":
            self._start_anew()
        self.abandon(request_id)
        waiting = Waiting(out)
        self._wire.waiting[request_id] = waiting
        waiting.task = self._tasks.spawn(self._run(waiting, request_id), out)

    def _start_anew(self) -> None:
        self._wire.session = self._wire.version = ""
        self._initialized = self._listenable = False
        if self._listening is not None:
            self._listening.cancel()
            self._listening = None

    async def _run(self, waiting: Waiting, request_id: RequestId) -> None:
        try:
            await http_post.ask(self._wire, waiting)
            self._listen()
        except StudioError as error:
            if not waiting.answered or isinstance(error, SessionLost):
                self._failed(waiting.out, error)
        finally:
            if self._wire.waiting.get(request_id) is waiting:
                del self._wire.waiting[request_id]

    async def _tell(self, out: Outgoing) -> None:
        try:
            await http_post.tell(self._wire, out, head=self._wire.edge.connect)
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
        share = self._limits.close / 3
        await self._tasks.end(share)
        try:
            async with asyncio.timeout(share):
                await self._end_session()
        except (TimeoutError, StudioError):
            pass  # The server may refuse or be gone; the session ends with us all the same.
        await self._wire.edge.close(share)

    async def _end_session(self) -> None:
        """Tell the server that the session is over (specification 2025-11-25, basic/transports, Session Management)."""
        wire = self._wire
        if wire.session and not self._keep_session:
            headers = merged([("Accept", ACCEPT)], legacy_headers(wire.session, wire.version))
            async with wire.edge.exchange("DELETE", headers, head=None):
                wire.session = ""
