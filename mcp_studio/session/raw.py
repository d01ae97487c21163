"""Frames written by hand: they are sent unchanged beside our own traffic, and everything that comes back is collected.

An answer to such a frame never reaches the protocol core, which would take it for an answer to nothing, or to a request
of ours. An answer without a usable id, such as `null`, counts as one to the newest frame.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConnectionLost, StudioError, Unreachable
from mcp_studio.jsontext import Json, mapping
from mcp_studio.limits import Limits
from mcp_studio.protocol.core import ClientCore
from mcp_studio.protocol.events import RequestId
from mcp_studio.protocol.message import Failure, Malformed, Message, Parsed, Request, Response, parse
from mcp_studio.protocol.versions import LATEST_MODERN, era_of
from mcp_studio.session.connection import Connection
from mcp_studio.session.state import Spawn
from mcp_studio.trace.message import ACKNOWLEDGED, WireMessage
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.transport.base import Opened, Tasks, Transport

SILENCE = 2.0
"""Seconds to wait for a reaction to a frame that needs no answer."""
SETTLE = 0.2
"""Seconds to continue collecting after the answer."""
_MOST = 10_000
"""The newest entries of the trace that are searched for what came back."""


class RawExchange:
    """One frame and everything that came back; made by `RawSender.send`, polled by readers."""

    def __init__(self, tap: ServerTap, frame: bytes, parsed: Parsed) -> None:
        self._tap = tap
        self._first = self._last = self._http = 0
        self._done = asyncio.Event()
        self._began = time.perf_counter()
        self.server = tap.server
        self.frame = frame
        self.parsed = parsed
        self.waits_for: list[RequestId] = [one.id for one in parsed.messages if isinstance(one, Request)]
        """The ids whose responses answer the frame."""
        self.wants_answer = bool(self.waits_for)
        """Whether the frame is a request, which the protocol demands to be answered."""
        self.answers: list[bytes] = []
        """The frames that answer it, unchanged."""
        self.answered = asyncio.Event()
        self.error: StudioError | None = None
        """Why the frame could not be sent, or what ended the connection before the answer."""
        self.ms: float | None = None
        """Milliseconds until the answer."""

    @property
    def problem(self) -> str:
        """Why the frame is not a JSON-RPC message; empty where it is one."""
        reasons = (one.reason for one in self.parsed.messages if isinstance(one, Malformed))
        return next(reasons, "").partition(";")[0]

    @property
    def done(self) -> bool:
        """Whether the collection has ended."""
        return self._done.is_set()

    async def wait(self) -> None:
        """Wait until the collection has ended."""
        await self._done.wait()

    def came_back(self) -> list[WireMessage]:
        """The entries of this server since the frame was sent: messages, HTTP heads, stray output, stderr, notes.

        Entries that belong only to our own requests are left out; our answers to the server are included.
        """
        store, server = self._tap.store, self.server
        if not self._first:
            return []
        last = self._last if self.done else store.total
        numbers = range(max(self._first + 1, store.first_number, last + 1 - _MOST), last + 1)
        entries = (entry for number in numbers if (entry := store.entry(number)) is not None)
        return [entry for entry in entries if entry.server == server and self._concerns(entry)]

    def _concerns(self, entry: WireMessage) -> bool:
        if entry.kind == "http":
            return entry.exchange == self._http
        if entry.method == ACKNOWLEDGED and entry.exchange != self._http:
            return False  # it acknowledges a subscription of ours
        asked = entry.span.request if entry.span is not None else entry
        return asked.direction != "out" or asked.by_hand

    # ------------------------------------------------------------------ called by `RawSender`

    def sent(self, entry: WireMessage) -> None:
        """Record that the frame was sent."""
        self._first, self._http = entry.number, entry.exchange

    def answer(self, frame: bytes, identity: Json) -> None:
        """Record a frame that answers it."""
        if self.ms is None:
            self.ms = (time.perf_counter() - self._began) * 1000
        if frame not in self.answers:
            self.answers.append(frame)
        if identity in self.waits_for:
            self.waits_for.remove(identity)
            if self.waits_for:
                return
        self.answered.set()

    def end(self) -> None:
        """End the collection."""
        self._last = self._tap.store.total
        self._done.set()


class RawSender:
    """Sends frames by hand over one connection.

    Args:
        spawn: starts a task that ends with the connection.
        alone: nothing else uses the connection: no handshake, and nobody answers the server's questions.
    """

    def __init__(
        self, connection: Connection, transport: Transport, tap: ServerTap, limits: Limits, spawn: Spawn,
        *, alone: bool = False,
    ) -> None:  # fmt: skip
        self._connection = connection
        self._transport = transport
        self._core = connection.core
        self._tap = tap
        self._limits = limits
        self._spawn = spawn
        self._alone = alone
        self._running: list[RawExchange] = []
        connection.sift = self._sift if alone else None

    @property
    def stamp(self) -> dict[str, Json]:
        """The `_meta` of a request of ours; empty in the handshake era."""
        return self._core.stamp()

    def spare_id(self) -> int:
        """An id that no request of ours will use."""
        return self._core.requests.spare()

    def send(self, frame: bytes, *, wait: float | None = None, newlines: bool = False) -> RawExchange:
        """Send a frame, well-formed or not; returns at once.

        Args:
            wait: seconds to wait for the answer, after which `SETTLE` follows; None waits as long as for any request if
            the frame is one, else `SILENCE`.
            newlines: keeps newlines although they end a frame on stdio.
        """
        parsed = parse(frame, self._limits)
        exchange = RawExchange(self._tap, frame, parsed)
        for identity in exchange.waits_for:
            self._core.requests.avoid(identity)
        if wait is None:
            wait = self._limits.call_idle if exchange.wants_answer else SILENCE
        self._running.append(exchange)
        self._connection.sift = self._sift
        # A task that is cancelled before its first step never runs, so only its callback is reliable.
        self._spawn(self._run(exchange, wait, newlines)).add_done_callback(lambda _: self._over(exchange))
        return exchange

    async def _run(self, exchange: RawExchange, wait: float, newlines: bool) -> None:
        frame = exchange.frame
        try:
            self._tap.expect_by_hand(frame, exchange.parsed, exchange.sent)
            for message in exchange.parsed.messages:
                if isinstance(message, (Response, Failure)):
                    self._connection.ignore(message.id)
            await self._transport.send_raw(frame, newlines=newlines)
            await self._collect(exchange, wait)
        except StudioError as error:
            exchange.error = self._tap.cleaned(error)

    def _over(self, exchange: RawExchange) -> None:
        ended = self._connection.ended
        if ended.done() and exchange.error is None and not exchange.answered.is_set():
            exchange.error = ended.result() or ConnectionLost("The connection was closed.")
        self._running.remove(exchange)
        if not self._running and not self._alone:
            self._connection.sift = None
        exchange.end()

    async def _collect(self, exchange: RawExchange, wait: float) -> None:
        ended, answered = self._connection.ended, asyncio.ensure_future(exchange.answered.wait())
        try:
            await asyncio.wait((answered, ended), timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            if answered.done():
                await asyncio.wait((ended,), timeout=SETTLE)
        finally:
            answered.cancel()

    # ------------------------------------------------------------------ what comes back

    def _sift(self, frame: bytes, parsed: Parsed) -> Parsed:
        """Remove the messages that answer a frame written by hand; the protocol core gets the rest."""
        rest = [message for message in parsed.messages if not self._takes(message, frame)]
        if self._alone:
            version = mapping(mapping(parsed.value).get("result")).get("protocolVersion")
            if isinstance(version, str) and era_of(version) == "legacy":
                self._transport.negotiated(version)  # of a handshake made by hand: HTTP names it in its headers
            return Parsed(())
        return parsed if len(rest) == len(parsed.messages) else Parsed(tuple(rest), parsed.batch and bool(rest))

    def _takes(self, message: Message, frame: bytes) -> bool:
        """Whether a message answers a frame written by hand, and no request of ours."""
        if not isinstance(message, (Response, Failure, Malformed)) or message.id in self._core.requests:
            return False  # The id may also be one of ours: then the first answer is for ours.
        waiting = [one for one in self._running if message.id in one.waits_for]
        for exchange in (waiting or self._running[-1:])[:1]:
            exchange.answer(frame, message.id)
            return True
        return False


class RawConnection(RawSender):
    """A connection without a handshake: open it, `send`, close it; it ends by itself when the server does.

    Questions of the server get no answer, except by hand.

    Args:
        info: our `Implementation` object, for stamps.
    """

    def __init__(self, config: ServerConfig, transport: Transport, tap: ServerTap, limits: Limits, info: Json) -> None:
        self.config = config
        self._tasks = Tasks(lambda _, error: self._connection.closed(error))
        info = info if config.client_info is None else config.client_info
        core = ClientCore(info, {} if config.capabilities is None else config.capabilities)
        connection = Connection(
            transport, core, tap, limits, config.timeouts, probe=0, on_event=lambda event: None,
            spawn=self._tasks.spawn,
        )  # fmt: skip
        super().__init__(connection, transport, tap, limits, self._tasks.spawn, alone=True)

    @property
    def ended(self) -> asyncio.Future[StudioError | None]:
        """Settled when the connection ends: with the error, or None when it was closed on purpose."""
        return self._connection.ended

    @property
    def stamp(self) -> dict[str, Json]:
        """The `_meta` of a request if the server's entry names the stateless era; else empty."""
        modern = LATEST_MODERN if self.config.era == "modern" else ""
        return self._core.stamp(self.config.protocol_version or modern)

    async def open(self) -> Opened:
        """Start or reach the server; on failure everything is closed.

        Raises:
            StudioError: a sentence says what failed.
        """
        try:
            async with asyncio.timeout(self._connection.connect.seconds):
                return await self._transport.open(self._connection)
        except BaseException as problem:
            await self.close()
            if isinstance(problem, TimeoutError):
                raise Unreachable(f"No connection within {self._connection.connect}.") from None
            raise

    async def close(self) -> None:
        """Close the connection in a bounded time; may be called any number of times."""
        await self._tasks.end(self._limits.close)
        with suppress(TimeoutError):
            await self._connection.close()
