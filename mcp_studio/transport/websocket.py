"""MCP over a WebSocket: one text frame for each message (RFC 6455, subprotocol `mcp`); any version of MCP.

It is no part of the specification, which allows custom transports (basic/transports). HTTP carries the handshake
through the same edge as other requests; then wsproto parses what the server sends.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError, Unreachable
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.lines import Joiner, Oversize
from mcp_studio.transport.base import Opened, Sink, Tap
from mcp_studio.transport.edge import Edge
from mcp_studio.transport.http_connection import HttpConnection
from mcp_studio.transport.http_errors import (
    HttpBroken,
    HttpFailure,
    HttpLost,
    HttpUnreachable,
    answer_of,
    excerpt,
    refused,
)
from mcp_studio.transport.http_response import PIECE, Response

_WRITE = 256 * 1024
_COURTESY = 1.0
"""Seconds to send a close frame: the report of the end does not wait for a server that does not read."""
_UNSENT = frozenset({1004, 1005, 1006, 1015})
"""Close codes that never cross the wire (RFC 6455 7.4.1)."""
_PING_INTERVAL = 20.0
"""Seconds between pings. Their answers do not matter: a busy server may send them late."""


class WebSocketTransport(HttpConnection):
    """The transport of one server at a `ws://` or `wss://` URL; implements `base.Transport`."""

    def __init__(self, config: ServerConfig, limits: Limits, tap: Tap, edge: Edge | None = None) -> None:
        super().__init__(config, limits, tap, edge)
        self._run: asyncio.Task[None] | None = None
        self._answer: Response | None = None
        """The response that switched to WebSocket; its exchange stays open as long as the connection."""
        self._socket: Any = None
        """wsproto's state of the connection."""
        self._message = Joiner(limits.message)
        self._write_lock = asyncio.Lock()
        self._control: Any = None
        """The newest ping or pong that was not sent yet."""
        self._close_sent = False

    async def open(self, sink: Sink) -> Opened:
        """Open the WebSocket.

        Raises:
            Unreachable: the server does not speak WebSocket, or the extra for it is not installed.
            SignInNeeded: the server requires credentials.
            ConfigError: the URL, a header or the environment's proxy cannot be used.
        """
        from importlib.util import find_spec

        if find_spec("wsproto") is None:
            raise Unreachable(
                "WebSocket needs one more package, which is not installed.", hint="Try: pip install 'mcp-studio[ws]'"
            )
        await self.edge.open()
        self._run = await self.hold(sink, self._serve())
        self.tasks.spawn(self._ping())
        return Opened(self.edge.target)

    async def send(self, out: Outgoing) -> None:
        """Write one message as a text frame.

        Raises:
            ConnectionLost: the connection has ended, or the server has not read for `limits.write` seconds.
        """
        await self.send_raw(out.frame)

    async def send_raw(self, data: bytes, *, newlines: bool = False) -> None:
        """Write one frame unchanged; see `Transport.send_raw`."""
        from wsproto.events import BytesMessage, TextMessage

        self.check()
        self.tap.sent(data)
        try:
            event: Any = TextMessage(data=data.decode("utf-8"))
        except UnicodeDecodeError:
            event = BytesMessage(data=data)  # a hand-written frame may be no text
        # In a task of its own: a cancelled caller must not leave half a frame behind.
        await asyncio.wait((self.tasks.spawn(self._send_event(event)),))
        self.check()

    # ------------------------------------------------------------------ the handshake

    async def _serve(self) -> None:
        """Run the connection from the handshake to its end."""
        from wsproto.connection import Connection, ConnectionType
        from wsproto.utilities import generate_nonce

        edge, key = self.edge, generate_nonce()
        lines = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")]
        lines += [("Sec-WebSocket-Key", key.decode("ascii")), ("Sec-WebSocket-Protocol", "mcp")]
        try:
            async with edge.exchange("GET", lines, head=edge.connect) as answer:
                await self._accept(answer, key)
                self._answer, self._socket = answer, Connection(ConnectionType.CLIENT)
                assert self.opening is not None
                self.opening.set_result(None)
                await self._read(answer)
        except StudioError as error:
            self.end(error)

    async def _accept(self, answer: Response, key: bytes) -> None:
        """Return if the connection is a WebSocket now; otherwise raise what the answer is (RFC 6455 4.1)."""
        from wsproto.utilities import generate_accept_token

        place, status = self.edge.place, answer.status
        if status != 101:
            problem = refused(answer, place, await self.error_body(answer))
            hint = "Is this the address of a WebSocket? http:// and https:// are for MCP over HTTP."
            if status in (403, 407) or status >= 429:
                hint = problem.hint
            message = f"There is no WebSocket: {problem.message}"
            raise HttpUnreachable(message, hint=hint, http=problem.http, retry_after=problem.retry_after)
        wrong, chosen = "", answer.header("sec-websocket-protocol")
        accepted = answer.header("sec-websocket-accept") == generate_accept_token(key).decode("ascii")
        if answer.header("upgrade").lower() != "websocket" or not accepted:
            wrong = "it does not show that it has read the request"
        elif answer.header("sec-websocket-extensions"):
            wrong = "it turned on extensions that nobody asked for"
        elif chosen not in ("", "mcp"):
            wrong = f"it chose the subprotocol {excerpt(chosen.encode())!r}"
        if wrong:
            raise HttpUnreachable(
                f"{place} answers the WebSocket handshake wrongly: {wrong}.", http=answer_of(answer, b"")
            )
        if not chosen:
            self.tap.note("the server did not confirm the subprotocol mcp")

    # ------------------------------------------------------------------ out

    async def _send_event(self, event: Any) -> None:
        from wsproto.utilities import LocalProtocolError

        try:
            await self._write(event)
        except LocalProtocolError:
            return  # the connection is closing, as the reader is about to report
        except StudioError as error:
            self.end(error)

    async def _write(self, event: Any) -> None:
        """Write one whole message, after those that are being written.

        Raises:
            HttpLost: the connection ended, or the server read nothing for `limits.write` seconds.
        """
        assert self._answer is not None
        async with self._write_lock:
            frame = self._socket.send(event)
            try:
                for start in range(0, len(frame), _WRITE):
                    await self._answer.upgraded.write(frame[start : start + _WRITE], timeout=self.limits.write)
            except self._answer.problems as problem:
                raise self._answer.broken(problem) from problem

    async def _ping(self) -> None:
        """Send pings, so that no proxy cuts an idle connection."""
        from wsproto.events import Ping

        while True:
            await asyncio.sleep(_PING_INTERVAL)
            if not self._write_lock.locked():
                self._send_control(Ping())

    def _send_control(self, event: Any) -> None:
        """Send a ping or pong; a newer one replaces one that was not sent yet."""
        if self._control is None:
            self.tasks.spawn(self._write_control())
        self._control = event

    async def _write_control(self) -> None:
        async with self._write_lock:
            event, self._control = self._control, None
        if not self._close_sent:
            await self._send_event(event)

    # ------------------------------------------------------------------ in

    async def _read(self, answer: Response) -> None:
        """Read until the end; returns only if we have closed the connection ourselves.

        Raises:
            HttpLost: the server closed the connection; the error has the code and reason.
            HttpBroken: the server broke the rules of WebSocket.
        """
        while True:
            try:
                data = await answer.upgraded.read(PIECE)
            except answer.problems as problem:
                raise answer.broken(problem) from problem
            if not data:
                if self._close_sent:
                    return
                raise HttpLost(f"{self.edge.place} hung up without closing the WebSocket.")
            self._socket.receive_data(data)
            for event in self._socket.events():
                if await self._event(event):
                    return
                await answer.breathe()  # One piece can contain thousands of empty frames.
            await answer.breathe()

    async def _event(self, event: Any) -> bool:
        """Handle one event; returns True at an end that we requested."""
        from wsproto import events

        if isinstance(event, (events.TextMessage, events.BytesMessage)):
            is_text = isinstance(event, events.TextMessage)
            self._message.hold(event.data.encode("utf-8") if is_text else bytes(event.data))
            if event.message_finished:
                if not is_text:
                    self.tap.note("a message came as a binary frame; it was taken as text")
                # The handshake was an HTTP exchange; later messages belong to none, like lines on stdio.
                message = self._message.take()
                self.too_long(message) if isinstance(message, Oversize) else self.deliver(message, 0)
        elif isinstance(event, events.Ping) and not self._close_sent:
            self._send_control(event.response())
        elif isinstance(event, events.CloseConnection):
            return await self._closed(int(event.code), event.reason or "")
        return False

    # ------------------------------------------------------------------ ends

    async def _closed(self, code: int, reason: str) -> bool:
        """Handle the end by the server, or by wsproto for a broken rule; returns True if we requested it."""
        from wsproto.connection import ConnectionState
        from wsproto.frame_protocol import CloseReason

        place, words = self.edge.place, excerpt(reason.encode())
        # wsproto reports a broken rule as if the server had closed the connection, and does not change its own state.
        if self._socket.state in (ConnectionState.OPEN, ConnectionState.LOCAL_CLOSING):
            await self._send_close(code)
            raise HttpBroken(f"{place} broke the rules of WebSocket: {words or 'it says no more'}.")
        if self._close_sent:
            return True
        await self._send_close(code if 1000 <= code < 5000 and code not in _UNSENT else 1000)
        names = {reason.value: reason.name.replace("_", " ").lower() for reason in CloseReason}
        detail = f"{code} {names.get(code, '')}".rstrip()
        raise HttpLost(f"{place} closed the connection: {detail}.{f' It says: {words}' if words else ''}")

    async def _send_close(self, code: int) -> None:
        """Send a close frame; if the end is known already, this is only a courtesy."""
        from wsproto.events import CloseConnection
        from wsproto.utilities import LocalProtocolError

        if self._close_sent:
            return
        self._close_sent = True
        with suppress(LocalProtocolError, HttpFailure, TimeoutError):
            async with asyncio.timeout(_COURTESY):
                await self._write(CloseConnection(code=code))

    def unforeseen(self, out: Outgoing | None, error: StudioError) -> None:
        """Report the unexpected error of a task, which ends the connection."""
        self.tap.note(error.message)
        self.end(error)

    async def finish(self, share: float) -> None:
        """Close the WebSocket, and end the connection."""
        if self._socket is not None and self._run is not None and not self._run.done():
            await self._send_close(1000)
            await asyncio.wait((self._run,), timeout=share)
        await super().finish(share)
