"""The other end of an open WebSocket: reads messages, answers pings, and puts every kind of end into words."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from mcp_studio.limits import Limits
from mcp_studio.transport.http_answer import Answer
from mcp_studio.transport.http_body import PIECE
from mcp_studio.transport.http_errors import HttpBroken, HttpLost, excerpt
from mcp_studio.transport.lines import Joiner, Line
from mcp_studio.transport.tasks import Tasks
from mcp_studio.transport.ws_frames import CODES

_WRITE = 256 * 1024
_COURTESY = 1.0
"""Seconds for answering a close frame: what is told of the end does not wait for a peer that reads nothing."""
_UNSENT = frozenset({1004, 1005, 1006, 1015})
"""Close codes that never cross the wire (RFC 6455 7.4.1)."""


class Take(Protocol):
    """Takes each message as it is complete."""

    def __call__(self, message: Line, *, binary: bool) -> None: ...


class Peer:
    """One open connection.

    Args:
        answer: the response that switched to WebSocket; its exchange stays open as long as this is used.
        place: host and port, for sentences.
        tasks: what is written beside reading ends with them.
    """

    def __init__(self, answer: Answer, place: str, limits: Limits, take: Take, tasks: Tasks) -> None:
        from wsproto.connection import Connection, ConnectionType

        self._answer = answer
        self._place = place
        self._limits = limits
        self._take = take
        self._stream: Any = answer.upgraded
        self._socket = Connection(ConnectionType.CLIENT)
        self._text, self._binary = Joiner(limits.message, skim=True), Joiner(limits.message)
        self._tasks = tasks
        self._turn = asyncio.Lock()
        self._clock = asyncio.get_running_loop().time
        self._progress = 0.0
        """When the peer was last seen to take what is written."""
        self._control: Any = None
        """The newest ping or pong that has not left yet."""
        self._controlling = False
        self._leaving = False

    async def write(self, frame: bytes) -> None:
        """Write one whole frame, after those that are being written.

        Raises:
            HttpLost: the connection ended, or nothing was read for `limits.write` seconds.
        """
        await self._take_turn()
        try:
            for start in range(0, len(frame), _WRITE):
                await self._stream.write(frame[start : start + _WRITE], timeout=self._limits.write)
                self._progress = self._clock()
        except self._answer.problems as problem:
            raise self._answer.broken(problem) from problem
        finally:
            self._turn.release()

    async def _take_turn(self) -> None:
        """Wait for the frames that are being written, for as long as the peer reads of them."""
        began = self._clock()
        while True:
            until = max(began, self._progress) + self._limits.write
            try:
                async with asyncio.timeout_at(until):
                    await self._turn.acquire()
                return
            except TimeoutError:
                if self._progress + self._limits.write <= until:
                    raise HttpLost(f"{self._place} has not read for {self._limits.write:g} seconds.") from None

    def ping(self) -> None:
        """Send a ping; nobody waits for its answer, and where something is being written it is not needed."""
        from wsproto.events import Ping

        if not self._turn.locked():
            self._send_control(Ping())

    def _send_control(self, event: Any) -> None:
        """Send a ping or pong beside everything else; a newer one takes the place of one that has not left."""
        self._control = event
        if not self._controlling:
            self._controlling = True
            self._tasks.spawn(self._write_controls())

    async def _write_controls(self) -> None:
        """Without a deadline: a peer that does not read is lost only where a message cannot be sent."""
        try:
            while self._control is not None:
                async with self._turn:
                    event, self._control = self._control, None
                    if not self._leaving:
                        await self._stream.write(self._socket.send(event), timeout=None)
                    self._progress = self._clock()
        except self._answer.problems:
            return  # Reading hears of the end, too.
        finally:
            self._controlling = False

    async def take_leave(self) -> None:
        """Say that the connection is over; the other side answers by closing it.

        Raises:
            HttpLost: see `write`.
        """
        await self._leave(1000)

    async def read(self) -> None:
        """Read until the end; returns only when we have taken leave ourselves.

        Raises:
            HttpLost: the server closed the connection; says with which code and reason.
            HttpBroken: it broke the rules of WebSocket.
        """
        while True:
            try:
                data = await self._stream.read(PIECE)
            except self._answer.problems as problem:
                raise self._answer.broken(problem) from problem
            if not data:
                if self._leaving:
                    return
                raise HttpLost(f"{self._place} hung up without closing the WebSocket.")
            self._socket.receive_data(data)
            for event in self._socket.events():
                if await self._event(event):
                    return
                await self._answer.breathe()  # Thousands of empty frames fit into one piece.
            await self._answer.breathe()

    async def _event(self, event: Any) -> bool:
        """Handle one event; True at the end that we wanted."""
        from wsproto import events

        if isinstance(event, events.TextMessage):
            self._text.hold(event.data.encode("utf-8"))
            if event.message_finished:
                self._take(self._text.take(), binary=False)
        elif isinstance(event, events.BytesMessage):
            self._binary.hold(bytes(event.data))
            if event.message_finished:
                self._take(self._binary.take(), binary=True)
        elif isinstance(event, events.Ping) and not self._leaving:
            self._send_control(event.response())
        elif isinstance(event, events.CloseConnection):
            return await self._closed(int(event.code), event.reason or "")
        return False

    async def _closed(self, code: int, reason: str) -> bool:
        from wsproto.connection import ConnectionState

        # wsproto reports a broken rule as if the server had closed the connection, and leaves its state as it was.
        if self._socket.state in (ConnectionState.OPEN, ConnectionState.LOCAL_CLOSING):
            await self._leave(code, _COURTESY)
            raise HttpBroken(f"{self._place} broke the rules of WebSocket: {excerpt(reason.encode()) or CODES[1002]}.")
        if self._leaving:
            return True
        await self._leave(code if 1000 <= code < 5000 and code not in _UNSENT else 1000, _COURTESY)
        said = f"{code} {CODES[code]}" if code in CODES else str(code)
        words = f" It says: {excerpt(reason.encode())}" if reason else ""
        raise HttpLost(f"{self._place} closed the connection: {said}.{words}")

    async def _leave(self, code: int, seconds: float | None = None) -> None:
        from wsproto.events import CloseConnection
        from wsproto.utilities import LocalProtocolError

        if self._leaving:
            return
        self._leaving = True
        try:
            async with asyncio.timeout(seconds):
                await self.write(self._socket.send(CloseConnection(code=code)))
        except (LocalProtocolError, HttpLost, TimeoutError):
            return  # The end is known already; this was only courtesy.
