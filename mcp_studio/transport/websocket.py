"""MCP over a WebSocket: one text frame for each message (RFC 6455, subprotocol `mcp`); any version of MCP.

Not part of the specification but about; it leaves a "custom transport" to be agreed on (basic/transports). HTTP
carries the handshake through the same edge as everything else; from there on wsproto reads what the server sends.
"""

from __future__ import annotations

import asyncio

from mcp_studio.config.model import Kind, ServerConfig
from mcp_studio.errors import ConnectionLost, StudioError, Unreachable
from mcp_studio.limits import Limits
from mcp_studio.protocol.outgoing import Outgoing, RequestId
from mcp_studio.protocol.skim import Skimmed
from mcp_studio.transport.base import Opened, Sink
from mcp_studio.transport.edge import Edge
from mcp_studio.transport.http_answer import Answer
from mcp_studio.transport.http_errors import HttpFailure, HttpUnreachable, excerpt
from mcp_studio.transport.http_phases import Standing
from mcp_studio.transport.http_status import refused, told, wants_sign_in
from mcp_studio.transport.http_wire import Wire
from mcp_studio.transport.lines import Line, Oversize
from mcp_studio.transport.oversize import size_text
from mcp_studio.transport.tap import Tap
from mcp_studio.transport.tasks import Tasks
from mcp_studio.transport.ws_frames import accept_of, new_key, text_frame
from mcp_studio.transport.ws_peer import Peer

_QUIET = 20.0
"""Seconds between pings; nothing hangs on their answers: a busy server may let us wait."""
_NOTES = 20
"""Frames of a kind nobody asked for that are told; more of them are only dropped."""


class WebSocketTransport:
    """The transport of one server at a `ws://` or `wss://` URL; implements `base.Transport`."""

    kind: Kind = "websocket"

    def __init__(self, config: ServerConfig, limits: Limits, tap: Tap, edge: Edge | None = None) -> None:
        self._name = config.name
        self._wire = Wire(config, limits, tap, edge)
        self._limits = limits
        self._tap = tap
        self._tasks = Tasks(self._unforeseen)
        self._open: asyncio.Future[Peer] | None = None
        self._peer: Peer | None = None
        self._shaking = Standing()
        self._run: asyncio.Task[None] | None = None
        self._lost: StudioError | None = None
        self._strange = 0
        self._closing: asyncio.Task[None] | None = None

    async def open(self, sink: Sink) -> Opened:
        """Shake hands.

        Raises:
            Unreachable: nobody is there who speaks WebSocket, or the extra that it needs is not installed.
            SignInNeeded: the server wants credentials.
            ConfigError: the URL, a header or the environment's proxy cannot be used.
        """
        _require()
        await self._wire.edge.open()
        self._wire.sink = sink
        self._open = asyncio.get_running_loop().create_future()
        self._run = self._tasks.spawn(self._serve(self._open))
        try:
            peer = await asyncio.shield(self._open)
        except (StudioError, asyncio.CancelledError):
            self._wire.sink = None
            self._run.cancel()
            raise
        self._peer = peer
        self._tasks.spawn(self._keep(peer))
        return Opened(self._wire.edge.target)

    async def send(self, out: Outgoing) -> None:
        """Write one message as a text frame.

        Raises:
            ConnectionLost: the connection has ended, or the server has not read for `limits.write` seconds.
        """
        await self._write(out.frame)

    async def send_raw(self, data: bytes, *, headers: tuple[tuple[str, str], ...] = (), newlines: bool = False) -> None:
        """Write one text frame as it is; see `Transport.send_raw`."""
        await self._write(data)

    def negotiated(self, version: str) -> None:
        """Nothing depends on the version here."""

    def abandon(self, request_id: RequestId) -> None:
        """Nothing belongs to one request here."""

    def standing(self, request_id: RequestId | None) -> str:
        """How far the handshake has got; nothing is known of one request here. See `Transport.standing`."""
        return self._shaking.words if self._peer is None else ""

    async def close(self) -> None:
        """Take leave and end the connection within `limits.close`; any number of times."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    # ------------------------------------------------------------------ out

    async def _write(self, data: bytes) -> None:
        peer = self._peer
        if peer is None or not self._alive:
            raise self._gone()
        self._tap.sent(data)
        # In a task of its own: a caller that is cancelled must not leave half a frame behind.
        writing = self._tasks.spawn(self._put(peer, text_frame(data)))
        await asyncio.wait((writing,))
        if not self._alive:
            raise self._gone()

    @property
    def _alive(self) -> bool:
        return self._wire.sink is not None

    async def _put(self, peer: Peer, frame: bytes) -> None:
        try:
            await peer.write(frame)
        except StudioError as error:
            self._end(error)

    async def _keep(self, peer: Peer) -> None:
        """Keep what stands in between from cutting an idle connection."""
        while True:
            await asyncio.sleep(_QUIET)
            peer.ping()

    def _gone(self) -> ConnectionLost:
        if isinstance(self._lost, ConnectionLost):
            return self._lost
        return ConnectionLost(self._lost.message if self._lost else f"The connection to {self._name} has ended.")

    # ------------------------------------------------------------------ in

    async def _serve(self, opened: asyncio.Future[Peer]) -> None:
        """Hold the connection from the handshake to its end."""
        edge, key = self._wire.edge, new_key()
        lines = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")]
        lines += [("Sec-WebSocket-Key", key), ("Sec-WebSocket-Protocol", "mcp")]
        try:
            async with edge.exchange(
                "GET", lines, head=edge.connect, patience=self._wire.patience, standing=self._shaking
            ) as answer:
                await self._accept(answer, key)
                peer = Peer(answer, edge.place, self._limits, self._take, self._tasks)
                opened.set_result(peer)
                await peer.read()
        except StudioError as error:
            if opened.done():
                self._end(error)
            else:
                opened.set_exception(error)

    async def _accept(self, answer: Answer, key: str) -> None:
        """Return if the connection is a WebSocket now, raise what it is otherwise (RFC 6455 4.1)."""
        place, status = self._wire.edge.place, answer.status
        if status != 101:
            body = await self._wire.error_body(answer)
            if wants_sign_in(answer):
                raise self._wire.sign_in(answer, body)
            problem = refused(answer, place, body)
            hint = "Is this the address of a WebSocket? http:// and https:// are for MCP over HTTP."
            if status in (403, 407) or status >= 429:
                hint = problem.hint
            message = f"There is no WebSocket: {problem.message}"
            raise HttpUnreachable(message, hint=hint, http=problem.http, retry_after=problem.retry_after)
        wrong = ""
        if answer.header("upgrade").lower() != "websocket" or answer.header("sec-websocket-accept") != accept_of(key):
            wrong = "it does not show that it has read the request"
        elif answer.header("sec-websocket-extensions"):
            wrong = "it turned on extensions that nobody asked for"
        elif (chosen := answer.header("sec-websocket-protocol")) not in ("", "mcp"):
            wrong = f"it chose the subprotocol {excerpt(chosen.encode())!r}"
        if wrong:
            raise HttpUnreachable(f"{place} answers the WebSocket handshake wrongly: {wrong}.", http=told(answer, b""))
        if not answer.header("sec-websocket-protocol"):
            self._tap.note("the server did not confirm the subprotocol mcp")

    def _take(self, message: Line, *, binary: bool) -> None:
        """One message came in."""
        if isinstance(message, Oversize):
            self._wire.too_long(message)
            return
        if isinstance(message, Skimmed):
            self._wire.deliver(message.data, 0, message.root)
            return
        if binary:
            if message.lstrip()[:1] not in (b"{", b"["):
                self._odd(f"dropped a binary frame of {size_text(len(message))}: messages are text")
                return
            self._odd("sent a message as a binary frame; it was taken as text")
        # The handshake was an HTTP exchange; what follows is as little part of one as a line on stdio is.
        self._wire.deliver(message, 0)

    def _odd(self, text: str) -> None:
        self._strange += 1
        if self._strange <= _NOTES:
            self._tap.note(text)

    # ------------------------------------------------------------------ ends

    def _end(self, error: StudioError) -> None:
        """The connection ended by itself: say so once, and stop everything."""
        sink, self._wire.sink = self._wire.sink, None
        self._lost = self._lost or error
        self._tasks.cancel()
        if sink is not None:
            sink.closed(error)

    def _unforeseen(self, out: Outgoing | None, error: StudioError) -> None:
        self._tap.note(error.message)
        if self._open is not None and not self._open.done():
            self._open.set_exception(error)
        else:
            self._end(error)

    async def _close(self) -> None:
        self._wire.sink = None
        share = self._limits.close / 3
        if self._peer is not None and self._run is not None and not self._run.done():
            try:
                async with asyncio.timeout(share):
                    await self._peer.take_leave()
                    await asyncio.wait((self._run,))
            except (TimeoutError, HttpFailure):
                pass  # It may be gone, or never answer; the connection is cut all the same.
        await self._tasks.end(share)
        await self._wire.edge.close(share)


def _require() -> None:
    """Raises Unreachable where the extra is not installed."""
    from importlib.util import find_spec

    if find_spec("wsproto") is None:
        raise Unreachable(
            "WebSocket needs one more package, which is not installed.", hint="Try: pip install 'mcp-studio[ws]'"
        )
